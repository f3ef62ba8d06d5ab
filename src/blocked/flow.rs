//! Cycles of a busy core: a request offered in each, responses taken at once, and nothing but queries and
//! inserts on the way to the port.
//!
//! What is left of [`Registers::step`] then fits into the registers of the processor. Which operation comes, and whether a
//! key's bits were set, is as good as random: no branch here depends on it.

use crate::{
    ahead::Ahead,
    block_port::Kind,
    filter::Status,
    pins::{FilterPins, Outputs},
};

use super::clocked::{PLACES, Read, Registers, State};

/// Plays such cycles, as many as there are at the begin of `rows`, and says how many. Rows are of `N` words (0: of
/// any number), and keys of one word (`ONE`) or of any number. `ahead` knows the keys from the one with this number on.
#[inline(always)]
pub fn flow<const N: usize, const ONE: bool>(
    registers: &mut Registers,
    state: &mut State,
    pins: &FilterPins,
    rows: (&[u64], usize),
    ahead: (&Ahead, usize),
    outputs: &mut [u64],
) -> usize {
    if state.parity.is_some() {
        flow_with::<N, ONE, true>(registers, state, pins, rows, ahead, outputs)
    } else {
        flow_with::<N, ONE, false>(registers, state, pins, rows, ahead, outputs)
    }
}

#[inline(never)]
fn flow_with<const N: usize, const ONE: bool, const PARITY: bool>(
    registers: &mut Registers,
    state: &mut State,
    pins: &FilterPins,
    (rows, each): (&[u64], usize),
    (ahead, first): (&Ahead, usize),
    outputs: &mut [u64],
) -> usize {
    let Registers { mut port, mut next, mut s1, mut s2, mut all_set } = *registers;
    let State { filter, parity, words, group, block_w, kinds, .. } = state;
    let mut parity = parity.as_mut().filter(|_| PARITY);
    let (group, block_w, insert) = (if ONE { 1 } else { *group }, *block_w, kinds[1]);
    let memory = filter.memory_mut();
    // Keys of one word go around a ring that the compiler knows the size of.
    let words = if ONE { words.first_chunk_mut::<PLACES>().map_or(&mut [][..], |ring| ring) } else { words };
    let place = |word: usize| if ONE { word % PLACES } else { word };
    let mut played = 0;
    for (row, output) in rows.chunks_exact(each).zip(outputs) {
        let Some((inserts, tag)) = pins.saturating(row) else { break };
        // s4
        let (read, modifies) = port.last_stage();
        let write_back = modifies & !read.is_set();
        let responds = read.is_last();
        let hit = all_set & read.is_set();
        let rsp = &words[place(read.word())];
        let (status, rsp_tag) = (rsp.status as u8, rsp.tag);
        let parity_error = parity.as_ref().is_some_and(|parity| parity.error());
        if write_back {
            rsp.mask.set::<N>(memory);
        }
        all_set = responds | hit;

        // s2
        let word = &words[place(s2)];
        let goes = port.goes(write_back, word.mask.row);
        let accepts = goes && (ONE || word.last);
        let access = if goes {
            let set = if word.kind.reads() {
                word.mask.is_set::<N>(memory)
            } else {
                word.mask.set::<N>(memory);
                false
            };
            Some(port.flow(word.kind, word.mask.row, Read::new(s2, ONE || word.last, set)))
        } else {
            port.wait(write_back)
        };
        if let Some(parity) = &mut parity {
            parity.clock_with(memory, access);
        }
        if accepts {
            s2 = s1;
            s1 = next;
            next = if ONE { (next + 1) % PLACES } else { next + group };
            if next == words.len() {
                next = 0;
            }
            for w in 0..group {
                let word = &mut words[place(s1 + w)];
                let i = first + played;
                if N > 0 {
                    word.mask.put(ahead.row(w, i), block_w, ahead.words::<N>(w, i));
                } else {
                    word.mask.put(ahead.row(w, i), block_w, ahead.mask(w, i));
                }
                (word.tag, word.last, word.status) = (tag, w + 1 == group, Status::Ok);
                word.kind = if inserts { insert } else { Kind::Read };
            }
        } else if goes {
            s2 += 1;
        }
        *output = pins.pack_outputs(&Outputs {
            req_ready: accepts,
            rsp_valid: responds,
            hit: responds & hit,
            status: if responds { status } else { 0 },
            tag: if responds { rsp_tag } else { 0 },
            busy: true,
            level: 0,
            parity_error,
        });
        played += 1;
    }
    *registers = Registers { port, next, s1, s2, all_set };
    played
}

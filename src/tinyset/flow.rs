//! Cycles of a busy core: a request offered in each, responses taken at once, and nothing but operations on blocks on
//! the way to the port.
//!
//! What is left of a cycle then is short. Which operation comes, and what it answers, is as good as random: no
//! branch depends on that.

use super::{
    clocked::{NONE, PLACES, Registers, SEARCH, STAGES, State},
    group::Group,
    request,
};
use crate::{
    block_port::Access,
    cpu::{Level, Work},
    filter::{Answer, Filter},
    parity::Parity,
    pins::{FilterPins, Outputs},
};

/// Whether requests that read their blocks wait in s1 and s2, and nothing is cleared.
#[inline(always)]
pub fn flows(registers: &Registers, state: &State) -> bool {
    let waits = |place: usize| state.slots.get(place).is_some_and(|slot| slot.kind.accesses());
    waits(registers.s1) && waits(registers.s2) && !registers.port.sweeping()
}

/// Plays such cycles from number `at` of the rows on, as many as there are, and says how many.
pub struct Flow<'a> {
    pub registers: &'a mut Registers,
    pub state: &'a mut State,
    pub pins: &'a FilterPins,
    /// Input rows of so many words.
    pub rows: (&'a [u64], usize),
    /// What is known of all their keys.
    pub ahead: &'a Group,
    pub at: usize,
    pub outputs: &'a mut [u64],
}

impl Work for Flow<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<L: Level>(self, level: L) -> usize {
        match self.state.filter.memory().width() {
            ..=64 => self.play::<L, 1>(level),
            65..=512 => self.play::<L, 8>(level),
            _ => self.play::<L, 12>(level),
        }
    }
}

impl Flow<'_> {
    /// Blocks are of at most `N` words.
    #[inline(always)]
    fn play<L: Level, const N: usize>(self, level: L) -> usize {
        let Self { registers, state, pins, rows: (rows, each), ahead, at, outputs } = self;
        let Registers { mut port, mut next, mut s1, mut s2, .. } = *registers;
        let Registers { mut stages, mut rsp_valid, mut rsp, mut rsp_tag, .. } = *registers;
        let pin = |outputs: Outputs| pins.pack_outputs(&outputs);
        let ready = pin(Outputs { req_ready: true, ..Outputs::default() });
        let valid = pin(Outputs { rsp_valid: true, ..Outputs::default() });
        let wrong = pin(Outputs { parity_error: true, ..Outputs::default() });
        let always =
            |state: &State| pin(Outputs { busy: true, level: state.filter.level(), ..Outputs::default() });
        let shown = |Answer { hit, status }, tag| {
            pin(Outputs { hit, status: status as u8, tag, ..Outputs::default() })
        };
        let (has_list, has_parity) = (state.has_list(), state.parity.is_some());
        let (mut always_shown, mut rsp_shown) = (always(state), shown(rsp, rsp_tag));
        let mut played = 0;
        for (row, output) in rows[at * each..].chunks_exact(each).zip(&mut outputs[at..]) {
            if pins.saturating(row).is_none() {
                break;
            }
            let parity_error = state.parity.as_ref().is_some_and(Parity::error);
            *output = always_shown
                | rsp_shown
                | if rsp_valid { valid } else { 0 }
                | if parity_error { wrong } else { 0 };
            let stage = |stage: usize| usize::from(stages.to_le_bytes()[stage]);
            let (search, last) = (stage(SEARCH), stage(STAGES));
            played += 1;
            let slot = &mut state.slots[search % PLACES];
            if search != NONE && slot.windows > 0 {
                slot.windows -= 1;
                rsp_valid = false;
                port.hold();
                if let Some(parity) = &mut state.parity {
                    parity.clock();
                }
                continue;
            }
            // Whether there is a request in the last stage is hard to guess too.
            let slot = &state.slots[last % PLACES];
            rsp_valid = last != NONE;
            let write_back = rsp_valid & slot.done.write;
            rsp = if rsp_valid { slot.done.answer } else { rsp };
            rsp_tag = if rsp_valid { slot.tag } else { rsp_tag };
            rsp_shown = shown(rsp, rsp_tag);
            let slot = &state.slots[s2 % PLACES];
            let (kind, block) = (slot.kind, slot.place.block);
            let goes = port.goes(write_back, block);
            let (mut odd, mut entering) = (false, NONE);
            let access = if goes {
                *output |= ready;
                state.start(s2, |layout, op, place, block| {
                    let block = request::first::<N>(block);
                    odd = has_parity && is_odd(block);
                    request::in_block(level, layout, op, place, block)
                });
                (entering, s2, s1) = (s2, s1, next);
                next = (next + 1) % PLACES;
                let (inputs, key) = pins.borrow_inputs(row);
                state.accept(s1, &inputs, key, Some((ahead, at + played - 1)));
                Some(port.flow(kind, block, ()))
            } else {
                if write_back {
                    let slot = &mut state.slots[last % PLACES];
                    state.filter.store(slot.place.block, &slot.block);
                    odd = has_parity && is_odd(request::first::<N>(&mut slot.block));
                }
                port.wait(write_back)
            };
            if let Some(parity) = &mut state.parity {
                match access {
                    Some(Access::Read(row)) => parity.access(0, row, false, odd),
                    Some(Access::Write(row)) => parity.access(0, row, true, odd),
                    None => {}
                }
                parity.clock();
            }
            if has_list {
                state.search(search);
                always_shown = always(state);
            }
            stages = stages << 8 | entering as u64;
        }
        *registers = Registers { port, next, s1, s2, stages, rsp_valid, rsp, rsp_tag };
        played
    }
}

/// Whether a block has an odd number of ones.
#[inline(always)]
fn is_odd<const N: usize>(block: &[u64; N]) -> bool {
    block.iter().fold(0, |sum, word| sum ^ word).count_ones() % 2 == 1
}

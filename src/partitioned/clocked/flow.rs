//! Many cycles of a full pipeline that nothing holds up, at once.
//!
//! While a request is offered and a response taken in every cycle, and all of them query or insert, where
//! each request is in each cycle is known beforehand. Then it does not matter whether the banks are accessed
//! cycle by cycle or one after the other, each in the order of the cycles.

use super::{
    Answer, ClockedPartitioned, Conflict, FilterPins, Group, Level, Op, Outputs, Read, Slot, Status, Work,
};
use crate::cpu::{GROUP, read_and_set_bits};

/// Requests before those of a group: the one in rsp, and those in s3, s2 and s1.
const BEFORE: usize = 4;
/// Those of them that have accessed the banks.
const DONE: usize = 2;

/// So many cycles of a core that accesses every bank once for a request.
pub struct Flow<'a> {
    pub model: &'a mut ClockedPartitioned,
    pub pins: &'a FilterPins,
    pub controls: &'a [u64; GROUP],
    pub ahead: &'a Group,
    pub outputs: &'a mut [u64; GROUP],
}

impl Work for Flow<'_> {
    type Output = Result<(), Conflict>;

    #[inline(always)]
    fn run<L: Level>(self, _: L) -> Result<(), Conflict> {
        let Self { model, pins, controls, ahead, outputs } = self;
        let (Some(s1), Some(s2), Some(s3)) = (model.s1, model.s2, model.s3) else {
            unreachable!("the pipeline is full")
        };
        // All that is in flight on the way, the oldest first: a cycle moves everything on by one.
        let mut tags = [0; BEFORE + GROUP];
        let mut inserts = [0; BEFORE + GROUP];
        for (i, control) in controls.iter().enumerate() {
            tags[BEFORE + i] = pins.tag_of(*control);
            inserts[BEFORE + i] = pins.inserts(*control);
        }
        tags[..BEFORE].copy_from_slice(&[model.rsp_tag, s3.tag, s2.tag, s1.tag]);
        for (insert, op) in inserts[1..BEFORE].iter_mut().zip([s3.op, s2.op, s1.op]) {
            *insert = u64::from(op == Op::Insert);
        }
        // What the banks gave, that of the last at bit 0.
        let mut answers = u32::MAX;

        let accesses: &[u64; GROUP] = inserts[DONE..].first_chunk().expect("as many as cycles");
        let writes = accesses.iter().sum();
        model.port.stretch(model.cycle, GROUP as u64, writes, &model.filter.banks()[0])?;
        let [at_s2, at_s1] = [s2, s1].map(|slot| usize::from(slot.place));
        let mut wrong = [0; GROUP];
        for (b, (bank, coming)) in model.filter.banks_mut().iter_mut().zip(ahead.iter()).enumerate() {
            let before = [model.indices[at_s2][b], model.indices[at_s1][b]];
            answers &= match &mut model.parity {
                None => access(bank.words_mut(), before, coming, accesses),
                Some(parity) => {
                    let words = [bank.words_mut(), parity.words_mut(b)];
                    access_checked(words, before, coming, accesses, &mut wrong)
                }
            };
            // Two requests are left: they are in s2 and s1 now.
            [model.indices[at_s2][b], model.indices[at_s1][b]] = [coming[GROUP - 2], coming[GROUP - 1]];
        }

        let now = model.outputs(true);
        let flowing = Outputs { rsp_valid: true, hit: false, status: Status::Ok as u8, tag: 0, ..now };
        let (base, hit) =
            (pins.pack_outputs(&flowing), pins.pack_outputs(&Outputs { hit: true, ..Outputs::default() }));
        let set =
            u64::from(answers.reverse_bits()) << DONE | u64::from(s3.set) << 1 | u64::from(model.rsp.hit);
        for (i, output) in outputs.iter_mut().enumerate() {
            *output = base | tags[i] | ((set >> i & !inserts[i] & 1) * hit);
        }
        outputs[0] = pins.pack_outputs(&now);
        if let Some(parity) = &mut model.parity {
            let wrong = (0..).zip(wrong).fold(0, |all, (i, wrong)| all | (wrong & 1) << i);
            // The pin may rise on the way.
            let errors = parity.stretch(wrong, GROUP as u32);
            let error = pins.pack_outputs(&Outputs { parity_error: true, ..Outputs::default() });
            for (i, output) in outputs.iter_mut().enumerate() {
                *output |= (errors >> i & 1) * error;
            }
        }

        model.cycle += GROUP as u64;
        let op = |i: usize| if inserts[i] == 0 { Op::Query } else { Op::Insert };
        let set = |i: usize| set >> i & 1 != 0;
        model.rsp_valid = true;
        model.rsp = Answer { hit: op(GROUP) == Op::Query && set(GROUP), status: Status::Ok };
        model.rsp_tag = tags[GROUP];
        model.s3 = Some(Read { op: op(GROUP + 1), tag: tags[GROUP + 1], set: set(GROUP + 1), last: true });
        model.s2 = Some(Slot { op: op(GROUP + 2), tag: tags[GROUP + 2], place: s2.place });
        model.s1 = Some(Slot { op: op(GROUP + 3), tag: tags[GROUP + 3], place: s1.place });
        Ok(())
    }
}

/// Reads a bit of a bank in every cycle, or sets it: see `Memory::read_or_set_bit`. The last one is at bit 0. The indices are
/// those from before, and then those that come, but the last.
#[inline(always)]
fn access(words: &mut [u64], before: [u32; DONE], coming: &[u32; GROUP], inserts: &[u64; GROUP]) -> u32 {
    let [word] = words else { return read_and_set_bits(words, before, coming, inserts) };
    // Out of memory meanwhile: to write and read it again would take longer than all else.
    let (mut bits, mut set) = (*word, 0);
    for (index, insert) in in_turn(before, coming).iter().zip(inserts) {
        set = set << 1 | (bits >> (index % 64)) as u32 & 1;
        bits |= insert << (index % 64);
    }
    *word = bits;
    set
}

/// The indices of as many cycles as there are to play: those from before, then those that come.
#[inline(always)]
fn in_turn(before: [u32; DONE], coming: &[u32; GROUP]) -> [u32; GROUP] {
    std::array::from_fn(|i| if i < DONE { before[i] } else { coming[i - DONE] })
}

/// The same where every bit has a parity bit beside it, equal to it: what is read and differs is wrong.
#[inline(always)]
fn access_checked(
    [words, parity]: [&mut [u64]; 2],
    before: [u32; DONE],
    coming: &[u32; GROUP],
    inserts: &[u64; GROUP],
    wrong: &mut [u64; GROUP],
) -> u32 {
    let mut set = 0;
    let mut pass = |index: u32, insert: u64, [bits, parity]: [&mut u64; 2], wrong: &mut u64| {
        set = set << 1 | (*bits >> (index % 64)) as u32 & 1;
        *wrong |= (*bits ^ *parity) >> (index % 64) & !insert;
        *bits |= insert << (index % 64);
        *parity |= insert << (index % 64);
    };
    let indices = in_turn(before, coming);
    let cycles = indices.iter().zip(inserts).zip(wrong);
    if let ([word], [parity]) = (&mut *words, &mut *parity) {
        let (mut bits, mut odd) = (*word, *parity);
        for ((index, insert), wrong) in cycles {
            pass(*index, *insert, [&mut bits, &mut odd], wrong);
        }
        (*word, *parity) = (bits, odd);
    } else {
        for ((index, insert), wrong) in cycles {
            let at = *index as usize / 64;
            pass(*index, *insert, [&mut words[at], &mut parity[at]], wrong);
        }
    }
    set
}

/// Cycles of a core that accesses every bank several times for a request.
pub struct LongFlow<'a> {
    pub model: &'a mut ClockedPartitioned,
    pub pins: &'a FilterPins,
    pub rows: (&'a [u64], usize),
    pub controls: &'a [u64],
    pub ahead: Option<&'a Group>,
    pub outputs: &'a mut [u64],
}

impl Work for LongFlow<'_> {
    type Output = Result<(), Conflict>;

    #[inline(always)]
    fn run<L: Level>(self, _: L) -> Result<(), Conflict> {
        let Self { model, pins, rows: (rows, each), controls, ahead, outputs } = self;
        let (Some(mut s1), Some(mut s2)) = (model.s1, model.s2) else { unreachable!("the pipeline is full") };
        let (cycles, hashes) = (outputs.len(), model.hashes);
        let pin = |outputs: Outputs| pins.pack_outputs(&outputs);
        let valid = pin(Outputs { rsp_valid: true, ..Outputs::default() });
        let ready = pin(Outputs { req_ready: true, ..Outputs::default() });
        let [miss, hit] = [false, true].map(|hit| pin(Outputs { busy: true, hit, ..Outputs::default() }));
        // Of a request in the middle, s3 has what the accesses before gave; an insert has nothing for it.
        let mut s3 = model.s3.unwrap_or(Read { op: s2.op, tag: s2.tag, set: true, last: false });
        s3.set &= model.all_set;
        let mut rsp = (model.rsp, model.rsp_tag);
        let mut shown = pin(Outputs { rsp_valid: false, ..model.outputs(false) });
        let mut access = model.access;
        let mut set = access == 0 || s3.set;
        let (mut at, mut writes) = (0, 0);
        while at < cycles {
            let end = hashes.min(access + cycles - at);
            let insert = u64::from(s2.op == Op::Insert);
            writes += insert * (end - access) as u64;
            let mut bits = u64::from(set);
            let indices = model.indices[usize::from(s2.place)].chunks_exact(hashes);
            for (bank, indices) in model.filter.banks_mut().iter_mut().zip(indices) {
                let words = bank.words_mut();
                for index in &indices[access..end] {
                    let word = &mut words[*index as usize / 64];
                    bits &= *word >> (index % 64);
                    *word |= insert << (index % 64);
                }
            }
            set = bits & 1 != 0;
            let outputs = &mut outputs[at..at + end - access];
            let mut later = &mut *outputs;
            if access == 0
                && let Some(first) = later.split_off_first_mut()
            {
                // The answer to the request before was in s3.
                *first = shown;
                let answer = Answer { hit: (s3.op == Op::Query) & s3.set, status: Status::Ok };
                rsp = (answer, s3.tag);
                shown = s3.tag | if answer.hit { hit } else { miss };
            }
            later.fill(shown);
            if access <= 1
                && let Some(second) = outputs.get_mut(1 - access)
            {
                *second |= valid;
            }
            if end == hashes
                && let Some(last) = outputs.last_mut()
            {
                *last |= ready;
            }
            at += end - access;
            access = end;
            if access == hashes {
                access = 0;
                s3 = Read { op: s2.op, tag: s2.tag, set, last: true };
                set = true;
                let (taken, place) = (at - 1, s2.place);
                s2 = s1;
                s1 = Slot { op: pins.op_of(controls[taken]), tag: pins.tag_of(controls[taken]), place };
                let indices = &mut model.indices[usize::from(place)];
                match ahead {
                    Some(group) => group.get(taken, indices),
                    None => model.filter.all_indices(&rows[taken * each..], indices),
                }
            }
        }
        model.port.stretch(model.cycle, cycles as u64, writes, &model.filter.banks()[0])?;
        model.cycle += cycles as u64;
        (model.s1, model.s2, model.place, model.access) = (Some(s1), Some(s2), s1.place, access);
        model.rsp_valid = access == 1;
        (model.rsp, model.rsp_tag) = rsp;
        model.all_set = true;
        model.s3 = match access {
            0 => Some(s3),
            // An insert has nothing for s3 until its end.
            _ if s2.op == Op::Insert => None,
            _ => Some(Read { op: s2.op, tag: s2.tag, set, last: false }),
        };
        Ok(())
    }
}

//! Many cycles of a full pipeline that nothing holds up, at once.
//!
//! While a request is offered and a response taken in every cycle, and all of them query or insert, where
//! each request is in each cycle is known beforehand. Then it does not matter whether the banks are accessed
//! cycle by cycle or one after the other, each in the order of the cycles.

use super::{
    Answer, ClockedPartitioned, Conflict, FilterPins, Group, Level, MAX_K, Op, Outputs, Read, Slot, Status,
    Work,
};
use crate::cpu::{Below, BitsInTurn, GROUP};

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
        let coming = ahead.below(model.filter.config().bank_bits() as usize);
        let [mut in_s2, mut in_s1] = model.indices.each_mut();
        if s2.place {
            (in_s2, in_s1) = (in_s1, in_s2);
        }
        let before = in_s2.iter_mut().zip(in_s1);
        let mut wrong = [0; GROUP];
        for (b, ((bank, coming), (in_s2, in_s1))) in
            model.filter.banks_mut().iter_mut().zip(coming).zip(before).enumerate()
        {
            let before = [*in_s2, *in_s1];
            answers &= match &mut model.parity {
                None => access(bank.words_mut(), before, coming, accesses),
                Some(parity) => {
                    let words = [bank.words_mut(), parity.words_mut(b)];
                    access_checked(words, before, coming, accesses, &mut wrong)
                }
            };
            // Two requests are left: they are in s2 and s1 now.
            [.., *in_s2, *in_s1] = *coming.numbers();
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
fn access(words: &mut [u64], before: [u32; DONE], coming: Below, inserts: &[u64; GROUP]) -> u32 {
    let [word] = words else {
        let (inserts_before, inserts) = inserts.split_at(DONE);
        let mut bits = BitsInTurn::new(words);
        for (index, insert) in before.iter().zip(inserts_before) {
            bits.read_and_set(*index, *insert);
        }
        bits.read_and_set_group(coming, inserts);
        return bits.read();
    };
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
fn in_turn(before: [u32; DONE], coming: Below) -> [u32; GROUP] {
    std::array::from_fn(|i| if i < DONE { before[i] } else { coming.numbers()[i - DONE] })
}

/// The same where every bit has a parity bit beside it, equal to it: what is read and differs is wrong.
#[inline(always)]
fn access_checked(
    [words, parity]: [&mut [u64]; 2],
    before: [u32; DONE],
    coming: Below,
    inserts: &[u64; GROUP],
    wrong: &mut [u64; GROUP],
) -> u32 {
    if words.len() == 1 && words == parity {
        // Then nothing is wrong, and what is written is written to both.
        let set = access(words, before, coming, inserts);
        parity.copy_from_slice(words);
        return set;
    }
    let mut set = 0;
    for ((index, insert), wrong) in in_turn(before, coming).iter().zip(inserts).zip(wrong) {
        let at = *index as usize / 64;
        let (bits, parity) = (&mut words[at], &mut parity[at]);
        set = set << 1 | (*bits >> (index % 64)) as u32 & 1;
        *wrong |= (*bits ^ *parity) >> (index % 64) & !insert;
        *bits |= insert << (index % 64);
        *parity |= insert << (index % 64);
    }
    set
}

/// What a core that accesses every bank several times for a request does in a cycle, counted from the one in which a
/// request comes to its first access.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Whose access it is: 0 for the request that was in s2 at first.
    request: usize,
    /// Where a [`Group`] has its index for the first bank. It means nothing for the requests in s2 and s1, which were taken
    /// before.
    index: usize,
    /// Which answer is shown: 0 for what rsp had at first.
    shown: usize,
    /// The pins that only depend on this.
    pins: u64,
}

impl Turn {
    /// Those of as many cycles as there may be, wherever they begin.
    pub fn all(hashes: usize, pins: &FilterPins) -> Vec<Self> {
        let turn = |cycle: usize| {
            let (request, access) = (cycle / hashes, cycle % hashes);
            let (rsp_valid, req_ready) = (access == 1, access + 1 == hashes);
            Self {
                request,
                // It was taken one cycle before a request came to its first access, and waited for the next to do so.
                index: (access * GROUP + cycle).saturating_sub(access + hashes + 1),
                shown: cycle.div_ceil(hashes),
                pins: pins.pack_outputs(&Outputs { busy: true, rsp_valid, req_ready, ..Outputs::default() }),
            }
        };
        (0..hashes + GROUP).map(turn).collect()
    }
}

/// Requests that such a core has in s2 and s1, and then those that it can take in a group of cycles.
const REQUESTS: usize = 2 + GROUP.div_ceil(2);

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
        let (Some(s1), Some(s2)) = (model.s1, model.s2) else { unreachable!("the pipeline is full") };
        let (cycles, hashes, first) = (outputs.len(), model.hashes, model.access);
        let places = [s2, s1].map(|slot| usize::from(slot.place));
        // Each request that is done makes room for one more, which is taken.
        let (done, access) = ((first + cycles) / hashes, (first + cycles) % hashes);
        let taken = |request: usize| (request - 1) * hashes - first - 1;
        let mut tags = [0; REQUESTS];
        let mut inserts = [0; REQUESTS];
        for (r, slot) in [s2, s1].iter().enumerate() {
            (tags[r], inserts[r]) = (slot.tag, u64::from(slot.op == Op::Insert));
        }
        for r in 2..2 + done {
            let controls = controls[taken(r)];
            (tags[r], inserts[r]) = (pins.tag_of(controls), pins.inserts(controls));
        }
        let mut own = std::mem::take(&mut model.own);
        let ahead = ahead.unwrap_or_else(|| {
            own.resize(model.filter.config().k() as usize);
            for r in 2..2 + done {
                let mut indices = [0; MAX_K];
                model.filter.all_indices(&rows[taken(r) * each..], &mut indices);
                own.set(taken(r), &indices);
            }
            &own
        });

        let turns = &model.turns[first..first + cycles];
        let mut writes = [0; GROUP];
        for (write, turn) in writes.iter_mut().zip(turns) {
            *write = inserts[turn.request];
        }
        // Accesses of the requests in s2 and s1.
        let before = cycles.min(2 * hashes - first);
        let (writes_before, writes_later) = writes[..cycles].split_at(before);
        let mut read = u32::MAX;
        for (b, bank) in model.filter.banks_mut().iter_mut().enumerate() {
            let mut bits = BitsInTurn::new(bank.words_mut());
            let [s2, s1] = places.map(|place| &model.indices[place][b * hashes..(b + 1) * hashes]);
            for (index, write) in s2[first..].iter().chain(s1).zip(writes_before) {
                bits.read_and_set(*index, *write);
            }
            let indices = ahead.from(b * hashes);
            bits.read_and_set_all(&turns[before..], writes_later, |turn| indices[turn.index - first]);
            read &= bits.read();
        }
        // What the first cycle read at bit 0.
        let read = u64::from(read.reverse_bits() >> (GROUP - cycles));
        model.port.stretch(model.cycle, cycles as u64, writes.iter().sum(), &model.filter.banks()[0])?;

        let hit = pins.pack_outputs(&Outputs { hit: true, ..Outputs::default() });
        // What rsp has now, what it gets from s3 if that is done, then the answers to the requests.
        let mut shown =
            [pins.pack_outputs(&Outputs { rsp_valid: false, busy: false, ..model.outputs(false) }); REQUESTS];
        if let (0, Some(s3)) = (first, model.s3) {
            shown[1] = s3.tag | (u64::from((s3.op == Op::Query) & s3.set & model.all_set) * hit);
        }
        // Of a request in the middle, s3 has what the accesses before gave; an insert has nothing for it.
        let mut set = first == 0 || model.s3.is_none_or(|s3| s3.set & model.all_set);
        let mut from = 0;
        for r in 0..done {
            let to = (r + 1) * hashes - first;
            let bits = (1 << to) - (1 << from);
            set &= read & bits == bits;
            shown[2 + r] = tags[r] | ((u64::from(set) & !inserts[r]) * hit);
            (set, from) = (true, to);
        }
        set &= read >> from == (1 << (cycles - from)) - 1;
        for (output, turn) in outputs.iter_mut().zip(turns) {
            *output = turn.pins | shown[turn.shown];
        }

        let slot = |r: usize| {
            let op = if inserts[r] == 0 { Op::Query } else { Op::Insert };
            Slot { op, tag: tags[r], place: places[r % 2] == 1 }
        };
        for r in [done, done + 1] {
            if r >= 2 {
                ahead.get(taken(r), &mut model.indices[places[r % 2]]);
            }
        }
        // What comes next is what rsp has: other than at first if it was given anything.
        let next = model.turns[first + cycles].shown;
        if next > usize::from(first > 0) {
            model.rsp = Answer { hit: shown[next] & hit != 0, status: Status::Ok };
            model.rsp_tag = pins.read_outputs(&[shown[next]]).tag;
        }
        model.rsp_valid = access == 1;
        model.all_set = true;
        model.s3 = match access {
            0 => {
                let Slot { op, tag, .. } = slot(done - 1);
                Some(Read { op, tag, set: shown[1 + done] & hit != 0, last: true })
            }
            _ if slot(done).op == Op::Insert => None,
            _ => Some(Read { op: slot(done).op, tag: tags[done], set, last: false }),
        };
        (model.s1, model.s2, model.access) = (Some(slot(done + 1)), Some(slot(done)), access);
        model.place = places[(done + 1) % 2] == 1;
        (model.cycle, model.own) = (model.cycle + cycles as u64, own);
        Ok(())
    }
}

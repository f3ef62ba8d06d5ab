//! A group of cycles in which nothing changes, of a core whose requests leave s3 after one cycle: a request offered in
//! each, responses taken at once.
//!
//! Then it is known when each request is where, and what all of them do is told together, a bit for each: step by step
//! and not one after another, so that nothing has to wait for what came before.

use super::{
    Config,
    clocked::{Aheads, GROUPS, Registers},
    coming::{Coming, LONGEST},
    state::{NONE, State},
};
use crate::{
    cpu::{GROUP, Level, Work},
    filter::{Answer, Filter, Op, Status},
    pins::Outputs,
    sram::Conflict,
};

/// Requests before those of a group: the one in rsp, and those in s3, s2 and s1.
const BEFORE: usize = 4;

/// Plays a group of such cycles if it is one, and says whether it is. It begins where a group of keys does.
pub struct Calm<'a> {
    pub registers: &'a mut Registers,
    pub state: &'a mut State,
    pub coming: Coming<'a>,
    /// [`crate::pins::FilterPins::controls_of`] the rows that come.
    pub controls: &'a [u64; LONGEST],
    pub outputs: &'a mut [u64; GROUP],
}

/// Whether the request in s3 changes nothing, and nothing waits to be written.
#[inline(always)]
pub fn is_calm(registers: &Registers) -> bool {
    registers.s3 != NONE && !registers.plan.changes && !registers.any_pending
}

/// What a group of requests does, a bit for each.
struct Told {
    hits: u32,
    refused: u32,
    changes: u32,
}

/// [`super::Balanced::plan`] for all keys of a group, if nothing changes.
#[inline(always)]
fn tell(state: &State, (ahead, first): (&Aheads, usize), inserts: u32, listed: u32) -> Told {
    let (filter, group) = (&state.filter, first / GROUP % GROUPS);
    let Config { h, p, .. } = *filter.config();
    let (mut looking, mut taken, mut hits) = (u32::MAX, 0, listed);
    for (c, choice) in filter.choices().iter().enumerate() {
        if filter.left() == c as u64 {
            looking &= !inserts;
        }
        let (mut set, mut below, mut takes) = (0, 0, 0);
        let (rows, coins) = (&ahead.rows()[c][group], &ahead.coins()[c][group]);
        let (masks, bits) = if state.words == 1 {
            (Some(&ahead.words()[c][group]), &[][..])
        } else {
            (None, ahead.numbers(c, choice.bits.len()))
        };
        for i in 0..GROUP {
            let (has, count) = if let Some(masks) = masks {
                filter.look_at(choice.level, rows[i], masks[i])
            } else {
                let bits = bits.iter().map(|numbers| numbers[group][i].into());
                (filter.has_bits(choice.level, rows[i], bits), filter.count(choice.level, rows[i] as usize))
            };
            set |= u32::from(has) << i;
            below |= u32::from(count < h) << i;
            takes |= (u32::from(count < h) | u32::from(count == h) & u32::from(coins[i] < p)) << i;
        }
        hits |= looking & set;
        taken |= looking & inserts & takes;
        // A block below H has never sent a key further.
        looking &= !(inserts & takes | !inserts & (set | below));
    }
    let refused = if filter.list().is_full() { inserts & !taken & !listed } else { 0 };
    let present = if filter.spends() { 0 } else { listed & !taken };
    Told { hits, refused, changes: inserts & !refused & !present }
}

impl Work for Calm<'_> {
    type Output = Result<bool, Conflict>;

    #[inline(always)]
    fn run<L: Level>(self, _: L) -> Result<bool, Conflict> {
        let Self { registers, state, coming, controls, outputs } = self;
        let (pins, (ahead, first)) = (coming.pins, coming.ahead);
        let controls = &controls[..GROUP];
        let Registers { cycle, s1, s2, s3, .. } = *registers;
        let [second, newest] = [s2, s1].map(|place| state.plan_any(place));
        if second.changes || newest.changes {
            return Ok(false);
        }
        let (mut inserts, mut listed) = (0, 0);
        for (i, control) in controls.iter().enumerate() {
            inserts |= (pins.inserts(*control) as u32) << i;
            listed |= u32::from(state.filter.list().contains(coming.key(i + 1))) << i;
        }
        let Told { hits, refused, changes } = tell(state, coming.ahead, inserts, listed);
        // The last three do not leave s3 yet.
        if changes << 3 != 0 {
            return Ok(false);
        }

        // All that is in flight on the way, the oldest first: a cycle moves everything on by one.
        let none = Outputs::default();
        let show = |Answer { hit, status }, tag| {
            pins.pack_outputs(&Outputs { hit, status: status as u8, tag, ..none })
        };
        let mut shown = [0; BEFORE + GROUP];
        shown[0] = show(registers.rsp, registers.rsp_tag);
        for (shown, (place, plan)) in
            shown[1..].iter_mut().zip([(s3, registers.plan), (s2, second), (s1, newest)])
        {
            *shown = show(plan.answer(), state.slots[place].tag);
        }
        let hit = pins.pack_outputs(&Outputs { hit: true, ..none });
        let full = pins.pack_outputs(&Outputs { status: Status::Full as u8, ..none });
        for (i, control) in controls.iter().enumerate() {
            let bit = |bits: u32| u64::from(bits >> i & 1);
            shown[BEFORE + i] = pins.tag_of(*control) | (hit * bit(hits)) | (full * bit(refused));
        }
        let flowing =
            Outputs { req_ready: true, rsp_valid: true, busy: true, level: state.filter.level(), ..none };
        let base = pins.pack_outputs(&flowing);
        for (output, shown) in outputs.iter_mut().zip(&shown) {
            *output = base | shown;
        }
        outputs[0] = shown[0] | pins.pack_outputs(&Outputs { rsp_valid: registers.rsp_valid, ..flowing });

        // Requests are read for in s2: those there and in s1, and all of the group but the last two.
        let in_s2 = [s2, s1].map(|place| u32::from(state.slots[place].op == Op::Insert));
        let writes = in_s2[0] | in_s2[1] << 1 | inserts << 2;
        let reads = if state.filter.has_budget() { u32::MAX } else { !writes };
        let last = cycle + u64::from(31_u32.saturating_sub(reads.leading_zeros()));
        for (sram, port) in state.srams.iter().zip(&mut state.ports) {
            port.some([cycle, last], [reads.count_ones().into(), 0], sram)?;
        }

        if let Some(parity) = &mut state.parity {
            let mut wrong = 0;
            for (l, sram) in state.srams.iter().enumerate() {
                let before = [s2, s1].map(|place| state.slots[place].rows[l] as usize);
                let rows = before.into_iter().chain((0..GROUP - 2).map(|i| ahead.row(l, first + i)));
                for (i, row) in rows.enumerate() {
                    wrong |= u32::from(parity.is_wrong(l, sram, row)) << i;
                }
            }
            let pin = parity.stretch((wrong & reads).into(), GROUP as u32);
            let error = pins.pack_outputs(&Outputs { parity_error: true, ..none });
            for (i, output) in outputs.iter_mut().enumerate() {
                *output |= error * (pin >> i & 1);
            }
        }

        // As many cycles as that leave every place where it was.
        for (place, i) in [s3, s2, s1].into_iter().zip(GROUP - 3..) {
            let (inputs, key) = pins.borrow_inputs(coming.row(i + 1));
            state.accept(place, &inputs, key, Some((ahead, first + i)));
        }
        let done = GROUP - BEFORE;
        let status = if refused >> done & 1 == 1 { Status::Full } else { Status::Ok };
        registers.rsp = Answer { hit: hits >> done & 1 == 1, status };
        (registers.rsp_valid, registers.rsp_tag) = (true, pins.tag_of(controls[done]));
        registers.cycle += GROUP as u64;
        registers.enter(state);
        Ok(true)
    }
}

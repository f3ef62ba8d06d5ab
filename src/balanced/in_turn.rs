//! Many cycles in which nothing changes, of a core that reads choices one after another: a request offered in each,
//! responses taken at once, and no insert that finds room.
//!
//! What a request does can be told before it is known whether it is accepted, and how long it stays in s3 is all that the others wait
//! for. So those of a group of cycles are told together, and nothing here needs a branch for what chance decides.

use std::array::from_fn;

use crate::{
    cam::Cam,
    cpu::{GROUP, Level, Work},
    filter::{Answer, Filter, Status},
    pins::{FilterPins, Outputs},
    sram::Conflict,
};

use super::{
    Plan,
    clocked::{GROUPS, Registers},
    coming::{Coming, LONGEST},
    config::MAX_D,
    functional::COIN_W,
    masks::window,
    state::{PLACES, State},
};

/// Whether the next cycles may be such ones, if they are calm. They begin where a group of keys does. With parity it matters which rows are read when. A budget that ends among the
/// choices of a key is spent soon.
#[inline(always)]
pub fn is_in_turn(state: &State, coming: &Coming) -> bool {
    let (left, choices) = (state.filter.left(), state.filter.choices().len() as u64);
    coming.ahead.1.is_multiple_of(GROUP)
        && state.sequential
        && state.parity.is_none()
        && (left == 0 || left >= choices)
}

/// Plays such cycles, at least [`super::flow::SHORTEST`], up to the first insert that changes something, and says how many. Masks are of one word, and keys have
/// `D` choices.
pub struct InTurn<'a, const D: usize> {
    pub registers: &'a mut Registers,
    pub state: &'a mut State,
    pub coming: Coming<'a>,
    /// [`FilterPins::controls_of`] the rows that come.
    pub controls: &'a [u64; LONGEST],
    pub outputs: &'a mut [u64],
}

/// What is known of a request in bits above all pins that show its response: the cycles that it stays in s3, whether it
/// reads before, and whether it changes something.
const STAYS: u32 = 61;
const READS: u32 = 60;
const CHANGES: u32 = 59;
const PINS: u64 = !(u64::MAX << CHANGES);

/// Of a request in a place that does this, and has read so many choices but the first.
#[inline(always)]
fn waits(state: &State, pins: &FilterPins, place: usize, plan: &Plan, probe: u32) -> u64 {
    let slot = &state.slots[place];
    let Answer { hit, status } = plan.answer();
    let outputs = Outputs { hit, status: status as u8, tag: slot.tag, ..Outputs::default() };
    u64::from(plan.probes.saturating_sub(probe).max(1)) << STAYS
        | u64::from(state.needs_blocks(slot.op)) << READS
        | u64::from(plan.changes) << CHANGES
        | pins.pack_outputs(&outputs)
}

/// Tells of those that come.
struct Teller<'a, const D: usize> {
    /// By choice: what is known of keys.
    known: [Known<'a>; D],
    coming: Coming<'a>,
    controls: &'a [u64; LONGEST],
    list: &'a Cam,
    /// The blocks, and the bits of one and its count.
    words: &'a [u64],
    width: u64,
    block_w: u32,
    count: u64,
    h: u64,
    p: u64,
    /// 1 if inserts look at blocks, if the list is full, and if what inserts look at counts.
    looks: u64,
    is_full: u64,
    spends: u64,
    /// Where pins say so.
    hit: u32,
    full: u32,
}

/// Rows, bits and coins of all keys.
#[derive(Clone, Copy)]
struct Known<'a> {
    rows: &'a [[u32; GROUP]; GROUPS],
    masks: &'a [[u64; GROUP]; GROUPS],
    coins: &'a [[u32; GROUP]; GROUPS],
}

impl<const D: usize> Teller<'_, D> {
    /// What is known of the requests that are offered in a group of cycles: [`super::Balanced::plan`] without a branch, step
    /// by step for all of them, accepted or not. Most steps are taken for several at once.
    #[inline(always)]
    fn tell(&self, group: usize, told: &mut [u64; GROUP]) {
        let Coming { pins, ahead: (_, first), .. } = self.coming;
        let listed: [u64; GROUP] = self.list.contain(self.coming.group(group));
        let controls = &self.controls.as_chunks::<GROUP>().0[group % GROUPS];
        let (mut inserts, mut looks, mut stays, mut room) = ([0; GROUP], [0; GROUP], [0; GROUP], [0; GROUP]);
        let (mut taken, mut hits) = ([0; GROUP], [0; GROUP]);
        for k in 0..GROUP {
            inserts[k] = pins.inserts(controls[k]);
            looks[k] = inserts[k] ^ 1 | self.looks;
            stays[k] = looks[k] ^ 1;
            // An insert finds room below H, and at H if its coin is below P; a query goes no further from a block below H,
            // which has never sent a key further.
            room[k] = self.h << COIN_W | (self.p & inserts[k].wrapping_neg());
        }
        for Known { rows, masks, coins } in &self.known {
            let group = (first / GROUP + group) % GROUPS;
            let (mut blocks, mut counts) = ([0; GROUP], [0; GROUP]);
            let lsb = |k: usize| u64::from(rows[group][k]) * self.width;
            for (k, block) in blocks.iter_mut().enumerate() {
                *block = if 64 % self.width == 0 {
                    self.words[(lsb(k) / 64) as usize] >> (lsb(k) % 64)
                } else {
                    window(self.words, lsb(k))
                };
            }
            // Whether the count lies there as well is the same for all rows.
            for (k, count) in counts.iter_mut().enumerate() {
                *count = if self.width <= 64 {
                    blocks[k] >> self.block_w
                } else {
                    window(self.words, lsb(k) + u64::from(self.block_w))
                };
            }
            for k in 0..GROUP {
                let set = u64::from(masks[group][k] & !blocks[k] == 0);
                let ends = (counts[k] & self.count) << COIN_W | u64::from(coins[group][k]);
                let ends = u64::from(ends < room[k]);
                stays[k] += looks[k];
                hits[k] |= looks[k] & set;
                taken[k] |= looks[k] & ends;
                looks[k] &= !(ends | set & !inserts[k]);
            }
        }
        for (k, told) in told.iter_mut().enumerate() {
            // What no block takes goes to the list, if there is room; what is there already only spends.
            let elsewhere = listed[k] & self.spends | !listed[k] & (self.is_full ^ 1);
            let refused = inserts[k] & !taken[k] & !listed[k] & self.is_full;
            *told = stays[k] << STAYS
                | (inserts[k] ^ 1 | self.looks) << READS
                | (inserts[k] & (taken[k] | elsewhere)) << CHANGES
                | pins.tag_of(controls[k])
                | (hits[k] | listed[k]) << self.hit
                | refused << self.full;
        }
    }
}

impl<const D: usize> Work for InTurn<'_, D> {
    type Output = Result<usize, Conflict>;

    #[inline(always)]
    fn run<L: Level>(self, _: L) -> Result<usize, Conflict> {
        let Self { registers, state, coming, controls, outputs } = self;
        let (pins, none) = (coming.pins, Outputs::default());
        debug_assert!(pins.map().output_bits() <= CHANGES, "flags have bits of their own");
        let [base, hit, full, valid, ready] = [
            Outputs { busy: true, level: state.filter.level(), ..none },
            Outputs { hit: true, ..none },
            Outputs { status: Status::Full as u8, ..none },
            Outputs { rsp_valid: true, ..none },
            Outputs { req_ready: true, ..none },
        ]
        .map(|outputs| pins.pack_outputs(&outputs));
        let Registers { cycle, s1, s2, s3, rsp: Answer { hit: was_hit, status }, rsp_tag, .. } = *registers;
        let mut third = waits(state, pins, s3, &registers.plan, registers.probe);
        let [mut second, mut newest] =
            [s2, s1].map(|place| waits(state, pins, place, &state.plan_any(place), 0));
        let mut rsp =
            pins.pack_outputs(&Outputs { hit: was_hit, status: status as u8, tag: rsp_tag, ..none });
        let mut responds = if registers.rsp_valid { valid } else { 0 };
        let filter = &state.filter;
        let (config, memory) = (filter.config(), &filter.levels()[0]);
        let ahead = coming.ahead.0;
        let teller = Teller::<D> {
            known: from_fn(|c| Known {
                rows: &ahead.rows()[c],
                masks: &ahead.words()[c],
                coins: &ahead.coins()[c],
            }),
            coming,
            controls,
            list: filter.list(),
            words: memory.words(),
            width: memory.width().into(),
            block_w: config.block_w,
            count: !(u64::MAX << config.count_w()),
            h: config.h.into(),
            p: config.p.into(),
            looks: filter.has_budget().into(),
            is_full: filter.list().is_full().into(),
            spends: filter.spends().into(),
            hit: hit.trailing_zeros(),
            full: full.trailing_zeros(),
        };
        // Cycles are counted from 1. Since when a request is in s3, and how many have left it.
        let (mut since, mut left) = (1, 0);
        let (mut unread, mut end) = (0, 1 + outputs.len());
        let mut log = [0; 1 + LONGEST + MAX_D];
        // What is known of so many requests, in groups as they are needed: those behind a change would be told in vain.
        let (mut told, mut known) = ([0; LONGEST], 0);
        while since < end {
            if third >> CHANGES & 1 == 1 {
                end = since;
                break;
            }
            log[since..][..MAX_D].fill(base | rsp);
            log[since] |= responds;
            let leaves = since + (third >> STAYS) as usize - 1;
            if leaves >= end {
                break;
            }
            log[leaves] |= ready;
            if leaves > known {
                let group = known / GROUP;
                teller.tell(group, &mut told.as_chunks_mut().0[group % GROUPS]);
                known += GROUP;
            }
            unread += !second >> READS & 1;
            (rsp, responds) = (third & PINS, valid);
            (third, second, newest) = (second, newest, told[(leaves - 1) % LONGEST]);
            (since, left) = (leaves + 1, left + 1);
        }
        let cycles = end - 1;
        outputs[..cycles].copy_from_slice(&log[1..end]);
        let last = cycle + cycles as u64 - 1;
        state.ports[0].some([cycle, last], [cycles as u64 - unread, 0], &state.srams[0])?;
        let place = |number: usize| (s3 + left + number) % PLACES;
        // As many have come, and those that came last are still there.
        let accepted = (1..end).rev().filter(|cycle| log[*cycle] & ready != 0);
        for (age, accepted) in accepted.take(3).enumerate() {
            let (inputs, key) = pins.borrow_inputs(coming.row(accepted));
            state.accept(place(2 - age), &inputs, key, Some(coming.known(accepted)));
        }
        let Outputs { hit, status, tag, .. } = pins.read_outputs(&[rsp]);
        registers.rsp = Answer { hit, status: Status::from_bits(status) };
        (registers.rsp_valid, registers.rsp_tag) = (since == end, tag);
        [registers.s3, registers.s2, registers.s1, registers.next] = [0, 1, 2, 3].map(place);
        registers.cycle = last + 1;
        registers.enter(state);
        registers.probe = (end - since) as u32;
        Ok(cycles)
    }
}

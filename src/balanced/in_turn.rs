//! Many cycles in which nothing changes, of a core that reads choices one after another: a request offered in each,
//! responses taken at once, and no insert that finds room.
//!
//! What a request does can be told when it is accepted, and how long it stays in s3 is all that the others wait for. So
//! nothing here needs a branch for what chance decides, and while some are told others are shown.

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

/// Whether the next cycles may be such ones, if they are calm. With parity it matters which rows are read when. A budget that ends among the
/// choices of a key is spent soon.
#[inline(always)]
pub fn is_in_turn(state: &State) -> bool {
    let (left, choices) = (state.filter.left(), state.filter.choices().len() as u64);
    state.sequential && state.parity.is_none() && (left == 0 || left >= choices)
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
    /// By group and choice: what is known of keys.
    known: [[Known<'a>; D]; GROUPS],
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

/// Rows, bits and coins of a group of keys.
#[derive(Clone, Copy)]
struct Known<'a> {
    rows: &'a [u32; GROUP],
    masks: &'a [u64; GROUP],
    coins: &'a [u32; GROUP],
}

impl<const D: usize> Teller<'_, D> {
    /// What is known of the request that is accepted in a cycle: [`super::Balanced::plan`] without a branch.
    #[inline(always)]
    fn tell(&self, cycle: usize) -> u64 {
        let i = self.coming.ahead.1 + cycle - 1;
        let known = &self.known[i / GROUP % GROUPS];
        let controls = self.controls[(cycle - 1) % LONGEST];
        let inserts = self.coming.pins.inserts(controls);
        let listed = u64::from(self.list.contains(self.coming.row(cycle)));
        // An insert finds room below H, and at H if its coin is below P; a query goes no further from a block below H, which
        // has never sent a key further.
        let room = self.h << COIN_W | (self.p & inserts.wrapping_neg());
        let reads = inserts ^ 1 | self.looks;
        let (mut looks, mut taken, mut hit, mut stays) = (reads, 0, listed, reads ^ 1);
        for Known { rows, masks, coins } in known {
            let lsb = u64::from(rows[i % GROUP]) * self.width;
            let block = window(self.words, lsb);
            // Whether the count lies there as well is the same for all rows.
            let above = if self.width <= 64 {
                block >> self.block_w
            } else {
                window(self.words, lsb + u64::from(self.block_w))
            };
            let set = u64::from(masks[i % GROUP] & !block == 0);
            let ends = u64::from((above & self.count) << COIN_W | u64::from(coins[i % GROUP]) < room);
            stays += looks;
            hit |= looks & set;
            taken |= looks & ends;
            looks &= !(ends | set & !inserts);
        }
        // What no block takes goes to the list, if there is room; what is there already only spends.
        let elsewhere = if listed == 1 { self.spends } else { self.is_full ^ 1 };
        let refused = inserts & !taken & !listed & self.is_full;
        stays << STAYS
            | reads << READS
            | (inserts & (taken | elsewhere)) << CHANGES
            | self.coming.pins.tag_of(controls)
            | hit << self.hit
            | refused << self.full
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
        let known = |group: usize, c: usize| {
            let ahead = &coming.ahead.0[group];
            Known { rows: ahead.rows(c), masks: &ahead.masks::<1>(c)[0], coins: ahead.coins(c) }
        };
        // Groups that nothing is known of are not asked for.
        let groups = (coming.ahead.1 + outputs.len()).div_ceil(GROUP);
        let teller = Teller::<D> {
            known: from_fn(|group| from_fn(|c| known(group.min(groups - 1), c))),
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
        // Cycles are counted from 1. Since when a request is in s3, how many have left it, and when the last three of
        // those that came were accepted, a byte for each.
        let (mut since, mut left, mut accepted) = (1, 0, 0_u32);
        let (mut unread, mut end) = (0, 1 + outputs.len());
        let mut log = [0; 1 + LONGEST + MAX_D];
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
            unread += !second >> READS & 1;
            (rsp, responds) = (third & PINS, valid);
            (third, second, newest) = (second, newest, teller.tell(leaves));
            (since, left, accepted) = (leaves + 1, left + 1, accepted << 8 | leaves as u32);
        }
        let cycles = end - 1;
        outputs[..cycles].copy_from_slice(&log[1..end]);
        let last = cycle + cycles as u64 - 1;
        state.ports[0].some([cycle, last], [cycles as u64 - unread, 0], &state.srams[0])?;
        let place = |number: usize| (s3 + left + number) % PLACES;
        for age in 0..left.min(3) {
            let accepted = (accepted >> (8 * age) & 0xff) as usize;
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

//! Cycles of a busy core that changes nothing: a request offered in each, responses taken at once, nothing waiting
//! to be written, and no insert that finds room.
//!
//! As long as nothing changes, what a request will do can be told when it is accepted: a number then goes down the pipeline in its
//! place. With the first insert that changes something such a stretch ends.

use crate::{
    ahead::Ahead,
    filter::{Answer, Filter, Op, Status},
    parity::Parity,
    pins::{FilterPins, Outputs},
    sram::Conflict,
};

use super::{
    Place, Plan,
    clocked::Registers,
    config::MAX_D,
    state::{NONE, PLACES, State},
};

/// A request on its way.
#[derive(Clone, Copy)]
struct Flowing {
    tag: u64,
    /// Bit 0: an insert; 1: a hit; 2: refused; 3: it changes something. Above: choices that it looks at.
    bits: u64,
}

impl Flowing {
    #[inline(always)]
    fn new(inserts: bool, tag: u64, plan: &Plan) -> Self {
        let refused = plan.place == Some(Place::Refused);
        let flags = u64::from(inserts)
            | u64::from(plan.hit) << 1
            | u64::from(refused) << 2
            | u64::from(plan.changes) << 3;
        Self { tag, bits: flags | u64::from(plan.probes) << 4 }
    }

    #[inline(always)]
    fn is(self, flag: u32) -> bool {
        self.bits >> flag & 1 == 1
    }

    #[inline(always)]
    fn probes(self) -> u64 {
        self.bits >> 4
    }
}

/// Whether requests fill the pipeline, one behind the other, the first of them changes nothing, and nothing waits to be
/// written or is cleared.
#[inline(always)]
pub fn flows(registers: &Registers, state: &State) -> bool {
    let Registers { next, s1, s2, s3, sweep, any_pending, .. } = *registers;
    let moves = |place: usize| matches!(state.slots[place % PLACES].op, Op::Query | Op::Insert);
    let full = s1 != NONE && s2 == (s3.wrapping_add(1)) % PLACES && s1 == (s3.wrapping_add(2)) % PLACES;
    let full = full && s3 != NONE && next == (s3 + 3) % PLACES;
    full && !registers.plan.changes && !sweep && !any_pending && moves(s1) && moves(s2) && moves(s3)
}

/// What the request that `ahead` knows as number `i` does, if nothing changes before. Masks are of one word, or of any
/// number.
#[inline(always)]
fn plan<const ONE: bool>(state: &State, inserts: bool, key: &[u64], ahead: &Ahead, i: usize) -> Plan {
    let filter = &state.filter;
    let (mut rows, choices) = ([0; MAX_D], filter.choices());
    for (c, row) in rows.iter_mut().enumerate().take(choices.len()) {
        *row = ahead.row(c, i) as u32;
    }
    let has = |c: usize, row| {
        let level = choices[c].level;
        if ONE {
            filter.has_mask::<1>(level, row, 1, |w| ahead.word(c, w, i))
        } else {
            filter.has_bits(level, row, ahead.bits(c, choices[c].bits.len(), i))
        }
    };
    filter.plan(inserts, key, rows, has, |c| ahead.coin(c, i))
}

/// Plays such cycles, as many as there are at the begin of `rows`, and says how many. `ahead` knows the keys from the one
/// with this number on.
#[inline(never)]
pub fn flow<const ONE: bool>(
    registers: &mut Registers,
    state: &mut State,
    pins: &FilterPins,
    (rows, each): (&[u64], usize),
    (ahead, first): (&Ahead, usize),
    outputs: &mut [u64],
) -> Result<usize, Conflict> {
    let Registers { mut cycle, s1, s2, s3, mut probe, mut rsp_valid, mut rsp, mut rsp_tag, .. } = *registers;
    let waiting = |state: &State, place: usize| {
        let slot = &state.slots[place];
        Flowing::new(slot.op == Op::Insert, slot.tag, &state.plan_any(place))
    };
    let slot = state.slots[s3];
    let mut third = Flowing::new(slot.op == Op::Insert, slot.tag, &registers.plan);
    let (mut second, mut newest) = (waiting(state, s2), waiting(state, s1));
    let (level, budget, sequential) = (state.filter.level(), state.filter.has_budget(), state.sequential);
    // The number of the request in s3, counted from the one that was there.
    let (mut played, mut moved) = (0, 0_usize);
    // Rows of requests that have no place yet, and which key they have: only parity looks at them, and the end.
    let mut accepted = [0; PLACES];
    for (row, output) in rows.chunks_exact(each).zip(outputs) {
        if third.is(3) {
            break;
        }
        let Some((inserts, tag)) = pins.saturating(row) else { break };
        let reads_on = sequential && u64::from(probe) + 1 < third.probes();
        *output = pins.pack_outputs(&Outputs {
            req_ready: !reads_on,
            rsp_valid,
            hit: rsp.hit,
            status: rsp.status as u8,
            tag: rsp_tag,
            busy: true,
            level,
            parity_error: state.parity.as_ref().is_some_and(Parity::error),
        });
        if reads_on || budget || !second.is(0) {
            for (sram, port) in state.srams.iter().zip(&mut state.ports) {
                port.read(cycle, sram)?;
            }
            if let Some(parity) = &mut state.parity {
                // The next choice of the request in s3, or the first of that in s2.
                let (back, from) = if reads_on { (0, probe as usize + 1) } else { (1, 0) };
                for (l, sram) in state.srams.iter().enumerate() {
                    let row = match (moved + back).checked_sub(3) {
                        None => state.slots[(s3 + moved + back) % PLACES].rows[from + l] as usize,
                        Some(a) => ahead.row(from + l, accepted[a % PLACES]),
                    };
                    parity.read(l, sram, row);
                }
            }
        }
        if let Some(parity) = &mut state.parity {
            parity.clock();
        }
        cycle += 1;
        rsp_valid = !reads_on;
        if reads_on {
            probe += 1;
        } else {
            let status = if third.is(2) { Status::Full } else { Status::Ok };
            (rsp, rsp_tag) = (Answer { hit: third.is(1), status }, third.tag);
            let i = first + played;
            let does = plan::<ONE>(state, inserts, &row[..pins.key_words()], ahead, i);
            (third, second, newest) = (second, newest, Flowing::new(inserts, tag, &does));
            accepted[moved % PLACES] = i;
            moved += 1;
            probe = 0;
        }
        played += 1;
    }
    // What was accepted last is still there, and takes its place.
    for a in moved.saturating_sub(3)..moved {
        let i = accepted[a % PLACES];
        let (inputs, key) = pins.borrow_inputs(&rows[(i - first) * each..][..each]);
        state.accept((s3 + 3 + a) % PLACES, &inputs, key, Some((ahead, i)));
    }
    let at = |place: usize| (place + moved) % PLACES;
    registers.next = at(registers.next);
    (registers.s1, registers.s2, registers.s3) = (at(s1), at(s2), at(s3));
    (registers.cycle, registers.rsp_valid, registers.rsp, registers.rsp_tag) =
        (cycle, rsp_valid, rsp, rsp_tag);
    if moved > 0 {
        registers.enter(state);
    }
    registers.probe = probe;
    Ok(played)
}

//! Many cycles of a busy core at once, played request by request: a request offered in each, responses taken at once, and
//! nothing but queries and inserts on the way.
//!
//! A request decides on the newest rows, so it does what the functional model does after all those before it: content needs no
//! pipeline. When a request enters s3 and leaves it follows from the reads that it makes, and from the writes of the two
//! before it.
//!
//! Where the core has more than one memory, whose writes wait for each other, a stretch ends with the first insert that changes
//! something; else only with one that spends the last of the budget, because those behind it may have read.

use crate::{
    cpu::{Level, Work},
    filter::{Answer, Filter, Op, Status},
    parity::Parity,
    pins::{FilterPins, Outputs},
    sram::Conflict,
};

use super::{
    Balanced, Place, Plan,
    clocked::Registers,
    coming::{Coming, LONGEST},
    config::MAX_D,
    state::{NONE, PLACES, State},
};

/// Fewer cycles are played one by one in less time. In as many, the request in s3 leaves it: what it does was settled when it came
/// there, whatever befell the memory since.
pub const SHORTEST: usize = 6;
/// Cycles from a response to the next are at most as many: two writes, all reads, and a write among them.
const APART: usize = 8;
const _: () = assert!(MAX_D < SHORTEST && MAX_D + 2 <= APART && LONGEST < 256);

/// Whether a stretch ends before such a request leaves s3.
#[inline(always)]
fn stops(state: &State, plan: &Plan) -> bool {
    let last = plan.probes > 0 && u64::from(plan.probes) == state.filter.left();
    plan.changes && (last || state.srams.len() > 1)
}

/// Whether requests fill the pipeline but for s3 perhaps, and nothing is cleared or waits for anything but its turn.
#[inline(always)]
pub fn flows(registers: &Registers, state: &State) -> bool {
    let Registers { s1, s2, s3, sweep, any_pending, .. } = *registers;
    let moves =
        |place: usize| state.slots.get(place).is_some_and(|slot| matches!(slot.op, Op::Query | Op::Insert));
    let waits = state.srams.len() > 1 && any_pending;
    let goes = s3 == NONE || moves(s3) && !stops(state, &registers.plan);
    !sweep && !waits && moves(s1) && moves(s2) && goes
}

/// Plays such cycles, as many as there are at the begin of `rows`, and says how many, and whether anything changed. Masks
/// are of one word, or of any number.
pub struct Flow<'a, const ONE: bool> {
    pub registers: &'a mut Registers,
    pub state: &'a mut State,
    pub coming: Coming<'a>,
    pub outputs: &'a mut [u64],
}

impl<const ONE: bool> Work for Flow<'_, ONE> {
    type Output = Result<(usize, bool), Conflict>;

    #[inline(always)]
    fn run<L: Level>(self, _: L) -> Self::Output {
        if self.state.parity.is_some() { self.play::<true>() } else { self.play::<false>() }
    }
}

/// When requests are where.
struct Times {
    /// The cycle in which the request before leaves s3, or the first in which s3 is free.
    free: usize,
    /// 1 if a row is written in that cycle.
    blocked: usize,
    /// 1 if a row is written in the next.
    writes: usize,
}

impl Times {
    /// When a request moves from s2 to s3. If it needs blocks it reads one in that cycle.
    #[inline(always)]
    fn enter(&self, needs: usize) -> usize {
        let late = needs & self.blocked;
        self.free + late + (late & self.writes)
    }

    /// When it goes on to read in s3, to which it moved in a cycle, if it has more to read.
    #[inline(always)]
    fn read_on(&self, entered: usize) -> usize {
        entered + 1 + (usize::from(entered == self.free) & self.writes)
    }

    /// It leaves s3 in a cycle, with a row to write or not.
    #[inline(always)]
    fn leave(&mut self, cycle: usize, writes: bool) {
        self.blocked = usize::from(cycle == self.free + 1) & self.writes;
        (self.free, self.writes) = (cycle, writes.into());
    }
}

/// What pins show, all others at 0.
struct Pins {
    hit: u64,
    full: u64,
    valid: u64,
    ready: u64,
    error: u64,
}

/// A request on its way through s3.
#[derive(Clone, Copy)]
struct Request {
    /// Counted from the place in front of s2.
    number: usize,
    /// The cycle in which it was accepted, of those that come.
    accepted: usize,
    tag: u64,
    plan: Plan,
    /// The cycle in which it moved to s3.
    entered: usize,
    /// The choice that it has read then or before.
    probe: usize,
}

/// A stretch on the way. Its cycles are counted from 1.
struct Play<'a, const ONE: bool, const PARITY: bool> {
    state: &'a mut State,
    coming: Coming<'a>,
    end: usize,
    times: Times,
    pins: Pins,
    log: [u64; LONGEST + 1 + APART],
    /// What pins show that do not change with every response.
    base: u64,
    /// The place in front of s2.
    place: usize,
    /// Requests that moved to s3, and when the last four did, a byte for each, the latest lowest: then others were accepted.
    moved: usize,
    accepted: u32,
    /// The row that is to be written, or [`NONE`].
    pending: usize,
    reads: usize,
    writes: usize,
    /// From when on the pin is high that parity errors raise.
    error: usize,
    changed: bool,
}

impl<const ONE: bool, const PARITY: bool> Play<'_, ONE, PARITY> {
    /// The cycle in which the request with this number is accepted, if that is in this stretch and it is not yet in s3.
    #[inline(always)]
    fn accepted(&self, number: usize) -> usize {
        (self.accepted >> (8 * (self.moved + 2 - number)) & 0xff) as usize
    }

    /// Where the request with this number stays, if it is there already.
    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        (self.place + number) % PLACES
    }

    /// The next request moves to s3, if that is before the end.
    #[inline(always)]
    fn enter(&mut self) -> Option<Request> {
        let number = self.moved + 1;
        let accepted = self.accepted(number);
        let waited = number < 3;
        let place = self.place(number);
        let (inserts, tag) = if waited {
            let slot = &self.state.slots[place];
            (slot.op == Op::Insert, slot.tag)
        } else {
            let controls = self.coming.pins.controls_of(self.coming.row(accepted));
            (self.coming.pins.inserts(controls) == 1, self.coming.pins.tag_of(controls))
        };
        let needs = usize::from(!inserts | self.state.filter.has_budget());
        let entered = self.times.enter(needs);
        if entered >= self.end {
            return None;
        }
        let plan = if waited {
            self.state.plan_any(place)
        } else {
            self.coming.plan::<ONE>(&self.state.filter, inserts, accepted)
        };
        self.log[entered] |= self.pins.ready;
        self.accepted = self.accepted << 8 | entered as u32;
        self.moved = number;
        self.reads += needs;
        if stops(self.state, &plan) {
            self.end = entered + 1;
        }
        let request = Request { number, accepted, tag, plan, entered, probe: 0 };
        // Before the row of the request in front of it is written.
        if PARITY && needs == 1 && entered == self.times.free {
            self.check(&request, 0, entered);
        }
        Some(request)
    }

    /// Reads all memories for a request: its rows from a choice on.
    #[inline(always)]
    fn check(&mut self, request: &Request, choice: usize, cycle: usize) {
        let State { srams, parity, .. } = &*self.state;
        let Some(parity) = parity else { return };
        for (level, sram) in srams.iter().enumerate() {
            if parity.is_wrong(level, sram, request.plan.rows[choice + level] as usize) {
                self.error = self.error.min(cycle + 2);
            }
        }
    }

    /// Writes the row that waits, if that is before the end.
    #[inline(always)]
    fn write(&mut self) {
        if self.pending != NONE && self.times.free + 1 < self.end {
            self.state.put_back(0, self.pending);
            self.pending = NONE;
            self.writes += 1;
        }
    }

    /// A request in s3 reads all that it has to, and leaves. If the end is before that, this is how far it gets.
    #[inline(always)]
    fn stay(&mut self, mut request: Request) -> Option<Request> {
        let Request { entered, plan, probe, .. } = request;
        self.write();
        let mut more = 0;
        if self.state.sequential {
            more = (plan.probes as usize).saturating_sub(probe + 1);
        }
        let from = self.times.read_on(entered);
        if PARITY {
            if entered > self.times.free {
                self.check(&request, 0, entered);
            }
            for i in 0..more.min(self.end.saturating_sub(from)) {
                self.check(&request, probe + 1 + i, from + i);
            }
        }
        let leaves = if more == 0 { entered + 1 } else { from + more };
        if leaves >= self.end {
            let read = self.end.saturating_sub(from).min(more);
            self.reads += read;
            request.probe += read;
            return Some(request);
        }
        self.reads += more;
        if plan.changes {
            self.commit(&request);
        }
        self.times.leave(leaves, self.pending != NONE);
        let refused = plan.place == Some(Place::Refused);
        let shown = self.base
            | request.tag
            | (self.pins.hit * u64::from(plan.hit))
            | (self.pins.full * u64::from(refused));
        self.log[leaves + 1..][..APART].fill(shown);
        self.log[leaves + 1] |= self.pins.valid;
        None
    }

    /// Does what a request is to do.
    #[inline(always)]
    fn commit(&mut self, &Request { number, accepted, plan, .. }: &Request) {
        if let Some(Place::Block(choice)) = plan.place {
            self.pending = plan.rows[choice] as usize;
            self.state.change(0, self.pending);
        }
        if number < 3 {
            self.state.commit(self.place(number), &plan);
        } else {
            self.coming.commit::<ONE>(&mut self.state.filter, &plan, accepted);
        }
        self.changed = true;
        self.base = base(self.coming.pins, &self.state.filter);
    }

    /// All that is in flight takes its place, and pins are shown.
    #[inline(always)]
    fn finish(
        self,
        registers: &mut Registers,
        in_s3: Option<Request>,
        outputs: &mut [u64],
    ) -> Result<(usize, bool), Conflict> {
        let Self { state, coming, end, moved, log, error, .. } = self;
        let (cycles, place) = (end - 1, |number| (self.place + number) % PLACES);
        outputs[..cycles].copy_from_slice(&log[1..end]);
        if let Some(parity) = &mut state.parity {
            for output in outputs[..cycles].iter_mut().skip(error.saturating_sub(1)) {
                *output |= self.pins.error;
            }
            parity.set_pending([error <= end, error <= end + 1]);
        }
        let [first, last] = [registers.cycle, registers.cycle + cycles as u64 - 1];
        for (sram, port) in state.srams.iter().zip(&mut state.ports) {
            let writes = self.writes as u64;
            port.some([first, last], [self.reads as u64 + writes, writes], sram)?;
        }

        let Outputs { rsp_valid, hit, status, tag, .. } = coming.pins.read_outputs(&log[end..]);
        (registers.rsp_valid, registers.rsp_tag) = (rsp_valid, tag);
        registers.rsp = Answer { hit, status: Status::from_bits(status) };
        for number in moved.max(3)..moved + 3 {
            let accepted = (self.accepted >> (8 * (moved + 2 - number)) & 0xff) as usize;
            let (inputs, key) = coming.pins.borrow_inputs(coming.row(accepted));
            state.accept(place(number), &inputs, key, Some(coming.known(accepted)));
        }
        registers.cycle += cycles as u64;
        (registers.s2, registers.s1, registers.next) = (place(moved + 1), place(moved + 2), place(moved + 3));
        (registers.pending[0], registers.any_pending) = (self.pending, self.pending != NONE);
        registers.s3 = NONE;
        if let Some(Request { number, probe, .. }) = in_s3 {
            registers.s3 = place(number);
            registers.enter(state);
            registers.probe = probe as u32;
        }
        Ok((cycles, self.changed))
    }
}

/// What pins show of a busy core that do not change with every response.
#[inline(always)]
fn base(pins: &FilterPins, filter: &Balanced) -> u64 {
    pins.pack_outputs(&Outputs { busy: true, level: filter.level(), ..Outputs::default() })
}

impl<const ONE: bool> Flow<'_, ONE> {
    #[inline(always)]
    fn play<const PARITY: bool>(self) -> Result<(usize, bool), Conflict> {
        let Self { registers, state, coming, outputs } = self;
        let pins = coming.pins;
        let none = Outputs::default();
        let [hit, full, valid, ready, error] = [
            Outputs { hit: true, ..none },
            Outputs { status: Status::Full as u8, ..none },
            Outputs { rsp_valid: true, ..none },
            Outputs { req_ready: true, ..none },
            Outputs { parity_error: true, ..none },
        ]
        .map(|outputs| pins.pack_outputs(&outputs));
        let Registers { s2, s3, rsp, rsp_valid, rsp_tag, .. } = *registers;
        let waits = usize::from(registers.any_pending);
        let [pending, arrived] = state.parity.as_ref().map_or([false; 2], Parity::pending);
        let mut play = Play::<ONE, PARITY> {
            base: base(pins, &state.filter),
            end: 1 + outputs.len(),
            // The request in s3 came there in cycle 0 as it were, and the one before it left.
            times: if s3 == NONE {
                Times { free: 1, blocked: waits, writes: 0 }
            } else {
                Times { free: 0, blocked: 0, writes: waits }
            },
            pins: Pins { hit, full, valid, ready, error },
            log: [0; _],
            place: (s2 + PLACES - 1) % PLACES,
            moved: 0,
            accepted: 0,
            pending: NONE,
            reads: 0,
            writes: waits,
            error: if pending {
                1
            } else if arrived {
                2
            } else {
                usize::MAX
            },
            changed: false,
            state,
            coming,
        };
        if registers.any_pending {
            play.state.put_back(0, registers.pending[0]);
        }
        let Answer { hit, status } = rsp;
        let shown =
            pins.pack_outputs(&Outputs { hit, status: status as u8, tag: rsp_tag, rsp_valid, ..none });
        play.log[1..=APART].fill(play.base | shown & !valid);
        play.log[1] |= shown;

        let mut request = (s3 != NONE).then(|| Request {
            number: 0,
            accepted: 0,
            tag: play.state.slots[s3].tag,
            plan: registers.plan,
            entered: 0,
            probe: registers.probe as usize,
        });
        loop {
            if let Some(some) = request {
                request = play.stay(some);
                if request.is_some() {
                    break;
                }
            }
            request = play.enter();
            if request.is_none() {
                play.write();
                break;
            }
        }
        play.finish(registers, request, outputs)
    }
}

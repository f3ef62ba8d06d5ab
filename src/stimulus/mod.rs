//! Test stimulus for any filter core, made in closed loop with a clocked model.
//!
//! A run starts with a directed script (`script.rs`) and goes on with random phases,
//! each with its own mix of operations, keys, gaps and back-pressure. All of it is
//! decided by one seed. The core is known only by its pins and by the hash field
//! in which keys of one memory row agree.
//!
//! Whenever a request is not offered, its pins carry noise; while one is offered
//! but not taken, it either holds or changes at once, by phase: a core that looks
//! at its inputs at any other moment than the handshake gives itself away.

mod keys;
mod phase;
mod script;

use thiserror::Error;

use crate::{
    clocked::{Clocked, Fault},
    filter::Op,
    hash::{Field, H3, SplitMix64},
    params::{ConfigError, Params},
    pins::{FilterPins, Inputs, Outputs},
    registry::Core,
    sram::PortCounts,
    vectors::Case,
};
use keys::Keys;
use phase::{Phase, Ready};
use script::Step;

/// Stimulus that could not be made.
#[derive(Debug, Error)]
pub enum DriveError {
    /// The core refuses the parameters.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The device failed.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The core has not finished its first sweep: its memories are not defined yet.
    #[error("{cycles} cycles are too few: the start-up sweep is not over; give at least ROWS + 100 cycles")]
    TooShort {
        /// How many were asked for.
        cycles: u64,
    },
    /// Not a filter core.
    #[error("the pins are not those of a filter core")]
    Pins,
}

/// The request that is offered; its key is in `Stimulus::key`, which is never
/// allocated again.
#[derive(Clone, Copy, Debug)]
struct Request {
    op: Op,
    tag: u64,
}

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests taken by the core.
    pub requests: u64,
    /// Responses given.
    pub responses: u64,
    /// Each memory port over the whole run.
    pub ports: Vec<PortCounts>,
    /// Each memory port in the phases in which requests were offered and responses
    /// taken in every cycle.
    pub saturated: Vec<PortCounts>,
}

/// The generator. See the module.
pub struct Stimulus {
    pins: FilterPins,
    rng: SplitMix64,
    keys: Keys,
    cycles: u64,
    cycle: u64,
    script: std::vec::IntoIter<Step>,
    step: Step,
    phase: Phase,
    phase_end: u64,
    offered: Option<Request>,
    key: Vec<u64>,
    /// Cycles of `rsp_ready` low still to come, of the script or of a phase.
    stall: u64,
    /// Cycles from power-up to the first `req_ready`: what a CLEAR or reset costs.
    sweep: Option<u64>,
    /// Sweeps that the run can still afford.
    sweeps_left: u64,
    next_sweep: u64,
    reset: u64,
    saturated_from: Option<Vec<PortCounts>>,
    /// Keys of one row that the core takes, if there is a limit, and what finds them.
    capacity: Option<(u64, H3, Field)>,
    totals: Totals,
}

impl Stimulus {
    /// Stimulus for a core: `cycles` cycles of it.
    pub fn new(core: &dyn Core, params: &Params, seed: u64, cycles: u64) -> Result<Self, DriveError> {
        let pins = FilterPins::of(core.clocked(params)?.pins()).ok_or(DriveError::Pins)?;
        let (hash, home) = core.home(params)?;
        let mut rng = SplitMix64::new(seed);
        let keys = Keys::new(pins.key_w(), &hash, home, &mut rng);
        let phase = Phase::idle();
        let key = vec![0; pins.key_words()];
        Ok(Self {
            pins,
            keys,
            rng,
            cycles,
            cycle: 0,
            script: Vec::new().into_iter(),
            step: Step::Idle(0),
            phase,
            phase_end: 0,
            offered: None,
            key,
            stall: 0,
            sweep: None,
            sweeps_left: 0,
            next_sweep: u64::MAX,
            reset: 0,
            saturated_from: None,
            capacity: core.capacity(params).map(|keys| (keys, hash, home)),
            totals: Totals::default(),
        })
    }

    /// Counts so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Refuses a run that ended before the core was ready for the first time.
    pub fn finished(&self) -> Result<(), DriveError> {
        self.sweep.map(|_| ()).ok_or(DriveError::TooShort { cycles: self.cycles })
    }

    /// Drives `device` for as many cycles as `inputs` has rows, and records both
    /// sides.
    pub fn drive(
        &mut self,
        device: &mut dyn Clocked,
        inputs: &mut [u64],
        outputs: &mut [u64],
    ) -> Result<(), DriveError> {
        let (input, output) = (self.pins.map().input_words(), self.pins.map().output_words());
        for (input, output) in inputs.chunks_exact_mut(input).zip(outputs.chunks_exact_mut(output)) {
            if self.sweep.is_some() && self.cycle >= self.phase_end && self.script_is_over() {
                self.next_phase(device);
            }
            let pins = self.next_row(input);
            device.clock(input, output)?;
            let seen = self.pins.read_outputs(output);
            self.learn(&pins, &seen);
        }
        self.totals.ports = device.ports();
        self.count_saturated(&device.ports());
        Ok(())
    }

    fn script_is_over(&self) -> bool {
        matches!(self.step, Step::Idle(0)) && self.script.as_slice().is_empty()
    }

    /// Fills in one row of inputs.
    fn next_row(&mut self, row: &mut [u64]) -> Inputs {
        let mut pins = Inputs { rsp_ready: self.rsp_ready(), ..Inputs::default() };
        let noise = self.rng.next_u64();
        if self.reset > 0 {
            self.reset -= 1;
            pins.rst = true;
            self.offered = None;
        } else {
            self.offer();
        }
        let key: &[u64] = if let Some(request) = &self.offered {
            pins.req_valid = true;
            pins.op = request.op;
            pins.tag = request.tag;
            &self.key
        } else {
            // Noise on what nobody should look at; during reset even a valid.
            pins.req_valid = pins.rst && noise & 4 != 0;
            pins.op = Op::from_bits(noise);
            pins.tag = noise >> 3;
            self.keys.noise(noise)
        };
        self.pins.write_inputs(&pins, key, row);
        pins
    }

    /// Decides what is offered in this cycle.
    fn offer(&mut self) {
        if !self.script_is_over() {
            self.offer_by_script();
            return;
        }
        if self.sweep.is_none() {
            // Requests while the core is not ready for the first time.
            if self.rng.chance(300) {
                self.offered = Some(self.random_request(Op::Query));
            } else {
                self.offered = None;
            }
            return;
        }
        if self.cycle >= self.next_sweep && self.sweeps_left > 0 {
            self.sweeps_left -= 1;
            self.next_sweep = self.cycle + self.sweep_gap();
            if self.rng.chance(300) {
                // From the next cycle on, with whatever is in flight.
                self.reset = 1 + self.rng.below(3);
                self.offered = None;
                return;
            }
            self.offered = Some(self.random_request(Op::Clear));
            return;
        }
        match &self.offered {
            // A CLEAR that waits always holds, or it might never come to be.
            Some(request) if !self.phase.scramble || request.op == Op::Clear => {}
            _ => {
                self.offered = None;
                if self.phase.valid >= 1000 || self.rng.chance(self.phase.valid) {
                    let op = self.random_op();
                    self.offered = Some(self.random_request(op));
                }
            }
        }
    }

    fn offer_by_script(&mut self) {
        loop {
            match &mut self.step {
                Step::Idle(cycles) if *cycles > 0 => {
                    *cycles -= 1;
                    self.offered = None;
                    return;
                }
                Step::Request(op, key) => {
                    if self.offered.is_none() {
                        self.key.copy_from_slice(key);
                        self.offered = Some(Request { op: *op, tag: self.rng.next_u64() });
                    }
                    return;
                }
                Step::Stall(cycles) => self.stall = *cycles,
                Step::Reset(cycles) => self.reset = *cycles,
                Step::Idle(_) => {}
            }
            let Some(step) = self.script.next() else {
                self.step = Step::Idle(0);
                self.offered = None;
                return;
            };
            self.step = step;
            if self.reset > 0 {
                // The reset itself starts with the next row; this one is the last before.
                self.offered = None;
                return;
            }
        }
    }

    fn rsp_ready(&mut self) -> bool {
        if self.stall > 0 {
            self.stall -= 1;
            return false;
        }
        if !self.script_is_over() {
            return true;
        }
        match self.phase.ready {
            Ready::Always => true,
            Ready::Chance(per_mille) => self.rng.chance(per_mille),
            Ready::Stalls(longest) => {
                if self.rng.chance(100) {
                    self.stall = self.rng.below(longest);
                }
                true
            }
        }
    }

    fn random_op(&mut self) -> Op {
        let [queries, inserts, removes] = self.phase.ops.map(u64::from);
        let pick = self.rng.below(queries + inserts + removes);
        // By arithmetic: branches on chance would be guessed wrong.
        Op::from_bits(u64::from(pick >= queries) + u64::from(pick >= queries + inserts))
    }

    fn random_request(&mut self, op: Op) -> Request {
        self.keys.pick(self.phase.keys, &mut self.rng, &mut self.key);
        Request { op, tag: self.rng.next_u64() }
    }

    /// Learns from the outputs what happened in the cycle.
    fn learn(&mut self, inputs: &Inputs, outputs: &Outputs) {
        self.cycle += 1;
        self.totals.responses += u64::from(outputs.rsp_valid & inputs.rsp_ready);
        if outputs.req_ready && self.sweep.is_none() {
            let sweep = self.cycle;
            self.sweep = Some(sweep);
            // A quarter of the run may go into further sweeps, script included.
            self.sweeps_left = self.cycles / (4 * sweep);
            if let Some((capacity, hash, home)) = &self.capacity {
                // Rows fill up only between sweeps.
                self.sweeps_left = self.sweeps_left.min(script::SWEEPS + self.cycles / (CROWDED * capacity));
                self.keys.renew_crowd(hash, *home, &mut self.rng);
            }
            let scripted = self.sweeps_left >= script::SWEEPS;
            if scripted {
                self.sweeps_left -= script::SWEEPS;
            }
            self.script = script::script(&mut self.keys, &mut self.rng, sweep, scripted).into_iter();
            self.step = Step::Idle(1);
            self.next_sweep = self.cycle + self.sweep_gap();
        }
        if inputs.rst {
            return;
        }
        if inputs.req_valid && outputs.req_ready {
            self.totals.requests += 1;
            self.offered = None;
            if matches!(self.step, Step::Request(..)) {
                self.step = Step::Idle(0);
            }
        }
    }

    /// Adds what the ports did since the last time to the saturated phases' count.
    fn count_saturated(&mut self, now: &[PortCounts]) {
        let Some(from) = &mut self.saturated_from else { return };
        self.totals.saturated.resize(now.len(), PortCounts::default());
        for ((total, from), now) in self.totals.saturated.iter_mut().zip(from).zip(now) {
            *total = [*total, now.since(from)].into_iter().sum();
            *from = *now;
        }
    }

    fn sweep_gap(&mut self) -> u64 {
        let gap = self.cycles.saturating_sub(self.cycle) / (self.sweeps_left + 1);
        gap / 2 + self.rng.below(gap + 1)
    }

    fn next_phase(&mut self, device: &dyn Clocked) {
        let ports = device.ports();
        self.count_saturated(&ports);
        self.saturated_from = None;
        self.phase = Phase::random(&mut self.rng, self.cycles);
        if let Some((capacity, hash, home)) = &self.capacity
            && self.rng.chance(400)
        {
            if self.rng.chance(300) {
                self.keys.renew_crowd(hash, *home, &mut self.rng);
            }
            self.phase.crowd(&mut self.rng, *capacity);
        }
        self.phase_end = self.cycle + self.phase.cycles;
        if self.phase.saturating {
            // No sweep may fall into it.
            self.next_sweep = self.next_sweep.max(self.phase_end);
            self.saturated_from = Some(ports);
        }
        self.keys.renew(&mut self.rng);
    }
}

/// Cycles from one sweep to the next, on average, for each key that a row takes.
const CROWDED: u64 = 100;

/// Records a case: the stimulus for a core, and what its clocked model answers.
pub fn record(core: &dyn Core, params: &Params, seed: u64, cycles: u64) -> Result<Case, DriveError> {
    let params = core.check(params)?;
    let mut model = core.clocked(&params)?;
    let mut stimulus = Stimulus::new(core, &params, seed, cycles)?;
    let pins = model.pins().clone();
    let mut inputs = vec![0; pins.input_words() * cycles as usize];
    let mut expected = vec![0; pins.output_words() * cycles as usize];
    stimulus.drive(model.as_mut(), &mut inputs, &mut expected)?;
    stimulus.finished()?;
    Ok(Case {
        core: core.name().to_owned(),
        module: core.module().to_owned(),
        params,
        seed,
        cycles,
        memories: model.memories()?,
        pins,
        stimulus: inputs,
        expected,
    })
}

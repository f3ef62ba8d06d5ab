#[cfg(test)]
mod tests;

use crate::{
    ahead::{Ahead, Hasher},
    clocked::ClockedFilter,
    cpu::GROUP,
    filter::{Answer, Filter, Op, Status},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, Port, PortCounts},
};

use super::{
    Balanced, Config, Place, Plan, Scheme,
    calm::{Calm, is_calm},
    coming::{Coming, LONGEST},
    config::MAX_D,
    flow::{Flow, SHORTEST, flows},
    in_turn::{InTurn, is_in_turn},
    state::{NONE, NOTHING, PLACES, Slot, State, hasher},
};

/// The clocked model of `membrane_balanced`: its pipeline, register by register.
///
/// | stage | holds | does |
/// |---|---|---|
/// | s1 | hash | reduces fields to rows, bits and coins |
/// | s2 | rows and bits | reads all levels; CLEAR: writes zeros, one row a cycle |
/// | s3 | masks | decides on the rows read; sequential: reads the next choice |
/// | rsp | response | waits for `rsp_ready` |
///
/// An insert leaves its changed row in a register of its level, from where it is
/// written. What s3 sees is the newest value always, so it decides exactly as the
/// functional model does on requests in order: the model plans a request when it
/// enters s3 and commits it when it leaves. Only the memories lag behind, by the
/// rows that wait in those registers.
#[derive(Clone, Debug)]
pub struct ClockedBalanced {
    pins: FilterPins,
    registers: Registers,
    state: State,
    hasher: Option<Hasher>,
    /// Cycles for which nothing has changed: if many, nothing may change in the next.
    calm: usize,
}

/// Groups of keys that are hashed ahead: the more, the longer a stretch can be that [`Flow`] plays at once.
pub(super) const GROUPS: usize = 4;
/// What the hash says of them.
pub(super) type Aheads = Ahead<GROUPS>;

/// All that moves at an edge.
#[allow(clippy::struct_excessive_bools)] // registers are bits
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    pub cycle: u64,
    /// Clearing after reset.
    pub sweep: bool,
    pub row: usize,
    pub next: usize,
    pub s1: usize,
    pub s2: usize,
    pub s3: usize,
    /// What the request in s3 does.
    pub plan: Plan,
    /// Sequential: the choice that it has read last.
    pub probe: u32,
    /// The level in which it changes a row, or [`NONE`].
    pub level: usize,
    /// Per level: the changed row that is to be written, or [`NONE`].
    pub pending: [usize; MAX_D],
    pub any_pending: bool,
    pub rsp_valid: bool,
    pub rsp: Answer,
    pub rsp_tag: u64,
}

impl ClockedBalanced {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = Balanced::new(config)?;
        let srams = filter.levels().to_vec();
        let words = config.block_w.div_ceil(64) as usize;
        Ok(Self {
            pins: FilterPins::new(config.key_w, config.tag_w, config.level_w()),
            registers: Registers {
                cycle: 0,
                sweep: true,
                row: 0,
                next: 0,
                s1: NONE,
                s2: NONE,
                s3: NONE,
                plan: NOTHING,
                probe: 0,
                level: NONE,
                pending: [NONE; MAX_D],
                any_pending: false,
                rsp_valid: false,
                rsp: Answer::default(),
                rsp_tag: 0,
            },
            hasher: hasher(&filter, words),
            calm: 0,
            state: State {
                ports: vec![Port::default(); srams.len()],
                parity: config.parity.then(|| Parity::new(&srams)),
                sequential: config.scheme == Scheme::Sequential,
                slots: [Slot::default(); PLACES],
                keys: vec![0; PLACES * config.key_w.div_ceil(64) as usize],
                masks: vec![0; PLACES * filter.choices().len() * words],
                words,
                hash: vec![0; filter.hash().words()],
                changed: [None; MAX_D],
                hidden: [false; MAX_D],
                srams,
                filter,
            },
        })
    }
}

impl ClockedBalanced {
    /// Cycles one after another, with masks of one word, or of any number.
    #[inline(always)]
    fn play<const ONE: bool>(
        &mut self,
        pins: &FilterPins,
        (mut rows, each): (&[u64], usize),
        ahead: Option<&Aheads>,
        mut outputs: &mut [u64],
    ) -> Result<(), Conflict> {
        let Self { registers, state, calm, .. } = self;
        let mut at = 0_usize;
        // Cycles among which no stretch of busy ones is long enough.
        let mut steps = 0;
        let mut controls = [0; LONGEST];
        while let (Some(row), false) = (rows.get(..each), outputs.is_empty()) {
            let mut played = 0;
            if let Some(ahead) = ahead.filter(|_| steps == 0 && flows(registers, state)) {
                // If nothing changes now, a group may follow in which nothing does.
                let mut most = outputs.len();
                if *calm > 0 && !(state.sequential && at.is_multiple_of(GROUP)) {
                    most = GROUP - at % GROUP;
                }
                let coming = Coming { pins, rows: (rows, each), ahead: (ahead, at) };
                let busy = coming.busy(most.min(outputs.len()), &mut controls);
                if busy < SHORTEST {
                    steps = busy + 1;
                } else {
                    played =
                        stretch::<ONE>(registers, state, calm, (&coming, &controls), &mut outputs[..busy])?;
                }
            }
            if played == 0 {
                *calm = 0;
                let (inputs, key) = pins.borrow_inputs(row);
                let known = ahead.map(|ahead| (ahead, at));
                outputs[0] = pins.pack_outputs(&registers.step(state, &inputs, key, known)?);
                played = 1;
                steps = steps.saturating_sub(1);
            }
            (rows, outputs, at) = (&rows[played * each..], &mut outputs[played..], at + played);
        }
        Ok(())
    }
}

/// Plays some cycles of a busy core in the shortest way that there is for them, and says how many.
#[inline(always)]
fn stretch<const ONE: bool>(
    registers: &mut Registers,
    state: &mut State,
    calm: &mut usize,
    (&coming, controls): (&Coming, &[u64; LONGEST]),
    outputs: &mut [u64],
) -> Result<usize, Conflict> {
    let (cpu, cycles) = (state.filter.cpu(), outputs.len());
    if *calm >= GROUP && is_calm(registers) {
        let mut played = 0;
        if ONE && is_in_turn(state, &coming) {
            played = match state.filter.choices().len() {
                1 => cpu.run(InTurn::<1> { registers, state, coming, controls, outputs })?,
                2 => cpu.run(InTurn::<2> { registers, state, coming, controls, outputs })?,
                3 => cpu.run(InTurn::<3> { registers, state, coming, controls, outputs })?,
                _ => cpu.run(InTurn::<4> { registers, state, coming, controls, outputs })?,
            };
        } else if !state.sequential
            && let Ok(outputs) = (&mut *outputs).try_into()
            && cpu.run(Calm { registers, state, coming, controls, outputs })?
        {
            played = GROUP;
        }
        if played > 0 {
            if played < cycles {
                *calm = 0;
            }
            return Ok(played);
        }
    }
    let (played, changed) = cpu.run(Flow::<ONE> { registers, state, coming, outputs })?;
    *calm = if changed { 0 } else { *calm + played };
    Ok(played)
}

impl Registers {
    /// Sequential: the request in s3 has another choice to read.
    #[inline(always)]
    fn reads_on(&self, sequential: bool) -> bool {
        sequential && self.s3 != NONE && self.probe + 1 < self.plan.probes
    }

    /// Writes zeros to the next row of every level that has it; true at the last row.
    #[inline(always)]
    fn sweep_row(&mut self, state: &mut State) -> Result<bool, Conflict> {
        state.clear_row(self.cycle, self.row)?;
        self.row += 1;
        let last = self.row == state.srams[0].rows();
        if last {
            self.row = 0;
        }
        Ok(last)
    }

    /// Writes all rows that wait.
    #[inline(always)]
    fn write_back(&mut self, state: &mut State) -> Result<(), Conflict> {
        for (level, pending) in self.pending.iter_mut().enumerate() {
            let row = std::mem::replace(pending, NONE);
            if row != NONE {
                state.write(self.cycle, level, row)?;
            }
        }
        self.any_pending = false;
        Ok(())
    }

    /// The request in s2 moves on.
    #[inline(always)]
    fn enter_s3(&mut self, state: &State) {
        self.s3 = self.s2;
        self.enter(state);
    }

    /// What the request in s3 does.
    #[inline(always)]
    pub fn enter(&mut self, state: &State) {
        self.plan = state.plan_any(self.s3);
        self.probe = 0;
        self.level = match self.plan.place {
            Some(Place::Block(choice)) => state.filter.choices()[choice].level,
            _ => NONE,
        };
    }

    #[inline(always)]
    fn leave_s3(&mut self, state: &mut State) {
        if let Some(Place::Block(choice)) = self.plan.place {
            let (level, row) = (self.level, self.plan.rows[choice] as usize);
            self.pending[level] = row;
            self.any_pending = true;
            state.change(level, row);
        }
        let Slot { op, tag, .. } = state.slots[self.s3];
        // Queries, and inserts that are refused, have nothing to do.
        if matches!(self.plan.place, Some(Place::Block(_) | Place::List)) {
            state.commit(self.s3, &self.plan);
        }
        self.rsp = self.plan.answer();
        if op == Op::Remove {
            self.rsp.status = Status::Unsupported;
        }
        self.rsp_tag = tag;
        self.s3 = NONE;
    }

    #[inline(always)]
    fn reset(&mut self, state: &mut State) {
        state.reset();
        self.sweep = true;
        self.row = 0;
        [self.s1, self.s2, self.s3] = [NONE; 3];
        self.pending = [NONE; MAX_D];
        self.any_pending = false;
        self.rsp_valid = false;
        self.rsp = Answer::default();
        self.rsp_tag = 0;
    }

    /// One cycle. Part of its caller, so that pins and registers stay in registers of the processor.
    #[inline(always)]
    fn step(
        &mut self,
        state: &mut State,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Aheads, usize)>,
    ) -> Result<Outputs, Conflict> {
        let rsp_free = !self.rsp_valid || inputs.rsp_ready;
        let reads_on = self.reads_on(state.sequential);
        let decided = self.s3 != NONE && !reads_on;
        let s3_leaves = decided && rsp_free;
        let s3_free = self.s3 == NONE || s3_leaves;
        let s2 = state.slots.get(self.s2).map(|slot| slot.op);
        let s2_needs = s2.is_some_and(|op| state.needs_blocks(op));
        let s2_reads = s3_free && s2_needs;

        // The first level writes at once. The others wait until it does, until nobody
        // reads, or until the next change needs the register.
        let needed = decided && self.pending.get(self.level).is_some_and(|row| *row != NONE);
        let pending = self.any_pending;
        let write = self.pending[0] != NONE || needed || (pending && !s2_reads && !reads_on);
        let clearing = self.sweep || (s2 == Some(Op::Clear) && self.s3 == NONE && !pending);
        let s2_moves = s2.is_some_and(|op| {
            s3_free
                && match op {
                    Op::Clear => clearing && self.row + 1 == state.srams[0].rows(),
                    _ => !write || !s2_needs,
                }
        });
        let s2_free = s2.is_none() || s2_moves;
        let s1_free = self.s1 == NONE || s2_free;
        let outputs = Outputs {
            req_ready: !self.sweep && s1_free,
            rsp_valid: self.rsp_valid,
            hit: self.rsp.hit,
            status: self.rsp.status as u8,
            tag: self.rsp_tag,
            busy: self.sweep || self.rsp_valid || self.s1 != NONE || self.s2 != NONE || self.s3 != NONE,
            level: state.filter.level(),
            parity_error: state.parity.as_ref().is_some_and(Parity::error),
        };

        // The ports, even when `rst` is high, as in the RTL.
        let mut sweep_done = false;
        if clearing {
            sweep_done = self.sweep_row(state)?;
        } else if write {
            self.write_back(state)?;
        } else if reads_on || s2_reads {
            let (place, first) = if reads_on { (self.s3, self.probe as usize + 1) } else { (self.s2, 0) };
            state.read(self.cycle, place, first)?;
        }
        self.cycle += 1;
        if let Some(parity) = &mut state.parity {
            parity.clock();
        }

        if inputs.rst {
            self.reset(state);
            return Ok(outputs);
        }
        if rsp_free {
            self.rsp_valid = s3_leaves;
        }
        if s3_leaves {
            self.leave_s3(state);
        } else if reads_on && !write {
            self.probe += 1;
        }
        if s2_moves {
            self.enter_s3(state);
        }
        if s2_free {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = NONE;
            if inputs.req_valid && outputs.req_ready {
                self.s1 = self.next;
                self.next = (self.next + 1) % PLACES;
                state.accept(self.s1, inputs, key, ahead);
            }
        }
        self.sweep &= !sweep_done;
        Ok(outputs)
    }
}

impl ClockedFilter for ClockedBalanced {
    type Ahead = Aheads;
    const GROUPS: usize = GROUPS;

    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    fn look_ahead(&self, keys: &[u64], each: usize, ahead: &mut Aheads) -> bool {
        let Some(hasher) = &self.hasher else { return false };
        hasher.look_ahead(self.state.filter.cpu(), (keys, each), ahead);
        true
    }

    #[inline]
    fn cycle(
        &mut self,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Aheads, usize)>,
    ) -> Result<Outputs, Conflict> {
        self.registers.step(&mut self.state, inputs, key, ahead)
    }

    fn cycles(
        &mut self,
        pins: &FilterPins,
        rows: (&[u64], usize),
        ahead: Option<&Aheads>,
        outputs: &mut [u64],
    ) -> Result<(), Conflict> {
        match self.state.words {
            1 => self.play::<true>(pins, rows, ahead, outputs),
            _ => self.play::<false>(pins, rows, ahead, outputs),
        }
    }

    fn memories(&self) -> Vec<&Memory> {
        self.state.srams.iter().collect()
    }

    fn parity(&self) -> Option<&Parity> {
        self.state.parity.as_ref()
    }

    fn upset(&mut self, index: usize, row: usize, bit: u32) {
        let state = &mut self.state;
        let sram = &mut state.srams[index];
        if let Some(parity) = state.parity.as_mut().filter(|_| bit == sram.width()) {
            parity.upset(index, row);
            return;
        }
        sram.flip(row, bit);
        if state.changed[index] == Some(row) {
            state.hidden[index] = true;
        } else {
            state.filter.memories_mut()[index].flip(row, bit);
        }
    }

    fn port_counts(&self) -> Vec<PortCounts> {
        self.state.ports.iter().map(|port| port.counts(self.registers.cycle)).collect()
    }
}

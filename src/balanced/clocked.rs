use crate::{
    clocked::ClockedFilter,
    filter::{Answer, Filter, Op, Status},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, Port, PortCounts},
};

use super::{Balanced, Config, Place, Plan, Scheme, config::MAX_D};

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
    /// What requests that left s3 have done.
    filter: Balanced,
    /// What is in the memories.
    srams: Vec<Memory>,
    ports: Vec<Port>,
    parity: Option<Parity>,
    pins: FilterPins,
    cycle: u64,
    /// Clearing after reset.
    sweep: bool,
    row: usize,
    s1: Option<Slot>,
    s2: Option<Slot>,
    s3: Option<Deciding>,
    /// Per level: the changed row that is to be written.
    pending: [Option<usize>; MAX_D],
    /// Per level: the row that was changed last, which requests see in its register.
    changed: [Option<usize>; MAX_D],
    /// That row has a soft error in the memory, which requests do not see yet.
    hidden: [bool; MAX_D],
    rsp_valid: bool,
    rsp: Answer,
    rsp_tag: u64,
    /// Keys of the requests in s1, s2 and s3: only a place number moves.
    keys: [Vec<u64>; 3],
    /// Hash of the request in s3.
    hash: Vec<u64>,
}

/// A request in s1 or s2.
#[derive(Clone, Copy, Debug)]
struct Slot {
    op: Op,
    tag: u64,
    key: usize,
}

/// The request in s3.
#[derive(Clone, Copy, Debug)]
struct Deciding {
    slot: Slot,
    plan: Plan,
    /// Sequential: the choice that was read last.
    probe: u32,
}

impl ClockedBalanced {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = Balanced::new(config)?;
        let srams = filter.levels().to_vec();
        Ok(Self {
            pins: FilterPins::new(config.key_w, config.tag_w, config.level_w()),
            ports: vec![Port::default(); srams.len()],
            parity: config.parity.then(|| Parity::new(&srams)),
            hash: vec![0; filter.hash().words()],
            srams,
            filter,
            cycle: 0,
            sweep: true,
            row: 0,
            s1: None,
            s2: None,
            s3: None,
            pending: [None; MAX_D],
            changed: [None; MAX_D],
            hidden: [false; MAX_D],
            rsp_valid: false,
            rsp: Answer::default(),
            rsp_tag: 0,
            keys: std::array::from_fn(|_| vec![0; config.key_w.div_ceil(64) as usize]),
        })
    }

    /// The state of the filter without time.
    pub fn filter(&self) -> &Balanced {
        &self.filter
    }

    fn any_pending(&self) -> bool {
        self.pending.iter().any(Option::is_some)
    }

    /// The level in which the insert in s3 changes a row, once it has all it reads.
    fn updates(&self, s3: &Deciding) -> Option<usize> {
        match s3.plan.place {
            Some(Place::Block(choice)) if !self.reads_on(s3) => Some(self.filter.config().level_of(choice)),
            _ => None,
        }
    }

    /// Sequential: the request in s3 has another choice to read.
    fn reads_on(&self, s3: &Deciding) -> bool {
        self.filter.config().scheme == Scheme::Sequential && s3.probe + 1 < s3.plan.probes
    }

    /// Writes zeros to the next row of every level that has it; true at the last row.
    fn sweep_row(&mut self) -> Result<bool, Conflict> {
        if self.row == 0 {
            self.filter.clear();
            self.changed = [None; MAX_D];
            self.hidden = [false; MAX_D];
        }
        for (level, (sram, port)) in self.srams.iter_mut().zip(&mut self.ports).enumerate() {
            if self.row < sram.rows() {
                port.write(self.cycle, sram)?;
                sram.clear_row(self.row);
                if let Some(parity) = &mut self.parity {
                    parity.write(level, sram, self.row);
                }
            }
        }
        self.row += 1;
        let last = self.row == self.srams[0].rows();
        if last {
            self.row = 0;
        }
        Ok(last)
    }

    /// Writes all rows that wait.
    fn write_back(&mut self) -> Result<(), Conflict> {
        for (level, pending) in self.pending.iter_mut().enumerate() {
            if let Some(row) = pending.take() {
                self.ports[level].write(self.cycle, &self.srams[level])?;
                self.srams[level].copy_row(row, &self.filter.levels()[level]);
                self.hidden[level] = false;
                if let Some(parity) = &mut self.parity {
                    parity.write(level, &self.srams[level], row);
                }
            }
        }
        Ok(())
    }

    /// Reads every level: the next choice of the request in s3, or that in s2.
    fn read(&mut self, reads_on: Option<&Deciding>) -> Result<(), Conflict> {
        for (sram, port) in self.srams.iter().zip(&mut self.ports) {
            port.read(self.cycle, sram)?;
        }
        if self.parity.is_some() {
            let first = reads_on.map_or(0, |s3| s3.probe as usize + 1);
            let rows = reads_on.map(|s3| s3.plan.rows).or_else(|| self.s2.map(|slot| self.rows_of(&slot)));
            let rows = rows.unwrap_or_default();
            if let Some(parity) = &mut self.parity {
                for (level, sram) in self.srams.iter().enumerate() {
                    parity.read(level, sram, rows[first + level] as usize);
                }
            }
        }
        Ok(())
    }

    fn rows_of(&self, slot: &Slot) -> [u32; MAX_D] {
        let mut hash = vec![0; self.filter.hash().words()];
        self.filter.hash().hash_into(&self.keys[slot.key], &mut hash);
        let mut rows = [0; MAX_D];
        for (row, choice) in rows.iter_mut().zip(self.filter.choices()) {
            *row = choice.row.of(&hash) as u32;
        }
        rows
    }

    /// Whether the request in s2 needs its blocks. Without budget an insert does not.
    fn needs_blocks(&self, slot: &Slot) -> bool {
        slot.op == Op::Query || (slot.op == Op::Insert && self.filter.has_budget())
    }

    fn enter_s3(&mut self, slot: Slot) {
        let key = &self.keys[slot.key];
        let plan = match slot.op {
            Op::Query => {
                self.filter.hash().hash_into(key, &mut self.hash);
                self.filter.plan_query(key, &self.hash)
            }
            Op::Insert => {
                self.filter.hash().hash_into(key, &mut self.hash);
                self.filter.plan_insert(key, &self.hash)
            }
            Op::Remove | Op::Clear => Plan { hit: false, probes: 0, place: None, rows: [0; MAX_D] },
        };
        self.s3 = Some(Deciding { slot, plan, probe: 0 });
    }

    fn leave_s3(&mut self, s3: &Deciding) {
        if let Some(level) = self.updates(s3)
            && let Some(Place::Block(choice)) = s3.plan.place
        {
            let row = s3.plan.rows[choice] as usize;
            self.pending[level] = Some(row);
            let before = self.changed[level].replace(row);
            if let Some(before) = before.filter(|before| *before != row && self.hidden[level]) {
                self.filter.memories_mut()[level].copy_row(before, &self.srams[level]);
                self.hidden[level] = false;
            }
        }
        self.filter.commit(&self.keys[s3.slot.key], &self.hash, &s3.plan);
        self.rsp = match s3.slot.op {
            Op::Query | Op::Insert => s3.plan.answer(),
            Op::Remove => Answer { hit: false, status: Status::Unsupported },
            Op::Clear => Answer::default(),
        };
        self.rsp_tag = s3.slot.tag;
    }

    fn reset(&mut self) {
        self.filter.clear();
        self.sweep = true;
        self.row = 0;
        self.s1 = None;
        self.s2 = None;
        self.s3 = None;
        self.pending = [None; MAX_D];
        self.changed = [None; MAX_D];
        self.hidden = [false; MAX_D];
        self.rsp_valid = false;
        self.rsp = Answer::default();
        self.rsp_tag = 0;
        if let Some(parity) = &mut self.parity {
            parity.reset();
        }
    }
}

impl ClockedFilter for ClockedBalanced {
    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    fn cycle(&mut self, inputs: &Inputs, key: &[u64]) -> Result<Outputs, Conflict> {
        let rsp_free = !self.rsp_valid || inputs.rsp_ready;
        let s3 = self.s3;
        let reads_on = s3.is_some_and(|s3| self.reads_on(&s3));
        let s3_leaves = s3.is_some() && !reads_on && rsp_free;
        let s3_free = s3.is_none() || s3_leaves;
        let s2_reads = s3_free && self.s2.is_some_and(|slot| self.needs_blocks(&slot));

        // The first level writes at once. The others wait until it does, until nobody
        // reads, or until the next change needs the register.
        let needed = s3.and_then(|s3| self.updates(&s3)).is_some_and(|level| self.pending[level].is_some());
        let pending = self.any_pending();
        let write = self.pending[0].is_some() || needed || (pending && !s2_reads && !reads_on);
        let clearing =
            self.sweep || (self.s2.is_some_and(|slot| slot.op == Op::Clear) && self.s3.is_none() && !pending);
        let s2_moves = self.s2.is_some_and(|slot| {
            s3_free
                && match slot.op {
                    Op::Clear => clearing && self.row + 1 == self.srams[0].rows(),
                    _ => !write || !self.needs_blocks(&slot),
                }
        });
        let s2_free = self.s2.is_none() || s2_moves;
        let s1_free = self.s1.is_none() || s2_free;
        let outputs = Outputs {
            req_ready: !self.sweep && s1_free,
            rsp_valid: self.rsp_valid,
            hit: self.rsp.hit,
            status: self.rsp.status as u8,
            tag: self.rsp_tag,
            busy: self.sweep || self.rsp_valid || self.s1.is_some() || self.s2.is_some() || self.s3.is_some(),
            level: self.filter.level(),
            parity_error: self.parity.as_ref().is_some_and(Parity::error),
        };

        // The ports, even when `rst` is high, as in the RTL.
        let mut sweep_done = false;
        if clearing {
            sweep_done = self.sweep_row()?;
        } else if write {
            self.write_back()?;
        } else if reads_on || s2_reads {
            self.read(s3.as_ref().filter(|_| reads_on))?;
        }
        self.cycle += 1;
        if let Some(parity) = &mut self.parity {
            parity.clock();
        }

        if inputs.rst {
            self.reset();
            return Ok(outputs);
        }
        if rsp_free {
            self.rsp_valid = s3_leaves;
        }
        if let Some(s3) = s3 {
            if s3_leaves {
                self.leave_s3(&s3);
                self.s3 = None;
            } else if reads_on && !write {
                self.s3 = Some(Deciding { probe: s3.probe + 1, ..s3 });
            }
        }
        if s2_moves && let Some(slot) = self.s2 {
            self.enter_s3(slot);
        }
        if s2_free {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = None;
            if inputs.req_valid && outputs.req_ready {
                // The place that neither s2 nor s3 uses.
                let used = [self.s2.map(|s2| s2.key), self.s3.map(|s3| s3.slot.key)];
                let place = (0..3).find(|place| !used.contains(&Some(*place))).unwrap_or(0);
                self.keys[place].copy_from_slice(key);
                self.s1 = Some(Slot { op: inputs.op, tag: inputs.tag, key: place });
            }
        }
        self.sweep &= !sweep_done;
        Ok(outputs)
    }

    fn memories(&self) -> Vec<&Memory> {
        self.srams.iter().collect()
    }

    fn parity(&self) -> Option<&Parity> {
        self.parity.as_ref()
    }

    fn upset(&mut self, index: usize, row: usize, bit: u32) {
        let sram = &mut self.srams[index];
        match self.parity.as_mut().filter(|_| bit == sram.width()) {
            Some(parity) => parity.upset(index, row),
            None => {
                sram.flip(row, bit);
                if self.changed[index] == Some(row) {
                    self.hidden[index] = true;
                } else {
                    self.filter.memories_mut()[index].flip(row, bit);
                }
            }
        }
    }

    fn port_counts(&self) -> Vec<PortCounts> {
        self.ports.iter().map(|port| port.counts(self.cycle)).collect()
    }
}

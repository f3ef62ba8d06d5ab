mod ahead;
mod flow;
#[cfg(test)]
mod tests;

use crate::{
    clocked::ClockedFilter,
    cpu::{GROUP, Level, Work},
    filter::{Answer, Op, Status},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, Port, PortCounts},
};

use super::{Config, Partitioned, functional::MAX_K};
use ahead::{Group, Hash, LookAhead};
use flow::{Flow, LongFlow, Turn};

/// The clocked model of `membrane_partitioned`: its pipeline, register by
/// register.
///
/// | stage | holds | does |
/// |---|---|---|
/// | s1 | hash | reduces fields to indices |
/// | s2 | indices | accesses all banks, `HASHES` times; CLEAR: once per row |
/// | s3 | - | takes the bits that were read, ANDs them over the accesses |
/// | rsp | response | waits for `rsp_ready` |
///
/// A stage moves on when the next one is free or moves on itself.
#[allow(clippy::struct_excessive_bools)] // registers are bits
#[derive(Clone, Debug)]
pub struct ClockedPartitioned {
    filter: Partitioned,
    ahead: Option<LookAhead>,
    pins: FilterPins,
    /// The banks are accessed all together or not at all: one port stands for all.
    port: Port,
    parity: Option<Parity>,
    hashes: usize,
    rows: usize,
    cycle: u64,
    /// Clearing after reset.
    sweep: bool,
    row: usize,
    s1: Option<Slot>,
    s2: Option<Slot>,
    /// Which of the `HASHES` accesses s2 is at.
    access: usize,
    s3: Option<Read>,
    /// AND over the accesses before the one in s3. Nothing depends on it and on that one but by their AND.
    all_set: bool,
    rsp_valid: bool,
    rsp: Answer,
    rsp_tag: u64,
    /// Indices of the requests in s1 and s2: only the number of their place moves
    /// down the pipeline.
    indices: [[u32; MAX_K]; 2],
    /// The place of the latest request; the next one gets the other.
    place: bool,
    /// For many cycles at once: what there is to do in each of them,
    turns: Vec<Turn>,
    /// and the indices of the requests that are taken, where nothing was told of them before.
    own: Group,
}

/// A request in s1 or s2.
#[derive(Clone, Copy, Debug)]
struct Slot {
    op: Op,
    tag: u64,
    /// Which of the two places for indices has its own.
    place: bool,
}

/// An access in s3.
#[derive(Clone, Copy, Debug)]
struct Read {
    op: Op,
    tag: u64,
    /// What the banks gave.
    set: bool,
    /// The last access of its request.
    last: bool,
}

impl ClockedPartitioned {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = Partitioned::new(config)?;
        let pins = FilterPins::new(config.key_w, config.tag_w, 1);
        Ok(Self {
            turns: Turn::all(config.hashes as usize, &pins),
            own: Group::default(),
            parity: config.parity.then(|| Parity::new(filter.banks())),
            ahead: LookAhead::new(&filter),
            filter,
            pins,
            port: Port::default(),
            hashes: config.hashes as usize,
            rows: config.rows as usize,
            cycle: 0,
            sweep: true,
            row: 0,
            s1: None,
            s2: None,
            access: 0,
            s3: None,
            all_set: true,
            rsp_valid: false,
            rsp: Answer::default(),
            rsp_tag: 0,
            indices: [[0; MAX_K]; 2],
            place: false,
        })
    }

    /// Writes zeros to the next row of every bank; true at the last row.
    fn sweep_row(&mut self) -> Result<bool, Conflict> {
        self.port.write(self.cycle, &self.filter.banks()[0])?;
        for (b, bank) in self.filter.banks_mut().iter_mut().enumerate() {
            bank.clear_row(self.row);
            if let Some(parity) = &mut self.parity {
                parity.access(b, self.row, true, false);
            }
        }
        self.row += 1;
        let last = self.row == self.rows;
        if last {
            self.row = 0;
        }
        Ok(last)
    }

    /// One of the `HASHES` accesses of a request: all banks at once.
    // The call would cost as much as two banks
    #[inline(always)]
    fn access_banks(&mut self, slot: Slot) -> Result<bool, Conflict> {
        let indices = &self.indices[usize::from(slot.place)];
        let banks = self.filter.banks_mut();
        let insert = slot.op == Op::Insert;
        self.port.access(self.cycle, insert, &banks[0])?;
        let mut set = true;
        for (b, bank) in banks.iter_mut().enumerate() {
            let index = indices[b * self.hashes + self.access];
            let was_set = bank.read_or_set_bit(u64::from(index), insert);
            set &= was_set;
            if let Some(parity) = &mut self.parity {
                // With parity a row is one bit.
                parity.access(b, index as usize, insert, was_set | insert);
            }
        }
        Ok(set)
    }

    /// What s2 does in this cycle, given that s3 is free: whether it is done with
    /// its request, and what it hands to s3. No branch tells a query from an insert: it would be guessed wrong.
    #[inline]
    fn step_s2(&mut self, slot: Slot, s3_free: bool) -> Result<(bool, Option<Read>), Conflict> {
        let accesses = matches!(slot.op, Op::Query | Op::Insert);
        let last = match slot.op {
            _ if accesses => self.access + 1 == self.hashes,
            Op::Clear => self.row + 1 == self.rows,
            _ => true,
        };
        // Only reads, and the end of a request, have something for s3.
        let hands_over = (slot.op == Op::Query) | last;
        if hands_over && !s3_free {
            return Ok((false, None));
        }
        let mut set = false;
        if accesses {
            set = self.access_banks(slot)?;
            self.access = if last { 0 } else { self.access + 1 };
        } else if slot.op == Op::Clear {
            self.sweep_row()?;
        }
        let read = Read { op: slot.op, tag: slot.tag, set, last };
        Ok((last, hands_over.then_some(read)))
    }

    /// The output pins, given whether a request moves.
    #[inline(always)]
    fn outputs(&self, req_ready: bool) -> Outputs {
        Outputs {
            req_ready,
            rsp_valid: self.rsp_valid,
            hit: self.rsp.hit,
            status: self.rsp.status as u8,
            tag: self.rsp_tag,
            busy: self.sweep | self.rsp_valid | self.s1.is_some() | self.s2.is_some() | self.s3.is_some(),
            level: 0,
            parity_error: self.parity.as_ref().is_some_and(Parity::error),
        }
    }

    /// One cycle. Part of its caller, so that pins and registers stay in registers of the processor.
    #[inline(always)]
    fn step(
        &mut self,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Group, usize)>,
    ) -> Result<Outputs, Conflict> {
        let rsp_free = !self.rsp_valid | inputs.rsp_ready;
        let s3_free = self.s3.is_none_or(|read| !read.last | rsp_free);

        // What s2 does now decides whether s1 moves, and so whether a request does.
        // Memory is written in this cycle even when `rst` is high, as in the RTL.
        let busy = self.outputs(false);
        let mut s2_done = true;
        let mut handed_over = None;
        let mut sweep_done = false;
        if let Some(slot) = self.s2 {
            (s2_done, handed_over) = self.step_s2(slot, s3_free)?;
        } else if self.sweep {
            sweep_done = self.sweep_row()?;
        }
        let s1_free = self.s1.is_none() | s2_done;
        let outputs = Outputs { req_ready: !self.sweep & s1_free, ..busy };
        self.cycle += 1;
        if let Some(parity) = &mut self.parity {
            parity.clock();
        }

        if inputs.rst {
            self.reset();
            return Ok(outputs);
        }
        if let Some(read) = self.s3.filter(|_| s3_free) {
            let set = read.set & self.all_set;
            self.all_set = read.last | set;
            if read.last {
                self.rsp = Answer {
                    hit: (read.op == Op::Query) & set,
                    status: if read.op == Op::Remove { Status::Unsupported } else { Status::Ok },
                };
                self.rsp_tag = read.tag;
            }
        }
        if rsp_free {
            self.rsp_valid = self.s3.is_some_and(|read| read.last);
        }
        if s3_free {
            self.s3 = handed_over;
        }
        if s2_done {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = None;
            if inputs.req_valid && outputs.req_ready {
                self.place = !self.place;
                let indices = &mut self.indices[usize::from(self.place)];
                match ahead {
                    Some((group, i)) => group.get(i, indices),
                    None => self.filter.all_indices(key, indices),
                }
                self.s1 = Some(Slot { op: inputs.op, tag: inputs.tag, place: self.place });
            }
        }
        if sweep_done {
            self.sweep = false;
        }
        Ok(outputs)
    }

    /// Whether every stage is where it is after requests without a gap that nothing held up: as long as
    /// that goes on, it is known beforehand where all of them are.
    fn is_full(&self) -> bool {
        let accesses = |op: Op| matches!(op, Op::Query | Op::Insert);
        let (Some(s1), Some(s2)) = (self.s1, self.s2) else { return false };
        accesses(s1.op)
            && accesses(s2.op)
            && match (self.access, self.s3) {
                (0, s3) => s3.is_some_and(|read| read.last && accesses(read.op)),
                (_, None) => s2.op == Op::Insert,
                (_, Some(read)) => s2.op == Op::Query && !read.last,
            }
            && (self.hashes == 1 || self.rsp_valid == (self.access == 1))
    }

    fn reset(&mut self) {
        self.sweep = true;
        self.row = 0;
        self.s1 = None;
        self.s2 = None;
        self.access = 0;
        self.s3 = None;
        self.all_set = true;
        self.rsp_valid = false;
        self.rsp = Answer::default();
        self.rsp_tag = 0;
        if let Some(parity) = &mut self.parity {
            parity.reset();
        }
    }
}

impl ClockedFilter for ClockedPartitioned {
    type Ahead = Group;

    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    fn look_ahead(&self, keys: &[u64], each: usize, group: &mut Group) -> bool {
        let Some(ahead) = &self.ahead else { return false };
        self.filter.cpu().run(Hash(ahead, (keys, each), group));
        true
    }

    #[inline]
    fn cycle(
        &mut self,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Group, usize)>,
    ) -> Result<Outputs, Conflict> {
        self.step(inputs, key, ahead)
    }

    #[inline]
    fn cycles(
        &mut self,
        pins: &FilterPins,
        (rows, each): (&[u64], usize),
        ahead: Option<&Group>,
        outputs: &mut [u64],
    ) -> Result<(), Conflict> {
        let mut controls = [0; GROUP];
        if outputs.len() > 1 && outputs.len() <= GROUP && self.is_full() {
            let controls = &mut controls[..outputs.len()];
            pins.controls_of_all(rows, controls);
            if pins.all_flow(controls) {
                let cpu = self.filter.cpu();
                if self.hashes > 1 && self.parity.is_none() {
                    let rows = (rows, each);
                    return cpu.run(LongFlow { model: self, pins, rows, controls, ahead, outputs });
                }
                if let (1, Some(ahead), Ok(controls), Ok(outputs)) =
                    (self.hashes, ahead, (&*controls).try_into(), (&mut *outputs).try_into())
                {
                    return cpu.run(Flow { model: self, pins, controls, ahead, outputs });
                }
            }
        }
        for (i, output) in outputs.iter_mut().enumerate() {
            let (inputs, key) = pins.borrow_inputs(&rows[i * each..(i + 1) * each]);
            *output = pins.pack_outputs(&self.step(&inputs, key, ahead.map(|ahead| (ahead, i)))?);
        }
        Ok(())
    }

    fn memories(&self) -> Vec<&Memory> {
        self.filter.banks().iter().collect()
    }

    fn parity(&self) -> Option<&Parity> {
        self.parity.as_ref()
    }

    fn upset(&mut self, index: usize, row: usize, bit: u32) {
        let bank = &mut self.filter.banks_mut()[index];
        match self.parity.as_mut().filter(|_| bit == bank.width()) {
            Some(parity) => parity.upset(index, row),
            None => bank.flip(row, bit),
        }
    }

    fn port_counts(&self) -> Vec<PortCounts> {
        vec![self.port.counts(self.cycle); self.filter.banks().len()]
    }
}

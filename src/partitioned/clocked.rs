use crate::{
    batch::{Places, Staged},
    clocked::ClockedFilter,
    cpu::{Level, Work},
    filter::{Answer, Op, Status},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, Port, PortCounts},
};

use super::{
    Config, Partitioned,
    banks::{Group, View},
    functional::MAX_K,
};

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
    /// AND over the accesses before the one in s3.
    all_set: bool,
    rsp_valid: bool,
    rsp: Answer,
    rsp_tag: u64,
    /// Indices of the requests in s1 and s2: only the number of their place moves
    /// down the pipeline.
    indices: [[u32; MAX_K]; 2],
    /// The place of the latest request; the next one gets the other.
    place: bool,
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
        Ok(Self {
            parity: config.parity.then(|| Parity::new(filter.banks())),
            filter,
            pins: FilterPins::new(config.key_w, config.tag_w, 1),
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
                parity.write(b, bank, self.row);
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
        if self.hashes == 1 {
            for (bank, index) in banks.iter_mut().zip(indices) {
                set &= bank.read_or_set_bit(u64::from(*index), insert);
            }
        } else {
            for (bank, indices) in banks.iter_mut().zip(indices.chunks_exact(self.hashes)) {
                set &= bank.read_or_set_bit(u64::from(indices[self.access]), insert);
            }
        }
        if let Some(parity) = &mut self.parity {
            // With parity a row is one bit.
            for (b, (bank, indices)) in banks.iter().zip(indices.chunks_exact(self.hashes)).enumerate() {
                let row = indices[self.access] as usize;
                if insert { parity.write(b, bank, row) } else { parity.read(b, bank, row) }
            }
        }
        Ok(set)
    }

    /// What s2 does in this cycle, given that s3 is free: whether it is done with
    /// its request, and what it hands to s3.
    #[inline]
    fn step_s2<const FLOWS: bool>(
        &mut self,
        slot: Slot,
        s3_free: bool,
    ) -> Result<(bool, Option<Read>), Conflict> {
        let last = FLOWS
            || match slot.op {
                Op::Query | Op::Insert => self.access + 1 == self.hashes,
                Op::Remove => true,
                Op::Clear => self.row + 1 == self.rows,
            };
        // Only reads, and the end of a request, have something for s3.
        let hands_over = slot.op == Op::Query || last;
        if hands_over && !s3_free {
            return Ok((false, None));
        }
        let set = match slot.op {
            _ if FLOWS => self.access_banks(slot)?,
            Op::Query | Op::Insert => self.access_banks(slot)?,
            Op::Remove => false,
            Op::Clear => {
                self.sweep_row()?;
                false
            }
        };
        if !FLOWS {
            self.access = if last || slot.op == Op::Clear { 0 } else { self.access + 1 };
        }
        let read = Read { op: slot.op, tag: slot.tag, set, last };
        Ok((last, hands_over.then_some(read)))
    }

    /// Whether this is a cycle of a full pipeline of single accesses that nothing
    /// holds up: most cycles of a busy core.
    #[inline]
    fn flows(&self, inputs: &Inputs) -> bool {
        self.hashes == 1
            && self.s1.is_some()
            && self.s2.is_some_and(|slot| matches!(slot.op, Op::Query | Op::Insert))
            && self.s3.is_some_and(|read| read.last)
            && inputs.rsp_ready
            && !inputs.rst
    }

    /// One cycle. Where the pipeline `FLOWS`, whatever that implies is not computed:
    /// the same logic with constants in it.
    #[inline]
    fn step<const FLOWS: bool>(
        &mut self,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Group, usize)>,
    ) -> Result<Outputs, Conflict> {
        let rsp_free = FLOWS || !self.rsp_valid || inputs.rsp_ready;
        let s3_free = FLOWS || self.s3.is_none_or(|read| !read.last || rsp_free);

        // What s2 does now decides whether s1 moves, and so whether a request does.
        // Memory is written in this cycle even when `rst` is high, as in the RTL.
        let mut s2_done = true;
        let mut handed_over = None;
        let mut sweep_done = false;
        if let Some(slot) = self.s2 {
            (s2_done, handed_over) = self.step_s2::<FLOWS>(slot, s3_free)?;
        } else if self.sweep {
            sweep_done = self.sweep_row()?;
        }
        let s1_free = FLOWS || self.s1.is_none() || s2_done;

        let outputs = Outputs {
            req_ready: FLOWS || !self.sweep && s1_free,
            rsp_valid: self.rsp_valid,
            hit: self.rsp.hit,
            status: self.rsp.status as u8,
            tag: self.rsp_tag,
            busy: FLOWS
                || self.sweep
                || self.rsp_valid
                || self.s1.is_some()
                || self.s2.is_some()
                || self.s3.is_some(),
            level: 0,
            parity_error: self.parity.as_ref().is_some_and(Parity::error),
        };
        self.cycle += 1;
        if let Some(parity) = &mut self.parity {
            parity.clock();
        }

        if !FLOWS && inputs.rst {
            self.reset();
            return Ok(outputs);
        }
        if let Some(read) = self.s3.filter(|_| s3_free) {
            let set = read.set && (FLOWS || self.all_set);
            let last = FLOWS || read.last;
            if !FLOWS {
                self.all_set = last || set;
            }
            if last {
                self.rsp = Answer {
                    hit: read.op == Op::Query && set,
                    status: if read.op == Op::Remove { Status::Unsupported } else { Status::Ok },
                };
                self.rsp_tag = read.tag;
            }
        }
        if rsp_free {
            self.rsp_valid = FLOWS || self.s3.is_some_and(|read| read.last);
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
                    Some((group, i)) => *indices.first_chunk_mut().expect("more than those") = group.get(i),
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

/// Hashes keys together.
struct LookAhead<'a>(View<'a, &'a [u64]>, (&'a [u64], usize), &'a mut Group);

impl Work for LookAhead<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self(view, (keys, each), group) = self;
        view.places(level, keys, each, group);
    }
}

impl ClockedFilter for ClockedPartitioned {
    type Ahead = Group;

    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    fn look_ahead(&self, keys: &[u64], each: usize, ahead: &mut Group) -> bool {
        let Some(view) = self.filter.view() else { return false };
        self.filter.cpu().run(LookAhead(view, (keys, each), ahead));
        true
    }

    #[inline]
    fn cycle(
        &mut self,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Group, usize)>,
    ) -> Result<Outputs, Conflict> {
        if self.flows(inputs) {
            self.step::<true>(inputs, key, ahead)
        } else {
            self.step::<false>(inputs, key, ahead)
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{GROUP, SplitMix64};

    /// Every pin of every cycle and every bit of memory, with and without the short
    /// cut for flowing pipelines and the look ahead, under stalls, gaps, CLEARs and resets.
    #[test]
    fn a_flowing_pipeline_is_a_pipeline() {
        let mut rng = SplitMix64::new(5);
        for (banks, hashes, width) in [(1, 1, 1), (7, 1, 1), (8, 1, 32), (20, 1, 4), (2, 3, 1)] {
            let config = Config { banks, hashes, rows: 30, width, key_w: 12, ..Config::default() };
            let mut model = ClockedPartitioned::new(&config).unwrap();
            let mut plain = model.clone();
            let (mut keys, mut known, mut ahead) = ([0; GROUP], false, Group::default());
            let mut flowing = 0;
            for cycle in 0..20_000 {
                // Stretches of everything at once, and of every kind of hindrance.
                let calm = cycle / 100 % 2 == 0;
                let inputs = Inputs {
                    rst: rng.chance(2),
                    req_valid: calm || rng.chance(700),
                    op: Op::from_bits(if rng.chance(5) { 3 } else { rng.below(if calm { 2 } else { 3 }) }),
                    tag: rng.next_u64() & 0xff,
                    rsp_ready: calm || rng.chance(600),
                };
                if cycle % GROUP == 0 {
                    keys = [(); GROUP].map(|()| rng.below(64));
                    known = model.look_ahead(&keys, 1, &mut ahead);
                }
                let key = [keys[cycle % GROUP]];
                let known = known.then_some((&ahead, cycle % GROUP));
                flowing += u32::from(model.flows(&inputs));
                let expected = plain.step::<false>(&inputs, &key, None).unwrap();
                assert_eq!(model.cycle(&inputs, &key, known).unwrap(), expected, "cycle {cycle}, {config:?}");
            }
            assert_eq!(model.memories(), plain.memories());
            assert_eq!(model.port_counts(), plain.port_counts());
            assert_eq!(flowing > 2_000, hashes == 1, "{flowing} cycles, {config:?}");
        }
    }
}

use crate::{
    block_port::{BlockPort, Kind},
    clocked::ClockedFilter,
    filter::{Op, Status},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, PortCounts},
};

use super::{Blocked, Config, functional::MAX_K};

/// The clocked model of `membrane_blocked`: its pipeline, register by register.
///
/// | stage | holds | does |
/// |---|---|---|
/// | s1 | hash | reduces fields to rows and indices |
/// | s2 | rows and indices | offers one word after the other to the port |
/// | s3 | row read | compares it with the word's bits, and sets them |
/// | s4 | verdict, new row | writes back; the last word is the response |
///
/// s3 and s4 are the stages of the [`BlockPort`].
#[derive(Clone, Debug)]
pub struct ClockedBlocked {
    filter: Blocked,
    pins: FilterPins,
    port: BlockPort<Word>,
    s1: Option<Slot>,
    s2: Option<Slot>,
    /// Which word s2 is at.
    word: usize,
    /// All bits of the words before the one in s4 were set.
    all_set: bool,
    /// Bits of the keys in flight: only the number of a place here moves down the
    /// pipeline.
    bits: Box<[[u64; MAX_K]; PLACES]>,
    next_place: usize,
}

/// A key in each of s1 to s4, and one to spare.
const PLACES: usize = 5;
/// Registers between the row read and the row written back.
const STAGES: usize = 1;

/// A request in s1 or s2.
#[derive(Clone, Copy, Debug)]
struct Slot {
    op: Op,
    tag: u64,
    place: usize,
}

/// A word of a request in s3 or s4.
#[derive(Clone, Copy, Debug)]
struct Word {
    slot: Slot,
    /// Its first bit in the place of the key.
    from: usize,
    last: bool,
    /// All its bits were set when it was read.
    set: bool,
}

impl ClockedBlocked {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = Blocked::new(config)?;
        let port = BlockPort::new(config.rows as usize, STAGES);
        Ok(Self {
            port: if config.parity { port.with_parity(filter.memory()) } else { port },
            filter,
            pins: FilterPins::new(config.key_w, config.tag_w, 1),
            s1: None,
            s2: None,
            word: 0,
            all_set: true,
            bits: Box::new([[0; MAX_K]; PLACES]),
            next_place: 0,
        })
    }

    fn kind(&self, op: Op) -> Kind {
        match op {
            Op::Query => Kind::Read,
            Op::Insert if self.filter.config().masked => Kind::Write,
            Op::Insert => Kind::Modify,
            Op::Remove => Kind::None,
            Op::Clear => Kind::Clear,
        }
    }

    /// Whether all bits of a word are set, or sets them.
    #[inline]
    fn access(&mut self, kind: Kind, place: usize, from: usize) -> bool {
        let bits = &self.bits[place][from..from + self.filter.config().bits_per_row() as usize];
        match kind {
            Kind::Read | Kind::Modify => bits.iter().all(|bit| self.filter.memory().bit(*bit)),
            Kind::Write => {
                let memory = self.filter.memory_mut();
                for bit in bits {
                    memory.set_bit(*bit);
                }
                false
            }
            Kind::None | Kind::Clear => false,
        }
    }

    /// The word that s2 offers, with its kind and row.
    #[inline]
    fn offered(&self, slot: Slot) -> (Kind, usize, Word) {
        let config = self.filter.config();
        let words = if matches!(slot.op, Op::Query | Op::Insert) { config.group as usize } else { 1 };
        let from = self.word * config.bits_per_row() as usize;
        let row = (self.bits[slot.place][from] / u64::from(config.block_w)) as usize;
        (self.kind(slot.op), row, Word { slot, from, last: self.word + 1 == words, set: false })
    }

    fn reset(&mut self) {
        self.port.reset();
        self.s1 = None;
        self.s2 = None;
        self.word = 0;
        self.all_set = true;
    }
}

impl ClockedFilter for ClockedBlocked {
    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    #[inline]
    fn cycle(&mut self, inputs: &Inputs, key: &[u64]) -> Result<Outputs, Conflict> {
        // s4
        let s4 = self.port.last().copied();
        let mut outputs = Outputs {
            busy: self.s1.is_some() || self.s2.is_some() || self.port.busy(),
            parity_error: self.port.parity_error(),
            ..Outputs::default()
        };
        let mut write_back = false;
        if let Some(op) = &s4 {
            let word = &op.meta;
            write_back = op.kind == Kind::Modify && !word.set;
            if word.last {
                outputs.rsp_valid = true;
                outputs.hit = matches!(op.kind, Kind::Read | Kind::Modify) && self.all_set && word.set;
                outputs.status =
                    if word.slot.op == Op::Remove { Status::Unsupported } else { Status::Ok } as u8;
                outputs.tag = word.slot.tag;
            }
        }
        let advance = !outputs.rsp_valid || inputs.rsp_ready;

        // s2. Memory is accessed in this cycle even when `rst` is high, as in the RTL.
        let mut s2_free = true;
        let mut offered = None;
        let mut taken = None;
        if let Some(op) = s4.filter(|_| advance && write_back) {
            self.access(Kind::Write, op.meta.slot.place, op.meta.from);
        }
        if let Some(slot) = self.s2 {
            let (kind, row, mut word) = self.offered(slot);
            offered = Some(kind);
            s2_free = false;
            if self.port.ready(advance, write_back, kind, row) {
                word.set = self.access(kind, slot.place, word.from);
                s2_free = word.last;
                taken = Some((row, word));
                self.word = if word.last { 0 } else { self.word + 1 };
            }
        }
        let s1_free = self.s1.is_none() || s2_free;
        outputs.req_ready = !self.port.sweeping() && s1_free;
        self.port.clock(self.filter.memory_mut(), advance, write_back, offered, taken)?;

        if inputs.rst {
            self.reset();
            return Ok(outputs);
        }
        if let Some(op) = s4.filter(|_| advance) {
            self.all_set = op.meta.last || (self.all_set && op.meta.set);
        }
        if s2_free {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = None;
            if inputs.req_valid && outputs.req_ready {
                let place = self.next_place;
                self.next_place = (place + 1) % PLACES;
                self.filter.bits(key, &mut self.bits[place]);
                self.s1 = Some(Slot { op: inputs.op, tag: inputs.tag, place });
            }
        }
        Ok(outputs)
    }

    fn memories(&self) -> Vec<&Memory> {
        vec![self.filter.memory()]
    }

    fn parity(&self) -> Option<&Parity> {
        self.port.parity()
    }

    fn upset(&mut self, _: usize, row: usize, bit: u32) {
        match self.port.parity_mut().filter(|_| bit == self.filter.memory().width()) {
            Some(parity) => parity.upset(0, row),
            None => self.filter.memory_mut().flip(row, bit),
        }
    }

    fn port_counts(&self) -> Vec<PortCounts> {
        vec![self.port.counts()]
    }
}

use crate::{
    block_port::{BlockPort, Kind},
    clocked::ClockedFilter,
    filter::{Op, Status},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, PortCounts},
};

use super::{
    Blocked, Config,
    mask::{self, MAX_K, Mask},
};

/// The clocked model of `membrane_blocked`: its pipeline, register by register.
///
/// | stage | holds | does |
/// |---|---|---|
/// | s1 | hash | reduces fields to rows and indices |
/// | s2 | rows and indices | offers one word after the other to the port |
/// | s3 | row read | compares it with the word's bits, and sets them |
/// | s4 | verdict, new row | writes back; the last word is the response |
///
/// s3 and s4 are the stages of the [`BlockPort`]. Only the number of a word moves down the
/// pipeline, all else stays where it is.
#[derive(Clone, Debug)]
pub struct ClockedBlocked {
    filter: Blocked,
    pins: FilterPins,
    port: BlockPort<()>,
    /// Words of the keys in flight, those of a key side by side.
    words: Vec<Word>,
    /// Where the words of the next key go.
    next: usize,
    /// Room to find bits in.
    numbers: Box<[u64; MAX_K]>,
    group: usize,
    /// By operation.
    kinds: [Kind; 4],
    /// The first word of a request, or [`NONE`].
    s1: usize,
    /// The word that it is at.
    s2: usize,
    s3: usize,
    s4: usize,
    /// All bits of the words before the one in s4 were set.
    all_set: bool,
}

/// A key in each of s1 to s4, and one to spare.
const PLACES: usize = 5;
/// Registers between the row read and the row written back.
const STAGES: usize = 1;
/// The number of no word.
const NONE: usize = usize::MAX;

/// A word of a request.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    mask: Mask,
    tag: u64,
    op: Op,
    kind: Kind,
    last: bool,
    /// All its bits were set when it was read.
    set: bool,
}

impl ClockedBlocked {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = Blocked::new(config)?;
        let port = BlockPort::new(config.rows as usize, STAGES);
        let insert = if config.masked { Kind::Write } else { Kind::Modify };
        let group = config.group as usize;
        Ok(Self {
            port: if config.parity { port.with_parity(filter.memory()) } else { port },
            filter,
            pins: FilterPins::new(config.key_w, config.tag_w, 1),
            words: vec![Word::default(); PLACES * group],
            next: 0,
            numbers: Box::new([0; MAX_K]),
            group,
            kinds: [Kind::Read, insert, Kind::None, Kind::Clear],
            s1: NONE,
            s2: NONE,
            s3: NONE,
            s4: NONE,
            all_set: true,
        })
    }

    /// Takes a request, and finds the bits of its key.
    #[inline]
    fn accept(&mut self, &Inputs { op, tag, .. }: &Inputs, key: &[u64]) {
        self.s1 = self.next;
        let end = self.next + self.group;
        self.next = if end == self.words.len() { 0 } else { end };
        let words = &mut self.words[self.s1..end];
        mask::find(&self.filter, key, words.iter_mut().map(|word| &mut word.mask), &mut self.numbers);
        let last = if matches!(op, Op::Query | Op::Insert) { self.group } else { 1 } - 1;
        for (i, word) in words.iter_mut().enumerate() {
            (word.tag, word.op, word.kind) = (tag, op, self.kinds[op as usize]);
            (word.last, word.set) = (i == last, false);
        }
    }

    fn reset(&mut self) {
        self.port.reset();
        [self.s1, self.s2, self.s3, self.s4] = [NONE; 4];
        self.all_set = true;
    }
}

impl ClockedFilter for ClockedBlocked {
    type Ahead = ();

    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    #[inline]
    fn cycle(&mut self, inputs: &Inputs, key: &[u64], _: Option<(&(), usize)>) -> Result<Outputs, Conflict> {
        // s4
        let mut outputs = Outputs {
            busy: self.s1 != NONE || self.s2 != NONE || self.port.busy(),
            parity_error: self.port.parity_error(),
            ..Outputs::default()
        };
        let mut write_back = false;
        let s4 = self.words.get(self.s4);
        if let Some(word) = s4 {
            write_back = word.kind == Kind::Modify && !word.set;
            if word.last {
                outputs.rsp_valid = true;
                outputs.hit = matches!(word.kind, Kind::Read | Kind::Modify) && self.all_set && word.set;
                outputs.status = if word.op == Op::Remove { Status::Unsupported } else { Status::Ok } as u8;
                outputs.tag = word.tag;
            }
        }
        let advance = !outputs.rsp_valid || inputs.rsp_ready;

        // s2. Memory is accessed in this cycle even when `rst` is high, as in the RTL.
        if let Some(word) = s4.filter(|_| advance && write_back) {
            word.mask.set(self.filter.memory_mut());
        }
        let all_set = s4.is_none_or(|word| word.last || (self.all_set && word.set));
        let mut s2_free = true;
        let (mut offered, mut taken, mut entering) = (None, None, NONE);
        if let Some(word) = self.words.get_mut(self.s2) {
            offered = Some(word.kind);
            s2_free = false;
            if self.port.ready(advance, write_back, word.kind, word.mask.row) {
                match word.kind {
                    Kind::Read | Kind::Modify => word.set = word.mask.is_set(self.filter.memory()),
                    Kind::Write => word.mask.set(self.filter.memory_mut()),
                    Kind::None | Kind::Clear => {}
                }
                taken = Some((word.mask.row, ()));
                entering = self.s2;
                s2_free = word.last;
                self.s2 += 1;
            }
        }
        let s1_free = self.s1 == NONE || s2_free;
        outputs.req_ready = !self.port.sweeping() && s1_free;
        self.port.clock(self.filter.memory_mut(), advance, write_back, offered, taken)?;

        if inputs.rst {
            self.reset();
            return Ok(outputs);
        }
        if advance {
            if self.s4 != NONE {
                self.all_set = all_set;
            }
            self.s4 = self.s3;
            self.s3 = entering;
        }
        if s2_free {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = NONE;
            if inputs.req_valid && outputs.req_ready {
                self.accept(inputs, key);
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

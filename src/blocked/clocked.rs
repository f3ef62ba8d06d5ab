#[cfg(test)]
mod tests;

use crate::{
    ahead::{Ahead, Hasher, Row},
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
    flow::{Flow, SHORTEST},
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
    pins: FilterPins,
    registers: Registers,
    state: State,
    /// Of many keys at once.
    hasher: Option<Hasher>,
    /// Words of a row, if it always lies in as many; else 0.
    row_words: usize,
}

/// All that moves at an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    /// s3 and s4.
    pub port: BlockPort<Read, 2>,
    /// Where the words of the next key go.
    pub next: usize,
    /// The first word of a request, or [`NONE`].
    pub s1: usize,
    /// The word that it is at.
    pub s2: usize,
    /// All bits of the words before the one in s4 were set.
    pub all_set: bool,
}

/// A word in s3 or s4: its number, and whether it is the last of its request, and all its bits were
/// set when it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read(u32);

/// No word: it neither ends a request, nor are bits missing.
impl Default for Read {
    fn default() -> Self {
        Self(Self::SET)
    }
}

impl Read {
    const LAST: u32 = 1 << 16;
    const SET: u32 = 1 << 17;

    #[inline(always)]
    pub fn new(word: usize, last: bool, set: bool) -> Self {
        Self(word as u32 | (u32::from(last) * Self::LAST) | (u32::from(set) * Self::SET))
    }

    #[inline(always)]
    pub fn word(self) -> usize {
        (self.0 % Self::LAST) as usize
    }

    #[inline(always)]
    pub fn is_last(self) -> bool {
        self.0 & Self::LAST != 0
    }

    #[inline(always)]
    pub fn is_set(self) -> bool {
        self.0 & Self::SET != 0
    }
}

/// The memory, and all that stays where it is until its request is done.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub filter: Blocked,
    pub parity: Option<Parity>,
    /// Words of the keys in flight, those of a key side by side.
    pub words: Vec<Word>,
    /// Room to find bits in.
    numbers: Box<[u64; MAX_K]>,
    pub group: usize,
    pub block_w: usize,
    /// By operation.
    pub kinds: [Kind; 4],
}

/// Groups of keys that are hashed ahead: the more, the longer a stretch can be that [`Flow`] plays at once.
pub(super) const GROUPS: usize = 8;
/// What the hash says of them.
pub(super) type Aheads = Ahead<GROUPS>;

/// A key in each of s1 to s4, and some to spare: a number that is quick to count around.
pub(super) const PLACES: usize = 8;
/// The number of no word.
pub(super) const NONE: usize = usize::MAX;

/// A word of a request.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Word {
    pub mask: Mask,
    pub tag: u64,
    pub status: Status,
    pub kind: Kind,
    pub last: bool,
}

/// Where a row always lies in as many words.
fn hasher(filter: &Blocked) -> Option<Hasher> {
    let config = filter.config();
    let row = |w| Row {
        number: filter.row_field(w),
        index: filter.index_field(w),
        count: config.bits_per_row(),
        step: config.part_lsb(1),
        coin: None,
    };
    let rows: Vec<_> = (0..config.group as usize).map(row).collect();
    let words = mask::words_of_row(config.block_w);
    let shared = (config.block_w < 64).then_some(config.block_w);
    Hasher::new(filter.hash(), &rows, words, shared).filter(|_| words > 0)
}

impl ClockedBlocked {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = Blocked::new(config)?;
        let insert = if config.masked { Kind::Write } else { Kind::Modify };
        let group = config.group as usize;
        Ok(Self {
            pins: FilterPins::new(config.key_w, config.tag_w, 1),
            registers: Registers {
                port: BlockPort::filled(config.rows as usize),
                next: 0,
                s1: NONE,
                s2: NONE,
                all_set: true,
            },
            hasher: hasher(&filter),
            row_words: mask::words_of_row(config.block_w),
            state: State {
                parity: config.parity.then(|| Parity::new([filter.memory()])),
                filter,
                words: vec![Word::default(); PLACES * group],
                numbers: Box::new([0; MAX_K]),
                group,
                block_w: config.block_w as usize,
                kinds: [Kind::Read, insert, Kind::None, Kind::Clear],
            },
        })
    }

    /// Cycles one after another, of rows of `N` words and keys of `G`; 0 is any number.
    #[inline(always)]
    fn play<const N: usize, const G: usize>(
        &mut self,
        pins: &FilterPins,
        (mut rows, each): (&[u64], usize),
        ahead: Option<&Aheads>,
        mut outputs: &mut [u64],
    ) -> Result<(), Conflict> {
        let Self { registers, state, .. } = self;
        let mut at = 0;
        // Cycles among which no stretch of busy ones is long enough.
        let mut steps = 0;
        while let (Some(row), false) = (rows.get(..each), outputs.is_empty()) {
            let mut played = 0;
            if let Some(ahead) = ahead.filter(|_| steps == 0 && registers.flows(state)) {
                let flows = |row: usize| {
                    rows.get(row * each..).is_some_and(|row| pins.all_flow(&[pins.controls_of(row)]))
                };
                let busy = (0..SHORTEST.min(outputs.len())).take_while(|row| flows(*row)).count();
                if busy < SHORTEST {
                    steps = busy + 1;
                } else {
                    let (cpu, rows, ahead) = (state.filter.cpu(), (rows, each), (ahead, at));
                    played = cpu.run(Flow::<N, G> { registers, state, pins, rows, ahead, outputs });
                }
            }
            if played == 0 {
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

impl State {
    /// Takes a request, and finds the bits of its key.
    #[inline(always)]
    pub fn accept(
        &mut self,
        first: usize,
        &Inputs { op, tag, .. }: &Inputs,
        key: &[u64],
        ahead: Option<(&Aheads, usize)>,
    ) {
        let words = &mut self.words[first..][..self.group];
        if let Some((ahead, i)) = ahead {
            for (w, word) in words.iter_mut().enumerate() {
                word.mask.put(ahead.row(w, i), self.block_w, ahead.mask(w, i));
            }
        } else {
            mask::find(&self.filter, key, words.iter_mut().map(|word| &mut word.mask), &mut self.numbers);
        }
        let last = if matches!(op, Op::Query | Op::Insert) { self.group } else { 1 } - 1;
        let status = if op == Op::Remove { Status::Unsupported } else { Status::Ok };
        for (i, word) in words.iter_mut().enumerate() {
            (word.tag, word.status, word.kind, word.last) = (tag, status, self.kinds[op as usize], i == last);
        }
    }
}

impl Registers {
    /// Whether keys are waiting for the port, and nothing is cleared.
    #[inline(always)]
    fn flows(&self, state: &State) -> bool {
        let accesses = |word: usize| state.words.get(word).is_some_and(|word| word.kind.accesses());
        !self.port.sweeping() && accesses(self.s1) && accesses(self.s2)
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
        // s4
        let mut outputs = Outputs {
            busy: self.s1 != NONE || self.s2 != NONE || self.port.busy(),
            parity_error: state.parity.as_ref().is_some_and(Parity::error),
            ..Outputs::default()
        };
        let (mut write_back, mut all_set) = (false, self.all_set);
        let s4 = self.port.last_meta();
        if let Some(read) = s4 {
            write_back = self.port.last_modifies() & !read.is_set();
            all_set &= read.is_set();
            if read.is_last() {
                let word = &state.words[read.word()];
                outputs.rsp_valid = true;
                outputs.hit = all_set;
                outputs.status = word.status as u8;
                outputs.tag = word.tag;
                all_set = true;
            }
        }
        let advance = !outputs.rsp_valid || inputs.rsp_ready;

        // s2. Memory is accessed in this cycle even when `rst` is high, as in the RTL.
        if let Some(read) = s4.filter(|_| advance && write_back) {
            state.words[read.word()].mask.set::<0>(state.filter.memory_mut());
        }
        let mut s2_free = true;
        let (mut offered, mut taken) = (None, None);
        if let Some(word) = state.words.get(self.s2) {
            offered = Some(word.kind);
            s2_free = false;
            if self.port.ready(advance, write_back, word.kind, word.mask.row) {
                let mut set = false;
                if word.kind.reads() {
                    set = word.mask.is_set::<0>(state.filter.memory());
                } else if word.kind == Kind::Write {
                    word.mask.set::<0>(state.filter.memory_mut());
                }
                taken = Some((word.mask.row, Read::new(self.s2, word.last, set)));
                s2_free = word.last;
                self.s2 += 1;
            }
        }
        let s1_free = self.s1 == NONE || s2_free;
        outputs.req_ready = !self.port.sweeping() && s1_free;
        let memory = state.filter.memory_mut();
        let access = self.port.clock(memory, advance, write_back, offered, taken)?;
        if let Some(parity) = &mut state.parity {
            parity.clock_with(memory, access);
        }

        if inputs.rst {
            self.port.reset();
            [self.s1, self.s2] = [NONE; 2];
            self.all_set = true;
            if let Some(parity) = &mut state.parity {
                parity.reset();
            }
            return Ok(outputs);
        }
        if advance {
            self.all_set = all_set;
        }
        if s2_free {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = NONE;
            if inputs.req_valid && outputs.req_ready {
                self.s1 = self.next;
                let end = self.next + state.group;
                self.next = if end == state.words.len() { 0 } else { end };
                state.accept(self.s1, inputs, key, ahead);
            }
        }
        Ok(outputs)
    }
}

impl ClockedFilter for ClockedBlocked {
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
        match (self.row_words, self.state.group) {
            (1, 1) => self.play::<1, 1>(pins, rows, ahead, outputs),
            (1, 2) => self.play::<1, 2>(pins, rows, ahead, outputs),
            (1, 3) => self.play::<1, 3>(pins, rows, ahead, outputs),
            (1, _) => self.play::<1, 0>(pins, rows, ahead, outputs),
            (2, 1) => self.play::<2, 1>(pins, rows, ahead, outputs),
            (4, 1) => self.play::<4, 1>(pins, rows, ahead, outputs),
            (8, 1) => self.play::<8, 1>(pins, rows, ahead, outputs),
            _ => self.play::<0, 0>(pins, rows, ahead, outputs),
        }
    }

    fn memories(&self) -> Vec<&Memory> {
        vec![self.state.filter.memory()]
    }

    fn parity(&self) -> Option<&Parity> {
        self.state.parity.as_ref()
    }

    fn upset(&mut self, _: usize, row: usize, bit: u32) {
        let State { filter, parity, .. } = &mut self.state;
        match parity.as_mut().filter(|_| bit == filter.memory().width()) {
            Some(parity) => parity.upset(0, row),
            None => filter.memory_mut().flip(row, bit),
        }
    }

    fn port_counts(&self) -> Vec<PortCounts> {
        vec![self.registers.port.counts()]
    }
}

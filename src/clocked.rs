//! The clocked view: anything with pins that can be clocked.
//!
//! The clocked models, the Verilated cores and the players of recorded vectors
//! all are [`Clocked`], so one comparer compares any two of them.
//!
//! A row of outputs is what the pins show in the same cycle as the row of
//! inputs: inputs applied, everything settled, the rising edge yet to come.
//! Before row 0 every device has seen one rising edge with `rst` high and all
//! other inputs low, because before its first reset no output is defined.

use thiserror::Error;

use crate::{
    cpu::GROUP,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs, PinMap},
    sram::{Conflict, Memory, PortCounts},
};

/// Why a device could not be clocked any further.
#[derive(Debug, Error)]
pub enum Fault {
    /// A model broke the rule of one access per memory and cycle.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// A recorded case was driven with other inputs than recorded.
    #[error("cycle {cycle}: the inputs are not those of the recorded case")]
    NotRecorded {
        /// Where.
        cycle: u64,
    },
    /// A soft error in a memory that the device does not have.
    #[error("no bit {bit} in row {row} of memory {path}")]
    NoBit {
        /// The memory.
        path: String,
        /// Its row.
        row: usize,
        /// The bit of the row.
        bit: u32,
    },
    /// A simulator failed.
    #[error("{0}")]
    Simulator(String),
}

/// Something with pins that can be clocked.
pub trait Clocked: Send {
    /// The pins.
    fn pins(&self) -> &PinMap;

    /// One cycle: one row of inputs in, one row of outputs out.
    fn clock(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault>;

    /// As many cycles as `inputs` has rows.
    fn run(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        let (input, output) = (self.pins().input_words(), self.pins().output_words());
        for (inputs, outputs) in inputs.chunks_exact(input).zip(outputs.chunks_exact_mut(output)) {
            self.clock(inputs, outputs)?;
        }
        Ok(())
    }

    /// The content of all memories now.
    fn memories(&mut self) -> Result<Vec<Memory>, Fault>;

    /// A soft error: flips one bit of a memory row, from the next cycle on. Devices agree on what
    /// follows if the core is idle, nothing in flight; not where it depends on a block of
    /// TinySet that no sequence of requests leaves behind.
    fn upset(&mut self, path: &str, row: usize, bit: u32) -> Result<(), Fault> {
        Err(Fault::NoBit { path: path.to_owned(), row, bit })
    }

    /// What the memory ports did so far, where the device counts it.
    fn ports(&self) -> Vec<PortCounts> {
        Vec::new()
    }
}

/// A clocked model of a filter core: pins by name instead of by position.
pub trait ClockedFilter: Send {
    /// The pins.
    fn filter_pins(&self) -> &FilterPins;

    /// What can be told of the keys of coming cycles.
    type Ahead: Default + Send;

    /// Groups of [`GROUP`] cycles that can be told of at once.
    const GROUPS: usize = 1;

    /// Looks at the keys of coming cycles, one group or more, each at the begin of so many words: a model that hashes them
    /// all at once has little left to do. False if nothing can be told.
    #[inline]
    fn look_ahead(&self, keys: &[u64], each: usize, ahead: &mut Self::Ahead) -> bool {
        let _ = (keys, each, ahead);
        false
    }

    /// One cycle. `key` is the `req_key` pin; bits above its width mean nothing. `ahead` is what was told of
    /// it before, if anything, and which of the cycles this is.
    fn cycle(
        &mut self,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Self::Ahead, usize)>,
    ) -> Result<Outputs, Conflict>;

    /// Cycles one after another: of each a row of `each` input words, and the one word of its outputs, as many as there are outputs. A model that
    /// keeps its registers out of memory on the way does so here; what it computes is what [`ClockedFilter::cycle`] does.
    #[inline(always)]
    fn cycles(
        &mut self,
        pins: &FilterPins,
        (rows, each): (&[u64], usize),
        ahead: Option<&Self::Ahead>,
        outputs: &mut [u64],
    ) -> Result<(), Conflict> {
        for (i, output) in outputs.iter_mut().enumerate() {
            let (inputs, key) = pins.borrow_inputs(&rows[i * each..(i + 1) * each]);
            *output = pins.pack_outputs(&self.cycle(&inputs, key, ahead.map(|ahead| (ahead, i)))?);
        }
        Ok(())
    }

    /// The memories without parity bits, in the order of [`ClockedFilter::port_counts`].
    fn memories(&self) -> Vec<&Memory>;

    /// The parity bits of its memories, if they have any.
    fn parity(&self) -> Option<&Parity>;

    /// Flips a bit of memory number `index`; the one above the row is its parity bit.
    fn upset(&mut self, index: usize, row: usize, bit: u32);

    /// What the memory ports did so far.
    fn port_counts(&self) -> Vec<PortCounts>;
}

/// Puts a [`ClockedFilter`] behind packed pins.
#[derive(Clone, Debug)]
pub struct Packed<T: ClockedFilter> {
    model: T,
    pins: FilterPins,
    /// Words of an input row.
    input: usize,
    /// What is told of coming cycles.
    ahead: T::Ahead,
}

impl<T: ClockedFilter> Packed<T> {
    /// Wraps a model.
    pub fn new(model: T) -> Self {
        let pins = model.filter_pins().clone();
        Self { model, input: pins.map().input_words(), pins, ahead: T::Ahead::default() }
    }
}

impl<T: ClockedFilter> Clocked for Packed<T> {
    fn pins(&self) -> &PinMap {
        self.pins.map()
    }

    fn clock(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        let (inputs, key) = self.pins.borrow_inputs(inputs);
        outputs[0] = self.pins.pack_outputs(&self.model.cycle(&inputs, key, None)?);
        Ok(())
    }

    fn run(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        // All output pins of a filter fit into a word.
        let (mut inputs, mut outputs) = (inputs, outputs);
        while inputs.len() >= self.input && !outputs.is_empty() {
            let mut cycles = outputs.len().min(T::GROUPS * GROUP);
            if inputs.len() < cycles * self.input {
                cycles = inputs.len() / self.input;
            }
            if cycles > GROUP {
                cycles -= cycles % GROUP;
            }
            let (rows, later) = inputs.split_at(cycles * self.input);
            let (now, rest) = outputs.split_at_mut(cycles);
            // A row begins with its key.
            let known = cycles % GROUP == 0 && self.model.look_ahead(rows, self.input, &mut self.ahead);
            let ahead = if known { Some(&self.ahead) } else { None };
            self.model.cycles(&self.pins, (rows, self.input), ahead, now)?;
            (inputs, outputs) = (later, rest);
        }
        Ok(())
    }

    fn memories(&mut self) -> Result<Vec<Memory>, Fault> {
        let memories = self.model.memories().into_iter();
        Ok(match self.model.parity() {
            None => memories.cloned().collect(),
            Some(parity) => memories.enumerate().map(|(i, memory)| parity.stored(i, memory)).collect(),
        })
    }

    fn upset(&mut self, path: &str, row: usize, bit: u32) -> Result<(), Fault> {
        let memories = self.memories()?;
        let index = memories.iter().position(|m| m.path() == path && row < m.rows() && bit < m.width());
        let index = index.ok_or_else(|| Fault::NoBit { path: path.to_owned(), row, bit })?;
        self.model.upset(index, row, bit);
        Ok(())
    }

    fn ports(&self) -> Vec<PortCounts> {
        self.model.port_counts()
    }
}

//! From "so many keys, such a rate" to a core with parameters.
//!
//! A core knows two things about itself, each beside its model (`sizing.rs`): what given
//! parameters do when so many keys are in ([`Core::forecast`](crate::Core::forecast), by the exact
//! rates of [`crate::analysis`]), and which variants are worth trying for a [`Need`]
//! ([`Core::variants`](crate::Core::variants)). A variant leaves the number of rows open. This module finds
//! the fewest rows that meet the need for every variant of every core, and ranks what is left;
//! it knows no core by name.
//!
//! ```
//! use membrane::size::{Need, rank};
//!
//! let need = Need { keys: 10_000, rate: 0.01, accesses: Some(1), ..Need::default() };
//! let ranking = rank(&need);
//! assert!(ranking.choices.windows(2).all(|pair| pair[0].bits_per_key <= 1.02 * pair[1].bits_per_key));
//! assert!(ranking.choices.iter().all(|choice| choice.forecast.rate <= 0.01));
//! // A partitioned filter reads a row of every bank.
//! assert!(ranking.refusals.iter().any(|refusal| refusal.core == "partitioned"));
//! ```

mod search;

pub use search::{Choice, Ranking, Refusal, rank};

use serde::Serialize;
use thiserror::Error;

use crate::{
    analysis::{AnalysisError, LoadDistribution},
    params::{ConfigError, Params},
};

/// All keys must find a place with this probability, or a filter does not meet the need.
pub const CONFIDENCE: f64 = 0.999;

/// What a filter is needed for.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Keys that it will hold.
    pub keys: u64,
    /// Highest false positive rate.
    pub rate: f64,
    /// Bits of a key.
    pub key_w: u32,
    /// Most bits of memory, all banks together.
    pub memory: Option<u64>,
    /// Bits of a memory row, if that is given by the memory.
    pub row: Option<u32>,
    /// Most rows that a query may read, over all memories.
    pub accesses: Option<u32>,
    /// Keys will be removed.
    pub removals: bool,
    /// Most entries of an overflow list.
    pub cam: u32,
}

/// Nothing asked for yet; 64-bit keys, and a list of 64 at most.
impl Default for Need {
    fn default() -> Self {
        Self {
            keys: 0,
            rate: 0.0,
            key_w: 64,
            memory: None,
            row: None,
            accesses: None,
            removals: false,
            cam: 64,
        }
    }
}

impl Need {
    /// The row widths to try: the given one, or `widths`.
    pub fn rows(&self, widths: &[u32]) -> Vec<u32> {
        self.row.map_or_else(|| widths.to_vec(), |row| vec![row])
    }

    /// Some numbers of hashes around what a Bloom filter of this rate wants, log2(1/rate). Filters
    /// whose blocks fill unevenly want fewer.
    pub fn hashes(&self) -> Vec<u32> {
        const MOST: usize = 12;
        let best = -self.rate.log2();
        let least = (0.4 * best).floor().max(1.0) as u32;
        let all = least..=((1.1 * best).ceil() as u32 + 1).min(64);
        let step = all.clone().count().div_ceil(MOST);
        all.step_by(step).collect()
    }
}

/// Memories of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sram {
    /// How many of them.
    pub banks: u64,
    /// Rows of each.
    pub rows: u64,
    /// Bits of a row.
    pub width: u32,
}

/// What an operation costs, on average over uniform keys that do not get in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Rows read or written, over all memories.
    pub accesses: f64,
    /// The same in the worst case.
    pub most_accesses: u32,
    /// Cycles from one such operation to the next.
    pub cycles: f64,
}

impl Cost {
    /// The same for every key.
    pub fn always(accesses: u32, cycles: u32) -> Self {
        Self { accesses: accesses.into(), most_accesses: accesses, cycles: cycles.into() }
    }
}

/// What a filter with given parameters does when it holds a given number of keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// False positive rate.
    pub rate: f64,
    /// Of a query for a key that is not there.
    pub query: Cost,
    /// Of an insert, on average from the first key to the last.
    pub insert: Cost,
    /// Its memories, those of one size together.
    pub memories: Vec<Sram>,
    /// Entries of its overflow list.
    pub cam: u32,
    /// The chance that all keys find a place: that no insert is refused.
    pub suffices: f64,
}

impl Forecast {
    /// Bits of all memories.
    pub fn bits(&self) -> u64 {
        self.memories.iter().map(|sram| sram.banks * sram.rows * u64::from(sram.width)).sum()
    }
}

/// How full blocks are.
#[derive(Clone, Debug, PartialEq)]
pub struct Loads {
    /// How many blocks hold 0, 1, ... keys.
    pub blocks: Vec<u64>,
    /// What the theory says of a block.
    pub theory: LoadDistribution,
}

impl Loads {
    /// From the number of keys of every block.
    pub fn count(loads: impl IntoIterator<Item = usize>, theory: LoadDistribution) -> Self {
        let mut blocks = Vec::new();
        for load in loads {
            if blocks.len() <= load {
                blocks.resize(load + 1, 0);
            }
            blocks[load] += 1;
        }
        Self { blocks, theory }
    }
}

/// Parameters that the theory has no answer for.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ForecastError {
    /// The core refuses them.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The analysis does.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
}

/// Parameters but for the number of rows.
pub struct Variant {
    /// What it is, in few words. Of variants with the same words only the smallest is kept: they
    /// differ in numbers that one would rather have chosen.
    pub about: String,
    /// Bits of memory per row, over all memories that have as many rows: where the search begins.
    pub row_bits: u64,
    /// The parameters for a number of rows; `None` where there are none.
    pub with_rows: Box<dyn Fn(u64) -> Option<Params>>,
}

impl Variant {
    /// A variant.
    pub fn new(
        about: impl Into<String>,
        row_bits: u32,
        with_rows: impl Fn(u64) -> Option<Params> + 'static,
    ) -> Self {
        Self { about: about.into(), row_bits: row_bits.into(), with_rows: Box::new(with_rows) }
    }
}

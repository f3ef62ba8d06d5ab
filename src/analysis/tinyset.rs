//! TinySet: what a block costs and how often it errs.
//!
//! A block with r items in L chains holds r/L of them per chain, and a query compares its
//! remainder with those of one chain. With n keys in B blocks the load r of a block is
//! [`Binomial(n, 1/B)`](LoadDistribution::binomial), and the paper's section 4 gives the
//! mean number of slots that match a key which is not there. Its three readings:
//!
//! ```text
//!   fixed size   r/L * 2^-s                              all slots have s bits
//!   with mod     (mod * 2^-(s+1) + (r-mod) * 2^-s) / L   mod slots have one bit more
//!   wildcard     (mod * 3/4 * 2^-s + (r-mod) * 2^-s) / L an extension bit of 0 says nothing
//! ```
//!
//! These count matches, so a query with two is counted twice. [`TinySet::rates`] is the chance
//! of at least one match instead, exact for the first two: each of the r items lies in the
//! query's chain with probability 1/L and matches there with 2^-width, independently,
//! so `1 - prod_i (1 - 2^-width(i) / L)`. For independent and uniform hashes the order of the
//! items by chain does not matter: chains are equally likely for every slot.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{Reading, TinySet};
//!
//! // Table 5: 64-byte blocks at 0.61 items per chain have 0.1 %.
//! let filter = TinySet { keys: 39_977, blocks: 1_024, chains: 64, array: 448, f_max: 21, c_max: 224 };
//! assert!((filter.bits_per_key(512) - 13.1).abs() < 0.05);
//! let rate = filter.false_positive_rate(Reading::Extended)?;
//! assert!(rate < 0.00086);
//! assert!(filter.false_positive_rate(Reading::Wildcard)? > rate);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::error::require;
use super::{AnalysisError, LoadDistribution, Result};
use crate::tinyset::Shape;

/// How the fingerprints of a block are sized and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Section 4.2: all fingerprints of a block have the same size.
    Fixed,
    /// Section 4.3: the first `ARRAY mod C` slots have one bit more, all bits are compared.
    /// This is the core without removals.
    Extended,
    /// As before, but an extension bit of 0 matches anything: the core with removals, as
    /// long as none has happened.
    Wildcard,
}

/// A filter that holds `keys` keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TinySet {
    /// n, the keys inserted.
    pub keys: u64,
    /// The number of blocks.
    pub blocks: u64,
    /// L, chains of a block.
    pub chains: u32,
    /// Bits of a block for last bits and fingerprints.
    pub array: u32,
    /// Longest fingerprint.
    pub f_max: u32,
    /// Most slots of a block.
    pub c_max: u32,
}

impl Reading {
    /// The chance that one slot's fingerprint matches a remainder that is not there.
    fn match_rate(self, shape: Shape, slot: u32) -> f64 {
        let short = (-f64::from(shape.s)).exp2();
        match self {
            _ if slot >= shape.extended => short,
            Self::Fixed => short,
            Self::Extended => short / 2.0,
            Self::Wildcard => short * 0.75,
        }
    }
}

impl TinySet {
    fn check(&self) -> Result<()> {
        require(self.chains >= 1, "chains", self.chains.into(), "at least 1", "a key needs a chain")?;
        require(self.f_max >= 1, "f_max", self.f_max.into(), "at least 1", "store at least a bit of a key")?;
        require(
            self.c_max >= 1 && self.c_max <= self.array,
            "c_max",
            self.c_max.into(),
            "in 1..=array",
            "each slot needs a bit of the array",
        )
    }

    /// The exact load of a block.
    ///
    /// # Errors
    /// If there is no block, or more than 50 000 keys per block.
    pub fn loads(&self) -> Result<LoadDistribution> {
        LoadDistribution::binomial(self.keys, self.blocks)
    }

    /// The chance that a key which is not there is found in a block with `load` items, for
    /// `load` = 0 ..= `c_max`. Exact for [`Reading::Fixed`] and [`Reading::Extended`].
    ///
    /// With [`Reading::Wildcard`] the slots of one chain are not quite independent, since an
    /// extension bit of the remainder meets several; the error is of the order of the
    /// square of the result.
    ///
    /// # Errors
    /// If a parameter is 0, or `c_max` above `array`.
    pub fn rates(&self, reading: Reading) -> Result<Vec<f64>> {
        self.check()?;
        let chains = f64::from(self.chains);
        let rate = |load| {
            let shape = Shape::new(self.array, self.f_max, load);
            // Logarithms: no difference of numbers near 1.
            let none: f64 = (0..load).map(|i| (-reading.match_rate(shape, i) / chains).ln_1p()).sum();
            -none.exp_m1()
        };
        Ok((0..=self.c_max).map(rate).collect())
    }

    /// The paper's figure for a block: the mean number of slots that match.
    ///
    /// # Errors
    /// As [`TinySet::rates`].
    pub fn paper_rates(&self, reading: Reading) -> Result<Vec<f64>> {
        self.check()?;
        let rate = |load| {
            let shape = Shape::new(self.array, self.f_max, load);
            (0..load).map(|i| reading.match_rate(shape, i)).sum::<f64>() / f64::from(self.chains)
        };
        Ok((0..=self.c_max).map(rate).collect())
    }

    /// The false positive rate over all blocks. Blocks with more keys than slots refuse the
    /// rest: they count as full.
    ///
    /// # Errors
    /// As [`TinySet::loads`] and [`TinySet::rates`].
    pub fn false_positive_rate(&self, reading: Reading) -> Result<f64> {
        self.average(&self.rates(reading)?)
    }

    /// The paper's false positive rate, section 4.2 or 4.3: it counts matches.
    ///
    /// # Errors
    /// As [`TinySet::false_positive_rate`].
    pub fn paper_rate(&self, reading: Reading) -> Result<f64> {
        self.average(&self.paper_rates(reading)?)
    }

    fn average(&self, rates: &[f64]) -> Result<f64> {
        let full = rates[rates.len() - 1];
        Ok(self.loads()?.expect(|load| rates.get(load).copied().unwrap_or(full)))
    }

    /// The chance that any block gets more keys than it has slots: at most this, by the
    /// union bound of section 4.4.
    ///
    /// # Errors
    /// As [`TinySet::loads`].
    pub fn overflow_probability(&self) -> Result<f64> {
        self.check()?;
        Ok((self.loads()?.tail(self.c_max as usize + 1) * self.blocks as f64).min(1.0))
    }

    /// The mean share of keys that find their block full.
    ///
    /// # Errors
    /// As [`TinySet::loads`].
    pub fn refused_share(&self) -> Result<f64> {
        self.check()?;
        if self.keys == 0 {
            return Ok(0.0);
        }
        let most = self.c_max as usize;
        let refused = self.loads()?.expect(|load| load.saturating_sub(most) as f64);
        Ok(refused * self.blocks as f64 / self.keys as f64)
    }

    /// Chains longer than `parallel` slots: the share of queries that take another cycle.
    /// A query's chain has Binomial(n, 1/(B L)) items.
    ///
    /// # Errors
    /// As [`TinySet::loads`].
    pub fn long_chain_share(&self, parallel: u32) -> Result<f64> {
        self.check()?;
        let all = self.blocks * u64::from(self.chains);
        Ok(LoadDistribution::binomial(self.keys, all)?.tail(parallel as usize + 1))
    }

    /// Memory bits per key, with blocks of `block_w` bits.
    pub fn bits_per_key(&self, block_w: u32) -> f64 {
        self.blocks as f64 * f64::from(block_w) / self.keys as f64
    }

    /// The most keys that keep the rate at or below `target`, with everything else as it
    /// is: what decides over the bits per key for a target rate.
    ///
    /// # Errors
    /// If not even one key does, and as [`TinySet::false_positive_rate`].
    pub fn keys_for(&self, target: f64, reading: Reading) -> Result<u64> {
        let rates = self.rates(reading)?;
        let rate = |keys| Self { keys, ..*self }.average(&rates);
        let mut high = self.blocks * u64::from(self.c_max);
        let mut low = 1;
        if rate(low)? > target {
            return Err(AnalysisError::NoSolution {
                argument: "target",
                value: target,
                reason: "one key already exceeds it",
                remedy: "raise f_max or the number of blocks",
            });
        }
        // The rate grows with the keys.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if rate(middle)? <= target {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Ok(low)
    }
}

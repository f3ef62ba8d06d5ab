//! How many keys meet in one block.
//!
//! Of n keys thrown at B blocks, a given block gets Binomial(n, 1/B) keys: exactly, for
//! every n and B. For large B this tends to Poisson(n/B), the *fluid limit* in which the
//! balanced filters are analysed. A [`LoadDistribution`] holds the probability of every
//! load, however it came about; false positive rates and access counts are averages
//! over it.
//!
//! The builders start at the most likely load and multiply by the ratio of neighbours,
//! outwards until 1e-300, and divide by the sum. No factorial is formed and nothing
//! cancels; the relative error grows by four roundings per step. At the largest mean,
//! [`MAX_MEAN_LOAD`], this bounds it by 1e-12 within eight standard deviations.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::LoadDistribution;
//!
//! let loads = LoadDistribution::binomial(32_768, 4_096)?; // 8 keys per block
//! assert!((loads.mean() - 8.0).abs() < 1e-12);
//! // One block in 4 000 holds 20 keys or more.
//! assert!((1.0 / loads.tail(20) - 3_950.0).abs() < 100.0);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::error::require;
use super::{AnalysisError, Result};

/// The largest mean load that the builders accept.
pub const MAX_MEAN_LOAD: f64 = 50_000.0;

/// Loads less likely than this, relative to the most likely one, count as impossible.
const NEGLIGIBLE: f64 = 1e-300;

/// The probability of every load of a block: entry l is the chance to hold l keys.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadDistribution(Vec<f64>);

impl LoadDistribution {
    /// A distribution from its probabilities, load 0 first.
    ///
    /// # Errors
    /// If a probability is negative or NaN, or their sum differs from 1 by more than 1e-9.
    pub fn new(probabilities: Vec<f64>) -> Result<Self> {
        for &probability in &probabilities {
            require(
                probability >= 0.0,
                "probability",
                probability,
                "a number of at least 0",
                "give the chance of each load",
            )?;
        }
        let sum: f64 = probabilities.iter().sum();
        require(
            (sum - 1.0).abs() <= 1e-9,
            "sum of probabilities",
            sum,
            "1 to within 1e-9",
            "divide by the sum, or use from_histogram for counts",
        )?;
        Ok(Self::trimmed(probabilities))
    }

    /// The distribution measured by counting blocks: entry l of `blocks` is the number of
    /// blocks that hold l keys.
    ///
    /// ```
    /// use membrane::analysis::LoadDistribution;
    /// assert_eq!(LoadDistribution::from_histogram(&[1, 2, 1])?.mean(), 1.0);
    /// # Ok::<(), membrane::analysis::AnalysisError>(())
    /// ```
    ///
    /// # Errors
    /// If no block was counted.
    pub fn from_histogram(blocks: &[u64]) -> Result<Self> {
        let total: f64 = blocks.iter().map(|&count| count as f64).sum();
        require(total > 0.0, "number of blocks", total, "above 0", "count at least one block")?;
        Ok(Self::trimmed(blocks.iter().map(|&count| count as f64 / total).collect()))
    }

    /// Poisson with the given mean: many blocks.
    ///
    /// # Errors
    /// If `mean` is negative, NaN or above 50 000.
    pub fn poisson(mean: f64) -> Result<Self> {
        check_mean("mean", mean)?;
        if mean == 0.0 {
            return Ok(Self(vec![1.0]));
        }
        Ok(Self::from_ratios(mean.floor() as usize, |load| mean / (load + 1) as f64))
    }

    /// Binomial(`keys`, 1/`blocks`): the exact load of one block of `blocks`.
    ///
    /// # Errors
    /// If `blocks` is 0 or the mean `keys / blocks` is above 50 000.
    pub fn binomial(keys: u64, blocks: u64) -> Result<Self> {
        require(blocks >= 1, "blocks", blocks as f64, "at least 1", "keys need a block")?;
        check_mean("keys / blocks", keys as f64 / blocks as f64)?;
        if blocks == 1 {
            let mut all = vec![0.0; keys as usize + 1];
            all[keys as usize] = 1.0;
            return Ok(Self(all));
        }
        let mode = ((u128::from(keys) + 1) / u128::from(blocks)).min(u128::from(keys)) as usize;
        Ok(Self::from_ratios(mode, |load| {
            (keys - load as u64) as f64 / ((load + 1) as f64 * (blocks - 1) as f64)
        }))
    }

    /// From the ratio P(load + 1) / P(load), starting at the most likely load.
    pub(super) fn from_ratios(mode: usize, ratio: impl Fn(usize) -> f64) -> Self {
        let mut weights = vec![0.0; mode + 1];
        let mut weight = 1.0;
        for load in (0..=mode).rev() {
            weights[load] = weight;
            if load > 0 {
                weight /= ratio(load - 1);
            }
            if weight < NEGLIGIBLE {
                break;
            }
        }
        weight = 1.0;
        for load in mode.. {
            weight *= ratio(load);
            if weight < NEGLIGIBLE {
                break;
            }
            weights.push(weight);
        }
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        Self(weights)
    }

    pub(super) fn trimmed(mut probabilities: Vec<f64>) -> Self {
        while probabilities.len() > 1 && probabilities.last() == Some(&0.0) {
            probabilities.pop();
        }
        Self(probabilities)
    }

    /// The probabilities, load 0 first.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// P(load).
    #[must_use]
    pub fn probability(&self, load: usize) -> f64 {
        self.0.get(load).copied().unwrap_or(0.0)
    }

    /// The largest load that can occur.
    #[must_use]
    pub fn max_load(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    /// The mean load.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.expect(|load| load as f64)
    }

    /// The variance of the load.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        self.expect(|load| (load as f64 - mean).powi(2))
    }

    /// The probability of `load` keys or more.
    #[must_use]
    pub fn tail(&self, load: usize) -> f64 {
        self.0.iter().skip(load).rev().sum()
    }

    /// The expectation of `f(load)`.
    #[must_use]
    pub fn expect(&self, f: impl Fn(usize) -> f64) -> f64 {
        self.0.iter().enumerate().rev().map(|(load, p)| p * f(load)).sum()
    }

    /// The expectation of a cost that is listed per load, such as an in-block rate.
    ///
    /// # Errors
    /// If the list ends before the largest load.
    pub fn average(&self, cost: &[f64]) -> Result<f64> {
        if cost.len() < self.0.len() {
            return Err(AnalysisError::OutOfRange {
                argument: "cost",
                value: cost.len() as f64,
                range: "a list up to max_load()",
                remedy: "list the cost of every load that can occur",
            });
        }
        Ok(self.expect(|load| cost[load]))
    }
}

/// Refuses a mean that is too large, by the name of what the caller gave.
pub(super) fn check_mean(argument: &'static str, mean: f64) -> Result<()> {
    require(
        (0.0..=MAX_MEAN_LOAD).contains(&mean),
        argument,
        mean,
        "in 0..=50000",
        "use more blocks; for one large array use the standard filter",
    )
}

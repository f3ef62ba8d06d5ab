//! Multilevel: d memories of falling size, one choice in each.
//!
//! ```text
//!   level 1  [ alpha_1 m blocks            ]   all n keys come here
//!   level 2  [ alpha_2 m ]                     those that level 1 refused
//!   level 3  [ alpha_3 ]                       those that level 2 refused
//!   list                                       the rest
//! ```
//!
//! Level j gets `n_j` keys, Poisson with mean `n_j / (alpha_j m)` per block, and refuses
//! `n_{j+1}` of them, each level being [SINGLE](super::balanced) for what reaches it. The
//! reads are `n_1 + ... + n_d`. With a budget the share of keys tried when `a*n` reads are spent
//! is found by bisection. Sizes that fall by the factor q which
//! [`Levels`](super::Levels) solves for give every level the same loads.
//!
//! Coins of different levels are independent. One coin shared by all levels would raise the
//! overflow, the more the smaller p is: at a = 1.2 and d = 3 by a quarter with 16 bits
//! per key in 256-bit blocks (p = 0.23), by two fifths with 24 (p = 0.16).
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{AccessProblem, Levels, Multilevel};
//!
//! let levels = Levels::for_budget(1.2, 3)?;
//! let problem = AccessProblem { a: 1.2, r: 8.0, gamma: levels.gamma };
//! let scheme = Multilevel {
//!     r: 8.0,
//!     alpha: levels.alpha,
//!     threshold: problem.threshold()?,
//!     budget: None,
//! };
//! let balance = scheme.balance()?;
//! assert!((balance.insert_accesses() - 1.2).abs() < 1e-9);
//! assert!((balance.gamma() - levels.gamma).abs() < 1e-9);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::balanced::{Balance, MAX_CHOICES, Threshold, check_budget, check_r};
use super::error::require;
use super::load::check_mean;
use super::{LoadDistribution, Result};

/// Multilevel: d memories of falling size, one choice in each.
#[derive(Debug, Clone, PartialEq)]
pub struct Multilevel {
    /// r, the mean number of keys per block, over the blocks of all levels.
    pub r: f64,
    /// The share of all blocks that each level has, first level first.
    pub alpha: Vec<f64>,
    /// The threshold of the blocks.
    pub threshold: Threshold,
    /// a, the mean block reads per insert after which the rest goes to the list, if bounded.
    pub budget: Option<f64>,
}

impl Multilevel {
    /// Solves the fluid limit.
    ///
    /// # Errors
    /// If `r` or `budget` is not above 0, `alpha` is empty, has more than 64 entries, one
    /// that is not above 0 or a sum other than 1, or a level gets above 50 000 keys per block.
    pub fn balance(&self) -> Result<Balance> {
        check_r(self.r)?;
        check_budget(self.budget)?;
        require(
            (1..=MAX_CHOICES as usize).contains(&self.alpha.len()),
            "levels",
            self.alpha.len() as f64,
            "in 1..=64",
            "give the share of blocks of each level",
        )?;
        for &share in &self.alpha {
            require(share > 0.0, "alpha", share, "above 0", "a level needs blocks")?;
        }
        let sum: f64 = self.alpha.iter().sum();
        require(
            (sum - 1.0).abs() <= 1e-9,
            "sum of alpha",
            sum,
            "1 to within 1e-9",
            "give shares of all blocks",
        )?;
        // the share of keys that were tried when the budget was spent, by bisection
        let mut tried = 1.0;
        if let Some(a) = self.budget
            && self.reads(1.0)? > a
        {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                tried = 0.5 * (low + high);
                if self.reads(tried)? > a {
                    high = tried;
                } else {
                    low = tried;
                }
            }
        }
        let (reach, choices) = self.levels(tried)?;
        Ok(Balance {
            threshold: self.threshold,
            choices,
            placed: reach.windows(2).map(|pair| pair[0] - pair[1]).collect(),
            listed_after_all: reach[self.alpha.len()],
            listed_by_budget: 1.0 - tried,
            insert_accesses: reach[..self.alpha.len()].iter().sum(),
        })
    }

    fn reads(&self, tried: f64) -> Result<f64> {
        Ok(self.levels(tried)?.0[..self.alpha.len()].iter().sum())
    }

    /// The share of keys that reach each level and the list, and the loads of each level.
    fn levels(&self, tried: f64) -> Result<(Vec<f64>, Vec<LoadDistribution>)> {
        let mut reach = vec![tried];
        let mut choices = Vec::new();
        for &alpha in &self.alpha {
            let mean = reach[choices.len()] * self.r / alpha;
            check_mean("keys per block of a level", mean)?;
            let arrivals = LoadDistribution::poisson(mean)?;
            reach.push(self.threshold.refused(&arrivals) * alpha / self.r);
            choices.push(self.threshold.loads(&arrivals));
        }
        Ok((reach, choices))
    }
}

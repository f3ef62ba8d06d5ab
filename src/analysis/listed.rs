//! How long the overflow list gets: not only on average.
//!
//! The number of listed keys varies from filter to filter, and more than a Poisson variable
//! does, since a crowded block refuses several keys. A block to which A keys come refuses R of
//! them; over m blocks, of which one level consists, with N arrivals in all,
//!
//! ```text
//!   mean      m E[R]
//!   variance  m (Var R - c^2 lambda) + c^2 Var N,    c = Cov(R, A) / lambda
//! ```
//!
//! where lambda is the mean of N, per block: c is how many more keys are refused per key that comes, which the first
//! level, getting exactly n keys, has no variance of, and each further level gets from the one
//! before. This is exact in the limit of many blocks. SEQUENTIAL's keys are refused d times; its
//! variance is estimated from that of the refusals, good to a fifth in the tests.
//!
//! [`Listed::at_most`] takes the negative binomial distribution with this mean and variance.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{Multilevel, Threshold};
//!
//! let scheme = Multilevel { r: 8.0, alpha: vec![1.0], threshold: Threshold::new(17, 0.0)?, budget: None };
//! let listed = scheme.listed(&scheme.balance()?, 4096)?;
//! assert!(listed.mean > 10.0 && listed.variance > 2.0 * listed.mean);
//! assert!(listed.at_most(30) > 0.99 && listed.at_most(5) < 0.2);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::error::require;
use super::{Balance, LoadDistribution, Multilevel, Result, Sequential, Threshold};

/// The number of keys in the overflow list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Listed {
    /// Its mean.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
}

impl Listed {
    /// The chance that a list of so many entries is long enough.
    #[must_use]
    pub fn at_most(&self, entries: u64) -> f64 {
        if self.mean <= 0.0 {
            return 1.0;
        }
        // Clumps: with no more variance than mean it is Poisson, of which this is the limit.
        let excess = (self.variance / self.mean - 1.0).max(1e-9);
        let size = self.mean / excess;
        let ratio = excess / (1.0 + excess);
        let mut ln_probability = -size * excess.ln_1p();
        let mut sum = 0.0;
        for count in 0..=entries {
            sum += ln_probability.exp();
            let count = count as f64;
            ln_probability += ((count + size) / (count + 1.0) * ratio).ln();
        }
        sum.min(1.0)
    }
}

/// Mean, variance and c of the refusals of one block.
struct Refusals {
    mean: f64,
    variance: f64,
    per_arrival: f64,
}

impl Refusals {
    fn new(threshold: Threshold, lambda: f64) -> Result<Self> {
        let arrivals = LoadDistribution::poisson(lambda)?;
        let (mut mean, mut square, mut product) = (0.0, 0.0, 0.0);
        for (count, share) in arrivals.as_slice().iter().enumerate().skip(threshold.h() as usize + 1) {
            let extra = (count - threshold.h() as usize) as f64;
            // All of them are refused, or all but one.
            let all = (1.0 - threshold.p()).powf(extra);
            let refused = extra - 1.0 + all;
            mean += share * refused;
            square += share * (all * extra * extra + (1.0 - all) * (extra - 1.0) * (extra - 1.0));
            product += share * refused * (count as f64 - lambda);
        }
        Ok(Self { mean, variance: square - mean * mean, per_arrival: product / lambda })
    }

    /// Of a level of `blocks` blocks whose arrivals vary by `arrivals`.
    fn of_level(&self, blocks: f64, lambda: f64, arrivals: f64) -> Listed {
        let c2 = self.per_arrival * self.per_arrival;
        let own = (self.variance - c2 * lambda).max(0.0);
        Listed { mean: blocks * self.mean, variance: blocks * own + c2 * arrivals }
    }
}

fn check_no_budget(budget: Option<f64>) -> Result<()> {
    require(
        budget.is_none(),
        "budget",
        budget.unwrap_or(0.0),
        "None",
        "keys that a budget lists are not counted here: see Balance::listed_by_budget",
    )
}

impl Multilevel {
    /// The keys in the list, with `blocks` blocks in all levels together, given what
    /// [`Multilevel::balance`] returned. One level is SINGLE.
    ///
    /// # Errors
    /// If there is a budget, or a level gets above 50 000 keys per block.
    pub fn listed(&self, balance: &Balance, blocks: u64) -> Result<Listed> {
        check_no_budget(self.budget)?;
        let mut reach = 1.0;
        let mut listed = Listed { mean: 0.0, variance: 0.0 };
        for (alpha, placed) in self.alpha.iter().zip(balance.placed()) {
            let lambda = reach * self.r / alpha;
            if lambda <= 0.0 {
                return Ok(Listed { mean: 0.0, variance: 0.0 });
            }
            let refusals = Refusals::new(self.threshold, lambda)?;
            listed = refusals.of_level(alpha * blocks as f64, lambda, listed.variance);
            reach -= placed;
        }
        Ok(listed)
    }
}

impl Sequential {
    /// The keys in the list, with `blocks` blocks, given what [`Sequential::balance`] returned.
    ///
    /// # Errors
    /// If there is a budget, or above 50 000 probes per block.
    pub fn listed(&self, balance: &Balance, blocks: u64) -> Result<Listed> {
        check_no_budget(self.budget)?;
        let mean = balance.gamma() * self.r * blocks as f64;
        let lambda = balance.insert_accesses() * self.r;
        let probes = Refusals::new(self.threshold, lambda)?.of_level(blocks as f64, lambda, 0.0);
        // What blocks refuse varies by clumps beyond its mean, and with it each of d refusals.
        let clumps = (probes.variance - probes.mean).max(0.0);
        let share = f64::from(self.choices) * mean / probes.mean.max(f64::MIN_POSITIVE);
        Ok(Listed { mean, variance: mean + share * share * clumps })
    }
}

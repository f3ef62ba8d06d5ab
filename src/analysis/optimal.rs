//! The best balance that an access budget can buy, and the parameters that reach it.
//!
//! Give n keys a*n block accesses in all and a list for gamma*n of them. No online scheme
//! with uniform choices can do better than hindsight: throw a*n keys, then take the surplus
//! out of the fullest blocks. With X Poisson of mean a*r and r keys per block, that cuts
//! the right side of X to the mean r(1 - gamma):
//!
//! ```text
//!   P_LB(i)      = P(X = i),  i < k0
//!   P_LB(k0 + 1) = r(1 - gamma) - E[min(X, k0)]
//!   P_LB(k0)     = P(X >= k0) - P_LB(k0 + 1)
//!   k0           = the largest integer with E[min(X, k0)] < r(1 - gamma)
//! ```
//!
//! It sums to 1 and has mean r(1 - gamma). (The paper's line for `P_LB(k0)` prints
//! `- p0 (1 - gamma)` where `- p0 - r(1 - gamma)` is meant; its e0 is a*r P(X < k0) and its p0
//! is P(X <= k0).)
//!
//! The schemes reach the bound with h = k0 and the p that gives their loads the same
//! mean ([`AccessProblem::threshold`]), provided that they do spend the budget:
//!
//! | scheme | optimal for | solved by |
//! |---|---|---|
//! | SINGLE | a = 1, every gamma > 0 | [`AccessProblem::threshold`] |
//! | SEQUENTIAL | `gamma >= gamma_0(a, r, d)` | [`sequential_gamma`] |
//! | multilevel | gamma >= q^d, where 1 + q + ... + q^(d-1) = a | [`Levels::for_budget`] |
//!
//! For multilevel the levels shrink by the overflow fraction of one level,
//! `q = 1 - (1 - gamma)/a`: then `alpha_j` is proportional to q^(j-1), each level gets a*r keys per
//! block and all blocks have the same load distribution, `P_LB`.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{AccessProblem, Levels};
//!
//! let levels = Levels::for_budget(1.2, 3)?; // at most 3 reads, 1.2 on average
//! assert_eq!(format!("{:.4} {:.4}", levels.q, levels.gamma), "0.1708 0.0050");
//! let problem = AccessProblem { a: 1.2, r: 8.0, gamma: levels.gamma };
//! let threshold = problem.threshold()?;
//! assert_eq!(Some(threshold.h()), problem.lower_bound()?.k0);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::balanced::{MAX_CHOICES, Threshold, check_r};
use super::error::require;
use super::load::check_mean;
use super::sequential::Flow;
use super::{AnalysisError, LoadDistribution, Result};

/// The access-constrained balancing problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccessProblem {
    /// a, the mean block accesses per insert, at least 1 - gamma.
    pub a: f64,
    /// r, the mean number of keys per block.
    pub r: f64,
    /// gamma, the share of keys that may go to the list.
    pub gamma: f64,
}

/// The load distribution that no scheme can better.
#[derive(Debug, Clone, PartialEq)]
pub struct LowerBound {
    /// Where the Poisson distribution is cut; none if there is nothing to cut (a = 1 - gamma).
    pub k0: Option<u32>,
    /// `P_LB`.
    pub loads: LoadDistribution,
}

/// Where the arrivals are cut, and the probability of one key more.
struct Cut {
    k0: usize,
    above: f64,
}

impl AccessProblem {
    fn arrivals(&self) -> Result<LoadDistribution> {
        check_r(self.r)?;
        require(
            (0.0..1.0).contains(&self.gamma),
            "gamma",
            self.gamma,
            "in 0..1",
            "give the share of keys that may go to the list",
        )?;
        require(
            self.a.is_finite() && self.a >= 1.0 - self.gamma,
            "a",
            self.a,
            "at least 1 - gamma",
            "a key in a block costs an access: raise a",
        )?;
        check_mean("a * r", self.a * self.r)?;
        LoadDistribution::poisson(self.a * self.r)
    }

    /// `None` if all arrivals are needed to reach the mean.
    fn cut(&self, arrivals: &LoadDistribution) -> Option<Cut> {
        // E[min(X, k)] = E[X] - surplus(k), where surplus(k) = sum_{j >= k} P(X > j), and the mean
        // that is wanted is E[X] - goal. Comparing surpluses keeps digits that means lose.
        let goal = self.r * (self.a - 1.0 + self.gamma);
        let (mut tail, mut surplus) = (0.0, 0.0);
        for k in (0..=arrivals.max_load()).rev() {
            // tail = P(X > k), surplus = surplus(k + 1)
            if surplus + tail > goal {
                return Some(Cut { k0: k, above: (surplus + tail - goal).min(tail) });
            }
            surplus += tail;
            tail += arrivals.probability(k);
        }
        None
    }

    /// `P_LB` and k0.
    ///
    /// # Errors
    /// If `r` is not above 0, `gamma` not in `0..1`, `a` below 1 - gamma, or `a * r` above 50 000.
    pub fn lower_bound(&self) -> Result<LowerBound> {
        let arrivals = self.arrivals()?;
        if self.nothing_to_cut() {
            return Ok(LowerBound { k0: None, loads: arrivals });
        }
        let Some(Cut { k0, above }) = self.cut(&arrivals) else {
            return Ok(LowerBound { k0: None, loads: arrivals });
        };
        let mut loads: Vec<f64> = arrivals.as_slice()[..k0].to_vec();
        loads.push(arrivals.tail(k0) - above);
        loads.push(above);
        Ok(LowerBound { k0: Some(k0 as u32), loads: LoadDistribution::trimmed(loads) })
    }

    fn nothing_to_cut(&self) -> bool {
        self.a - 1.0 + self.gamma <= 0.0
    }

    /// The h and p with which SINGLE, on a*r arrivals per block, keeps r(1 - gamma) of them.
    /// Its loads are then `P_LB`. SEQUENTIAL and multilevel take the same ones.
    ///
    /// ```
    /// use membrane::analysis::{AccessProblem, LoadDistribution, single};
    /// let problem = AccessProblem { a: 1.0, r: 8.0, gamma: 0.005 };
    /// let balance = single(&LoadDistribution::poisson(8.0)?, problem.threshold()?);
    /// assert!((balance.gamma() - 0.005).abs() < 1e-14);
    /// # Ok::<(), membrane::analysis::AnalysisError>(())
    /// ```
    ///
    /// # Errors
    /// As [`AccessProblem::lower_bound`]; also if a = 1 - gamma, where no threshold is finite.
    pub fn threshold(&self) -> Result<Threshold> {
        let arrivals = self.arrivals()?;
        let cut = if self.nothing_to_cut() { None } else { self.cut(&arrivals) };
        let Some(Cut { k0, .. }) = cut else {
            return Err(AnalysisError::NoSolution {
                argument: "gamma",
                value: self.gamma,
                reason: "a key in a block costs an access, and there are none to spare",
                remedy: "raise gamma, or a",
            });
        };
        // refused(p) falls from p = 0 to p = 1; it is what is above that the cut takes away
        let goal = self.r * (self.a - 1.0 + self.gamma);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let p = 0.5 * (low + high);
            if Threshold::new(k0 as u32, p)?.refused(&arrivals) > goal {
                low = p;
            } else {
                high = p;
            }
        }
        Threshold::new(k0 as u32, 0.5 * (low + high))
    }
}

/// The levels of a multilevel filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// a, the mean block accesses per insert.
    pub a: f64,
    /// q, by which each level is smaller than the one before: its overflow fraction.
    pub q: f64,
    /// gamma, the share of keys that go to the list.
    pub gamma: f64,
    /// The share of all blocks that each level has. Their sum is 1.
    pub alpha: Vec<f64>,
}

impl Levels {
    /// The levels that just spend `a` accesses per insert: `1 + q + ... + q^(d-1) = a` and
    /// `gamma = q^d`, the least list for which multilevel is optimal.
    ///
    /// # Errors
    /// If `levels` is not in `2..=64` or `a` not between 1 and `levels`, both excluded. With
    /// one level a is 1 and gamma is free: use [`Levels::for_overflow`].
    pub fn for_budget(a: f64, levels: u32) -> Result<Self> {
        check_levels(levels, 2)?;
        require(
            a > 1.0 && a < f64::from(levels),
            "a",
            a,
            "above 1 and below the number of levels",
            "1 would leave the further levels unused, and more is never spent",
        )?;
        let excess = |q: f64| (1..levels).rev().fold(0.0, |sum, _| (sum + 1.0) * q);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..100 {
            let q = 0.5 * (low + high);
            if excess(q) < a - 1.0 {
                low = q;
            } else {
                high = q;
            }
        }
        let q = 0.5 * (low + high);
        Ok(Self { a, q, gamma: q.powi(levels.cast_signed()), alpha: geometric(q, levels) })
    }

    /// The levels that list `gamma` of the keys: `q = gamma^(1/d)`, `a = 1 + q + ... + q^(d-1)`.
    ///
    /// ```
    /// let one = membrane::analysis::Levels::for_overflow(0.005, 1)?; // SINGLE
    /// assert_eq!((one.a, one.q, one.alpha), (1.0, 0.005, vec![1.0]));
    /// # Ok::<(), membrane::analysis::AnalysisError>(())
    /// ```
    ///
    /// # Errors
    /// If `gamma` is not between 0 and 1, both excluded, or `levels` not in `1..=64`.
    pub fn for_overflow(gamma: f64, levels: u32) -> Result<Self> {
        check_levels(levels, 1)?;
        require(
            gamma > 0.0 && gamma < 1.0,
            "gamma",
            gamma,
            "above 0 and below 1",
            "give the share of keys that go to the list",
        )?;
        let q = if levels == 1 { gamma } else { gamma.powf(1.0 / f64::from(levels)) };
        let a = (0..levels).fold(0.0, |sum, _| sum * q + 1.0);
        Ok(Self { a, q, gamma, alpha: geometric(q, levels) })
    }

    /// The levels that reach `P_LB` for a problem inside the optimality region, where the budget
    /// may be spent before the last key: `q = 1 - (1 - gamma)/a`.
    ///
    /// # Errors
    /// If the problem is out of range, or outside the region: a list below q^d.
    pub fn for_problem(problem: &AccessProblem, levels: u32) -> Result<Self> {
        check_levels(levels, 1)?;
        problem.arrivals()?;
        let q = (problem.a - 1.0 + problem.gamma) / problem.a;
        if q <= 0.0 || (levels > 1 && q.powi(levels.cast_signed()) > problem.gamma * (1.0 + 1e-12)) {
            return Err(AnalysisError::NoSolution {
                argument: "gamma",
                value: problem.gamma,
                reason: "so short a list leaves accesses unspent, outside the optimality region",
                remedy: "raise gamma to that of Levels::for_budget, lower a, or use more levels",
            });
        }
        let alpha = geometric(q, levels);
        Ok(Self { a: problem.a, q, gamma: problem.gamma, alpha })
    }
}

fn check_levels(levels: u32, least: u32) -> Result<()> {
    require(
        (least..=MAX_CHOICES).contains(&levels),
        "levels",
        f64::from(levels),
        if least == 2 { "in 2..=64" } else { "in 1..=64" },
        "give the number of memories; one is SINGLE, whose sizes follow from for_overflow",
    )
}

fn geometric(q: f64, levels: u32) -> Vec<f64> {
    let shares: Vec<f64> = (0..levels).map(|level| q.powi(level.cast_signed())).collect();
    let sum: f64 = shares.iter().rev().sum();
    shares.iter().map(|share| share / sum).collect()
}

/// `gamma_0(a, r, d)`: the least list with which SEQUENTIAL of `choices` choices is optimal, that
/// is, with which its last key spends the last of a*n accesses.
///
/// ```
/// let gamma = membrane::analysis::optimal::sequential_gamma(1.1, 8.0, 3)?;
/// assert_eq!(format!("{gamma:.4}"), "0.0059"); // the paper reads "approximately 1 %" off a plot
/// # Ok::<(), membrane::analysis::AnalysisError>(())
/// ```
///
/// # Errors
/// If `r` is not above 0, `choices` not in `2..=64`, `a` not between 1 and `choices`, or
/// `a * r` above 50 000.
pub fn sequential_gamma(a: f64, r: f64, choices: u32) -> Result<f64> {
    check_r(r)?;
    require(
        (2..=MAX_CHOICES).contains(&choices),
        "choices",
        f64::from(choices),
        "in 2..=64",
        "with one choice every gamma is optimal, see AccessProblem::threshold",
    )?;
    require(
        a > 1.0 && a < f64::from(choices),
        "a",
        a,
        "above 1 and below choices",
        "1 is SINGLE, and more than choices is never spent",
    )?;
    // a longer list means fuller blocks refused earlier, more probes per key, fewer keys
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let gamma = 0.5 * (low + high);
        let threshold = AccessProblem { a, r, gamma }.threshold()?;
        if Flow::up_to(a * r, threshold, choices)?.keys > r {
            low = gamma;
        } else {
            high = gamma;
        }
    }
    Ok(0.5 * (low + high))
}

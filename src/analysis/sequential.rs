//! SEQUENTIAL: d choices in one memory, tried in turn.
//!
//! ```text
//!   insert: H_1(x) full -> H_2(x) full -> ... H_d(x) full -> list       all over the same m blocks
//! ```
//!
//! Let s count probes per block. A probe lands on a uniform block, so after s probes per
//! block the loads are those of [SINGLE](super::balanced) with Poisson(s) arrivals, and the
//! next probe is refused with probability
//!
//! ```text
//!   u(s) = sum_{A >= h} Poisson(s, A) (1 - p (1-p)^(A-h))
//! ```
//!
//! A key uses `1 + u + ... + u^(d-1)` probes, so keys per block t and probes per block s
//! are tied by `dt/ds = 1 / (1 + u + ... + u^(d-1))`. The end is t = r, or s = a*r if the budget is
//! spent first. The integral is taken by 8-point Gauss rule on panels far below the width
//! of u, to 1e-13 of all keys, and t(s) = r is solved by Newton's method. Two choices of a
//! key may be the same block; that and all other effects of finite m are of order 1/m.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{Sequential, Threshold};
//!
//! let threshold = Threshold::new(10, 0.0)?;
//! let scheme = Sequential { r: 8.0, choices: 3, threshold, budget: None };
//! let free = scheme.balance()?;
//! assert_eq!(format!("{:.4} {:.3}", free.gamma(), free.insert_accesses()), "0.0031 1.074");
//! // A smaller budget leaves keys untried.
//! let bound = Sequential { budget: Some(1.02), ..scheme }.balance()?;
//! assert!(bound.listed_by_budget() > 0.0 && bound.insert_accesses() <= 1.02);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::balanced::{Balance, MAX_CHOICES, Threshold, check_budget, check_r};
use super::error::require;
use super::load::check_mean;
use super::{LoadDistribution, Result};

/// SEQUENTIAL: d choices in one memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sequential {
    /// r, the mean number of keys per block.
    pub r: f64,
    /// d, the choices of a key.
    pub choices: u32,
    /// The threshold of the blocks.
    pub threshold: Threshold,
    /// a, the mean block reads per insert after which the rest goes to the list, if bounded.
    pub budget: Option<f64>,
}

impl Sequential {
    /// Solves the fluid limit.
    ///
    /// # Errors
    /// If `r` or `budget` is not above 0, `choices` not in `1..=64`, or `r * choices` is
    /// above 50 000.
    pub fn balance(&self) -> Result<Balance> {
        check_r(self.r)?;
        check_budget(self.budget)?;
        let d = self.choices;
        require(
            (1..=MAX_CHOICES).contains(&d),
            "choices",
            f64::from(d),
            "in 1..=64",
            "give the blocks that an insert may try",
        )?;
        check_mean("r * choices", self.r * f64::from(d))?;
        let (probes, flow, spent) = self.probes()?;
        let arrivals = LoadDistribution::poisson(probes)?;
        Ok(Balance {
            threshold: self.threshold,
            choices: vec![self.threshold.loads(&arrivals); d as usize],
            placed: flow.placed.iter().map(|keys| keys / self.r).collect(),
            listed_after_all: flow.listed / self.r,
            listed_by_budget: if spent { (1.0 - flow.keys / self.r).max(0.0) } else { 0.0 },
            insert_accesses: probes / self.r,
        })
    }

    /// s, the probes per block when all keys are in or the budget is spent, what happened until
    /// then, and whether it is.
    fn probes(&self) -> Result<(f64, Flow, bool)> {
        let most = self.r * f64::from(self.choices);
        let bound = self.budget.map_or(most, |a| most.min(a * self.r));
        // keys(s) is increasing and concave: from the left, Newton's method never overshoots,
        // and what is beyond the bound after a step is so for good
        let mut probes = self.r.min(bound);
        let mut flow = Flow::up_to(probes, self.threshold, self.choices)?;
        loop {
            let step = (self.r - flow.keys) * flow.probes_per_key;
            if step <= 1e-14 * probes {
                return Ok((probes, flow, false));
            }
            let next = (probes + step).min(bound);
            flow.extend(probes, next, self.threshold)?;
            probes = next;
            if next >= bound {
                return Ok((bound, flow, bound < most));
            }
        }
    }
}

/// What happened to the keys (per block) while a block got `s` probes.
pub(super) struct Flow {
    pub(super) keys: f64,
    placed: Vec<f64>,
    listed: f64,
    probes_per_key: f64,
}

/// Nodes and weights of the 8-point Gauss rule, positive half.
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

impl Flow {
    pub(super) fn up_to(s: f64, threshold: Threshold, d: u32) -> Result<Self> {
        let mut flow = Self { keys: 0.0, placed: vec![0.0; d as usize], listed: 0.0, probes_per_key: 1.0 };
        flow.extend(0.0, s, threshold)?;
        Ok(flow)
    }

    /// Goes on from `from` probes per block to `to`.
    fn extend(&mut self, from: f64, to: f64, threshold: Threshold) -> Result<()> {
        // u rises over a width of sqrt(h); far below h nothing is refused
        let width = 0.25 * (f64::from(threshold.h()) + 1.0).sqrt();
        let panels = ((to - from) / width).ceil().max(if from == 0.0 { 8.0 } else { 1.0 });
        let half = 0.5 * (to - from) / panels;
        for panel in 0..panels as u64 {
            let middle = from + (2 * panel + 1) as f64 * half;
            for (node, weight) in GAUSS {
                for at in [middle - node * half, middle + node * half] {
                    self.add(at, weight * half, threshold)?;
                }
            }
        }
        let refusal = threshold.refusal(&LoadDistribution::poisson(to)?);
        self.probes_per_key = (0..).take(self.placed.len()).map(|tried| refusal.powi(tried)).sum();
        Ok(())
    }

    fn add(&mut self, s: f64, weight: f64, threshold: Threshold) -> Result<()> {
        let refusal = threshold.refusal(&LoadDistribution::poisson(s)?);
        let d = i32::try_from(self.placed.len()).unwrap_or(i32::MAX);
        let keys = weight / (0..d).map(|tried| refusal.powi(tried)).sum::<f64>();
        self.keys += keys;
        self.listed += keys * refusal.powi(d);
        let mut reach = keys;
        for placed in &mut self.placed {
            *placed += reach * (1.0 - refusal);
            reach *= refusal;
        }
        Ok(())
    }
}

//! Balanced Bloom filters: a blocked filter whose full blocks send keys elsewhere.
//!
//! ```text
//!                 SINGLE         SEQUENTIAL             multilevel
//!   key ------->  [ block ]      [one of m] -full-+     level 1 [ alpha_1 m blocks ] -full-+
//!                    | full      [one of m] <-----+     level 2 [ alpha_2 m ]        <-----+
//!                    v           [one of m] -full-+     level 3 [ alpha_3 m ]  -full-+
//!                  list                         list                               list
//! ```
//!
//! A block takes a key while it holds fewer than h, and with probability p when it holds
//! exactly h (a [`Threshold`]). A key that d blocks refuse goes to the overflow list, which is
//! exact, costs no memory access, and is always looked at. An access budget a stops
//! probing after a*n block reads; later keys go to the list untried.
//!
//! # Loads
//!
//! A block to which A keys come ends with A keys if A <= h, and otherwise with h if none of
//! the A - h coins fell its way, else with h + 1. So for any distribution of arrivals
//!
//! ```text
//!   P(i) = arrivals(i), i < h        P(h)   = sum_{A >= h} arrivals(A) (1-p)^(A-h)
//!                                    P(h+1) = sum_{A > h}  arrivals(A) (1 - (1-p)^(A-h))
//! ```
//!
//! This is all of SINGLE, exact for finite tables with binomial arrivals.
//! [SEQUENTIAL](super::sequential) and [multilevel](super::multilevel) are solved in the
//! fluid limit (many blocks, r = keys per block), where a probe is one more SINGLE arrival.
//! Against tables of m blocks the error is of order 1/m.
//!
//! # Queries
//!
//! A query reads its choices in turn and may stop at a block with fewer than h keys, since
//! what is not there was never pushed further. Its cost and false positive rate follow from
//! the loads: the budget a bounds inserts, not negative queries, which need 2 to 2.7
//! reads at a = 1.2. Prefer (h + 1, p = 0) to (h, p = 1): the loads are the same, but a query
//! stops earlier.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{InBlock, LoadDistribution, Threshold, single};
//!
//! // 24 bits per key in 256-bit blocks, 4 of which count the keys.
//! let arrivals = LoadDistribution::poisson(256.0 / 24.0)?;
//! let balance = single(&arrivals, Threshold::new(14, 0.5)?);
//! assert!(balance.gamma() < 0.03);
//! let open = arrivals.average(&InBlock::Standard { bits: 256 }.rates(17, arrivals.max_load())?)?;
//! let rate = balance.false_positive_rate(InBlock::Standard { bits: 252 }, 17)?;
//! assert!(rate < open);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::error::require;
use super::{InBlock, LoadDistribution, Result};

/// Most choices of a key.
pub const MAX_CHOICES: u32 = 64;

/// When a block takes a key: below `h` always, at `h` with probability `p`, above never.
/// (h, p = 1) and (h + 1, p = 0) are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    h: u32,
    p: f64,
}

impl Threshold {
    /// # Errors
    /// If `p` is not in `0..=1`.
    pub fn new(h: u32, p: f64) -> Result<Self> {
        require((0.0..=1.0).contains(&p), "p", p, "in 0..=1", "give a probability")?;
        Ok(Self { h, p })
    }

    /// The threshold as hardware holds it: `p` is `p16 / 65536`, compared with 16 hash bits.
    #[must_use]
    pub fn from_fixed_point(h: u32, p16: u16) -> Self {
        Self { h, p: f64::from(p16) / 65536.0 }
    }

    /// The nearest (h, p16) of hardware. A probability that rounds to 1 becomes (h + 1, 0).
    ///
    /// ```
    /// use membrane::analysis::Threshold;
    /// assert_eq!(Threshold::new(14, 0.5)?.fixed_point(), (14, 32768));
    /// assert_eq!(Threshold::new(14, 0.999999)?.fixed_point(), (15, 0));
    /// # Ok::<(), membrane::analysis::AnalysisError>(())
    /// ```
    #[must_use]
    pub fn fixed_point(&self) -> (u32, u16) {
        let p = (self.p * 65536.0).round() as u32;
        u16::try_from(p).map_or((self.h.saturating_add(1), 0), |p16| (self.h, p16))
    }

    /// h.
    #[must_use]
    pub fn h(&self) -> u32 {
        self.h
    }

    /// p.
    #[must_use]
    pub fn p(&self) -> f64 {
        self.p
    }

    /// The bits of a block's counter, `ceil(log2(h + 2))`: it counts 0 ..= h + 1.
    #[must_use]
    pub fn counter_bits(&self) -> u32 {
        (u64::from(self.h) + 2).next_power_of_two().trailing_zeros()
    }

    /// `(1-p)^extra`: no coin of `extra` arrivals beyond h fell the block's way.
    fn all_refused(&self, extra: usize) -> f64 {
        (1.0 - self.p).powi(i32::try_from(extra).unwrap_or(i32::MAX))
    }

    /// The load of a block, given how many keys come to it.
    #[must_use]
    pub fn loads(&self, arrivals: &LoadDistribution) -> LoadDistribution {
        let h = self.h as usize;
        let mut loads: Vec<f64> = arrivals.as_slice().iter().take(h).copied().collect();
        if arrivals.max_load() >= h {
            let beyond = || arrivals.as_slice()[h..].iter().enumerate().rev();
            loads.push(beyond().map(|(extra, a)| a * self.all_refused(extra)).sum());
            loads.push(beyond().map(|(extra, a)| a * self.one_taken(extra)).sum());
        }
        LoadDistribution::trimmed(loads)
    }

    /// `1 - (1-p)^extra` without cancellation.
    fn one_taken(&self, extra: usize) -> f64 {
        if extra == 0 { 0.0 } else { -(extra as f64 * (-self.p).ln_1p()).exp_m1() }
    }

    /// The mean number of keys that a block refuses.
    #[must_use]
    pub fn refused(&self, arrivals: &LoadDistribution) -> f64 {
        let beyond = arrivals.as_slice().iter().skip(self.h as usize + 1).enumerate().rev();
        beyond.map(|(more, a)| a * (more as f64 + self.all_refused(more + 1))).sum()
    }

    /// u: the chance that a block refuses the next key.
    #[must_use]
    pub fn refusal(&self, arrivals: &LoadDistribution) -> f64 {
        let full = arrivals.as_slice().iter().skip(self.h as usize).enumerate().rev();
        full.map(|(extra, a)| a * (1.0 - self.p * self.all_refused(extra))).sum()
    }
}

/// What a balancing scheme does to its blocks, and what that costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    pub(super) threshold: Threshold,
    pub(super) choices: Vec<LoadDistribution>,
    pub(super) placed: Vec<f64>,
    pub(super) listed_after_all: f64,
    pub(super) listed_by_budget: f64,
    pub(super) insert_accesses: f64,
}

impl Balance {
    /// The threshold of the blocks.
    #[must_use]
    pub fn threshold(&self) -> Threshold {
        self.threshold
    }

    /// The load of the block that each choice reads, first choice first.
    #[must_use]
    pub fn choices(&self) -> &[LoadDistribution] {
        &self.choices
    }

    /// The share of keys that each choice took, first choice first.
    #[must_use]
    pub fn placed(&self) -> &[f64] {
        &self.placed
    }

    /// The share of keys in the overflow list.
    #[must_use]
    pub fn gamma(&self) -> f64 {
        self.listed_after_all + self.listed_by_budget
    }

    /// The share of keys in the list because the budget was spent: they were not tried.
    #[must_use]
    pub fn listed_by_budget(&self) -> f64 {
        self.listed_by_budget
    }

    /// The mean number of blocks read per insert, over all keys. The write that ends an
    /// insert is not counted.
    #[must_use]
    pub fn insert_accesses(&self) -> f64 {
        self.insert_accesses
    }

    /// The mean number of blocks read by a query for a key that some block holds. A key of
    /// the list needs none if the list is searched first.
    #[must_use]
    pub fn positive_query_accesses(&self) -> f64 {
        let held: f64 = self.placed.iter().sum();
        let reads = self.placed.iter().zip(1..).map(|(share, reads)| share * f64::from(reads));
        reads.sum::<f64>() / held
    }

    /// The mean number of blocks read by a query for a key that was never inserted, and
    /// that stops at the first block with fewer than h keys. (False hits may end
    /// it sooner: by less than the rate times the number of choices.)
    #[must_use]
    pub fn negative_query_accesses(&self) -> f64 {
        let mut reads = 0.0;
        for loads in self.choices.iter().rev() {
            reads = 1.0 + loads.tail(self.threshold.h as usize) * reads;
        }
        // the last choice has nowhere to continue, which `reads = 0` before it says
        reads
    }

    /// The exact in-block rate, averaged over loads and choices: a query is a false positive
    /// if a choice that it reads hits.
    ///
    /// # Errors
    /// As [`InBlock::rates`].
    pub fn false_positive_rate(&self, in_block: InBlock, hashes: u32) -> Result<f64> {
        let most = self.choices.iter().map(LoadDistribution::max_load).max().unwrap_or(0);
        self.rate_with(&in_block.rates(hashes, most)?)
    }

    /// The rate for a given in-block rate phi, listed by load.
    ///
    /// # Errors
    /// If `phi` ends before the largest load.
    pub fn rate_with(&self, phi: &[f64]) -> Result<f64> {
        self.chain(phi, self.threshold.h as usize)
    }

    /// The rate of a query that reads all choices, whatever their counts.
    ///
    /// # Errors
    /// If `phi` ends before the largest load.
    pub fn rate_reading_all(&self, phi: &[f64]) -> Result<f64> {
        self.chain(phi, 0)
    }

    fn chain(&self, phi: &[f64], continue_from: usize) -> Result<f64> {
        let mut further = 0.0;
        for loads in self.choices.iter().rev() {
            let miss = loads
                .expect(|load| if load < continue_from { 0.0 } else { 1.0 - phi.get(load).unwrap_or(&0.0) });
            further = loads.average(phi)? + miss * further;
        }
        Ok(further)
    }
}

/// SINGLE: one choice, then the list. Exact for the given arrivals.
#[must_use]
pub fn single(arrivals: &LoadDistribution, threshold: Threshold) -> Balance {
    let mean = arrivals.mean();
    let gamma = if mean > 0.0 { threshold.refused(arrivals) / mean } else { 0.0 };
    Balance {
        threshold,
        choices: vec![threshold.loads(arrivals)],
        placed: vec![1.0 - gamma],
        listed_after_all: gamma,
        listed_by_budget: 0.0,
        insert_accesses: 1.0,
    }
}

pub(super) fn check_r(r: f64) -> Result<()> {
    require(r > 0.0 && r.is_finite(), "r", r, "above 0", "give the mean number of keys per block")
}

pub(super) fn check_budget(budget: Option<f64>) -> Result<()> {
    let a = budget.unwrap_or(1.0);
    require(a > 0.0, "budget", a, "above 0", "give the mean block reads per insert, or None")
}

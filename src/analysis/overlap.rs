//! False overlap: two disjoint sets whose filters do not show it.
//!
//! Sets are disjoint for certain when the AND of their filters has an empty part
//! ([`Partitioned::is_disjoint`](crate::partitioned::Partitioned::is_disjoint)); for the standard
//! filter, which is one part, when it is all zeros. The partitioned-filter paper (section 6.2)
//! takes all pairs of bits as independent,
//!
//! ```text
//!   standard     P_s = 1 - (1 - 1/m)^(k^2 n1 n2)
//!   partitioned  P_p = (1 - (1 - k/m)^(n1 n2))^k
//! ```
//!
//! which they are not: n1 keys set D1 < n1 different bits of a part. Given D1, each of the other
//! n2 keys misses them independently, so for parts of b bits with h draws per key, exactly
//!
//! ```text
//!   P = [ sum_i B(h n1, b, i) (1 - (1 - i/b)^(h n2)) ]^parts
//! ```
//!
//! with `B` from [`occupancy`](super::occupancy); all terms are positive. The standard filter is
//! one part with k draws per key.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::Overlap;
//!
//! // Read set and write set of 8 addresses each, in 1024 bits.
//! let parts = Overlap { keys: [8, 8], part_bits: 256, parts: 4, hashes_per_part: 1 };
//! let standard = Overlap { part_bits: 1024, parts: 1, hashes_per_part: 4, ..parts };
//! assert!(parts.probability()? < 0.003 && standard.probability()? > 0.6);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::Result;
use super::error::require;
use super::occupancy::{MAX_HASHES, check_bits, distinct_indices};

/// Filters of two disjoint sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// n1 and n2, the keys of each set.
    pub keys: [u64; 2],
    /// The bits of one part: m/k, or m for a standard filter.
    pub part_bits: u64,
    /// The parts: k, or 1 for a standard filter.
    pub parts: u32,
    /// The hashes into each part: 1, or k for a standard filter.
    pub hashes_per_part: u32,
}

impl Overlap {
    fn draws(&self) -> Result<[u64; 2]> {
        check_bits(self.part_bits)?;
        let draws = self.keys.map(|keys| keys.saturating_mul(self.hashes_per_part.into()));
        require(
            self.hashes_per_part >= 1 && draws[0].max(draws[1]) <= MAX_HASHES.into(),
            "keys * hashes_per_part",
            draws[0].max(draws[1]) as f64,
            "in 1..=4096",
            "larger sets overlap in any filter that one would build",
        )?;
        Ok(draws)
    }

    /// The exact chance that no part of the intersection is empty although the sets are disjoint.
    ///
    /// # Errors
    /// If a set has more than 4096 hashes per part, or `part_bits` is not in `1..=2^53`.
    pub fn probability(&self) -> Result<f64> {
        let [first, second] = self.draws()?;
        if first == 0 || second == 0 {
            return Ok(0.0);
        }
        let b = self.part_bits as f64;
        let set = distinct_indices(first as u32, self.part_bits)?;
        let meets = |bits: usize| -(second as f64 * (-(bits as f64) / b).ln_1p()).exp_m1();
        let part: f64 = set.iter().enumerate().map(|(bits, share)| share * meets(bits)).sum();
        Ok(part.min(1.0).powf(f64::from(self.parts)))
    }

    /// The paper's approximation.
    ///
    /// # Errors
    /// As [`Overlap::probability`].
    pub fn paper_probability(&self) -> Result<f64> {
        let [first, second] = self.draws()?;
        let pairs = first as f64 * second as f64;
        let part =
            if pairs == 0.0 { 0.0 } else { -(pairs * (-1.0 / self.part_bits as f64).ln_1p()).exp_m1() };
        Ok(part.powf(f64::from(self.parts)))
    }
}

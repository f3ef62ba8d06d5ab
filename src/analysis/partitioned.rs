//! The partitioned Bloom filter, one memory per hash, and the hybrid between it and the
//! standard filter.
//!
//! ```text
//!   partitioned, k = 3             hybrid, 2 parts of 2 hashes
//!   part 0  | |1| | | | |  h0      part 0  | |1| | | |1| | | |  h0 h1
//!   part 1  | | | | |1| |  h1      part 1  |1| | | |1| | | | |  h2 h3
//!   part 2  |1| | | | | |  h2
//! ```
//!
//! Parts are filled and tested independently, so the rate is the product over parts:
//!
//! - partitioned, parts of p bits: `F_p = (1 - (1 - 1/p)^n)^k`, exact (equation 11);
//! - hybrid, k/h parts with h hashes each: `F_s(n, p, h)^(k/h)` with the exact
//!   [`Standard`] rate of a part. One hash per part is the partitioned filter, one part
//!   the standard one.
//!
//! Powers and differences go through `ln_1p` and `expm1`: the relative error is a few
//! units in the last place times k, for any p.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{Hybrid, Partitioned};
//!
//! let banks = Partitioned { keys: 709, part_bits: 1024, parts: 7 }.false_positive_rate()?;
//! assert!((banks - 0.0078).abs() < 1e-4);
//! let ports = Hybrid { keys: 709, part_bits: 2048, parts: 3, hashes_per_part: 2 };
//! assert!(ports.false_positive_rate()? > banks); // six hashes instead of seven
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::Result;
use super::error::require;
use super::occupancy::{MAX_HASHES, check_bits, check_draws};
use super::standard::{Standard, single_hash_rate};

fn check_parts(parts: u32) -> Result<()> {
    require(
        (1..=MAX_HASHES).contains(&parts),
        "parts",
        f64::from(parts),
        "in 1..=4096",
        "a filter needs a part, and more than some dozens never help",
    )
}

/// A partitioned filter that holds `keys` keys: `parts` parts with one hash each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partitioned {
    /// n, the keys inserted.
    pub keys: u64,
    /// The bits of one part, m/k.
    pub part_bits: u64,
    /// k, the parts and the hashes.
    pub parts: u32,
}

impl Partitioned {
    /// `F_p`, the exact rate, which is the same for every key.
    ///
    /// # Errors
    /// If `part_bits` is not in `1..=2^53`, `parts` not in `1..=4096` or `keys` above 2^53.
    pub fn false_positive_rate(&self) -> Result<f64> {
        check_bits(self.part_bits)?;
        check_parts(self.parts)?;
        check_draws(self.keys, 1)?;
        Ok(single_hash_rate(self.keys, self.part_bits).powf(f64::from(self.parts)))
    }
}

/// A hybrid filter that holds `keys` keys: `parts` parts with `hashes_per_part` hashes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hybrid {
    /// n, the keys inserted.
    pub keys: u64,
    /// The bits of one part.
    pub part_bits: u64,
    /// The number of parts, k/h.
    pub parts: u32,
    /// h, the hashes into each part.
    pub hashes_per_part: u32,
}

impl Hybrid {
    /// The exact rate, averaged over keys.
    ///
    /// # Errors
    /// If `parts` is not in `1..=4096`, or a part is not a legal [`Standard`] filter.
    pub fn false_positive_rate(&self) -> Result<f64> {
        check_parts(self.parts)?;
        let part = Standard { keys: self.keys, bits: self.part_bits, hashes: self.hashes_per_part };
        Ok(part.false_positive_rate()?.powf(f64::from(self.parts)))
    }
}

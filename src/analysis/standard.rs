//! The standard Bloom filter: k indices into one array of m bits.
//!
//! ```text
//!            h1(x)      h2(x) = h3(x)        h4(x)
//!              |             |                 |
//!   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!   | | |1| | |1| | |1| | | |1| | | | |1| | | | |1| |   m bits
//!   +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Indices of a key may repeat, as above: the key then tests d < k different bits and is a
//! *weak spot*. With `B` and `C` from [`occupancy`](super::occupancy),
//!
//! - average over keys: `F_s(n, m, k) = sum_d B(k, m, d) F_s(n, m, k, d)`, which is equation
//!   10 of the partitioned-filter paper with its sum taken to the end;
//! - a key with d different bits: `F_s(n, m, k, d) = C(nk, m, d)` (equation 14);
//! - the approximation of most textbooks: `F_a = (1 - (1 - 1/m)^(nk))^k` (equation 5), a
//!   strict lower bound for k > 1.
//!
//! The paper's tables 1 to 3 were printed from sums that stop one term early, at nk - 1
//! bits set. 25 of their 104 cells differ visibly from the values here, all for small m or
//! few keys: table 2 has 4.42059 for m = 64, k = 4, occupation 1/4, and the ratio is 1.05697.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::Standard;
//!
//! // One cache line at its nominal load.
//! let filter = Standard { keys: 44, bits: 512, hashes: 8 };
//! let exact = filter.false_positive_rate()?;
//! assert_eq!(format!("{exact:.8}"), "0.00381650");
//! // The textbook is 1.7 % low, and a key whose hashes collide twice is 3.9 times worse.
//! assert!(filter.approximate_rate()? < 0.984 * exact);
//! assert!(filter.element_rate(6)? > 3.8 * exact);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::Result;
use super::error::require;
use super::occupancy::{check_bits, check_draws, check_hashes, coverage, distinct_indices, query_rate};

/// A standard Bloom filter that holds `keys` keys.
///
/// Every method refuses `bits` outside `1..=2^53`, `hashes` outside `1..=4096`, and so
/// many keys that `keys * hashes` exceeds 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standard {
    /// n, the keys inserted.
    pub keys: u64,
    /// m, the bits of the array.
    pub bits: u64,
    /// k, the indices per key.
    pub hashes: u32,
}

impl Standard {
    fn draws(&self) -> Result<u64> {
        check_bits(self.bits)?;
        check_hashes(self.hashes)?;
        check_draws(self.keys, self.hashes)
    }

    /// `F_s(n, m, k)`: the exact rate, averaged over keys and hash functions.
    ///
    /// # Errors
    /// If a parameter is out of range, see [`Standard`].
    pub fn false_positive_rate(&self) -> Result<f64> {
        query_rate(self.draws()?, self.bits, self.hashes)
    }

    /// `F_a(n, m, k)`: the usual approximation, equation 5.
    ///
    /// # Errors
    /// If a parameter is out of range, see [`Standard`].
    pub fn approximate_rate(&self) -> Result<f64> {
        let fill = single_hash_rate(self.draws()?, self.bits);
        Ok(fill.powf(f64::from(self.hashes)))
    }

    /// `F_s(n, m, k, d)`: the exact rate of a key whose k indices name `distinct` different
    /// bits, over all filters that do not hold it.
    ///
    /// # Errors
    /// If a parameter is out of range, or `distinct` is 0 or above `min(hashes, bits)`.
    pub fn element_rate(&self, distinct: u32) -> Result<f64> {
        let draws = self.draws()?;
        require(
            distinct >= 1 && u64::from(distinct) <= u64::from(self.hashes).min(self.bits),
            "distinct",
            f64::from(distinct),
            "in 1..=min(hashes, bits)",
            "a key names at least one bit, and at most one per hash",
        )?;
        coverage(draws, self.bits, distinct)
    }

    /// `B(k, m, d)`: entry d is the share of keys whose indices name d different bits.
    ///
    /// # Errors
    /// If a parameter is out of range, see [`Standard`].
    pub fn distinct_indices(&self) -> Result<Vec<f64>> {
        distinct_indices(self.hashes, self.bits)
    }
}

/// The nominal capacity times `occupation`: `floor((m/k) ln 2 * occupation)` keys.
///
/// ```
/// assert_eq!(membrane::analysis::standard::nominal_keys(512, 8, 1.0)?, 44);
/// # Ok::<(), membrane::analysis::AnalysisError>(())
/// ```
///
/// # Errors
/// If `bits` or `hashes` is out of range, or `occupation` negative, infinite or NaN.
pub fn nominal_keys(bits: u64, hashes: u32, occupation: f64) -> Result<u64> {
    check_bits(bits)?;
    check_hashes(hashes)?;
    require(
        occupation.is_finite() && occupation >= 0.0,
        "occupation",
        occupation,
        "a finite number of at least 0",
        "1 is the nominal load, at which half the bits are set",
    )?;
    let nominal = bits as f64 / f64::from(hashes) * std::f64::consts::LN_2;
    Ok((nominal * occupation).floor() as u64)
}

/// `1 - (1 - 1/bits)^draws`, the share of bits set, to full precision.
pub(super) fn single_hash_rate(draws: u64, bits: u64) -> f64 {
    if draws == 0 {
        return 0.0; // also where bits = 1 would give 0 * infinity
    }
    -(draws as f64 * (-1.0 / bits as f64).ln_1p()).exp_m1()
}

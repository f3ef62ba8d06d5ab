//! Double hashing: k indices `g_i = h1 + i * h2 mod m` from two hash values, and the weak
//! spots that this puts into a standard filter but not into a partitioned one.
//!
//! ```text
//!   m = 16, k = 4       standard: one array            partitioned: part i has g_i mod 4
//!   h2 = 5              | |1| | | | |1| | | | |1| ...   4 bits in 4 parts
//!   h2 = 8 = m/2        | |1| | | | | | | |1| | | ...   4 bits in 4 parts
//!   h2 = 0              | |1| | | | | | | | | | | ...   4 bits in 4 parts
//! ```
//!
//! In the standard filter a key with step `h2` names `min(k, m / gcd(h2, m))` different bits.
//! With m = 512 one key in 512 has a single bit, and half of all such keys test as present
//! at nominal load (section 5 of the partitioned-filter paper, issue 1). The overlaps of its
//! issues 2 and 3 are in the exact rates, too:
//!
//! The bits of a queried key are covered by n independent keys, each of which sets a random
//! subset of them. Counting the subsets over all m^2 pairs (h1, h2) gives the chance
//! `miss(T)` that one key leaves all bits of T alone, and
//!
//! ```text
//!   F = sum over T of (-1)^|T| miss(T)^n
//! ```
//!
//! exactly. Shifts of h1, and multiplication by units of `Z_m`, map the keys onto each other, so F
//! depends on `gcd(h2, m)` alone. In a partitioned filter shifts of both hash values do that for
//! all keys: every key has the same rate, and there are no weak spots.
//!
//! The sum alternates: its absolute error is about 2^k * 1e-16. So k is at most 16 here, and
//! since m^2 pairs are walked, m at most 4096.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{DoublePartitioned, DoubleStandard};
//!
//! // A cache line at its nominal load.
//! let standard = DoubleStandard { keys: 44, bits: 512, hashes: 8 };
//! assert!((standard.element_rate(0)? - 0.5).abs() < 0.01); // h2 = 0: one bit
//! assert!((standard.element_rate(256)? - 0.25).abs() < 0.02); // h2 = m/2: two
//! let parts = DoublePartitioned { keys: 44, part_bits: 64, parts: 8 };
//! assert!(parts.false_positive_rate()? < 0.02); // whatever h2 is
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::Result;
use super::error::require;

/// Most bits that the exact rates walk over.
pub const MAX_BITS: u64 = 4096;

/// Most hashes of the exact rates.
pub const MAX_K: u32 = 16;

fn check(bits: u64, hashes: u32) -> Result<()> {
    require(
        (1..=MAX_BITS).contains(&bits),
        "bits",
        bits as f64,
        "in 1..=4096",
        "beyond that double hashing costs next to nothing: use the standard or partitioned rate",
    )?;
    require(
        (1..=MAX_K).contains(&hashes),
        "hashes",
        f64::from(hashes),
        "in 1..=16",
        "the exact sum has 2^hashes terms",
    )
}

/// A standard filter with double hashing that holds `keys` keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoubleStandard {
    /// n, the keys inserted.
    pub keys: u64,
    /// m, the bits of the array.
    pub bits: u64,
    /// k, the indices per key.
    pub hashes: u32,
}

impl DoubleStandard {
    /// Entry d is the share of keys whose indices name d different bits: `phi(d) / m` for
    /// every d < k that divides m, and the rest have all k (or m, if that is less).
    ///
    /// ```
    /// use membrane::analysis::DoubleStandard;
    /// let shares = DoubleStandard { keys: 0, bits: 512, hashes: 8 }.distinct_indices()?;
    /// assert_eq!(shares[1..=4], [1.0 / 512.0, 1.0 / 512.0, 0.0, 2.0 / 512.0]);
    /// # Ok::<(), membrane::analysis::AnalysisError>(())
    /// ```
    ///
    /// # Errors
    /// If `bits` is not in `1..=4096` or `hashes` not in `1..=16`.
    pub fn distinct_indices(&self) -> Result<Vec<f64>> {
        check(self.bits, self.hashes)?;
        let mut shares = vec![0.0; u64::from(self.hashes).min(self.bits) as usize + 1];
        for step in 0..self.bits {
            shares[self.distinct(step)] += 1.0 / self.bits as f64;
        }
        Ok(shares)
    }

    /// Different bits of a key with this step.
    fn distinct(&self, step: u64) -> usize {
        (self.bits / gcd(step, self.bits)).min(u64::from(self.hashes)) as usize
    }

    /// The exact rate of a key with `h2 = step`, over all filters that do not hold it.
    ///
    /// # Errors
    /// As [`DoubleStandard::distinct_indices`]; also if `step` is not below `bits`.
    pub fn element_rate(&self, step: u64) -> Result<f64> {
        check(self.bits, self.hashes)?;
        require(step < self.bits, "step", step as f64, "below bits", "h2 is taken modulo the bits")?;
        let m = self.bits as usize;
        // Which of the queried key's bits lies where.
        let distinct = self.distinct(step);
        let mut place = vec![0usize; m];
        for i in 0..distinct {
            place[i * step as usize % m] |= 1 << i;
        }
        let mut subsets = vec![0u64; 1 << distinct];
        for h2 in 0..m {
            for h1 in 0..m {
                let mut at = h1;
                let mut subset = 0;
                for _ in 0..self.hashes {
                    subset |= place[at];
                    at += h2;
                    if at >= m {
                        at -= m;
                    }
                }
                subsets[subset] += 1;
            }
        }
        Ok(all_covered(&subsets, self.keys))
    }

    /// The exact rate, averaged over keys.
    ///
    /// # Errors
    /// As [`DoubleStandard::distinct_indices`].
    pub fn false_positive_rate(&self) -> Result<f64> {
        check(self.bits, self.hashes)?;
        let mut rate = 0.0;
        for divisor in (1..=self.bits).filter(|g| self.bits.is_multiple_of(*g)) {
            let steps = (0..self.bits).filter(|step| gcd(*step, self.bits) == divisor).count();
            rate += steps as f64 / self.bits as f64 * self.element_rate(divisor % self.bits)?;
        }
        Ok(rate)
    }
}

/// A partitioned filter with double hashing that holds `keys` keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoublePartitioned {
    /// n, the keys inserted.
    pub keys: u64,
    /// The bits of one part, m/k.
    pub part_bits: u64,
    /// k, the parts and the indices per key.
    pub parts: u32,
}

impl DoublePartitioned {
    /// The exact rate, which is the same for every key.
    ///
    /// # Errors
    /// If `part_bits` is not in `1..=4096` or `parts` not in `1..=16`.
    pub fn false_positive_rate(&self) -> Result<f64> {
        check(self.part_bits, self.parts)?;
        let p = self.part_bits;
        let mut subsets = vec![0u64; 1 << self.parts];
        for h2 in 0..p {
            for h1 in 0..p {
                // The queried key has index 0 in every part: h1 = h2 = 0.
                let hits = (0..self.parts).filter(|i| (h1 + u64::from(*i) * h2).is_multiple_of(p));
                subsets[hits.map(|i| 1usize << i).sum::<usize>()] += 1;
            }
        }
        Ok(all_covered(&subsets, self.keys))
    }
}

/// The chance that `keys` draws of subsets, with the given weights, cover all elements.
fn all_covered(subsets: &[u64], keys: u64) -> f64 {
    let total: u64 = subsets.iter().sum();
    // within[S]: draws that lie in S, by adding up over the elements one by one.
    let mut within = subsets.to_vec();
    let elements = subsets.len().trailing_zeros();
    for element in 0..elements {
        for set in (0..within.len()).filter(|set| set >> element & 1 == 1) {
            within[set] += within[set ^ (1 << element)];
        }
    }
    let covered: f64 = (0..within.len())
        .map(|set| {
            let missed = elements - set.count_ones();
            let sign = if missed.is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * (within[set] as f64 / total as f64).powf(keys as f64)
        })
        .sum();
    covered.clamp(0.0, 1.0)
}

fn gcd(a: u64, b: u64) -> u64 {
    if a == 0 { b } else { gcd(b % a, a) }
}

//! The blocked Bloom filter: all bits of a key in one block, read in one access.
//!
//! ```text
//!   key -> block number            block: BLOCK_W bits
//!       -> k indices inside it     standard:    k indices over the whole block
//!                                  partitioned: one index in each of k parts
//! ```
//!
//! A block is a small filter whose number of keys is random. With the exact load
//! [`Binomial(n, 1/B)`](LoadDistribution::binomial) and the exact in-block rate phi,
//!
//! ```text
//!   F = sum_l  binom(n, l) (1/B)^l (1 - 1/B)^(n-l)  phi(l)
//!   phi(l) = F_s(l, bits, k)                        standard
//!   phi(l) = (1 - (1 - 1/part_bits)^l)^k            partitioned
//! ```
//!
//! This is exact: the load of the block that a query reads depends on nothing else. Crowded
//! blocks dominate the sum, which is why a blocked filter is worse than a standard one
//! and why [balancing](super::balanced) helps. All terms are positive; the
//! relative error is at most 2e-10 with 2^20 index draws per block, and falls in
//! proportion to them.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{Blocked, InBlock};
//!
//! let filter = Blocked {
//!     keys: 43_690, // 24 bits per key
//!     blocks: 4_096,
//!     hashes: 17,
//!     in_block: InBlock::Standard { bits: 256 },
//! };
//! let standard = filter.false_positive_rate()?;
//! let parts = Blocked { in_block: InBlock::Partitioned { part_bits: 15 }, ..filter };
//! assert!(parts.false_positive_rate()? > standard);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use super::occupancy::{check_bits, check_hashes, query_rates};
use super::standard::single_hash_rate;
use super::{LoadDistribution, Result};

/// How the k bits of a key lie inside its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InBlock {
    /// k indices over the whole block, with repetition.
    Standard {
        /// The bits of the block that the filter uses: `BLOCK_W` less any counter.
        bits: u64,
    },
    /// One index in each of k equal parts.
    Partitioned {
        /// The bits of one part, `floor(BLOCK_W / k)`.
        part_bits: u64,
    },
}

impl InBlock {
    /// phi(l), the exact chance that a key not in the block tests as present when it
    /// holds l keys, for l = 0 ..= `max_load`.
    ///
    /// ```
    /// use membrane::analysis::InBlock;
    /// let phi = InBlock::Partitioned { part_bits: 2 }.rates(2, 3)?;
    /// assert_eq!(phi[..2], [0.0, 0.25]);
    /// # Ok::<(), membrane::analysis::AnalysisError>(())
    /// ```
    ///
    /// # Errors
    /// If the bits are not in `1..=2^53` or `hashes` not in `1..=4096`.
    pub fn rates(&self, hashes: u32, max_load: usize) -> Result<Vec<f64>> {
        check_hashes(hashes)?;
        match *self {
            InBlock::Standard { bits } => query_rates(hashes, bits, hashes, max_load),
            InBlock::Partitioned { part_bits } => {
                check_bits(part_bits)?;
                let parts = f64::from(hashes);
                let rate = |load| single_hash_rate(load, part_bits).powf(parts);
                Ok((0..=max_load as u64).map(rate).collect())
            }
        }
    }

    /// The balanced paper's phi, `(1 - (1 - 1/B)^(kl))^k`, with its exponent corrected to k.
    /// It ignores that the fill varies and that indices collide, and so is low: for multilevel
    /// with 256-bit blocks the exact rate is 26 % higher at 30 bits per key, and 48 % at 40.
    /// For comparison only.
    ///
    /// # Errors
    /// As [`InBlock::rates`].
    pub fn paper_rates(&self, hashes: u32, max_load: usize) -> Result<Vec<f64>> {
        let InBlock::Standard { bits } = *self else {
            return self.rates(hashes, max_load); // for parts the formula is exact
        };
        check_bits(bits)?;
        check_hashes(hashes)?;
        let (each, k) = (u64::from(hashes), f64::from(hashes));
        Ok((0..=max_load as u64).map(|load| single_hash_rate(load * each, bits).powf(k)).collect())
    }
}

/// A blocked filter that holds `keys` keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked {
    /// n, the keys inserted.
    pub keys: u64,
    /// The number of blocks.
    pub blocks: u64,
    /// k, the bits per key.
    pub hashes: u32,
    /// The layout of a block.
    pub in_block: InBlock,
}

impl Blocked {
    /// The exact load of a block.
    ///
    /// # Errors
    /// If there is no block, or more than 50 000 keys per block.
    pub fn loads(&self) -> Result<LoadDistribution> {
        LoadDistribution::binomial(self.keys, self.blocks)
    }

    /// The exact rate.
    ///
    /// # Errors
    /// As [`Blocked::loads`] and [`InBlock::rates`].
    pub fn false_positive_rate(&self) -> Result<f64> {
        self.rate_under(&self.loads()?)
    }

    /// The rate in the limit of many blocks with the same keys per block: Poisson loads.
    ///
    /// # Errors
    /// As [`Blocked::false_positive_rate`].
    pub fn poisson_rate(&self) -> Result<f64> {
        self.loads()?; // names `blocks` when it is 0
        self.rate_under(&LoadDistribution::poisson(self.keys as f64 / self.blocks as f64)?)
    }

    /// The rate when blocks have the given loads, for example measured ones.
    ///
    /// # Errors
    /// As [`InBlock::rates`].
    pub fn rate_under(&self, loads: &LoadDistribution) -> Result<f64> {
        loads.average(&self.in_block.rates(self.hashes, loads.max_load())?)
    }
}

//! Sets as filters: union, intersection, disjointness and smaller views (Almeida,
//! section 6).
//!
//! A filter is the OR of its keys' bits, so filters with the same parameters combine
//! word by word. Disjoint parts give more than the standard filter can: a key of both
//! sets has a bit in *every* part of the intersection, so one empty part proves that
//! there is none; and each part is a filter of its own, so the first parts are a
//! smaller filter of the same keys.

use thiserror::Error;

use super::{Config, Partitioned};
use crate::sram::Memory;

/// Filters that do not go together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SetError {
    /// A key has other bits in the other filter.
    #[error("{parameter} is {left} in one filter and {right} in the other: build both with the same")]
    Different {
        /// The parameter in which they differ.
        parameter: String,
        /// Its value in the filter that was asked.
        left: u64,
        /// Its value in the other one.
        right: u64,
    },
    /// Not a number of parts that the filter can give.
    #[error("{wanted} parts of a filter with BANKS={banks}: ask for 1 to {banks}")]
    Parts {
        /// How many were asked for.
        wanted: u32,
        /// How many there are.
        banks: u32,
    },
}

/// Sets of keys, by their filters.
///
/// ```
/// use membrane::{Filter, partitioned::{Config, Partitioned}};
///
/// let config = Config { banks: 7, rows: 1 << 12, key_w: 64, ..Config::default() };
/// let (mut reads, mut writes) = (Partitioned::new(&config)?, Partitioned::new(&config)?);
/// (0..20).for_each(|address| { reads.insert(&[address]); });
/// (100..120).for_each(|address| { writes.insert(&[address]); });
/// assert!(reads.is_disjoint(&writes)?); // for certain
/// writes.insert(&[7]);
/// assert!(!reads.is_disjoint(&writes)?);
///
/// let both = reads.union(&writes)?;
/// assert!(both.contains(&[3]) && both.contains(&[103]));
/// let small = both.first_parts(3)?; // 3 of 7 banks, and more false positives
/// assert!(small.contains(&[3]) && small.config().banks == 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Partitioned {
    /// The filter of all keys of both: bit for bit the one into which all were inserted.
    ///
    /// # Errors
    /// If the filters' parameters differ in more than `TAG_W`.
    pub fn union(&self, other: &Self) -> Result<Self, SetError> {
        self.combined(other, |a, b| a | b)
    }

    /// A filter that has every key of both, and false positives: at least those of the
    /// filter into which only the common keys were inserted.
    ///
    /// # Errors
    /// As [`Partitioned::union`].
    pub fn intersection(&self, other: &Self) -> Result<Self, SetError> {
        self.combined(other, |a, b| a & b)
    }

    /// Whether the sets are certainly disjoint: some part has no bit in common. `false` means
    /// "maybe not"; [`Overlap`](crate::analysis::Overlap) says how often it is said in vain.
    ///
    /// # Errors
    /// As [`Partitioned::union`].
    pub fn is_disjoint(&self, other: &Self) -> Result<bool, SetError> {
        self.check_same(other)?;
        let apart = |(a, b): (&Memory, &Memory)| a.words().iter().zip(b.words()).all(|(a, b)| a & b == 0);
        Ok(self.banks().iter().zip(other.banks()).any(apart))
    }

    /// The same keys in the first `parts` banks alone: bit for bit the filter that was built
    /// with `BANKS` of that many, which goes on taking keys.
    ///
    /// # Errors
    /// If there are no so many banks, or `parts` is 0.
    pub fn first_parts(&self, parts: u32) -> Result<Self, SetError> {
        let banks = self.config().banks;
        let refusal = SetError::Parts { wanted: parts, banks };
        if parts > banks {
            return Err(refusal);
        }
        // Zero is all that the rules can have against fewer banks.
        let mut view = Self::new(&Config { banks: parts, ..self.config().clone() }).map_err(|_| refusal)?;
        view.banks_mut().clone_from_slice(&self.banks()[..parts as usize]);
        Ok(view)
    }

    fn combined(&self, other: &Self, word: impl Fn(u64, u64) -> u64) -> Result<Self, SetError> {
        self.check_same(other)?;
        let mut result = self.clone();
        for (bank, other) in result.banks_mut().iter_mut().zip(other.banks()) {
            for (a, b) in bank.words_mut().iter_mut().zip(other.words()) {
                *a = word(*a, *b);
            }
        }
        Ok(result)
    }

    /// Refuses filters in which one key has different bits.
    fn check_same(&self, other: &Self) -> Result<(), SetError> {
        let (ours, theirs) = (self.config().params(), other.config().params());
        let pairs = ours.iter().zip(theirs.iter());
        let mut different = pairs.filter(|((name, left), (_, right))| *name != "TAG_W" && left != right);
        match different.next() {
            None => Ok(()),
            Some(((name, left), (_, right))) => {
                Err(SetError::Different { parameter: name.to_owned(), left, right })
            }
        }
    }
}

//! Many keys at once from an iterator: no slice of all keys is needed.
//!
//! Keys are gathered, some hundreds at a time, and worked on by
//! [`Filter::contains_all`] and [`Filter::insert_all`], so they are as fast as slices are.
//!
//! ```
//! use bitvec::vec::BitVec;
//! use membrane::{Filter, blocked::{Blocked, Config}, each};
//!
//! let config = Config { block_w: 256, rows: 1 << 12, hashes: 8, key_w: 64, ..Config::default() };
//! let mut filter = Blocked::new(&config)?;
//! let even = (0..1000).map(|n| [2 * n]); // a key is an array, a vector or a slice of words
//! each::insert(&mut filter, even, |answer| assert_eq!(answer.status, membrane::Status::Ok));
//! let hits: BitVec = each::contains(&filter, (0..1000).map(|n| [n])).collect();
//! assert!(hits.len() == 1000 && hits.iter().step_by(2).all(|hit| *hit));
//! # Ok::<(), membrane::ConfigError>(())
//! ```

use crate::filter::{Answer, Filter};

/// Keys that are gathered.
const CHUNK: usize = 512;

/// Puts in all keys, in their order, and hands on the answer to each.
///
/// # Panics
/// When a key has another number of words than the first.
pub fn insert<F: Filter + ?Sized, K: AsRef<[u64]>>(
    filter: &mut F,
    keys: impl IntoIterator<Item = K>,
    mut answered: impl FnMut(Answer),
) {
    let mut keys = Gathered::new(keys.into_iter());
    let mut answers = [Answer::default(); CHUNK];
    while keys.gather() {
        let answers = &mut answers[..keys.count];
        filter.insert_all(&keys.words, answers);
        answers.iter().copied().for_each(&mut answered);
    }
}

/// Whether each of the keys may be present.
pub fn contains<F: Filter + ?Sized, K: AsRef<[u64]>, I: IntoIterator<Item = K>>(
    filter: &F,
    keys: I,
) -> Contains<'_, F, I::IntoIter> {
    Contains { filter, keys: Gathered::new(keys.into_iter()), hits: [false; CHUNK], next: 0 }
}

/// Iterator of [`contains`]: true for a hit.
///
/// # Panics
/// When a key has another number of words than the first.
pub struct Contains<'a, F: ?Sized, I> {
    filter: &'a F,
    keys: Gathered<I>,
    hits: [bool; CHUNK],
    /// The hit that comes next.
    next: usize,
}

impl<F: Filter + ?Sized, K: AsRef<[u64]>, I: Iterator<Item = K>> Iterator for Contains<'_, F, I> {
    type Item = bool;

    #[inline]
    fn next(&mut self) -> Option<bool> {
        if self.next == self.keys.count {
            if !self.keys.gather() {
                return None;
            }
            self.filter.contains_all(&self.keys.words, &mut self.hits[..self.keys.count]);
            self.next = 0;
        }
        self.next += 1;
        Some(self.hits[self.next - 1])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let ready = self.keys.count - self.next;
        let (least, most) = self.keys.source.size_hint();
        (least.saturating_add(ready), most.and_then(|most| most.checked_add(ready)))
    }
}

/// Some keys of a source, one after the other.
struct Gathered<I> {
    source: I,
    words: Vec<u64>,
    count: usize,
}

impl<K: AsRef<[u64]>, I: Iterator<Item = K>> Gathered<I> {
    fn new(source: I) -> Self {
        Self { source, words: Vec::new(), count: 0 }
    }

    /// Gathers the next keys; false if there are none.
    fn gather(&mut self) -> bool {
        self.words.clear();
        self.count = 0;
        while self.count < CHUNK
            && let Some(key) = self.source.next()
        {
            let (key, before) = (key.as_ref(), self.words.len());
            self.words.extend_from_slice(key);
            self.count += 1;
            assert_eq!(before, key.len() * (self.count - 1), "keys of different lengths");
        }
        self.count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tinyset::{Config, TinySet};

    #[test]
    fn keys_one_by_one_and_as_a_slice_answer_the_same() {
        let config = Config { blocks: 20, chains: 64, array: 448, key_w: 100, ..Config::default() };
        let (mut slice, mut stream) = (TinySet::new(&config).unwrap(), TinySet::new(&config).unwrap());
        for count in [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK - 1] {
            let keys: Vec<[u64; 2]> = (0..count as u64).map(|n| [n * n, n % 7]).collect();
            let mut answers = vec![Answer::default(); count];
            slice.insert_all(keys.as_flattened(), &mut answers);
            let mut streamed = Vec::new();
            insert(&mut stream, &keys, |answer| streamed.push(answer));
            assert_eq!(streamed, answers);
            assert_eq!(stream.memories(), slice.memories());
            let mut hits = vec![false; count];
            let others: Vec<[u64; 2]> = keys.iter().map(|[a, b]| [a * 3, *b]).collect();
            slice.contains_all(others.as_flattened(), &mut hits);
            assert!(count < CHUNK || hits.contains(&false));
            assert_eq!(contains(&stream, &others).collect::<Vec<_>>(), hits);
            assert_eq!(contains(&stream, &others).size_hint(), (count, Some(count)));
        }
    }

    #[test]
    #[should_panic(expected = "different lengths")]
    fn keys_of_different_lengths_are_refused() {
        let filter =
            TinySet::new(&Config { blocks: 2, chains: 8, array: 56, key_w: 64, ..Config::default() })
                .unwrap();
        contains(&filter, [vec![1], vec![2, 3]]).for_each(drop);
    }
}

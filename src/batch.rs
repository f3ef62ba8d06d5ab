//! Many keys at once: the memory reads of a group of keys overlap.
//!
//! A filter that can say where a key belongs before it looks there is [`Staged`]. Its keys
//! are then worked on in groups: all hashes first, then one read of each key's row, none of
//! which waits for another, and only then the work on rows that are on their way already.
//!
//! ```
//! use membrane::{Answer, Filter, tinyset::{Config, TinySet}};
//!
//! let config = Config { blocks: 1024, chains: 64, array: 448, key_w: 64, ..Config::default() };
//! let mut filter = TinySet::new(&config)?;
//! let keys: Vec<u64> = (0..1000).collect();
//! filter.insert_all(&keys, &mut [Answer::default(); 1000]);
//! let mut hits = [false; 1000];
//! filter.contains_all(&keys, &mut hits);
//! assert_eq!(hits, [true; 1000]);
//! # Ok::<(), membrane::ConfigError>(())
//! ```

use std::hint::black_box;

use crate::filter::{Answer, Filter};

/// Keys of a group: more reads than a core can have under way do not help.
const GROUP: usize = 32;

/// A filter whose operations can be split at the memory access.
pub trait Staged: Filter {
    /// Where a key belongs, and what the hash says of it.
    type Place: Copy + Default;

    /// Hashes a key.
    fn place(&self, key: &[u64]) -> Self::Place;

    /// Reads a word from the memory that the place is in.
    fn touch(&self, place: Self::Place) -> u64;

    /// Whether the key that belongs there may be present.
    fn contains_at(&self, key: &[u64], place: Self::Place) -> bool;

    /// Adds the key that belongs there.
    fn insert_at(&mut self, key: &[u64], place: Self::Place) -> Answer;
}

/// The keys that lie one after another in `words`.
///
/// # Panics
/// When the words cannot be shared out evenly.
pub fn split(words: &[u64], keys: usize) -> std::slice::ChunksExact<'_, u64> {
    let each = words.len() / keys.max(1);
    assert_eq!(each * keys, words.len(), "{} words are not {keys} keys of equal length", words.len());
    words.chunks_exact(each.max(1))
}

/// [`Filter::contains_all`] in groups.
pub fn contains_all<F: Staged>(filter: &F, keys: &[u64], hits: &mut [bool]) {
    let mut keys = split(keys, hits.len());
    for hits in hits.chunks_mut(GROUP) {
        let places = fetch(filter, keys.clone());
        for ((hit, key), place) in hits.iter_mut().zip(&mut keys).zip(places) {
            *hit = filter.contains_at(key, place);
        }
    }
}

/// [`Filter::insert_all`] in groups.
pub fn insert_all<F: Staged>(filter: &mut F, keys: &[u64], answers: &mut [Answer]) {
    let mut keys = split(keys, answers.len());
    for answers in answers.chunks_mut(GROUP) {
        let places = fetch(filter, keys.clone());
        for ((answer, key), place) in answers.iter_mut().zip(&mut keys).zip(places) {
            *answer = filter.insert_at(key, place);
        }
    }
}

/// Where the next keys belong, with a read of each place under way.
#[inline]
fn fetch<'a, F: Staged>(filter: &F, keys: impl Iterator<Item = &'a [u64]>) -> [F::Place; GROUP] {
    let mut places = [F::Place::default(); GROUP];
    let mut count = 0;
    for (place, key) in places.iter_mut().zip(keys) {
        *place = filter.place(key);
        count += 1;
    }
    // Reads whose sum is used somewhere are not left out.
    black_box(places[..count].iter().fold(0, |sum, place| sum ^ filter.touch(*place)));
    places
}

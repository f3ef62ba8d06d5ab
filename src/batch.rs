//! Many keys at once: the memory reads of a group of keys overlap.
//!
//! A filter that can say where a key belongs before it looks there is [`Staged`]. Its keys
//! are then worked on in groups: while the hashes of one group are computed, and the reads of
//! its rows begun, those of the group before arrive. The code is built for what the
//! processor has ([`cpu`](crate::cpu)).
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

use crate::{
    cpu::{Cpu, Level, Work},
    filter::Answer,
    hash,
};

/// Keys of a group: more reads than a core can have under way do not help.
pub const GROUP: usize = hash::GROUP;

/// Words of a memory that is far.
pub const FAR: usize = 1 << 15;

/// A filter whose queries can be split at the memory access. What is done on a level is
/// to be `#[inline(always)]`, as [`Work`] says.
pub trait Staged {
    /// Where a key belongs, and what the hash says of it.
    type Place: Copy + Default;

    /// Hashes a key.
    fn place(&self, key: &[u64]) -> Self::Place;

    /// Hashes a whole group of keys, of so many words each.
    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut [Self::Place; GROUP]) {
        let _ = level;
        for (place, key) in places.iter_mut().zip(keys.chunks_exact(each)) {
            *place = self.place(key);
        }
    }

    /// Whether the memory is larger than the caches that a core does not wait long for: to
    /// read ahead only pays then.
    fn is_far(&self) -> bool;

    /// Begins to read the memory that the place is in.
    fn prefetch(&self, place: &Self::Place);

    /// Whether the key that belongs there may be present.
    fn contains_at<L: Level>(&self, level: L, key: &[u64], place: &Self::Place) -> bool;
}

/// A filter whose inserts can be split as well.
pub trait StagedMut: Staged {
    /// Adds the key that belongs there.
    fn insert_at<L: Level>(&mut self, level: L, key: &[u64], place: &Self::Place) -> Answer;
}

/// The keys that lie one after another in `words`.
///
/// # Panics
/// When the words cannot be shared out evenly.
pub fn split(words: &[u64], keys: usize) -> std::slice::ChunksExact<'_, u64> {
    words.chunks_exact(words_each(words, keys))
}

/// Words of each of the keys that lie one after another in `words`.
///
/// # Panics
/// When the words cannot be shared out evenly.
pub fn words_each(words: &[u64], keys: usize) -> usize {
    let each = words.len() / keys.max(1);
    assert_eq!(each * keys, words.len(), "{} words are not {keys} keys of equal length", words.len());
    each.max(1)
}

/// [`Filter::contains`](crate::Filter::contains) by its stages.
#[inline]
pub fn contains<F: Staged>(filter: &F, cpu: Cpu, key: &[u64]) -> bool {
    struct Contains<'a, F>(&'a F, &'a [u64]);

    impl<F: Staged> Work for Contains<'_, F> {
        type Output = bool;

        #[inline(always)]
        fn run<L: Level>(self, level: L) -> bool {
            self.0.contains_at(level, self.1, &self.0.place(self.1))
        }
    }

    cpu.run(Contains(filter, key))
}

/// [`Filter::insert`](crate::Filter::insert) by its stages.
#[inline]
pub fn insert<F: StagedMut>(filter: &mut F, cpu: Cpu, key: &[u64]) -> Answer {
    struct Insert<'a, F>(&'a mut F, &'a [u64]);

    impl<F: StagedMut> Work for Insert<'_, F> {
        type Output = Answer;

        #[inline(always)]
        fn run<L: Level>(self, level: L) -> Answer {
            let place = self.0.place(self.1);
            self.0.insert_at(level, self.1, &place)
        }
    }

    cpu.run(Insert(filter, key))
}

/// [`Filter::contains_all`](crate::Filter::contains_all) in groups.
pub fn contains_all<F: Staged>(filter: &F, cpu: Cpu, keys: &[u64], hits: &mut [bool]) {
    struct ContainsAll<'a, F>(&'a F, &'a [u64], &'a mut [bool]);

    impl<F: Staged> ContainsAll<'_, F> {
        #[inline(always)]
        fn run(self, level: impl Level, each: usize) {
            let Self(filter, keys, hits) = self;
            let mut groups = Groups::new(keys, each);
            groups.fetch(level, filter);
            for hits in hits.chunks_mut(GROUP) {
                let (keys, places) = groups.next(level, filter);
                for ((hit, key), place) in hits.iter_mut().zip(keys.chunks_exact(each)).zip(places) {
                    *hit = filter.contains_at(level, key, place);
                }
            }
        }
    }

    impl<F: Staged> Work for ContainsAll<'_, F> {
        type Output = ();

        #[inline(always)]
        fn run<L: Level>(self, level: L) {
            // Most keys are one word, and code for them alone is faster.
            match words_each(self.1, self.2.len()) {
                1 => self.run(level, 1),
                each => self.run(level, each),
            }
        }
    }

    cpu.run(ContainsAll(filter, keys, hits));
}

/// [`Filter::insert_all`](crate::Filter::insert_all) in groups.
pub fn insert_all<F: StagedMut>(filter: &mut F, cpu: Cpu, keys: &[u64], answers: &mut [Answer]) {
    struct InsertAll<'a, F>(&'a mut F, &'a [u64], &'a mut [Answer]);

    impl<F: StagedMut> InsertAll<'_, F> {
        #[inline(always)]
        fn run(self, level: impl Level, each: usize) {
            let Self(filter, keys, answers) = self;
            let mut groups = Groups::new(keys, each);
            groups.fetch(level, filter);
            for answers in answers.chunks_mut(GROUP) {
                let (keys, places) = groups.next(level, filter);
                for ((answer, key), place) in answers.iter_mut().zip(keys.chunks_exact(each)).zip(places) {
                    *answer = filter.insert_at(level, key, place);
                }
            }
        }
    }

    impl<F: StagedMut> Work for InsertAll<'_, F> {
        type Output = ();

        #[inline(always)]
        fn run<L: Level>(self, level: L) {
            match words_each(self.1, self.2.len()) {
                1 => self.run(level, 1),
                each => self.run(level, each),
            }
        }
    }

    cpu.run(InsertAll(filter, keys, answers));
}

/// The places of one group after the other, fetched one group ahead.
struct Groups<'a, P> {
    /// From the group on that comes next.
    keys: &'a [u64],
    each: usize,
    /// Of that group, and of the one after it.
    places: [[P; GROUP]; 2],
    next: usize,
}

impl<'a, P: Copy + Default> Groups<'a, P> {
    #[inline(always)]
    fn new(keys: &'a [u64], each: usize) -> Self {
        Self { keys, each, places: [[P::default(); GROUP]; 2], next: 0 }
    }

    /// Hashes the first keys of all, and begins to read their places.
    #[inline(always)]
    fn fetch<F: Staged<Place = P>>(&mut self, level: impl Level, filter: &F) {
        let places = &mut self.places[self.next];
        let count = (self.keys.len() / self.each).min(GROUP);
        if count == GROUP {
            filter.places(level, &self.keys[..GROUP * self.each], self.each, places);
        } else {
            for (place, key) in places.iter_mut().zip(self.keys.chunks_exact(self.each)) {
                *place = filter.place(key);
            }
        }
        if filter.is_far() {
            for place in &places[..count] {
                filter.prefetch(place);
            }
        }
    }

    /// The next keys, and their places; those after them are fetched.
    #[inline(always)]
    fn next<F: Staged<Place = P>>(&mut self, level: impl Level, filter: &F) -> (&'a [u64], &[P; GROUP]) {
        let now = self.next;
        self.next = 1 - now;
        let (keys, rest) = self.keys.split_at(self.keys.len().min(GROUP * self.each));
        self.keys = rest;
        self.fetch(level, filter);
        (keys, &self.places[now])
    }
}

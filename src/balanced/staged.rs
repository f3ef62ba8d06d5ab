//! Many keys at once: what is known of a key before its blocks are read.

use std::borrow::Borrow;

use crate::{
    batch::{GROUP, Listed, NEAR, Places, Staged, StagedMut},
    cpu::{self, Cache, Distance, Level},
    filter::Answer,
};

use super::{Balanced, config::MAX_D};

/// D choices of at most 24 + 8 bits for the row, 64 * 17 for bits and 16 for the coin.
pub const MAX_HASH_WORDS: usize = MAX_D * (32 + 64 * 17 + 16) / 64;

/// Words of the hash of most filters.
pub const USUAL_HASH_WORDS: usize = 8;

/// Its hash, of at most `N` words, is all that is known of a key before its blocks are read.
pub struct Hashed<F, const N: usize>(pub F);

impl<F: Borrow<Balanced>, const N: usize> Staged for Hashed<F, N> {
    type Place = Hash<N>;
    type Places = Listed<Hash<N>>;
    type Room = ();

    #[inline(always)]
    fn place(&self, key: &[u64]) -> Hash<N> {
        let mut h = Hash::default();
        self.0.borrow().hash.hash_into(key, &mut h.0);
        h
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Listed<Hash<N>>) {
        let Some(packed) = self.0.borrow().groups.as_ref().filter(|_| L::FAST) else {
            for (i, key) in keys.chunks_exact(each).enumerate() {
                places.put(i, self.place(key));
            }
            return;
        };
        let mut words = [[0; GROUP]; USUAL_HASH_WORDS];
        packed.hash_group(level, keys, each, &mut words);
        for i in 0..GROUP {
            let mut hash = Hash::default();
            for (word, words) in hash.0.iter_mut().zip(&words) {
                *word = words[i];
            }
            places.put(i, hash);
        }
    }

    #[inline(always)]
    fn distance(&self) -> Distance {
        // So much is done for a key that the next group is far enough ahead.
        match Distance::of(self.0.borrow().levels.iter().map(|level| level.words().len()).sum(), NEAR) {
            Distance::Near => Distance::Near,
            _ => Distance::Far,
        }
    }

    /// The first choice: most requests need no other.
    #[inline(always)]
    fn prefetch(&self, h: &Hash<N>, into: Cache) {
        let choice = &self.0.borrow().choices[0];
        let memory = &self.0.borrow().levels[choice.level];
        let bit = choice.row.of(&h.0) * u64::from(memory.width());
        cpu::prefetch(memory.words(), (bit / 64) as usize, into);
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, _: L, key: &[u64], h: &Hash<N>) -> bool {
        self.0.borrow().plan_query(key, &h.0).hit
    }
}

impl<const N: usize> StagedMut for Hashed<&mut Balanced, N> {
    type Ready = ();

    #[inline(always)]
    fn insert_at<L: Level>(&mut self, _: L, key: &[u64], h: &Hash<N>) -> Answer {
        let plan = self.0.plan_insert(key, &h.0);
        self.0.commit(key, &h.0, &plan);
        plan.answer()
    }
}

/// A hash of at most `N` words.
#[derive(Clone, Copy)]
pub struct Hash<const N: usize>([u64; N]);

impl<const N: usize> Default for Hash<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

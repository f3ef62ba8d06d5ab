//! The overflow list of exact keys: what `membrane_cam` holds in registers.
//!
//! A list of `depth` keys that are all compared at once. It adds no false
//! positives, drops nothing and evicts nothing: when it is full it refuses.
//!
//! ```
//! use membrane::cam::{Cam, Inserted};
//!
//! let mut list = Cam::new(2, 64);
//! assert_eq!(list.insert(&[7]), Inserted::At(0));
//! assert_eq!(list.insert(&[8]), Inserted::At(1));
//! assert_eq!(list.insert(&[7]), Inserted::Present);
//! assert_eq!(list.insert(&[9]), Inserted::Full);
//! assert!(list.remove(&[7]));
//! assert_eq!(list.insert(&[9]), Inserted::At(0));
//! ```

/// What an insert did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// The key went to this entry, the lowest free one.
    At(usize),
    /// The key was there already; nothing changed.
    Present,
    /// The key is not there and no entry is free; nothing changed.
    Full,
}

/// Many keys are compared with so many entries in less time than they are looked for one by one.
const FEW: usize = 16;

/// A list of exact keys. See the module.
///
/// A depth of 0 is a list that is always full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cam {
    words: usize,
    top: u64,
    used: Vec<bool>,
    /// `words` words per entry.
    keys: Vec<u64>,
    level: usize,
    /// How many entries have each of so many short hashes (a power of two): most keys that are not in the list are known by it not to be.
    tally: Vec<u16>,
}

impl Cam {
    /// An empty list for `depth` keys of `key_w` bits.
    pub fn new(depth: usize, key_w: u32) -> Self {
        let words = key_w.div_ceil(64) as usize;
        Self {
            words,
            top: u64::MAX >> ((64 - key_w % 64) % 64),
            used: vec![false; depth],
            keys: vec![0; depth * words],
            level: 0,
            tally: vec![0; (32 * depth).next_power_of_two().min(1 << 12)],
        }
    }

    /// Which of the tallies counts a key.
    #[inline(always)]
    fn short(&self, key: &[u64]) -> usize {
        let sum = match &key[..self.words] {
            [only] => only & self.top,
            [low @ .., last] => low.iter().fold(last & self.top, |sum, word| sum.rotate_left(23) ^ word),
            [] => 0,
        };
        (sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize & (self.tally.len() - 1)
    }

    /// Entries in use.
    pub fn level(&self) -> usize {
        self.level
    }

    /// No entry is free.
    pub fn is_full(&self) -> bool {
        self.level == self.used.len()
    }

    /// The keys in the list, lowest entry first.
    pub fn keys(&self) -> impl Iterator<Item = &[u64]> {
        let entries = self.used.iter().zip(self.keys.chunks_exact(self.words));
        entries.filter(|(used, _)| **used).map(|(_, key)| key)
    }

    /// Whether the key is in the list.
    #[inline(always)]
    pub fn contains(&self, key: &[u64]) -> bool {
        self.find(key).is_some()
    }

    /// Whether each of some keys is in the list, 0 or 1.
    #[inline(always)]
    pub fn contain<'k, const K: usize>(&self, keys: impl Iterator<Item = &'k [u64]>) -> [u64; K] {
        let mut listed = [0; K];
        if self.level > 0 && self.words == 1 && self.level <= FEW {
            let mut words = [0; K];
            for (word, key) in words.iter_mut().zip(keys) {
                *word = key[0] & self.top;
            }
            for entry in self.keys() {
                for (listed, word) in listed.iter_mut().zip(&words) {
                    *listed |= u64::from(*word == entry[0]);
                }
            }
        } else if self.level > 0 {
            for (listed, key) in listed.iter_mut().zip(keys) {
                *listed = u64::from(self.contains(key));
            }
        }
        listed
    }

    /// The entry that holds the key. Key bits above `KEY_W` are ignored.
    #[inline(always)]
    fn find(&self, key: &[u64]) -> Option<usize> {
        if self.level == 0 || self.tally[self.short(key)] == 0 { None } else { self.search(key) }
    }

    #[inline(never)]
    fn search(&self, key: &[u64]) -> Option<usize> {
        let (last, low) = key[..self.words].split_last()?;
        let last = last & self.top;
        let mut entries = self.used.iter().zip(self.keys.chunks_exact(self.words));
        entries.position(|(used, entry)| *used && entry[self.words - 1] == last && entry[..low.len()] == *low)
    }

    /// Puts the key into the lowest free entry, unless it is there already.
    pub fn insert(&mut self, key: &[u64]) -> Inserted {
        if self.contains(key) {
            return Inserted::Present;
        }
        let Some(free) = self.used.iter().position(|used| !used) else {
            return Inserted::Full;
        };
        let entry = &mut self.keys[free * self.words..][..self.words];
        entry.copy_from_slice(&key[..self.words]);
        entry[self.words - 1] &= self.top;
        self.used[free] = true;
        let short = self.short(key);
        self.tally[short] += 1;
        self.level += 1;
        Inserted::At(free)
    }

    /// Takes the key out; false if it is not there.
    pub fn remove(&mut self, key: &[u64]) -> bool {
        let Some(entry) = self.find(key) else { return false };
        self.used[entry] = false;
        let short = self.short(key);
        self.tally[short] -= 1;
        self.level -= 1;
        true
    }

    /// Empties the list.
    pub fn clear(&mut self) {
        self.used.fill(false);
        self.tally.fill(0);
        self.level = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{SplitMix64, splitmix64};

    #[test]
    fn the_lowest_free_entry_is_taken() {
        let mut list = Cam::new(4, 16);
        for key in 10..14 {
            assert_eq!(list.insert(&[key]), Inserted::At(key as usize - 10));
        }
        assert!(list.is_full());
        assert!(list.remove(&[13]) && list.remove(&[11]) && !list.remove(&[11]));
        assert_eq!(list.insert(&[20]), Inserted::At(1));
        assert_eq!(list.keys().map(|key| key[0]).collect::<Vec<_>>(), [10, 20, 12]);
        list.clear();
        assert_eq!((list.level(), list.contains(&[10])), (0, false));
    }

    #[test]
    fn bits_above_the_key_do_not_count_and_all_others_do() {
        for key_w in [1u32, 7, 64, 65, 200] {
            let words = key_w.div_ceil(64) as usize;
            let mut list = Cam::new(2, key_w);
            let zeros = vec![0; words];
            list.insert(&zeros);
            for bit in 0..words * 64 {
                let mut key = zeros.clone();
                key[bit / 64] = 1 << (bit % 64);
                assert_eq!(list.contains(&key), bit >= key_w as usize, "bit {bit} of {key_w}");
            }
        }
    }

    /// Keys that share a tally, too: what is told by it is what a search would find.
    #[test]
    fn keys_come_and_go_as_in_a_set() {
        for (key_w, depth) in [(16, 3), (16, 200), (100, 200)] {
            let (mut rng, mut list) = (SplitMix64::new(3), Cam::new(depth, key_w));
            let mut set = std::collections::BTreeSet::new();
            let (mut shared, words) = (0, key_w.div_ceil(64) as usize);
            for _ in 0..20_000 {
                let mut key = vec![splitmix64(9, rng.below(2 * depth as u64)); words];
                key[words - 1] &= list.top;
                assert_eq!(list.contains(&key), set.contains(&key));
                let also = vec![splitmix64(9, rng.below(2 * depth as u64)); words];
                let keys = [&key, &also].map(|key| u64::from(list.contains(key)));
                assert_eq!(list.contain([&key[..], &also].into_iter()), keys);
                if rng.chance(500) {
                    assert_eq!(list.remove(&key), set.remove(&key));
                } else if list.insert(&key) != Inserted::Full {
                    set.insert(key.clone());
                }
                shared += usize::from(list.tally[list.short(&key)] > 1);
                assert_eq!(list.level(), set.len());
            }
            assert!(shared > 100 || depth == 3, "{shared} keys shared a tally");
        }
    }

    #[test]
    fn a_list_of_depth_0_refuses() {
        let mut list = Cam::new(0, 64);
        assert_eq!(list.contain([&[1][..]].into_iter()), [0]);
        assert_eq!(list.insert(&[1]), Inserted::Full);
        assert!(list.is_full() && !list.contains(&[1]) && !list.remove(&[1]));
    }
}

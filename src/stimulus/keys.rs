//! Where the keys of a phase come from.

use crate::hash::{Field, H3, Mix, SplitMix64};

/// How a phase picks its keys.
#[derive(Clone, Copy, Debug)]
pub enum KeyMix {
    /// Any key.
    Uniform,
    /// One of this many keys that are drawn anew now and then: queries find what
    /// inserts left.
    Pool(usize),
    /// One after the other, from a random start, with a stride of 2^n.
    Sequence(u32),
    /// Keys of one memory row: requests that get in each other's way.
    Home,
    /// Zeros, ones, and single bits.
    Corners,
    /// Keys of a few memory rows that stay the same from phase to phase: 2^`vectors` keys
    /// (at most) of each of `rows` rows. They fill up.
    Crowd {
        /// How many keys.
        vectors: usize,
        /// How many rows.
        rows: u64,
    },
}

impl KeyMix {
    pub fn random(rng: &mut SplitMix64) -> Self {
        match rng.below(10) {
            0 | 1 => Self::Uniform,
            2 => Self::Pool(2),
            3 => Self::Pool(16),
            4 | 5 => Self::Pool(POOL),
            6 => Self::Sequence(rng.below(24) as u32),
            7 | 8 => Self::Home,
            _ => Self::Corners,
        }
    }
}

const POOL: usize = 512;
/// Rows of [`KeyMix::Crowd`].
pub const CROWD: u64 = 8;

/// Keys of one core.
pub struct Keys {
    key_w: u32,
    words: usize,
    top: u64,
    mix: Mix,
    kernel: Vec<Vec<u64>>,
    pool: Vec<Vec<u64>>,
    /// A mixed key of the row of [`KeyMix::Home`].
    base: Vec<u64>,
    next: u64,
    noise: Vec<u64>,
    /// A mixed key of each row of [`KeyMix::Crowd`], and what its others differ by.
    crowd: Vec<Vec<u64>>,
    crowd_kernel: Vec<Vec<u64>>,
}

impl Keys {
    pub fn new(key_w: u32, hash: &H3, home: Field, rng: &mut SplitMix64) -> Self {
        let words = key_w.div_ceil(64) as usize;
        let mut keys = Self {
            key_w,
            words,
            top: u64::MAX >> ((64 - key_w % 64) % 64),
            mix: hash.mix(),
            kernel: hash.kernel(home.lsb, home.width),
            pool: Vec::new(),
            base: vec![0; words],
            next: 0,
            noise: vec![0; words],
            crowd: Vec::new(),
            crowd_kernel: Vec::new(),
        };
        keys.pool = (0..POOL).map(|_| keys.uniform(rng)).collect();
        keys.renew(rng);
        keys
    }

    pub fn key_w(&self) -> u32 {
        self.key_w
    }

    /// Another row for [`KeyMix::Home`], another start for [`KeyMix::Sequence`], and
    /// some new keys in the pool.
    pub fn renew(&mut self, rng: &mut SplitMix64) {
        self.base = self.uniform(rng);
        self.next = rng.next_u64();
        for _ in 0..POOL / 16 {
            let slot = rng.below(POOL as u64) as usize;
            self.pool[slot] = self.uniform(rng);
        }
    }

    /// Other rows for [`KeyMix::Crowd`]. Half of the time its keys also agree in some hash
    /// bits behind the row's: what a core makes of these, they have it in common.
    pub fn renew_crowd(&mut self, hash: &H3, home: Field, rng: &mut SplitMix64) {
        self.crowd = (0..CROWD).map(|_| self.uniform(rng)).collect();
        let spare = (hash.bits() - home.end()).min(64 - home.width);
        let agree = if rng.chance(500) { rng.below(u64::from(spare) + 1) as u32 } else { 0 };
        self.crowd_kernel = hash.kernel(home.lsb, home.width + agree);
    }

    pub fn pick(&mut self, mix: KeyMix, rng: &mut SplitMix64, key: &mut [u64]) {
        match mix {
            KeyMix::Uniform => {
                key.fill_with(|| rng.next_u64());
                key[self.words - 1] &= self.top;
            }
            KeyMix::Pool(size) => key.copy_from_slice(&self.pool[rng.below(size as u64) as usize]),
            KeyMix::Sequence(shift) => {
                self.next = self.next.wrapping_add(1 << shift);
                key.fill(0);
                key[0] = self.next;
                key[self.words - 1] &= self.top;
            }
            KeyMix::Home => self.home_into(rng, key),
            KeyMix::Crowd { vectors, rows } => {
                key.copy_from_slice(&self.crowd[rng.below(rows) as usize]);
                for vector in self.crowd_kernel.iter().take(vectors) {
                    add_by_chance(key, vector, rng);
                }
                self.mix.undo(key);
            }
            KeyMix::Corners => {
                let corner = rng.below(u64::from(self.key_w) + 2) as u32;
                self.corner_into(corner, key);
            }
        }
    }

    pub fn uniform(&self, rng: &mut SplitMix64) -> Vec<u64> {
        let mut key: Vec<u64> = (0..self.words).map(|_| rng.next_u64()).collect();
        key[self.words - 1] &= self.top;
        key
    }

    /// A key of the row that all keys from here have until [`Keys::renew`].
    pub fn home(&self, rng: &mut SplitMix64) -> Vec<u64> {
        let mut key = vec![0; self.words];
        self.home_into(rng, &mut key);
        key
    }

    fn home_into(&self, rng: &mut SplitMix64, key: &mut [u64]) {
        key.copy_from_slice(&self.base);
        // A handful of different keys, so that some of them repeat.
        for vector in self.kernel.iter().take(4) {
            add_by_chance(key, vector, rng);
        }
        self.mix.undo(key);
    }

    /// Corner `i` of `KEY_W` + 2: a single bit, zeros, or ones.
    pub fn corner(&self, i: u32) -> Vec<u64> {
        let mut key = vec![0; self.words];
        self.corner_into(i, &mut key);
        key
    }

    fn corner_into(&self, i: u32, key: &mut [u64]) {
        key.fill(0);
        if i < self.key_w {
            key[(i / 64) as usize] = 1 << (i % 64);
        } else if i > self.key_w {
            key.fill(u64::MAX);
            key[self.words - 1] = self.top;
        }
    }

    /// Noise for the key pins, cheap.
    pub fn noise(&mut self, noise: u64) -> &[u64] {
        for (i, word) in (0..).zip(&mut self.noise) {
            *word = noise.rotate_left(i);
        }
        self.noise[self.words - 1] &= self.top;
        &self.noise
    }
}

/// Adds a vector to a key, or not. A branch would be guessed wrong half of the time.
fn add_by_chance(key: &mut [u64], vector: &[u64], rng: &mut SplitMix64) {
    let mask = u64::from(rng.chance(500)).wrapping_neg();
    for (key, bits) in key.iter_mut().zip(vector) {
        *key ^= bits & mask;
    }
}

//! Mixing of the key before H3: what makes the hash of a core nonlinear.
//!
//! H3 alone is linear, and keys in a row (addresses, counters) make that seen. A few
//! rounds of a Feistel network in front of it end that: each is one level of look-up
//! tables in hardware and a few instructions in software, and every round can be undone,
//! so that different keys stay different. With the key in two halves, `low` (the wider
//! one where `KEY_W` is odd) and `high`, round `i` is
//!
//! ```text
//! i even:  high ^= f(low)      f(x) = (rotl(x, 1) & rotl(x, 8)) ^ rotl(x, 2)
//! i odd:   low  ^= f(high)
//! ```
//!
//! with `f` cut or filled up with zeros to the other half's width. `f` is the round
//! function of the published block cipher SIMON, chosen for its size in hardware. This is
//! no cipher: it has no key, and few rounds.

use super::extract;

/// Rounds of mixing for keys of `KEY_W` bits; none by default.
///
/// ```
/// use membrane::hash::Mix;
/// let mix = Mix::new(48, 4);
/// let mut key = [0x1234_5678_9abc];
/// mix.apply(&mut key);
/// assert_ne!(key, [0x1234_5678_9abc]);
/// mix.undo(&mut key);
/// assert_eq!(key, [0x1234_5678_9abc]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    key_w: u32,
    rounds: u32,
}

/// Keys of up to this many bits can be mixed.
const WIDEST: usize = 1024;

impl Mix {
    /// `rounds` rounds for keys of `key_w` bits.
    ///
    /// # Panics
    /// When there are rounds, and the key is wider than 1024 bits or narrower than 20: its
    /// halves would be too short for rotations by 1, 2 and 8 to be different.
    pub fn new(key_w: u32, rounds: u32) -> Self {
        assert!(rounds == 0 || (20..=WIDEST as u32).contains(&key_w), "keys of {key_w} bits cannot be mixed");
        Self { key_w, rounds }
    }

    /// Number of rounds.
    #[inline]
    pub fn rounds(self) -> u32 {
        self.rounds
    }

    /// Mixes `key` in place. Bits above `KEY_W` are cleared.
    pub fn apply(self, key: &mut [u64]) {
        self.network(key, 0..self.rounds);
    }

    /// [`Mix::apply`] for many keys of one word: side by side, where the processor has vectors.
    #[inline(always)]
    pub fn apply_to_words<const N: usize>(self, keys: &mut [u64; N]) {
        if self.rounds == 0 {
            return;
        }
        let (low_w, high_w) = (self.low_w(), self.high_w());
        let mask = |width: u32| u64::MAX >> (64 - width);
        let mut low = keys.map(|key| key & mask(low_w));
        let mut high = keys.map(|key| key >> low_w & mask(high_w));
        // The narrower half cuts what is added to the other one, or comes out of it.
        let narrow = mask(high_w);
        let add = |from: &[u64; N], width: u32, to: &mut [u64; N]| {
            for (to, x) in to.iter_mut().zip(from) {
                let rotated = |by: u32| x << by | x >> (width - by);
                *to ^= (rotated(1) & rotated(8) ^ rotated(2)) & narrow;
            }
        };
        for round in 0..self.rounds {
            if round % 2 == 0 {
                add(&low, low_w, &mut high);
            } else {
                add(&high, high_w, &mut low);
            }
        }
        for (key, (low, high)) in keys.iter_mut().zip(low.into_iter().zip(high)) {
            *key = low | high << low_w;
        }
    }

    /// Undoes [`Mix::apply`].
    pub fn undo(self, key: &mut [u64]) {
        self.network(key, (0..self.rounds).rev());
    }

    /// Calls `f` with the mixed `key`, or with the key itself when there is nothing to do.
    #[inline(always)]
    pub(super) fn with<R>(self, key: &[u64], f: impl FnOnce(&[u64]) -> R) -> R {
        // One call of `f`, so that it can become part of its caller.
        let mixed;
        f(if self.rounds == 0 {
            key
        } else {
            mixed = self.mixed(key);
            &mixed
        })
    }

    #[inline(never)]
    fn mixed(self, key: &[u64]) -> [u64; WIDEST / 64] {
        let mut mixed = [0; WIDEST / 64];
        let words = self.key_w.div_ceil(64) as usize;
        mixed[..words].copy_from_slice(&key[..words]);
        self.apply(&mut mixed[..words]);
        mixed
    }

    fn network(self, key: &mut [u64], rounds: impl Iterator<Item = u32>) {
        if self.rounds == 0 {
            return;
        }
        match self.low_w().div_ceil(64) {
            1 => self.halves::<1>(key, rounds),
            2 => self.halves::<2>(key, rounds),
            3..=4 => self.halves::<4>(key, rounds),
            _ => self.halves::<8>(key, rounds),
        }
    }

    fn low_w(self) -> u32 {
        self.key_w - self.high_w()
    }

    fn high_w(self) -> u32 {
        self.key_w / 2
    }

    /// The number of words of a half known at compile time lets them stay in registers.
    fn halves<const N: usize>(self, key: &mut [u64], rounds: impl Iterator<Item = u32>) {
        let mut low = Half::<N>::cut(key, 0, self.low_w());
        let mut high = Half::<N>::cut(key, self.low_w(), self.high_w());
        for round in rounds {
            if round % 2 == 0 {
                high.add(low.f());
            } else {
                low.add(high.f());
            }
        }
        key.fill(0);
        low.paste(key, 0);
        high.paste(key, self.low_w());
    }
}

/// Half a key: `width` bits, those above are 0.
#[derive(Clone, Copy)]
struct Half<const N: usize> {
    words: [u64; N],
    width: u32,
}

impl<const N: usize> Half<N> {
    #[inline]
    fn cut(key: &[u64], lsb: u32, width: u32) -> Self {
        let word = |w: usize| {
            let from = 64 * w as u32;
            extract(key, lsb + from.min(width), width.saturating_sub(from).min(64))
        };
        Self { words: std::array::from_fn(word), width }
    }

    #[inline]
    fn paste(self, key: &mut [u64], lsb: u32) {
        let (word, shift) = ((lsb / 64) as usize, lsb % 64);
        for (w, bits) in self.words.into_iter().enumerate() {
            // What does not fit is 0, and may have no place.
            if let Some(place) = key.get_mut(word + w) {
                *place |= bits << shift;
            }
            if let Some(place) = key.get_mut(word + w + 1) {
                *place |= bits.unbounded_shr(64 - shift);
            }
        }
    }

    /// Rotation to the left by 1 to 63, and by less than the width.
    #[inline]
    fn rotated(self, by: u32) -> [u64; N] {
        // The top bits come around, from one word or from two.
        let (word, shift) = (((self.width - by) / 64) as usize, (self.width - by) % 64);
        let at = |w: usize| self.words.get(w).copied().unwrap_or(0);
        let around = (at(word) >> shift) | at(word + 1).unbounded_shl(64 - shift);
        std::array::from_fn(|w| {
            let below = if w == 0 { around } else { self.words[w - 1] >> (64 - by) };
            self.words[w] << by | below
        })
    }

    #[inline]
    fn f(self) -> [u64; N] {
        let (one, two, eight) = (self.rotated(1), self.rotated(2), self.rotated(8));
        std::array::from_fn(|w| ((one[w] & eight[w]) ^ two[w]) & self.mask(w))
    }

    #[inline]
    fn add(&mut self, bits: [u64; N]) {
        self.words = std::array::from_fn(|w| self.words[w] ^ (bits[w] & self.mask(w)));
    }

    /// The bits of word `w` that are within the width.
    #[inline]
    fn mask(self, w: usize) -> u64 {
        u64::MAX.unbounded_shr((64 * (w as u32 + 1)).saturating_sub(self.width))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::SplitMix64, *};

    /// Straight from the definition, a bit at a time.
    fn by_definition(key: &[u64], key_w: usize, rounds: u32) -> Vec<u64> {
        let mut bits: Vec<u64> = (0..key_w).map(|i| key[i / 64] >> (i % 64) & 1).collect();
        let (low, high) = bits.split_at_mut(key_w - key_w / 2);
        for round in 0..rounds {
            let (from, to) = if round % 2 == 0 { (&*low, &mut *high) } else { (&*high, &mut *low) };
            let rotl = |i: usize, by: usize| from[(i + from.len() - by) % from.len()];
            for (i, bit) in to.iter_mut().enumerate().take(from.len()) {
                *bit ^= (rotl(i, 1) & rotl(i, 8)) ^ rotl(i, 2);
            }
        }
        let mut mixed = vec![0; key.len()];
        for (i, bit) in bits.iter().enumerate() {
            mixed[i / 64] |= bit << (i % 64);
        }
        mixed
    }

    #[test]
    fn follows_the_definition_and_can_be_undone() {
        let mut rng = SplitMix64::new(5);
        let widths: [u32; 20] =
            [20, 21, 32, 48, 63, 64, 65, 104, 127, 128, 129, 200, 255, 256, 257, 296, 511, 512, 1023, 1024];
        for key_w in widths {
            for rounds in [0, 1, 2, 5, 16] {
                let top = u64::MAX >> ((64 - key_w % 64) % 64);
                let mut key: Vec<u64> = (0..key_w.div_ceil(64)).map(|_| rng.next_u64()).collect();
                let mut mixed = key.clone();
                let mix = Mix::new(key_w, rounds);
                mix.apply(&mut mixed);
                *key.last_mut().unwrap() &= top;
                *mixed.last_mut().unwrap() &= top;
                assert_eq!(
                    mixed,
                    by_definition(&key, key_w as usize, rounds),
                    "KEY_W {key_w}, {rounds} rounds"
                );
                if let &[word] = &key[..] {
                    // Bits above the key are those of other pins.
                    let mut words = [word, word | !top, !word];
                    mix.apply_to_words(&mut words);
                    let mut other = [!word];
                    mix.apply(&mut other);
                    assert_eq!(words.map(|word| word & top), [mixed[0], mixed[0], other[0] & top]);
                }
                mix.undo(&mut mixed);
                assert_eq!(mixed, key);
            }
        }
    }

    #[test]
    #[should_panic(expected = "keys of 19 bits cannot be mixed")]
    fn narrow_keys_are_refused() {
        Mix::new(19, 1);
    }
}

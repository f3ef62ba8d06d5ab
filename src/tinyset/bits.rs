//! Bit strings in words: the few operations that blocks are made of.
//!
//! They work on arrays of any number of words, without branches that depend on the bits:
//! where a block has its chains is as good as random, and a branch on it is guessed wrong
//! half of the time.

use crate::cpu::{Level, Portable};
pub use crate::hash::extract;

/// A block of any shape, bit 0 first.
pub type Words = [u64; 12];

/// The lowest `n` bits set (`n` at most 64).
#[inline(always)]
pub fn low(n: u32) -> u64 {
    u64::MAX.unbounded_shr(64 - n)
}

/// 64 bits from `lsb` on; those beyond the end of the words mean nothing.
#[inline(always)]
pub fn window<const N: usize>(words: &[u64; N], lsb: u32) -> u64 {
    let (word, shift) = ((lsb / 64) as usize, lsb % 64);
    // Around the end where it may be: no branch, and no check.
    words[word % N] >> shift | words[(word + 1) % N] << 1 << (63 - shift)
}

/// ORs `width` bits of `value` in at `lsb`.
#[inline(always)]
pub fn put<const N: usize>(words: &mut [u64; N], lsb: u32, width: u32, value: u64) {
    append(words, lsb, value & low(width));
}

/// ORs `value` in at `lsb`; nothing of it may lie beyond the end.
#[inline(always)]
pub fn append<const N: usize>(words: &mut [u64; N], lsb: u32, value: u64) {
    let (word, shift) = ((lsb / 64) as usize, lsb % 64);
    words[word % N] |= value << shift;
    words[(word + 1) % N] |= value >> 1 >> (63 - shift);
}

/// ORs `len` bits of `from` at `from_lsb` into `to` at `to_lsb`.
#[inline]
pub fn copy<const N: usize>(from: &[u64; N], from_lsb: u32, to: &mut [u64; N], to_lsb: u32, len: u32) {
    for done in (0..len).step_by(64) {
        put(to, to_lsb + done, (len - done).min(64), window(from, from_lsb + done));
    }
}

/// How many bits are set in each byte and all bytes below it.
#[inline(always)]
fn sums(word: u64) -> u64 {
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(BYTES)
}

/// One in every byte.
const BYTES: u64 = 0x0101_0101_0101_0101;

/// `SELECT[n][byte]`: position of set bit number `n` of a byte.
static SELECT: [[u8; 256]; 8] = select_table();

const fn select_table() -> [[u8; 256]; 8] {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut n, mut bit) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[n][byte] = bit;
                n += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}

/// A word in which set bits are looked for by their number.
#[derive(Clone, Copy)]
pub struct Ranked {
    word: u64,
    sums: u64,
}

impl Ranked {
    /// Counts the bits of a word.
    #[inline(always)]
    pub fn new(word: u64) -> Self {
        Self { word, sums: sums(word) }
    }

    /// Set bits.
    #[inline(always)]
    pub fn ones<L: Level>(self, _: L) -> u32 {
        if L::FAST { self.word.count_ones() } else { (self.sums >> 56) as u32 }
    }

    /// Position after set bit number `n - 1`: 0 for `n` = 0. There must be `n` set bits.
    #[inline(always)]
    pub fn after<L: Level>(self, level: L, n: u32) -> u32 {
        64 - self.above(level, n)
    }

    /// The same, counted from the top: 64 for `n` = 0.
    #[inline(always)]
    pub fn above<L: Level>(self, level: L, n: u32) -> u32 {
        if L::FAST {
            // All bits up to that one, and none for 0.
            level.deposit(level.low(n), self.word).leading_zeros()
        } else {
            64 - self.after_by_bytes(n)
        }
    }

    #[inline]
    fn after_by_bytes(self, n: u32) -> u32 {
        let before = u64::from(n).saturating_sub(1);
        // Bytes that end before that bit have their top bit set here.
        let tops = BYTES << 7;
        let ended = (((before * BYTES) | tops) - self.sums) & tops;
        // At most seven, but for a word without any set bit.
        let base = ((ended >> 7).wrapping_mul(BYTES) >> 56) as u32 % 8 * 8;
        let in_byte = before - ((self.sums << 8) >> base & 0xff);
        let position = SELECT[(in_byte & 7) as usize][(self.word >> base & 0xff) as usize];
        if n == 0 { 0 } else { base + u32::from(position) + 1 }
    }
}

/// Position after set bit number `n - 1` of the bits from `lsb` on: 0 for `n` = 0.
/// There must be `n` set bits.
#[inline]
pub fn select<const N: usize>(words: &[u64; N], lsb: u32, mut n: u32) -> u32 {
    let mut position = 0;
    loop {
        let word = Ranked::new(window(words, lsb + position));
        if n <= word.ones(Portable) {
            return position + word.after(Portable, n);
        }
        n -= word.ones(Portable);
        position += 64;
    }
}

/// Set bits among the `len` bits from `lsb` on.
pub fn count_ones<const N: usize>(words: &[u64; N], lsb: u32, len: u32) -> u32 {
    let ones = |done: u32| (window(words, lsb + done) & low((len - done).min(64))).count_ones();
    (0..len).step_by(64).map(ones).sum()
}

/// Fields of one width side by side in a word.
#[derive(Clone, Copy)]
pub struct Fields {
    /// How many there is room for.
    pub count: u32,
    /// The lowest bit of each.
    pub lowest: u64,
    /// By step: the fields that it moves, those whose number has that bit. After all
    /// steps field i is i places lower.
    moved: [u64; 5],
}

/// By width, from 1 bit on.
static FIELDS: [Fields; Fields::MAX_WIDTH as usize + 1] = Fields::table();

impl Fields {
    /// The widest fields that there are.
    pub const MAX_WIDTH: u32 = 32;

    const fn table() -> [Self; Self::MAX_WIDTH as usize + 1] {
        let mut table = [Self { count: 0, lowest: 0, moved: [0; 5] }; Self::MAX_WIDTH as usize + 1];
        let mut width = 1;
        while width <= Self::MAX_WIDTH {
            let fields = &mut table[width as usize];
            fields.count = 64 / width;
            let mut i = 0;
            while i < fields.count {
                fields.lowest |= 1 << (i * width);
                let mut step = 0;
                while step < 5 {
                    if i >> step & 1 == 1 {
                        // Steps before this one have moved it by the lower bits of i.
                        let at = i * width - i % (1 << step);
                        fields.moved[step] |= ((1 << (width - 1)) - 1) << at;
                    }
                    step += 1;
                }
                i += 1;
            }
            width += 1;
        }
        table
    }

    /// Fields of `width` bits, at most 32.
    #[inline]
    pub const fn of(width: u32) -> &'static Self {
        &FIELDS[width as usize]
    }

    /// Cuts the top bit of every field, and closes the gaps.
    #[inline]
    pub fn cut(&self, width: u32, word: u64) -> u64 {
        let step = |word: u64, n: usize| word & !self.moved[n] | (word & self.moved[n]) >> (1 << n);
        let word = word & !(self.lowest << (width - 1));
        let word = step(step(step(word, 0), 1), 2);
        // With eight fields or fewer all are in their places.
        if width >= 8 { word } else { step(step(word, 3), 4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix64;

    #[test]
    fn select_finds_every_set_bit() {
        let mut rng = SplitMix64::new(5);
        for lsb in [0, 7, 64, 80] {
            for sparse in [0, u64::MAX] {
                let words: Words = std::array::from_fn(|_| rng.next_u64() & (rng.next_u64() | sparse));
                let set = (lsb..768).filter(|&i| extract(&words, i, 1) == 1);
                assert_eq!(select(&words, lsb, 0), 0);
                assert_eq!(count_ones(&words, lsb, 768 - lsb) as usize, set.clone().count());
                assert_eq!(
                    count_ones(&words, lsb, 70) as usize,
                    set.clone().filter(|i| i - lsb < 70).count()
                );
                for (n, position) in (1..).zip(set) {
                    assert_eq!(select(&words, lsb, n), position - lsb + 1);
                }
            }
        }
        assert_eq!(Ranked::new(u64::MAX).ones(Portable), 64);
        assert_eq!(Ranked::new(u64::MAX).after(Portable, 64), 64);
        assert_eq!(Ranked::new(0).after(Portable, 0), 0);
    }

    #[test]
    fn copies_of_any_length_and_shift() {
        let mut rng = SplitMix64::new(6);
        let from: Words = std::array::from_fn(|_| rng.next_u64());
        for _ in 0..2000 {
            let len = rng.below(300) as u32;
            let (a, b) = (rng.below(469) as u32, rng.below(469) as u32);
            let mut to: Words = [0; 12];
            copy(&from, a, &mut to, b, len);
            for i in 0..768 {
                let expected = if i >= b && i < b + len { extract(&from, i - b + a, 1) } else { 0 };
                assert_eq!(extract(&to, i, 1), expected);
            }
        }
    }

    #[test]
    fn fields_lose_their_top_bits() {
        let mut rng = SplitMix64::new(7);
        for width in 1..=Fields::MAX_WIDTH {
            let fields = Fields::of(width);
            for _ in 0..100 {
                let word = rng.next_u64() & low(fields.count * width);
                let expected = (0..fields.count).fold(0, |sum, i| {
                    sum | extract(&[word], i * width, width - 1).unbounded_shl(i * (width - 1))
                });
                assert_eq!(fields.cut(width, word), expected, "{word:#x} in fields of {width}");
            }
        }
    }
}

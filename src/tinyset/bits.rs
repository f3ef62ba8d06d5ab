//! Bit strings in words: the few operations that blocks are made of.

pub use crate::hash::extract;

/// A block, bit 0 first, with room to read a word beyond its end.
pub type Words = [u64; 12];

/// Bits that a block may have.
pub const MAX_BLOCK_W: u32 = 64 * 11;

/// The lowest `n` bits set (`n` at most 64).
#[inline]
pub fn low(n: u32) -> u64 {
    if n == 0 { 0 } else { u64::MAX >> (64 - n) }
}

/// ORs `width` bits of `value` in at `lsb`.
#[inline]
pub fn put(words: &mut Words, lsb: u32, width: u32, value: u64) {
    let value = value & low(width);
    let (word, shift) = ((lsb / 64) as usize, lsb % 64);
    words[word] |= value << shift;
    if shift + width > 64 {
        words[word + 1] |= value >> (64 - shift);
    }
}

/// ORs `len` bits of `from` at `from_lsb` into `to` at `to_lsb`.
#[inline]
pub fn copy(from: &Words, mut from_lsb: u32, to: &mut Words, mut to_lsb: u32, mut len: u32) {
    while len > 0 {
        let step = len.min(64);
        put(to, to_lsb, step, extract(from, from_lsb, step));
        from_lsb += step;
        to_lsb += step;
        len -= step;
    }
}

/// Position of set bit number `n` (from 0) of a word that has more than `n`.
#[inline]
pub fn select_in_word(word: u64, n: u32) -> u32 {
    let (mut word, mut n, mut position) = (word, n, 0);
    for half in [32, 16, 8, 4, 2, 1] {
        let below = (word & low(half)).count_ones();
        if n >= below {
            n -= below;
            position += half;
            word >>= half;
        }
    }
    position
}

/// Position after set bit number `n - 1` of the bits from `lsb` on: 0 for `n` = 0.
/// There must be `n` set bits before `end`.
#[inline]
pub fn select(words: &Words, lsb: u32, end: u32, mut n: u32) -> u32 {
    if n == 0 {
        return 0;
    }
    let mut position = 0;
    while lsb + position < end {
        let word = extract(words, lsb + position, 64);
        let ones = word.count_ones();
        if n <= ones {
            return position + select_in_word(word, n - 1) + 1;
        }
        n -= ones;
        position += 64;
    }
    position
}

/// Set bits from `lsb` to before `end`.
pub fn count_ones(words: &Words, mut lsb: u32, end: u32) -> u32 {
    let mut ones = 0;
    while lsb < end {
        let step = (end - lsb).min(64);
        ones += extract(words, lsb, step).count_ones();
        lsb += step;
    }
    ones
}

/// Position of the first set bit from `lsb` on; `end` if there is none before it.
#[inline]
pub fn next_one(words: &Words, mut lsb: u32, end: u32) -> u32 {
    while lsb < end {
        let word = extract(words, lsb, 64);
        if word != 0 {
            return lsb + word.trailing_zeros();
        }
        lsb += 64;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix64;

    #[test]
    fn select_finds_every_set_bit() {
        let mut rng = SplitMix64::new(5);
        for lsb in [0, 7, 64, 80] {
            let mut words: Words = [0; 12];
            words[..11].fill_with(|| rng.next_u64() & rng.next_u64());
            let set: Vec<u32> = (lsb..704).filter(|&i| extract(&words, i, 1) == 1).map(|i| i - lsb).collect();
            assert_eq!(select(&words, lsb, 704, 0), 0);
            assert_eq!(count_ones(&words, lsb, 704), set.len() as u32);
            for (n, position) in (1..).zip(&set) {
                assert_eq!(select(&words, lsb, 704, n), position + 1);
                assert_eq!(next_one(&words, lsb + position, 704), lsb + position);
                let next = set.get(n as usize).map_or(704, |next| lsb + next);
                assert_eq!(next_one(&words, lsb + position + 1, 704), next);
            }
        }
    }

    #[test]
    fn copies_of_any_length_and_shift() {
        let mut rng = SplitMix64::new(6);
        let mut from: Words = [0; 12];
        from[..11].fill_with(|| rng.next_u64());
        for _ in 0..2000 {
            let len = rng.below(300) as u32;
            let (a, b) = (rng.below(400) as u32, rng.below(400) as u32);
            let mut to: Words = [0; 12];
            copy(&from, a, &mut to, b, len);
            for i in 0..704 {
                let expected = if i >= b && i < b + len { extract(&from, i - b + a, 1) } else { 0 };
                assert_eq!(extract(&to, i, 1), expected);
            }
        }
    }
}

//! Rows of bits in words, bit 0 lowest in the first: what every processor can do with them.

use super::{
    Level,
    kept::{Filled, Kept},
};

/// Words with one bit set in each.
#[inline(always)]
pub fn one_of_64(bits: u64) -> [u64; 8] {
    let mut row = [0; 8];
    for (i, word) in row.iter_mut().enumerate() {
        *word = 1 << (bits >> (6 * i) & 63);
    }
    row
}

/// The numbers of [`Level::some_of_512`] in 9 bits each.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub fn in_nines<L: Level>(level: L, bits: u64) -> u64 {
    const ODD: u64 = 0x0040_2010_0804_0201;
    level.deposit(bits, !ODD << 1 >> 1) | level.deposit(bits >> 56, ODD)
}

/// Whether a row has all bits of a mask.
#[inline(always)]
pub fn has<const N: usize>(row: &[u64; N], mask: &[u64; N]) -> bool {
    let mut missing = 0;
    for i in 0..N {
        missing |= mask[i] & !row[i];
    }
    missing == 0
}

/// Sets bits. Whether all of them were set before.
#[inline(always)]
pub fn put<const N: usize>(row: &mut [u64; N], mask: &[u64; N]) -> bool {
    let mut missing = 0;
    for (word, mask) in row.iter_mut().zip(mask) {
        missing |= mask & !*word;
        *word |= mask;
    }
    missing == 0
}

/// Bits that there is room for before the first word of what is put together.
const BEFORE: u32 = super::DROPPED;

/// The bits of a row that are kept, side by side.
#[inline(always)]
pub fn closed<L: Level, const N: usize>(level: L, row: &[u64; N], kept: &[u64; N]) -> [u64; N] {
    // Fewer bits than `BEFORE` are dropped. So with that much room what is kept of a word
    // begins in the same word, and always leads into the next: no branch, and no bit is ever
    // shifted by a whole word.
    let (mut closed, mut high, mut end) = ([0; N], 0, BEFORE);
    for i in 0..N {
        let bits = level.extract(row[i], kept[i]);
        let word = high | bits.wrapping_shl(end);
        if i > 0 {
            closed[i - 1] |= word << (64 - BEFORE);
        }
        closed[i] = word >> BEFORE;
        high = (bits >> 1).wrapping_shr(!end);
        end = end.wrapping_add(kept[i].count_ones());
    }
    closed[N - 1] |= high << (64 - BEFORE);
    closed
}

/// A row in which all from bit `at` on is moved up by `width` bits (1 to 63), with `value` in the
/// gap.
#[inline(always)]
pub fn opened<const N: usize>(row: &[u64; N], at: u32, width: u32, value: u64) -> [u64; N] {
    let stay = upto::<N>(at);
    let (mut opened, mut from_below) = ([0; N], 0);
    for i in 0..N {
        let moved = row[i] & !stay[i];
        // In all words but two the value is shifted too far, and nothing is left of it.
        let shift = at.wrapping_sub(64 * i as u32);
        let put = value.unbounded_shl(shift) | value.unbounded_shr(shift.wrapping_neg());
        opened[i] = row[i] & stay[i] | moved << width | from_below | put;
        from_below = moved >> (64 - width);
    }
    opened
}

/// A row that loses some bits, and gets others.
#[inline(always)]
pub fn repacked<L: Level, const N: usize>(
    level: L,
    row: &[u64; N],
    kept: &Kept,
    Filled { bit_at, bit, at, width, value }: Filled,
) -> [u64; N] {
    let closed = level.closed(row, &kept.mask());
    let opened = level.opened(&closed, bit_at, 1, bit.into());
    level.opened(&opened, at, width, value)
}

/// Ones up to bit `n` of so many words.
#[inline(always)]
fn upto<const N: usize>(n: u32) -> [u64; N] {
    let mut words = [0; N];
    for (word, lsb) in words.iter_mut().zip((0..).step_by(64)) {
        *word = !u64::MAX.unbounded_shl(n.saturating_sub(lsb));
    }
    words
}

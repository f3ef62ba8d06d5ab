//! An insert as a few operations on whole blocks, for processors that pick bits out of a word in
//! one instruction.
//!
//! The new block is the old one with some bits left out (those that fingerprints lose), and with
//! a last bit and a fingerprint put in. Which bits go depends on the number of slots and on which
//! side of the new slot they are, and is known in advance.

use super::geometry::Shape;
use crate::cpu::Level;

/// Words of the widest block that is repacked so.
const WORDS: usize = 8;

/// By number of slots before the insert: what stays.
#[derive(Clone, Debug)]
pub struct Repack(Vec<Kept>);

/// Bits of the old block that are in the new one.
#[derive(Clone, Debug)]
struct Kept {
    /// The index, last bits, and fingerprints before the new slot, which keep their number.
    before: [u64; WORDS],
    /// The same with fingerprints after it, whose number grows by one.
    after: [u64; WORDS],
}

/// Where the new item goes.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// Slots before the insert.
    pub slots: u32,
    /// Where the new last bit goes.
    pub last_at: u32,
    /// The new last bit: its chain was empty.
    pub last: bool,
    /// First bit of the old fingerprint that is now in the slot after the new one.
    pub old_print: u32,
    /// First bit of the new fingerprint.
    pub print_at: u32,
    /// Bits of the new fingerprint.
    pub width: u32,
}

impl Repack {
    /// `None` for blocks that are too wide. `shapes` are those of 0, 1, 2, ... slots.
    pub fn new(chains: u32, array: u32, shapes: &[Shape]) -> Option<Self> {
        let kept = |slots: u32, old: Shape, new: Shape, by: u32| {
            let mut words = [0; WORDS];
            let mut keep = |lsb: u32, width: u32| {
                for bit in lsb..lsb + width {
                    words[(bit / 64) as usize] |= 1 << (bit % 64);
                }
            };
            keep(0, chains + slots);
            for i in 0..slots {
                keep(chains + slots + old.offset(i), new.width(i + by).min(old.width(i)));
            }
            words
        };
        let all = (0..).zip(shapes.windows(2)).map(|(slots, shapes)| Kept {
            before: kept(slots, shapes[0], shapes[1], 0),
            after: kept(slots, shapes[0], shapes[1], 1),
        });
        (chains + array <= 64 * WORDS as u32).then(|| Self(all.collect()))
    }

    /// Puts an item in.
    #[inline(always)]
    pub fn insert<L: Level, const N: usize>(&self, level: L, block: &mut [u64; N], gap: Gap, remainder: u64) {
        let Kept { before, after } = &self.0[gap.slots as usize];
        let print = upto::<N>(gap.old_print);
        let mut kept = [0; N];
        for i in 0..N {
            kept[i] = before[i] & print[i] | after[i] & !print[i];
        }
        let closed = closed(level, block, &kept);
        let opened_for_last = opened(&closed, gap.last_at, 1, gap.last.into());
        *block = opened(&opened_for_last, gap.print_at, gap.width, remainder & level.low(gap.width));
    }
}

/// Bits that there is room for before the first word of what is put together.
const BEFORE: u32 = 32;

/// The bits of a block that are kept, side by side.
#[inline(always)]
fn closed<L: Level, const N: usize>(level: L, block: &[u64; N], kept: &[u64; N]) -> [u64; N] {
    // An insert drops fewer bits than `BEFORE`. So with that much room what is kept of a word
    // begins in the same word, and always leads into the next: no branch, and no bit is ever
    // shifted by a whole word. After the last fingerprint there is nothing to be shifted.
    let (mut closed, mut high, mut end) = ([0; N], 0, BEFORE);
    for i in 0..N {
        let bits = level.extract(block[i], kept[i]);
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

/// A block in which all from bit `at` on is moved up by `width` bits (1 to 63), with `value` in the
/// gap.
#[inline(always)]
fn opened<const N: usize>(block: &[u64; N], at: u32, width: u32, value: u64) -> [u64; N] {
    let stay = upto::<N>(at);
    let (mut opened, mut from_below) = ([0; N], 0);
    for i in 0..N {
        let moved = block[i] & !stay[i];
        // In all words but two the value is shifted too far, and nothing is left of it.
        let shift = at.wrapping_sub(64 * i as u32);
        let put = value.unbounded_shl(shift) | value.unbounded_shr(shift.wrapping_neg());
        opened[i] = block[i] & stay[i] | moved << width | from_below | put;
        from_below = moved >> (64 - width);
    }
    opened
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

//! An insert as one pass over the words of a block, for processors that pick bits out of a word
//! in one instruction.
//!
//! From left to right the new block is the old one with some bits left out (those that
//! fingerprints lose), and with a last bit and a fingerprint put in. Which bits go depends on
//! the number of slots and on which side of the new slot they are, and is known in advance.

use super::{bits, geometry::Shape};
use crate::cpu::Level;

/// Words of the widest block that is repacked so.
const WORDS: usize = 8;

/// By number of slots before the insert: what stays.
#[derive(Clone, Debug)]
pub struct Repack(Vec<Kept>);

/// Bits of the old block, from the first last bit on, that are in the new one.
#[derive(Clone, Debug)]
struct Kept {
    /// Of slots before the new one, which keep their number.
    before: [u64; WORDS],
    /// Of slots after it, whose number grows by one.
    after: [u64; WORDS],
}

/// Where the new item goes.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// Slots before the insert.
    pub slots: u32,
    /// The new slot.
    pub slot: u32,
    /// Its chain was empty.
    pub last: bool,
    /// First last bit of the block.
    pub lasts: u32,
    /// First bit of the old fingerprint that is now in the slot after the new one.
    pub print: u32,
    /// Bit after the old fingerprints.
    pub end: u32,
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
            keep(chains, slots);
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
        let old = *block;
        let at = gap.lasts + gap.slot;
        let (kept, print) = (upto::<N>(at), upto::<N>(gap.print));
        // What lies before the new last bit does not move.
        for i in 0..N {
            block[i] &= kept[i];
        }
        bits::append(block, at, gap.last.into());
        let mut end = at + 1;
        let first = (gap.print / 64) as usize;
        for i in (at / 64) as usize..(first + 1).min(N) {
            let mask = before[i] & print[i] & !kept[i];
            bits::append(block, end, level.extract(old[i], mask));
            end += mask.count_ones();
        }
        bits::append(block, end, remainder & level.low(gap.width));
        end += gap.width;
        for i in first..(gap.end.div_ceil(64) as usize).min(N) {
            let mask = after[i] & !print[i];
            bits::append(block, end, level.extract(old[i], mask));
            end += mask.count_ones();
        }
    }
}

/// Ones up to bit `n` of so many words.
#[inline(always)]
fn upto<const N: usize>(n: u32) -> [u64; N] {
    let mut words = [0; N];
    for (word, lsb) in words.iter_mut().zip((0..).step_by(64)) {
        let ones = (i64::from(n) - lsb).max(0) as u64;
        *word = if ones < 64 { !(u64::MAX << ones) } else { u64::MAX };
    }
    words
}

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
        let words = |kept: &[u64; WORDS]| kept.first_chunk::<N>().copied().unwrap_or([0; N]);
        let kept = level.mixed(&words(before), &words(after), gap.old_print);
        // After the last fingerprint there is nothing to be moved.
        let closed = level.closed(block, &kept);
        let opened = level.opened(&closed, gap.last_at, 1, gap.last.into());
        *block = level.opened(&opened, gap.print_at, gap.width, remainder & level.low(gap.width));
    }
}

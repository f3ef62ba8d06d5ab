//! An insert as a few operations on whole blocks, for processors that pick bits out of a word in
//! one instruction.
//!
//! The new block is the old one with some bits left out (those that fingerprints lose), and with
//! a last bit and a fingerprint put in. Which bits go is known in advance: it depends on the number of slots, and
//! on whether the new slot is extended. For a fingerprint before the new slot keeps its number, and one after
//! it gets the next; and there is only one for which that makes a difference, the last that is extended. Whether
//! the new slot is before or after it is whether that one is extended.

use super::geometry::Shape;
use crate::cpu::{Filled, Kept, Level};

/// By number of slots before an insert: what becomes of them.
#[derive(Clone, Debug)]
pub struct Repack(Vec<Step>);

/// From one number of slots to the next.
#[derive(Clone, Debug)]
struct Step {
    /// Afterwards.
    new: Shape,
    /// Bits of the old block that are in the new one: if the new slot is not extended, and if it is.
    kept: [Kept; 2],
}

/// Where a new item goes.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Index bits of the block.
    pub chains: u32,
    /// Slots of the block before it.
    pub slots: u32,
    /// Its slot.
    pub slot: u32,
    /// Its last bit: its chain was empty.
    pub last: bool,
    /// What is stored of it, or more.
    pub remainder: u64,
}

impl Repack {
    /// `None` for blocks that are too wide, or lose too many bits at once. `shapes` are those of 0, 1, 2, ... slots.
    pub fn new(chains: u32, array: u32, shapes: &[Shape]) -> Option<Self> {
        if chains + array > 512 {
            return None;
        }
        let kept = |slots: u32, old: Shape, new: Shape, by: u32| {
            let mut words = [0; 8];
            let mut keep = |lsb: u32, width: u32| {
                for bit in lsb..lsb + width {
                    words[(bit / 64) as usize] |= 1 << (bit % 64);
                }
            };
            keep(0, chains + slots);
            for i in 0..slots {
                keep(chains + slots + old.offset(i), new.width(i + by).min(old.width(i)));
            }
            Kept::new(words)
        };
        let step = |(slots, shapes): (u32, &[Shape])| {
            let (old, new) = (shapes[0], shapes[1]);
            Some(Step { new, kept: [kept(slots, old, new, 0)?, kept(slots, old, new, 1)?] })
        };
        (0..).zip(shapes.windows(2)).map(step).collect::<Option<_>>().map(Self)
    }

    /// Puts an item in.
    #[inline(always)]
    pub fn insert<L: Level, const N: usize>(&self, level: L, block: &mut [u64; N], item: Item) {
        let Item { chains, slots, slot, last, remainder } = item;
        let Step { new, kept } = &self.0[slots as usize];
        let extended = slot < new.extended;
        let width = new.s + u32::from(extended);
        let filled = Filled {
            bit_at: chains + slot,
            bit: last,
            at: chains + slots + 1 + new.offset(slot),
            width,
            value: remainder & level.low(width),
        };
        *block = level.repacked(block, &kept[usize::from(extended)], filled);
    }
}

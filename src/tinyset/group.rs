//! Queries of many keys at once: where a chain lies in its block is found key by key, and what
//! follows from that is computed for all keys together.
//!
//! Loops here have a length known at compile time and no branch, which is what a compiler makes
//! vector instructions of.

use super::{
    bits::{self, Fields},
    block::Layout,
    geometry::Shape,
};
use crate::{
    batch::GROUP,
    cpu::{self, Level},
};

/// Where the keys of a group belong, part by part.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Which block.
    pub blocks: [u32; GROUP],
    /// Which of its chains.
    pub chains: [u32; GROUP],
    /// What is stored of each key.
    pub remainders: [u32; GROUP],
}

impl Default for Group {
    #[inline(always)]
    fn default() -> Self {
        Self { blocks: [0; GROUP], chains: [0; GROUP], remainders: [0; GROUP] }
    }
}

/// The shapes of a layout by number of slots, in a table that needs no check of the index: `s`, and
/// the number of extended slots from bit 8 on. Eight words have room for fewer slots than that.
#[derive(Clone, Debug)]
pub struct Shapes([u32; 256]);

impl Shapes {
    /// Those of 0, 1, 2, ... slots.
    pub fn new(shapes: &[Shape]) -> Self {
        let mut packed = [0; 256];
        for (packed, Shape { s, extended }) in packed.iter_mut().zip(shapes) {
            *packed = s | extended << 8;
        }
        Self(packed)
    }

    #[inline(always)]
    fn of(&self, slots: u32) -> Shape {
        let packed = self.0[slots as usize % 256];
        Shape { s: packed & 0xff, extended: packed >> 8 }
    }
}

/// By width: the lowest bits of fields side by side.
static LOWEST: [u64; 64] = {
    let mut lowest = [0; 64];
    let mut width = 1;
    while width <= Fields::MAX_WIDTH {
        lowest[width as usize] = Fields::of(width).lowest;
        width += 1;
    }
    lowest
};

impl Layout {
    /// Whether each key may be in its block. The same as [`Layout::contains_on`], which says how it
    /// is done. The blocks of the next group are read on the way.
    #[inline(always)]
    pub fn contains_group<L: Level, const N: usize>(
        &self,
        level: L,
        blocks: &[[u64; N]],
        (places, next): (&Group, Option<&Group>),
        hits: &mut [bool; GROUP],
    ) {
        assert!(N <= 8, "blocks of {N} words may have too many slots");
        let shapes = self.packed_shapes();
        let mut rows = [&[0; N]; GROUP];
        let (mut slots, mut starts, mut ends) = ([0; GROUP], [0; GROUP], [0; GROUP]);
        for i in 0..GROUP {
            if let Some(next) = next {
                cpu::prefetch(blocks, next.blocks[i] as usize);
            }
            rows[i] = &blocks[places.blocks[i] as usize];
            [starts[i], ends[i], slots[i]] = self.places_above(level, rows[i], places.chains[i]);
        }
        for i in 0..GROUP {
            starts[i] = 64u32.wrapping_sub(starts[i]);
            ends[i] = 64u32.wrapping_sub(ends[i]);
            slots[i] = 64u32.wrapping_sub(slots[i]);
        }
        if self.removals() {
            for i in 0..GROUP {
                slots[i] = self.slots(rows[i], slots[i]);
            }
        }
        let (mut lsbs, mut widths, mut lens) = ([0; GROUP], [0; GROUP], [0; GROUP]);
        let (mut extensions, mut mixed) = ([0; GROUP], 0);
        for i in 0..GROUP {
            let shape = shapes.of(slots[i]);
            extensions[i] = u32::from(starts[i] < shape.extended);
            widths[i] = shape.s + extensions[i];
            lens[i] = (ends[i] - starts[i]) * widths[i];
            lsbs[i] = self.fingerprints(slots[i]) + shape.offset(starts[i]);
            let is_mixed = extensions[i] & u32::from(shape.extended < ends[i]) | u32::from(lens[i] > 64);
            mixed |= is_mixed << i;
        }
        let mut stored = [0; GROUP];
        for i in 0..GROUP {
            stored[i] = bits::window(rows[i], lsbs[i]);
        }
        let padded = u64::from(self.removals());
        for i in 0..GROUP {
            let (lowest, width) = (LOWEST[widths[i] as usize % 64], u64::from(widths[i]));
            let remainder = u64::from(places.remainders[i]) & !(u64::MAX << width);
            let differ = stored[i] ^ lowest.wrapping_mul(remainder);
            let highest = lowest << (width - 1);
            let padding = highest & (padded & u64::from(extensions[i])).wrapping_neg();
            let differ = differ & (stored[i] | !padding);
            let same = differ.wrapping_sub(lowest) & !differ & highest;
            hits[i] = same & bits::low(lens[i].min(64)) != 0;
        }
        // Chains of two widths, or too long for a word.
        while mixed != 0 {
            let i = mixed.trailing_zeros() as usize;
            let remainder = places.remainders[i].into();
            hits[i] = (starts[i]..ends[i]).any(|slot| self.matches(rows[i], slots[i], slot, remainder).0);
            mixed &= mixed - 1;
        }
    }
}

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
    fn packed(&self, slots: u32) -> u32 {
        self.0[slots as usize % 256]
    }

    #[inline(always)]
    fn unpacked(packed: u32) -> Shape {
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
        // The usual kind known to the compiler: words that are whole need no shifts, and nothing is asked for each key.
        match (self.chains(), self.removals()) {
            (64, false) => self.contains_kind(level, (64, false), blocks, (places, next), hits),
            kind => self.contains_kind(level, kind, blocks, (places, next), hits),
        }
    }

    #[inline(always)]
    fn contains_kind<L: Level, const N: usize>(
        &self,
        level: L,
        (chains, removals): (u32, bool),
        blocks: &[[u64; N]],
        (places, next): (&Group, Option<&Group>),
        hits: &mut [bool; GROUP],
    ) {
        let table = self.packed_shapes();
        let mut rows = [&[0; N]; GROUP];
        let (mut slots, mut starts, mut ends, mut shapes) = ([0; GROUP], [0; GROUP], [0; GROUP], [0; GROUP]);
        for i in 0..GROUP {
            if let Some(next) = next {
                cpu::prefetch(blocks, next.blocks[i] as usize);
            }
            let row = &blocks[places.blocks[i] as usize];
            let [start, end, live] = Self::places_among(level, chains, row, places.chains[i]);
            let live = 64u32.wrapping_sub(live);
            let count = if removals { self.slots(row, live) } else { live };
            (rows[i], starts[i], ends[i]) = (row, start, end);
            // Looked up here, where the number is at hand: compilers would take it out of a vector again.
            (slots[i], shapes[i]) = (count, table.packed(count));
        }
        let (mut lsbs, mut widths, mut lens) = ([0; GROUP], [0; GROUP], [0; GROUP]);
        let (mut extensions, mut mixed) = ([0; GROUP], 0);
        for i in 0..GROUP {
            starts[i] = 64u32.wrapping_sub(starts[i]);
            ends[i] = 64u32.wrapping_sub(ends[i]);
            let shape = Shapes::unpacked(shapes[i]);
            extensions[i] = u32::from(starts[i] < shape.extended);
            widths[i] = shape.s + extensions[i];
            lens[i] = (ends[i] - starts[i]) * widths[i];
            lsbs[i] = chains + slots[i] + shape.offset(starts[i]);
            let is_mixed = extensions[i] & u32::from(shape.extended < ends[i]) | u32::from(lens[i] > 64);
            mixed |= is_mixed << i;
        }
        let (mut stored, mut lowests) = ([0; GROUP], [0; GROUP]);
        for i in 0..GROUP {
            // One by one, for the same reason.
            stored[i] = bits::window(rows[i], cpu::read_alone(&lsbs[i]));
            lowests[i] = LOWEST[cpu::read_alone(&widths[i]) as usize % 64];
        }
        let padded = u64::from(removals);
        for i in 0..GROUP {
            let (lowest, width) = (lowests[i], u64::from(widths[i]));
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

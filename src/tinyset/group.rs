//! Queries of many keys at once: where a chain lies in its block is found key by key, and what
//! follows from that is computed for all keys together.
//!
//! Loops here have a length known at compile time and no branch, which is what a compiler makes
//! vector instructions of.

use super::{bits::Fields, block::Layout, geometry::Shape};
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
    /// Room for what is found out about them: to make it anew for every group would take time.
    found: Found,
}

/// What is found out about the keys of a group in their blocks, step by step.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// First slot of the chain, and the slot after its last one.
    starts: [u32; GROUP],
    ends: [u32; GROUP],
    /// The shape of the block.
    shapes: [Packed; GROUP],
    /// Where its fingerprints are: bits from a byte on.
    bytes: [u32; GROUP],
    shifts: [u32; GROUP],
    /// Bits of each of them, and of all.
    widths: [u32; GROUP],
    lens: [u32; GROUP],
    /// The word from that byte on, and the lowest bits of fields of that width.
    words: [u64; GROUP],
    lowests: [u64; GROUP],
}

impl Default for Group {
    #[inline(always)]
    fn default() -> Self {
        const NONE: [u32; GROUP] = [0; GROUP];
        let found = Found {
            starts: NONE,
            ends: NONE,
            shapes: [Packed(0); GROUP],
            bytes: NONE,
            shifts: NONE,
            widths: NONE,
            lens: NONE,
            words: [0; GROUP],
            lowests: [0; GROUP],
        };
        Self { blocks: NONE, chains: NONE, remainders: NONE, found }
    }
}

/// The shapes of a layout, in a table that needs no check of the index: by the number of bits of a word above the last
/// slot, which is what a search finds, modulo 256. Eight words have room for fewer slots than that.
#[derive(Clone, Debug)]
pub struct Shapes([Packed; 256]);

/// The bits of a word above so many, or the other way round: with more than a word the number wraps around.
#[inline(always)]
fn above(bits: u32) -> u32 {
    64u32.wrapping_sub(bits)
}

/// A shape and the number of slots that has it: from bit 0 on `s`, from 8 the number of extended slots, from 16 that
/// of all.
#[derive(Clone, Copy, Debug)]
struct Packed(u32);

impl Packed {
    #[inline(always)]
    fn shape(self) -> Shape {
        Shape { s: self.0 & 0xff, extended: self.0 >> 8 & 0xff }
    }

    #[inline(always)]
    fn slots(self) -> u32 {
        self.0 >> 16
    }
}

impl Shapes {
    /// Those of 0, 1, 2, ... slots.
    pub fn new(shapes: &[Shape]) -> Self {
        let mut packed = [Packed(0); 256];
        for (slots, Shape { s, extended }) in (0u32..).zip(shapes) {
            packed[usize::from(above(slots) as u8)] = Packed(s | extended << 8 | slots << 16);
        }
        Self(packed)
    }

    #[inline(always)]
    fn of(&self, above: u32) -> Packed {
        self.0[usize::from(above as u8)]
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
        (places, next): (&mut Group, Option<&Group>),
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
        (places, next): (&mut Group, Option<&Group>),
        hits: &mut [bool; GROUP],
    ) {
        let table = self.packed_shapes();
        let Group { blocks: rows, chains: chain, remainders, found } = places;
        let ahead = next.map_or(&*rows, |next| &next.blocks);
        let rows = cpu::Chosen::new(blocks, rows);
        for i in 0..GROUP {
            let row = rows.get(i);
            // Known to be in the first word.
            let chain = if chains == 64 { chain[i] % 64 } else { chain[i] };
            let [start, end, live] = Self::places_among(level, chains, row, chain);
            (found.starts[i], found.ends[i]) = (start, end);
            let slots_above = if removals { above(self.slots(row, above(live))) } else { live };
            // Looked up here, where the number is at hand: compilers would take it out of a vector again.
            found.shapes[i] = table.of(slots_above);
        }
        let mut mixed = 0;
        for i in 0..GROUP {
            let (start, end) = (above(found.starts[i]), above(found.ends[i]));
            let (shape, slots) = (found.shapes[i].shape(), found.shapes[i].slots());
            let extension = u32::from(start < shape.extended);
            let width = shape.s + extension;
            let (len, lsb) = ((end - start) * width, chains + slots + shape.offset(start));
            let byte = (lsb / 8).min(8 * N as u32 - 8);
            (found.starts[i], found.ends[i]) = (start, end);
            (found.bytes[i], found.shifts[i]) = (byte, lsb - 8 * byte);
            (found.widths[i], found.lens[i]) = (width, len);
            let is_long = u32::from(len + found.shifts[i] > 64) | u32::from(len > 63);
            mixed |= (extension & u32::from(shape.extended < end) | is_long) << i;
        }
        for i in 0..GROUP {
            // Not where blocks are first looked at: there both would wait for the same cache.
            cpu::prefetch(blocks, ahead[i] as usize);
            // One by one, for the same reason.
            found.words[i] = cpu::word_at(rows.get(i), cpu::read_alone(&found.bytes[i]) as usize);
            found.lowests[i] = LOWEST[cpu::read_alone(&found.widths[i]) as usize % 64];
        }
        for i in 0..GROUP {
            let (lowest, width) = (found.lowests[i], u64::from(found.widths[i]));
            // Places in a word, which a processor would not have to be told.
            let stored = found.words[i] >> (found.shifts[i] % 64);
            let remainder = u64::from(remainders[i]) & !(u64::MAX << (width % 64));
            let differ = stored ^ lowest.wrapping_mul(remainder);
            let highest = lowest << ((width - 1) % 64);
            let differ = if removals {
                let is_extended = width > found.shapes[i].shape().s.into();
                differ & (stored | !(highest & u64::from(is_extended).wrapping_neg()))
            } else {
                differ
            };
            let same = differ.wrapping_sub(lowest) & !differ & highest;
            hits[i] = same & !(u64::MAX << (found.lens[i] % 64)) != 0;
        }
        // Chains of two widths, or too long for a word.
        while mixed != 0 {
            let i = mixed.trailing_zeros() as usize;
            let (row, slots) = (rows.get(i), found.shapes[i].slots());
            let mut chain = found.starts[i]..found.ends[i];
            hits[i] = chain.any(|slot| self.matches(row, slots, slot, remainders[i].into()).0);
            mixed &= mixed - 1;
        }
    }
}

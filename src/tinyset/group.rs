//! Queries of many keys at once: where a chain lies in its block is found key by key, and what
//! follows from that is computed for all keys together.
//!
//! Loops here have a length known at compile time and no branch, which is what a compiler makes
//! vector instructions of.

use super::{
    bits::{self, Fields},
    block::{Chain, Layout},
    geometry::Shape,
};
use crate::{
    batch::{Ahead, GROUP},
    cpu::{self, Cache, Level},
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

/// What is found out about the keys of a group in their blocks, step by step.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// First slot of the chain, and the slot after its last one.
    starts: [u32; GROUP],
    ends: [u32; GROUP],
    /// The shape of the block.
    shapes: [Packed; GROUP],
    /// Where its fingerprints are: bits from a byte on.
    bytes: [u32; GROUP],
    shifts: [u32; GROUP],
    /// Bits of each of them but one, and of the remainder as many as they have.
    widths: [u32; GROUP],
    sought: [u32; GROUP],
    /// The place in [`LOWEST`] for their width and number, which is its first byte.
    lists: [[u8; 4]; GROUP],
    /// What is there, and the word from that byte on.
    lowests: [u64; GROUP],
    words: [u64; GROUP],
}

impl Found {
    /// What a search has found for a key.
    #[inline(always)]
    fn put(&mut self, i: usize, [start, end, live]: [u32; 3], shape: impl Fn(u32) -> Packed) {
        (self.starts[i], self.ends[i]) = (start, end);
        // Looked up here, where the number is at hand: compilers would take it out of a vector again.
        self.shapes[i] = shape(live);
    }
}

const NONE: [u32; GROUP] = [0; GROUP];

impl Default for Group {
    #[inline(always)]
    fn default() -> Self {
        Self { blocks: NONE, chains: NONE, remainders: NONE }
    }
}

impl Default for Found {
    #[inline(always)]
    fn default() -> Self {
        Self {
            starts: NONE,
            ends: NONE,
            shapes: [Packed(0); GROUP],
            bytes: NONE,
            shifts: NONE,
            widths: NONE,
            sought: NONE,
            lists: [[0; 4]; GROUP],
            lowests: [0; GROUP],
            words: [0; GROUP],
        }
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

/// A shape and where it begins: from bit 0 on `s`, from 8 the number of extended slots, from 16 the first bit of a
/// fingerprint.
#[derive(Clone, Copy, Debug)]
struct Packed(u32);

impl Packed {
    #[inline(always)]
    fn shape(self) -> Shape {
        Shape { s: self.0 & 0xff, extended: self.0 >> 8 & 0xff }
    }

    #[inline(always)]
    fn first(self) -> u32 {
        self.0 >> 16
    }
}

impl Shapes {
    /// Those of 0, 1, 2, ... slots.
    pub fn new(chains: u32, shapes: &[Shape]) -> Self {
        let mut packed = [Packed(0); 256];
        for (slots, Shape { s, extended }) in (0u32..).zip(shapes) {
            packed[usize::from(above(slots) as u8)] = Packed(s | extended << 8 | (chains + slots) << 16);
        }
        Self(packed)
    }

    #[inline(always)]
    fn of(&self, above: u32) -> Packed {
        self.0[usize::from(above as u8)]
    }
}

/// The lowest bits of fields side by side, by their number (in 3 bits) and above it by their width: at most 23, one more than
/// the rules allow for `F_MAX`.
static LOWEST: [u64; 256] = {
    let mut lowest = [0; 256];
    let mut i = 8;
    while i < lowest.len() {
        let (width, fields) = (i as u32 / 8, i as u32 % 8);
        lowest[i] = Fields::of(width).lowest & !u64::MAX.unbounded_shl(fields * width);
        i += 1;
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
        (places, ahead): (&Group, Ahead<'_, Group>),
        found: &mut Found,
        hits: &mut [bool; GROUP],
    ) {
        assert!(N <= 8, "blocks of {N} words may have too many slots");
        // The usual kind known to the compiler: words that are whole need no shifts, and nothing is asked for each key.
        match (self.chains(), self.removals()) {
            (64, false) => self.contains_kind(level, (64, false), blocks, (places, ahead), found, hits),
            kind => self.contains_kind(level, kind, blocks, (places, ahead), found, hits),
        }
    }

    /// What [`Layout::places_among`] finds, but that a chain that is empty begins and ends with slot 0. `None` where more
    /// than one word has last bits.
    #[inline(always)]
    fn seek<L: Level, const N: usize>(
        level: L,
        chains: u32,
        block: &[u64; N],
        chain: u32,
    ) -> Option<[u32; 3]> {
        let below = block[0] & level.low(chains.min(64));
        let beyond = if chains > 64 { block[1] & level.low(chains - 64) } else { 0 };
        let filled = below.count_ones() + beyond.count_ones();
        let lasts = bits::window(block, chains);
        if filled > lasts.count_ones() {
            return None;
        }
        // The index from the chain on.
        let (word, beyond) = if chain < 64 { (below, beyond) } else { (beyond, 0) };
        let word = word >> (chain % 64);
        let (present, rank) = (word & 1, filled - word.count_ones() - beyond.count_ones());
        // Its last slot, if it has any; the chain before it ends below.
        let last = level.deposit(present << (rank % 64), lasts);
        let before = lasts & (last - present);
        let live = level.deposit(level.low(filled), lasts);
        Some([before, last, live].map(u64::leading_zeros))
    }

    /// The same for one key, without steps for all. Blocks are of the [usual](Layout::is_usual) kind, or of any.
    #[inline(always)]
    pub fn contains_one<L: Level, const N: usize, const USUAL: bool>(
        &self,
        level: L,
        block: &[u64; N],
        (chain, remainder): (u32, u64),
    ) -> bool {
        let (chains, removals) = if USUAL { (64, false) } else { (self.chains(), self.removals()) };
        let chain = if USUAL { chain % 64 } else { chain };
        let Some(places) = Self::seek(level, chains, block, chain) else {
            return self.contains_far(block, chain, remainder);
        };
        let [start, end, live] = places.map(above);
        let slots = if removals { self.slots(block, live) } else { live };
        self.holds_of(level, (chains, removals), block, Chain { slots, live, start, end }, remainder)
    }

    /// The kind of blocks that code is built for: 64 chains, and no removals.
    pub fn is_usual(&self) -> bool {
        (self.chains(), self.removals()) == (64, false)
    }

    /// Not part of its callers: it is rare.
    #[cold]
    #[inline(never)]
    fn contains_far<const N: usize>(&self, block: &[u64; N], chain: u32, remainder: u64) -> bool {
        self.contains(block, chain, remainder)
    }

    #[inline(always)]
    fn contains_kind<L: Level, const N: usize>(
        &self,
        level: L,
        (chains, removals): (u32, bool),
        blocks: &[[u64; N]],
        (places, ahead): (&Group, Ahead<'_, Group>),
        found: &mut Found,
        hits: &mut [bool; GROUP],
    ) {
        // Where all are in the first word this is known.
        let within = |chain: u32| if chains == 64 { chain % 64 } else { chain };
        let table = self.packed_shapes();
        let shape = |row: &[u64; N], live| {
            table.of(if removals { above(self.slots(row, above(live))) } else { live })
        };
        let Group { blocks: rows, chains: chain, remainders } = places;
        // Nothing ahead: what is there already.
        let (ahead, into) =
            ahead.group().map_or((rows, Cache::Nearest), |(group, into)| (&group.blocks, into));
        let rows = cpu::Chosen::new(blocks, rows);
        let mut far = 0u32;
        for step in 0..GROUP / 4 {
            // So few, and without a call, that a compiler writes them one after another.
            for j in 0..4 {
                let i = 4 * step + j;
                let (row, chain) = (rows.get(i), cpu::read_alone(&chain[i]));
                if let Some(places) = Self::seek(level, chains, row, within(chain)) {
                    found.put(i, places, |live| shape(row, live));
                } else {
                    far |= 1 << i;
                }
            }
        }
        // Those with so many slots that their last bits fill more than a word.
        while far != 0 {
            let i = far.trailing_zeros() as usize;
            let row = rows.get(i);
            let places = Self::places_among(level, chains, row, within(chain[i]));
            found.put(i, places, |live| shape(row, live));
            far &= far - 1;
        }
        let Found { starts, ends, shapes, bytes, shifts, widths, sought, lists, lowests, words } = found;
        let mut mixed = 0;
        for i in 0..GROUP {
            let (start, end) = (above(starts[i]), above(ends[i]));
            let (shape, fields) = (shapes[i].shape(), end - start);
            let extension = u32::from(start < shape.extended);
            let width = shape.s + extension;
            let lsb = shapes[i].first() + shape.offset(start);
            let byte = (lsb / 8).min(8 * N as u32 - 8);
            let shift = lsb - 8 * byte;
            (starts[i], ends[i]) = (start, end);
            (bytes[i], shifts[i]) = (byte, shift);
            (widths[i], lists[i]) = (width - 1, (width * 8 + fields).to_le_bytes());
            sought[i] = remainders[i] & !(u32::MAX << (width % 32));
            let is_long = u32::from(fields * width + shift > 64) | u32::from(fields > 7);
            mixed |= (extension & u32::from(shape.extended < end) | is_long) << i;
        }
        for step in 0..GROUP / 4 {
            for j in 0..4 {
                let i = 4 * step + j;
                // Not where blocks are first looked at: there both would wait for the same cache.
                cpu::prefetch(blocks, ahead[i] as usize, into);
                // One by one, for the same reason.
                words[i] = cpu::word_at(rows.get(i), cpu::read_alone(&bytes[i]) as usize);
                lowests[i] = LOWEST[usize::from(cpu::read_alone(&lists[i][0]))];
            }
        }
        for i in 0..GROUP {
            let lowest = lowests[i];
            // Places in a word, which a processor would not have to be told.
            let stored = words[i] >> (shifts[i] % 64);
            let differ = stored ^ lowest.wrapping_mul(sought[i].into());
            let highest = lowest << (widths[i] % 64);
            let differ = if removals {
                let is_extended = widths[i] >= shapes[i].shape().s;
                differ & (stored | !(highest & u64::from(is_extended).wrapping_neg()))
            } else {
                differ
            };
            hits[i] = differ.wrapping_sub(lowest) & !differ & highest != 0;
        }
        // Chains of two widths, or too long for a word.
        while mixed != 0 {
            let i = mixed.trailing_zeros() as usize;
            let (row, slots) = (rows.get(i), shapes[i].first() - chains);
            hits[i] = self.is_among(row, slots, starts[i]..ends[i], remainders[i].into());
            mixed &= mixed - 1;
        }
    }
}

//! One block: its layout, and query, insert and remove in it.
//!
//! ```text
//! [0, CHAINS)                       index: chain i is not empty
//! [CHAINS, CHAINS+C)                last bits, slot 0 first
//! [CHAINS+C + offset(i), +width(i)) fingerprint of slot i, its first bit lowest
//! [CHAINS+ARRAY, +COUNT_W)          C, with removals only
//! ```
//!
//! Slots are ordered by chain. A new item goes to the front of its chain, so slots only
//! move right, to slots that are no wider: a fingerprint only ever loses bits.

use std::ops::Range;

use super::{
    bits::{self, Fields, Ranked, extract},
    geometry::Shape,
    group::Shapes,
    moves::Move,
    repack::{Item, Repack},
};
use crate::{
    cpu::{Level, Portable},
    hash::clog2,
};

/// The layout of all blocks of a filter.
#[derive(Clone, Debug)]
pub struct Layout {
    chains: u32,
    array: u32,
    c_max: u32,
    removals: bool,
    count_w: u32,
    /// By number of slots, 0 to `c_max` + 1.
    shapes: Vec<Shape>,
    /// The same, for many queries at once.
    packed_shapes: Box<Shapes>,
    /// The same with what a query needs besides.
    decoded: Vec<Decoded>,
    /// Without removals.
    repack: Option<Repack>,
}

/// What a query needs to know of the slots of a block.
#[derive(Clone, Copy, Debug)]
struct Decoded {
    shape: Shape,
    /// The lowest bit of fingerprints side by side in a word: of `s` bits, and of one more.
    lowest: [u64; 2],
}

/// Where a chain lies in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Slots that the block is laid out for: the paper's logical capacity.
    pub slots: u32,
    /// Slots in use, from slot 0 on.
    pub live: u32,
    /// First slot of the chain, or where it would begin.
    pub start: u32,
    /// Slot after its last one; `start` if the chain is empty.
    pub end: u32,
}

impl Layout {
    /// A layout of `chains` index bits (at most 128) and `array` bits for at most `c_max` slots
    /// (at most `array` / 2), with fingerprints of at most `f_max` bits (at most 32).
    pub fn new(chains: u32, array: u32, f_max: u32, c_max: u32, removals: bool) -> Self {
        let shapes: Vec<_> = (0..=c_max + 1).map(|slots| Shape::new(array, f_max, slots)).collect();
        let count_w = if removals { clog2(u64::from(c_max) + 1) } else { 0 };
        let lowest = |width| if width <= Fields::MAX_WIDTH { Fields::of(width).lowest } else { 0 };
        let decoded =
            |shape: &Shape| Decoded { shape: *shape, lowest: [lowest(shape.s), lowest(shape.s + 1)] };
        let decoded = shapes.iter().map(decoded).collect();
        let repack = if removals { None } else { Repack::new(chains, array, &shapes) };
        let packed_shapes = Box::new(Shapes::new(chains, &shapes));
        Self { chains, array, c_max, removals, count_w, shapes, packed_shapes, decoded, repack }
    }

    /// Bits of a block.
    pub fn block_w(&self) -> u32 {
        self.chains + self.array + self.count_w
    }

    /// Its index bits.
    #[inline]
    pub fn chains(&self) -> u32 {
        self.chains
    }

    /// Whether items can be removed.
    #[inline]
    pub fn removals(&self) -> bool {
        self.removals
    }

    /// The shape of a block with `slots` slots.
    #[inline]
    pub fn shape(&self, slots: u32) -> Shape {
        self.shapes[slots as usize]
    }

    #[inline(always)]
    pub(super) fn packed_shapes(&self) -> &Shapes {
        &self.packed_shapes
    }

    #[inline(always)]
    pub(super) fn slots<const N: usize>(&self, block: &[u64; N], live: u32) -> u32 {
        if self.removals { extract(block, self.chains + self.array, self.count_w) as u32 } else { live }
    }

    /// Chains that are not empty: those before `chain`, and all.
    #[inline(always)]
    fn rank<L: Level, const N: usize>(level: L, chains: u32, block: &[u64; N], chain: u32) -> (u32, u32) {
        let ones = |word: u64| word.count_ones();
        if chains <= 64 {
            let index = block[0] & level.low(chains);
            return (ones(index & level.low(chain)), ones(index));
        }
        let (below, above) = (block[0], block[1] & level.low(chains - 64));
        let rank = ones(below & level.low(chain.min(64))) + ones(above & level.low(chain.max(64) - 64));
        (rank, ones(below) + ones(above))
    }

    /// Finds a chain: rank in the index, then select in the last bits.
    pub fn find<const N: usize>(&self, block: &[u64; N], chain: u32) -> Chain {
        self.find_on(Portable, block, chain)
    }

    /// [`Layout::find`] by the means of a processor.
    #[inline(always)]
    pub(super) fn find_on<L: Level, const N: usize>(&self, level: L, block: &[u64; N], chain: u32) -> Chain {
        let [start, end, live] =
            self.places_above(level, block, chain).map(|above| 64u32.wrapping_sub(above));
        Chain { slots: self.slots(block, live), live, start, end }
    }

    /// First slot of a chain, slot after its last one, and slots in use: each counted down from slot 64,
    /// around zero if it is above that.
    #[inline(always)]
    pub(super) fn places_above<L: Level, const N: usize>(
        &self,
        level: L,
        block: &[u64; N],
        chain: u32,
    ) -> [u32; 3] {
        // The usual number known to the compiler: words that are whole need no shifts.
        match self.chains {
            64 => Self::places_among(level, 64, block, chain % 64),
            chains => Self::places_among(level, chains, block, chain),
        }
    }

    #[inline(always)]
    pub(super) fn places_among<L: Level, const N: usize>(
        level: L,
        chains: u32,
        block: &[u64; N],
        chain: u32,
    ) -> [u32; 3] {
        let (rank, filled) = Self::rank(level, chains, block, chain);
        let present = (block[(chain / 64) as usize % N] >> (chain % 64)) as u32 & 1;
        let lasts = Ranked::new(bits::window(block, chains));
        if filled <= lasts.ones(level) {
            let start = lasts.above(level, rank);
            [start, lasts.above(level, rank + present), lasts.above(level, filled)]
        } else {
            Self::places_far(block, chains, rank, rank + present, filled)
        }
    }

    /// The same where more than one word has last bits. Not part of its callers: it is rare.
    #[cold]
    #[inline(never)]
    fn places_far<const N: usize>(
        block: &[u64; N],
        chains: u32,
        before: u32,
        upto: u32,
        filled: u32,
    ) -> [u32; 3] {
        [before, upto, filled].map(|n| 64u32.wrapping_sub(bits::select(block, chains, n)))
    }

    /// Whether the parts of a block agree, as all other methods expect: every chain of
    /// the index ends in a slot that there is.
    pub fn check<const N: usize>(&self, block: &[u64; N]) -> Result<(), String> {
        let (_, chains) = Self::rank(Portable, self.chains, block, 0);
        let ends = bits::count_ones(block, self.chains, self.c_max);
        if chains > ends {
            return Err(format!("{chains} chains, but {ends} last bits"));
        }
        let live = bits::select(block, self.chains, chains);
        let slots = self.slots(block, live);
        if slots < live || slots > self.c_max {
            return Err(format!("a count of {slots} slots, {live} to {} expected", self.c_max));
        }
        Ok(())
    }

    /// Whether the fingerprint in slot `i` is one of `remainder`, and whether all its bits
    /// speak for that. With removals an extension bit of 0 may be padding and says nothing.
    #[inline]
    pub fn matches<const N: usize>(
        &self,
        block: &[u64; N],
        slots: u32,
        i: u32,
        remainder: u64,
    ) -> (bool, bool) {
        let shape = self.shape(slots);
        let width = shape.width(i);
        let stored = bits::window(block, self.chains + slots + shape.offset(i));
        let differ = (stored ^ remainder) & bits::low(width);
        if self.removals && width > shape.s {
            let extension = stored >> shape.s & 1;
            (differ & (bits::low(shape.s) | extension << shape.s) == 0, extension == 1)
        } else {
            (differ == 0, false)
        }
    }

    /// Whether `remainder` may be in `chain`.
    pub fn contains<const N: usize>(&self, block: &[u64; N], chain: u32, remainder: u64) -> bool {
        self.contains_on(Portable, block, chain, remainder)
    }

    /// [`Layout::contains`] by the means of a processor.
    #[inline(always)]
    pub fn contains_on<L: Level, const N: usize>(
        &self,
        level: L,
        block: &[u64; N],
        chain: u32,
        remainder: u64,
    ) -> bool {
        // Half of the keys that are not there could end here. Where the rest is fast it is
        // not worth a branch that is guessed wrong.
        if !L::FAST && block[(chain / 64) as usize] >> (chain % 64) & 1 == 0 {
            return false;
        }
        self.holds(level, block, self.find_on(level, block, chain), remainder)
    }

    /// Whether `remainder` may be in a chain that was found.
    #[inline(always)]
    pub(super) fn holds<L: Level, const N: usize>(
        &self,
        level: L,
        block: &[u64; N],
        found: Chain,
        remainder: u64,
    ) -> bool {
        self.holds_of(level, (self.chains, self.removals), block, found, remainder)
    }

    /// The same, where the number of chains and whether there are removals may be known to the compiler.
    #[inline(always)]
    pub(super) fn holds_of<L: Level, const N: usize>(
        &self,
        level: L,
        (chains, removals): (u32, bool),
        block: &[u64; N],
        Chain { slots, start, end, .. }: Chain,
        remainder: u64,
    ) -> bool {
        let Decoded { shape, lowest } = self.decoded[slots as usize];
        let extended = start < shape.extended;
        let width = shape.s + u32::from(extended);
        let crosses = u32::from(extended) & u32::from(shape.extended < end);
        // One branch, which is rarely taken: whether a slot is extended is as good as random, and a
        // branch on that is guessed wrong half of the time.
        if crosses | u32::from((end - start) * width > 64) != 0 {
            return self.is_among(block, slots, start..end, remainder);
        }
        // All slots of the chain side by side, and `remainder` as often beside itself.
        let lowest = lowest[usize::from(extended)];
        let stored = bits::window(block, chains + slots + shape.offset(start));
        let differ = stored ^ lowest.wrapping_mul(remainder & level.low(width));
        // With removals a top bit of an extended fingerprint that is 0 may be padding. No branch
        // here either.
        let padded = u64::from(removals & extended).wrapping_neg();
        let differ = differ & (stored | !(lowest << shape.s & padded));
        // The lowest field without a difference borrows from its top bit.
        let same = differ.wrapping_sub(lowest) & !differ & lowest << (width - 1);
        same & level.low((end - start) * width) != 0
    }

    /// Whether `remainder` may be in one of these slots. Not part of its callers: it is rare.
    #[cold]
    #[inline(never)]
    pub(super) fn is_among<const N: usize>(
        &self,
        block: &[u64; N],
        slots: u32,
        mut among: Range<u32>,
        remainder: u64,
    ) -> bool {
        among.any(|slot| self.matches(block, slots, slot, remainder).0)
    }

    /// Adds `remainder` to `chain`; false, and nothing changed, if the block is full.
    pub fn insert<const N: usize>(&self, block: &mut [u64; N], chain: u32, remainder: u64) -> bool {
        self.insert_on(Portable, block, chain, remainder)
    }

    /// [`Layout::insert`] by the means of a processor.
    #[inline(always)]
    pub fn insert_on<L: Level, const N: usize>(
        &self,
        level: L,
        block: &mut [u64; N],
        chain: u32,
        remainder: u64,
    ) -> bool {
        let found = self.find_on(level, block, chain);
        let room = self.has_room(found);
        if room {
            self.add(level, block, found, chain, remainder);
        }
        room
    }

    /// Slots of a block with one item more: a freed slot is used before the block grows.
    #[inline(always)]
    fn slots_with_one_more(Chain { slots, live, .. }: Chain) -> u32 {
        slots.max(live + 1)
    }

    /// Whether the block in which a chain was found takes an item.
    #[inline(always)]
    pub(super) fn has_room(&self, found: Chain) -> bool {
        Self::slots_with_one_more(found) <= self.c_max
    }

    /// Adds `remainder` to `chain`, which was found here, where there is room.
    #[inline(always)]
    pub(super) fn add<L: Level, const N: usize>(
        &self,
        level: L,
        block: &mut [u64; N],
        found: Chain,
        chain: u32,
        remainder: u64,
    ) {
        let Some(repack) = self.repack.as_ref().filter(|_| L::FAST) else {
            self.rebuild(block, found, chain, remainder);
            return;
        };
        let Chain { slots, start, end, .. } = found;
        block[(chain / 64) as usize % N] |= 1 << (chain % 64);
        let item = Item { chains: self.chains, slots, slot: start, last: start == end, remainder };
        repack.insert(level, block, item);
    }

    /// An insert part by part, whatever the variant.
    #[inline]
    fn rebuild<const N: usize>(&self, block: &mut [u64; N], found: Chain, chain: u32, remainder: u64) {
        let Chain { slots, live, start, end } = found;
        let new_slots = Self::slots_with_one_more(found);
        let (old, new) = (self.shape(slots), self.shape(new_slots));
        let old_block = *block;
        *block = [0; N];
        bits::copy(&old_block, 0, block, 0, self.chains + start);
        block[(chain / 64) as usize] |= 1 << (chain % 64);
        bits::put(block, self.chains + start, 1, u64::from(start == end));
        bits::copy(&old_block, self.chains + start, block, self.chains + start + 1, live - start);
        let mut moved = Move {
            from: &old_block,
            old,
            old_lsb: self.chains + slots,
            to: block,
            new,
            new_lsb: self.chains + new_slots,
        };
        moved.slots(0, 0, start);
        moved.slots(start, start + 1, live - start);
        let at = self.chains + new_slots + new.offset(start);
        bits::put(block, at, new.width(start), remainder);
        bits::put(block, self.chains + self.array, self.count_w, new_slots.into());
    }

    /// The slot that a removal of `remainder` from `chain` takes: of the matches, the lowest
    /// whose extension bit is 1, else the lowest.
    ///
    /// A 1 is a real bit of the item that was stored, so such a slot can only belong to
    /// keys that have it; a 0 may be padding, and that slot may be the only one left
    /// that still answers for a key without the bit.
    #[inline]
    pub fn removed_slot<const N: usize>(
        &self,
        block: &[u64; N],
        chain: u32,
        remainder: u64,
    ) -> Option<(Chain, u32)> {
        let found = self.find(block, chain);
        let mut any = None;
        for i in found.start..found.end {
            match self.matches(block, found.slots, i, remainder) {
                (true, true) => return Some((found, i)),
                (true, false) => any = any.or(Some(i)),
                _ => {}
            }
        }
        any.map(|i| (found, i))
    }

    /// Takes `remainder` out of `chain`; false if it is not there.
    #[inline]
    pub fn remove<const N: usize>(&self, block: &mut [u64; N], chain: u32, remainder: u64) -> bool {
        let Some((Chain { slots, live, start, end }, slot)) = self.removed_slot(block, chain, remainder)
        else {
            return false;
        };
        let shape = self.shape(slots);
        let old_block = *block;
        *block = [0; N];
        // The last bits of a chain are zeros and a one: to shorten it, take its first.
        bits::copy(&old_block, 0, block, 0, self.chains + start);
        if end - start == 1 {
            block[(chain / 64) as usize] &= !(1 << (chain % 64));
        }
        bits::copy(&old_block, self.chains + start + 1, block, self.chains + start, live - start - 1);
        let lsb = self.chains + slots;
        let mut moved =
            Move { from: &old_block, old: shape, old_lsb: lsb, to: block, new: shape, new_lsb: lsb };
        moved.slots(0, 0, slot);
        moved.slots(slot + 1, slot, live - slot - 1);
        bits::put(block, self.chains + self.array, self.count_w, u64::from(slots));
        true
    }
}

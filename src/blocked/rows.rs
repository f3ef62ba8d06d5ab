//! Rows of whole words: all bits of a key are tested or set at once.
//!
//! A row is an array of words, and so is the mask of a key. Loops over them have a length known
//! at compile time and no branch, which is what a compiler makes vector instructions of.

use crate::{
    batch::{FAR, GROUP, Staged, StagedMut},
    cpu::{self, Level},
    filter::{Answer, Status},
    hash::{Field, H3, Moved, Packed},
    parallel::Sharded,
};

use super::{Config, InBlock};

/// What is known in advance of filters whose rows are 1, 2, 4 or 8 words, one row per key, and
/// whose indices fit into one word and the row field into half a word.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The row field in its first word, the indices in its second.
    hash: Packed,
    row: Field,
    masked: bool,
    masks: Masks,
}

/// How indices become the mask of a row, and how many words that has.
#[derive(Clone, Copy, Debug)]
enum Masks {
    Parts32,
    Parts64,
    Whole4(Whole),
    Whole8(Whole),
    Any1(Any),
    Any2(Any),
    Any4(Any),
    Any8(Any),
}

/// Indices to a mask of `N` words.
pub trait Mask<const N: usize>: Copy + Send + Sync {
    /// The bits of a key.
    fn mask(self, indices: u64) -> [u64; N];
}

/// Eight parts of 32 bits: indices 0, 2, 4, 6, then 1, 3, 5, 7, of 5 bits each.
#[derive(Clone, Copy, Debug)]
struct Parts32;

/// Eight parts of 64 bits: indices of 6 bits.
#[derive(Clone, Copy, Debug)]
struct Parts64;

/// Indices that select among all bits of a row.
#[derive(Clone, Copy, Debug)]
struct Whole {
    count: u32,
}

/// Indices of any width.
#[derive(Clone, Copy, Debug)]
struct Any {
    count: u32,
    width: u32,
    n: u64,
    /// Bits between what one index selects from, and what the next does.
    step: u32,
}

impl Mask<4> for Parts32 {
    #[inline(always)]
    fn mask(self, indices: u64) -> [u64; 4] {
        std::array::from_fn(|i| {
            let (low, high) = (indices >> (5 * i) & 31, indices >> (20 + 5 * i) & 31);
            1 << low | (1 << 32) << high
        })
    }
}

impl Mask<8> for Parts64 {
    #[inline(always)]
    fn mask(self, indices: u64) -> [u64; 8] {
        std::array::from_fn(|i| 1 << (indices >> (6 * i) & 63))
    }
}

impl<const N: usize> Mask<N> for Whole {
    #[inline(always)]
    fn mask(self, indices: u64) -> [u64; N] {
        let (mut mask, mut rest) = ([0; N], indices);
        for _ in 0..self.count {
            set(&mut mask, rest % (64 * N as u64));
            rest >>= (64 * N).trailing_zeros();
        }
        mask
    }
}

/// Sets one bit. In all words but one the shift is too far, and nothing is set.
#[inline(always)]
fn set<const N: usize>(mask: &mut [u64; N], bit: u64) {
    for (word, lsb) in mask.iter_mut().zip((0..).step_by(64)) {
        let shift: u64 = bit.wrapping_sub(lsb);
        *word |= if shift < 64 { 1 << shift } else { 0 };
    }
}

impl<const N: usize> Mask<N> for Any {
    #[inline(always)]
    fn mask(self, indices: u64) -> [u64; N] {
        let (mut mask, mut rest, mut part) = ([0; N], indices, 0);
        for _ in 0..self.count {
            let bits = rest & (u64::MAX >> (64 - self.width));
            set(&mut mask, part + ((bits * self.n) >> self.width));
            rest >>= self.width;
            part += u64::from(self.step);
        }
        mask
    }
}

/// Something to do with the masks of a filter, whichever they are.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it.
    fn with<M: Mask<N>, const N: usize>(self, rows: &Rows, mask: M) -> Self::Output;
}

impl Rows {
    /// `None` for a shape that is not as above.
    pub fn new(config: &Config, h3: &H3) -> Option<Self> {
        let row = Field::selecting(config.rows, 0);
        let index = Field::selecting(config.part_w().into(), row.end());
        let Field { width, n, .. } = index;
        if config.group != 1 || config.hashes * width > 64 || row.width > 32 {
            return None;
        }
        let any = Any { count: config.hashes, width, n, step: config.part_lsb(1) };
        let whole = Whole { count: config.hashes };
        let parts = config.in_block == InBlock::Partitioned;
        let masks = match (config.block_w, config.part_w()) {
            (256, 32) if parts => Masks::Parts32,
            (512, 64) if parts => Masks::Parts64,
            (256, 256) => Masks::Whole4(whole),
            (512, 512) => Masks::Whole8(whole),
            (64, _) => Masks::Any1(any),
            (128, _) => Masks::Any2(any),
            (256, _) => Masks::Any4(any),
            (512, _) => Masks::Any8(any),
            _ => return None,
        };
        let place_of = |i: u32| match masks {
            Masks::Parts32 => (i / 2 + i % 2 * 4) * width,
            _ => i * width,
        };
        let mut moves = vec![Moved { lsb: row.lsb, width: row.width, word: 0, at: 0 }];
        moves.extend((0..config.hashes).map(|i| {
            let (lsb, at) = (index.lsb + i * width, place_of(i));
            Moved { lsb, width, word: 1, at }
        }));
        Some(Self { hash: Packed::new(h3, &moves), row, masked: config.masked, masks })
    }

    #[inline(always)]
    fn place(&self, [row, indices]: [u64; 2]) -> Place {
        // For a power of two this is the field as it is.
        Place {
            row: ((u64::from(row as u32) * u64::from(self.row.n as u32)) >> self.row.width) as usize,
            indices,
        }
    }

    /// Does something with the masks.
    #[inline(always)]
    pub fn visit<V: Visit>(&self, visit: V) -> V::Output {
        match self.masks {
            Masks::Parts32 => visit.with::<_, 4>(self, Parts32),
            Masks::Parts64 => visit.with::<_, 8>(self, Parts64),
            Masks::Whole4(whole) => visit.with::<_, 4>(self, whole),
            Masks::Whole8(whole) => visit.with::<_, 8>(self, whole),
            Masks::Any1(any) => visit.with::<_, 1>(self, any),
            Masks::Any2(any) => visit.with::<_, 2>(self, any),
            Masks::Any4(any) => visit.with::<_, 4>(self, any),
            Masks::Any8(any) => visit.with::<_, 8>(self, any),
        }
    }
}

/// The rows of a memory, to be read, or read and written.
pub struct View<'a, W, M, const N: usize> {
    /// The filter that they belong to.
    pub rows: &'a Rows,
    /// All of them.
    pub words: W,
    /// Its masks.
    pub mask: M,
}

/// What the hash says about a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    row: usize,
    indices: u64,
}

impl<W: AsRef<[[u64; N]]>, M: Mask<N>, const N: usize> Staged for View<'_, W, M, N> {
    type Place = Place;

    #[inline(always)]
    fn place(&self, key: &[u64]) -> Place {
        self.rows.place(self.rows.hash.hash(key))
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut [Place; GROUP]) {
        let mut hashes = [[0; 2]; GROUP];
        self.rows.hash.hash_group(level, keys, each, &mut hashes);
        for (place, hash) in places.iter_mut().zip(hashes) {
            *place = self.rows.place(hash);
        }
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        self.words.as_ref().len() * N > FAR
    }

    #[inline(always)]
    fn prefetch(&self, place: &Place) {
        cpu::prefetch(&self.words.as_ref()[place.row]);
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, _: L, _: &[u64], place: &Place) -> bool {
        missing(&self.words.as_ref()[place.row], self.mask.mask(place.indices)) == 0
    }
}

impl<W: AsRef<[[u64; N]]> + AsMut<[[u64; N]]>, M: Mask<N>, const N: usize> StagedMut for View<'_, W, M, N> {
    #[inline(always)]
    fn insert_at<L: Level>(&mut self, _: L, _: &[u64], place: &Place) -> Answer {
        let (row, mask) = (&mut self.words.as_mut()[place.row], self.mask.mask(place.indices));
        let hit = missing(row, mask) == 0 && !self.rows.masked;
        for (word, mask) in row.iter_mut().zip(mask) {
            *word |= mask;
        }
        Answer { hit, status: Status::Ok }
    }
}

impl<M: Mask<N>, const N: usize> Sharded for View<'_, &mut [[u64; N]], M, N> {
    fn shards(self, count: usize) -> (Vec<Self>, usize) {
        let Self { rows, words, mask } = self;
        let share = words.len().div_ceil(count);
        (words.chunks_mut(share).map(|words| Self { rows, words, mask }).collect(), share)
    }

    #[inline(always)]
    fn row(place: &mut Place) -> &mut usize {
        &mut place.row
    }
}

#[inline(always)]
fn missing<const N: usize>(row: &[u64; N], mask: [u64; N]) -> u64 {
    let mut missing = 0;
    for i in 0..N {
        missing |= mask[i] & !row[i];
    }
    missing
}

//! Rows of whole words: all bits of a key are tested or set at once.
//!
//! A row is an array of words, and so is the mask of a key. Loops over them have a length known
//! at compile time and no branch, which is what a compiler makes vector instructions of.

use std::ops::Range;

use crate::{
    batch::{FAR, GROUP, Places, Staged, StagedMut},
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
    row: Field,
    masked: bool,
    shape: Shape,
}

/// How keys are hashed, and how indices become the mask of a row.
#[derive(Clone, Debug)]
enum Shape {
    Parts32(OneWord<Parts32>),
    Parts64(OneWord<Parts64>),
    ManyParts64(TwoWords<Parts64>),
    Whole4(TwoWords<Whole>),
    Whole8(TwoWords<Whole>),
    Any1(TwoWords<Any>),
    Any2(TwoWords<Any>),
    Any4(TwoWords<Any>),
    Any8(TwoWords<Any>),
}

/// Keys to the field that selects the row and to indices, and those to masks of `N` words.
pub trait Keys<const N: usize>: Sync {
    /// Field and indices.
    type Hash: Copy + Default + Send + Sync;

    /// The hash of a key.
    fn hash(&self, key: &[u64]) -> Self::Hash;

    /// Those of a group.
    fn hash_group<L: Level>(&self, level: L, keys: &[u64], each: usize, hashes: &mut [Self::Hash; GROUP]);

    /// The field.
    fn field(hash: Self::Hash) -> u64;

    /// The bits of a key.
    fn mask<L: Level>(&self, level: L, hash: Self::Hash) -> [u64; N];
}

/// Indices and row field share a word: half the tables, half the work.
#[derive(Clone, Debug)]
struct OneWord<M> {
    hash: Packed<1>,
    mask: M,
}

/// The row field in the first word, the indices in the second.
#[derive(Clone, Debug)]
struct TwoWords<M> {
    hash: Packed,
    mask: M,
}

/// Indices to a mask of `N` words.
trait Mask<const N: usize>: Copy + Sync {
    /// The bits of a key.
    fn mask<L: Level>(self, level: L, indices: u64) -> [u64; N];
}

/// Where the word of the indices has room for the row field.
trait Room: Copy + Sync {
    /// Bits of the word, one range after the other.
    const ROOM: &'static [Range<u32>];

    /// The field.
    fn field(word: u64) -> u64;
}

/// Eight parts of 32 bits, with indices of 5 bits: those of even parts from bit 0 on, those of odd
/// parts from bit 32 on.
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

impl<M: Mask<N> + Room, const N: usize> Keys<N> for OneWord<M> {
    type Hash = u64;

    #[inline(always)]
    fn hash(&self, key: &[u64]) -> u64 {
        self.hash.hash(key)[0]
    }

    #[inline(always)]
    fn hash_group<L: Level>(&self, level: L, keys: &[u64], each: usize, hashes: &mut [u64; GROUP]) {
        [*hashes] = self.hash.hash_group(level, keys, each);
    }

    #[inline(always)]
    fn field(hash: u64) -> u64 {
        M::field(hash)
    }

    #[inline(always)]
    fn mask<L: Level>(&self, level: L, hash: u64) -> [u64; N] {
        self.mask.mask(level, hash)
    }
}

impl<M: Mask<N>, const N: usize> Keys<N> for TwoWords<M> {
    type Hash = [u64; 2];

    #[inline(always)]
    fn hash(&self, key: &[u64]) -> [u64; 2] {
        self.hash.hash(key)
    }

    #[inline(always)]
    fn hash_group<L: Level>(&self, level: L, keys: &[u64], each: usize, hashes: &mut [[u64; 2]; GROUP]) {
        let [fields, indices] = self.hash.hash_group(level, keys, each);
        for (i, hash) in hashes.iter_mut().enumerate() {
            *hash = [fields[i], indices[i]];
        }
    }

    #[inline(always)]
    fn field([field, _]: [u64; 2]) -> u64 {
        field
    }

    #[inline(always)]
    fn mask<L: Level>(&self, level: L, [_, indices]: [u64; 2]) -> [u64; N] {
        self.mask.mask(level, indices)
    }
}

impl Room for Parts32 {
    const ROOM: &'static [Range<u32>] = &[20..32, 52..64];

    #[inline(always)]
    fn field(word: u64) -> u64 {
        word >> 20 & 0xfff | word >> 52 << 12
    }
}

impl Room for Parts64 {
    const ROOM: &'static [Range<u32>] = &[48..64];

    #[inline(always)]
    fn field(word: u64) -> u64 {
        word >> 48
    }
}

impl Mask<4> for Parts32 {
    #[inline(always)]
    fn mask<L: Level>(self, level: L, indices: u64) -> [u64; 4] {
        level.one_of_32(indices)
    }
}

impl Mask<8> for Parts64 {
    #[inline(always)]
    fn mask<L: Level>(self, _: L, indices: u64) -> [u64; 8] {
        std::array::from_fn(|i| 1 << (indices >> (6 * i) & 63))
    }
}

impl<const N: usize> Mask<N> for Whole {
    #[inline(always)]
    fn mask<L: Level>(self, _: L, indices: u64) -> [u64; N] {
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
    fn mask<L: Level>(self, _: L, indices: u64) -> [u64; N] {
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

/// Something to do with the keys of a filter, whatever its shape.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it.
    fn with<K: Keys<N>, const N: usize>(self, rows: &Rows, keys: &K) -> Self::Output;
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
        let moved = |i: u32, word: usize, at: u32| Moved { lsb: index.lsb + i * width, width, word, at };
        let shape = match (config.block_w, config.part_w()) {
            (256, 32) if parts && fits::<Parts32>(row) => {
                let indices = (0..8).map(|i| moved(i, 0, i % 2 * 32 + i / 2 * width));
                Shape::Parts32(OneWord::new(h3, row, indices, Parts32))
            }
            (512, 64) if parts && fits::<Parts64>(row) => {
                Shape::Parts64(OneWord::new(h3, row, (0..8).map(|i| moved(i, 0, i * width)), Parts64))
            }
            (block_w, part_w) => {
                let mut moves = vec![Moved { lsb: row.lsb, width: row.width, word: 0, at: 0 }];
                moves.extend((0..config.hashes).map(|i| moved(i, 1, i * width)));
                let hash = Packed::new(h3, &moves);
                match (block_w, part_w) {
                    (512, 64) if parts => Shape::ManyParts64(TwoWords { hash, mask: Parts64 }),
                    (256, 256) => Shape::Whole4(TwoWords { hash, mask: whole }),
                    (512, 512) => Shape::Whole8(TwoWords { hash, mask: whole }),
                    (64, _) => Shape::Any1(TwoWords { hash, mask: any }),
                    (128, _) => Shape::Any2(TwoWords { hash, mask: any }),
                    (256, _) => Shape::Any4(TwoWords { hash, mask: any }),
                    (512, _) => Shape::Any8(TwoWords { hash, mask: any }),
                    _ => return None,
                }
            }
        };
        Some(Self { row, masked: config.masked, shape })
    }

    #[inline(always)]
    fn row(&self, field: u64) -> u32 {
        // For a power of two this is the field as it is.
        ((u64::from(field as u32) * u64::from(self.row.n as u32)) >> self.row.width) as u32
    }

    /// Does something with the keys.
    #[inline(always)]
    pub fn visit<V: Visit>(&self, visit: V) -> V::Output {
        match &self.shape {
            Shape::Parts32(keys) => visit.with::<_, 4>(self, keys),
            Shape::Parts64(keys) => visit.with::<_, 8>(self, keys),
            Shape::ManyParts64(keys) => visit.with::<_, 8>(self, keys),
            Shape::Whole4(keys) => visit.with::<_, 4>(self, keys),
            Shape::Whole8(keys) => visit.with::<_, 8>(self, keys),
            Shape::Any1(keys) => visit.with::<_, 1>(self, keys),
            Shape::Any2(keys) => visit.with::<_, 2>(self, keys),
            Shape::Any4(keys) => visit.with::<_, 4>(self, keys),
            Shape::Any8(keys) => visit.with::<_, 8>(self, keys),
        }
    }
}

/// Whether there is room for the field.
fn fits<M: Room>(row: Field) -> bool {
    row.width <= M::ROOM.iter().map(ExactSizeIterator::len).sum::<usize>() as u32
}

impl<M: Room> OneWord<M> {
    fn new(h3: &H3, row: Field, indices: impl Iterator<Item = Moved>, mask: M) -> Self {
        let mut moves: Vec<_> = indices.collect();
        let mut lsb = row.lsb;
        for room in M::ROOM {
            let width = (row.end() - lsb).min(room.end - room.start);
            moves.push(Moved { lsb, width, word: 0, at: room.start });
            lsb += width;
        }
        Self { hash: Packed::new(h3, &moves), mask }
    }
}

/// The rows of a memory, to be read, or read and written.
pub struct View<'a, W, K, const N: usize> {
    /// The filter that they belong to.
    pub rows: &'a Rows,
    /// All of them, or a thread's share.
    pub words: W,
    /// Its keys.
    pub keys: &'a K,
}

/// What the hash says about a key.
#[derive(Clone, Copy)]
pub struct Place<H> {
    row: usize,
    hash: H,
}

/// The same for a group: rows side by side are computed together.
#[derive(Default)]
pub struct RowsOf<H> {
    rows: [u32; GROUP],
    hashes: [H; GROUP],
}

impl<H: Copy + Default> Places<Place<H>> for RowsOf<H> {
    #[inline(always)]
    fn put(&mut self, i: usize, Place { row, hash }: Place<H>) {
        (self.rows[i], self.hashes[i]) = (row as u32, hash);
    }

    #[inline(always)]
    fn get(&self, i: usize) -> Place<H> {
        Place { row: self.rows[i] as usize, hash: self.hashes[i] }
    }
}

impl<W: AsRef<[[u64; N]]>, K: Keys<N>, const N: usize> Staged for View<'_, W, K, N> {
    type Place = Place<K::Hash>;
    type Places = RowsOf<K::Hash>;

    #[inline(always)]
    fn place(&self, key: &[u64]) -> Self::Place {
        let hash = self.keys.hash(key);
        Place { row: self.rows.row(K::field(hash)) as usize, hash }
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Self::Places) {
        self.keys.hash_group(level, keys, each, &mut places.hashes);
        for (row, hash) in places.rows.iter_mut().zip(places.hashes) {
            *row = self.rows.row(K::field(hash));
        }
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        self.words.as_ref().len() * N > FAR
    }

    #[inline(always)]
    fn prefetch(&self, place: &Self::Place) {
        cpu::prefetch(&self.words.as_ref()[place.row]);
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, level: L, _: &[u64], place: &Self::Place) -> bool {
        missing(&self.words.as_ref()[place.row], self.keys.mask(level, place.hash)) == 0
    }
}

impl<W: AsRef<[[u64; N]]> + AsMut<[[u64; N]]>, K: Keys<N>, const N: usize> StagedMut for View<'_, W, K, N> {
    #[inline(always)]
    fn insert_at<L: Level>(&mut self, level: L, _: &[u64], place: &Self::Place) -> Answer {
        let mask = self.keys.mask(level, place.hash);
        let row = &mut self.words.as_mut()[place.row];
        let hit = missing(row, mask) == 0 && !self.rows.masked;
        for (word, mask) in row.iter_mut().zip(mask) {
            *word |= mask;
        }
        Answer { hit, status: Status::Ok }
    }
}

impl<K: Keys<N>, const N: usize> Sharded for View<'_, &mut [[u64; N]], K, N> {
    fn shards(self, count: usize) -> (Vec<Self>, usize) {
        let Self { rows, words, keys } = self;
        let share = words.len().div_ceil(count);
        (words.chunks_mut(share).map(|words| Self { rows, words, keys }).collect(), share)
    }

    #[inline(always)]
    fn row(place: &mut Self::Place) -> &mut usize {
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

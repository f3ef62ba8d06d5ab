//! Rows of whole words: all bits of a key are tested or set at once.
//!
//! A row is an array of words, and so is the mask of a key. Loops over them have a length known
//! at compile time and no branch, which is what a compiler makes vector instructions of.

mod masks;

use crate::{
    cpu::{Cpu, GROUP, Level, Numbers},
    hash::{Field, H3, Moved, Packed},
};

use super::{Config, InBlock, alone::Test};
use masks::{Any, Mask, Parts32, Parts64, Room, Whole256, Whole512, fits};

/// What is known in advance of filters whose rows are 1, 2, 4 or 8 words, one row per key, and
/// whose indices fit into one word and the row field into half a word.
#[derive(Clone, Debug)]
pub struct Rows {
    /// How many there are.
    n: u32,
    masked: bool,
    shape: Shape,
}

/// How keys are hashed, and how indices become the mask of a row.
#[derive(Clone, Debug)]
enum Shape {
    Parts32(OneWord<Parts32>),
    Parts64(OneWord<Parts64>),
    ManyParts32(TwoWords<Parts32>),
    ManyParts64(TwoWords<Parts64>),
    Whole256(TwoWords<Whole256>),
    Whole512(TwoWords<Whole512>),
    Any1(TwoWords<Any>),
    Any2(TwoWords<Any>),
    Any4(TwoWords<Any>),
    Any8(TwoWords<Any>),
}

/// Keys to hashes of `M` words, and those to rows and masks of `N` words.
pub trait Keys<const N: usize, const M: usize>: Sync {
    /// What levels call the indices, if they know them.
    const NUMBERS: Option<Numbers>;

    /// How keys are hashed.
    fn hash(&self) -> &Packed<M>;

    /// The keys of a filter, if they are of this kind.
    fn of(rows: &Rows) -> Option<&Self>;

    /// The field that selects the row, at the top of half a word, and the indices. What else is in their word does no harm.
    fn split(hash: [u64; M]) -> (u32, u64);

    /// Hashes a group of keys, of so many words each, and says where the row of each begins, in words, and which indices it has.
    fn places<L: Level>(
        &self,
        level: L,
        rows: &Rows,
        keys: (&[u64], usize),
        places: (&mut [u32; GROUP], &mut [u64; GROUP]),
    );

    /// The bits of a key.
    fn mask<L: Level>(&self, level: L, indices: u64) -> [u64; N];

    /// Sets them in a row. Whether all of them were set before.
    fn put<L: Level>(&self, level: L, indices: u64, row: &mut [u64; N]) -> bool;

    /// Whether a row has them all.
    fn are_in<L: Level>(&self, level: L, indices: u64, row: &[u64; N]) -> bool;

    /// The same for two.
    fn are_in_two<L: Level>(&self, level: L, indices: [u64; 2], rows: [&[u64; N]; 2]) -> [bool; 2];
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

impl<K: Mask<N> + Room, const N: usize> Keys<N, 1> for OneWord<K> {
    const NUMBERS: Option<Numbers> = K::NUMBERS;

    #[inline(always)]
    fn hash(&self) -> &Packed<1> {
        &self.hash
    }

    #[inline(always)]
    fn of(rows: &Rows) -> Option<&Self> {
        K::one_word(&rows.shape)
    }

    #[inline(always)]
    fn split([word]: [u64; 1]) -> (u32, u64) {
        (K::field(word), word)
    }

    #[inline(always)]
    fn places<L: Level>(
        &self,
        level: L,
        rows: &Rows,
        (keys, each): (&[u64], usize),
        (starts, indices): (&mut [u32; GROUP], &mut [u64; GROUP]),
    ) {
        self.hash.hash_group(level, keys, each, std::array::from_mut(indices));
        for (start, word) in starts.iter_mut().zip(indices) {
            *start = rows.row(K::field(*word)) * N as u32;
        }
    }

    #[inline(always)]
    fn mask<L: Level>(&self, level: L, indices: u64) -> [u64; N] {
        self.mask.mask(level, indices)
    }

    #[inline(always)]
    fn put<L: Level>(&self, level: L, indices: u64, row: &mut [u64; N]) -> bool {
        self.mask.put(level, indices, row)
    }

    #[inline(always)]
    fn are_in<L: Level>(&self, level: L, indices: u64, row: &[u64; N]) -> bool {
        self.mask.are_in(level, indices, row)
    }

    #[inline(always)]
    fn are_in_two<L: Level>(&self, level: L, indices: [u64; 2], rows: [&[u64; N]; 2]) -> [bool; 2] {
        self.mask.are_in_two(level, indices, rows)
    }
}

impl<K: Mask<N>, const N: usize> Keys<N, 2> for TwoWords<K> {
    const NUMBERS: Option<Numbers> = K::NUMBERS;

    #[inline(always)]
    fn hash(&self) -> &Packed {
        &self.hash
    }

    #[inline(always)]
    fn of(rows: &Rows) -> Option<&Self> {
        K::two_words(&rows.shape)
    }

    #[inline(always)]
    fn split([word, indices]: [u64; 2]) -> (u32, u64) {
        ((word >> 32) as u32, indices)
    }

    #[inline(always)]
    fn places<L: Level>(
        &self,
        level: L,
        rows: &Rows,
        keys: (&[u64], usize),
        (starts, indices): (&mut [u32; GROUP], &mut [u64; GROUP]),
    ) {
        self.hash.choose_group::<L, N>(level, rows.n, keys, starts, indices);
    }

    #[inline(always)]
    fn mask<L: Level>(&self, level: L, indices: u64) -> [u64; N] {
        self.mask.mask(level, indices)
    }

    #[inline(always)]
    fn put<L: Level>(&self, level: L, indices: u64, row: &mut [u64; N]) -> bool {
        self.mask.put(level, indices, row)
    }

    #[inline(always)]
    fn are_in<L: Level>(&self, level: L, indices: u64, row: &[u64; N]) -> bool {
        self.mask.are_in(level, indices, row)
    }

    #[inline(always)]
    fn are_in_two<L: Level>(&self, level: L, indices: [u64; 2], rows: [&[u64; N]; 2]) -> [bool; 2] {
        self.mask.are_in_two(level, indices, rows)
    }
}

/// Something to do with the keys of a filter, whatever its shape.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it.
    fn with<K: Keys<N, M>, const N: usize, const M: usize>(self, rows: &Rows, keys: &K) -> Self::Output;
}

impl Rows {
    /// `None` for a shape that is not as above.
    pub fn new(config: &Config, h3: &H3, cpu: Cpu) -> Option<Self> {
        let row = Field::selecting(config.rows, 0);
        let index = Field::selecting(config.part_w().into(), row.end());
        let Field { width, n, .. } = index;
        if config.group != 1 || config.hashes * width > 64 || row.width > 32 {
            return None;
        }
        let any = Any { count: config.hashes, width, n, step: config.part_lsb(1) };
        let parts = config.in_block == InBlock::Partitioned;
        let moved = |i: u32, word: usize, at: u32| Moved { lsb: index.lsb + i * width, width, word, at };
        // Two words take longer to hash, but where processors multiply matrices less than to cut the row field out of one.
        let shape = match (config.block_w, config.part_w()) {
            (256, 32) if parts && !cpu.has_products() && fits::<Parts32>(row) => {
                let indices = (0..8).map(|i| moved(i, 0, i % 2 * 32 + i / 2 * width));
                Shape::Parts32(OneWord::new(h3, row, indices, Parts32))
            }
            (512, 64) if parts && !cpu.has_products() && fits::<Parts64>(row) => {
                Shape::Parts64(OneWord::new(h3, row, (0..8).map(|i| moved(i, 0, i * width)), Parts64))
            }
            (block_w, part_w) => {
                let two_words = |indices: &mut dyn Iterator<Item = Moved>| {
                    let row = Moved { lsb: row.lsb, width: row.width, word: 0, at: 64 - row.width };
                    Packed::new(h3, &std::iter::once(row).chain(indices).collect::<Vec<_>>())
                };
                let in_order = || two_words(&mut (0..config.hashes).map(|i| moved(i, 1, i * width)));
                // Index 0 again after the last.
                let filled = move |i: u32| if i < config.hashes { i } else { 0 };
                match (block_w, part_w) {
                    (256, 32) if parts => {
                        let hash = two_words(&mut (0..8).map(|i| moved(i, 1, i % 2 * 32 + i / 2 * width)));
                        Shape::ManyParts32(TwoWords { hash, mask: Parts32 })
                    }
                    (512, 64) if parts => Shape::ManyParts64(TwoWords { hash: in_order(), mask: Parts64 }),
                    (256, 256) => {
                        let hash = two_words(&mut (0..8).map(|i| moved(filled(i), 1, i * width)));
                        Shape::Whole256(TwoWords { hash, mask: Whole256 })
                    }
                    (512, 512) => {
                        let hash = two_words(&mut (0..7).flat_map(|i| {
                            let Moved { lsb, word, .. } = moved(filled(i), 1, 0);
                            let half = Moved { lsb: lsb + 1, width: 8, word, at: 8 * i };
                            [half, Moved { lsb, width: 1, word, at: 56 + i }]
                        }));
                        Shape::Whole512(TwoWords { hash, mask: Whole512 })
                    }
                    (64, _) => Shape::Any1(TwoWords { hash: in_order(), mask: any }),
                    (128, _) => Shape::Any2(TwoWords { hash: in_order(), mask: any }),
                    (256, _) => Shape::Any4(TwoWords { hash: in_order(), mask: any }),
                    (512, _) => Shape::Any8(TwoWords { hash: in_order(), mask: any }),
                    _ => return None,
                }
            }
        };
        Some(Self { n: row.n as u32, masked: config.masked, shape })
    }

    /// The row that a field selects.
    #[inline(always)]
    pub fn row(&self, field: u32) -> u32 {
        ((u64::from(field) * u64::from(self.n)) >> 32) as u32
    }

    /// How one key at a time is tested, if that need not be a call.
    pub fn test(&self) -> Option<Test> {
        match &self.shape {
            Shape::Parts32(_) | Shape::ManyParts32(_) => Some(Test::Of256(InBlock::Partitioned)),
            Shape::Parts64(_) | Shape::ManyParts64(_) => Some(Test::Parts512),
            Shape::Whole256(_) => Some(Test::Of256(InBlock::Standard)),
            Shape::Whole512(_) => Some(Test::Whole512),
            Shape::Any1(_) | Shape::Any2(_) | Shape::Any4(_) | Shape::Any8(_) => None,
        }
    }

    /// An insert does not read.
    #[inline(always)]
    pub fn masked(&self) -> bool {
        self.masked
    }

    /// Does something with the keys.
    #[inline(always)]
    pub fn visit<V: Visit>(&self, visit: V) -> V::Output {
        match &self.shape {
            Shape::Parts32(keys) => visit.with::<_, 4, _>(self, keys),
            Shape::Parts64(keys) => visit.with::<_, 8, _>(self, keys),
            Shape::ManyParts64(keys) => visit.with::<_, 8, _>(self, keys),
            Shape::ManyParts32(keys) => visit.with::<_, 4, _>(self, keys),
            Shape::Whole256(keys) => visit.with::<_, 4, _>(self, keys),
            Shape::Whole512(keys) => visit.with::<_, 8, _>(self, keys),
            Shape::Any1(keys) => visit.with::<_, 1, _>(self, keys),
            Shape::Any2(keys) => visit.with::<_, 2, _>(self, keys),
            Shape::Any4(keys) => visit.with::<_, 4, _>(self, keys),
            Shape::Any8(keys) => visit.with::<_, 8, _>(self, keys),
        }
    }
}

impl<M: Room> OneWord<M> {
    fn new(h3: &H3, row: Field, indices: impl Iterator<Item = Moved>, mask: M) -> Self {
        let mut moves: Vec<_> = indices.collect();
        // From the top on.
        let mut end = row.end();
        for (start, room) in M::ROOM.iter().rev() {
            let width = (end - row.lsb).min(room - start);
            end -= width;
            moves.push(Moved { lsb: end, width, word: 0, at: room - width });
        }
        Self { hash: Packed::new(h3, &moves), mask }
    }
}

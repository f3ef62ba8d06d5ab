//! One key, tested where it is asked for.

use crate::{
    cpu::{Inlined, MORE_ROOM_OF_256, Pairs, ROOM_OF_256, ROOM_OF_512},
    hash::{Field, H3, Moved},
    sram::Memory,
};

/// How keys that are plain are tested one by one.
#[derive(Clone, Debug)]
pub struct Alone {
    level: Inlined,
    hash: Box<Pairs>,
    test: Test,
    /// What the row field is multiplied by: half a word above the product is the row.
    scale: u32,
}

/// Rows that are tested at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// 256 bits in eight parts.
    Parts256,
    /// 512 bits in eight parts.
    Parts512,
    /// Eight among 256 bits.
    Whole256,
    /// The same with a row field that does not fit into one word.
    Wide256,
    /// Seven among 512 bits.
    Whole512,
}

impl Test {
    /// The bits of both words that are there for the row field.
    fn room(self) -> [u64; 2] {
        match self {
            Self::Parts256 | Self::Parts512 => [0, u64::MAX >> 32],
            Self::Whole256 => [ROOM_OF_256, 0],
            Self::Wide256 => [ROOM_OF_256, MORE_ROOM_OF_256],
            Self::Whole512 => [ROOM_OF_512, 0],
        }
    }

    /// Bits that the test wants the other way round.
    fn flipped(self) -> [u64; 2] {
        match self {
            // They count from the top.
            Self::Parts256 => [0x1f1f_1f1f_1f1f_1f1f, 0],
            Self::Parts512 => [0x3f3f_3f3f_3f3f_3f3f, 0],
            Self::Whole256 | Self::Wide256 => [0, 0],
            // There is no eighth.
            Self::Whole512 => [0, 0x80 << 56],
        }
    }

    /// How many indices the test takes.
    fn indices(self) -> u32 {
        if self == Self::Whole512 { 7 } else { 8 }
    }

    /// Where it wants the bits of index `i`, which is from this hash bit on: from one on, so many, to a bit of a word.
    fn places(self, lsb: u32, i: u32) -> impl Iterator<Item = Moved> {
        let places: &[(u32, u32, usize, u32)] = match self {
            Self::Parts256 => &[(0, 5, 0, 0)],
            Self::Parts512 => &[(0, 6, 0, 0)],
            Self::Whole256 | Self::Wide256 => &[(3, 4, 0, 0), (0, 3, 1, 0), (7, 1, 1, 3)],
            Self::Whole512 => &[(3, 4, 0, 0), (0, 3, 1, 0), (7, 1, 1, 3), (8, 1, 1, 7)],
        };
        places.iter().map(move |&(from, width, word, at)| Moved {
            lsb: lsb + from,
            width,
            word,
            at: 8 * i + at,
        })
    }
}

impl Alone {
    /// `None` where keys are not plain, or have a row field that there is no room for. There are at most as many indices as the
    /// test takes.
    pub fn new(level: Inlined, test: Test, h3: &H3, row: Field, index: Field, indices: u32) -> Option<Self> {
        let room: u32 = test.room().map(u64::count_ones).iter().sum();
        // The product of both has at most a word.
        let scale = row.n.checked_shl(32 - room).and_then(|scale| u32::try_from(scale).ok());
        let Some(scale) = scale.filter(|_| row.width <= room) else {
            let wide = (test == Test::Whole256).then_some(Test::Wide256)?;
            return Self::new(level, wide, h3, row, index, indices);
        };
        let places = (0..)
            .zip(test.room())
            .flat_map(|(word, room)| (0..64).filter(move |at| room >> at & 1 == 1).map(move |at| (word, at)));
        // At the top of the room.
        let places = places.skip((room - row.width) as usize);
        let row_bits =
            (row.lsb..row.end()).zip(places).map(|(lsb, (word, at))| Moved { lsb, width: 1, word, at });
        let moves = (0..test.indices()).flat_map(|i| {
            // Index 0 again after the last.
            let from = if i < indices { i } else { 0 };
            test.places(index.lsb + from * index.width, i)
        });
        let hash = h3.pairs(&moves.chain(row_bits).collect::<Vec<_>>(), test.flipped())?;
        Some(Self { level, hash, test, scale })
    }

    /// Whether a key may be present.
    #[inline(always)]
    pub fn contains(&self, memory: &Memory, key: u64) -> bool {
        let (level, words) = (self.level, memory.words());
        match self.test {
            Test::Parts256 => {
                let bits = level.sum::<{ Test::Parts256 as u8 }>(&self.hash, key);
                level.one_of_each_32(words.as_chunks().0, self.scale, bits)
            }
            Test::Parts512 => {
                let bits = level.sum::<{ Test::Parts512 as u8 }>(&self.hash, key);
                level.one_of_each_64(words.as_chunks().0, self.scale, bits)
            }
            Test::Whole256 => {
                let bits = level.sum::<{ Test::Whole256 as u8 }>(&self.hash, key);
                level.all_of_256::<false>(words.as_chunks().0, self.scale, bits)
            }
            Test::Wide256 => {
                let bits = level.sum::<{ Test::Wide256 as u8 }>(&self.hash, key);
                level.all_of_256::<true>(words.as_chunks().0, self.scale, bits)
            }
            Test::Whole512 => {
                let bits = level.sum::<{ Test::Whole512 as u8 }>(&self.hash, key);
                level.all_of_512(words.as_chunks().0, self.scale, bits)
            }
        }
    }
}

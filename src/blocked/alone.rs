//! One key, tested where it is asked for.

use crate::{
    cpu::{AllRows, Cpu, Inlined, InlinedWider, InlinedWidest, Pairs, ROOM_OF_512},
    hash::{Field, H3, Moved},
    sram::Memory,
};

use super::InBlock;

/// How keys that are plain are tested one by one.
#[derive(Clone, Debug)]
pub struct Alone {
    level: Inlined,
    hash: Box<Pairs>,
    test: Test,
}

/// Rows that are tested at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Eight among 256 bits, in parts or anywhere.
    Of256(InBlock),
    /// 512 bits in eight parts.
    Parts512,
    /// Seven among 512 bits.
    Whole512,
    /// The same, where processors have shorter ways.
    WiderOf256(InlinedWider, InBlock),
    /// Eight parts.
    WiderParts512(InlinedWider),
    /// Seven.
    WiderWhole512(InlinedWider),
    /// Those of 256 bits, where processors have another way.
    Widest256(InlinedWidest, InBlock),
    /// Those of 512 bits.
    Widest512(InlinedWidest, InBlock),
}

impl Test {
    /// The way to do it that is best for a processor.
    fn on(self, cpu: Cpu) -> Self {
        match (self, cpu.inlined_widest(), cpu.inlined_wider()) {
            (Self::Of256(in_block), Some(widest), _) => Self::Widest256(widest, in_block),
            (Self::Parts512, Some(widest), _) => Self::Widest512(widest, InBlock::Partitioned),
            (Self::Whole512, Some(widest), _) => Self::Widest512(widest, InBlock::Standard),
            (Self::Of256(in_block), None, Some(wider)) => Self::WiderOf256(wider, in_block),
            (Self::Parts512, None, Some(wider)) => Self::WiderParts512(wider),
            (Self::Whole512, None, Some(wider)) => Self::WiderWhole512(wider),
            _ => self,
        }
    }

    /// The bits of both words that are there for the row field.
    fn room(self) -> [u64; 2] {
        match self {
            Self::Whole512 => [ROOM_OF_512, 0],
            Self::Widest256(..) | Self::Widest512(..) => [u64::MAX >> 32, 0],
            _ => [0, u64::MAX >> 32],
        }
    }

    /// Bits that the test wants the other way round.
    fn flipped(self) -> [u64; 2] {
        match self {
            // Places are counted from the top. The numbers of parts are what indices do not have.
            Self::Of256(InBlock::Standard) | Self::WiderOf256(_, InBlock::Standard) => {
                [0xf8f8_f8f8_f8f8_f8f8, 0]
            }
            Self::Of256(InBlock::Partitioned) | Self::WiderOf256(_, InBlock::Partitioned) => {
                [0xfffe_fdfc_fbfa_f9f8, 0]
            }
            Self::Parts512 | Self::WiderParts512(_) => [0x3f3f_3f3f_3f3f_3f3f, 0],
            Self::WiderWhole512(_) => [(0..7).map(|i| 0b1_1111_1000 << (9 * i)).sum(), 0],
            // The numbers of the first bytes of all parts.
            Self::Widest256(_, InBlock::Partitioned) => [0, 0x1c18_1410_0c08_0400],
            Self::Widest512(_, InBlock::Partitioned) => [0, 0x3830_2820_1810_0800],
            Self::Widest256(..) | Self::Widest512(..) => [0, 0],
            // There is no eighth.
            Self::Whole512 => [0, 0x80 << 56],
        }
    }

    /// How many indices the test takes.
    fn indices(self) -> u32 {
        if matches!(self, Self::Whole512 | Self::WiderWhole512(_)) { 7 } else { 8 }
    }

    /// Where it wants the bits of index `i`, which is from this hash bit on: from one on, so many, to a bit of a word, which
    /// for each index is so many further.
    fn places(self, lsb: u32, i: u32) -> impl Iterator<Item = Moved> {
        let places: &[(u32, u32, usize, u32, u32)] = match self {
            Self::Of256(InBlock::Partitioned) | Self::WiderOf256(_, InBlock::Partitioned) => {
                &[(0, 5, 0, 3, 8)]
            }
            Self::Of256(InBlock::Standard) | Self::WiderOf256(_, InBlock::Standard) => {
                &[(0, 5, 0, 3, 8), (5, 3, 0, 0, 8)]
            }
            Self::Parts512 | Self::WiderParts512(_) => &[(0, 6, 0, 0, 8)],
            Self::Whole512 => &[(3, 4, 0, 0, 8), (0, 3, 1, 0, 8), (7, 1, 1, 3, 8), (8, 1, 1, 7, 8)],
            Self::WiderWhole512(_) => &[(0, 6, 0, 3, 9), (6, 3, 0, 0, 9)],
            Self::Widest256(_, InBlock::Partitioned) => &[(0, 3, 0, 32, 4), (3, 2, 1, 0, 8)],
            Self::Widest256(_, InBlock::Standard) => &[(0, 3, 0, 32, 4), (3, 5, 1, 0, 8)],
            Self::Widest512(_, InBlock::Partitioned) => &[(0, 3, 0, 32, 4), (3, 3, 1, 0, 8)],
            Self::Widest512(_, InBlock::Standard) => &[(0, 3, 0, 32, 4), (3, 6, 1, 0, 8)],
        };
        places.iter().map(move |&(from, width, word, at, step)| Moved {
            lsb: lsb + from,
            width,
            word,
            at: at + step * i,
        })
    }
}

impl Alone {
    /// `None` where keys are not plain, or have a row field that there is no room for. There are at most as many indices as the
    /// test takes.
    pub fn new(cpu: Cpu, test: Test, h3: &H3, row: Field, index: Field, indices: u32) -> Option<Self> {
        let (level, test) = (cpu.inlined()?, test.on(cpu));
        let room: u32 = test.room().map(u64::count_ones).iter().sum();
        if row.width > room {
            return None;
        }
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
        Some(Self { level, hash, test })
    }

    /// Whether a key may be present.
    #[inline(always)]
    pub fn contains(&self, memory: &Memory, key: u64) -> bool {
        let (level, rows) = (self.level, AllRows::new(memory.words()));
        match self.test {
            Test::Of256(_) => level.all_of_256(rows, level.sum::<0>(&self.hash, key)),
            Test::Parts512 => level.one_of_each_64(rows, level.sum::<1>(&self.hash, key)),
            Test::Whole512 => level.all_of_512(rows, level.sum::<2>(&self.hash, key)),
            Test::WiderOf256(wider, _) => wider.all_of_256(rows, level.sum::<3>(&self.hash, key)),
            Test::WiderParts512(wider) => wider.one_of_each_64(rows, level.sum::<4>(&self.hash, key)),
            Test::WiderWhole512(wider) => wider.all_of_512(rows, level.sum::<5>(&self.hash, key)),
            Test::Widest256(widest, _) => widest.all_of_256(rows, level.sum::<6>(&self.hash, key)),
            Test::Widest512(widest, _) => widest.all_of_512(rows, level.sum::<7>(&self.hash, key)),
        }
    }
}

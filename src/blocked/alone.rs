//! One key, tested where it is asked for.

use crate::{
    cpu::{
        AllRows, Cpu, Inlined, InlinedWidest, MORE_ROOM_OF_256, Pairs, ROOM_OF_256, ROOM_OF_512, WIDEST_ROOM,
    },
    hash::{Field, H3, Moved},
    sram::Memory,
};

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
    /// 256 bits in eight parts.
    Parts256,
    /// 512 bits in eight parts.
    Parts512,
    /// Eight among 256 bits.
    Whole256,
    /// Seven among 512 bits.
    Whole512,
    /// The last three where processors have shorter ways.
    WidestParts512(InlinedWidest),
    WidestWhole256(InlinedWidest),
    WidestWhole512(InlinedWidest),
}

impl Test {
    /// The way to do it that is best for a processor.
    fn on(self, cpu: Cpu) -> Self {
        match (self, cpu.inlined_widest()) {
            (Self::Parts512, Some(widest)) => Self::WidestParts512(widest),
            (Self::Whole256, Some(widest)) => Self::WidestWhole256(widest),
            (Self::Whole512, Some(widest)) => Self::WidestWhole512(widest),
            _ => self,
        }
    }

    /// The bits of both words that are there for the row field.
    fn room(self) -> [u64; 2] {
        match self {
            Self::Parts256 | Self::Parts512 | Self::WidestParts512(_) => [0, u64::MAX >> 32],
            Self::Whole256 => [ROOM_OF_256, MORE_ROOM_OF_256],
            Self::Whole512 => [ROOM_OF_512, 0],
            Self::WidestWhole256(_) | Self::WidestWhole512(_) => [0, WIDEST_ROOM],
        }
    }

    /// Bits that the test wants the other way round.
    fn flipped(self) -> [u64; 2] {
        match self {
            // They count from the top.
            Self::Parts256 => [0x1f1f_1f1f_1f1f_1f1f, 0],
            Self::Parts512 | Self::WidestParts512(_) => [0x3f3f_3f3f_3f3f_3f3f, 0],
            Self::Whole256 | Self::WidestWhole256(_) | Self::WidestWhole512(_) => [0, 0],
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
            Self::Parts512 | Self::WidestParts512(_) => &[(0, 6, 0, 0)],
            Self::Whole256 => &[(3, 4, 0, 0), (0, 3, 1, 0), (7, 1, 1, 3)],
            Self::Whole512 => &[(3, 4, 0, 0), (0, 3, 1, 0), (7, 1, 1, 3), (8, 1, 1, 7)],
            Self::WidestWhole256(_) => &[(3, 5, 0, 0), (0, 3, 1, 0)],
            Self::WidestWhole512(_) => &[(3, 6, 0, 0), (0, 3, 1, 0)],
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
            Test::Parts256 => level.one_of_each_32(rows, level.sum::<0>(&self.hash, key)),
            Test::Parts512 => level.one_of_each_64(rows, level.sum::<1>(&self.hash, key)),
            Test::Whole256 => level.all_of_256(rows, level.sum::<2>(&self.hash, key)),
            Test::Whole512 => level.all_of_512(rows, level.sum::<3>(&self.hash, key)),
            Test::WidestParts512(widest) => widest.one_of_each_64(rows, level.sum::<4>(&self.hash, key)),
            Test::WidestWhole256(widest) => widest.all_of_256(rows, level.sum::<5>(&self.hash, key)),
            Test::WidestWhole512(widest) => widest.all_of_512(rows, level.sum::<6>(&self.hash, key)),
        }
    }
}

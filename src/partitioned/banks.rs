//! Up to eight independent indices per key: hashed in groups, and read ahead.

use std::ops::Range;

use crate::{
    batch::{FAR, GROUP, Listed, Places, Staged, StagedMut},
    cpu::{self, Level},
    filter::Answer,
    hash::{Field, H3, Moved, Packed},
    sram::Memory,
};

/// Indices that there is room for.
pub const MOST: usize = 8;

/// How the hash of a key becomes its indices.
#[derive(Clone, Debug)]
pub struct Indices {
    /// Two fields in a word, the first in its low half.
    packed: Packed<4>,
    /// One of them: all are of one width.
    field: Field,
    /// How many there are.
    count: usize,
}

impl Indices {
    /// `None` if there are too many fields, or too wide ones.
    pub fn new(h3: &H3, fields: &[Field]) -> Option<Self> {
        let field = *fields.first()?;
        let moved = |(i, field): (usize, &Field)| Moved {
            lsb: field.lsb,
            width: field.width,
            word: i / 2,
            at: i as u32 % 2 * 32,
        };
        let moves: Vec<_> = fields.iter().take(MOST).enumerate().map(moved).collect();
        let fit = fields.len() <= MOST && field.width <= 32;
        fit.then(|| Self { packed: Packed::new(h3, &moves), field, count: fields.len() })
    }

    #[inline(always)]
    fn of(&self, hash: [u64; 4]) -> [u32; MOST] {
        std::array::from_fn(|i| {
            let bits = (hash[i / 2] >> (i % 2 * 32)) as u32;
            // For a power of two this is the field as it is.
            ((u64::from(bits) * self.field.n) >> self.field.width) as u32
        })
    }
}

/// The memories of a filter, one per index, to be read, or read and written.
pub struct View<'a, W> {
    /// How keys are hashed.
    indices: &'a Indices,
    /// The memory of each index.
    banks: [W; MOST],
    /// Those that are there: all, or a thread's share.
    used: Range<usize>,
    /// How many of them are read ahead.
    ahead: usize,
}

/// Memories that a query reads ahead: half of the keys that are not there end with the first,
/// half of the others with the second.
const FIRST: usize = 2;

impl<'a> View<'a, &'a [u64]> {
    /// All memories, to be read.
    pub fn new(indices: &'a Indices, memories: &'a [Memory]) -> Self {
        let banks = std::array::from_fn(|b| memories.get(b).map_or(&[][..], Memory::words));
        Self { indices, banks, used: 0..memories.len(), ahead: FIRST }
    }
}

impl<'a> View<'a, &'a mut [u64]> {
    /// Some of the memories, from the one with this number on, to be written.
    pub fn new_mut(indices: &'a Indices, first: usize, memories: &'a mut [Memory]) -> Self {
        let used = first..first + memories.len();
        let mut memories = memories.iter_mut().map(Memory::words_mut);
        let mut banks: [&mut [u64]; MOST] = Default::default();
        for bank in &mut banks[used.clone()] {
            *bank = memories.next().unwrap_or_default();
        }
        Self { indices, banks, used, ahead: MOST }
    }
}

impl<W: AsRef<[u64]>> View<'_, W> {
    #[inline(always)]
    fn bit(&self, bank: usize, index: u32) -> u64 {
        self.banks[bank].as_ref()[index as usize / 64] >> (index % 64) & 1
    }
}

impl<W: AsRef<[u64]>> Staged for View<'_, W> {
    type Place = [u32; MOST];
    type Places = Listed<[u32; MOST]>;

    #[inline(always)]
    fn place(&self, key: &[u64]) -> [u32; MOST] {
        self.indices.of(self.indices.packed.hash(key))
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Self::Places) {
        let hashes = self.indices.packed.hash_group(level, keys, each);
        for i in 0..GROUP {
            places.put(i, self.indices.of(std::array::from_fn(|w| hashes[w][i])));
        }
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        self.banks[self.used.start].as_ref().len() * self.used.len() > FAR
    }

    #[inline(always)]
    fn prefetch(&self, place: &[u32; MOST]) {
        for bank in self.used.clone().take(self.ahead) {
            cpu::prefetch(&self.banks[bank].as_ref()[place[bank] as usize / 64]);
        }
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, _: L, _: &[u64], place: &[u32; MOST]) -> bool {
        let first = (0..self.indices.count.min(FIRST)).fold(1, |set, bank| set & self.bit(bank, place[bank]));
        first != 0 && (FIRST..self.indices.count).fold(1, |set, bank| set & self.bit(bank, place[bank])) != 0
    }
}

impl StagedMut for View<'_, &mut [u64]> {
    #[inline(always)]
    fn insert_at<L: Level>(&mut self, _: L, _: &[u64], place: &[u32; MOST]) -> Answer {
        for bank in self.used.clone() {
            self.banks[bank][place[bank] as usize / 64] |= 1 << (place[bank] % 64);
        }
        Answer::default()
    }
}

//! Up to eight independent indices per key: hashed in groups, and read ahead.

use std::ops::Range;

use crate::{
    batch::{FAR, GROUP, Places, Staged, StagedMut},
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
    hash: Hash,
    /// One of the fields: all are of one width.
    field: Field,
    /// How many there are.
    count: usize,
}

/// Where the fields are.
#[derive(Clone, Debug)]
enum Hash {
    /// Two in a word, side by side from bit 0 on: up to 32 bits. So they take the fewest bytes.
    Pairs(Packed<4>),
    /// One in a word, at its top.
    Words(Packed<MOST>),
}

impl Indices {
    /// `None` if there are too many fields.
    pub fn new(h3: &H3, fields: &[Field]) -> Option<Self> {
        let field = fields.first().filter(|_| fields.len() <= MOST)?;
        let pairs = field.width <= 32;
        let moved = |(i, field): (usize, &Field)| {
            let (word, at) = if pairs { (i / 2, i as u32 % 2 * field.width) } else { (i, 64 - field.width) };
            Moved { lsb: field.lsb, width: field.width, word, at }
        };
        let moves: Vec<_> = fields.iter().enumerate().map(moved).collect();
        let hash =
            if pairs { Hash::Pairs(Packed::new(h3, &moves)) } else { Hash::Words(Packed::new(h3, &moves)) };
        Some(Self { hash, field: *field, count: fields.len() })
    }

    /// What the two fields in a word select. For a power of two these are the fields as they are.
    #[inline(always)]
    fn of_pair(&self, bits: u64) -> [u32; 2] {
        let Field { width, n, .. } = self.field;
        let of_one = |bits: u64| ((u64::from(bits as u32) * u64::from(n as u32)) >> width) as u32;
        [of_one(bits & (u64::MAX >> (64 - width))), of_one(bits >> width)]
    }

    /// What the field at the top of a word selects: the high half of a product of two words, by
    /// products that vectors have.
    #[inline(always)]
    fn of_word(&self, bits: u64) -> u32 {
        let n = u64::from(self.field.n as u32);
        (((bits >> 32) * n + ((u64::from(bits as u32) * n) >> 32)) >> 32) as u32
    }
}

/// The indices of a group: first all of the first memory, then all of the second, and so on.
#[derive(Clone, Debug, Default)]
pub struct Group([[u32; GROUP]; MOST]);

impl Group {
    #[inline(always)]
    fn prefetch(&self, words: &[u64], bank: usize, i: usize) {
        cpu::prefetch(words, self.0[bank][i] as usize / 64);
    }
}

impl Places<[u32; MOST]> for Group {
    #[inline(always)]
    fn put(&mut self, i: usize, place: [u32; MOST]) {
        for (indices, index) in self.0.iter_mut().zip(place) {
            indices[i] = index;
        }
    }

    #[inline(always)]
    fn get(&self, i: usize) -> [u32; MOST] {
        self.0.each_ref().map(|indices| indices[i])
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

#[inline(always)]
fn bit(words: &[u64], index: u32) -> u64 {
    words[index as usize / 64] >> (index % 64) & 1
}

impl<W: AsRef<[u64]>> View<'_, W> {
    /// Whether the bits of a key in these memories are set.
    #[inline(always)]
    fn are_set(&self, banks: Range<usize>, index: impl Fn(usize) -> u32) -> bool {
        banks.fold(1, |set, bank| set & bit(self.banks[bank].as_ref(), index(bank))) != 0
    }

    /// The same for a group: bit 0 is 0 where one is not.
    #[inline(always)]
    fn clear_missing(
        &self,
        banks: Range<usize>,
        places: &Group,
        next: Option<&Group>,
        set: &mut [u8; GROUP],
    ) {
        for bank in banks {
            let (words, numbers) = (self.banks[bank].as_ref(), &places.0[bank]);
            match next {
                Some(next) => cpu::and_bits(words, numbers, set, |words, i| next.prefetch(words, bank, i)),
                None => cpu::and_bits(words, numbers, set, |_, _| ()),
            }
        }
    }

    fn first(&self) -> usize {
        self.indices.count.min(FIRST)
    }
}

impl<W: AsRef<[u64]>> Staged for View<'_, W> {
    type Place = [u32; MOST];
    type Places = Group;

    #[inline(always)]
    fn place(&self, key: &[u64]) -> [u32; MOST] {
        let mut indices = [0; MOST];
        match &self.indices.hash {
            Hash::Pairs(packed) => {
                for (pair, bits) in indices.as_chunks_mut().0.iter_mut().zip(packed.hash(key)) {
                    *pair = self.indices.of_pair(bits);
                }
            }
            Hash::Words(packed) => {
                for (index, bits) in indices.iter_mut().zip(packed.hash(key)) {
                    *index = self.indices.of_word(bits);
                }
            }
        }
        indices
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, Group(places): &mut Group) {
        match &self.indices.hash {
            Hash::Pairs(packed) => {
                let mut hashes = [[0; GROUP]; 4];
                packed.hash_group(level, keys, each, &mut hashes);
                let pairs = places.as_chunks_mut().0.iter_mut().zip(&hashes);
                for ([low, high], hashes) in pairs.take(self.indices.count.div_ceil(2)) {
                    for i in 0..GROUP {
                        [low[i], high[i]] = self.indices.of_pair(hashes[i]);
                    }
                }
            }
            Hash::Words(packed) => {
                let mut hashes = [[0; GROUP]; MOST];
                packed.hash_group(level, keys, each, &mut hashes);
                for (indices, hashes) in places.iter_mut().zip(&hashes) {
                    for (index, bits) in indices.iter_mut().zip(hashes) {
                        *index = self.indices.of_word(*bits);
                    }
                }
            }
        }
    }

    /// Reads of different memories do not wait for each other: nearly as far as the caches reach
    /// they are faster without being asked for.
    #[inline(always)]
    fn is_far(&self) -> bool {
        self.banks[self.used.start].as_ref().len() * self.used.len() > 8 * FAR
    }

    #[inline(always)]
    fn prefetch(&self, place: &[u32; MOST]) {
        for bank in self.used.clone().take(self.ahead) {
            cpu::prefetch(self.banks[bank].as_ref(), place[bank] as usize / 64);
        }
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, _: L, _: &[u64], place: &[u32; MOST]) -> bool {
        let first = self.first();
        self.are_set(0..first, |bank| place[bank])
            && self.are_set(first..self.indices.count, |bank| place[bank])
    }

    /// The first memories for all keys; then the others are fetched for those keys that are still
    /// in question, and read.
    #[inline(always)]
    fn contains_group<L: Level>(
        &self,
        _: L,
        _: (&[u64], usize),
        places: &mut Group,
        next: Option<&Group>,
        hits: &mut [bool; GROUP],
    ) {
        let (first, count, far) = (self.first(), self.indices.count, self.is_far());
        let mut set = [1; GROUP];
        self.clear_missing(0..first, places, next, &mut set);
        let left = cpu::lowest_bits(&set);
        // Many that are left are read as quickly as all.
        let many = left.count_ones() as usize > GROUP / 2;
        if far {
            for i in ones(if many { u32::MAX } else { left }) {
                for bank in first..count {
                    places.prefetch(self.banks[bank].as_ref(), bank, i);
                }
            }
        }
        if many {
            self.clear_missing(first..count, places, None, &mut set);
            for (hit, set) in hits.iter_mut().zip(set) {
                *hit = set & 1 != 0;
            }
        } else {
            *hits = [false; GROUP];
            for i in ones(left) {
                hits[i] = self.are_set(first..count, |bank| places.0[bank][i]);
            }
        }
    }
}

/// The numbers of the bits that are set.
#[inline(always)]
fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lowest < GROUP).then_some(lowest)
    })
}

impl StagedMut for View<'_, &mut [u64]> {
    #[inline(always)]
    fn insert_at<L: Level>(&mut self, _: L, _: &[u64], place: &[u32; MOST]) -> Answer {
        for bank in self.used.clone() {
            self.banks[bank][place[bank] as usize / 64] |= 1 << (place[bank] % 64);
        }
        Answer::default()
    }

    /// One memory after the other: the order of bits that are set does not matter.
    #[inline(always)]
    fn insert_group<L: Level>(
        &mut self,
        _: L,
        _: (&[u64], usize),
        places: &Group,
        next: Option<&Group>,
        answers: &mut [Answer; GROUP],
    ) {
        for bank in self.used.clone() {
            let (words, numbers) = (&mut *self.banks[bank], &places.0[bank]);
            match next {
                Some(next) => cpu::set_bits(words, numbers, |words, i| next.prefetch(words, bank, i)),
                None => cpu::set_bits(words, numbers, |_, _| ()),
            }
        }
        *answers = [Answer::default(); GROUP];
    }
}

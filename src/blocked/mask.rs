//! The bits of a key in one row, as words that lie over those of the memory.

use crate::{
    cpu::{Level, Work},
    sram::Memory,
};

pub(super) use super::functional::MAX_K;
use super::{
    Blocked,
    rows::{Keys, Rows, Visit},
};

/// Words that the widest row can lie in.
const WORDS: usize = 512 / 64 + 1;

/// The bits of one word of a key: of a Bloom-g key there are several.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mask {
    /// Their row.
    pub row: usize,
    /// The first word of the row.
    first: usize,
    /// Words that the row may lie in.
    len: usize,
    bits: [u64; WORDS],
}

/// Words that a row lies in, if it always lies in as many; else 0.
pub fn words_of_row(block_w: u32) -> usize {
    match block_w {
        _ if block_w.is_multiple_of(64) => block_w as usize / 64,
        _ if 64 % block_w == 0 => 1,
        _ => 0,
    }
}

impl Mask {
    /// By word of the row.
    #[inline(always)]
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// Whether all bits are set. `N` is [`words_of_row`], or 0 for rows of any shape.
    #[inline(always)]
    pub fn is_set<const N: usize>(&self, memory: &Memory) -> bool {
        // Without an early end: where it would be is as good as random.
        let words = &memory.words()[self.first..];
        if let (1.., Some(words), Some(bits)) = (N, words.first_chunk::<N>(), self.bits.first_chunk::<N>()) {
            let mut missing = 0;
            for i in 0..N {
                missing |= bits[i] & !words[i];
            }
            return missing == 0;
        }
        let words = words.iter().zip(&self.bits[..self.len]);
        words.fold(0, |missing, (word, bits)| missing | bits & !word) == 0
    }

    /// Sets all bits.
    #[inline(always)]
    pub fn set<const N: usize>(&self, memory: &mut Memory) {
        let words = &mut memory.words_mut()[self.first..];
        let len = if N > 0 { N } else { self.len };
        for (word, bits) in words.iter_mut().zip(&self.bits[..len]) {
            *word |= bits;
        }
    }

    /// The bits of a row, which lies in as many words.
    #[inline(always)]
    pub fn put(&mut self, row: usize, block_w: usize, bits: impl ExactSizeIterator<Item = u64>) {
        (self.row, self.first, self.len) = (row, row * block_w / 64, bits.len());
        for (word, bits) in self.bits.iter_mut().zip(bits) {
            *word = bits;
        }
    }

    /// The bits with these numbers, over the whole memory.
    #[inline]
    fn gather(&mut self, block_w: u64, numbers: &[u64]) {
        // Most rows are of a power of two, and a division costs as much as four bits.
        let shift = block_w.trailing_zeros();
        let row = if block_w.is_power_of_two() { numbers[0] >> shift } else { numbers[0] / block_w };
        self.row = row as usize;
        let lsb = row * block_w;
        self.first = (lsb / 64) as usize;
        self.len = ((lsb % 64 + block_w).div_ceil(64)) as usize;
        self.bits = [0; WORDS];
        for number in numbers {
            self.bits[(number / 64) as usize - self.first] |= 1 << (number % 64);
        }
    }
}

/// Finds the bits of a key, in one mask for each of its words. `numbers` is room to do it in.
#[inline]
pub fn find<'m>(
    filter: &Blocked,
    key: &[u64],
    masks: impl Iterator<Item = &'m mut Mask>,
    numbers: &mut [u64; MAX_K],
) {
    if let Some(rows) = filter.rows() {
        masks.for_each(|mask| rows.visit(Whole { filter, key, mask }));
    } else {
        filter.bits(key, numbers);
        let config = filter.config();
        for (mask, numbers) in masks.zip(numbers.chunks_exact(config.bits_per_row() as usize)) {
            mask.gather(config.block_w.into(), numbers);
        }
    }
}

/// The same where a row is whole words, as the functional model does it.
struct Whole<'a, 'm> {
    filter: &'a Blocked,
    key: &'a [u64],
    mask: &'m mut Mask,
}

impl Visit for Whole<'_, '_> {
    type Output = ();

    #[inline]
    fn with<K: Keys<N, M>, const N: usize, const M: usize>(self, rows: &Rows, keys: &K) {
        let (field, indices) = K::split(keys.hash().hash(self.key));
        let bits = self.filter.cpu().run(Bits(keys, indices));
        self.mask.row = rows.row(field) as usize;
        self.mask.first = self.mask.row * N;
        self.mask.len = N;
        self.mask.bits[..N].copy_from_slice(&bits);
    }
}

struct Bits<'a, K, const N: usize, const M: usize>(&'a K, u64);

impl<K: Keys<N, M>, const N: usize, const M: usize> Work for Bits<'_, K, N, M> {
    type Output = [u64; N];

    #[inline(always)]
    fn run<L: Level>(self, level: L) -> Self::Output {
        self.0.mask(level, self.1)
    }
}

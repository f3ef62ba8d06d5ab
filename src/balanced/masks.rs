//! Blocks and masks: all bits of a key in a block at once, wherever in the words of the memory its row begins.

use super::{Balanced, Plan};

/// Makes a mask of some bits.
#[inline]
pub fn set_bits(mask: &mut [u64], bits: impl Iterator<Item = u64>) {
    mask.fill(0);
    for bit in bits {
        mask[(bit / 64) as usize] |= 1 << (bit % 64);
    }
}

/// The 64 bits from one on. Rows begin anywhere: no branch on whether they lie in two words. Those that there are no words for
/// mean nothing.
#[inline(always)]
pub fn window(words: &[u64], lsb: u64) -> u64 {
    let (word, shift) = ((lsb / 64) as usize, lsb % 64);
    words[word] >> shift | words[(word + 1).min(words.len() - 1)] << 1 << (63 - shift)
}

impl Balanced {
    /// Where a row begins: the word, and the bit in it.
    #[inline(always)]
    fn begin(&self, level: usize, row: u32) -> (usize, u32) {
        let lsb = u64::from(row) * u64::from(self.levels[level].width());
        ((lsb / 64) as usize, (lsb % 64) as u32)
    }

    /// Whether a block has all bits of a mask of `N` words, or of `len` if that is 0.
    #[inline(always)]
    pub(super) fn has_mask<const N: usize>(
        &self,
        level: usize,
        row: u32,
        len: usize,
        mask: impl Fn(usize) -> u64,
    ) -> bool {
        let (word, shift) = self.begin(level, row);
        let words = &self.levels[level].words()[word..];
        let len = if N > 0 { N } else { len };
        let mut missing = 0;
        if let (true, Some(words)) = (shift == 0, words.get(..len)) {
            for (i, word) in words.iter().enumerate() {
                missing |= mask(i) & !word;
            }
        } else if let Some(words) = words.get(..=len) {
            for (i, pair) in words.windows(2).enumerate() {
                // No shift by a whole word.
                missing |= mask(i) & !(pair[0] >> shift | pair[1] << 1 << (63 - shift));
            }
        } else {
            // The last rows: the mask may have more words than are left, but no bits there.
            let word = |i: usize| words.get(i).copied().unwrap_or(0);
            for i in 0..len {
                missing |= mask(i) & !(word(i) >> shift | word(i + 1) << 1 << (63 - shift));
            }
        }
        missing == 0
    }

    /// Whether a block of at most a word has all bits of a mask, and how many keys it has.
    #[inline(always)]
    pub(super) fn look_at(&self, level: usize, row: u32, mask: u64) -> (bool, u32) {
        let (memory, block_w) = (&self.levels[level], self.config().block_w);
        let bits = window(memory.words(), u64::from(row) * u64::from(memory.width()));
        // Whether the count lies there as well is the same for all rows.
        let count = if memory.width() <= 64 {
            (bits >> block_w & !(u64::MAX << (memory.width() - block_w))) as u32
        } else {
            self.count(level, row as usize)
        };
        (mask & !bits == 0, count)
    }

    /// Whether a block has all of some bits.
    #[inline(always)]
    pub(super) fn has_bits(&self, level: usize, row: u32, bits: impl Iterator<Item = u64>) -> bool {
        let memory = &self.levels[level];
        let (base, words) = (u64::from(row) * u64::from(memory.width()), memory.words());
        // Without an early end: where it would be is as good as random.
        bits.fold(1, |set, bit| set & words[((base + bit) / 64) as usize] >> ((base + bit) % 64)) == 1
    }

    /// Sets all bits of a mask in a block.
    #[inline]
    fn set_mask(&mut self, level: usize, row: u32, mask: &[u64]) {
        let (word, shift) = self.begin(level, row);
        let words = &mut self.levels[level].words_mut()[word..];
        for (i, bits) in mask.iter().enumerate() {
            if let Some(word) = words.get_mut(i) {
                *word |= bits << shift;
            }
            if let Some(word) = words.get_mut(i + 1) {
                *word |= bits >> 1 >> (63 - shift);
            }
        }
    }

    /// [`Balanced::commit`] for a key whose bits in the block of a choice are these.
    #[inline]
    pub(super) fn commit_masks<'m>(&mut self, key: &[u64], plan: &Plan, mask: impl Fn(usize) -> &'m [u64]) {
        self.commit_by(key, plan, |filter, c| {
            filter.set_mask(filter.choices[c].level, plan.rows[c], mask(c));
        });
    }

    /// The same with bits by their numbers, of which there are so many.
    #[inline]
    pub(super) fn commit_bits<B: Iterator<Item = u64>>(
        &mut self,
        key: &[u64],
        plan: &Plan,
        bits: impl Fn(usize, usize) -> B,
    ) {
        self.commit_by(key, plan, |filter, c| {
            let choice = &filter.choices[c];
            let memory = &mut filter.levels[choice.level];
            let base = u64::from(plan.rows[c]) * u64::from(memory.width());
            for bit in bits(c, choice.bits.len()) {
                memory.set_bit(base + bit);
            }
        });
    }
}

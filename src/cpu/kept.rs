/// Bits of a row of at most eight words that stay when it is repacked, the others being dropped.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub struct Kept {
    pub(super) mask: [u64; 8],
    /// By word: bits that are dropped before it.
    pub(super) dropped: [u8; 8],
}

/// What comes into a row, between the bits that stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Where a bit comes in: what is there or above moves up by one.
    pub bit_at: u32,
    /// That bit.
    pub bit: bool,
    /// Where a field comes in after it, above it: what is there or above moves up by its width.
    pub at: u32,
    /// Bits of the field: at most [`DROPPED`](super::DROPPED).
    pub width: u32,
    /// The field.
    pub value: u64,
}

impl Kept {
    /// Keeps the bits that `mask` has. `None` where as many as [`DROPPED`](super::DROPPED) bits are dropped before a word
    /// that has some.
    pub fn new(mask: [u64; 8]) -> Option<Self> {
        let (mut dropped, mut sum) = ([0; 8], 0);
        for (i, dropped) in dropped.iter_mut().enumerate() {
            if mask[i..].iter().any(|word| *word != 0) {
                *dropped = u8::try_from(sum).ok().filter(|_| sum < super::DROPPED)?;
            }
            sum += mask[i].count_zeros();
        }
        Some(Self { mask, dropped })
    }

    /// The bits of the first words.
    #[inline(always)]
    pub(super) fn mask<const N: usize>(&self) -> [u64; N] {
        self.mask.first_chunk().copied().unwrap_or([0; N])
    }
}

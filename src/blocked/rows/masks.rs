//! How indices become the mask of a row.

use crate::{
    cpu::{Level, Numbers},
    hash::Field,
};

use super::{OneWord, Shape, TwoWords};

/// Indices to a mask of `N` words.
pub(super) trait Mask<const N: usize>: Copy + Sync {
    /// What levels call such indices, if they know them.
    const NUMBERS: Option<Numbers>;

    /// Of this kind, among all that there are.
    fn two_words(shape: &Shape) -> Option<&TwoWords<Self>>;

    /// The bits of a key.
    fn mask<L: Level>(self, level: L, indices: u64) -> [u64; N];

    /// Sets them in a row. Whether all of them were set before.
    #[inline(always)]
    fn put<L: Level>(self, level: L, indices: u64, row: &mut [u64; N]) -> bool {
        level.put(row, &self.mask(level, indices))
    }

    /// Whether a row has them all.
    #[inline(always)]
    fn are_in<L: Level>(self, level: L, indices: u64, row: &[u64; N]) -> bool {
        level.has(row, &self.mask(level, indices))
    }

    /// The same for two.
    #[inline(always)]
    fn are_in_two<L: Level>(self, level: L, indices: [u64; 2], rows: [&[u64; N]; 2]) -> [bool; 2] {
        [self.are_in(level, indices[0], rows[0]), self.are_in(level, indices[1], rows[1])]
    }
}

/// Where the word of the indices has room for the row field.
pub(super) trait Room: Copy + Sync {
    /// Bits of the word, from one number to before another, one range after the other.
    const ROOM: &'static [(u32, u32)];

    /// Of this kind, among all that there are.
    fn one_word(shape: &Shape) -> Option<&OneWord<Self>>;

    /// The field, at the top of half a word.
    fn field(word: u64) -> u32;
}

/// Eight parts of 32 bits, with indices of 5 bits: those of even parts from bit 0 on, those of odd
/// parts from bit 32 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts32;

/// Eight parts of 64 bits: indices of 6 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts64;

/// Eight indices of 8 bits that select among all bits of a row. Where there are fewer, the first
/// stands again in the place of the others: no harm is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole256;

/// The same with seven of 9 bits: half of each in a byte, and in the last byte whether they are odd.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole512;

/// Indices of any width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Any {
    pub count: u32,
    pub width: u32,
    pub n: u64,
    /// Bits between what one index selects from, and what the next does.
    pub step: u32,
}

impl Room for Parts32 {
    const ROOM: &'static [(u32, u32)] = &[(20, 32), (52, 64)];

    #[inline(always)]
    fn one_word(shape: &Shape) -> Option<&OneWord<Self>> {
        if let Shape::Parts32(keys) = shape { Some(keys) } else { None }
    }

    #[inline(always)]
    fn field(word: u64) -> u32 {
        (word >> 12 & 0xf_ff00 | word >> 52 << 20) as u32
    }
}

impl Room for Parts64 {
    const ROOM: &'static [(u32, u32)] = &[(48, 64)];

    #[inline(always)]
    fn one_word(shape: &Shape) -> Option<&OneWord<Self>> {
        if let Shape::Parts64(keys) = shape { Some(keys) } else { None }
    }

    #[inline(always)]
    fn field(word: u64) -> u32 {
        (word >> 48 << 16) as u32
    }
}

impl Mask<4> for Parts32 {
    const NUMBERS: Option<Numbers> = Some(Numbers::OneOf32);

    #[inline(always)]
    fn two_words(shape: &Shape) -> Option<&TwoWords<Self>> {
        if let Shape::ManyParts32(keys) = shape { Some(keys) } else { None }
    }

    #[inline(always)]
    fn mask<L: Level>(self, level: L, indices: u64) -> [u64; 4] {
        level.one_of_32(indices)
    }
}

impl Mask<8> for Parts64 {
    const NUMBERS: Option<Numbers> = Some(Numbers::OneOf64);

    #[inline(always)]
    fn two_words(shape: &Shape) -> Option<&TwoWords<Self>> {
        if let Shape::ManyParts64(keys) = shape { Some(keys) } else { None }
    }

    #[inline(always)]
    fn mask<L: Level>(self, level: L, indices: u64) -> [u64; 8] {
        level.one_of_64(indices)
    }
}

impl Mask<4> for Whole256 {
    const NUMBERS: Option<Numbers> = Some(Numbers::SomeOf256);

    #[inline(always)]
    fn two_words(shape: &Shape) -> Option<&TwoWords<Self>> {
        if let Shape::Whole256(keys) = shape { Some(keys) } else { None }
    }

    #[inline(always)]
    fn mask<L: Level>(self, level: L, indices: u64) -> [u64; 4] {
        level.some_of_256(indices)
    }

    #[inline(always)]
    fn put<L: Level>(self, level: L, indices: u64, row: &mut [u64; 4]) -> bool {
        level.put_some_of_256(row, indices)
    }

    #[inline(always)]
    fn are_in<L: Level>(self, level: L, indices: u64, row: &[u64; 4]) -> bool {
        level.all_of_256(row, indices)
    }

    #[inline(always)]
    fn are_in_two<L: Level>(self, level: L, indices: [u64; 2], rows: [&[u64; 4]; 2]) -> [bool; 2] {
        level.all_of_two_256(rows, indices)
    }
}

impl Mask<8> for Whole512 {
    const NUMBERS: Option<Numbers> = Some(Numbers::SomeOf512);

    #[inline(always)]
    fn two_words(shape: &Shape) -> Option<&TwoWords<Self>> {
        if let Shape::Whole512(keys) = shape { Some(keys) } else { None }
    }

    #[inline(always)]
    fn mask<L: Level>(self, level: L, indices: u64) -> [u64; 8] {
        level.some_of_512(indices)
    }

    #[inline(always)]
    fn put<L: Level>(self, level: L, indices: u64, row: &mut [u64; 8]) -> bool {
        level.put_some_of_512(row, indices)
    }

    #[inline(always)]
    fn are_in<L: Level>(self, level: L, indices: u64, row: &[u64; 8]) -> bool {
        level.all_of_512(row, indices)
    }

    #[inline(always)]
    fn are_in_two<L: Level>(self, level: L, indices: [u64; 2], rows: [&[u64; 8]; 2]) -> [bool; 2] {
        level.all_of_two_512(rows, indices)
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
    const NUMBERS: Option<Numbers> = None;

    #[inline(always)]
    fn two_words(shape: &Shape) -> Option<&TwoWords<Self>> {
        if let Shape::Any1(keys) | Shape::Any2(keys) | Shape::Any4(keys) | Shape::Any8(keys) = shape {
            Some(keys)
        } else {
            None
        }
    }

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

/// Whether there is room for the field.
pub(super) fn fits<M: Room>(row: Field) -> bool {
    row.width <= M::ROOM.iter().map(|(start, end)| end - start).sum()
}

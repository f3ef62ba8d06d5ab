//! Bits far apart: one for each key of a group, all in the same words.
//!
//! Their numbers are read one by one: compilers would take them out of the vectors that they were compared in, which
//! takes longer.

use super::{GROUP, read_alone};

/// The highest number.
#[inline(always)]
fn last(numbers: &[u32; GROUP]) -> u32 {
    numbers.iter().fold(0, |last, number| last.max(*number))
}

/// Whether all bits with these numbers are there: asked once for a group, and not again for every key.
#[inline(always)]
fn are_inside(words: &[u64], numbers: &[u32; GROUP]) -> bool {
    ((last(numbers) / 64) as usize) < words.len()
}

/// One thing of many for each key of a group. That all are there is asked once for the group.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a, T> {
    things: &'a [T],
    numbers: &'a [u32; GROUP],
}

impl<'a, T> Chosen<'a, T> {
    /// The things with these numbers.
    ///
    /// # Panics
    /// When there is one that is not there.
    #[inline(always)]
    pub fn new(things: &'a [T], numbers: &'a [u32; GROUP]) -> Self {
        assert!((last(numbers) as usize) < things.len(), "no such thing");
        Self { things, numbers }
    }

    /// That of a key.
    #[inline(always)]
    pub fn get(&self, key: usize) -> &'a T {
        // SAFETY: all are inside.
        unsafe { self.things.get_unchecked(read_alone(&self.numbers[key]) as usize) }
    }
}

/// ANDs to each value the bit with the key's number. Of a value only the lowest bit means something. `before` is
/// told of each key before it is its turn.
///
/// # Panics
/// When there is no such bit.
#[inline(always)]
pub fn and_bits(
    words: &[u64],
    numbers: &[u32; GROUP],
    values: &mut [u8; GROUP],
    before: impl Fn(&[u64], usize),
) {
    assert!(are_inside(words, numbers), "no such bit");
    for (i, (number, value)) in numbers.iter().zip(values).enumerate() {
        before(words, i);
        let number = read_alone(number);
        // SAFETY: all are inside.
        let word = unsafe { *words.get_unchecked((number / 64) as usize) };
        *value &= (word >> (number % 64)) as u8;
    }
}

/// The lowest bit of each value, that of the first lowest.
#[inline(always)]
pub fn lowest_bits(values: &[u8; GROUP]) -> u32 {
    let mut bits = 0;
    for (i, bytes) in values.as_chunks::<8>().0.iter().enumerate() {
        let lowest = u64::from_le_bytes(*bytes) & 0x0101_0101_0101_0101;
        // Each is multiplied to its place in the top byte; no two meet.
        bits |= ((lowest.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32) << (8 * i);
    }
    bits
}

/// Sets the bit with the number of each key. `before` is told of each key before it is its turn.
///
/// # Panics
/// When there is no such bit.
#[inline(always)]
pub fn set_bits(words: &mut [u64], numbers: &[u32; GROUP], before: impl Fn(&[u64], usize)) {
    assert!(are_inside(words, numbers), "no such bit");
    for (i, number) in numbers.iter().enumerate() {
        before(words, i);
        let number = read_alone(number);
        // SAFETY: all are inside.
        let word = unsafe { words.get_unchecked_mut((number / 64) as usize) };
        *word |= 1 << (number % 64);
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, panic::catch_unwind};

    use super::*;
    use crate::hash::SplitMix64;

    #[test]
    fn bits_of_a_group_are_those_one_by_one() {
        let mut rng = SplitMix64::new(12);
        for _ in 0..200 {
            let words: Vec<u64> = (0..=rng.below(9)).map(|_| rng.next_u64()).collect();
            let numbers = [(); GROUP].map(|()| rng.below(64 * words.len() as u64) as u32);
            let is_set = |words: &[u64], number: u32| words[number as usize / 64] >> (number % 64) & 1;
            let (mut values, told) = ([(); GROUP].map(|()| rng.next_u64() as u8), RefCell::new(Vec::new()));
            let before = values;
            and_bits(&words, &numbers, &mut values, |_, i| told.borrow_mut().push(i));
            for i in 0..GROUP {
                assert_eq!(u64::from(values[i] & 1), u64::from(before[i] & 1) & is_set(&words, numbers[i]));
            }
            let rows = numbers.map(|number| number / 64);
            let chosen = Chosen::new(&words, &rows);
            assert!((0..GROUP).all(|i| *chosen.get(i) == words[rows[i] as usize]));
            let mut set = words.clone();
            set_bits(&mut set, &numbers, |_, i| told.borrow_mut().push(i));
            let expected: Vec<u64> = (0..)
                .zip(&words)
                .map(|(w, word)| {
                    let own = numbers.iter().filter(|number| **number / 64 == w);
                    own.fold(*word, |word, number| word | 1 << (number % 64))
                })
                .collect();
            assert_eq!(set, expected);
            let lowest = lowest_bits(&values);
            assert!((0..GROUP).all(|i| lowest >> i & 1 == u32::from(values[i]) & 1));
            assert_eq!(told.into_inner(), (0..GROUP).chain(0..GROUP).collect::<Vec<_>>());
        }
    }

    /// What makes it safe not to check each number.
    #[test]
    fn a_number_too_large_is_refused() {
        for wrong in [128, u32::MAX] {
            for place in [0, 7, GROUP - 1] {
                let mut numbers = [127; GROUP];
                numbers[place] = wrong;
                assert!(catch_unwind(|| and_bits(&[0; 2], &numbers, &mut [0; GROUP], |_, _| ())).is_err());
                assert!(catch_unwind(|| set_bits(&mut [0; 2], &numbers, |_, _| ())).is_err());
                assert!(catch_unwind(|| Chosen::new(&[(); 128], &numbers)).is_err());
            }
        }
    }
}

//! Bits far apart: one for each key of a group, all in the same words.
//!
//! Their numbers are read one by one: compilers would take them out of the vectors that they were compared in, which
//! takes longer.

use super::{Cache, Distance, GROUP, opaque, prefetch, read_alone};

/// The highest number.
#[inline(always)]
fn last(numbers: &[u32]) -> u32 {
    numbers.iter().fold(0, |last, number| last.max(*number))
}

/// Whether all bits with these numbers are there: asked once for all keys, and not again for each.
#[inline(always)]
fn are_inside(words: &[u64], numbers: &[[u32; GROUP]]) -> bool {
    ((last(numbers.as_flattened()) / 64) as usize) < words.len()
}

/// What makes it safe not to look again: one check for a group.
#[inline(always)]
fn check<T>(things: &[T], numbers: &[u32; GROUP]) {
    assert!((last(numbers) as usize) < things.len(), "no such thing");
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
        check(things, numbers);
        Self { things, numbers }
    }

    /// That of a key.
    #[inline(always)]
    pub fn get(&self, key: usize) -> &'a T {
        // SAFETY: all are inside.
        unsafe { self.things.get_unchecked(read_alone(&self.numbers[key]) as usize) }
    }
}

/// What makes it safe not to look again at rows of `N` words: one check for a group.
#[inline(always)]
fn check_rows<const N: usize>(words: &[u64], starts: &[u32; GROUP]) {
    assert!(words.len() >= N, "no such row");
    let last = u32::try_from(words.len() - N).unwrap_or(u32::MAX);
    // As comparisons: to find the highest takes one step after the other.
    let beyond = starts.iter().fold(0, |beyond, start| beyond | u32::from(*start > last));
    assert!(beyond == 0, "no such row");
}

/// Two of the words that the keys of a group begin with, in one read: a processor can do but two to four in a cycle, and
/// each row is one, too. The first is one of an even number.
#[inline(always)]
fn two(starts: &[u32; GROUP], first: usize) -> [usize; 2] {
    debug_assert!(first.is_multiple_of(2), "not the first of two");
    let [low, high] = starts.as_chunks().0[first / 2];
    let both = opaque(u64::from(low) | u64::from(high) << 32);
    [both as u32 as usize, (both >> 32) as usize]
}

/// Begins to read what two keys of a group begin with.
#[inline(always)]
pub fn prefetch_two(words: &[u64], starts: &[u32; GROUP], first: usize, into: Cache) {
    for start in two(starts, first) {
        prefetch(words, start, into);
    }
}

/// One row of `N` words for each key of a group, by the number of its first word: where it lies is then told without a
/// shift. That all are there is asked once for the group.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, const N: usize> {
    words: &'a [u64],
    starts: &'a [u32; GROUP],
}

impl<'a, const N: usize> Rows<'a, N> {
    /// The rows that begin there.
    ///
    /// # Panics
    /// When there is one that is not there.
    #[inline(always)]
    pub fn new(words: &'a [u64], starts: &'a [u32; GROUP]) -> Self {
        check_rows::<N>(words, starts);
        Self { words, starts }
    }

    /// Those of two keys.
    #[inline(always)]
    pub fn two(&self, first: usize) -> [&'a [u64; N]; 2] {
        // SAFETY: all are inside.
        two(self.starts, first).map(|start| unsafe { &*self.words.as_ptr().add(start).cast() })
    }
}

/// The same, to be changed.
#[derive(Debug)]
pub struct RowsMut<'a, const N: usize> {
    words: &'a mut [u64],
    starts: &'a [u32; GROUP],
}

impl<'a, const N: usize> RowsMut<'a, N> {
    /// The rows that begin there.
    ///
    /// # Panics
    /// When there is one that is not there.
    #[inline(always)]
    pub fn new(words: &'a mut [u64], starts: &'a [u32; GROUP]) -> Self {
        check_rows::<N>(words, starts);
        Self { words, starts }
    }

    /// That of a key.
    #[inline(always)]
    pub fn get(&mut self, key: usize) -> &mut [u64; N] {
        let start = read_alone(&self.starts[key]) as usize;
        // SAFETY: all are inside.
        unsafe { &mut *self.words.as_mut_ptr().add(start).cast() }
    }

    /// Does something with that of each of two keys, one after the other.
    #[inline(always)]
    pub fn with_two(&mut self, first: usize, mut work: impl FnMut(usize, &mut [u64; N])) {
        for (key, start) in (first..).zip(two(self.starts, first)) {
            // SAFETY: all are inside.
            work(key, unsafe { &mut *self.words.as_mut_ptr().add(start).cast() });
        }
    }

    /// All of them.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        self.words
    }
}

/// Begins to read the words of the first groups, and tells of each group which one's are to be begun to read on the way, and
/// where they are to wait.
#[inline(always)]
fn ahead<'a>(
    words: &[u64],
    numbers: &'a [[u32; GROUP]],
    distance: Distance,
) -> impl Fn(usize) -> Option<(&'a [u32; GROUP], Cache)> + use<'a> {
    let ahead = distance.ahead();
    // Of one group that is in some cache it would take as long as to wait for them.
    if let Some((groups @ 2.., into)) = ahead {
        for number in numbers.iter().take(groups).flatten() {
            prefetch(words, (number / 64) as usize, into);
        }
    }
    move |group| ahead.and_then(|(groups, into)| Some((numbers.get(group + groups)?, into)))
}

/// Clears of each group the bits of keys whose bit in the words is not set. Bit 0 is that of the first key. What the words'
/// distance asks for is begun to read meanwhile.
///
/// # Panics
/// When there is no such bit.
#[inline(always)]
pub fn read_bits(words: &[u64], numbers: &[[u32; GROUP]], distance: Distance, set: &mut [u32]) {
    assert!(are_inside(words, numbers), "no such bit");
    let ahead = ahead(words, numbers, distance);
    for (group, (own, set)) in numbers.iter().zip(set).enumerate() {
        let ahead = ahead(group);
        let mut bits = 0;
        for i in (0..GROUP).rev() {
            if let Some((ahead, into)) = ahead {
                prefetch(words, (ahead[i] / 64) as usize, into);
            }
            let number = read_alone(&own[i]);
            // SAFETY: all are inside.
            let word = unsafe { *words.get_unchecked((number / 64) as usize) };
            bits = with_bit(bits, word, number);
        }
        *set &= bits as u32;
    }
}

/// Twice the bits, and the bit of a word with this number (modulo 64).
#[inline(always)]
fn with_bit(bits: u64, word: u64, number: u32) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut bits = bits;
        // SAFETY: only registers are read and written.
        unsafe {
            std::arch::asm!(
                "bt {word}, {number}",
                "adc {bits}, {bits}",
                word = in(reg) word,
                number = in(reg) u64::from(number),
                bits = inout(reg) bits,
                options(pure, nomem, nostack),
            );
        }
        bits
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        bits << 1 | word >> (number % 64) & 1
    }
}

/// Sets the bit with the number of each key. What the words' distance asks for is begun to read meanwhile.
///
/// # Panics
/// When there is no such bit.
#[inline(always)]
pub fn set_bits(words: &mut [u64], numbers: &[[u32; GROUP]], distance: Distance) {
    assert!(are_inside(words, numbers), "no such bit");
    let ahead = ahead(words, numbers, distance);
    for (group, own) in numbers.iter().enumerate() {
        let ahead = ahead(group);
        for i in 0..GROUP {
            if let Some((ahead, into)) = ahead {
                prefetch(words, (ahead[i] / 64) as usize, into);
            }
            let number = read_alone(&own[i]);
            // SAFETY: all are inside.
            let word = unsafe { words.get_unchecked_mut((number / 64) as usize) };
            *word |= 1 << (number % 64);
        }
    }
}

/// Numbers of bits, one for each key of a group, all of them below a limit.
#[derive(Clone, Copy, Debug)]
pub struct Below<'a> {
    bits: usize,
    numbers: &'a [u32; GROUP],
}

impl<'a> Below<'a> {
    /// Those of many groups, for bits of so many: asked once for all.
    ///
    /// # Panics
    /// When one is not below.
    #[inline(always)]
    pub fn all(numbers: &'a [[u32; GROUP]], bits: usize) -> impl Iterator<Item = Self> {
        assert!(numbers.is_empty() || (last(numbers.as_flattened()) as usize) < bits, "no such bit");
        numbers.iter().map(move |numbers| Self { bits, numbers })
    }

    /// The numbers.
    #[inline(always)]
    pub fn numbers(self) -> &'a [u32; GROUP] {
        self.numbers
    }
}

/// Reads bits of some words, and sets some of them, one after the other.
#[derive(Debug)]
pub struct BitsInTurn<'a> {
    words: &'a mut [u64],
    read: u64,
}

impl<'a> BitsInTurn<'a> {
    /// Bits of these words.
    #[inline(always)]
    pub fn new(words: &'a mut [u64]) -> Self {
        Self { words, read: 0 }
    }

    /// Reads a bit, and then sets it if `set` is 1, not 0.
    ///
    /// # Panics
    /// When there is no such bit.
    #[inline(always)]
    pub fn read_and_set(&mut self, number: u32, set: u64) {
        let word = &mut self.words[(number / 64) as usize];
        self.read = with_bit(self.read, *word, number);
        *word |= set << (number % 64);
    }

    /// The same with many, of which the number is told.
    #[inline(always)]
    pub fn read_and_set_all<T>(&mut self, bits: &[T], set: &[u64], number: impl Fn(&T) -> u32) {
        Self::in_several(bits, set, |bit, set| self.read_and_set(number(bit), set));
    }

    /// Several to a turn: to count them one by one would be a fifth of the work; and where one instruction reads all words, a
    /// processor that has once seen it read what was just written may let it wait each time.
    #[inline(always)]
    fn in_several<T>(bits: &[T], set: &[u64], mut pass: impl FnMut(&T, u64)) {
        let (bits, set) = (bits.as_chunks::<6>(), set.as_chunks::<6>());
        for (bits, set) in bits.0.iter().zip(set.0) {
            for (bit, set) in bits.iter().zip(set) {
                pass(bit, *set);
            }
        }
        for (bit, set) in bits.1.iter().zip(set.1) {
            pass(bit, *set);
        }
    }

    /// The same with those of a group, but so many at its end.
    ///
    /// # Panics
    /// When the words have fewer bits than the group is known to look at.
    #[inline(always)]
    pub fn read_and_set_group(&mut self, Below { bits, numbers }: Below, set: &[u64]) {
        assert!(bits.div_ceil(64) <= self.words.len(), "no such bits");
        // Numbers as they lie: those that were just put together would have to be waited for.
        Self::in_several(&numbers[..set.len()], set, |number, set| {
            let number = read_alone(number);
            // SAFETY: it is below the number of bits.
            let word = unsafe { self.words.get_unchecked_mut((number / 64) as usize) };
            self.read = with_bit(self.read, *word, number);
            *word |= set << (number % 64);
        });
    }

    /// The last bits that were read, the last one at bit 0.
    #[inline(always)]
    pub fn read(&self) -> u32 {
        self.read as u32
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::hash::SplitMix64;

    #[test]
    fn bits_of_a_group_are_those_one_by_one() {
        let mut rng = SplitMix64::new(12);
        for _ in 0..200 {
            let words: Vec<u64> = (0..=rng.below(9)).map(|_| rng.next_u64()).collect();
            let numbers =
                [[(); GROUP]; 5].map(|group| group.map(|()| rng.below(64 * words.len() as u64) as u32));
            let rows = numbers[0].map(|number| number / 64);
            let chosen = Chosen::new(&words, &rows);
            assert!((0..GROUP).all(|i| *chosen.get(i) == words[rows[i] as usize]));
            let (mut changed, mut expected) = (words.clone(), words.clone());
            let rows_of_one = Rows::<1>::new(&words, &rows);
            let mut chosen = RowsMut::<1>::new(&mut changed, &rows);
            for first in (0..GROUP).step_by(2) {
                let own = [rows[first], rows[first + 1]].map(|row| row as usize);
                assert_eq!(rows_of_one.two(first).map(|[word]| *word), own.map(|row| words[row]));
                // What the second finds may be what the first left: twice, and one more.
                chosen.with_two(first, |i, [word]| *word = word.wrapping_mul(2).wrapping_add(i as u64));
                chosen.get(first)[0] ^= 5;
                for (i, row) in (first..).zip(own) {
                    expected[row] = expected[row].wrapping_mul(2).wrapping_add(i as u64);
                }
                expected[own[0]] ^= 5;
            }
            assert_eq!(changed, expected);
            let is_set = |number: u32| words[number as usize / 64] >> (number % 64) & 1 == 1;
            for distance in [Distance::Near, Distance::Far, Distance::Farther, Distance::Farthest] {
                let before = [(); 5].map(|()| rng.next_u64() as u32);
                let (mut left, mut set, mut expected) = (before, words.clone(), words.clone());
                read_bits(&words, &numbers, distance, &mut left);
                set_bits(&mut set, &numbers, distance);
                for (i, number) in numbers.as_flattened().iter().enumerate() {
                    let of = |bits: [u32; 5]| bits[i / GROUP] >> (i % GROUP) & 1 == 1;
                    assert_eq!(of(left), of(before) && is_set(*number));
                    expected[*number as usize / 64] |= 1 << (number % 64);
                }
                assert_eq!(set, expected);
            }
            let puts = [(); GROUP].map(|()| rng.below(2));
            let (mut some, mut expected) = (words.clone(), words.clone());
            let before = [numbers[1][0], numbers[1][1]];
            let mut in_turn = BitsInTurn::new(&mut some);
            let (puts_before, puts_later) = puts.split_at(2);
            in_turn.read_and_set_all(&before, puts_before, |number| *number);
            for own in Below::all(&numbers[..1], 64 * words.len()) {
                in_turn.read_and_set_group(own, puts_later);
            }
            let bits = in_turn.read();
            for (i, (number, put)) in before.iter().chain(&numbers[0]).zip(puts).enumerate() {
                let word = &mut expected[*number as usize / 64];
                assert_eq!(bits.reverse_bits() >> i & 1, (*word >> (number % 64)) as u32 & 1);
                *word |= put << (number % 64);
            }
            assert_eq!(some, expected);
        }
    }

    /// What makes it safe not to check each number.
    #[test]
    fn a_number_too_large_is_refused() {
        for wrong in [128, u32::MAX] {
            for (group, place) in [(0, 0), (1, 7), (1, GROUP - 1)] {
                let mut numbers = [[126; GROUP]; 2];
                numbers[group][place] = wrong;
                assert!(catch_unwind(|| read_bits(&[0; 2], &numbers, Distance::Near, &mut [0; 2])).is_err());
                assert!(catch_unwind(|| set_bits(&mut [0; 2], &numbers, Distance::Near)).is_err());
                assert!(catch_unwind(|| Below::all(&numbers, 128).count()).is_err());
                let mut two = [0; 2];
                let change = AssertUnwindSafe(|| BitsInTurn::new(&mut two).read_and_set(wrong, 1));
                assert!(catch_unwind(change).is_err());
                assert!(catch_unwind(|| Chosen::new(&[(); 128], &numbers[group])).is_err());
                // Of two words the last begins at 126.
                numbers[group][place] = wrong - 1;
                assert!(catch_unwind(|| Rows::<2>::new(&[0; 128], &numbers[group])).is_err());
                let change = || RowsMut::<2>::new(&mut [0; 128], &numbers[group]).words().len();
                assert!(catch_unwind(change).is_err());
            }
        }
        let numbers = [[127; GROUP]];
        for (words, fits) in [(2, true), (1, false)] {
            let mut words = vec![0; words];
            let change = AssertUnwindSafe(|| {
                let own = Below::all(&numbers, 128).next().expect("a group");
                BitsInTurn::new(&mut words).read_and_set_group(own, &[1; GROUP]);
            });
            assert_eq!(catch_unwind(change).is_ok(), fits);
        }
    }
}

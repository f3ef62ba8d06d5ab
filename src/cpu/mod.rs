//! Code for the processor that the program runs on, chosen at run time.
//!
//! A program built for every x86-64 may not use what processors have had for a decade: vectors
//! of 256 or 512 bits, instructions that pick bits out of a word. Here such code is built for each
//! level from one source, and the processor is asked once which to run. [`Work`] is handed a [`Level`]: what
//! it does with it is the same, bit for bit, on every level.
//!
//! ```
//! use membrane::cpu::{Cpu, Level, Work};
//!
//! struct Positions(u64);
//!
//! impl Work for Positions {
//!     type Output = u32;
//!
//!     #[inline(always)]
//!     fn run<L: Level>(self, level: L) -> u32 {
//!         level.deposit(1 << 2, self.0).trailing_zeros()
//!     }
//! }
//!
//! // Where set bit number 2 is.
//! assert_eq!(Cpu::detect().run(Positions(0b1101_0000)), 7);
//! assert_eq!(Cpu::portable().run(Positions(0b1101_0000)), 7);
//! ```
//!
//! This is the only module with `unsafe` code, for these reasons: a function built for
//! instructions that not every processor has may only be called where the processor has
//! them; the same holds for the instructions themselves; a prefetch, and the system call that
//! asks for huge pages, take pointers; so do a read that is to stay one ([`read_alone`]) and one from any byte on ([`word_at`]); a compiler is kept from knowing a word ([`opaque`]) by
//! an instruction that is none; words that begin at a cache line ([`Lines`]) are found by a pointer, because
//! a check of where they are in a larger vector took as long as what was done with them; bits of a group of keys
//! ([`and_bits`], [`set_bits`]) are checked together to be there, and not each again.
#![allow(unsafe_code)] // for the reasons above; the rest of the crate has none

mod bits;
mod kept;
mod lines;
mod matrix;
mod portable;
mod rows;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod widest;

pub use bits::{and_bits, lowest_bits, set_bits};
pub use kept::{Filled, Kept};
pub use lines::Lines;
pub use matrix::Matrix;
pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub use {wide::Wide, widest::Widest};

/// A level that the processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu(Has);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Wide(Wide),
    #[cfg(target_arch = "x86_64")]
    Widest(Widest),
}

/// Something to be done, on any level.
pub trait Work {
    /// What comes of it.
    type Output;

    /// Does it. This, and what it calls, must be `#[inline(always)]`: only then is it built
    /// for the level.
    fn run<L: Level>(self, level: L) -> Self::Output;
}

/// A question about one key that is put to a `T`, on any level.
pub trait Question<T> {
    /// Answers it. This, and what it calls, must be `#[inline(always)]`, as in [`Work::run`].
    fn ask<L: Level>(level: L, of: &T, key: &[u64]) -> bool;
}

/// A [`Question`] on the level of a processor: which one is asked and where is settled once, and not again for
/// every key.
pub struct Asked<T>(unsafe fn(&T, &[u64]) -> bool);

impl<T> Clone for Asked<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Asked<T> {}

impl<T> std::fmt::Debug for Asked<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

impl<T> Asked<T> {
    /// The answer.
    #[inline(always)]
    pub fn ask(self, of: &T, key: &[u64]) -> bool {
        // SAFETY: only `Cpu::asks` makes one, for a level that the processor has.
        unsafe { self.0(of, key) }
    }
}

/// Keys that are multiplied together.
pub const GROUP: usize = 32;

/// A row may lose fewer bits than these at once.
pub const DROPPED: u32 = 32;

/// Instructions that are fast on some processors. A value of a level can only be had where
/// the processor has it.
pub trait Level: Copy {
    /// Whether the operations are single instructions.
    const FAST: bool;

    /// Does some work on this level in a function of its own: what is rarely done need not be part of every
    /// loop that might.
    fn run<W: Work>(self, work: W) -> W::Output;

    /// The bits of `word` where `mask` is set, side by side from bit 0 on.
    fn extract(self, word: u64, mask: u64) -> u64;

    /// The lowest bits of `word`, one after the other, where `mask` is set.
    fn deposit(self, word: u64, mask: u64) -> u64;

    /// The lowest `n` bits set (`n` at most 64).
    fn low(self, n: u32) -> u64;

    /// Eight halves of words with one bit set in each: `bits` has its number in 5 bits, for
    /// even halves from bit 0 on, for odd ones from bit 32 on.
    fn one_of_32(self, bits: u64) -> [u64; 4];

    /// Eight words with one bit set in each: `bits` has its number in 6 bits for each.
    #[inline(always)]
    fn one_of_64(self, bits: u64) -> [u64; 8] {
        rows::one_of_64(bits)
    }

    /// A row with eight bits set: `bits` has their numbers in 8 bits each.
    fn some_of_256(self, bits: u64) -> [u64; 4];

    /// A row with seven bits set: `bits` has their numbers in 9 bits each.
    fn some_of_512(self, bits: u64) -> [u64; 8];

    /// Whether eight bits of a row are set: `bits` has their numbers in 8 bits each.
    fn all_of_256(self, row: &[u64; 4], bits: u64) -> bool;

    /// Whether seven bits of a row are set: `bits` has their numbers in 9 bits each.
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool;

    /// Sets those bits of a row that `mask` has. Whether all of them were set before.
    #[inline(always)]
    fn put<const N: usize>(self, row: &mut [u64; N], mask: &[u64; N]) -> bool {
        rows::put(row, mask)
    }

    /// The bits of a row where `kept` is set, side by side from bit 0 on, and zeros after them. Only
    /// the last word may drop as many as [`DROPPED`].
    #[inline(always)]
    fn closed<const N: usize>(self, row: &[u64; N], kept: &[u64; N]) -> [u64; N] {
        rows::closed(self, row, kept)
    }

    /// A row in which all from bit `at` on is moved up by `width` bits (1 to 63), with `value`, of as many
    /// bits, in the gap.
    #[inline(always)]
    fn opened<const N: usize>(self, row: &[u64; N], at: u32, width: u32, value: u64) -> [u64; N] {
        rows::opened(row, at, width, value)
    }

    /// A row that loses the bits that are not kept, and gets others.
    #[inline(always)]
    fn repacked<const N: usize>(self, row: &[u64; N], kept: &Kept, filled: Filled) -> [u64; N] {
        rows::repacked(self, row, kept, filled)
    }

    /// Sets each sum to the constant of its matrix plus its key times that matrix.
    #[inline(always)]
    fn set_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        for (sums, matrix) in sums.iter_mut().zip(matrices) {
            *sums = [matrix.constant; GROUP];
        }
        self.add_products(matrices, keys, sums);
    }

    /// Adds to each sum its key times the matrix of that sum, without the constant.
    fn add_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    );
}

impl Cpu {
    /// The best level that there is.
    pub fn detect() -> Self {
        Self::levels().last().copied().unwrap_or(Self::portable())
    }

    /// The processor as if it were the least of its kind.
    pub fn portable() -> Self {
        Self(Has::Portable)
    }

    /// All levels that the processor has, the least first.
    pub fn levels() -> Vec<Self> {
        let mut levels = vec![Self::portable()];
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = Wide::detect() {
            levels.push(Self(Has::Wide(wide)));
            levels.extend(Widest::detect(wide).map(|widest| Self(Has::Widest(widest))));
        }
        levels
    }

    /// A question to be asked on this level.
    pub fn asks<T, Q: Question<T>>(self) -> Asked<T> {
        Asked(match self.0 {
            Has::Portable => |of, key| Q::ask(Portable, of, key),
            #[cfg(target_arch = "x86_64")]
            Has::Wide(_) => wide::ask::<T, Q>,
            #[cfg(target_arch = "x86_64")]
            Has::Widest(_) => widest::ask::<T, Q>,
        })
    }

    /// Does some work on this level.
    #[inline]
    pub fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Has::Portable => work.run(Portable),
            #[cfg(target_arch = "x86_64")]
            Has::Wide(level) => level.run(work),
            #[cfg(target_arch = "x86_64")]
            Has::Widest(level) => level.run(work),
        }
    }
}

/// Begins to read what will be needed soon; nothing happens where nothing is.
#[inline(always)]
pub fn prefetch<T>(things: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on time, and every x86-64 has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(things.as_ptr().wrapping_add(index).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (things, index);
}

/// Reads one thing, by an instruction of its own. Where a processor can read several things from places
/// far apart in one instruction, compilers do so, and it takes longer than all of them one by one.
#[inline(always)]
pub fn read_alone<T: Copy>(thing: &T) -> T {
    // SAFETY: a reference can be read.
    unsafe { std::ptr::read_volatile(thing) }
}

/// A word of which a compiler does not know where it comes from: what is computed from it is computed in the steps
/// that were written, where compilers would find others.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut))]
pub fn opaque(mut word: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is done.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// The 64 bits of a row from a byte on.
///
/// # Panics
/// When there are not so many.
#[inline(always)]
pub fn word_at<const N: usize>(row: &[u64; N], byte: usize) -> u64 {
    assert!(byte <= 8 * N - 8, "no word from this byte on");
    if cfg!(target_endian = "little") {
        // SAFETY: eight bytes from there on are inside; any bytes are a word.
        return unsafe { row.as_ptr().cast::<u8>().add(byte).cast::<u64>().read_unaligned() };
    }
    let (word, shift) = (byte / 8, byte % 8 * 8);
    let above = row.get(word + 1).map_or(0, |above| above << 1 << (63 - shift));
    row[word] >> shift | above
}

/// Bytes of a huge page.
pub const HUGE_PAGE: usize = 1 << 21;

/// Asks the system to keep words in huge pages: with small ones a read at random first waits
/// for the address of its page. Takes whole huge pages only. To be called before anything is
/// written.
pub fn prefer_huge_pages(words: &mut [u64]) {
    #[cfg(target_os = "linux")]
    {
        let bytes = words.as_mut_ptr_range();
        let (first, end) = (bytes.start.cast::<u8>(), bytes.end.cast::<u8>());
        let skipped = first.align_offset(HUGE_PAGE);
        let len = (end as usize - first as usize).saturating_sub(skipped) / HUGE_PAGE * HUGE_PAGE;
        if len > 0 {
            // SAFETY: the range lies within the words, and the advice does not change what is
            // read from it. A system without huge pages refuses, and small ones do there.
            unsafe { libc::madvise(first.wrapping_add(skipped).cast(), len, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = words;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix64;

    struct All(u64, u64, [u64; 8]);

    impl Work for All {
        type Output = (u64, u64, [u64; 65], [u64; 4], ([u64; 4], [u64; 8]), [bool; 2]);

        fn run<L: Level>(self, level: L) -> Self::Output {
            let Self(word, mask, row) = self;
            let lows = std::array::from_fn(|n| level.low(n as u32));
            let [a, b, c, d, ..] = row;
            let set = [level.all_of_256(&[a, b, c, d], word), level.all_of_512(&row, word)];
            let some = (level.some_of_256(word), level.some_of_512(word));
            (level.extract(word, mask), level.deposit(word, mask), lows, level.one_of_32(word), some, set)
        }
    }

    /// Eight words with a bit each, and two rows with them put in: whether they were there.
    struct Put([u64; 8], u64);

    impl Work for Put {
        type Output = ([u64; 8], [u64; 8], [u64; 4], [bool; 2]);

        fn run<L: Level>(self, level: L) -> Self::Output {
            let Self(mut row, bits) = self;
            let mask = level.one_of_64(bits);
            let [a, b, c, d, ..] = row;
            let [e, f, g, h, ..] = mask;
            let mut half = [a, b, c, d];
            let set = [level.put(&mut row, &mask), level.put(&mut half, &[e, f, g, h])];
            (mask, row, half, set)
        }
    }

    #[test]
    fn every_level_puts_the_same_bits() {
        let mut rng = SplitMix64::new(11);
        let mut seen = [[0; 2]; 2];
        for n in 0..5_000 {
            let bits = rng.next_u64();
            let row = [(); 8].map(|()| (0..n % 7).fold(0, |bits, _| bits | rng.next_u64()));
            let expected: [u64; 8] = std::array::from_fn(|i| 1 << (bits >> (6 * i) & 63));
            let there = |words: usize| (0..words).all(|i| row[i] & expected[i] != 0);
            for cpu in Cpu::levels() {
                let (mask, new, half, set) = cpu.run(Put(row, bits));
                assert_eq!((mask, set), (expected, [there(8), there(4)]), "{cpu:?}");
                assert!((0..8).all(|i| new[i] == row[i] | mask[i]), "{cpu:?}");
                assert_eq!(half, *new.first_chunk().unwrap(), "{cpu:?}");
            }
            for (seen, words) in seen.iter_mut().zip([8, 4]) {
                seen[usize::from(there(words))] += 1;
            }
        }
        assert!(seen.as_flattened().iter().all(|count| *count > 100), "{seen:?}");
    }

    #[test]
    fn words_from_any_byte_on() {
        let row = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        for byte in 0..=8 {
            let expected = std::array::from_fn(|i| byte as u8 + i as u8);
            assert_eq!(word_at(&row, byte).to_le_bytes(), expected);
        }
        assert!(
            [9, 16, usize::MAX].iter().all(|byte| std::panic::catch_unwind(|| word_at(&row, *byte)).is_err())
        );
    }

    struct Ones;

    impl Question<u32> for Ones {
        fn ask<L: Level>(level: L, least: &u32, key: &[u64]) -> bool {
            level.extract(u64::MAX, key[0]).trailing_ones() >= *least
        }
    }

    #[test]
    fn questions_are_answered_on_every_level() {
        for cpu in Cpu::levels() {
            let asked = cpu.asks::<_, Ones>();
            assert!(asked.ask(&3, &[0b1011]) && !asked.ask(&4, &[0b1011]), "{cpu:?} {asked:?}");
        }
    }

    struct Products<'a>(&'a [Matrix; 2], &'a [u64; GROUP], [[u64; GROUP]; 2]);

    impl Work for Products<'_> {
        type Output = [[[u64; GROUP]; 2]; 2];

        fn run<L: Level>(mut self, level: L) -> Self::Output {
            let mut set = self.2;
            level.set_products(self.0, self.1, &mut set);
            level.add_products(self.0, self.1, &mut self.2);
            [self.2, set]
        }
    }

    #[test]
    fn every_level_multiplies_as_defined() {
        let mut rng = SplitMix64::new(9);
        for used in [u64::MAX, 0x00ff_ffff_ffff_ffff, 0x00ff_ff3f_00ff_ffff, 0xffff, 0x0f00_0000_0000_0000] {
            let columns = [used, u64::MAX].map(|used| [(); 64].map(|()| rng.next_u64() & used));
            let (keys, sums) =
                ([(); GROUP].map(|()| rng.next_u64()), [[(); GROUP]; 2].map(|s| s.map(|()| rng.next_u64())));
            let constant = rng.next_u64();
            let matrices = columns.each_ref().map(|columns| Matrix::new(columns, constant));
            for cpu in Cpu::levels() {
                let [products, set] = cpu.run(Products(&matrices, &keys, sums));
                for m in 0..2 {
                    for (i, key) in keys.into_iter().enumerate() {
                        let expected = (0..64)
                            .filter(|bit| key >> bit & 1 == 1)
                            .fold(sums[m][i], |sum, bit| sum ^ columns[m][bit]);
                        assert_eq!(products[m][i], expected, "{cpu:?}, {used:#x}");
                        assert_eq!(set[m][i], expected ^ sums[m][i] ^ constant, "{cpu:?}, {used:#x}");
                    }
                }
            }
        }
    }

    struct Repacked<const N: usize>([u64; N], Kept, Filled);

    impl<const N: usize> Work for Repacked<N> {
        type Output = [[u64; N]; 3];

        fn run<L: Level>(self, level: L) -> Self::Output {
            let Self(row, kept, filled) = self;
            let Filled { at, width, value, .. } = filled;
            [
                level.closed(&row, &kept.mask()),
                level.opened(&row, at, width, value),
                level.repacked(&row, &kept, filled),
            ]
        }
    }

    /// The same, bit by bit.
    fn repacked<const N: usize>(row: &[u64; N], kept: &Kept, filled: Filled) -> [[u64; N]; 3] {
        let Filled { bit_at, bit, at, width, value } = filled;
        let bits =
            |words: &[u64; N]| -> Vec<u64> { (0..64 * N).map(|i| words[i / 64] >> (i % 64) & 1).collect() };
        let words = |bits: &[u64]| {
            let mut words = [0; N];
            for (i, bit) in bits.iter().take(64 * N).enumerate() {
                words[i / 64] |= bit << (i % 64);
            }
            words
        };
        let row = bits(row);
        let is_kept = bits(&kept.mask());
        let mut closed: Vec<u64> =
            row.iter().zip(is_kept).filter(|(_, kept)| *kept == 1).map(|(bit, _)| *bit).collect();
        let gap = || (0..width).map(|i| value >> i & 1);
        let mut opened = row;
        opened.splice(at as usize..at as usize, gap());
        let only_closed = words(&closed);
        closed.resize(64 * N, 0);
        closed.insert(bit_at as usize, bit.into());
        closed.splice(at as usize..at as usize, gap());
        [only_closed, words(&opened), words(&closed)]
    }

    fn check_repacked<const N: usize>(rng: &mut SplitMix64) {
        let row = [(); N].map(|()| rng.next_u64());
        let mut mask = [0; 8];
        mask[..N].fill(u64::MAX);
        for _ in 0..rng.below(DROPPED.into()) {
            let bit = rng.below(64 * N as u64);
            mask[bit as usize / 64] &= !(1 << (bit % 64));
        }
        let kept = Kept::new(mask).expect("few are dropped");
        let at = 1 + rng.below(64 * N as u64) as u32;
        let width = 1 + rng.below(DROPPED.into()) as u32;
        let filled = Filled {
            bit_at: rng.below(at.into()) as u32,
            bit: rng.next_u64() & 1 == 1,
            at,
            width,
            value: rng.next_u64() >> (64 - width),
        };
        let expected = repacked(&row, &kept, filled);
        for cpu in Cpu::levels() {
            assert_eq!(cpu.run(Repacked(row, kept.clone(), filled)), expected, "{cpu:?}, {filled:?}");
        }
    }

    #[test]
    fn every_level_repacks_as_defined() {
        let mut rng = SplitMix64::new(10);
        for _ in 0..5_000 {
            check_repacked::<8>(&mut rng);
            check_repacked::<4>(&mut rng);
            check_repacked::<3>(&mut rng);
        }
    }

    #[test]
    fn every_level_computes_the_same() {
        let mut rng = SplitMix64::new(8);
        let mut seen = [[0; 2]; 2];
        for n in 0..10_000 {
            let (word, mask) = (rng.next_u64(), rng.next_u64() & rng.next_u64());
            // Rows that are nearly full: else no one would ever have all its bits.
            let row = [(); 8].map(|()| (0..n % 7).fold(0, |bits, _| bits | rng.next_u64()));
            let levels: Vec<_> = Cpu::levels().into_iter().map(|cpu| cpu.run(All(word, mask, row))).collect();
            let (extracted, deposited, lows, halves, some, set) = levels[0];
            assert!(levels.iter().all(|level| *level == levels[0]));
            assert_eq!(extracted.count_ones(), (word & mask).count_ones());
            // One undoes the other.
            assert_eq!(Cpu::portable().run(All(extracted, mask, row)).1, word & mask);
            assert_eq!(deposited & !mask, 0);
            assert!((0..=64).all(|n| lows[n as usize].trailing_ones() == n));
            for i in 0..8 {
                let half = (halves[i / 2] >> (i % 2 * 32)) as u32;
                assert_eq!(half, 1 << (word >> (i % 2 * 32 + i / 2 * 5) & 31));
            }
            let bit = |number: u64| row[(number / 64) as usize] >> (number % 64) & 1 == 1;
            assert_eq!(set[0], (0..8).all(|i| bit(word >> (8 * i) & 0xff)));
            assert_eq!(set[1], (0..7).all(|i| bit(word >> (9 * i) & 0x1ff)));
            let has = |row: &[u64], number: u64| row[(number / 64) as usize] >> (number % 64) & 1 == 1;
            assert!((0..256).all(|n| has(&some.0, n) == (0..8).any(|i| word >> (8 * i) & 0xff == n)));
            assert!((0..512).all(|n| has(&some.1, n) == (0..7).any(|i| word >> (9 * i) & 0x1ff == n)));
            for (seen, set) in seen.iter_mut().zip(set) {
                seen[usize::from(set)] += 1;
            }
        }
        assert!(seen.as_flattened().iter().all(|count| *count > 100), "{seen:?}");
    }
}

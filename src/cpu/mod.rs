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
//! asks for huge pages, take pointers; so do a read that is to stay one ([`read_alone`]) and one from any byte
//! on ([`word_at`]); a compiler is kept from knowing a word ([`opaque`]), or what lies in memory (`written`), by an instruction that is none, and
//! bits are strung together ([`read_bits`]) by two that it does not find; what one key asks of a row is said in
//! instructions ([`Inlined`]), so that it can be part of code that is not built for them; two words are read as one
//! ([`Pair`]), from places that are told in steps of half of them; words that begin at a cache line ([`Lines`]) are found by a pointer, because a check of where they are in a larger vector took as
//! long as what was done with them; what the keys of a group look at ([`Chosen`], [`Rows`], [`RowsMut`], [`Below`], [`read_bits`], [`set_bits`]) is checked
//! together to be there, and not each again.
#![allow(unsafe_code)] // for the reasons above; the rest of the crate has none

mod bits;
mod fetch;
#[cfg(target_arch = "x86_64")]
mod inlined;
#[cfg(not(target_arch = "x86_64"))]
#[path = "not_inlined.rs"]
mod inlined;
mod kept;
mod lines;
mod matrix;
mod pair;
mod portable;
mod rows;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod wider;
#[cfg(target_arch = "x86_64")]
mod widest;

use std::{array::from_ref, marker::PhantomData};

pub use bits::{Below, BitsInTurn, Chosen, Rows, RowsMut, prefetch_two, read_bits, set_bits};
pub use fetch::{Cache, Distance, MOST_AHEAD, prefetch, prefetch_lines};
pub use inlined::{AllRows, Inlined, InlinedWider, InlinedWidest, ROOM_OF_512};
pub use kept::{Filled, Kept};
pub use lines::Lines;
pub use matrix::Matrix;
pub use pair::{Pair, Pairs};
pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub use {wide::Wide, wider::Wider, widest::Widest};

/// A level that the processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu(Has);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Wide(Wide),
    #[cfg(target_arch = "x86_64")]
    Wider(Wider),
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

/// What is asked about one key of one word, on any level.
pub trait Question<C: Call> {
    /// Answers it. This, and what it calls, must be `#[inline(always)]`, as in [`Work::run`].
    fn ask<L: Level>(level: L, of: C::Of<'_>, key: u64) -> C::Answer;
}

/// How a [`Question`] is put: to whom, and what the answer is.
pub trait Call {
    /// Who is asked.
    type Of<'a>;
    /// What comes back.
    type Answer;
}

/// To a `T` that stays as it is: yes or no.
#[derive(Clone, Copy, Debug)]
pub struct Reads<T>(PhantomData<T>);

/// To a `T` that may change.
#[derive(Clone, Copy, Debug)]
pub struct Changes<T, A>(PhantomData<(T, A)>);

impl<T: 'static> Call for Reads<T> {
    type Of<'a> = &'a T;
    type Answer = bool;
}

impl<T: 'static, A> Call for Changes<T, A> {
    type Of<'a> = &'a mut T;
    type Answer = A;
}

/// A [`Question`] on the level of a processor: which one is asked and where is settled once, and not again for
/// every key.
pub struct Asked<C: Call>(unsafe fn(C::Of<'_>, u64) -> C::Answer);

impl<C: Call> Clone for Asked<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Call> Copy for Asked<C> {}

impl<C: Call> std::fmt::Debug for Asked<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

impl<C: Call> Asked<C> {
    /// The answer.
    #[inline(always)]
    pub fn ask(self, of: C::Of<'_>, key: u64) -> C::Answer {
        // SAFETY: only `Cpu::asks` makes one, for a level that the processor has.
        unsafe { self.0(of, key) }
    }
}

/// Keys that are multiplied together.
pub const GROUP: usize = 32;

/// Bits of a short hash, at most.
pub const SHORT: u32 = 40;

/// A row may lose fewer bits than these at once.
pub const DROPPED: u32 = 32;

/// How a word has the numbers of bits of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// As [`Level::one_of_32`] wants them: one bit of each half of four words.
    OneOf32,
    /// As [`Level::one_of_64`] does: one bit of each of eight words.
    OneOf64,
    /// As [`Level::some_of_256`] does: eight of all bits of four words.
    SomeOf256,
    /// As [`Level::some_of_512`] does: seven of all bits of eight words.
    SomeOf512,
}

impl Numbers {
    /// Words of such a row.
    #[inline(always)]
    pub fn words(self) -> usize {
        match self {
            Self::OneOf32 | Self::SomeOf256 => 4,
            Self::OneOf64 | Self::SomeOf512 => 8,
        }
    }
}

/// What is computed for the keys of a group, and read for each when its bits are set: up to three words. From the start of a cache
/// line on: else vectors would be in two lines each.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Ready([[u64; GROUP]; 3]);

/// Instructions that are fast on some processors. A value of a level can only be had where
/// the processor has it.
pub trait Level: Copy {
    /// Whether the operations are single instructions.
    const FAST: bool;

    /// Does some work on this level in a function of its own: what is rarely done need not be part of every
    /// loop that might.
    fn run<W: Work>(self, work: W) -> W::Output;

    /// Where what is read once, in its order, is best fetched into.
    #[inline(always)]
    fn once(self) -> Cache {
        Cache::Nearest
    }

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

    /// A row with seven bits set: `bits` has half of each of their numbers in 8 bits, and from bit 56 on whether
    /// each is odd.
    fn some_of_512(self, bits: u64) -> [u64; 8];

    /// Whether eight bits of a row are set: `bits` has their numbers in 8 bits each.
    fn all_of_256(self, row: &[u64; 4], bits: u64) -> bool;

    /// Whether seven bits of a row are set: `bits` has their numbers as above.
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool;

    /// The same as [`Level::all_of_256`] for two rows.
    #[inline(always)]
    fn all_of_two_256(self, rows: [&[u64; 4]; 2], bits: [u64; 2]) -> [bool; 2] {
        [self.all_of_256(rows[0], bits[0]), self.all_of_256(rows[1], bits[1])]
    }

    /// The same as [`Level::all_of_512`] for two rows.
    #[inline(always)]
    fn all_of_two_512(self, rows: [&[u64; 8]; 2], bits: [u64; 2]) -> [bool; 2] {
        [self.all_of_512(rows[0], bits[0]), self.all_of_512(rows[1], bits[1])]
    }

    /// Whether rows have all bits of the keys of a group, where the level has instructions by which that takes less for a group
    /// than key by key: else nothing is done, and the answer is false. `ahead` is told the number of the
    /// first of two keys some time before these are looked at.
    #[inline(always)]
    fn find_in_group<const N: usize>(
        self,
        _numbers: Numbers,
        _words: &[u64; GROUP],
        _rows: Rows<'_, N>,
        _ahead: impl Fn(usize),
        _hits: &mut [bool; GROUP],
    ) -> bool {
        false
    }

    /// Makes ready what [`Level::put_in_group`] takes.
    #[inline(always)]
    fn make_ready(self, _numbers: Numbers, _words: &[u64; GROUP], _ready: &mut Ready) {}

    /// Sets the bits of the keys of a group in their rows in the same way, one key after the other; with the words goes what was
    /// made ready of them. `tell` is told of each
    /// whether its row had them all before: not by what is written at the end, which would have to be read from memory that was
    /// just written in other pieces.
    #[inline(always)]
    fn put_in_group<const N: usize>(
        self,
        _numbers: Numbers,
        _words: (&[u64; GROUP], &Ready),
        _rows: &mut RowsMut<'_, N>,
        _ahead: impl Fn(&[u64], usize),
        _tell: impl FnMut(usize, bool),
    ) -> bool {
        false
    }

    /// Whether a row has all bits of a mask.
    #[inline(always)]
    fn has<const N: usize>(self, row: &[u64; N], mask: &[u64; N]) -> bool {
        rows::has(row, mask)
    }

    /// Sets those bits of a row that `mask` has. Whether all of them were set before.
    #[inline(always)]
    fn put<const N: usize>(self, row: &mut [u64; N], mask: &[u64; N]) -> bool {
        rows::put(row, mask)
    }

    /// The same with bits as [`Level::some_of_256`] has them.
    #[inline(always)]
    fn put_some_of_256(self, row: &mut [u64; 4], bits: u64) -> bool {
        self.put(row, &self.some_of_256(bits))
    }

    /// The same with bits as [`Level::some_of_512`] has them.
    #[inline(always)]
    fn put_some_of_512(self, row: &mut [u64; 8], bits: u64) -> bool {
        self.put(row, &self.some_of_512(bits))
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

    /// Sets each sum to the constant of the second matrix plus its key times that; and each number to what the same by
    /// the first matrix selects, one of `n`, in steps of `EACH`. At most half a word of that, at the top, is ever other than zero.
    #[inline(always)]
    fn set_chosen<const EACH: usize>(
        self,
        matrices: &[Matrix; 2],
        n: u32,
        keys: &[u64; GROUP],
        numbers: &mut [u32; GROUP],
        sums: &mut [u64; GROUP],
    ) {
        let mut both = [[0; GROUP]; 2];
        self.set_products(matrices, keys, &mut both);
        for (number, bits) in numbers.iter_mut().zip(&both[0]) {
            *number = selected(*bits, n) * EACH as u32;
        }
        *sums = both[1];
    }

    /// A group of keys in the order in which [`Level::select`] wants them.
    #[inline(always)]
    fn arranged(self, keys: [u64; GROUP]) -> [u64; GROUP] {
        keys
    }

    /// What groups of keys select, one of `n`, by sums of at most [`SHORT`] bits, at the top of words: one matrix for each
    /// word of a key, and of each group the first words, then the second and so on, arranged.
    #[inline(always)]
    fn select(self, matrices: &[Matrix], n: u32, keys: &[[u64; GROUP]], numbers: &mut [[u32; GROUP]]) {
        for (keys, numbers) in keys.chunks_exact(matrices.len()).zip(numbers) {
            let mut sums = [[0; GROUP]];
            self.set_products(from_ref(&matrices[0]), &keys[0], &mut sums);
            for (matrix, keys) in matrices.iter().zip(keys).skip(1) {
                self.add_products(from_ref(matrix), keys, &mut sums);
            }
            *numbers = sums[0].map(|sum| selected(sum, n));
        }
    }
}

/// What a word selects, one of `n`: the high half of a product of two words, by products that vectors have.
#[inline(always)]
pub fn selected(bits: u64, n: u32) -> u32 {
    let n = u64::from(n);
    (((bits >> 32) * n + ((u64::from(bits as u32) * n) >> 32)) >> 32) as u32
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
            if let Some(wider) = Wider::detect(wide) {
                levels.push(Self(Has::Wider(wider)));
                levels.extend(Widest::detect(wider).map(|widest| Self(Has::Widest(widest))));
            }
        }
        levels
    }

    /// The level as part of any code, where that is worth it.
    pub fn inlined(self) -> Option<Inlined> {
        match self.0 {
            Has::Portable => None,
            #[cfg(target_arch = "x86_64")]
            Has::Wide(wide) => Some(Inlined(wide)),
            #[cfg(target_arch = "x86_64")]
            Has::Wider(wider) => Some(Inlined(wider.into())),
            #[cfg(target_arch = "x86_64")]
            Has::Widest(widest) => Some(Inlined(widest.into())),
        }
    }

    /// A shorter form of one of its tests, where the processor has long vectors.
    pub fn inlined_wider(self) -> Option<InlinedWider> {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Has::Wider(wider) => Some(InlinedWider(wider)),
            #[cfg(target_arch = "x86_64")]
            Has::Widest(widest) => Some(InlinedWider(widest.into())),
            _ => None,
        }
    }

    /// Shorter forms of its tests, where the processor has the widest level.
    pub fn inlined_widest(self) -> Option<InlinedWidest> {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Has::Widest(widest) => Some(InlinedWidest(widest)),
            _ => None,
        }
    }

    /// Whether it multiplies matrices by an instruction: a second word of a hash then costs little.
    pub fn has_products(self) -> bool {
        self.inlined_widest().is_some()
    }

    /// A question to be asked on this level.
    pub fn asks<C: Call, Q: Question<C>>(self) -> Asked<C> {
        // SAFETY: the processor has the level.
        #[cfg(target_arch = "x86_64")]
        macro_rules! on {
            ($level:ident) => {
                |of, key| unsafe { $level::ask::<C, Q>(of, key) }
            };
        }
        Asked(match self.0 {
            Has::Portable => |of, key| Q::ask(Portable, of, key),
            #[cfg(target_arch = "x86_64")]
            Has::Wide(_) => on!(wide),
            #[cfg(target_arch = "x86_64")]
            Has::Wider(_) => on!(wider),
            #[cfg(target_arch = "x86_64")]
            Has::Widest(_) => on!(widest),
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
            Has::Wider(level) => level.run(work),
            #[cfg(target_arch = "x86_64")]
            Has::Widest(level) => level.run(work),
        }
    }
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

/// Something in memory of which a compiler does not know what was written there: parts of it are read from where they are.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
fn written<T>(thing: &mut T) {
    // SAFETY: nothing is done.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) std::ptr::from_mut(thing), options(nostack, preserves_flags));
    }
}

/// The 64 bits of a row from a byte on.
///
/// # Panics
/// When there are not so many.
#[inline(always)]
pub fn word_at<const N: usize>(row: &[u64; N], byte: usize) -> u64 {
    assert!(byte <= 8 * N - 8, "no word from this byte on");
    #[cfg(target_endian = "little")]
    // SAFETY: eight bytes from there on are inside; any bytes are a word.
    unsafe {
        row.as_ptr().cast::<u8>().add(byte).cast::<u64>().read_unaligned()
    }
    #[cfg(target_endian = "big")]
    {
        let above = row.get(byte / 8 + 1).map_or(0, |above| above << 1 << (63 - byte % 8 * 8));
        row[byte / 8] >> (byte % 8 * 8) | above
    }
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

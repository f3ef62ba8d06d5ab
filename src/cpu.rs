//! Code for the processor that the program runs on, chosen at run time.
//!
//! A program built for every x86-64 may not use what processors have had for a decade: vectors
//! of 256 bits, instructions that pick bits out of a word. Here such code is built twice, from
//! one source, and the processor is asked once which to run. [`Work`] is handed a [`Level`]: what
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
//! asks for huge pages, take pointers.
#![allow(unsafe_code)] // for the reasons above; the rest of the crate has none

/// What the processor can do beyond the least of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    #[cfg(target_arch = "x86_64")]
    wide: Option<Wide>,
}

/// Something to be done, on any level.
pub trait Work {
    /// What comes of it.
    type Output;

    /// Does it. This, and what it calls, must be `#[inline(always)]`: only then is it built
    /// for the level.
    fn run<L: Level>(self, level: L) -> Self::Output;
}

/// Instructions that are fast on some processors. A value of a level can only be had where
/// the processor has it.
pub trait Level: Copy {
    /// Whether the operations are single instructions.
    const FAST: bool;

    /// The bits of `word` where `mask` is set, side by side from bit 0 on.
    fn extract(self, word: u64, mask: u64) -> u64;

    /// The lowest bits of `word`, one after the other, where `mask` is set.
    fn deposit(self, word: u64, mask: u64) -> u64;

    /// The lowest `n` bits set (`n` at most 64).
    fn low(self, n: u32) -> u64;

    /// Eight halves of words with one bit set in each: `bits` has its number in 5 bits, for
    /// even halves from bit 0 on, for odd ones from bit 32 on.
    fn one_of_32(self, bits: u64) -> [u64; 4];

    /// Adds to each sum what the tables have for the halves of the bytes of its key, for the
    /// `used` bytes of the sum: one bit for each. Others need not be right.
    fn add_halves(self, tables: &HalfTables, used: u8, keys: &[u64; 32], sums: &mut [u64; 32]);
}

/// By half of a byte of a key, the lowest first, by byte of a sum, and by value: what it adds.
pub type HalfTables = [[[u8; 16]; 8]; 16];

/// Nothing but what every processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portable;

impl Level for Portable {
    const FAST: bool = false;

    #[inline]
    fn extract(self, word: u64, mut mask: u64) -> u64 {
        let (mut bits, mut n) = (0, 0);
        while mask != 0 {
            bits |= (word >> mask.trailing_zeros() & 1) << n;
            mask &= mask - 1;
            n += 1;
        }
        bits
    }

    #[inline]
    fn deposit(self, mut word: u64, mut mask: u64) -> u64 {
        let mut bits = 0;
        while mask != 0 {
            bits |= (word & 1) << mask.trailing_zeros();
            word >>= 1;
            mask &= mask - 1;
        }
        bits
    }

    #[inline]
    fn low(self, n: u32) -> u64 {
        u64::MAX.unbounded_shr(64 - n)
    }

    #[inline]
    fn one_of_32(self, bits: u64) -> [u64; 4] {
        std::array::from_fn(|i| {
            let pair = bits >> (5 * i);
            1 << (pair & 31) | (1 << 32) << (pair >> 32 & 31)
        })
    }

    #[inline]
    fn add_halves(self, tables: &HalfTables, used: u8, keys: &[u64; 32], sums: &mut [u64; 32]) {
        let _ = used;
        for (sum, key) in sums.iter_mut().zip(keys) {
            for (half, tables) in tables.iter().enumerate() {
                *sum ^= u64::from_le_bytes(tables.map(|table| table[(key >> (4 * half) & 15) as usize]));
            }
        }
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::detect()
    }
}

impl Cpu {
    /// The processor as it is.
    pub fn detect() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            wide: Wide::detect(),
        }
    }

    /// The processor as if it were the least of its kind.
    pub fn portable() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            wide: None,
        }
    }

    /// Whether there is more than the least.
    pub fn is_wide(self) -> bool {
        self != Self::portable()
    }

    /// Does some work on the best level there is.
    #[inline]
    pub fn run<W: Work>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide {
            // SAFETY: there is a `Wide` only where the processor has its instructions.
            return unsafe { x86_64::run(work, wide) };
        }
        work.run(Portable)
    }
}

/// Begins to read what will be needed soon.
#[inline]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on time, and every x86-64 has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
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

#[cfg(target_arch = "x86_64")]
pub use x86_64::Wide;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::{
        arch::x86_64::{
            __cpuid, __m128i, __m256i, _bzhi_u64, _mm256_and_si256, _mm256_broadcastsi128_si256,
            _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setzero_si256,
            _mm256_shuffle_epi8, _mm256_sllv_epi32, _mm256_srli_epi16, _mm256_srlv_epi32,
            _mm256_unpackhi_epi8, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
            _mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
            _mm256_xor_si256, _pdep_u64, _pext_u64,
        },
        mem::transmute,
    };

    use super::{HalfTables, Level, Work};

    /// AVX2, BMI1, BMI2, LZCNT and POPCNT.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Wide(());

    impl Wide {
        /// Proof that the processor has them, and that all of them are fast.
        pub(super) fn detect() -> Option<Self> {
            let has = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            (has && !slow_bmi2()).then_some(Self(()))
        }
    }

    /// AMD's processors before Zen 3 (family 19h) take up to hundreds of cycles for PEXT.
    fn slow_bmi2() -> bool {
        let vendor = __cpuid(0);
        let amd = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == *b"AuthenticAMD";
        let version = __cpuid(1).eax;
        let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
        amd && family < 0x19
    }

    impl Level for Wide {
        const FAST: bool = true;

        #[inline(always)]
        fn extract(self, word: u64, mask: u64) -> u64 {
            // SAFETY: this `Wide` is the proof.
            unsafe { _pext_u64(word, mask) }
        }

        #[inline(always)]
        fn deposit(self, word: u64, mask: u64) -> u64 {
            // SAFETY: this `Wide` is the proof.
            unsafe { _pdep_u64(word, mask) }
        }

        #[inline(always)]
        fn low(self, n: u32) -> u64 {
            // SAFETY: this `Wide` is the proof.
            unsafe { _bzhi_u64(u64::MAX, n) }
        }

        #[inline(always)]
        fn one_of_32(self, bits: u64) -> [u64; 4] {
            // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
            unsafe {
                let places = _mm256_setr_epi32(0, 0, 5, 5, 10, 10, 15, 15);
                let shifted = _mm256_srlv_epi32(_mm256_set1_epi64x(bits.cast_signed()), places);
                let numbers = _mm256_and_si256(shifted, _mm256_set1_epi32(31));
                transmute(_mm256_sllv_epi32(_mm256_set1_epi32(1), numbers))
            }
        }

        #[inline]
        fn add_halves(self, tables: &HalfTables, used: u8, keys: &[u64; 32], sums: &mut [u64; 32]) {
            // SAFETY: this `Wide` is the proof.
            unsafe {
                match used {
                    _ if used & !0x0f == 0 => add_halves::<0x0f>(tables, keys, sums),
                    _ if used & !0x77 == 0 => add_halves::<0x77>(tables, keys, sums),
                    _ if used & !0x7f == 0 => add_halves::<0x7f>(tables, keys, sums),
                    _ => add_halves::<0xff>(tables, keys, sums),
                }
            }
        }
    }

    /// The lowest bytes of all keys side by side, then the next, and so on: a vector then has one
    /// half byte of 32 keys, for which a shuffle looks up what they add to one byte of the sums.
    #[target_feature(enable = "avx2")]
    fn add_halves<const USED: u8>(tables: &HalfTables, keys: &[u64; 32], sums: &mut [u64; 32]) {
        // SAFETY: words and vectors are the same bits.
        let keys = transposed(unsafe { transmute::<[u64; 32], [__m256i; 8]>(*keys) });
        let low = _mm256_set1_epi8(15);
        let mut added = [_mm256_setzero_si256(); 8];
        for (key, tables) in keys.into_iter().zip(tables.as_chunks::<2>().0) {
            let halves = [key, _mm256_srli_epi16::<4>(key)];
            for (half, tables) in halves.into_iter().zip(tables) {
                let half = _mm256_and_si256(half, low);
                for byte in 0..8 {
                    if USED >> byte & 1 == 1 {
                        // SAFETY: bytes and vectors are the same bits.
                        let table = unsafe { transmute::<[u8; 16], __m128i>(tables[byte]) };
                        let found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), half);
                        added[byte] = _mm256_xor_si256(added[byte], found);
                    }
                }
            }
        }
        // SAFETY: words and vectors are the same bits.
        let added = unsafe { transmute::<[__m256i; 8], [u64; 32]>(transposed(added)) };
        for (sum, added) in sums.iter_mut().zip(added) {
            *sum ^= added;
        }
    }

    /// Byte j of word i of each vector column, and byte i of word j, change places.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn transposed(rows: [__m256i; 8]) -> [__m256i; 8] {
        let [a, b, c, d, e, f, g, h] = rows;
        // Each step puts those side by side that belong together, in units of twice the size.
        let columns = |a, b, c, d| {
            let (ab, cd) = (_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(c, d));
            [
                _mm256_unpacklo_epi32(ab, cd),
                _mm256_unpackhi_epi32(ab, cd),
                _mm256_unpacklo_epi32(ab_high, cd_high),
                _mm256_unpackhi_epi32(ab_high, cd_high),
            ]
        };
        let even = columns(
            _mm256_unpacklo_epi8(a, b),
            _mm256_unpacklo_epi8(c, d),
            _mm256_unpacklo_epi8(e, f),
            _mm256_unpacklo_epi8(g, h),
        );
        let odd = columns(
            _mm256_unpackhi_epi8(a, b),
            _mm256_unpackhi_epi8(c, d),
            _mm256_unpackhi_epi8(e, f),
            _mm256_unpackhi_epi8(g, h),
        );
        std::array::from_fn(|i| match i % 2 {
            0 => _mm256_unpacklo_epi64(even[i / 2], odd[i / 2]),
            _ => _mm256_unpackhi_epi64(even[i / 2], odd[i / 2]),
        })
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn run<W: Work>(work: W, wide: Wide) -> W::Output {
        work.run(wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix64;

    struct All(u64, u64);

    impl Work for All {
        type Output = (u64, u64, [u64; 65], [u64; 4]);

        fn run<L: Level>(self, level: L) -> Self::Output {
            let lows = std::array::from_fn(|n| level.low(n as u32));
            (level.extract(self.0, self.1), level.deposit(self.0, self.1), lows, level.one_of_32(self.0))
        }
    }

    struct Halves<'a>(&'a HalfTables, u8, &'a [u64; 32], [u64; 32]);

    impl Work for Halves<'_> {
        type Output = [u64; 32];

        fn run<L: Level>(mut self, level: L) -> [u64; 32] {
            level.add_halves(self.0, self.1, self.2, &mut self.3);
            self.3
        }
    }

    #[test]
    fn every_level_adds_the_same() {
        let mut rng = SplitMix64::new(9);
        for used in [0xff, 0x7f, 0x77, 0x0f, 0x07, 0x01, 0x80, 0x3a] {
            let (keys, sums) = ([(); 32].map(|()| rng.next_u64()), [(); 32].map(|()| rng.next_u64()));
            let mut tables: HalfTables = [[[0; 16]; 8]; 16];
            for byte in tables.as_flattened_mut().as_flattened_mut() {
                *byte = rng.next_u64() as u8;
            }
            let added = |cpu: Cpu| cpu.run(Halves(&tables, used, &keys, sums));
            let bytes =
                (0..8).filter(|byte| used >> byte & 1 == 1).fold(0, |mask, byte| mask | 0xff << (8 * byte));
            for ((wide, portable), (key, sum)) in
                added(Cpu::detect()).into_iter().zip(added(Cpu::portable())).zip(keys.into_iter().zip(sums))
            {
                assert_eq!(wide & bytes, portable & bytes, "{used:#x}");
                let byte = used.trailing_zeros() as usize;
                let halves = (0..16).map(|half| tables[half][byte][(key >> (4 * half) & 15) as usize]);
                let expected = halves.fold((sum >> (8 * byte)) as u8, |sum, half| sum ^ half);
                assert_eq!((portable >> (8 * byte)) as u8, expected);
            }
        }
    }

    #[test]
    fn every_level_computes_the_same() {
        let mut rng = SplitMix64::new(8);
        for _ in 0..10_000 {
            let (word, mask) = (rng.next_u64(), rng.next_u64() & rng.next_u64());
            let (extracted, deposited, lows, halves) = Cpu::portable().run(All(word, mask));
            assert_eq!(Cpu::detect().run(All(word, mask)), (extracted, deposited, lows, halves));
            assert!(
                (0..=64).all(|n| lows[n].count_ones() == n as u32 && lows[n].trailing_ones() == n as u32)
            );
            // One undoes the other.
            assert_eq!(Cpu::portable().run(All(extracted, mask)).1, word & mask);
            assert_eq!(deposited & !mask, 0);
            for i in 0..8 {
                let half = (halves[i / 2] >> (i % 2 * 32)) as u32;
                assert_eq!(u64::from(half.trailing_zeros()), word >> (i % 2 * 32 + i / 2 * 5) & 31);
                assert_eq!(half.count_ones(), 1);
            }
        }
    }
}

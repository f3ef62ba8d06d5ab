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
#![allow(unsafe_code)]

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

    /// What `table` has for each byte of `bytes`, all of which are below 16: 32 at once.
    fn look_up(self, table: &[u8; 16], bytes: [u64; 4]) -> [u64; 4];
}

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
    fn look_up(self, table: &[u8; 16], bytes: [u64; 4]) -> [u64; 4] {
        bytes.map(|word| u64::from_le_bytes(word.to_le_bytes().map(|byte| table[usize::from(byte & 15)])))
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

/// Asks the system to keep many words in huge pages: with small ones a read at random first
/// waits for the address of its page. To be called before they are written to.
pub fn prefer_huge_pages(words: &mut [u64]) {
    #[cfg(target_os = "linux")]
    {
        // Smaller than that, nothing is gained; and the call takes whole pages only, whose
        // size is a power of two below it.
        const LEAST: usize = 1 << 21;
        let bytes = words.as_mut_ptr_range();
        let (first, end) = (bytes.start.cast::<u8>(), bytes.end.cast::<u8>());
        let skipped = first.align_offset(LEAST);
        let len = (end as usize - first as usize).saturating_sub(skipped) / LEAST * LEAST;
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
            __cpuid, __m128i, __m256i, _bzhi_u64, _mm256_broadcastsi128_si256, _mm256_shuffle_epi8,
            _pdep_u64, _pext_u64,
        },
        mem::transmute,
    };

    use super::{Level, Work};

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
        fn look_up(self, table: &[u8; 16], bytes: [u64; 4]) -> [u64; 4] {
            // SAFETY: this `Wide` is the proof; arrays of 32 bytes and vectors are the same bits.
            unsafe {
                let table = _mm256_broadcastsi128_si256(transmute::<[u8; 16], __m128i>(*table));
                transmute(_mm256_shuffle_epi8(table, transmute::<[u64; 4], __m256i>(bytes)))
            }
        }
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
        type Output = (u64, u64, [u64; 4], [u64; 65]);

        fn run<L: Level>(self, level: L) -> Self::Output {
            let table = std::array::from_fn(|i| (self.0 >> (3 * i)) as u8);
            let bytes = [0, 1, 2, 3].map(|i| self.1 >> i & 0x0f0f_0f0f_0f0f_0f0f);
            let lows = std::array::from_fn(|n| level.low(n as u32));
            (level.extract(self.0, self.1), level.deposit(self.0, self.1), level.look_up(&table, bytes), lows)
        }
    }

    #[test]
    fn every_level_computes_the_same() {
        let mut rng = SplitMix64::new(8);
        for _ in 0..10_000 {
            let (word, mask) = (rng.next_u64(), rng.next_u64() & rng.next_u64());
            let (extracted, deposited, looked_up, lows) = Cpu::portable().run(All(word, mask));
            assert_eq!(Cpu::detect().run(All(word, mask)), (extracted, deposited, looked_up, lows));
            assert!(
                (0..=64).all(|n| lows[n].count_ones() == n as u32 && lows[n].trailing_ones() == n as u32)
            );
            // One undoes the other.
            assert_eq!(Cpu::portable().run(All(extracted, mask)).1, word & mask);
            assert_eq!(deposited & !mask, 0);
            assert_eq!(looked_up[0] & 0xff, word >> (3 * (mask & 15)) & 0xff);
        }
    }
}

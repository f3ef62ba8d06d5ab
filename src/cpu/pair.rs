#[cfg(target_arch = "x86_64")]
use std::{
    arch::x86_64::{__m128i, _mm_loadu_si128, _mm_xor_si128},
    mem::transmute,
};

/// Two words that are read and added together. Compilers would read them one by one.
#[derive(Clone, Copy, Debug)]
pub struct Pair(#[cfg(target_arch = "x86_64")] __m128i, #[cfg(not(target_arch = "x86_64"))] [u64; 2]);

impl Pair {
    /// Reads them.
    #[inline(always)]
    pub fn read(words: &[u64; 2]) -> Self {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a reference can be read, and every x86-64 has the instruction.
        return Self(unsafe { _mm_loadu_si128(words.as_ptr().cast()) });
        #[cfg(not(target_arch = "x86_64"))]
        Self(*words)
    }

    /// Their sum over GF(2) with others.
    #[inline(always)]
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has the instruction.
        return Self(unsafe { _mm_xor_si128(self.0, other.0) });
        #[cfg(not(target_arch = "x86_64"))]
        Self([self.0[0] ^ other.0[0], self.0[1] ^ other.0[1]])
    }

    /// The words.
    #[inline(always)]
    pub fn words(self) -> [u64; 2] {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: words and vectors are the same bits.
        return unsafe { transmute::<__m128i, [u64; 2]>(self.0) };
        #[cfg(not(target_arch = "x86_64"))]
        self.0
    }
}

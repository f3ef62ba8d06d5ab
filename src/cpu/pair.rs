#[cfg(target_arch = "x86_64")]
use std::{
    arch::x86_64::{__m128i, _mm_loadu_si128, _mm_xor_si128},
    mem::transmute,
};

/// Two words that are read and added together. Compilers would read them one by one.
#[derive(Clone, Copy, Debug)]
pub struct Pair(
    #[cfg(target_arch = "x86_64")] pub(super) __m128i,
    #[cfg(not(target_arch = "x86_64"))] [u64; 2],
);

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

/// What each bit of a word adds to a pair, in tables: one for the lowest bits of its eight bytes, and one for the other bits of
/// each byte. Such a byte without its lowest bit is the place of its entry, in steps of half an entry, as instructions
/// have them; tables for whole bytes would be two thirds larger, and each look-up one instruction longer.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Pairs {
    pub(super) lowest: [Pair; 256],
    pub(super) others: [[Pair; 128]; 8],
}

impl Pairs {
    /// The lowest bits of bytes.
    #[cfg(target_arch = "x86_64")]
    pub(super) const LOWEST: u64 = 0x0101_0101_0101_0101;

    /// What all of it is added to, and what each bit adds.
    pub fn new(constant: [u64; 2], columns: &[[u64; 2]; 64]) -> Box<Self> {
        let zero = Pair::read(&[0; 2]);
        let mut tables = Box::new(Self { lowest: [zero; 256], others: [[zero; 128]; 8] });
        let fill = |table: &mut [Pair], first: [u64; 2], bits: &mut dyn Iterator<Item = usize>| {
            table[0] = Pair::read(&first);
            for (i, bit) in bits.enumerate() {
                let (done, next) = table.split_at_mut(1 << i);
                for (next, done) in next.iter_mut().zip(done) {
                    *next = done.plus(Pair::read(&columns[bit]));
                }
            }
        };
        fill(&mut tables.lowest, constant, &mut (0..64).step_by(8));
        for (table, byte) in tables.others.iter_mut().zip((0..64).step_by(8)) {
            fill(table, [0; 2], &mut (byte + 1..byte + 8));
        }
        tables
    }
}

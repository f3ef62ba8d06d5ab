//! The same tests in fewer instructions, and one for all rows of a length: one of each part is one of all bits, too.

use std::{
    arch::{asm, x86_64::__m128i},
    hint::assert_unchecked,
    mem::transmute,
};

use super::{
    super::{Pair, Widest},
    AllRows,
};

/// [`Widest`], as part of any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlinedWidest(pub(in super::super) Widest);

/// By the number of a bit in its byte, whatever bit 3 is: the bit.
const ONES: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Where the numbers of bits begin: four bits each, in the upper half of the low word. Of the high word nothing is asked for.
const STARTS: [u8; 16] = [32, 36, 40, 44, 48, 52, 56, 60, 0, 0, 0, 0, 0, 0, 0, 0];

/// A constant for a register.
#[inline(always)]
fn kept(bytes: [u8; 16]) -> __m128i {
    // SAFETY: bytes and vectors are the same bits.
    unsafe { transmute(bytes) }
}

/// Whether a row has eight bits; one vector is as long as the row.
macro_rules! all_of {
    ($words:literal, $rows:ident, $bits:ident, $permute:literal) => {
        ask!(
            $rows.selected::<$words>(u64::from($bits.words()[0] as u32), 32),
            $bits,
            [
                "vpmultishiftqb xmm2, xmm14, xmm0",
                "vpermb xmm2, xmm2, xmm15",
                "vpslldq xmm2, xmm2, 8",
                $permute,
                "xor {has:e}, {has:e}",
                "vptest xmm1, xmm2",
                "setc {has:l}",
            ];
            kept(STARTS),
            kept(ONES)
        )
    };
}

/// Tests of rows, as those of [`Inlined`](super::Inlined). Eight bits are each given by the number of a byte in the row, a byte of
/// the high word, and the number of the bit in it, four bits from the middle of the low word on, of which the last is no
/// matter. The row field is the lower half of the low word: there it need not be cut out.
impl InlinedWidest {
    /// Whether a row has them all.
    #[inline(always)]
    pub fn all_of_256(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: the processor has AVX-512; half a word is the most that it can be; nothing is read but the row, and nothing
        // written but registers.
        unsafe { all_of!(4, rows, bits, "vpermb ymm1, ymm0, ymmword ptr [{rows} + {at}]") }
    }

    /// The same for longer rows.
    #[inline(always)]
    pub fn all_of_512(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: as above.
        unsafe { all_of!(8, rows, bits, "vpermb zmm1, zmm0, zmmword ptr [{rows} + {at}]") }
    }
}

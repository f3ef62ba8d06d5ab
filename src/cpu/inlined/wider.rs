//! The same tests in long vectors.

use std::{arch::asm, hint::assert_unchecked};

use super::{
    super::{Pair, Wider},
    AllRows,
};

/// [`Wider`], as part of any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlinedWider(pub(in super::super) Wider);

#[repr(align(64))]
struct Counts(#[expect(dead_code, reason = "read by instructions")] [u64; 8]);

/// Where numbers of nine bits begin; the last is the first again.
static NINES: Counts = Counts([0, 9, 18, 27, 36, 45, 54, 0]);

/// The same with registers that only this level has: their upper halves are in nobody's way, and stay as they are. It ends with
/// whether all bits of a mask are set.
macro_rules! ask_long {
    ($row:expr, $bits:ident, [$($instruction:literal),* $(,)?] $(, $constant:ident)*) => {
        ask!(
            @@ $row, $bits,
            [$($instruction,)* "xor {has:e}, {has:e}", "kortestb k1, k1", "setc {has:l}"],
            [$($constant),*],
            [out("xmm16") _, out("xmm17") _, out("k1") _]
        )
    };
}

/// Tests of rows. The high word has the row field, in its lower half.
impl InlinedWider {
    /// See [`Inlined::all_of_256`](super::Inlined::all_of_256).
    #[inline(always)]
    pub fn all_of_256(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: the processor has AVX-512; half a word is the most that the field can be; nothing is read but the row, and
        // nothing written but registers.
        unsafe {
            ask_long!(
                rows.selected::<4>(u64::from(bits.words()[1] as u32), 32),
                bits,
                [
                    "vpmovzxbd ymm16, xmm0",
                    "vpermd ymm17, ymm16, ymmword ptr [{rows} + {at}]",
                    "vpsrld ymm16, ymm16, 3",
                    "vprolvd ymm16, ymm17, ymm16",
                    "vpmovd2m k1, ymm16",
                ]
            )
        }
    }

    /// See [`Inlined::one_of_each_64`](super::Inlined::one_of_each_64).
    #[inline(always)]
    pub fn one_of_each_64(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: as above.
        unsafe {
            ask_long!(
                rows.selected::<8>(u64::from(bits.words()[1] as u32), 32),
                bits,
                [
                    "vpmovzxbq zmm16, xmm0",
                    "vmovdqu64 zmm17, zmmword ptr [{rows} + {at}]",
                    "vpsllvq zmm16, zmm17, zmm16",
                    "vpmovq2m k1, zmm16",
                ]
            )
        }
    }

    /// Whether a row has seven bits, of which the low word has the numbers, nine bits each: three for the word that it is in, and
    /// six for its place there, counted from the top.
    #[inline(always)]
    pub fn all_of_512(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: as above.
        unsafe {
            ask_long!(
                rows.selected::<8>(u64::from(bits.words()[1] as u32), 32),
                bits,
                [
                    "vpbroadcastq zmm16, xmm0",
                    "vpsrlvq zmm16, zmm16, zmmword ptr [rip + {NINES}]",
                    // Bits above the numbers do no harm.
                    "vpermq zmm17, zmm16, zmmword ptr [{rows} + {at}]",
                    "vpsrlq zmm16, zmm16, 3",
                    "vprolvq zmm16, zmm17, zmm16",
                    "vpmovq2m k1, zmm16",
                ],
                NINES
            )
        }
    }
}

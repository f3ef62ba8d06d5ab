//! The same tests in fewer instructions.

use std::{arch::asm, hint::assert_unchecked};

use super::{
    super::{Pair, Widest},
    AllRows, Vector, extract,
};

/// [`Widest`], as part of any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlinedWidest(pub(in super::super) Widest);

/// Where its tests of whole rows leave room for the row field: bits of the high word that shuffles do not look at.
pub const WIDEST_ROOM: u64 = 0x7878_7878_7878_7878;

/// By the number of a bit in its byte, whatever bit 3 is: the bit.
static ONE: Vector = {
    let (mut ones, mut i) = ([0; 32], 0);
    while i < 32 {
        ones[i] = 1 << (i % 8);
        i += 1;
    }
    Vector(ones)
};

/// Tests of rows, as those of [`Inlined`](super::Inlined).
impl InlinedWidest {
    /// Whether a row has one bit in each word: see [`Inlined::one_of_each_64`](super::Inlined::one_of_each_64).
    #[inline(always)]
    pub fn one_of_each_64(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: the processor has AVX-512; half a word is the most that it can be; nothing is read but the row, and nothing
        // written but registers.
        unsafe {
            ask!(
                rows.selected::<8>(u64::from(bits.words()[1] as u32), 32),
                bits,
                [
                    "vpmovzxbq zmm0, xmm0",
                    "vmovdqu64 zmm1, zmmword ptr [{rows} + {at}]",
                    "vpsllvq zmm0, zmm1, zmm0",
                    "vpmovq2m k1, zmm0",
                    "kmovb {has:e}, k1",
                    "inc {has:e}",
                    "shr {has:e}, 8",
                ]
            )
        }
    }

    /// Whether a row has eight bits. Each is given by a byte of both words: in the low word the number of its byte in the
    /// row, in the high word its number in that byte. The row field is in [`WIDEST_ROOM`]; the other bits are zero.
    #[inline(always)]
    pub fn all_of_256(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: as above, and it has BMI2; as many bits come out as are set in the room.
        unsafe {
            ask!(
                rows.selected::<4>(extract(bits.words()[1], WIDEST_ROOM), 32),
                bits,
                [
                    "vpermb ymm1, ymm0, ymmword ptr [{rows} + {at}]",
                    "vmovdqa xmm2, xmmword ptr [rip + {ONE}]",
                    "vpshufb xmm2, xmm2, xmm0",
                    "vpsrldq xmm2, xmm2, 8",
                    "xor {has:e}, {has:e}",
                    "vptest xmm1, xmm2",
                    "setc {has:l}",
                ],
                ONE
            )
        }
    }

    /// The same for longer rows.
    #[inline(always)]
    pub fn all_of_512(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: as above.
        unsafe {
            ask!(
                rows.selected::<8>(extract(bits.words()[1], WIDEST_ROOM), 32),
                bits,
                [
                    "vpermb zmm1, zmm0, zmmword ptr [{rows} + {at}]",
                    "vmovdqa xmm2, xmmword ptr [rip + {ONE}]",
                    "vpshufb xmm2, xmm2, xmm0",
                    "vpsrldq xmm2, xmm2, 8",
                    "xor {has:e}, {has:e}",
                    "vptest xmm1, xmm2",
                    "setc {has:l}",
                ],
                ONE
            )
        }
    }
}

//! What one key needs, by instructions that the code around them need not be built for: a call to code that is takes as
//! long as a test.
//!
//! While a row is on its way, a processor goes on with the keys after it, as far as it has room for their instructions: each
//! one that is saved here shortens the wait. So bits come out of the hash where a test wants them, and what a row
//! has of them is shifted until it is at the top of words, instead of compared with bits that are made.

#[cfg(test)]
mod tests;

use std::{arch::asm, hint::assert_unchecked};

use super::{Pair, Pairs, Wide};

/// [`Wide`], as part of any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlined(pub(super) Wide);

/// Where the test of whole rows of 512 bits leaves room for the row field in the low word: bits of a byte that shuffles do not look
/// at, and the place of an eighth number.
pub const ROOM_OF_512: u64 = 0xff70_7070_7070_7070;

#[repr(align(32))]
struct Vector(#[expect(dead_code, reason = "read by instructions")] [u8; 32]);

/// By the number of a bit in its byte, and 8 more in the upper half of a vector: the bit, in its half.
static ONES: Vector = {
    let (mut ones, mut i) = ([0; 32], 0);
    while i < 8 {
        ones[i] = 1 << i;
        ones[24 + i] = 1 << i;
        i += 1;
    }
    Vector(ones)
};

/// The top bits of seven bytes of the upper word of each half.
static OTHER_HALF: Vector = {
    let (mut tops, mut i) = ([0; 32], 0);
    while i < 7 {
        tops[8 + i] = 0x80;
        tops[24 + i] = 0x80;
        i += 1;
    }
    Vector(tops)
};

/// The bits of `word` where `mask` is set, side by side from bit 0 on.
///
/// # Safety
/// The processor must have BMI2.
#[inline(always)]
unsafe fn extract(word: u64, mask: u64) -> u64 {
    let bits;
    // SAFETY: it has; only registers are read and written.
    unsafe {
        asm!(
            "pext {bits}, {word}, {mask}",
            bits = out(reg) bits,
            word = in(reg) word,
            mask = in(reg) mask,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    bits
}

/// Words that are at least one row of any length. So that it is asked before a loop over keys, and once for all tests, and not
/// for each key and test.
#[derive(Clone, Copy, Debug)]
pub struct AllRows<'a>(&'a [u64]);

impl<'a> AllRows<'a> {
    /// # Panics
    /// When they are fewer.
    #[inline(always)]
    pub fn new(words: &'a [u64]) -> Self {
        assert!(words.len() >= 8, "not even one row");
        Self(words)
    }

    /// Where the rows of `N` words begin, and in bytes from there the one that a field of so many bits, 32 at most, selects.
    ///
    /// # Safety
    /// There must be no more than 8 words to a row. The field must not have more bits.
    #[inline(always)]
    unsafe fn selected<const N: usize>(self, field: u64, bits: u32) -> (*const u64, usize) {
        // Below the number of rows, which is not zero, since the field is below that power of two.
        let row = (field * (self.0.len() / N) as u64) >> bits;
        (self.0.as_ptr(), row as usize * 8 * N)
    }
}

/// Runs instructions on one of many rows and what the hash has for it, in register 0, that leave 1 or 0. The row must be there.
/// Constants are read where they lie, or kept in the last two registers.
macro_rules! ask {
    ($row:expr, $bits:ident, $instructions:tt $(, $constant:ident)*) => {
        ask!(@ $row, $bits, $instructions, [$($constant),*], [out("xmm14") _, out("xmm15") _])
    };
    ($row:expr, $bits:ident, $instructions:tt; $first:expr, $second:expr) => {
        // Of these registers nothing but the lower halves is in use: no one has the constants as parts of longer ones.
        ask!(@ $row, $bits, $instructions, [], [in("xmm14") $first, in("xmm15") $second])
    };
    (@ $row:expr, $bits:ident, [$($instruction:literal),* $(,)?], $constants:tt, [$($kept:tt)*]) => {
        ask!(
            @@ $row, $bits,
            // Code that knows nothing of the upper halves of vectors is slow while they are in use.
            [$($instruction,)* "vzeroupper"],
            $constants,
            [
                out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _,
                out("xmm11") _, out("xmm12") _, out("xmm13") _,
                $($kept)*
            ]
        )
    };
    (@@ $row:expr, $bits:ident, [$($instruction:literal),*], [$($constant:ident),*], [$($registers:tt)*]) => {{
        let has: u64;
        let (rows, at) = $row;
        asm!(
            $($instruction,)*
            rows = in(reg) rows,
            at = in(reg) at,
            has = out(reg) has,
            $($constant = sym $constant,)*
            inout("xmm0") $bits.0 => _,
            $($registers)*,
            options(pure, readonly, nostack),
        );
        assert_unchecked(has <= 1);
        has == 1
    }};
}

/// Adds what lies in memory. Processors of Intel's count the shorter instruction as one, the longer as two; but code that
/// uses the upper halves of vectors all over may only have the longer.
#[cfg(not(target_feature = "avx"))]
macro_rules! plus {
    ($sum:literal, $place:literal) => {
        concat!("pxor ", $sum, ", ", $place)
    };
}
#[cfg(target_feature = "avx")]
macro_rules! plus {
    ($sum:literal, $place:literal) => {
        concat!("vpxor ", $sum, ", ", $sum, ", ", $place)
    };
}

// After what it is made of.
mod wider;
mod widest;

pub use wider::InlinedWider;
pub use widest::InlinedWidest;

/// Tests of rows. Which row it is, a field of the hash says.
impl Inlined {
    /// The sum of what each bit of a word adds. What is said of two different tests is not merged into one by compilers: how
    /// keys are tested is then asked once before a loop, and not for each.
    #[inline(always)]
    pub fn sum<const TEST: u8>(self, tables: &Pairs, word: u64) -> Pair {
        let sum;
        // SAFETY: the processor has AVX, BMI1 and BMI2; nothing is read but entries: one of 256, and eight of 128, by bytes that
        // are even, in steps of half of them.
        unsafe {
            asm!(
                "pext {lowest}, {rest}, {mask}",
                "andn {rest}, {mask}, {rest}",
                "shl {lowest}, 4",
                // The lowest two bytes of a word are at hand, others have to be cut out of it one by one. Two sums are added up
                // side by side: the row is then known sooner.
                "movzx {byte:e}, {rest:l}",
                "vmovdqa {sum}, xmmword ptr [{tables} + 8 * {byte} + 0x1000]",
                "movzx {byte:e}, {rest:h}",
                "shr {rest}, 16",
                "vmovdqa {other}, xmmword ptr [{tables} + 8 * {byte} + 0x1800]",
                "movzx {byte:e}, {rest:l}",
                plus!("{sum}", "xmmword ptr [{tables} + 8 * {byte} + 0x2000]"),
                "movzx {byte:e}, {rest:h}",
                "shr {rest}, 16",
                plus!("{other}", "xmmword ptr [{tables} + 8 * {byte} + 0x2800]"),
                "movzx {byte:e}, {rest:l}",
                plus!("{sum}", "xmmword ptr [{tables} + 8 * {byte} + 0x3000]"),
                "movzx {byte:e}, {rest:h}",
                "shr {rest}, 16",
                plus!("{other}", "xmmword ptr [{tables} + 8 * {byte} + 0x3800]"),
                "movzx {byte:e}, {rest:l}",
                plus!("{sum}", "xmmword ptr [{tables} + {lowest}]"),
                plus!("{sum}", "xmmword ptr [{tables} + 8 * {byte} + 0x4000]"),
                "movzx {byte:e}, {rest:h}",
                plus!("{other}", "xmmword ptr [{tables} + 8 * {byte} + 0x4800]"),
                "vpxor {sum}, {sum}, {other} /* {test} */",
                lowest = out(reg) _,
                rest = inout(reg_abcd) word => _,
                byte = out(reg_abcd) _,
                mask = in(reg) Pairs::LOWEST,
                tables = in(reg) tables,
                other = out(xmm_reg) _,
                sum = out(xmm_reg) sum,
                test = const TEST,
                options(pure, readonly, nostack),
            );
        }
        Pair(sum)
    }

    /// Whether a row has eight bits. The low word has their numbers, a byte each: three bits for the half word that it is in, and
    /// five for its place there, counted from the top. The high word has the row field, in its lower half. One of each part is
    /// one of all bits, too.
    #[inline(always)]
    pub fn all_of_256(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: the processor has AVX2; half a word is the most that it can be; nothing is read but the row, and nothing
        // written but registers.
        unsafe {
            ask!(
                rows.selected::<4>(u64::from(bits.words()[1] as u32), 32),
                bits,
                [
                    "vpmovzxbd ymm0, xmm0",
                    "vpermd ymm1, ymm0, ymmword ptr [{rows} + {at}]",
                    "vpsrld ymm0, ymm0, 3",
                    "vpsllvd ymm0, ymm1, ymm0",
                    "vmovmskps {has:e}, ymm0",
                    "inc {has:e}",
                    "shr {has:e}, 8",
                ]
            )
        }
    }

    /// Whether a row has one bit in each word, in the same way: six bits for its place there.
    #[inline(always)]
    pub fn one_of_each_64(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: as above.
        unsafe {
            ask!(
                rows.selected::<8>(u64::from(bits.words()[1] as u32), 32),
                bits,
                [
                    "vpsrlq xmm1, xmm0, 32",
                    "vpmovzxbq ymm0, xmm0",
                    "vpmovzxbq ymm1, xmm1",
                    "vmovdqu ymm2, ymmword ptr [{rows} + {at}]",
                    "vpsllvq ymm0, ymm2, ymm0",
                    "vmovdqu ymm2, ymmword ptr [{rows} + {at} + 32]",
                    "vpsllvq ymm1, ymm2, ymm1",
                    "vpand ymm0, ymm0, ymm1",
                    "vmovmskpd {has:e}, ymm0",
                    "inc {has:e}",
                    "shr {has:e}, 4",
                ]
            )
        }
    }

    /// Whether a row has seven bits. Each is given by a byte of both words: in the low word the number of its byte in a quarter of
    /// the row, in the high word its number in that byte, in bit 7 the half of the row that it is in, in bit 3 which quarter of
    /// that. Where the eighth would be, the high word has bit 7. The row field is in [`ROOM_OF_512`]; the other bits are zero.
    #[inline(always)]
    pub fn all_of_512(self, rows: AllRows, bits: Pair) -> bool {
        // SAFETY: as above, and it has BMI2; as many bits come out as are set in the room.
        unsafe {
            ask!(
                rows.selected::<8>(extract(bits.words()[0], ROOM_OF_512), ROOM_OF_512.count_ones()),
                bits,
                [
                    "vinserti128 ymm0, ymm0, xmm0, 1",
                    "vmovdqu ymm1, ymmword ptr [{rows} + {at}]",
                    "vpshufb ymm1, ymm1, ymm0",
                    "vmovdqu ymm2, ymmword ptr [{rows} + {at} + 32]",
                    "vpshufb ymm2, ymm2, ymm0",
                    "vpunpcklqdq ymm1, ymm1, ymm2",
                    "vpunpckhqdq ymm0, ymm0, ymm0",
                    // A number with its top bit set finds nothing.
                    "vpxor ymm0, ymm0, ymmword ptr [rip + {OTHER_HALF}]",
                    "vmovdqa ymm2, ymmword ptr [rip + {ONES}]",
                    "vpshufb ymm2, ymm2, ymm0",
                    "xor {has:e}, {has:e}",
                    "vptest ymm1, ymm2",
                    "setc {has:l}",
                ],
                ONES,
                OTHER_HALF
            )
        }
    }
}

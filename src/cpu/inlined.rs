//! What one key needs, by instructions that the code around them need not be built for: a call to code that is takes as
//! long as a test.

use std::arch::asm;

use super::{GROUP, Level, Matrix, Wide, Work};

/// [`Wide`], as part of any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlined(pub(super) Wide);

/// Eight halves of words, for a vector.
#[repr(align(32))]
struct Halves(#[expect(dead_code, reason = "read by instructions")] [u32; 8]);

/// How far up the number of each half is moved to be its top 5 bits: see [`Level::one_of_32`].
static TO_THE_TOP: Halves = Halves([27, 27, 22, 22, 17, 17, 12, 12]);
static ONES: Halves = Halves([1; 8]);

impl Level for Inlined {
    const FAST: bool = true;

    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        self.0.run(work)
    }

    #[inline(always)]
    fn extract(self, word: u64, mask: u64) -> u64 {
        let bits;
        // SAFETY: the processor has BMI2; only registers are read and written.
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

    #[inline(always)]
    fn has_one_of_32(self, row: &[u64; 4], bits: u64) -> bool {
        let has: u8;
        // SAFETY: the processor has AVX2; nothing is read but constants and the row, and nothing written but registers.
        unsafe {
            asm!(
                "vmovq xmm0, {bits}",
                "vpbroadcastq ymm0, xmm0",
                "vpsllvd ymm0, ymm0, ymmword ptr [rip + {to_the_top}]",
                "vpsrld ymm0, ymm0, 27",
                "vmovdqa ymm1, ymmword ptr [rip + {ones}]",
                "vpsllvd ymm0, ymm1, ymm0",
                "vmovdqu ymm1, ymmword ptr [{row}]",
                "vptest ymm1, ymm0",
                "setc {has}",
                // Code that knows nothing of the upper halves of vectors is slow while they are in use.
                "vzeroupper",
                bits = in(reg) bits,
                row = in(reg) row,
                to_the_top = sym TO_THE_TOP,
                ones = sym ONES,
                has = out(reg_byte) has,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                options(pure, readonly, nostack),
            );
        }
        has != 0
    }

    // What follows is not for one key, and is left to the level itself.

    #[inline]
    fn deposit(self, word: u64, mask: u64) -> u64 {
        self.0.deposit(word, mask)
    }

    #[inline]
    fn low(self, n: u32) -> u64 {
        self.0.low(n)
    }

    #[inline]
    fn one_of_32(self, bits: u64) -> [u64; 4] {
        self.0.one_of_32(bits)
    }

    #[inline]
    fn some_of_256(self, bits: u64) -> [u64; 4] {
        self.0.some_of_256(bits)
    }

    #[inline]
    fn some_of_512(self, bits: u64) -> [u64; 8] {
        self.0.some_of_512(bits)
    }

    #[inline]
    fn all_of_256(self, row: &[u64; 4], bits: u64) -> bool {
        self.0.all_of_256(row, bits)
    }

    #[inline]
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool {
        self.0.all_of_512(row, bits)
    }

    #[inline]
    fn add_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        self.0.add_products(matrices, keys, sums);
    }
}

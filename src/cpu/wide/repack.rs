//! A row that loses some bits and gets others, in one go: its words in vectors, four in each.

use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_blend_epi32, _mm256_cvtepu8_epi64, _mm256_max_epi32, _mm256_or_si256, _mm256_permute4x64_epi64,
    _mm256_set_epi64x, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_sll_epi64, _mm256_sllv_epi64,
    _mm256_srl_epi64, _mm256_srli_epi64, _mm256_srlv_epi64, _mm256_sub_epi64, _pext_u64,
};

use super::{
    super::kept::{Filled, Kept},
    first_bits, words,
};

/// See [`Level::repacked`](super::Level::repacked).
///
/// # Safety
/// There must be four words for each vector.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
pub(super) unsafe fn repacked<const N: usize, const V: usize>(
    row: &[u64; N],
    kept: &Kept,
    filled: Filled,
) -> [u64; N] {
    // SAFETY: there are four.
    unsafe { words::<N, V>(opened(closed(row, kept), filled)) }
}

/// What is kept, side by side.
#[inline]
#[target_feature(enable = "avx2,bmi2")]
fn closed<const N: usize, const V: usize>(row: &[u64; N], kept: &Kept) -> [__m256i; V] {
    let mut closed = [_mm256_setzero_si256(); V];
    let mut above = _mm256_setzero_si256();
    for i in (0..V).rev() {
        let picked = |word: usize| _pext_u64(row[4 * i + word], kept.mask[4 * i + word]).cast_signed();
        let bits = _mm256_set_epi64x(picked(3), picked(2), picked(1), picked(0));
        let dropped = i32::from_le_bytes([0, 1, 2, 3].map(|word| kept.dropped[4 * i + word]));
        let down = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(dropped));
        // Each word gets what the one above loses: the last that of the vector above.
        let lost = _mm256_sllv_epi64(bits, _mm256_sub_epi64(_mm256_set1_epi64x(64), down));
        let turned = _mm256_permute4x64_epi64::<0b00_11_10_01>(lost);
        let from_above = _mm256_blend_epi32::<0b1100_0000>(turned, above);
        above = turned;
        closed[i] = _mm256_or_si256(_mm256_srlv_epi64(bits, down), from_above);
    }
    closed
}

/// With a bit and a field put in.
#[inline]
#[target_feature(enable = "avx2")]
fn opened<const V: usize>(mut row: [__m256i; V], filled: Filled) -> [__m256i; V] {
    let zero = _mm256_setzero_si256();
    let Filled { bit_at, bit, at, width, value } = filled;
    let bit = _mm256_set1_epi64x(bit.into());
    // Places are those before the bit comes in: the field is then one higher than that.
    let field = _mm256_set1_epi64x((value << 1).cast_signed());
    let up = _mm_cvtsi64_si128(i64::from(width) + 1);
    let over = _mm_cvtsi64_si128(63 - i64::from(width));
    let mut below = zero;
    for (i, words) in (0..).zip(&mut row) {
        // How far up in each word they are: shifted too far, or by less than nothing, nothing is left.
        let bit_up = _mm256_sub_epi64(_mm256_set1_epi64x(bit_at.into()), first_bits(i));
        let field_up = _mm256_sub_epi64(_mm256_set1_epi64x(i64::from(at) - 1), first_bits(i));
        let from_field = _mm256_and_si256(from_on(field_up), *words);
        let others = _mm256_andnot_si256(from_on(field_up), *words);
        let from_bit = _mm256_and_si256(from_on(bit_up), others);
        // Each word gets what the one before loses: the first that of the vector before.
        let lost = _mm256_or_si256(_mm256_srli_epi64::<63>(from_bit), _mm256_srl_epi64(from_field, over));
        let turned = _mm256_permute4x64_epi64::<0b10_01_00_11>(lost);
        let from_below = _mm256_blend_epi32::<0b11>(turned, below);
        below = turned;
        let field_down = _mm256_sub_epi64(zero, field_up);
        let put = _mm256_or_si256(_mm256_sllv_epi64(field, field_up), _mm256_srlv_epi64(field, field_down));
        let put = _mm256_or_si256(put, _mm256_sllv_epi64(bit, bit_up));
        // What is added to itself moves up by one.
        let moved = _mm256_add_epi64(others, from_bit);
        let moved = _mm256_or_si256(moved, _mm256_sll_epi64(from_field, up));
        *words = _mm256_or_si256(_mm256_or_si256(moved, from_below), put);
    }
    row
}

/// Ones in each word from a bit on: in all of it where that is less than nothing.
#[inline]
#[target_feature(enable = "avx2")]
fn from_on(bits: __m256i) -> __m256i {
    // Numbers of bits are small: their upper halves only tell their signs.
    let bits = _mm256_max_epi32(bits, _mm256_setzero_si256());
    _mm256_sllv_epi64(_mm256_set1_epi64x(-1), bits)
}

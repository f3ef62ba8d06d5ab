//! Short hashes of many keys, and what they select: as [`wide`](super::super::wide) does it, with one product in place of
//! two look-ups, and for two groups at once.

use std::{
    arch::x86_64::{
        __m256i, __m512i, _mm512_add_epi64, _mm512_castsi256_si512, _mm512_castsi512_si256,
        _mm512_extracti64x4_epi64, _mm512_gf2p8affine_epi64_epi8, _mm512_inserti64x4,
        _mm512_mask_blend_epi32, _mm512_mul_epu32, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512,
        _mm512_srli_epi64, _mm512_unpackhi_epi8, _mm512_unpackhi_epi16, _mm512_unpacklo_epi8,
        _mm512_unpacklo_epi16, _mm512_xor_si512,
    },
    mem::transmute,
};

use super::super::{GROUP, Matrix};

/// See [`Level::select`](super::Level::select); of the sums only the highest `BYTES` bytes, three to five, are other
/// than zero. Keys are arranged as [`Wide`](super::Wide) does it.
// A call for many keys costs nothing, and a copy in every loop much.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(super) fn select<const BYTES: usize>(
    matrices: &[Matrix],
    n: u32,
    keys: &[[u64; GROUP]],
    numbers: &mut [[u32; GROUP]],
) {
    let n = _mm512_set1_epi64(n.into());
    let groups = numbers.len();
    for first in (0..groups).step_by(2) {
        // Of an odd number, the last stands in both halves.
        let second = (first + 1).min(groups - 1);
        let words = matrices.len();
        let sums = sums::<BYTES>(matrices, &keys[first * words..][..words], &keys[second * words..][..words]);
        let [_, _, _, least, a, b, c, d] = sums;
        let zero = _mm512_setzero_si512();
        let (high, least) = (side_by_side([a, b, c, d]), side_by_side([least, zero, zero, zero]));
        for i in 0..4 {
            let both = reduced::<BYTES>(high[i], least[i], n);
            let (low, high) = (_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64::<1>(both));
            // SAFETY: words and vectors are the same bits.
            unsafe {
                numbers[first].as_chunks_mut().0[i] = transmute::<__m256i, [u32; 8]>(low);
                numbers[second].as_chunks_mut().0[i] = transmute::<__m256i, [u32; 8]>(high);
            }
        }
    }
}

/// The sums of two groups, one in each half of a vector: their lowest bytes, then the next, and so on.
#[expect(clippy::needless_range_loop, reason = "other loops become calls, which take longer")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn sums<const BYTES: usize>(
    matrices: &[Matrix],
    first: &[[u64; GROUP]],
    second: &[[u64; GROUP]],
) -> [__m512i; 8] {
    let mut sums = [_mm512_setzero_si512(); 8];
    for byte in 8 - BYTES..8 {
        sums[byte] = _mm512_set1_epi8(matrices[0].constant.to_le_bytes()[byte].cast_signed());
    }
    for ((matrix, first), second) in matrices.iter().zip(first).zip(second) {
        for from in 0..8 {
            // SAFETY: words and vectors are the same bits.
            let [first, second] = unsafe {
                transmute::<[[u64; 4]; 2], [__m256i; 2]>([
                    first.as_chunks().0[from],
                    second.as_chunks().0[from],
                ])
            };
            let bytes = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second);
            for byte in 8 - BYTES..8 {
                let part = _mm512_set1_epi64(matrix.part(from, byte).cast_signed());
                let product = _mm512_gf2p8affine_epi64_epi8::<0>(bytes, part);
                sums[byte] = _mm512_xor_si512(sums[byte], product);
            }
        }
    }
    sums
}

/// High halves of products by `n`: of 32 bits, and of 8 bits below them where there are more than four bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduced<const BYTES: usize>(high: __m512i, least: __m512i, n: __m512i) -> __m512i {
    let products =
        |halves| [_mm512_mul_epu32(halves, n), _mm512_mul_epu32(_mm512_srli_epi64::<32>(halves), n)];
    let [mut even, mut odd] = products(high);
    if BYTES > 4 {
        let [more_even, more_odd] = products(least);
        even = _mm512_add_epi64(even, _mm512_srli_epi64::<8>(more_even));
        odd = _mm512_add_epi64(odd, _mm512_srli_epi64::<8>(more_odd));
    }
    _mm512_mask_blend_epi32(0b1010_1010_1010_1010, _mm512_srli_epi64::<32>(even), odd)
}

/// Bytes of four vectors to halves of words, the first lowest.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn side_by_side([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab, cd) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
    [
        _mm512_unpacklo_epi16(ab, cd),
        _mm512_unpackhi_epi16(ab, cd),
        _mm512_unpacklo_epi16(ab_high, cd_high),
        _mm512_unpackhi_epi16(ab_high, cd_high),
    ]
}

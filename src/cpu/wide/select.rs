//! Short hashes of many keys, and what they select: only the bytes that there are of them, and in halves of words.

use std::{
    arch::x86_64::{
        __m128i, __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_blend_epi32,
        _mm256_broadcastsi128_si256, _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_permute2x128_si256,
        _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_set1_epi64x,
        _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_srli_epi64,
        _mm256_unpackhi_epi8, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
        _mm256_unpacklo_epi8, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
        _mm256_xor_si256,
    },
    mem::transmute,
};

use super::{super::Matrix, GROUP, Halves, bytes, halved, product, transposed};

/// The lowest bytes of all keys side by side, then the next, and so on. Their order is such that the numbers come out
/// in that of the keys.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn arranged(keys: [u64; GROUP]) -> [u64; GROUP] {
    // SAFETY: words and vectors are the same bits.
    let [a, b, c, d, e, f, g, h] = unsafe { transmute::<[u64; GROUP], [__m256i; 8]>(keys) };
    let [first, second] = [four_by_four([a, e, b, f]), four_by_four([c, g, d, h])];
    // SAFETY: as above.
    unsafe { transmute(transposed(transmute::<[[__m256i; 4]; 2], [__m256i; 8]>([first, second]))) }
}

/// Word j of vector i and word i of vector j change places.
#[inline]
#[target_feature(enable = "avx2")]
fn four_by_four([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let [even, odd] = [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)];
    let [more_even, more_odd] = [_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d)];
    [
        _mm256_permute2x128_si256::<0x20>(even, more_even),
        _mm256_permute2x128_si256::<0x20>(odd, more_odd),
        _mm256_permute2x128_si256::<0x31>(even, more_even),
        _mm256_permute2x128_si256::<0x31>(odd, more_odd),
    ]
}

/// See [`Level::select`](super::Level::select); of the sums only the highest `BYTES` bytes, three to five, are other
/// than zero.
// A call for many keys costs nothing, and a copy in every loop much.
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(super) fn select<const BYTES: usize>(
    matrices: &[Matrix],
    n: u32,
    keys: &[[u64; GROUP]],
    numbers: &mut [[u32; GROUP]],
) {
    let n = _mm256_set1_epi64x(n.into());
    // Two groups share the reads of what is looked up.
    let (pairs, rest) = numbers.as_chunks_mut::<2>();
    let (keys, rest_keys) = keys.split_at(2 * pairs.len() * matrices.len());
    for (keys, numbers) in keys.chunks_exact(2 * matrices.len()).zip(pairs) {
        *numbers = selected::<BYTES, 2>(matrices, n, keys);
    }
    for (keys, numbers) in rest_keys.chunks_exact(matrices.len()).zip(rest) {
        [*numbers] = selected::<BYTES, 1>(matrices, n, keys);
    }
}

/// See [`Level::set_chosen`](super::Level::set_chosen).
#[inline(never)]
#[target_feature(enable = "avx2")]
pub(super) fn set_chosen<const EACH: usize>(
    [choosing, matrix]: &[Matrix; 2],
    n: u32,
    keys: &[u64; GROUP],
    numbers: &mut [u32; GROUP],
    sums: &mut [u64; GROUP],
) {
    let halves = halved(keys);
    match choosing.used.trailing_zeros() {
        5.. => chosen::<0xe0, EACH>(choosing, &halves, n, numbers),
        _ => chosen::<0xf0, EACH>(choosing, &halves, n, numbers),
    }
    product::<true>(matrix, &halves, sums);
}

/// What is chosen by products of which only some bytes, at the top, are other than zero.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn chosen<const USED: u8, const EACH: usize>(
    matrix: &Matrix,
    halves: &Halves,
    n: u32,
    numbers: &mut [u32; GROUP],
) {
    let [_, _, _, _, a, b, c, d] = bytes::<true, USED>(matrix, halves);
    let n = _mm256_set1_epi64x(n.into());
    let [a, b, c, d] = side_by_side([a, b, c, d]).map(|high| reduced::<4>(high, _mm256_setzero_si256(), n));
    // Every fourth key is in the same half of a vector, and the next one two vectors further.
    let in_order = [
        _mm256_unpacklo_epi32(a, c),
        _mm256_unpackhi_epi32(a, c),
        _mm256_unpacklo_epi32(b, d),
        _mm256_unpackhi_epi32(b, d),
    ];
    let each = _mm256_set1_epi32((EACH as u32).cast_signed());
    let in_order =
        in_order.map(|pairs| _mm256_mullo_epi32(_mm256_permute4x64_epi64::<0b11_01_10_00>(pairs), each));
    // SAFETY: words and vectors are the same bits.
    *numbers = unsafe { transmute::<[__m256i; 4], [u32; GROUP]>(in_order) };
}

/// The same as [`select`] for so many groups.
#[inline]
#[target_feature(enable = "avx2")]
fn selected<const BYTES: usize, const GROUPS: usize>(
    matrices: &[Matrix],
    n: __m256i,
    keys: &[[u64; GROUP]],
) -> [[u32; GROUP]; GROUPS] {
    let zero = _mm256_setzero_si256();
    let mut sums = [[zero; 8]; GROUPS];
    for byte in 8 - BYTES..8 {
        let constant = matrices[0].constant.to_le_bytes()[byte];
        for sums in &mut sums {
            sums[byte] = _mm256_set1_epi8(constant.cast_signed());
        }
    }
    for (word, matrix) in matrices.iter().enumerate() {
        for (i, tables) in matrix.halves.as_chunks::<2>().0.iter().enumerate() {
            let (mut low, mut high) = ([zero; GROUPS], [zero; GROUPS]);
            for group in 0..GROUPS {
                let bytes = keys[group * matrices.len() + word].as_chunks().0[i];
                // SAFETY: words and vectors are the same bits.
                let bytes = unsafe { transmute::<[u64; 4], __m256i>(bytes) };
                low[group] = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
                high[group] = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(15));
            }
            for (tables, halves) in tables.iter().zip([low, high]) {
                for byte in 8 - BYTES..8 {
                    // SAFETY: bytes and vectors are the same bits.
                    let table = unsafe { transmute::<[u8; 16], __m128i>(tables[byte]) };
                    let table = _mm256_broadcastsi128_si256(table);
                    for (sums, half) in sums.iter_mut().zip(halves) {
                        sums[byte] = _mm256_xor_si256(sums[byte], _mm256_shuffle_epi8(table, half));
                    }
                }
            }
        }
    }
    let mut numbers = [[0; GROUP]; GROUPS];
    for ([_, _, _, least, a, b, c, d], numbers) in sums.into_iter().zip(&mut numbers) {
        let (high, least) = (side_by_side([a, b, c, d]), side_by_side([least, zero, zero, zero]));
        for (i, numbers) in numbers.as_chunks_mut().0.iter_mut().enumerate() {
            // SAFETY: as above.
            *numbers = unsafe { transmute::<__m256i, [u32; 8]>(reduced::<BYTES>(high[i], least[i], n)) };
        }
    }
    numbers
}

/// High halves of products by `n`: of 32 bits, and of 8 bits below them where there are more than four bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn reduced<const BYTES: usize>(high: __m256i, least: __m256i, n: __m256i) -> __m256i {
    let mut even = _mm256_mul_epu32(high, n);
    let mut odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(high), n);
    if BYTES > 4 {
        let (more_even, more_odd) =
            (_mm256_mul_epu32(least, n), _mm256_mul_epu32(_mm256_srli_epi64::<32>(least), n));
        even = _mm256_add_epi64(even, _mm256_srli_epi64::<8>(more_even));
        odd = _mm256_add_epi64(odd, _mm256_srli_epi64::<8>(more_odd));
    }
    _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd)
}

/// Bytes of four vectors to halves of words, the first lowest.
#[inline]
#[target_feature(enable = "avx2")]
fn side_by_side([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (ab, cd) = (_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d));
    [
        _mm256_unpacklo_epi16(ab, cd),
        _mm256_unpackhi_epi16(ab, cd),
        _mm256_unpacklo_epi16(ab_high, cd_high),
        _mm256_unpackhi_epi16(ab_high, cd_high),
    ]
}

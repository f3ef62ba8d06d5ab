//! Keys times matrices.

use std::{
    arch::x86_64::{
        __m512i, _mm512_alignr_epi64, _mm512_gf2p8affine_epi64_epi8, _mm512_mask_blend_epi32,
        _mm512_mul_epu32, _mm512_mullo_epi32, _mm512_permutexvar_epi8, _mm512_set1_epi32, _mm512_set1_epi64,
        _mm512_shuffle_i64x2, _mm512_srli_epi64, _mm512_xor_si512,
    },
    mem::transmute,
};

use super::{
    super::{GROUP, Matrix},
    vector, words,
};

/// The bytes of a vector in another order: in each block of so many, the first byte of each row, then the second of each, and so
/// on. There are so many rows in a block.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
pub(super) fn transposed<const BLOCK: usize, const ROWS: usize>(bytes: __m512i) -> __m512i {
    // SAFETY: bytes and vectors are the same bits.
    let places = unsafe { transmute::<[u8; 64], __m512i>(const { places(BLOCK, ROWS) }) };
    _mm512_permutexvar_epi8(places, bytes)
}

/// Where those bytes are.
const fn places(block: usize, rows: usize) -> [u8; 64] {
    let (mut places, mut i) = ([0; 64], 0);
    while i < 64 {
        let in_block = i % block;
        places[i] = (i - in_block + in_block % rows * (block / rows) + in_block / rows) as u8;
        i += 1;
    }
    places
}

/// Eight keys with their lowest bytes side by side, then the next, and so on; and the same turned by one word, by two, up
/// to seven.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn turns(keys: &[u64; 8]) -> [__m512i; 8] {
    // SAFETY: there are eight words.
    let bytes = transposed::<64, 8>(unsafe { vector(keys) });
    [
        bytes,
        _mm512_alignr_epi64::<1>(bytes, bytes),
        _mm512_alignr_epi64::<2>(bytes, bytes),
        _mm512_alignr_epi64::<3>(bytes, bytes),
        _mm512_alignr_epi64::<4>(bytes, bytes),
        _mm512_alignr_epi64::<5>(bytes, bytes),
        _mm512_alignr_epi64::<6>(bytes, bytes),
        _mm512_alignr_epi64::<7>(bytes, bytes),
    ]
}

/// The sum of products of two turns, from one on.
#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn two_products(turns: &[__m512i; 8], matrix: &[[u64; 8]], turn: usize) -> __m512i {
    // SAFETY: there are eight words.
    let product =
        |turn: usize| unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(turns[turn], vector(&matrix[turn])) };
    _mm512_xor_si512(product(turn), product(turn + 1))
}

/// Eight keys, in turns, times a matrix. The instruction multiplies all eight bytes of a word by one matrix: each word is the
/// same byte of eight keys, and meets the part of the matrix that leads to one byte of the sums. In all
/// turns together, each meets all eight.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi,gfni")]
fn product(turns: &[__m512i; 8], matrix: &Matrix) -> __m512i {
    // In pairs: the chain of additions is short.
    let pair = |turn: usize| two_products(turns, &matrix.turned, turn);
    let low = _mm512_xor_si512(pair(0), pair(2));
    let high = _mm512_xor_si512(pair(4), pair(6));
    transposed::<64, 8>(_mm512_xor_si512(low, high))
}

/// The upper half of that, for 16 keys: each word has one byte of eight keys, and in half as many turns meets half of the
/// bytes of these; the other half is in another word.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi,gfni")]
fn upper_product(turns: [&[__m512i; 8]; 2], matrix: &Matrix) -> __m512i {
    let sum = |turns: &[__m512i; 8]| {
        _mm512_xor_si512(two_products(turns, &matrix.upper, 0), two_products(turns, &matrix.upper, 2))
    };
    let [first, second] = [sum(turns[0]), sum(turns[1])];
    let lower = _mm512_shuffle_i64x2::<0b01_00_01_00>(first, second);
    let upper = _mm512_shuffle_i64x2::<0b11_10_11_10>(first, second);
    transposed::<32, 4>(_mm512_xor_si512(lower, upper))
}

/// See [`Level::add_products`](super::Level::add_products).
// A call for many keys costs nothing, and a copy in every loop much.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn add<const M: usize>(matrices: &[Matrix; M], keys: &[u64; GROUP], sums: &mut [[u64; GROUP]; M]) {
    for (n, keys) in keys.as_chunks().0.iter().enumerate() {
        let turns = turns(keys);
        for (matrix, sums) in matrices.iter().zip(&mut *sums) {
            let sums = &mut sums.as_chunks_mut::<8>().0[n];
            // SAFETY: there are eight words.
            *sums = unsafe { words(_mm512_xor_si512(product(&turns, matrix), vector(sums))) };
        }
    }
}

/// See [`Level::set_chosen`](super::Level::set_chosen).
// As above.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn set_chosen<const EACH: usize>(
    [choosing, summing]: &[Matrix; 2],
    n: u32,
    keys: &[u64; GROUP],
    numbers: &mut [u32; GROUP],
    sums: &mut [u64; GROUP],
) {
    let n = _mm512_set1_epi64(n.into());
    let constant = _mm512_set1_epi64(summing.constant.cast_signed());
    for i in 0..GROUP / 16 {
        let keys = [0, 1].map(|j| &keys.as_chunks().0[2 * i + j]);
        let turns = [turns(keys[0]), turns(keys[1])];
        // SAFETY: words and vectors are the same bits.
        sums.as_chunks_mut().0[i] = unsafe {
            let sum = |turns| _mm512_xor_si512(product(turns, summing), constant);
            transmute::<[__m512i; 2], [u64; 16]>([sum(&turns[0]), sum(&turns[1])])
        };
        let bits = upper_product([&turns[0], &turns[1]], choosing);
        let bits =
            _mm512_xor_si512(bits, _mm512_set1_epi32(((choosing.constant >> 32) as u32).cast_signed()));
        let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(bits, n));
        let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(bits), n);
        let chosen = _mm512_mask_blend_epi32(0xaaaa, even, odd);
        let chosen = _mm512_mullo_epi32(chosen, _mm512_set1_epi32((EACH as u32).cast_signed()));
        // SAFETY: words and vectors are the same bits.
        numbers.as_chunks_mut().0[i] = unsafe { transmute::<__m512i, [u32; 16]>(chosen) };
    }
}

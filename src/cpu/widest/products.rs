//! Keys times matrices.

use std::{
    arch::x86_64::{
        __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_mask_blend_epi32, _mm512_mul_epu32,
        _mm512_mullo_epi32, _mm512_permutex2var_epi8, _mm512_permutexvar_epi8, _mm512_set1_epi32,
        _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_epi32, _mm512_shuffle_i64x2,
        _mm512_srli_epi64, _mm512_ternarylogic_epi64, _mm512_xor_si512,
    },
    mem::transmute,
};

use super::{
    super::{
        GROUP, Matrix,
        matrix::{Quarter, word_of},
    },
    constant, vector, words,
};

/// Sets of keys in a vector.
const SETS: usize = 2;

/// Vectors for a group, each of a half of two sets of keys.
type Halves = [__m512i; GROUP / 8 / SETS];

/// The bytes of two vectors of eight keys each that are one half of all of them, in words for one byte of eight keys.
const fn bytes_of_half(half: usize) -> [u8; 64] {
    let (mut places, mut i) = ([0; 64], 0);
    while i < SETS * 8 * 4 {
        let (byte, set, key) = (i % 4, i / 4 % SETS, i / 4 / SETS);
        places[8 * word_of(byte, set) + key] = (64 * set + 8 * key + 4 * half + byte) as u8;
        i += 1;
    }
    places
}

/// The bytes of two vectors of such words, one for each half of sums, that are the sums of one set.
const fn bytes_of_set(set: usize) -> [u8; 64] {
    let (mut places, mut i) = ([0; 64], 0);
    while i < 64 {
        let (key, half, byte) = (i / 8, i % 8 / 4, i % 4);
        places[i] = (64 * half + 8 * word_of(byte, set) + key) as u8;
        i += 1;
    }
    places
}

/// The bytes of one such vector that are the halves of the sums of both sets.
const BYTES_OF_BOTH: [u8; 64] = {
    let (mut places, mut i) = ([0; 64], 0);
    while i < 64 {
        let (set, key, byte) = (i / 32, i / 4 % 8, i % 4);
        places[i] = (8 * word_of(byte, set) + key) as u8;
        i += 1;
    }
    places
};

/// The lower and the upper halves of keys.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
fn halves(keys: &[u64; GROUP]) -> [Halves; 2] {
    [const { bytes_of_half(0) }, const { bytes_of_half(1) }].map(|half| {
        std::array::from_fn(|i| {
            // SAFETY: there are eight words.
            let [first, second] =
                [0, 1].map(|set| unsafe { vector(&keys.as_chunks::<8>().0[SETS * i + set]) });
            _mm512_permutex2var_epi8(first, constant(half), second)
        })
    })
}

/// Keys times matrices: so many halves of sums, by the two quarters of a matrix that lead there. The instruction multiplies all
/// eight bytes of a word by one part of a matrix.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi,gfni")]
fn products<const OF: usize>(keys: &[Halves; 2], matrices: [&[Quarter; 2]; OF]) -> [Halves; OF] {
    let mut sums = [[_mm512_setzero_si512(); GROUP / 8 / SETS]; OF];
    for (i, half) in keys.iter().enumerate() {
        // Two turns at a time: the first and the one with neighbours exchanged; then the same with the outer ones exchanged. A part
        // is read once for all keys.
        for turn in [0, 2] {
            let first =
                half.map(
                    |bytes| {
                        if turn == 0 { bytes } else { _mm512_shuffle_i64x2::<0b01_00_11_10>(bytes, bytes) }
                    },
                );
            let second = first.map(|bytes| _mm512_shuffle_epi32::<0b01_00_11_10>(bytes));
            for (matrix, sums) in matrices.iter().zip(&mut sums) {
                // SAFETY: there are eight words.
                let [part, next] = [turn, turn + 1].map(|turn| unsafe { vector(&matrix[i][turn]) });
                for (n, sum) in sums.iter_mut().enumerate() {
                    let product = _mm512_gf2p8affine_epi64_epi8::<0>(first[n], part);
                    let more = _mm512_gf2p8affine_epi64_epi8::<0>(second[n], next);
                    *sum = _mm512_ternarylogic_epi64::<0x96>(*sum, product, more);
                }
            }
        }
    }
    sums
}

/// Sums by their halves, eight to a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
fn joined([low, high]: [Halves; 2]) -> [__m512i; GROUP / 8] {
    let sets = [const { bytes_of_set(0) }, const { bytes_of_set(1) }];
    std::array::from_fn(|n| {
        let (low, high) = (low[n / SETS], high[n / SETS]);
        _mm512_permutex2var_epi8(low, constant(sets[n % SETS]), high)
    })
}

/// See [`Level::add_products`](super::Level::add_products).
// A call for many keys costs nothing, and a copy in every loop much.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn add<const M: usize>(matrices: &[Matrix; M], keys: &[u64; GROUP], sums: &mut [[u64; GROUP]; M]) {
    let keys = halves(keys);
    for (matrix, sums) in matrices.iter().zip(sums) {
        let added = joined(products(&keys, matrix.quarters.each_ref()));
        for (sums, added) in sums.as_chunks_mut::<8>().0.iter_mut().zip(added) {
            // SAFETY: there are eight words.
            *sums = unsafe { words(_mm512_xor_si512(added, vector(sums))) };
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
    let [lower, upper] = &summing.quarters;
    let [low, high, chosen] = products(&halves(keys), [lower, upper, &choosing.quarters[1]]);
    let begin = _mm512_set1_epi64(summing.constant.cast_signed());
    for (sums, joined) in sums.as_chunks_mut::<8>().0.iter_mut().zip(joined([low, high])) {
        // SAFETY: there are eight words.
        *sums = unsafe { words(_mm512_xor_si512(joined, begin)) };
    }
    let n = _mm512_set1_epi64(n.into());
    let begin = _mm512_set1_epi32(((choosing.constant >> 32) as u32).cast_signed());
    for (numbers, chosen) in numbers.as_chunks_mut().0.iter_mut().zip(chosen) {
        let bits = _mm512_xor_si512(_mm512_permutexvar_epi8(constant(BYTES_OF_BOTH), chosen), begin);
        let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(bits, n));
        let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(bits), n);
        let chosen = _mm512_mask_blend_epi32(0xaaaa, even, odd);
        let chosen = _mm512_mullo_epi32(chosen, _mm512_set1_epi32((EACH as u32).cast_signed()));
        // SAFETY: words and vectors are the same bits.
        *numbers = unsafe { transmute::<__m512i, [u32; 16]>(chosen) };
    }
}

//! Keys times matrices, by look-ups of half a byte, 64 in one instruction. Processors of this level do one such instruction in
//! a cycle, and none beside it that moves anything about, so nothing is moved more than it must.

use std::{
    arch::x86_64::{
        __m512i, _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_blend_epi32, _mm512_mul_epu32,
        _mm512_mullo_epi32, _mm512_permutexvar_epi32, _mm512_permutexvar_epi64, _mm512_set1_epi8,
        _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32, _mm512_setr_epi64, _mm512_setzero_si512,
        _mm512_shuffle_epi8, _mm512_shuffle_i64x2, _mm512_srli_epi16, _mm512_srli_epi64,
        _mm512_ternarylogic_epi64, _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpacklo_epi16,
        _mm512_unpacklo_epi32, _mm512_xor_si512,
    },
    mem::transmute,
};

use super::{
    super::{GROUP, Matrix, matrix::Lanes},
    constant, vector, words,
};

/// Keys of a set: a byte of each fills a quarter of a vector.
const EACH_SET: usize = 16;

/// Sets of a group.
const SETS: usize = GROUP / EACH_SET;

/// Four bytes of each key of a set, in quarters of a vector.
type Quarters = __m512i;

/// The same bytes in all quarters of a vector.
const fn in_quarters(bytes: [u8; 16]) -> [u8; 64] {
    let (mut all, mut i) = ([0; 64], 0);
    while i < 64 {
        all[i] = bytes[i % 16];
        i += 1;
    }
    all
}

/// Half a word `j` of quarter `i` and `i` of quarter `j` change places.
#[inline]
#[target_feature(enable = "avx512f")]
fn turned(quarters: __m512i) -> __m512i {
    _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
        quarters,
    )
}

/// The lower four bytes of each key of a set, and the upper four.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn quarters(keys: &[u64; EACH_SET]) -> [Quarters; 2] {
    // Bytes of two keys side by side.
    const PAIRED: [u8; 64] = in_quarters([0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]);
    let (eights, _) = keys.as_chunks::<8>();
    // SAFETY: there are eight words.
    let [a, b] = [0, 1].map(|i| _mm512_shuffle_epi8(unsafe { vector(&eights[i]) }, constant(PAIRED)));
    [turned(_mm512_unpacklo_epi16(a, b)), turned(_mm512_unpackhi_epi16(a, b))]
}

/// Halves of the sums of a set, key by key: of two keys of the first eight, and of two of the others, and so on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn by_key(sums: Quarters) -> __m512i {
    const UNPAIRED: [u8; 64] = in_quarters([0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);
    _mm512_shuffle_epi8(turned(sums), constant(UNPAIRED))
}

/// Keys times halves of matrices.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn multiplied<const OF: usize>(keys: &[u64; GROUP], matrices: [&Lanes; OF]) -> [[Quarters; SETS]; OF] {
    let low = _mm512_set1_epi8(15);
    let mut sums = [[_mm512_setzero_si512(); SETS]; OF];
    let (sets, _) = keys.as_chunks();
    let sets: [_; SETS] = std::array::from_fn(|set| quarters(&sets[set]));
    for from in 0..2 {
        let mut bytes = sets.map(|set| set[from]);
        for turn in 0..4 {
            // Neighbours are exchanged, then all with those farthest, and then neighbours again.
            bytes = match turn {
                0 => bytes,
                2 => bytes.map(|bytes| _mm512_shuffle_i64x2::<0b00_01_10_11>(bytes, bytes)),
                _ => bytes.map(|bytes| _mm512_shuffle_i64x2::<0b10_11_00_01>(bytes, bytes)),
            };
            let halves = [
                bytes.map(|bytes| _mm512_and_si512(bytes, low)),
                bytes.map(|bytes| _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), low)),
            ];
            for (matrix, sums) in matrices.iter().zip(&mut sums) {
                // SAFETY: there are as many bytes.
                let tables = [0, 1]
                    .map(|half| unsafe { _mm512_loadu_si512((&raw const matrix[from][turn][half]).cast()) });
                for (set, sum) in sums.iter_mut().enumerate() {
                    let [added, more] = [0, 1].map(|i| _mm512_shuffle_epi8(tables[i], halves[i][set]));
                    *sum = _mm512_ternarylogic_epi64::<0x96>(*sum, added, more);
                }
            }
        }
    }
    sums
}

/// Sums by their halves: eight keys of a set, and the other eight.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn joined(low: Quarters, high: Quarters) -> [__m512i; 2] {
    let (low, high) = (by_key(low), by_key(high));
    [_mm512_unpacklo_epi32(low, high), _mm512_unpackhi_epi32(low, high)]
}

/// Puts sums into their places, or adds them to what is there.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn put<const SET: bool>([low, high]: [[Quarters; SETS]; 2], constant: u64, sums: &mut [u64; GROUP]) {
    let constant = _mm512_set1_epi64(constant.cast_signed());
    for (set, sums) in sums.as_chunks_mut::<8>().0.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        for (added, sums) in joined(low[set], high[set]).into_iter().zip(sums) {
            // SAFETY: there are eight words.
            let begin = if SET { constant } else { unsafe { vector(sums) } };
            // SAFETY: as above.
            *sums = unsafe { words(_mm512_xor_si512(added, begin)) };
        }
    }
}

/// See [`Level::set_products`](super::Level::set_products) and [`Level::add_products`](super::Level::add_products).
// A call for many keys costs nothing, and a copy in every loop much.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn products<const M: usize, const SET: bool>(
    matrices: &[Matrix; M],
    keys: &[u64; GROUP],
    sums: &mut [[u64; GROUP]; M],
) {
    for (matrix, sums) in matrices.iter().zip(sums) {
        let [low, high] = &matrix.lanes;
        let nothing = [_mm512_setzero_si512(); SETS];
        let added = match [matrix.used & 0x0f, matrix.used >> 4] {
            [_, 0] => [multiplied(keys, [low])[0], nothing],
            [0, _] => [nothing, multiplied(keys, [high])[0]],
            _ => multiplied(keys, [low, high]),
        };
        put::<SET>(added, matrix.constant, sums);
    }
}

/// See [`Level::set_chosen`](super::Level::set_chosen).
// As above.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn set_chosen<const EACH: usize>(
    [choosing, summing]: &[Matrix; 2],
    n: u32,
    keys: &[u64; GROUP],
    numbers: &mut [u32; GROUP],
    sums: &mut [u64; GROUP],
) {
    let [lower, upper] = &summing.lanes;
    let [low, high, chosen] = multiplied(keys, [lower, upper, &choosing.lanes[1]]);
    put::<true>([low, high], summing.constant, sums);
    let n = _mm512_set1_epi64(n.into());
    let begin = _mm512_set1_epi32(((choosing.constant >> 32) as u32).cast_signed());
    for (numbers, chosen) in numbers.as_chunks_mut().0.iter_mut().zip(chosen) {
        // Two of the first eight keys lie before two of the others.
        let in_order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
        let bits = _mm512_xor_si512(_mm512_permutexvar_epi64(in_order, by_key(chosen)), begin);
        let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(bits, n));
        let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(bits), n);
        let chosen = _mm512_mask_blend_epi32(0xaaaa, even, odd);
        let chosen = _mm512_mullo_epi32(chosen, _mm512_set1_epi32((EACH as u32).cast_signed()));
        // SAFETY: words and vectors are the same bits.
        *numbers = unsafe { transmute::<__m512i, [u32; EACH_SET]>(chosen) };
    }
}

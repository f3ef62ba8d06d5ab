//! Bits of rows. What is found of each key of a group is a byte of bits, and all of them are looked at together.

use std::{
    arch::x86_64::{
        __m256i, __m512i, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_loadu_si64, _mm_setr_epi8,
        _mm_shuffle_epi8, _mm256_cvtepu8_epi32, _mm256_loadu_si256, _mm256_mask_or_epi32,
        _mm256_permutevar8x32_epi32, _mm256_rolv_epi32, _mm256_rorv_epi32, _mm256_set1_epi32,
        _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setzero_si256, _mm256_srli_epi32, _mm256_srlv_epi32,
        _mm256_test_epi32_mask, _mm512_add_epi8, _mm512_cvtepu8_epi64, _mm512_mask_or_epi64,
        _mm512_mask_sub_epi8, _mm512_permutexvar_epi64, _mm512_rolv_epi64, _mm512_rorv_epi64,
        _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512, _mm512_shuffle_epi8,
        _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_test_epi8_mask, _mm512_test_epi64_mask,
    },
    mem::transmute,
};

use super::{
    super::{GROUP, Numbers, Rows, written},
    constant, vector, words,
};

/// What is found of a key if nothing is missing: a bit for each number.
const fn all(numbers: Numbers) -> u8 {
    match numbers {
        Numbers::SomeOf512 => 0x7f,
        _ => 0xff,
    }
}

/// What makes it safe to read rows as vectors; settled when the code is built.
#[inline(always)]
fn check<const N: usize>(numbers: Numbers) {
    assert!(N == numbers.words(), "rows of another length");
}

/// A row of four words.
///
/// # Safety
/// There must be four.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn half<const N: usize>(row: &[u64; N]) -> __m256i {
    // SAFETY: there are four.
    unsafe { _mm256_loadu_si256(row.as_ptr().cast()) }
}

/// A bit in each half of four words.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
pub(super) fn one_of_32(bits: u64) -> __m256i {
    let places = _mm256_setr_epi32(0, 0, 5, 5, 10, 10, 15, 15);
    // Bits above the numbers turn it by whole words.
    _mm256_rolv_epi32(_mm256_set1_epi32(1), _mm256_srlv_epi32(_mm256_set1_epi64x(bits.cast_signed()), places))
}

/// A bit in each of eight words.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn one_of_64(bits: u64) -> __m512i {
    let places = _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42);
    // As above.
    _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_srlv_epi64(_mm512_set1_epi64(bits.cast_signed()), places))
}

/// The eight bytes of a word, in half a word each.
#[inline]
#[target_feature(enable = "avx2")]
fn in_halves(bytes: &u64) -> __m256i {
    // SAFETY: there are eight.
    _mm256_cvtepu8_epi32(unsafe { _mm_loadu_si64(std::ptr::from_ref(bytes).cast()) })
}

/// The same in a word each.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_words(bytes: &u64) -> __m512i {
    // SAFETY: there are eight.
    _mm512_cvtepu8_epi64(unsafe { _mm_loadu_si64(std::ptr::from_ref(bytes).cast()) })
}

/// The same bytes in each word.
const fn in_each_word(bytes: [u8; 8]) -> [u8; 64] {
    let (mut all, mut i) = ([0; 64], 0);
    while i < 64 {
        all[i] = bytes[i % 8] + (i / 8 % 2 * 8) as u8;
        i += 1;
    }
    all
}

/// [`Numbers::SomeOf512`] of a group by their lower bits, and more above: the bit of its word that each is. The last byte is none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn bits_of_512(keys: &[u64; GROUP]) -> [u64; GROUP] {
    let mut bits = [0; GROUP];
    for (keys, bits) in keys.as_chunks().0.iter().zip(bits.as_chunks_mut::<8>().0) {
        // SAFETY: there are eight words.
        let keys = unsafe { vector::<8>(keys) };
        // The last byte, which says which are odd, in all places.
        let last = _mm512_shuffle_epi8(keys, constant(const { in_each_word([7; 8]) }));
        let odd = _mm512_test_epi8_mask(last, _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed()));
        let twice = _mm512_add_epi8(keys, keys);
        // SAFETY: as above.
        *bits = unsafe { words(_mm512_mask_sub_epi8(twice, odd, twice, _mm512_set1_epi8(-1))) };
    }
    bits
}

/// What is found of each key, and asked of its row.
#[inline(always)]
fn find_each<const N: usize>(
    rows: Rows<'_, N>,
    ahead: impl Fn(usize),
    find: impl Fn(usize, &[u64; N]) -> u8,
) -> [u8; GROUP] {
    let mut found = [0; GROUP];
    for (first, found) in (0..).step_by(2).zip(found.as_chunks_mut::<2>().0) {
        ahead(first);
        let [even, odd] = rows.two(first);
        *found = [find(first, even), find(first + 1, odd)];
    }
    found
}

/// See [`Level::find_in_group`](super::Level::find_in_group).
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn find<const N: usize>(
    numbers: Numbers,
    keys: &[u64; GROUP],
    rows: Rows<'_, N>,
    ahead: impl Fn(usize),
    hits: &mut [bool; GROUP],
) {
    check::<N>(numbers);
    // SAFETY, of all four: there are as many words.
    let found = match numbers {
        Numbers::OneOf32 => {
            find_each(rows, ahead, |i, row| _mm256_test_epi32_mask(one_of_32(keys[i]), unsafe { half(row) }))
        }
        Numbers::OneOf64 => find_each(rows, ahead, |i, row| {
            _mm512_test_epi64_mask(one_of_64(keys[i]), unsafe { vector(row) })
        }),
        Numbers::SomeOf256 => find_each(rows, ahead, |i, row| {
            let number = in_halves(&keys[i]);
            let of_row = _mm256_permutevar8x32_epi32(unsafe { half(row) }, _mm256_srli_epi32::<5>(number));
            _mm256_test_epi32_mask(_mm256_rorv_epi32(of_row, number), _mm256_set1_epi32(1))
        }),
        Numbers::SomeOf512 => {
            let bits = bits_of_512(keys);
            find_each(rows, ahead, |i, row| {
                let word = _mm512_srli_epi64::<5>(in_words(&keys[i]));
                let of_row = _mm512_permutexvar_epi64(word, unsafe { vector(row) });
                let ones = _mm512_setr_epi64(1, 1, 1, 1, 1, 1, 1, 0);
                _mm512_test_epi64_mask(_mm512_rorv_epi64(of_row, in_words(&bits[i])), ones)
            })
        }
    };
    for (hit, found) in hits.iter_mut().zip(found) {
        *hit = found == all(numbers);
    }
}

/// The parts of a row, halves of words or words, that eight numbers are in, a bit for each; of a number there are five bits below.
#[inline]
#[target_feature(enable = "avx2")]
fn parts(numbers: u64) -> [u8; 8] {
    let ones = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    let number = _mm_cvtsi64_si128((numbers >> 5 & 0x0707_0707_0707_0707).cast_signed());
    let mut parts = _mm_cvtsi128_si64(_mm_shuffle_epi8(ones, number)).to_le_bytes();
    // Single bytes are read where they lie, as are single bits: compilers would take them out of longer ones, which takes longer.
    written(&mut parts);
    parts
}

/// See [`Level::some_of_256`](super::Level::some_of_256).
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512dq,avx512vl")]
pub(super) fn some_of_256(numbers: u64) -> __m256i {
    let bits = _mm256_rolv_epi32(_mm256_set1_epi32(1), in_halves(&numbers));
    // SAFETY: halves of words and vectors are the same bits.
    let mut bits = unsafe { transmute::<__m256i, [i32; 8]>(bits) };
    written(&mut bits);
    let put = |row, (part, bit)| _mm256_mask_or_epi32(row, part, row, _mm256_set1_epi32(bit));
    parts(numbers).into_iter().zip(bits).fold(_mm256_setzero_si256(), put)
}

/// See [`Level::some_of_512`](super::Level::some_of_512); the numbers in nine bits each, too.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512dq,avx512vl")]
pub(super) fn some_of_512(numbers: u64, in_nines: u64) -> __m512i {
    let places = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 0);
    let in_words = _mm512_srlv_epi64(_mm512_set1_epi64(in_nines.cast_signed()), places);
    // SAFETY: words and vectors are the same bits.
    let mut bits =
        unsafe { transmute::<__m512i, [i64; 8]>(_mm512_rolv_epi64(_mm512_set1_epi64(1), in_words)) };
    written(&mut bits);
    let put = |row, (part, bit)| _mm512_mask_or_epi64(row, part, row, _mm512_set1_epi64(bit));
    parts(numbers).into_iter().zip(bits).take(7).fold(_mm512_setzero_si512(), put)
}

//! Bits of whole rows.

use std::arch::x86_64::{
    __m256i, _mm_cvtsi64_si128, _mm_set_epi64x, _mm_setr_epi8, _mm256_add_epi8, _mm256_and_si256,
    _mm256_andnot_si256, _mm256_blend_epi32, _mm256_blendv_epi8, _mm256_broadcastsi128_si256,
    _mm256_castsi256_pd, _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_movemask_pd, _mm256_or_si256,
    _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setr_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_sllv_epi64, _mm256_srl_epi64, _mm256_srli_epi16, _mm256_sub_epi64, _mm256_testc_si256,
    _mm256_xor_si256,
};

use super::first_bits;

/// Sets `K` bits of a row, with their numbers in `W` bits each.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn set_bits<const K: u32, const W: u32, const V: usize>(bits: u64) -> [__m256i; V] {
    let mut row = [_mm256_setzero_si256(); V];
    // Numbers are cut out of a word in all places of a vector: to spread them one by one took longer.
    let all = _mm256_set1_epi64x(bits.cast_signed());
    for i in 0..K {
        let shifted = _mm256_srl_epi64(all, _mm_cvtsi64_si128((W * i).into()));
        let number = _mm256_and_si256(shifted, _mm256_set1_epi64x((1 << W) - 1));
        for (vector, words) in (0..).zip(&mut row) {
            // In all words but one the shift is too far, and nothing is set.
            let shifts = _mm256_sub_epi64(number, first_bits(vector));
            *words = _mm256_or_si256(*words, _mm256_sllv_epi64(_mm256_set1_epi64x(1), shifts));
        }
    }
    row
}

/// Bytes of a vector: some in its lower half, others in its upper.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(lower: i8, upper: i8) -> __m256i {
    let [lower, upper] = [lower, upper].map(|byte| i64::from_ne_bytes([byte.cast_unsigned(); 8]));
    _mm256_setr_epi64x(lower, lower, upper, upper)
}

/// The numbers of a key in all words of a vector, or those of two keys in turns.
#[inline]
#[target_feature(enable = "avx2")]
fn in_turns([even, odd]: [u64; 2]) -> __m256i {
    _mm256_broadcastsi128_si256(_mm_set_epi64x(odd.cast_signed(), even.cast_signed()))
}

/// What was found in two rows, each in its turn.
#[inline]
#[target_feature(enable = "avx2")]
fn taken_in_turns([even, odd]: [__m256i; 2]) -> __m256i {
    _mm256_blend_epi32::<0b1100_1100>(even, odd)
}

/// By which of four words of a vector are zero: whether both of the first key are, and both of the second.
const COMPLETE: [[bool; 2]; 16] = {
    let (mut complete, mut zero) = ([[false; 2]; 16], 0);
    while zero < 16 {
        complete[zero] = [zero & 0b0101 == 0b0101, zero & 0b1010 == 0b1010];
        zero += 1;
    }
    complete
};

/// Whether nothing is missing for either of two keys, of which each has words in its turn.
#[inline]
#[target_feature(enable = "avx2")]
fn complete(found: __m256i, wanted: __m256i) -> [bool; 2] {
    let missing = _mm256_andnot_si256(found, wanted);
    let zero = _mm256_cmpeq_epi64(missing, _mm256_setzero_si256());
    let zero = _mm256_movemask_pd(_mm256_castsi256_pd(zero));
    COMPLETE[(zero & 15) as usize]
}

/// The bytes of one half of a row of 256 bits in which numbers of a byte each are, and the bits there: nothing, where a number
/// is of the other half.
#[inline]
#[target_feature(enable = "avx2")]
fn in_halves(numbers: __m256i) -> (__m256i, __m256i) {
    let bytes = _mm256_and_si256(_mm256_srli_epi16::<3>(numbers), _mm256_set1_epi8(15));
    // An index with its top bit set finds zero.
    let within = _mm256_xor_si256(_mm256_and_si256(numbers, _mm256_set1_epi8(-128 | 7)), halves(0, -128));
    let ones = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    (bytes, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(ones), within))
}

/// See [`Level::all_of_256`](super::Level::all_of_256): both halves of a row are looked at.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn all_of_256(row: __m256i, bits: u64) -> bool {
    let (bytes, wanted) = in_halves(in_turns([bits; 2]));
    _mm256_testc_si256(_mm256_shuffle_epi8(row, bytes), wanted) == 1
}

/// The same for two keys.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn all_of_two_256(rows: [__m256i; 2], bits: [u64; 2]) -> [bool; 2] {
    let (bytes, wanted) = in_halves(in_turns(bits));
    complete(taken_in_turns(rows.map(|row| _mm256_shuffle_epi8(row, bytes))), wanted)
}

/// The bytes of one quarter of a row of 512 bits in which numbers are, as [`Level::all_of_512`](super::Level::all_of_512)
/// has them, and the bits there: nothing, where a number is in the other half of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn in_quarters(numbers: __m256i) -> (__m256i, __m256i) {
    let bytes = _mm256_and_si256(_mm256_srli_epi16::<2>(numbers), _mm256_set1_epi8(15));
    // The bit below the top one says which half. If it is the other, the sum has its top bit set, and finds zero.
    let within = _mm256_add_epi8(_mm256_and_si256(numbers, _mm256_set1_epi8(64 | 3)), halves(64, -64));
    let pairs = _mm_setr_epi8(3, 3 << 2, 3 << 4, -64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    let pairs = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(pairs), within);
    // Which bit of a pair it is, the last byte of the numbers says.
    let last = _mm_setr_epi8(7, 7, 7, 7, 7, 7, 7, 7, 15, 15, 15, 15, 15, 15, 15, 15);
    let last = _mm256_shuffle_epi8(numbers, _mm256_broadcastsi128_si256(last));
    let odd = _mm256_and_si256(last, _mm256_set1_epi64x(0x0040_2010_0804_0201));
    let even = _mm256_cmpeq_epi8(odd, _mm256_setzero_si256());
    // All ones become even bits, zeros odd bits; the last byte, which is no number, zeros.
    let bits = _mm256_xor_si256(even, _mm256_set1_epi64x(0xffaa_aaaa_aaaa_aaaa_u64.cast_signed()));
    (bytes, _mm256_and_si256(pairs, bits))
}

/// See [`Level::all_of_512`](super::Level::all_of_512): all quarters of a row are looked at.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn all_of_512(row: [__m256i; 2], bits: u64) -> bool {
    let numbers = in_turns([bits; 2]);
    let (bytes, wanted) = in_quarters(numbers);
    let [low, high] = row.map(|half| _mm256_shuffle_epi8(half, bytes));
    // By the top bits.
    _mm256_testc_si256(_mm256_blendv_epi8(low, high, numbers), wanted) == 1
}

/// The same for two keys.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn all_of_two_512(rows: [[__m256i; 2]; 2], bits: [u64; 2]) -> [bool; 2] {
    let numbers = in_turns(bits);
    let (bytes, wanted) = in_quarters(numbers);
    let found = |half: usize| taken_in_turns(rows.map(|row| _mm256_shuffle_epi8(row[half], bytes)));
    complete(_mm256_blendv_epi8(found(0), found(1), numbers), wanted)
}

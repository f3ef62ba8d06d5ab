//! Bits of whole rows, for the keys of a group.
//!
//! A number is a byte of the row and a bit in it. Both are cut out of the words of eight keys at a time. Then bytes of a
//! row are found by one instruction, all those of a key at once. And to set bits is a product of two matrices: which number
//! leads to which byte, times which bit each number is. The sums of such a product know no carry: what is there twice would
//! cancel out, so a number that comes again is taken out before.

use std::{
    arch::x86_64::{
        __m128i, __m512i, _mm_cvtsi64_si128, _mm_test_epi8_mask, _mm_unpacklo_epi64, _mm512_and_si512,
        _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi32, _mm512_cvtepu8_epi64,
        _mm512_gf2p8affine_epi64_epi8, _mm512_mask_add_epi8, _mm512_mask_blend_epi8, _mm512_mask_blend_epi64,
        _mm512_mask_cmpeq_epi8_mask, _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_rolv_epi32,
        _mm512_rolv_epi64, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set4_epi32,
        _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_srli_epi64, _mm512_test_epi8_mask,
        _mm512_zextsi128_si512,
    },
    mem::transmute,
};

use super::{super::GROUP, products::transposed};

/// The unit matrix, row by row, and from its last row to its first. Products by it are matrices of which rows and columns
/// have changed places.
const ROWS: i64 = 0x8040_2010_0804_0201_u64.cast_signed();
const ROWS_BACK: i64 = 0x0102_0408_1020_4080;

/// The numbers of eight keys, a word for each: the bytes of the row that they are in, and bytes in which their bits are
/// set.
#[derive(Clone, Copy)]
struct Numbers {
    bytes: __m512i,
    bits: __m512i,
}

/// Eight numbers in 8 bits each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn of_256(words: __m512i) -> Numbers {
    let ones = _mm512_set4_epi32(0, 0, 0x8040_2010_u32.cast_signed(), 0x0804_0201);
    Numbers {
        bytes: _mm512_and_si512(_mm512_srli_epi64::<3>(words), _mm512_set1_epi8(31)),
        bits: _mm512_shuffle_epi8(ones, _mm512_and_si512(words, _mm512_set1_epi8(7))),
    }
}

/// Seven numbers as [`Level::some_of_512`](super::Level::some_of_512) has them. Of an eighth no bit is set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn of_512(words: __m512i) -> Numbers {
    // The last byte in the place of all, and of it the bit that says whether a number is odd.
    let last = _mm512_set4_epi32(0x0f0f_0f0f, 0x0f0f_0f0f, 0x0707_0707, 0x0707_0707);
    let odd = _mm512_test_epi8_mask(_mm512_shuffle_epi8(words, last), _mm512_set1_epi64(ROWS));
    // With its top bit set, the last byte itself finds nothing.
    let pairs = _mm512_and_si512(words, _mm512_set1_epi8(3));
    let pairs = _mm512_or_si512(pairs, _mm512_set1_epi64(0x80 << 56));
    let within = _mm512_mask_add_epi8(pairs, odd, pairs, _mm512_set1_epi8(4));
    let ones = _mm512_set4_epi32(0, 0, 0x8020_0802_u32.cast_signed(), 0x4010_0401);
    Numbers {
        bytes: _mm512_and_si512(_mm512_srli_epi64::<2>(words), _mm512_set1_epi8(63)),
        bits: _mm512_shuffle_epi8(ones, within),
    }
}

/// The numbers of eight keys with 256 bits that are the same as one after them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn repeated_256(words: __m512i) -> u64 {
    macro_rules! as_bytes_above {
        ($($n:literal)*) => {
            // As many of the highest bytes have none to be compared with.
            0 $(| _mm512_mask_cmpeq_epi8_mask(
                0x0101_0101_0101_0101 * (0xff >> $n),
                words,
                _mm512_srli_epi64::<{ 8 * $n }>(words),
            ))*
        };
    }
    as_bytes_above!(1 2 3 4 5 6 7)
}

/// The same with 512 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn repeated_512(Numbers { bytes, bits }: Numbers) -> u64 {
    macro_rules! as_bytes_above {
        ($($n:literal)*) => {
            // Where there is none to be compared with, no bit is set.
            0 $(| _mm512_mask_cmpeq_epi8_mask(
                _mm512_cmpeq_epi8_mask(bytes, _mm512_srli_epi64::<{ 8 * $n }>(bytes)),
                bits,
                _mm512_srli_epi64::<{ 8 * $n }>(bits),
            ))*
        };
    }
    as_bytes_above!(1 2 3 4 5 6)
}

/// Makes the words of a group, which are the second ones, ready for rows of `N` words: their bytes take their place, and
/// the first ones become their bits; if these are to be set, as the matrix that leads from numbers to bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(super) fn ready<const N: usize, const SET: bool>([first, second]: &mut [[u64; GROUP]; 2]) {
    for i in 0..GROUP / 8 {
        let (first, second) = (&mut first.as_chunks_mut().0[i], &mut second.as_chunks_mut().0[i]);
        // SAFETY: words and vectors are the same bits.
        let words = unsafe { transmute::<[u64; 8], __m512i>(*second) };
        let numbers = if N == 4 { of_256(words) } else { of_512(words) };
        let mut bits = numbers.bits;
        if SET {
            let repeated = if N == 4 { repeated_256(words) } else { repeated_512(numbers) };
            let once = _mm512_mask_blend_epi8(repeated, bits, _mm512_setzero_si512());
            bits = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(ROWS_BACK), once);
        }
        // SAFETY: as above.
        [*first, *second] = unsafe { transmute::<[__m512i; 2], [[u64; 8]; 2]>([bits, numbers.bytes]) };
    }
}

/// Whether each of two rows of 512 bits has all bits of its key, which is ready.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
pub(super) fn found_512(rows: [__m512i; 2], [bits, bytes]: [[u64; 2]; 2]) -> [bool; 2] {
    let found = |i: usize| {
        let bytes = _mm512_zextsi128_si512(_mm_cvtsi64_si128(bytes[i].cast_signed()));
        _mm512_castsi512_si128(_mm512_permutexvar_epi8(bytes, rows[i]))
    };
    let found = _mm_unpacklo_epi64(found(0), found(1));
    // SAFETY: words and vectors are the same bits.
    let set = _mm_test_epi8_mask(found, unsafe { transmute::<[u64; 2], __m128i>(bits) });
    // A byte for each key, with a one for each of seven numbers that is found: if it is one more, only the last bit is left.
    let all = (set.wrapping_add(0x0101) >> 7 & 0x0101).to_le_bytes();
    // SAFETY: they are 0 or 1.
    unsafe { transmute::<[u8; 2], [bool; 2]>(all) }
}

/// Two rows of 256 bits with all bits of their keys, which are ready.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn set_256([bits, bytes]: [[u64; 2]; 2]) -> __m512i {
    // SAFETY: words and vectors are the same bits.
    let bytes = unsafe { transmute::<[u64; 2], __m128i>(bytes) };
    let ones = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_cvtepu8_epi32(bytes));
    let [first, second] = bits.map(|bits| _mm512_set1_epi64(bits.cast_signed()));
    let bits = _mm512_mask_blend_epi64(0xf0, first, second);
    set(transposed::<32, 8>(ones), bits)
}

/// A row of 512 bits with all bits of a key that is ready.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn set_512([bits, bytes]: [u64; 2]) -> __m512i {
    let bytes = _mm512_cvtepu8_epi64(_mm_cvtsi64_si128(bytes.cast_signed()));
    let ones = _mm512_rolv_epi64(_mm512_set1_epi64(1), bytes);
    set(transposed::<64, 8>(ones), _mm512_set1_epi64(bits.cast_signed()))
}

/// The product: in each word `ones` has eight bytes of the row, one list of these for each number, with a one where it
/// is.
#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn set(ones: __m512i, bits: __m512i) -> __m512i {
    let numbers = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(ROWS), ones);
    _mm512_gf2p8affine_epi64_epi8::<0>(numbers, bits)
}

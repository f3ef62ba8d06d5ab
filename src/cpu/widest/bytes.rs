//! Bits of rows, by the bytes that they are in, for the keys of a group.
//!
//! A number is a byte of the row and a bit in it. Both are cut out of the words of eight keys at a time. Then one instruction
//! finds the bytes of a key in its row, each where it is to be compared, until those of eight keys are there. And to set bits
//! anywhere in a row is a product of two matrices: which number leads to which byte, times which bit each number is. The sums
//! of such a product know no carry: what is there twice would cancel out, so a number that comes again is taken out before.

use std::{
    arch::x86_64::{
        __m128i, __m256i, __m512i, _mm256_cmpeq_epi64_mask, _mm256_loadu_si256, _mm256_maskz_set1_epi8,
        _mm256_or_si256, _mm256_storeu_si256, _mm512_add_epi8, _mm512_and_si512, _mm512_andnot_si512,
        _mm512_broadcast_i32x4, _mm512_castpd_si512, _mm512_castsi256_si512, _mm512_castsi512_pd,
        _mm512_castsi512_si256, _mm512_cmpeq_epi64_mask, _mm512_extracti64x4_epi64,
        _mm512_gf2p8affine_epi64_epi8, _mm512_inserti64x4, _mm512_mask_blend_epi64,
        _mm512_mask_permutexvar_epi8, _mm512_maskz_mov_epi8, _mm512_maskz_permutexvar_epi8,
        _mm512_multishift_epi64_epi8, _mm512_or_si512, _mm512_permute_pd, _mm512_permutexvar_epi8,
        _mm512_rolv_epi32, _mm512_rolv_epi64, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64,
        _mm512_shuffle_epi8, _mm512_srli_epi64, _mm512_ternarylogic_epi64, _mm512_testn_epi8_mask,
        _mm512_testn_epi64_mask,
    },
    mem::transmute,
};

use super::{
    super::{GROUP, Numbers, Ready, Rows, RowsMut, opaque},
    constant, vector, words,
};

/// The unit matrix, row by row, and from its last row to its first. Products by it are matrices of which rows and columns
/// have changed places.
const ROWS: i64 = 0x8040_2010_0804_0201_u64.cast_signed();
const ROWS_BACK: i64 = 0x0102_0408_1020_4080;

/// The words of eight keys as a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn eight(words: &[u64; GROUP], first: usize) -> __m512i {
    // SAFETY: there are eight words.
    unsafe { vector(&words.as_chunks::<8>().0[first / 8]) }
}

/// For byte `i` of the word of key `k`: so many times `i`, and more if `k` is odd.
const fn by_place(each: usize, odd: usize) -> [u8; 64] {
    let (mut bytes, mut i) = ([0; 64], 0);
    while i < 64 {
        bytes[i] = (i % 8 * each + i / 8 % 2 * odd) as u8;
        i += 1;
    }
    bytes
}

/// Where [`Numbers::OneOf32`] begin.
const STARTS_OF_32: [u8; 64] = {
    let (mut bytes, mut i) = ([0; 64], 0);
    while i < 64 {
        bytes[i] = (i % 2 * 32 + i % 8 / 2 * 5) as u8;
        i += 1;
    }
    bytes
};

/// By the number of a bit in a byte, whatever the bits above: that bit.
const ONES: [u8; 64] = {
    let (mut ones, mut i) = ([0; 64], 0);
    while i < 64 {
        ones[i] = 1 << (i % 8);
        i += 1;
    }
    ones
};

/// The numbers of eight keys in a byte each, with whatever above them; those of [`Numbers::SomeOf512`] as they are.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi")]
fn in_bytes(numbers: Numbers, words: __m512i) -> __m512i {
    match numbers {
        Numbers::OneOf32 => _mm512_multishift_epi64_epi8(constant(STARTS_OF_32), words),
        Numbers::OneOf64 => _mm512_multishift_epi64_epi8(constant(const { by_place(6, 0) }), words),
        Numbers::SomeOf256 | Numbers::SomeOf512 => words,
    }
}

/// The numbers of eight keys, a word for each: the bytes of the row that they are in, and bytes in which their bits are
/// set.
#[derive(Clone, Copy)]
struct Places {
    bytes: __m512i,
    bits: __m512i,
}

impl Places {
    /// Of [`Numbers::SomeOf512`] there are seven: of an eighth no bit is set. Of rows of 256 bits two fit into a vector: odd keys
    /// have the second.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn new(numbers: Numbers, words: __m512i) -> Self {
        let (bits, constant_bytes) = match numbers {
            Numbers::OneOf32 => (2, const { by_place(4, 32) }),
            Numbers::OneOf64 => (3, const { by_place(8, 0) }),
            Numbers::SomeOf256 => (5, const { by_place(0, 32) }),
            Numbers::SomeOf512 => return Self::of_512(words),
        };
        let words = in_bytes(numbers, words);
        let (shifted, mask) = (_mm512_srli_epi64::<3>(words), _mm512_set1_epi8((1 << bits) - 1));
        Self {
            // What is in both, or in the constant.
            bytes: _mm512_ternarylogic_epi64::<0xea>(shifted, mask, constant(constant_bytes)),
            bits: _mm512_permutexvar_epi8(words, constant(ONES)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn of_512(words: __m512i) -> Self {
        Self {
            // What is above does not count.
            bytes: _mm512_srli_epi64::<2>(words),
            bits: _mm512_maskz_permutexvar_epi8(SEVEN, bits_of_512(words), constant(ONES)),
        }
    }
}

/// The numbers of bits in their bytes, of [`Numbers::SomeOf512`], with whatever above them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn bits_of_512(words: __m512i) -> __m512i {
    // Each bit of the last byte, which says whether a number is odd, where that number is.
    let odd = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(ROWS), words);
    // Twice what is there, and that bit.
    _mm512_ternarylogic_epi64::<0xf8>(_mm512_add_epi8(words, words), odd, _mm512_set1_epi8(1))
}

/// All bytes of words but the last.
const SEVEN: u64 = !(0x0101_0101_0101_0101 << 7);

/// What makes it safe to read rows as vectors; settled when the code is built.
#[inline(always)]
fn check<const N: usize>(numbers: Numbers) {
    assert!(N == numbers.words(), "rows of another length");
}

/// See [`Level::find_in_group`](super::Level::find_in_group).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
pub(super) fn find<const N: usize>(
    numbers: Numbers,
    words: &[u64; GROUP],
    rows: Rows<'_, N>,
    ahead: impl Fn(usize),
    hits: &mut [bool; GROUP],
) {
    check::<N>(numbers);
    // The bytes of each key. Not known to the compiler, which would find all bytes of a vector first and take them from there.
    let of_key: [u64; 8] = std::array::from_fn(|i| opaque(0xff << (8 * i)));
    let of_two: [u64; 4] = std::array::from_fn(|i| opaque(0xffff << (16 * i)));
    // A bit for each key.
    let mut all = 0;
    for first in (0..GROUP).step_by(8) {
        (first..first + 8).step_by(2).for_each(&ahead);
        let Places { bytes, bits } = Places::new(numbers, eight(words, first));
        // Two chains, of half the length.
        let [mut low, mut high];
        if N == 4 {
            // SAFETY: there are four words.
            let two = |i: usize| unsafe { two_rows(rows.two(first + i)) };
            low = _mm512_permutexvar_epi8(bytes, two(0));
            high = _mm512_permutexvar_epi8(bytes, two(4));
            low = _mm512_mask_permutexvar_epi8(low, of_two[1], bytes, two(2));
            high = _mm512_mask_permutexvar_epi8(high, of_two[3], bytes, two(6));
        } else {
            // SAFETY: there are eight words.
            let two = |i: usize| rows.two(first + i).map(|row| unsafe { vector(row) });
            let [[a, b], [c, d], [e, f], [g, h]] = [two(0), two(2), two(4), two(6)];
            low = _mm512_permutexvar_epi8(bytes, a);
            high = _mm512_permutexvar_epi8(bytes, e);
            for (i, [row, later]) in (1..).zip([[b, f], [c, g], [d, h]]) {
                low = _mm512_mask_permutexvar_epi8(low, of_key[i], bytes, row);
                high = _mm512_mask_permutexvar_epi8(high, of_key[i + 4], bytes, later);
            }
        }
        let found = _mm512_mask_blend_epi64(0xf0, low, high);
        let missing = _mm512_andnot_si512(found, bits);
        all |= u32::from(_mm512_testn_epi64_mask(missing, missing)) << first;
    }
    // SAFETY: answers are bytes that are 0 or 1.
    unsafe { _mm256_storeu_si256(hits.as_mut_ptr().cast(), _mm256_maskz_set1_epi8(all, 1)) };
}

/// Two rows of four words in one vector.
///
/// # Safety
/// There must be four.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn two_rows<const N: usize>([first, second]: [&[u64; N]; 2]) -> __m512i {
    // SAFETY: there are four.
    let half = |row: &[u64; N]| unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(half(first)), half(second))
}

/// See [`Level::make_ready`](super::Level::make_ready). A number is three digits: which words, or quarters, of the row it is in,
/// which byte of these, and which bit of that. By the value of each of the first two: a bit for each number that has it; and then
/// the matrix that leads from numbers to bits. Numbers of parts are put where they are from registers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn make_ready(numbers: Numbers, keys: &[u64; GROUP], ready: &mut Ready) {
    if matches!(numbers, Numbers::OneOf32 | Numbers::OneOf64) {
        return;
    }
    for i in 0..GROUP / 8 {
        for (ready, turned) in ready.0.iter_mut().zip(turned(numbers, eight(keys, 8 * i))) {
            // SAFETY: there are eight words.
            ready.as_chunks_mut::<8>().0[i] = unsafe { words(turned) };
        }
    }
}

/// What is made ready of the words of eight keys.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn turned(numbers: Numbers, words: __m512i) -> [__m512i; 3] {
    let [upper, lower, bits] = digits(numbers, words);
    let bits = once(numbers, [upper, lower, bits]);
    [(upper, ROWS), (lower, ROWS), (bits, ROWS_BACK)]
        .map(|(ones, rows)| _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(rows), ones))
}

/// For each byte of a row a bit for each number that leads there, times which bit each number is.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn mask([upper, lower, matrices]: [__m512i; 3], places: [u8; 64]) -> __m512i {
    let leading = _mm512_and_si512(_mm512_shuffle_epi8(upper, constant(places)), lower);
    _mm512_gf2p8affine_epi64_epi8::<0>(leading, matrices)
}

/// Sets the bits of one key in a row by numbers of any of its bits. Whether all of them were set before.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
pub(super) fn put_one<const N: usize>(numbers: Numbers, row: &mut [u64; N], bits: u64) -> bool {
    check::<N>(numbers);
    // The same in all words. A row of four of them is the first half.
    let mask = mask(turned(numbers, _mm512_set1_epi64(bits.cast_signed())), BY_WORDS);
    // SAFETY: there are as many words.
    unsafe { if N == 4 { put_half(row, _mm512_castsi512_si256(mask)) } else { put_whole(row, mask) } }
}

impl Ready {
    /// Rows of four words with all bits of two keys.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn two_masks(&self, first: usize) -> __m512i {
        let [upper, lower, matrices] = self.0.each_ref().map(|of| {
            // SAFETY: words and vectors are the same bits.
            let both = unsafe { transmute::<[u64; 2], __m128i>(of.as_chunks().0[first / 2]) };
            _mm512_broadcast_i32x4(both)
        });
        // The first words in the first half, the second in the other.
        let [lower, matrices] = [lower, matrices]
            .map(|of| _mm512_castpd_si512(_mm512_permute_pd::<0b1111_0000>(_mm512_castsi512_pd(of))));
        mask([upper, lower, matrices], BY_QUARTERS)
    }

    /// A row of eight words with all bits of a key.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn mask(&self, i: usize) -> __m512i {
        mask(self.0.each_ref().map(|of| _mm512_set1_epi64(of[i].cast_signed())), BY_WORDS)
    }
}

/// The digits of eight numbers, each as a byte in which one bit is set. Of [`Numbers::SomeOf512`] there are seven numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn digits(numbers: Numbers, words: __m512i) -> [__m512i; 3] {
    let one = |digit, ones: [u8; 64]| _mm512_permutexvar_epi8(digit, constant(ones));
    // What is above does not count.
    match numbers {
        Numbers::SomeOf512 => {
            let bytes = _mm512_srli_epi64::<2>(words);
            [one(bytes, ONES_ABOVE), one(bytes, ONES), one(bits_of_512(words), ONES)]
        }
        _ => [one(_mm512_srli_epi64::<6>(words), ONES_OF_FOUR), one(words, ONES_ABOVE), one(words, ONES)],
    }
}

/// The bits of numbers, by their digits, but where a number comes again no bit is set.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn once(numbers: Numbers, digits: [__m512i; 3]) -> __m512i {
    // A bit for each number that has the same digit, that for the last one lowest.
    let [upper, lower, bits] = digits.map(|ones| _mm512_gf2p8affine_epi64_epi8::<0>(ones, ones));
    let same = _mm512_ternarylogic_epi64::<0x80>(upper, lower, bits);
    // Those before it. Where there is no eighth, it is taken out for being the same as itself.
    let before = 0xfefc_f8f0_e0c0_8000 | u64::from(numbers == Numbers::SomeOf512) << 56;
    let first = _mm512_testn_epi8_mask(same, _mm512_set1_epi64(before.cast_signed()));
    _mm512_maskz_mov_epi8(first, digits[2])
}

/// By the three bits of a number above the lowest three: a bit for each of their values.
const ONES_ABOVE: [u8; 64] = {
    let (mut ones, mut i) = ([0; 64], 0);
    while i < 64 {
        ones[i] = 1 << (i / 8);
        i += 1;
    }
    ones
};

/// By its lowest two bits, whatever the others.
const ONES_OF_FOUR: [u8; 64] = {
    let (mut ones, mut i) = ([0; 64], 0);
    while i < 64 {
        ones[i] = 1 << (i % 4);
        i += 1;
    }
    ones
};

/// Where all bytes of a word find the byte with the number of that word.
const BY_WORDS: [u8; 64] = {
    let (mut places, mut i) = ([0; 64], 0);
    while i < 64 {
        places[i] = (i / 8) as u8;
        i += 1;
    }
    places
};

/// The same for the words of two rows of four, of which the second has its bytes in the second of two words.
const BY_QUARTERS: [u8; 64] = {
    let (mut places, mut i) = ([0; 64], 0);
    while i < 64 {
        places[i] = (i / 32 * 8 + i / 8 % 4) as u8;
        i += 1;
    }
    places
};

/// For the parts of a row of so many words, or of two rows: where the number of each is in the bytes of eight keys.
const fn of_parts(words: usize, first: usize) -> [u8; 64] {
    let (mut bytes, mut i) = ([0; 64], 0);
    while i < 64 {
        bytes[i] = (8 * first + i / words) as u8;
        i += 1;
    }
    bytes
}

/// See [`Level::put_in_group`](super::Level::put_in_group).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
pub(super) fn put<const N: usize>(
    numbers: Numbers,
    (keys, ready): (&[u64; GROUP], &Ready),
    rows: &mut RowsMut<'_, N>,
    ahead: impl Fn(&[u64], usize),
    mut tell: impl FnMut(usize, bool),
) {
    check::<N>(numbers);
    // Two rows, of four words in one vector, or of eight in two.
    let mut put = |first: usize, masks: [__m512i; 2]| {
        ahead(rows.words(), first);
        let halves = [_mm512_castsi512_si256(masks[0]), _mm512_extracti64x4_epi64::<1>(masks[0])];
        rows.with_two(first, |i, row| {
            // SAFETY: there are as many words.
            tell(i, unsafe {
                if N == 4 { put_half(row, halves[i - first]) } else { put_whole(row, masks[i - first]) }
            });
        });
    };
    // Bits above the numbers turn it by whole words.
    macro_rules! in_parts {
        ($turned:ident($one:expr), $words:literal words, keys $([$first:literal $second:literal])*) => {
            for first in (0..GROUP).step_by(8) {
                let bytes = in_bytes(numbers, eight(keys, first));
                let mask = |places| $turned($one, _mm512_permutexvar_epi8(constant(places), bytes));
                $(put(
                    first + $first,
                    [mask(const { of_parts($words, $first) }), mask(const { of_parts($words, $second) })],
                );)*
            }
        };
    }
    match numbers {
        // Both keys are in one vector.
        Numbers::OneOf32 => {
            in_parts!(_mm512_rolv_epi32(_mm512_set1_epi32(1)), 4 words, keys [0 0] [2 2] [4 4] [6 6])
        }
        Numbers::OneOf64 => {
            in_parts!(_mm512_rolv_epi64(_mm512_set1_epi64(1)), 8 words, keys [0 1] [2 3] [4 5] [6 7])
        }
        Numbers::SomeOf256 | Numbers::SomeOf512 => {
            for first in (0..GROUP).step_by(2) {
                put(
                    first,
                    if N == 4 { [ready.two_masks(first); 2] } else { [0, 1].map(|i| ready.mask(first + i)) },
                );
            }
        }
    }
}

/// Sets bits of a row of eight words. Whether all of them were set before.
///
/// # Safety
/// There must be eight.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn put_whole<const N: usize>(row: &mut [u64; N], mask: __m512i) -> bool {
    // SAFETY: there are eight.
    let old = unsafe { vector(row) };
    let new = _mm512_or_si512(old, mask);
    // SAFETY: as above.
    *row = unsafe { words(new) };
    _mm512_cmpeq_epi64_mask(old, new) == 0xff
}

/// Sets bits of a row of four words. Whether all of them were set before.
///
/// # Safety
/// There must be four.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn put_half<const N: usize>(row: &mut [u64; N], mask: __m256i) -> bool {
    // SAFETY: there are four.
    let old = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
    let new = _mm256_or_si256(old, mask);
    // SAFETY: as above.
    unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), new) };
    _mm256_cmpeq_epi64_mask(old, new) == 0xf
}

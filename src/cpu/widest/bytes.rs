//! Bits of rows, by the bytes that they are in, for the keys of a group.
//!
//! A number is a byte of the row and a bit in it. Both are cut out of the words of eight keys at a time. Then one instruction
//! finds the bytes of a key in its row, each where it is to be compared, until those of eight keys are there. And to set bits
//! anywhere in a row is a product of two matrices: which number leads to which byte, times which bit each number is. The sums
//! of such a product know no carry: what is there twice would cancel out, so a number that comes again is taken out before.

use std::{
    arch::x86_64::{
        __m128i, __m256i, __m512i, _mm256_cmpeq_epi64_mask, _mm256_loadu_si256, _mm256_maskz_set1_epi8,
        _mm256_or_si256, _mm256_storeu_si256, _mm512_and_si512, _mm512_andnot_si512, _mm512_castsi256_si512,
        _mm512_castsi512_si256, _mm512_cmpeq_epi64_mask, _mm512_cvtepu8_epi32, _mm512_extracti64x4_epi64,
        _mm512_gf2p8affine_epi64_epi8, _mm512_inserti64x4, _mm512_mask_add_epi8, _mm512_mask_blend_epi64,
        _mm512_mask_permutexvar_epi8, _mm512_maskz_mov_epi8, _mm512_min_epu8, _mm512_multishift_epi64_epi8,
        _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_rolv_epi32, _mm512_rolv_epi64, _mm512_set1_epi8,
        _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set4_epi32, _mm512_shuffle_epi8, _mm512_srli_epi64,
        _mm512_ternarylogic_epi64, _mm512_test_epi8_mask, _mm512_testn_epi64_mask, _mm512_xor_si512,
    },
    mem::transmute,
};

use super::{
    super::{GROUP, Numbers, Rows, RowsMut, opaque},
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
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
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
    #[target_feature(enable = "avx512f,avx512bw")]
    fn of_512(words: __m512i) -> Self {
        // The last byte in the place of all, and of it the bit that says whether a number is odd.
        let odd = _mm512_test_epi8_mask(_mm512_shuffle_epi8(words, last_of_words()), _mm512_set1_epi64(ROWS));
        // With its top bit set, the last byte itself finds nothing.
        let pairs = _mm512_and_si512(words, _mm512_set1_epi8(3));
        let pairs = _mm512_or_si512(pairs, _mm512_set1_epi64(0x80 << 56));
        let within = _mm512_mask_add_epi8(pairs, odd, pairs, _mm512_set1_epi8(4));
        let ones = _mm512_set4_epi32(0, 0, 0x8020_0802_u32.cast_signed(), 0x4010_0401);
        Self {
            // What is above does not count.
            bytes: _mm512_srli_epi64::<2>(words),
            bits: _mm512_shuffle_epi8(ones, within),
        }
    }

    /// The bits, but that of numbers that come again in a key, which has these words, only one has its bit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn once(self, numbers: Numbers, words: __m512i) -> __m512i {
        macro_rules! turned_by {
            ($($n:literal)*) => {
                least([$(self.differ(numbers, words, LAST, |of| _mm512_shuffle_epi8(of, constant(const { turned($n) })))),*])
            };
        }
        macro_rules! bytes_above {
            ($($n:literal)*) => {
                least([$(self.differ(numbers, words, -1 << (64 - 8 * $n), |of| _mm512_srli_epi64::<{ 8 * $n }>(of))),*])
            };
        }
        // Of seven in a circle, one of any two comes at most three after the other: that one is enough, unless more than two are
        // the same, and each comes after another.
        let mut differs = turned_by!(1 2 3);
        let again = !_mm512_test_epi8_mask(differs, differs) & SEVEN;
        let without_one = (again | !SEVEN) - (!SEVEN >> 7);
        if again & without_one != 0 {
            // Of [`Numbers::SomeOf512`] no bit is set in the last byte, nor in what is shifted in, but one in each of the others.
            differs = bytes_above!(1 2 3 4 5 6 7);
        } else if numbers == Numbers::SomeOf256 {
            // The eighth stays, whatever the others are.
            let last = self.differ(numbers, words, LAST, |of| _mm512_shuffle_epi8(of, last_of_words()));
            differs = least([differs, last]);
        }
        _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(differs, differs), self.bits)
    }

    /// Other than zero in bytes whose number is not the one that is found elsewhere; `none` are those that are not compared,
    /// where all bytes have bits.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn differ(
        self,
        numbers: Numbers,
        words: __m512i,
        none: i64,
        elsewhere: impl Fn(__m512i) -> __m512i,
    ) -> __m512i {
        let others = match numbers {
            // Bytes are only half of a number, and where no bit is set it is no matter.
            Numbers::SomeOf512 => _mm512_xor_si512(self.bits, elsewhere(self.bits)),
            _ => _mm512_set1_epi64(none),
        };
        // In these, or different.
        _mm512_ternarylogic_epi64::<0xf6>(others, words, elsewhere(words))
    }
}

/// Where all bytes of a word find the last.
#[inline]
#[target_feature(enable = "avx512f")]
fn last_of_words() -> __m512i {
    _mm512_set4_epi32(0x0f0f_0f0f, 0x0f0f_0f0f, 0x0707_0707, 0x0707_0707)
}

/// The last byte of a word.
const LAST: i64 = 0xff << 56;

/// A bit for each of the others, of all words.
const SEVEN: u64 = !(0x0101_0101_0101_0101 << 7);

/// Where the first seven of eight bytes find those so many after them, the first ones again after the last.
const fn turned(by: usize) -> [u8; 64] {
    let (mut bytes, mut i) = ([0; 64], 0);
    while i < 64 {
        bytes[i] = if i % 8 == 7 { i % 16 } else { i / 8 % 2 * 8 + (i % 8 + by) % 7 } as u8;
        i += 1;
    }
    bytes
}

/// The least of bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn least<const N: usize>(bytes: [__m512i; N]) -> __m512i {
    let mut least = _mm512_set1_epi8(-1);
    for bytes in bytes {
        least = _mm512_min_epu8(least, bytes);
    }
    least
}

/// What makes it safe to read rows as vectors; settled when the code is built.
#[inline(always)]
fn check<const N: usize>(numbers: Numbers) {
    assert!(N == numbers.words(), "rows of another length");
}

/// See [`Level::find_by_bytes`](super::Level::find_by_bytes).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
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

/// What is computed of bits anywhere for eight keys at once, and then read for each: two words.
struct Ready {
    /// The bytes of the row that they are in.
    bytes: [__m512i; GROUP / 8],
    /// The matrix that leads from numbers to bits.
    matrices: [__m512i; GROUP / 8],
}

impl Ready {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn new(numbers: Numbers, words: &[u64; GROUP]) -> Self {
        let words: [__m512i; GROUP / 8] = std::array::from_fn(|i| eight(words, 8 * i));
        let places = words.map(|words| Places::new(numbers, words));
        let matrix = |i: usize| {
            let once = places[i].once(numbers, words[i]);
            _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(ROWS_BACK), once)
        };
        Self { bytes: places.map(|places| places.bytes), matrices: std::array::from_fn(matrix) }
    }

    /// The words of the keys.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn words(vectors: &[__m512i; GROUP / 8]) -> &[u64; GROUP] {
        // SAFETY: vectors and words are the same bits, and vectors begin where words may.
        unsafe { &*std::ptr::from_ref(vectors).cast() }
    }

    /// Rows of four words with all bits of two keys.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn two_masks(&self, first: usize) -> __m512i {
        let [bytes, matrices] = [&self.bytes, &self.matrices].map(|of| Self::words(of));
        // SAFETY: words and vectors are the same bits.
        let bytes = unsafe { transmute::<[u64; 2], __m128i>(bytes.as_chunks().0[first / 2]) };
        // Bits above the numbers turn it by whole words.
        let ones = _mm512_rolv_epi32(_mm512_set1_epi32(1), _mm512_cvtepu8_epi32(bytes));
        let [first, second] = [0, 1].map(|i| _mm512_set1_epi64(matrices[first + i].cast_signed()));
        let ones = _mm512_permutexvar_epi8(constant(BY_BYTES), ones);
        product(ones, _mm512_mask_blend_epi64(0xf0, first, second))
    }

    /// A row of eight words with all bits of a key.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
    fn mask(&self, i: usize) -> __m512i {
        let [bytes, matrices] = [&self.bytes, &self.matrices].map(|of| Self::words(of)[i].cast_signed());
        // In each word the eight bytes of the row that it has are counted from 0 on: only those find a one.
        let within = _mm512_xor_si512(_mm512_set1_epi64(bytes), constant(FIRST_BYTES));
        product(_mm512_permutexvar_epi8(within, constant(ONES_OF_FIRST)), _mm512_set1_epi64(matrices))
    }
}

/// Of two sets of eight halves of words: where the first bytes of a set are, then the second ones, and so on.
const BY_BYTES: [u8; 64] = {
    let (mut places, mut i) = ([0; 64], 0);
    while i < 64 {
        places[i] = (i / 32 * 32 + i % 8 * 4 + i % 32 / 8) as u8;
        i += 1;
    }
    places
};

/// In every byte of a word: the first of the bytes of a row that are in that word.
const FIRST_BYTES: [u8; 64] = {
    let (mut bytes, mut i) = ([0; 64], 0);
    while i < 64 {
        bytes[i] = (i / 8 * 8) as u8;
        i += 1;
    }
    bytes
};

/// By the number of a byte: a bit for each of the first eight.
const ONES_OF_FIRST: [u8; 64] = {
    let (mut ones, mut i) = ([0; 64], 0);
    while i < 8 {
        ones[i] = 1 << i;
        i += 1;
    }
    ones
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

/// The product: in each word `ones` has eight bytes of the row, one list of these for each number, with a one where it
/// is.
#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn product(ones: __m512i, matrices: __m512i) -> __m512i {
    let numbers = _mm512_gf2p8affine_epi64_epi8::<0>(_mm512_set1_epi64(ROWS), ones);
    _mm512_gf2p8affine_epi64_epi8::<0>(numbers, matrices)
}

/// See [`Level::put_by_bytes`](super::Level::put_by_bytes).
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,gfni")]
pub(super) fn put<const N: usize>(
    numbers: Numbers,
    keys: &[u64; GROUP],
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
            let ready = Ready::new(numbers, keys);
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

use std::{
    arch::x86_64::{
        __cpuid, __m128i, __m256i, _bzhi_u64, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
        _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi8,
        _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_setzero_si256,
        _mm256_shuffle_epi8, _mm256_sllv_epi32, _mm256_sllv_epi64, _mm256_srli_epi16, _mm256_srlv_epi32,
        _mm256_srlv_epi64, _mm256_storeu_si256, _mm256_testz_si256, _mm256_unpackhi_epi8,
        _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi8,
        _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256, _pdep_u64,
        _pext_u64,
    },
    mem::transmute,
};

use super::{
    Cache, Call, GROUP, Level, Matrix, Question, Work,
    kept::{Filled, Kept},
    rows,
};

mod repack;
mod select;
mod whole;

/// AVX2, BMI1, BMI2, LZCNT and POPCNT; and where the processor best has what it reads once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide(Cache);

impl Wide {
    /// Proof that the processor has them, and that all of them are fast.
    pub(super) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let amd_family = amd_family();
        // To drive nothing out of the caches pays on AMD's processors; Intel's wait for what they were asked for in that way.
        let once = if amd_family.is_some() { Cache::Once } else { Cache::Nearest };
        // AMD's processors before Zen 3 take up to hundreds of cycles for PEXT.
        (has && amd_family.is_none_or(|family| family >= 0x19)).then_some(Self(once))
    }

    /// The level, in code that is only called where the processor has it.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn had() -> Self {
        Self(Cache::Nearest)
    }
}

/// The family of a processor of AMD's: from Zen 3 on 19h and more.
fn amd_family() -> Option<u32> {
    let vendor = __cpuid(0);
    let amd = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == *b"AuthenticAMD";
    let version = __cpuid(1).eax;
    amd.then_some((version >> 8 & 0xf) + (version >> 20 & 0xff))
}

impl Level for Wide {
    const FAST: bool = true;

    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: this `Wide` is the proof.
        unsafe { run(work, self) }
    }

    #[inline(always)]
    fn once(self) -> Cache {
        self.0
    }

    #[inline(always)]
    fn extract(self, word: u64, mask: u64) -> u64 {
        // SAFETY: this `Wide` is the proof.
        unsafe { _pext_u64(word, mask) }
    }

    #[inline(always)]
    fn deposit(self, word: u64, mask: u64) -> u64 {
        // SAFETY: this `Wide` is the proof.
        unsafe { _pdep_u64(word, mask) }
    }

    #[inline(always)]
    fn low(self, n: u32) -> u64 {
        // SAFETY: this `Wide` is the proof.
        unsafe { _bzhi_u64(u64::MAX, n) }
    }

    #[inline(always)]
    fn one_of_32(self, bits: u64) -> [u64; 4] {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe {
            let places = _mm256_setr_epi32(0, 0, 5, 5, 10, 10, 15, 15);
            let shifted = _mm256_srlv_epi32(_mm256_set1_epi64x(bits.cast_signed()), places);
            let numbers = _mm256_and_si256(shifted, _mm256_set1_epi32(31));
            transmute(_mm256_sllv_epi32(_mm256_set1_epi32(1), numbers))
        }
    }

    #[inline(always)]
    fn one_of_64(self, bits: u64) -> [u64; 8] {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe {
            let (bits, most) = (_mm256_set1_epi64x(bits.cast_signed()), _mm256_set1_epi64x(63));
            let low = _mm256_and_si256(_mm256_srlv_epi64(bits, _mm256_setr_epi64x(0, 6, 12, 18)), most);
            let high = _mm256_and_si256(_mm256_srlv_epi64(bits, _mm256_setr_epi64x(24, 30, 36, 42)), most);
            let one = _mm256_set1_epi64x(1);
            transmute([_mm256_sllv_epi64(one, low), _mm256_sllv_epi64(one, high)])
        }
    }

    #[inline(always)]
    fn put<const N: usize>(self, row: &mut [u64; N], mask: &[u64; N]) -> bool {
        // SAFETY: this `Wide` is the proof, and there are as many words.
        unsafe {
            match N {
                8 => put::<N, 2>(row, vectors(mask)),
                4 => put::<N, 1>(row, vectors(mask)),
                _ => rows::put(row, mask),
            }
        }
    }

    #[inline(always)]
    fn some_of_256(self, bits: u64) -> [u64; 4] {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe { transmute(whole::set_bits::<8, 8, 1>(bits)) }
    }

    #[inline(always)]
    fn some_of_512(self, bits: u64) -> [u64; 8] {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe { transmute(whole::set_bits::<7, 9, 2>(rows::in_nines(self, bits))) }
    }

    #[inline(always)]
    fn all_of_256(self, row: &[u64; 4], bits: u64) -> bool {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe { whole::all_of_256(transmute::<[u64; 4], __m256i>(*row), bits) }
    }

    #[inline(always)]
    fn all_of_two_256(self, rows: [&[u64; 4]; 2], bits: [u64; 2]) -> [bool; 2] {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe { whole::all_of_two_256(rows.map(|row| transmute::<[u64; 4], __m256i>(*row)), bits) }
    }

    #[inline(always)]
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe { whole::all_of_512(transmute::<[u64; 8], [__m256i; 2]>(*row), bits) }
    }

    #[inline(always)]
    fn all_of_two_512(self, rows: [&[u64; 8]; 2], bits: [u64; 2]) -> [bool; 2] {
        // SAFETY: this `Wide` is the proof; words and vectors are the same bits.
        unsafe { whole::all_of_two_512(rows.map(|row| transmute::<[u64; 8], [__m256i; 2]>(*row)), bits) }
    }

    #[inline(always)]
    fn repacked<const N: usize>(self, row: &[u64; N], kept: &Kept, filled: Filled) -> [u64; N] {
        // SAFETY: this `Wide` is the proof, and there are as many words.
        unsafe {
            match N {
                8 => repack::repacked::<N, 2>(row, kept, filled),
                4 => repack::repacked::<N, 1>(row, kept, filled),
                _ => rows::repacked(self, row, kept, filled),
            }
        }
    }

    #[inline(always)]
    fn set_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        // SAFETY: this `Wide` is the proof.
        unsafe { products::<M, true>(matrices, keys, sums) }
    }

    #[inline(always)]
    fn add_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        // SAFETY: this `Wide` is the proof.
        unsafe { products::<M, false>(matrices, keys, sums) }
    }

    #[inline(always)]
    fn set_chosen<const EACH: usize>(
        self,
        matrices: &[Matrix; 2],
        n: u32,
        keys: &[u64; GROUP],
        numbers: &mut [u32; GROUP],
        sums: &mut [u64; GROUP],
    ) {
        // SAFETY: this `Wide` is the proof.
        unsafe { select::set_chosen::<EACH>(matrices, n, keys, numbers, sums) }
    }

    #[inline(always)]
    fn arranged(self, keys: [u64; GROUP]) -> [u64; GROUP] {
        // SAFETY: this `Wide` is the proof.
        unsafe { select::arranged(keys) }
    }

    #[inline(always)]
    fn select(self, matrices: &[Matrix], n: u32, keys: &[[u64; GROUP]], numbers: &mut [[u32; GROUP]]) {
        // SAFETY: this `Wide` is the proof.
        unsafe {
            match Matrix::all_used(matrices).trailing_zeros() {
                5.. => select::select::<3>(matrices, n, keys, numbers),
                4 => select::select::<4>(matrices, n, keys, numbers),
                _ => select::select::<5>(matrices, n, keys, numbers),
            }
        }
    }
}

/// Words as vectors.
///
/// # Safety
/// There must be four for each.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn vectors<const N: usize, const V: usize>(words: &[u64; N]) -> [__m256i; V] {
    let mut vectors = [_mm256_setzero_si256(); V];
    for (i, vector) in vectors.iter_mut().enumerate() {
        // SAFETY: there are four.
        *vector = unsafe { _mm256_loadu_si256(words.as_ptr().add(4 * i).cast()) };
    }
    vectors
}

/// Vectors as words.
///
/// # Safety
/// There must be four for each.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn words<const N: usize, const V: usize>(vectors: [__m256i; V]) -> [u64; N] {
    let mut words = [0; N];
    for (i, vector) in vectors.into_iter().enumerate() {
        // SAFETY: there are four.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().add(4 * i).cast(), vector) };
    }
    words
}

/// Sets bits of a row. Whether all of them were set before.
///
/// # Safety
/// There must be four words for each vector.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn put<const N: usize, const V: usize>(row: &mut [u64; N], mask: [__m256i; V]) -> bool {
    // SAFETY: there are four.
    let old = unsafe { vectors::<N, V>(row) };
    let (mut new, mut missing) = (old, _mm256_setzero_si256());
    for ((new, old), mask) in new.iter_mut().zip(old).zip(mask) {
        *new = _mm256_or_si256(old, mask);
        missing = _mm256_or_si256(missing, _mm256_andnot_si256(old, mask));
    }
    // SAFETY: as above.
    *row = unsafe { words(new) };
    _mm256_testz_si256(missing, missing) == 1
}

/// The first bit of each word of a row.
#[inline]
#[target_feature(enable = "avx2")]
fn first_bits(vector: u32) -> __m256i {
    let lsbs = _mm256_setr_epi64x(0, 64, 128, 192);
    _mm256_add_epi64(lsbs, _mm256_set1_epi64x(256 * i64::from(vector)))
}

/// Half bytes of [`GROUP`] keys: the low half of their lowest byte, its high half, and so on.
type Halves = [__m256i; 16];

/// The lowest bytes of all keys side by side, then the next, and so on: a vector then has one
/// half byte of 32 keys, for which a shuffle looks up what they add to one byte of the sums.
#[inline]
#[target_feature(enable = "avx2")]
fn halved(keys: &[u64; GROUP]) -> Halves {
    // SAFETY: words and vectors are the same bits.
    let keys = transposed(unsafe { transmute::<[u64; GROUP], [__m256i; 8]>(*keys) });
    let low = _mm256_set1_epi8(15);
    let mut halves = [_mm256_setzero_si256(); 16];
    for (halves, key) in halves.as_chunks_mut::<2>().0.iter_mut().zip(keys) {
        halves[0] = _mm256_and_si256(key, low);
        halves[1] = _mm256_and_si256(_mm256_srli_epi16::<4>(key), low);
    }
    halves
}

/// See [`Level::set_products`] and [`Level::add_products`].
// A call for many keys costs nothing, and a copy in every loop much.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn products<const M: usize, const SET: bool>(
    matrices: &[Matrix; M],
    keys: &[u64; GROUP],
    sums: &mut [[u64; GROUP]; M],
) {
    let halves = halved(keys);
    for (matrix, sums) in matrices.iter().zip(sums) {
        product::<SET>(matrix, &halves, sums);
    }
}

/// One of them, by code for those bytes of the sums that are other than zero.
#[inline]
#[target_feature(enable = "avx2")]
fn product<const SET: bool>(matrix: &Matrix, halves: &Halves, sums: &mut [u64; GROUP]) {
    match matrix.used {
        0 if SET => *sums = [0; GROUP],
        0 => {}
        used if used & !0x07 == 0 => product_of::<SET, 0x07>(matrix, halves, sums),
        used if used & !0x0f == 0 => product_of::<SET, 0x0f>(matrix, halves, sums),
        used if used & !0x1f == 0 => product_of::<SET, 0x1f>(matrix, halves, sums),
        used if used & !0x3f == 0 => product_of::<SET, 0x3f>(matrix, halves, sums),
        used if used & !0x77 == 0 => product_of::<SET, 0x77>(matrix, halves, sums),
        used if used & !0x7f == 0 => product_of::<SET, 0x7f>(matrix, halves, sums),
        _ => product_of::<SET, 0xff>(matrix, halves, sums),
    }
}

/// The same.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn product_of<const SET: bool, const USED: u8>(matrix: &Matrix, halves: &Halves, sums: &mut [u64; GROUP]) {
    let added = transposed(bytes::<SET, USED>(matrix, halves));
    // SAFETY: words and vectors are the same bits.
    let added = unsafe { transmute::<[__m256i; 8], [u64; GROUP]>(added) };
    if SET {
        *sums = added;
        return;
    }
    for (sum, added) in sums.iter_mut().zip(added) {
        *sum ^= added;
    }
}

/// Bytes of products, with the constant or without, of which only some are other than zero.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes<const SET: bool, const USED: u8>(matrix: &Matrix, halves: &Halves) -> [__m256i; 8] {
    let mut added = [_mm256_setzero_si256(); 8];
    if SET {
        for (byte, (added, constant)) in added.iter_mut().zip(matrix.constant.to_le_bytes()).enumerate() {
            if USED >> byte & 1 == 1 {
                *added = _mm256_set1_epi8(constant.cast_signed());
            }
        }
    }
    for (half, tables) in halves.iter().zip(&matrix.halves) {
        for byte in 0..8 {
            if USED >> byte & 1 == 1 {
                // SAFETY: bytes and vectors are the same bits.
                let table = unsafe { transmute::<[u8; 16], __m128i>(tables[byte]) };
                let found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), *half);
                added[byte] = _mm256_xor_si256(added[byte], found);
            }
        }
    }
    added
}

/// Byte j of word i of each vector column, and byte i of word j, change places.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(rows: [__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    // Each step puts those side by side that belong together, in units of twice the size.
    let columns = |a, b, c, d| {
        let (ab, cd) = (_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(c, d));
        [
            _mm256_unpacklo_epi32(ab, cd),
            _mm256_unpackhi_epi32(ab, cd),
            _mm256_unpacklo_epi32(ab_high, cd_high),
            _mm256_unpackhi_epi32(ab_high, cd_high),
        ]
    };
    let even = columns(
        _mm256_unpacklo_epi8(a, b),
        _mm256_unpacklo_epi8(c, d),
        _mm256_unpacklo_epi8(e, f),
        _mm256_unpacklo_epi8(g, h),
    );
    let odd = columns(
        _mm256_unpackhi_epi8(a, b),
        _mm256_unpackhi_epi8(c, d),
        _mm256_unpackhi_epi8(e, f),
        _mm256_unpackhi_epi8(g, h),
    );
    std::array::from_fn(|i| match i % 2 {
        0 => _mm256_unpacklo_epi64(even[i / 2], odd[i / 2]),
        _ => _mm256_unpackhi_epi64(even[i / 2], odd[i / 2]),
    })
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn run<W: Work>(work: W, wide: Wide) -> W::Output {
    work.run(wide)
}

/// Answers a question. Where this may be called, the processor has the level.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn ask<C: Call, Q: Question<C>>(of: C::Of<'_>, key: u64) -> C::Answer {
    Q::ask(Wide::had(), of, key)
}

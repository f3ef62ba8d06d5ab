mod bits;
mod products;

use std::{
    arch::x86_64::{
        __m512i, _mm512_alignr_epi64, _mm512_and_si512, _mm512_andnot_si512, _mm512_cmpneq_epi64_mask,
        _mm512_loadu_si512, _mm512_max_epu64, _mm512_or_si512, _mm512_permutexvar_epi64, _mm512_rorv_epi64,
        _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512, _mm512_sllv_epi64, _mm512_srli_epi64,
        _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_test_epi64_mask,
        _mm512_testn_epi64_mask,
    },
    mem::transmute,
};

use super::{Cache, Call, Filled, GROUP, Kept, Level, Matrix, Numbers, Question, Rows, Wide, Work, rows};

/// AVX-512 as all servers have it that have any: those before Ice Lake have no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wider(Wide);

impl Wider {
    /// Proof that the processor has it, too.
    pub(super) fn detect(wide: Wide) -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        has.then_some(Self(wide))
    }

    /// The level, in code that is only called where the processor has it.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn had() -> Self {
        Self(Wide::had())
    }
}

impl From<Wider> for Wide {
    fn from(Wider(wide): Wider) -> Self {
        wide
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
fn run<W: Work>(work: W, level: Wider) -> W::Output {
    work.run(level)
}

/// Answers a question. Where this may be called, the processor has the level.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn ask<C: Call, Q: Question<C>>(of: C::Of<'_>, key: u64) -> C::Answer {
    Q::ask(Wider::had(), of, key)
}

impl Level for Wider {
    const FAST: bool = true;

    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: this `Wider` is the proof.
        unsafe { run(work, self) }
    }

    #[inline(always)]
    fn once(self) -> Cache {
        self.0.once()
    }

    #[inline(always)]
    fn extract(self, word: u64, mask: u64) -> u64 {
        self.0.extract(word, mask)
    }

    #[inline(always)]
    fn deposit(self, word: u64, mask: u64) -> u64 {
        self.0.deposit(word, mask)
    }

    #[inline(always)]
    fn low(self, n: u32) -> u64 {
        self.0.low(n)
    }

    #[inline(always)]
    fn one_of_32(self, bits: u64) -> [u64; 4] {
        // SAFETY: this `Wider` is the proof; words and vectors are the same bits.
        unsafe { transmute(bits::one_of_32(bits)) }
    }

    #[inline(always)]
    fn one_of_64(self, bits: u64) -> [u64; 8] {
        // SAFETY: this `Wider` is the proof; words and vectors are the same bits.
        unsafe { transmute(bits::one_of_64(bits)) }
    }

    #[inline(always)]
    fn some_of_256(self, bits: u64) -> [u64; 4] {
        // SAFETY: this `Wider` is the proof; words and vectors are the same bits.
        unsafe { transmute(bits::some_of_256(bits)) }
    }

    #[inline(always)]
    fn some_of_512(self, bits: u64) -> [u64; 8] {
        // SAFETY: this `Wider` is the proof; words and vectors are the same bits.
        unsafe { transmute(bits::some_of_512(bits, rows::in_nines(self, bits))) }
    }

    #[inline(always)]
    fn all_of_256(self, row: &[u64; 4], bits: u64) -> bool {
        self.0.all_of_256(row, bits)
    }

    #[inline(always)]
    fn all_of_two_256(self, rows: [&[u64; 4]; 2], bits: [u64; 2]) -> [bool; 2] {
        self.0.all_of_two_256(rows, bits)
    }

    #[inline(always)]
    fn all_of_two_512(self, rows: [&[u64; 8]; 2], bits: [u64; 2]) -> [bool; 2] {
        self.0.all_of_two_512(rows, bits)
    }

    #[inline(always)]
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool {
        // SAFETY: this `Wider` is the proof; words and vectors are the same bits.
        unsafe {
            let row = transmute::<[u64; 8], __m512i>(*row);
            // The last is the first again. Bits above the numbers do no harm.
            let places = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 0);
            let numbers = _mm512_set1_epi64(rows::in_nines(self, bits).cast_signed());
            let numbers = _mm512_srlv_epi64(numbers, places);
            let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<6>(numbers), row);
            let bits = _mm512_rorv_epi64(words, numbers);
            _mm512_testn_epi64_mask(bits, _mm512_set1_epi64(1)) == 0
        }
    }

    #[inline(always)]
    fn find_in_group<const N: usize>(
        self,
        numbers: Numbers,
        words: &[u64; GROUP],
        rows: Rows<'_, N>,
        ahead: impl Fn(usize),
        hits: &mut [bool; GROUP],
    ) -> bool {
        // SAFETY: this `Wider` is the proof.
        unsafe { bits::find(numbers, words, rows, ahead, hits) };
        true
    }

    #[inline(always)]
    fn has<const N: usize>(self, row: &[u64; N], mask: &[u64; N]) -> bool {
        if N != 8 {
            return rows::has(row, mask);
        }
        // SAFETY: this `Wider` is the proof, and there are eight words.
        unsafe {
            let missing = _mm512_andnot_si512(vector(row), vector(mask));
            _mm512_test_epi64_mask(missing, missing) == 0
        }
    }

    #[inline(always)]
    fn put<const N: usize>(self, row: &mut [u64; N], mask: &[u64; N]) -> bool {
        if N != 8 {
            return self.0.put(row, mask);
        }
        // SAFETY: this `Wider` is the proof, and there are eight words.
        unsafe {
            let old = vector(row);
            let new = _mm512_or_si512(old, vector(mask));
            *row = words(new);
            _mm512_cmpneq_epi64_mask(old, new) == 0
        }
    }

    #[inline(always)]
    fn opened<const N: usize>(self, row: &[u64; N], at: u32, width: u32, value: u64) -> [u64; N] {
        if N != 8 {
            return self.0.opened(row, at, width, value);
        }
        // SAFETY: this `Wider` is the proof, and there are eight words.
        unsafe { words(opened(vector(row), at, width, value)) }
    }

    #[inline(always)]
    fn repacked<const N: usize>(self, row: &[u64; N], kept: &Kept, filled: Filled) -> [u64; N] {
        self.0.repacked(row, kept, filled)
    }

    #[inline(always)]
    fn set_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        // SAFETY: this `Wider` is the proof.
        unsafe { products::products::<M, true>(matrices, keys, sums) }
    }

    #[inline(always)]
    fn add_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        // SAFETY: this `Wider` is the proof.
        unsafe { products::products::<M, false>(matrices, keys, sums) }
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
        // SAFETY: this `Wider` is the proof.
        unsafe { products::set_chosen::<EACH>(matrices, n, keys, numbers, sums) }
    }

    #[inline(always)]
    fn arranged(self, keys: [u64; GROUP]) -> [u64; GROUP] {
        self.0.arranged(keys)
    }

    #[inline(always)]
    fn select(self, matrices: &[Matrix], n: u32, keys: &[[u64; GROUP]], numbers: &mut [[u32; GROUP]]) {
        self.0.select(matrices, n, keys, numbers);
    }
}

/// Eight words as a vector.
///
/// # Safety
/// There must be eight.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn vector<const N: usize>(words: &[u64; N]) -> __m512i {
    // SAFETY: there are eight.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// A vector as eight words.
///
/// # Safety
/// There must be eight.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn words<const N: usize>(vector: __m512i) -> [u64; N] {
    let mut words = [0; N];
    // SAFETY: there are eight.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
    words
}

/// Bytes as a vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn constant(bytes: [u8; 64]) -> __m512i {
    // SAFETY: bytes and vectors are the same bits.
    unsafe { transmute::<[u8; 64], __m512i>(bytes) }
}

/// The first bit of each word of a row.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn first_bits() -> __m512i {
    _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448)
}

/// Ones from bit `n` of a row on.
#[inline]
#[target_feature(enable = "avx512f")]
fn from_on(n: u32) -> __m512i {
    let zeros = _mm512_sub_epi64(_mm512_max_epu64(_mm512_set1_epi64(n.into()), first_bits()), first_bits());
    // A shift that is too far leaves nothing.
    _mm512_sllv_epi64(_mm512_set1_epi64(-1), zeros)
}

/// A row with a gap, and a value in it.
#[inline]
#[target_feature(enable = "avx512f")]
fn opened(row: __m512i, at: u32, width: u32, value: u64) -> __m512i {
    let behind = from_on(at);
    let moved = _mm512_and_si512(row, behind);
    let up = _mm512_sllv_epi64(moved, _mm512_set1_epi64(width.into()));
    let over = _mm512_srlv_epi64(moved, _mm512_set1_epi64((64 - width).into()));
    let over = _mm512_alignr_epi64::<7>(over, _mm512_setzero_si512());
    let value = _mm512_set1_epi64(value.cast_signed());
    let shifts = _mm512_sub_epi64(_mm512_set1_epi64(at.into()), first_bits());
    let back = _mm512_sub_epi64(_mm512_setzero_si512(), shifts);
    // In all words but two the shift is too far, and nothing is left.
    let put = _mm512_or_si512(_mm512_sllv_epi64(value, shifts), _mm512_srlv_epi64(value, back));
    let new = _mm512_or_si512(_mm512_or_si512(up, over), put);
    _mm512_or_si512(_mm512_andnot_si512(behind, row), new)
}

mod bytes;
mod products;
mod select;

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_maskz_mov_epi64, _mm512_or_si512,
    _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_slli_epi64, _mm512_sllv_epi64,
    _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_sub_epi64,
};

use super::{
    Cache, Call, DROPPED, GROUP, Level, Matrix, Numbers, Question, Ready, Rows, RowsMut, Wide, Wider, Work,
    wider::{constant, first_bits, vector, words},
};

/// AVX-512 as Ice Lake and Zen 4 have it, and the instruction that multiplies matrices (GFNI).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widest(Wider);

impl Widest {
    /// Proof that the processor has them, too.
    pub(super) fn detect(wider: Wider) -> Option<Self> {
        let has = is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("gfni");
        has.then_some(Self(wider))
    }
}

impl From<Widest> for Wider {
    fn from(Widest(wider): Widest) -> Self {
        wider
    }
}

impl From<Widest> for Wide {
    fn from(Widest(wider): Widest) -> Self {
        wider.into()
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq,gfni")]
fn run<W: Work>(work: W, level: Widest) -> W::Output {
    work.run(level)
}

/// Answers a question. Where this may be called, the processor has the level.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vpopcntdq,gfni")]
pub(super) fn ask<C: Call, Q: Question<C>>(of: C::Of<'_>, key: u64) -> C::Answer {
    Q::ask(Widest(Wider::had()), of, key)
}

impl Level for Widest {
    const FAST: bool = true;

    #[inline]
    fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: this `Widest` is the proof.
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
        self.0.one_of_32(bits)
    }

    #[inline(always)]
    fn one_of_64(self, bits: u64) -> [u64; 8] {
        self.0.one_of_64(bits)
    }

    #[inline(always)]
    fn some_of_256(self, bits: u64) -> [u64; 4] {
        self.0.some_of_256(bits)
    }

    #[inline(always)]
    fn some_of_512(self, bits: u64) -> [u64; 8] {
        self.0.some_of_512(bits)
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
    fn find_in_group<const N: usize>(
        self,
        numbers: Numbers,
        words: &[u64; GROUP],
        rows: Rows<'_, N>,
        ahead: impl Fn(usize),
        hits: &mut [bool; GROUP],
    ) -> bool {
        // SAFETY: this `Widest` is the proof.
        unsafe { bytes::find(numbers, words, rows, ahead, hits) };
        true
    }

    #[inline(always)]
    fn make_ready(self, numbers: Numbers, words: &[u64; GROUP], ready: &mut Ready) {
        // SAFETY: this `Widest` is the proof.
        unsafe { bytes::make_ready(numbers, words, ready) };
    }

    #[inline(always)]
    fn put_in_group<const N: usize>(
        self,
        numbers: Numbers,
        words: (&[u64; GROUP], &Ready),
        rows: &mut RowsMut<'_, N>,
        ahead: impl Fn(&[u64], usize),
        tell: impl FnMut(usize, bool),
    ) -> bool {
        // SAFETY: this `Widest` is the proof.
        unsafe { bytes::put(numbers, words, rows, ahead, tell) };
        true
    }

    #[inline(always)]
    fn put_some_of_256(self, row: &mut [u64; 4], bits: u64) -> bool {
        // SAFETY: this `Widest` is the proof.
        unsafe { bytes::put_one(Numbers::SomeOf256, row, bits) }
    }

    #[inline(always)]
    fn put_some_of_512(self, row: &mut [u64; 8], bits: u64) -> bool {
        // SAFETY: this `Widest` is the proof.
        unsafe { bytes::put_one(Numbers::SomeOf512, row, bits) }
    }

    #[inline(always)]
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool {
        self.0.all_of_512(row, bits)
    }

    #[inline(always)]
    fn has<const N: usize>(self, row: &[u64; N], mask: &[u64; N]) -> bool {
        self.0.has(row, mask)
    }

    #[inline(always)]
    fn put<const N: usize>(self, row: &mut [u64; N], mask: &[u64; N]) -> bool {
        self.0.put(row, mask)
    }

    #[inline(always)]
    fn closed<const N: usize>(self, row: &[u64; N], kept: &[u64; N]) -> [u64; N] {
        if N != 8 {
            return self.0.closed(row, kept);
        }
        let mut bits = [0; N];
        for i in 0..N {
            bits[i] = self.extract(row[i], kept[i]);
        }
        // SAFETY: this `Widest` is the proof, and there are eight words.
        unsafe { words(side_by_side(vector(&bits), vector(kept))) }
    }

    #[inline(always)]
    fn opened<const N: usize>(self, row: &[u64; N], at: u32, width: u32, value: u64) -> [u64; N] {
        self.0.opened(row, at, width, value)
    }

    #[inline(always)]
    fn add_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        // SAFETY: this `Widest` is the proof.
        unsafe { products::add(matrices, keys, sums) }
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
        // SAFETY: this `Widest` is the proof.
        unsafe { products::set_chosen::<EACH>(matrices, n, keys, numbers, sums) }
    }

    #[inline(always)]
    fn arranged(self, keys: [u64; GROUP]) -> [u64; GROUP] {
        self.0.arranged(keys)
    }

    #[inline(always)]
    fn select(self, matrices: &[Matrix], n: u32, keys: &[[u64; GROUP]], numbers: &mut [[u32; GROUP]]) {
        // SAFETY: this `Widest` is the proof.
        unsafe {
            match Matrix::all_used(matrices).trailing_zeros() {
                5.. => select::select::<3>(matrices, n, keys, numbers),
                4 => select::select::<4>(matrices, n, keys, numbers),
                _ => select::select::<5>(matrices, n, keys, numbers),
            }
        }
    }
}

/// What was picked out of each word, as many bits as its `kept` has ones, side by side: see the loop
/// that does the same.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn side_by_side(bits: __m512i, kept: __m512i) -> __m512i {
    const REST: u32 = 64 - DROPPED;
    let zero = _mm512_setzero_si512();
    let counts = _mm512_popcnt_epi64(kept);
    // The counts of all words before, by sums of two, four and eight.
    let before = _mm512_alignr_epi64::<7>(counts, zero);
    let before = _mm512_add_epi64(before, _mm512_alignr_epi64::<7>(before, zero));
    let before = _mm512_add_epi64(before, _mm512_alignr_epi64::<6>(before, zero));
    let before = _mm512_add_epi64(before, _mm512_alignr_epi64::<4>(before, zero));
    let room = _mm512_set1_epi64(DROPPED.into());
    let starts = _mm512_sub_epi64(_mm512_add_epi64(before, room), first_bits());
    let low = _mm512_sllv_epi64(bits, starts);
    let high = _mm512_srlv_epi64(bits, _mm512_sub_epi64(_mm512_set1_epi64(64), starts));
    let from_below = _mm512_alignr_epi64::<7>(high, high);
    let words = _mm512_or_si512(low, _mm512_maskz_mov_epi64(0xfe, from_below));
    let next = _mm512_alignr_epi64::<1>(from_below, words);
    _mm512_or_si512(_mm512_srli_epi64::<DROPPED>(words), _mm512_slli_epi64::<REST>(next))
}

use std::{
    arch::x86_64::{
        __m512i, _mm512_alignr_epi64, _mm512_gf2p8affine_epi64_epi8, _mm512_or_si512,
        _mm512_permutexvar_epi8, _mm512_permutexvar_epi64, _mm512_rorv_epi64, _mm512_set1_epi64,
        _mm512_setr_epi64, _mm512_setzero_si512, _mm512_sllv_epi64, _mm512_srli_epi64, _mm512_srlv_epi64,
        _mm512_sub_epi64, _mm512_testn_epi64_mask, _mm512_xor_si512,
    },
    mem::transmute,
};

use super::{GROUP, Level, Matrix, Wide, Work};

/// AVX-512 as Ice Lake and Zen 4 have it, and the instruction that multiplies matrices (GFNI).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widest(pub(super) Wide);

impl Widest {
    /// Proof that the processor has them, too.
    pub(super) fn detect(wide: Wide) -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("gfni");
        has.then_some(Self(wide))
    }

    /// Does some work on this level.
    #[inline]
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        // SAFETY: this `Widest` is the proof.
        unsafe { run(work, self) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")]
fn run<W: Work>(work: W, level: Widest) -> W::Output {
    work.run(level)
}

impl Level for Widest {
    const FAST: bool = true;

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
    fn some_of_256(self, bits: u64) -> [u64; 4] {
        self.0.some_of_256(bits)
    }

    #[inline(always)]
    fn some_of_512(self, bits: u64) -> [u64; 8] {
        // SAFETY: this `Widest` is the proof; words and vectors are the same bits.
        unsafe {
            let lsbs = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
            let row = (0..7).fold(_mm512_setzero_si512(), |row, i| {
                let number = _mm512_set1_epi64((bits >> (9 * i) & 511).cast_signed());
                // In all words but one the shift is too far, and nothing is set.
                let bit = _mm512_sllv_epi64(_mm512_set1_epi64(1), _mm512_sub_epi64(number, lsbs));
                _mm512_or_si512(row, bit)
            });
            transmute(row)
        }
    }

    #[inline(always)]
    fn all_of_256(self, row: &[u64; 4], bits: u64) -> bool {
        self.0.all_of_256(row, bits)
    }

    #[inline(always)]
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool {
        // SAFETY: this `Widest` is the proof; words and vectors are the same bits.
        unsafe {
            let row = transmute::<[u64; 8], __m512i>(*row);
            // The last is the first again. Bits above the numbers do no harm.
            let places = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 0);
            let numbers = _mm512_srlv_epi64(_mm512_set1_epi64(bits.cast_signed()), places);
            let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<6>(numbers), row);
            let bits = _mm512_rorv_epi64(words, numbers);
            _mm512_testn_epi64_mask(bits, _mm512_set1_epi64(1)) == 0
        }
    }

    #[inline(always)]
    fn add_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        // SAFETY: this `Widest` is the proof.
        unsafe { add_products(matrices, keys, sums) }
    }
}

/// Eight keys at a time, with their lowest bytes side by side, then the next, and so on. The
/// instruction multiplies all eight bytes of a word by one matrix: each word is the same
/// byte of eight keys, and meets the part of the matrix that leads to one byte of the sums.
/// Turned by a word at a time, each meets all eight.
// A call for many keys costs nothing, and a copy in every loop much.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn add_products<const M: usize>(matrices: &[Matrix; M], keys: &[u64; GROUP], sums: &mut [[u64; GROUP]; M]) {
    const TRANSPOSED: [u8; 64] = {
        let mut places = [0; 64];
        let mut i = 0;
        while i < 64 {
            places[i] = (i % 8 * 8 + i / 8) as u8;
            i += 1;
        }
        places
    };
    // SAFETY: bytes, words and vectors are the same bits.
    let vector = |words: [u64; 8]| unsafe { transmute::<[u64; 8], __m512i>(words) };
    let transposed = |v| {
        // SAFETY: as above.
        let places = unsafe { transmute::<[u8; 64], __m512i>(TRANSPOSED) };
        _mm512_permutexvar_epi8(places, v)
    };
    for (n, keys) in keys.as_chunks::<8>().0.iter().enumerate() {
        let bytes = transposed(vector(*keys));
        let turns = [
            bytes,
            _mm512_alignr_epi64::<1>(bytes, bytes),
            _mm512_alignr_epi64::<2>(bytes, bytes),
            _mm512_alignr_epi64::<3>(bytes, bytes),
            _mm512_alignr_epi64::<4>(bytes, bytes),
            _mm512_alignr_epi64::<5>(bytes, bytes),
            _mm512_alignr_epi64::<6>(bytes, bytes),
            _mm512_alignr_epi64::<7>(bytes, bytes),
        ];
        for (matrix, sums) in matrices.iter().zip(&mut *sums) {
            let sums = &mut sums.as_chunks_mut::<8>().0[n];
            let product =
                |turn: usize| _mm512_gf2p8affine_epi64_epi8::<0>(turns[turn], vector(matrix.turned[turn]));
            // In pairs: the chain of additions is short.
            let pair = |turn: usize| _mm512_xor_si512(product(turn), product(turn + 1));
            let fours = [pair(0), pair(4)].map(|sum| sum);
            let low = _mm512_xor_si512(fours[0], pair(2));
            let high = _mm512_xor_si512(fours[1], pair(6));
            let sum = transposed(_mm512_xor_si512(low, high));
            // SAFETY: as above.
            *sums = unsafe { transmute::<__m512i, [u64; 8]>(_mm512_xor_si512(sum, vector(*sums))) };
        }
    }
}

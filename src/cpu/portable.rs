use super::{GROUP, Level, Matrix, Work};

/// Nothing but what every processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portable;

impl Level for Portable {
    const FAST: bool = false;

    #[inline(never)]
    fn run<W: Work>(self, work: W) -> W::Output {
        work.run(self)
    }

    #[inline]
    fn extract(self, word: u64, mut mask: u64) -> u64 {
        let (mut bits, mut n) = (0, 0);
        while mask != 0 {
            bits |= (word >> mask.trailing_zeros() & 1) << n;
            mask &= mask - 1;
            n += 1;
        }
        bits
    }

    #[inline]
    fn deposit(self, mut word: u64, mut mask: u64) -> u64 {
        let mut bits = 0;
        while mask != 0 {
            bits |= (word & 1) << mask.trailing_zeros();
            word >>= 1;
            mask &= mask - 1;
        }
        bits
    }

    #[inline]
    fn low(self, n: u32) -> u64 {
        u64::MAX.unbounded_shr(64 - n)
    }

    #[inline]
    fn one_of_32(self, bits: u64) -> [u64; 4] {
        std::array::from_fn(|i| {
            let pair = bits >> (5 * i);
            1 << (pair & 31) | (1 << 32) << (pair >> 32 & 31)
        })
    }

    #[inline]
    fn some_of_256(self, bits: u64) -> [u64; 4] {
        let mut row = [0; 4];
        for n in bits.to_le_bytes() {
            row[usize::from(n / 64)] |= 1 << (n % 64);
        }
        row
    }

    #[inline]
    fn some_of_512(self, bits: u64) -> [u64; 8] {
        let mut row = [0; 8];
        for n in numbers_of_512(bits) {
            row[n / 64] |= 1 << (n % 64);
        }
        row
    }

    #[inline]
    fn all_of_256(self, row: &[u64; 4], bits: u64) -> bool {
        let numbers = bits.to_le_bytes();
        numbers.into_iter().fold(1, |set, n| set & row[usize::from(n / 64)] >> (n % 64)) & 1 == 1
    }

    #[inline]
    fn all_of_512(self, row: &[u64; 8], bits: u64) -> bool {
        numbers_of_512(bits).fold(1, |set, n| set & row[n / 64] >> (n % 64)) & 1 == 1
    }

    #[inline]
    fn add_products<const M: usize>(
        self,
        matrices: &[Matrix; M],
        keys: &[u64; GROUP],
        sums: &mut [[u64; GROUP]; M],
    ) {
        for (matrix, sums) in matrices.iter().zip(sums) {
            matrix.add_products(keys, sums);
        }
    }
}

/// Numbers as [`Level::some_of_512`] has them.
#[inline]
fn numbers_of_512(bits: u64) -> impl Iterator<Item = usize> {
    let halves = bits.to_le_bytes().map(usize::from);
    (0..7).map(move |i| halves[i] * 2 + (halves[7] >> i & 1))
}

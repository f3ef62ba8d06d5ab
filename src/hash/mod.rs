//! H3, the hash of every core: `h[j] = c_j XOR parity(key AND mask_j)`.
//!
//! Masks and constants come from `SplitMix64` seeded with the core's `SEED`, so
//! that the Verilog computes the same matrix by constant functions at
//! elaboration and no generated file is needed. With `W = ceil(KEY_W / 64)`:
//!
//! ```text
//! mask_j = words z(j*(W+1)) ... z(j*(W+1)+W-1), word 0 least significant
//! c_j    = bit 0 of z(j*(W+1)+W)
//! ```
//!
//! H3 is linear over GF(2), which is used twice: the value for a key is the XOR
//! of one table entry per key byte, and keys that agree in chosen hash bits are
//! found by linear algebra instead of by search ([`H3::kernel`]). Where the keys of a
//! design make it a drawback, the key is mixed first ([`Mix`]).

mod lanes;
mod mix;
mod packed;

pub use lanes::Lanes;
pub use mix::Mix;
pub use packed::{GROUP, Moved, Packed};

/// Output `n` of `SplitMix64` seeded with `seed`.
pub fn splitmix64(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `SplitMix64` as a stream: the one random generator of this project, so that a
/// seed gives the same bytes everywhere.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    seed: u64,
    n: u64,
}

impl SplitMix64 {
    /// A stream that starts at output 0.
    pub fn new(seed: u64) -> Self {
        Self { seed, n: 0 }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let z = splitmix64(self.seed, self.n);
        self.n += 1;
        z
    }

    /// A number below `n` (which is not 0), by the high word of a product.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `per_mille` / 1000.
    #[inline]
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }
}

/// A selector of one of `n` things, taken from hash bits `lsb ..`.
///
/// It has `clog2(n)` bits when `n` is a power of two, and `clog2(n) + 8` bits
/// reduced by `(bits * n) >> width` when it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// First hash bit.
    pub lsb: u32,
    /// Number of hash bits.
    pub width: u32,
    /// What it selects from.
    pub n: u64,
}

impl Field {
    /// The field that selects one of `n`, starting at hash bit `lsb`.
    pub fn selecting(n: u64, lsb: u32) -> Self {
        Self { lsb, width: Self::width_for(n), n }
    }

    /// How many hash bits a selector of one of `n` takes.
    pub fn width_for(n: u64) -> u32 {
        let bits = clog2(n);
        if n.is_power_of_two() { bits } else { bits + 8 }
    }

    /// First hash bit after this field.
    pub fn end(self) -> u32 {
        self.lsb + self.width
    }

    /// The selections that `h` makes by this field and the `count` - 1 like it that follow.
    #[inline]
    pub fn row_of(self, count: u32, h: &[u64]) -> impl Iterator<Item = u64> {
        let Self { lsb, width, n } = self;
        let mask = u64::MAX.unbounded_shr(64 - width);
        let (mut word, mut used) = ((lsb / 64) as usize, lsb % 64);
        (0..count).map(move |_| {
            let mut bits = h[word] >> used;
            used += width;
            if used >= 64 {
                word += 1;
                used -= 64;
                if used > 0 {
                    bits |= h[word] << (width - used);
                }
            }
            // For a power of two this is the field as it is.
            ((bits & mask) * n) >> width
        })
    }

    /// The selection that the hash value `h` makes.
    #[inline]
    pub fn of(self, h: &[u64]) -> u64 {
        let bits = extract(h, self.lsb, self.width);
        if self.n.is_power_of_two() {
            bits
        } else {
            ((u128::from(bits) * u128::from(self.n)) >> self.width) as u64
        }
    }
}

/// Number of bits that can hold the values `0 .. n`: Verilog's `$clog2`.
pub fn clog2(n: u64) -> u32 {
    if n <= 1 { 0 } else { 64 - (n - 1).leading_zeros() }
}

/// Bits `lsb .. lsb + width` of `words` (`width` at most 64).
#[inline]
pub fn extract(words: &[u64], lsb: u32, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (word, shift) = ((lsb / 64) as usize, lsb % 64);
    let mut value = words[word] >> shift;
    if shift + width > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & (u64::MAX >> (64 - width))
}

/// The H3 hash for keys of `KEY_W` bits.
///
/// ```
/// use membrane::hash::{Field, H3};
/// let h3 = H3::new(48, 20, 0x5eed);
/// let mut h = [0];
/// h3.hash_into(&[0x1234_5678_9abc], &mut h);
/// assert_eq!(h[0], h3.by_definition(&[0x1234_5678_9abc])[0]);
/// assert!(Field::selecting(1000, 0).of(&h) < 1000);
/// ```
#[derive(Clone, Debug)]
pub struct H3 {
    key_w: u32,
    bits: u32,
    seed: u64,
    mix: Mix,
    words: usize,
    constant: Vec<u64>,
    /// `tables[(byte * 256 + value) * words ..]`: what that byte of the key adds.
    tables: Vec<u64>,
}

impl H3 {
    /// The hash with `bits` output bits for keys of `key_w` bits, which are not mixed.
    pub fn new(key_w: u32, bits: u32, seed: u64) -> Self {
        let words = bits.div_ceil(64).max(1) as usize;
        let bytes = key_w.div_ceil(8) as usize;
        let mut h3 = Self {
            key_w,
            bits,
            seed,
            mix: Mix::new(key_w, 0),
            words,
            constant: vec![0; words],
            tables: vec![0; bytes * 256 * words],
        };
        let columns: Vec<Vec<u64>> = (0..key_w).map(|i| h3.column(i)).collect();
        for j in 0..bits {
            h3.constant[(j / 64) as usize] |= h3.constant_bit(j) << (j % 64);
        }
        for byte in 0..bytes {
            for value in 1..256usize {
                // One bit more than an entry that is already there.
                let rest = (byte * 256 + (value & (value - 1))) * words;
                let bit = byte * 8 + value.trailing_zeros() as usize;
                for w in 0..words {
                    let column = columns.get(bit).map_or(0, |c| c[w]);
                    h3.tables[(byte * 256 + value) * words + w] = h3.tables[rest + w] ^ column;
                }
            }
        }
        h3
    }

    /// The same hash of keys that are mixed first, by so many rounds.
    #[must_use]
    pub fn mixed(self, rounds: u32) -> Self {
        Self { mix: Mix::new(self.key_w, rounds), ..self }
    }

    /// What is done to a key first.
    pub fn mix(&self) -> Mix {
        self.mix
    }

    /// Number of hash bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of words of a hash value.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Word `w` of `mask_j`.
    pub fn mask_word(&self, j: u32, w: u32) -> u64 {
        splitmix64(self.seed, u64::from(j * (self.key_words() + 1) + w))
    }

    /// `c_j`.
    pub fn constant_bit(&self, j: u32) -> u64 {
        splitmix64(self.seed, u64::from(j * (self.key_words() + 1) + self.key_words())) & 1
    }

    /// Words of a key.
    pub fn key_words(&self) -> u32 {
        self.key_w.div_ceil(64)
    }

    /// Whether keys are one word, and are not mixed.
    pub fn is_plain(&self) -> bool {
        self.key_words() == 1 && self.mix.rounds() == 0
    }

    /// All hash bits that key bit `i` flips.
    fn column(&self, i: u32) -> Vec<u64> {
        let mut column = vec![0; self.words];
        for j in 0..self.bits {
            let bit = (self.mask_word(j, i / 64) >> (i % 64)) & 1;
            column[(j / 64) as usize] |= bit << (j % 64);
        }
        column
    }

    /// Writes the hash of `key` to `h`. Key bits above `KEY_W` are ignored.
    ///
    /// # Panics
    /// When `key` or `h` has too few words.
    #[inline]
    pub fn hash_into(&self, key: &[u64], h: &mut [u64]) {
        self.mix.with(key, |key| match self.words {
            1 => self.hash_words::<1>(key, h),
            2 => self.hash_words::<2>(key, h),
            3 => self.hash_words::<3>(key, h),
            4 => self.hash_words::<4>(key, h),
            5 => self.hash_words::<5>(key, h),
            6 => self.hash_words::<6>(key, h),
            7 => self.hash_words::<7>(key, h),
            8 => self.hash_words::<8>(key, h),
            _ => self.hash_any(key, h),
        });
    }

    /// The number of words known at compile time lets them stay in registers.
    #[inline]
    fn hash_words<const N: usize>(&self, key: &[u64], h: &mut [u64]) {
        let mut sum = [0u64; N];
        sum.copy_from_slice(&self.constant);
        let mut add = |table: &[[u64; N]; 256], byte: u64| {
            let entry = &table[(byte & 0xff) as usize];
            for w in 0..N {
                sum[w] ^= entry[w];
            }
        };
        let (entries, _) = self.tables.as_chunks::<N>();
        let (tables, _) = entries.as_chunks::<256>();
        // Whole key words first: eight tables each, which unrolls.
        let (whole, rest) = tables.as_chunks::<8>();
        for (tables, word) in whole.iter().zip(key) {
            for (i, table) in tables.iter().enumerate() {
                add(table, word >> (8 * i));
            }
        }
        for (i, table) in rest.iter().enumerate() {
            add(table, key[whole.len()] >> (8 * i));
        }
        h[..N].copy_from_slice(&sum);
    }

    fn hash_any(&self, key: &[u64], h: &mut [u64]) {
        h[..self.words].copy_from_slice(&self.constant);
        for (byte, table) in self.tables.chunks_exact(256 * self.words).enumerate() {
            let value = (key[byte / 8] >> (byte % 8 * 8)) as usize & 0xff;
            let entry = &table[value * self.words..][..self.words];
            for (sum, bits) in h.iter_mut().zip(entry) {
                *sum ^= bits;
            }
        }
    }

    /// The hash straight from its definition: slow, and what the tables are tested
    /// against.
    pub fn by_definition(&self, key: &[u64]) -> Vec<u64> {
        let mut mixed = key.to_vec();
        self.mix.apply(&mut mixed);
        let mut h = vec![0; self.words];
        for j in 0..self.bits {
            let mut bit = self.constant_bit(j);
            for i in 0..self.key_w {
                let (w, s) = (i / 64, i % 64);
                bit ^= (mixed[w as usize] >> s) & (self.mask_word(j, w) >> s) & 1;
            }
            h[(j / 64) as usize] |= bit << (j % 64);
        }
        h
    }

    /// A basis of the mixed keys `d` with `hash(key ^ d)` equal to `hash(key)` in the
    /// `width` bits from `lsb` on, for every mixed key: how test stimulus finds many
    /// keys of one block without searching for them.
    pub fn kernel(&self, lsb: u32, width: u32) -> Vec<Vec<u64>> {
        let words = self.key_words() as usize;
        // Rows of (hash bits of the field, key bits that made them), reduced.
        let mut pivots: Vec<(u64, Vec<u64>)> = Vec::new();
        let mut kernel = Vec::new();
        for i in 0..self.key_w {
            let mut image = extract(&self.column(i), lsb, width);
            let mut combination = vec![0u64; words];
            combination[(i / 64) as usize] |= 1 << (i % 64);
            for (pivot, made_of) in &pivots {
                if image & (1 << pivot.trailing_zeros()) != 0 {
                    image ^= pivot;
                    combination.iter_mut().zip(made_of).for_each(|(c, m)| *c ^= m);
                }
            }
            if image == 0 {
                kernel.push(combination);
            } else {
                pivots.push((image, combination));
            }
        }
        kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_stream() {
        // First outputs for seed 1234567, as published with the reference code.
        let mut rng = SplitMix64::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| rng.next_u64()), expected);
    }

    #[test]
    fn tables_follow_the_definition() {
        let mut rng = SplitMix64::new(1);
        for (key_w, bits) in [
            (1, 1),
            (7, 9),
            (8, 64),
            (63, 65),
            (64, 96),
            (65, 200),
            (128, 256),
            (200, 300),
            (64, 380),
            (70, 440),
            (64, 500),
            (64, 600),
        ] {
            let h3 = H3::new(key_w, bits, rng.next_u64());
            let h3 = if key_w == 200 { h3.mixed(3) } else { h3 };
            for _ in 0..50 {
                let key: Vec<u64> = (0..key_w.div_ceil(64)).map(|_| rng.next_u64()).collect();
                let mut h = vec![u64::MAX; h3.words()];
                h3.hash_into(&key, &mut h);
                assert_eq!(h, h3.by_definition(&key), "KEY_W {key_w}, {bits} bits");
            }
        }
    }

    #[test]
    fn field_widths_and_reduction() {
        assert_eq!(Field::width_for(1024), 10);
        assert_eq!(Field::width_for(1000), 18);
        assert_eq!(Field::width_for(1), 0);
        let field = Field::selecting(1000, 3);
        assert_eq!(field.of(&[0]), 0);
        assert_eq!(field.of(&[u64::MAX]), 999);
        assert_eq!(extract(&[1 << 63, 0b101], 63, 4), 0b1011);
        assert_eq!(extract(&[u64::MAX], 64, 0), 0);
    }

    #[test]
    fn kernel_keys_share_the_field() {
        let h3 = H3::new(40, 70, 99);
        let kernel = h3.kernel(60, 10);
        assert_eq!(kernel.len(), 30);
        let (mut a, mut b) = ([0; 2], [0; 2]);
        h3.hash_into(&[0x12_3456_789a], &mut a);
        for d in kernel {
            h3.hash_into(&[0x12_3456_789a ^ d[0]], &mut b);
            assert_eq!(extract(&a, 60, 10), extract(&b, 60, 10));
            assert_ne!(d[0], 0);
        }
    }
}

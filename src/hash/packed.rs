use super::{H3, Mix, extract};
use crate::cpu::Level;

/// Hash bits moved to places of one's choosing in `M` words.
///
/// As with [`Lanes`](super::Lanes) the table entry of a key byte holds its share of every field
/// where it is wanted. Few words for all fields make small tables; and 32 keys at a time are
/// hashed without any, by look-ups in vector registers, where the processor has them.
#[derive(Clone, Debug)]
pub struct Packed<const M: usize = 2> {
    mix: Mix,
    /// By word of the key: what each value of each of its bytes adds.
    tables: Vec<Box<WordTables<M>>>,
    /// Bytes of these words that are ever set.
    bytes: Vec<usize>,
    /// By word of the key and such a byte: what each value of each half of a key byte adds
    /// to it, low half of the lowest first.
    halves: Vec<Vec<HalfTables>>,
}

/// What each value of each half of the bytes of a key word adds to one byte.
type HalfTables = [[u8; 16]; 16];

/// What each value of each byte of a key word adds.
type WordTables<const M: usize> = [[[u64; M]; 256]; 8];

/// Keys that are hashed together.
pub const GROUP: usize = 32;

/// Hash bits `lsb .. lsb + width`, and where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// First hash bit.
    pub lsb: u32,
    /// Number of bits, at most 64.
    pub width: u32,
    /// Which word.
    pub word: usize,
    /// First bit in it.
    pub at: u32,
}

impl<const M: usize> Packed<M> {
    /// The hash with its bits moved so. What is not named is left out.
    ///
    /// # Panics
    /// When a move leads beyond the end of its word.
    pub fn new(h3: &H3, moves: &[Moved]) -> Self {
        assert!(moves.iter().all(|moved| moved.at + moved.width <= 64), "no room in the word");
        let pack = |h: &[u64]| {
            let mut words = [0; M];
            for Moved { lsb, width, word, at } in moves.iter().copied().filter(|moved| moved.width > 0) {
                words[word] |= extract(h, lsb, width) << at;
            }
            words
        };
        let mut tables = vec![Box::new([[[0; M]; 256]; 8]); h3.key_words() as usize];
        let bytes = tables.iter_mut().flat_map(|word| word.iter_mut());
        for (byte, entries) in bytes.zip(h3.tables.chunks_exact(256 * h3.words)) {
            for (entry, h) in byte.iter_mut().zip(entries.chunks_exact(h3.words)) {
                *entry = pack(h);
            }
        }
        // Each key takes one entry of its first byte: the place for the constant.
        let constant = pack(&h3.constant);
        for entry in &mut tables[0][0] {
            *entry = add(*entry, &constant);
        }
        let (bytes, halves) = Self::halves(&tables);
        Self { mix: h3.mix, tables, bytes, halves }
    }

    /// The same in halves of bytes, one byte of the result at a time.
    fn halves(tables: &[Box<WordTables<M>>]) -> (Vec<usize>, Vec<Vec<HalfTables>>) {
        let byte_of = |entry: [u64; M], byte: usize| (entry[byte / 8] >> (byte % 8 * 8)) as u8;
        let entries = |byte| tables.iter().flat_map(|t| t.as_flattened()).map(move |e| byte_of(*e, byte));
        let bytes: Vec<_> = (0..8 * M).filter(|byte| entries(*byte).any(|bits| bits != 0)).collect();
        let half = |table: &WordTables<M>, byte, n: usize| {
            // The entry of a half alone is that of a byte whose other half is 0. Entry 0 of
            // the first byte is the constant, which its low half brings already.
            let rest = if n == 1 { byte_of(table[0][0], byte) } else { 0 };
            std::array::from_fn(|value| byte_of(table[n / 2][value << (n % 2 * 4)], byte) ^ rest)
        };
        let of_byte = |table: &WordTables<M>, byte| std::array::from_fn(|n| half(table, byte, n));
        let halves = tables.iter().map(|t| bytes.iter().map(|byte| of_byte(t, *byte)).collect()).collect();
        (bytes, halves)
    }

    /// [`Packed::hash`] for [`GROUP`] keys of `each` words, one after another.
    #[inline(always)]
    pub fn hash_group<L: Level>(&self, level: L, keys: &[u64], each: usize, hashes: &mut [[u64; M]; GROUP]) {
        if !L::FAST || self.mix.rounds() > 0 {
            for (hash, key) in hashes.iter_mut().zip(keys.chunks_exact(each)) {
                *hash = self.hash(key);
            }
            return;
        }
        let mut sums = [[[0; 4]; 8]; M];
        for (w, tables) in self.halves.iter().enumerate() {
            // Eight rows of four keys; then the lowest bytes of all keys, the next, and so on.
            let mut rows: Rows = [[0; 4]; 8];
            for (row, key) in rows.as_flattened_mut().iter_mut().zip(keys[w..].iter().step_by(each)) {
                *row = *key;
            }
            transpose(&mut rows);
            for (byte, tables) in self.bytes.iter().zip(tables) {
                let mut sum = sums[byte / 8 % M][byte % 8];
                for (row, tables) in rows.iter().zip(tables.as_chunks::<2>().0) {
                    let low = level.look_up(&tables[0], row.map(|word| word & LOW_HALVES));
                    let high = level.look_up(&tables[1], row.map(|word| word >> 4 & LOW_HALVES));
                    for lane in 0..4 {
                        sum[lane] ^= low[lane] ^ high[lane];
                    }
                }
                sums[byte / 8 % M][byte % 8] = sum;
            }
        }
        for (w, rows) in sums.iter_mut().enumerate() {
            transpose(rows);
            for (hash, word) in hashes.iter_mut().zip(rows.as_flattened()) {
                hash[w] = *word;
            }
        }
    }

    /// The words for a key. Key bits above `KEY_W` are ignored.
    #[inline(always)]
    pub fn hash(&self, key: &[u64]) -> [u64; M] {
        if self.mix.rounds() == 0 { self.sum(key) } else { self.mixed_sum(key) }
    }

    /// Not part of its caller: most cores don't mix, and should not pay for it.
    #[inline(never)]
    fn mixed_sum(&self, key: &[u64]) -> [u64; M] {
        self.mix.with(key, |key| self.sum(key))
    }

    #[inline(always)]
    fn sum(&self, key: &[u64]) -> [u64; M] {
        let mut sum = word_sum(&self.tables[0], key[0]);
        for (tables, word) in self.tables[1..].iter().zip(&key[1..]) {
            sum = add(sum, &word_sum(tables, *word));
        }
        sum
    }
}

#[inline(always)]
fn add<const M: usize>(mut sum: [u64; M], more: &[u64; M]) -> [u64; M] {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum ^= more;
    }
    sum
}

/// Words of which byte `j` of row `i` and byte `i` of row `j` change places, lane by lane.
type Rows = [[u64; 4]; 8];

/// The low half of every byte.
const LOW_HALVES: u64 = 0x0f0f_0f0f_0f0f_0f0f;

#[inline(always)]
fn transpose(rows: &mut Rows) {
    let swap = |rows: &mut Rows, distance: usize, mask: u64| {
        for i in (0..8).filter(|i| i & distance == 0) {
            let (mut low, mut high) = (rows[i], rows[i + distance]);
            for (low, high) in low.iter_mut().zip(&mut high) {
                let change = (*low >> (8 * distance) ^ *high) & mask;
                *low ^= change << (8 * distance);
                *high ^= change;
            }
            (rows[i], rows[i + distance]) = (low, high);
        }
    };
    swap(rows, 4, 0x0000_0000_ffff_ffff);
    swap(rows, 2, 0x0000_ffff_0000_ffff);
    swap(rows, 1, 0x00ff_00ff_00ff_00ff);
}

#[inline(always)]
fn word_sum<const M: usize>(tables: &WordTables<M>, word: u64) -> [u64; M] {
    let bytes = word.to_le_bytes();
    let mut sum = tables[0][usize::from(bytes[0])];
    for i in 1..8 {
        sum = add(sum, &tables[i][usize::from(bytes[i])]);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{super::SplitMix64, *};
    use crate::cpu::{Cpu, Work};

    struct Group<'a>(&'a Packed, &'a [u64], usize);

    impl Work for Group<'_> {
        type Output = [[u64; 2]; GROUP];

        fn run<L: Level>(self, level: L) -> Self::Output {
            let mut hashes = [[0; 2]; GROUP];
            self.0.hash_group(level, self.1, self.2, &mut hashes);
            hashes
        }
    }

    #[test]
    fn bits_are_where_they_were_sent() {
        let mut rng = SplitMix64::new(4);
        let moves = [
            Moved { lsb: 3, width: 34, word: 0, at: 5 },
            Moved { lsb: 37, width: 0, word: 0, at: 0 },
            Moved { lsb: 60, width: 9, word: 1, at: 55 },
            Moved { lsb: 37, width: 23, word: 1, at: 0 },
        ];
        for (key_w, rounds) in [(64, 0), (20, 3), (65, 0), (200, 5)] {
            let h3 = H3::new(key_w, 70, rng.next_u64()).mixed(rounds);
            let packed = Packed::new(&h3, &moves);
            for _ in 0..50 {
                let key: Vec<u64> = (0..key_w.div_ceil(64)).map(|_| rng.next_u64()).collect();
                let h = h3.by_definition(&key);
                let expected = [extract(&h, 3, 34) << 5, extract(&h, 60, 9) << 55 | extract(&h, 37, 23)];
                assert_eq!(packed.hash(&key), expected, "KEY_W {key_w}");
            }
            let each = key_w.div_ceil(64) as usize;
            let keys: Vec<u64> = (0..GROUP * each).map(|_| rng.next_u64()).collect();
            let expected: Vec<_> = keys.chunks_exact(each).map(|key| packed.hash(key)).collect();
            for cpu in [Cpu::portable(), Cpu::detect()] {
                assert_eq!(cpu.run(Group(&packed, &keys, each)).to_vec(), expected, "KEY_W {key_w}, {cpu:?}");
            }
        }
    }
}

use super::{H3, Mix, extract};
pub use crate::cpu::GROUP;
use crate::cpu::{Level, Matrix, Pair, Pairs, Work, opaque, read_alone, selected};

/// Hash bits moved to places of one's choosing in `M` words.
///
/// As with [`Lanes`](super::Lanes) the table entry of a key byte holds its share of every field
/// where it is wanted. Few words for all fields make small tables; and 32 keys at a time are
/// hashed without any, by look-ups in vector registers, where the processor has them.
#[derive(Clone, Debug)]
pub struct Packed<const M: usize = 2> {
    mix: Mix,
    /// What each value of each byte of the first word of a key adds.
    first: Box<WordTables<M>>,
    /// The same for its other words.
    others: Vec<Box<WordTables<M>>>,
    /// Keys are one word, and are not mixed.
    plain: bool,
    /// By word of the key and of the result: the same as the tables.
    matrices: Vec<[Matrix; M]>,
}

/// What each value of each byte of a key word adds.
type WordTables<const M: usize> = [[[u64; M]; 256]; 8];

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

/// What is left of hash bits, moved.
fn pack<const M: usize>(moves: &[Moved], h: &[u64]) -> [u64; M] {
    let mut words = [0; M];
    for Moved { lsb, width, word, at } in moves.iter().copied().filter(|moved| moved.width > 0) {
        assert!(at + width <= 64, "no room in the word");
        words[word] |= extract(h, lsb, width) << at;
    }
    words
}

impl H3 {
    /// The hash of keys that come one by one, with its bits moved so, and then some of them flipped. What is not named is left
    /// out. `None` where keys are not plain: more than one word, or mixed.
    ///
    /// # Panics
    /// When a move leads beyond the end of its word.
    pub fn pairs(&self, moves: &[Moved], flipped: [u64; 2]) -> Option<Box<Pairs>> {
        if !self.is_plain() {
            return None;
        }
        let columns = std::array::from_fn(|i| {
            if i < self.key_w as usize { pack(moves, &self.column(i as u32)) } else { [0; 2] }
        });
        Some(Pairs::new(add(pack(moves, &self.constant), &flipped), &columns))
    }
}

impl<const M: usize> Packed<M> {
    /// The hash with its bits moved so. What is not named is left out.
    ///
    /// # Panics
    /// When a move leads beyond the end of its word.
    pub fn new(h3: &H3, moves: &[Moved]) -> Self {
        let pack = |h: &[u64]| pack(moves, h);
        let mut tables = vec![Box::new([[[0; M]; 256]; 8]); h3.key_words() as usize];
        let bytes = tables.iter_mut().flat_map(|word| word.iter_mut());
        for (byte, entries) in bytes.zip(h3.tables.chunks_exact(256 * h3.words)) {
            for (entry, h) in byte.iter_mut().zip(entries.chunks_exact(h3.words)) {
                *entry = pack(h);
            }
        }
        let constant = pack(&h3.constant);
        let matrix = |tables: &WordTables<M>, w: usize, constant: u64| {
            Matrix::new(&std::array::from_fn(|bit| tables[bit / 8][1 << (bit % 8)][w]), constant)
        };
        // Each key takes one product of its first word, and one entry of its first byte: the places for the constant.
        let matrices = tables.iter().enumerate().map(|(i, tables)| {
            std::array::from_fn(|w| matrix(tables, w, if i == 0 { constant[w] } else { 0 }))
        });
        let matrices = matrices.collect();
        for entry in &mut tables[0][0] {
            *entry = add(*entry, &constant);
        }
        let others = tables.split_off(1);
        let first = tables.remove(0);
        Self { plain: h3.is_plain(), mix: h3.mix, first, others, matrices }
    }

    /// [`Packed::hash`] for [`GROUP`] keys of `each` words, one after another: their first
    /// words, then their second, and so on.
    #[inline(always)]
    pub fn hash_group<L: Level>(&self, level: L, keys: &[u64], each: usize, hashes: &mut [[u64; GROUP]; M]) {
        // Keys that are one word lie as they are wanted.
        if L::FAST
            && self.plain
            && each == 1
            && let ([matrices], Some(words)) = (&self.matrices[..], keys.first_chunk())
        {
            return level.set_products(matrices, words, hashes);
        }
        level.run(HashAny(self, keys, each, hashes));
    }

    /// The words for a key. Key bits above `KEY_W` are ignored.
    #[inline(always)]
    pub fn hash(&self, key: &[u64]) -> [u64; M] {
        if self.plain { self.hash_plain(key[0]) } else { self.hash_any(key) }
    }

    /// Keys are one word, and are not mixed.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// The words for a key that is plain.
    #[inline(always)]
    pub fn hash_plain(&self, key: u64) -> [u64; M] {
        word_sum(&self.first, key)
    }

    /// Not part of its caller: most keys are plain, and should not pay for it.
    #[inline(never)]
    fn hash_any(&self, key: &[u64]) -> [u64; M] {
        let sum = |key: &[u64]| {
            let others = self.others.iter().zip(&key[1..]);
            others
                .fold(word_sum(&self.first, key[0]), |sum, (tables, word)| add(sum, &word_sum(tables, *word)))
        };
        if self.mix.rounds() == 0 { sum(key) } else { self.mix.with(key, sum) }
    }
}

impl Packed {
    /// The second words of the same, and what the first words, of which at most half, at the top, is other than zero, select,
    /// one of `n`, in steps of `EACH`.
    #[inline(always)]
    pub fn choose_group<L: Level, const EACH: usize>(
        &self,
        level: L,
        n: u32,
        (keys, each): (&[u64], usize),
        numbers: &mut [u32; GROUP],
        second: &mut [u64; GROUP],
    ) {
        if L::FAST
            && self.plain
            && each == 1
            && let ([matrices], Some(words)) = (&self.matrices[..], keys.first_chunk())
        {
            return level.set_chosen::<EACH>(matrices, n, words, numbers, second);
        }
        let mut hashes = [[0; GROUP]; 2];
        self.hash_group(level, keys, each, &mut hashes);
        for (number, bits) in numbers.iter_mut().zip(&hashes[0]) {
            *number = selected(*bits, n) * EACH as u32;
        }
        *second = hashes[1];
    }
}

impl Packed<1> {
    /// What the words of groups of keys select, as [`Level::select`] says. Keys are [arranged](Level::arranged), and not
    /// mixed.
    #[inline(always)]
    pub fn select<L: Level>(&self, level: L, n: u32, keys: &[[u64; GROUP]], numbers: &mut [[u32; GROUP]]) {
        if L::FAST {
            return level.select(self.matrices.as_flattened(), n, keys, numbers);
        }
        for (keys, numbers) in keys.chunks_exact(1 + self.others.len()).zip(numbers) {
            for (i, number) in numbers.iter_mut().enumerate() {
                let others = self.others.iter().zip(&keys[1..]);
                let first = word_sum(&self.first, keys[0][i]);
                let [sum] = others.fold(first, |sum, (tables, words)| add(sum, &word_sum(tables, words[i])));
                *number = selected(sum, n);
            }
        }
    }
}

#[inline(always)]
fn add<const M: usize>(mut sum: [u64; M], more: &[u64; M]) -> [u64; M] {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum ^= more;
    }
    sum
}

#[inline(always)]
fn word_sum<const M: usize>(tables: &WordTables<M>, word: u64) -> [u64; M] {
    if M == 2 {
        return pair_sum(tables, word);
    }
    if M >= 4 {
        // As vectors. Written out, because a loop over the bytes is not always unrolled.
        let entry = |byte: usize| &tables[byte][(word >> (8 * byte)) as usize & 0xff];
        let even = add(add(*entry(0), entry(2)), &add(*entry(4), entry(6)));
        let odd = add(add(*entry(1), entry(3)), &add(*entry(5), entry(7)));
        return add(even, &odd);
    }
    // Two sums: one would be a chain of eight steps.
    let (mut sums, mut rest) = ([[0; M]; 2], word);
    for tables in tables.as_chunks::<2>().0 {
        for ((sum, table), byte) in sums.iter_mut().zip(tables).zip(rest.to_le_bytes()) {
            for (sum, word) in sum.iter_mut().zip(&table[usize::from(byte)]) {
                *sum ^= read_alone(word);
            }
        }
        // The lowest two bytes of a word are at hand, others have to be cut out of it one by one.
        rest = opaque(rest >> 16);
    }
    add(sums[0], &sums[1].map(opaque))
}

/// The same for two words.
#[inline(always)]
fn pair_sum<const M: usize>(tables: &WordTables<M>, word: u64) -> [u64; M] {
    let entry = |byte: usize, value: u8| {
        Pair::read(tables[byte][usize::from(value)].first_chunk().expect("two words"))
    };
    let [a, b, ..] = word.to_le_bytes();
    let (mut even, mut odd, mut rest) = (entry(0, a), entry(1, b), word);
    for byte in [2, 4, 6] {
        // As above.
        rest = opaque(rest >> 16);
        let [a, b, ..] = rest.to_le_bytes();
        (even, odd) = (even.plus(entry(byte, a)), odd.plus(entry(byte + 1, b)));
    }
    let words = even.plus(odd).words();
    std::array::from_fn(|w| words[w])
}

/// Keys of any kind: not part of every loop that hashes, most keys are plain.
struct HashAny<'a, const M: usize>(&'a Packed<M>, &'a [u64], usize, &'a mut [[u64; GROUP]; M]);

impl<const M: usize> Work for HashAny<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self(packed, keys, each, hashes) = self;
        let mixed = packed.mix.rounds() > 0;
        if !L::FAST || mixed && !packed.others.is_empty() {
            for (i, key) in keys.chunks_exact(each).take(GROUP).enumerate() {
                for (words, word) in hashes.iter_mut().zip(packed.hash(key)) {
                    words[i] = word;
                }
            }
            return;
        }
        // A key of more words than there are matrices is hashed by its first ones.
        for (w, matrices) in packed.matrices.iter().enumerate() {
            let mut words = [0; GROUP];
            for (word, key) in words.iter_mut().zip(keys.chunks_exact(each)) {
                *word = key[w];
            }
            if mixed {
                packed.mix.apply_to_words(&mut words);
            }
            if w == 0 {
                level.set_products(matrices, &words, hashes);
            } else {
                level.add_products(matrices, &words, hashes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::SplitMix64, *};
    use crate::cpu::{Cpu, Work};

    struct Group<'a>(&'a Packed, &'a [u64], usize);

    impl Work for Group<'_> {
        type Output = [[u64; GROUP]; 2];

        fn run<L: Level>(self, level: L) -> Self::Output {
            let mut hashes = [[0; GROUP]; 2];
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
            // A key may have more words than are hashed.
            for each in (key_w.div_ceil(64) as usize..).take(2) {
                let keys: Vec<u64> = (0..GROUP * each).map(|_| rng.next_u64()).collect();
                let expected: Vec<_> = keys.chunks_exact(each).map(|key| packed.hash(key)).collect();
                for cpu in Cpu::levels() {
                    let [first, second] = cpu.run(Group(&packed, &keys, each));
                    let hashes: Vec<_> = first.into_iter().zip(second).map(|(a, b)| [a, b]).collect();
                    assert_eq!(hashes, expected, "KEY_W {key_w}, {cpu:?}");
                }
            }
        }
    }
}

//! The rows and masks of many keys at once, before a clocked model needs them.
//!
//! Loops here go over the keys of a group and have no branch, which is what a compiler makes vector
//! instructions of.

use crate::{
    cpu::{Cpu, GROUP, Level, Work},
    hash::{Field, H3, Moved, Packed},
};

/// What the hash says of the keys of some groups. A key has one or more rows.
#[derive(Debug, Default)]
pub struct Ahead<const GROUPS: usize>(Known);

/// What is known of the first row of a key is known of all groups, one after the other; then that of its second, and so on.
#[derive(Debug, Default)]
struct Known {
    /// Numbers of rows.
    rows: Vec<[u32; GROUP]>,
    /// Masks: the first word of a row in all groups, then its second, and so on.
    masks: Vec<[u64; GROUP]>,
    /// Words of a mask.
    words: usize,
    /// Where there are no masks: the first bit of a row in all groups, then its second, and so on.
    bits: Vec<[u32; GROUP]>,
    /// The fields that follow the indices.
    coins: Vec<[u32; GROUP]>,
}

/// Of key `i`, counted over the groups.
#[inline(always)]
pub fn of_key<T: Copy, const GROUPS: usize>(known: &[[T; GROUP]; GROUPS], i: usize) -> T {
    known.as_flattened()[i % (GROUPS * GROUP)]
}

impl<const GROUPS: usize> Ahead<GROUPS> {
    /// By row: its numbers, of all keys.
    #[inline(always)]
    pub fn rows(&self) -> &[[[u32; GROUP]; GROUPS]] {
        self.0.rows.as_chunks().0
    }

    /// By row: the fields that follow its indices, of all keys.
    #[inline(always)]
    pub fn coins(&self) -> &[[[u32; GROUP]; GROUPS]] {
        self.0.coins.as_chunks().0
    }

    /// The words of the mask of the first row, of all keys, then those of the second, and so on.
    #[inline(always)]
    pub fn words(&self) -> &[[[u64; GROUP]; GROUPS]] {
        self.0.masks.as_chunks().0
    }

    /// Words of a mask.
    #[inline(always)]
    pub fn words_of_mask(&self) -> usize {
        self.0.words
    }

    /// Number of row `r` of key `i`.
    #[inline(always)]
    pub fn row(&self, r: usize, i: usize) -> usize {
        of_key(&self.rows()[r], i) as usize
    }

    /// The field that follows the indices in row `r` of key `i`.
    #[inline(always)]
    pub fn coin(&self, r: usize, i: usize) -> u32 {
        of_key(&self.coins()[r], i)
    }

    /// The bits of key `i` in its row `r`.
    #[inline(always)]
    pub fn mask(&self, r: usize, i: usize) -> impl ExactSizeIterator<Item = u64> {
        self.words()[r * self.0.words..][..self.0.words].iter().map(move |words| of_key(words, i))
    }

    /// Word `w` of that mask.
    #[inline(always)]
    pub fn word(&self, r: usize, w: usize, i: usize) -> u64 {
        of_key(&self.words()[r * self.0.words + w], i)
    }

    /// By bit of row `r`, of which there are `count`: its numbers, of all keys. Where there are no masks.
    #[inline(always)]
    pub fn numbers(&self, r: usize, count: usize) -> &[[[u32; GROUP]; GROUPS]] {
        &self.0.bits.as_chunks().0[r * count..][..count]
    }

    /// The bits of key `i` in its row `r` by their numbers.
    #[inline(always)]
    pub fn bits(&self, r: usize, count: usize, i: usize) -> impl Iterator<Item = u64> {
        self.numbers(r, count).iter().map(move |numbers| of_key(numbers, i).into())
    }
}

/// How keys are hashed for it.
#[derive(Clone, Debug)]
pub struct Hasher {
    hash: Hash,
    rows: Vec<Selectors>,
    /// Words of a mask.
    words: usize,
    /// Bits of rows that share a word, and lie as in memory.
    shared: Option<u32>,
}

/// By number of words that the fields of a key fill.
#[derive(Clone, Debug)]
enum Hash {
    One(Packed<1>),
    Two(Packed<2>),
    Three(Packed<3>),
    Four(Packed<4>),
    Six(Packed<6>),
    Eight(Packed<8>),
    Sixteen(Packed<16>),
}

/// Where the hash has a row of a key, and its bits in it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its number.
    pub number: Field,
    /// The first of its indices; the others follow.
    pub index: Field,
    /// How many there are.
    pub count: u32,
    /// Bits between what one index selects from, and what the next does.
    pub step: u32,
    /// What follows.
    pub coin: Option<Field>,
}

/// The same, of a packed hash.
#[derive(Clone, Debug)]
struct Selectors {
    row: Selector,
    /// What each index selects from begins at this bit of the row.
    indices: Vec<(u64, Selector)>,
    coin: Option<Selector>,
}

/// A field of the hash, in a word of the packed one.
#[derive(Clone, Copy, Debug)]
struct Selector {
    word: usize,
    at: u32,
    width: u32,
    n: u32,
}

impl Selector {
    /// Tells what hashes of some keys select.
    #[inline(always)]
    fn for_each<const KEYS: usize>(self, hashes: &[u64; KEYS], mut tell: impl FnMut(usize, u64)) {
        let field = |hash: u64| hash >> self.at & (u64::MAX >> (64 - self.width));
        // Of a power of two the product is the field as it is. To ask for it takes longer than a few products.
        if KEYS == GROUP && u64::from(self.n) == 1 << self.width {
            for (k, hash) in hashes.iter().enumerate() {
                tell(k, field(*hash));
            }
        } else {
            for (k, hash) in hashes.iter().enumerate() {
                tell(k, (u64::from(field(*hash) as u32) * u64::from(self.n)) >> self.width);
            }
        }
    }

    /// The same of all keys of a group.
    #[inline(always)]
    fn of_all<const M: usize>(self, hashes: &[[u64; GROUP]; M]) -> [u32; GROUP] {
        let mut all = [0; GROUP];
        self.for_each(&hashes[self.word % M], |k, selected| all[k] = selected as u32);
        all
    }
}

impl Hasher {
    /// For keys with such rows, and masks of so many words; if that is 0, bits by their numbers instead, as many in each
    /// row. Rows of `shared` bits lie side by side in one word. `None` where a
    /// key needs more of the hash than there is room for.
    pub fn new(h3: &H3, rows: &[Row], words: usize, shared: Option<u32>) -> Option<Self> {
        let mut moves: Vec<Moved> = Vec::new();
        // One after the other, but none in two words.
        let mut select = |field: Field| {
            let (mut word, mut at) = moves.last().map_or((0, 0), |last| (last.word, last.at + last.width));
            if at + field.width > 64 {
                (word, at) = (word + 1, 0);
            }
            moves.push(Moved { lsb: field.lsb, width: field.width, word, at });
            let n = u32::try_from(field.n).ok()?;
            (field.width <= 32).then_some(Selector { word, at, width: field.width, n })
        };
        let rows = rows.iter().map(|row| {
            let number = select(row.number)?;
            let indices = (0..row.count).map(|i| {
                let field = Field { lsb: row.index.lsb + i * row.index.width, ..row.index };
                Some((u64::from(i * row.step), select(field)?))
            });
            let indices = indices.collect::<Option<_>>()?;
            let coin = if let Some(coin) = row.coin { Some(select(coin)?) } else { None };
            Some(Selectors { row: number, indices, coin })
        });
        let rows = rows.collect::<Option<_>>()?;
        let hash = match moves.last()?.word + 1 {
            1 => Hash::One(Packed::new(h3, &moves)),
            2 => Hash::Two(Packed::new(h3, &moves)),
            3 => Hash::Three(Packed::new(h3, &moves)),
            4 => Hash::Four(Packed::new(h3, &moves)),
            5..=6 => Hash::Six(Packed::new(h3, &moves)),
            7..=8 => Hash::Eight(Packed::new(h3, &moves)),
            9..=16 => Hash::Sixteen(Packed::new(h3, &moves)),
            _ => return None,
        };
        Some(Self { hash, rows, words, shared })
    }

    /// Hashes the keys of as many groups as there are, each key at the begin of so many words.
    pub fn look_ahead<const GROUPS: usize>(
        &self,
        cpu: Cpu,
        keys: (&[u64], usize),
        Ahead(known): &mut Ahead<GROUPS>,
    ) {
        known.words = self.words;
        known.rows.resize(self.rows.len() * GROUPS, [0; GROUP]);
        known.coins.resize(self.rows.len() * GROUPS, [0; GROUP]);
        known.masks.resize(self.rows.len() * self.words * GROUPS, [0; GROUP]);
        let bits = if self.words > 0 { 0 } else { self.rows.iter().map(|row| row.indices.len()).sum() };
        known.bits.resize(bits * GROUPS, [0; GROUP]);
        match &self.hash {
            Hash::One(hash) => cpu.run(LookAhead(self, hash, keys, known, GROUPS)),
            Hash::Two(hash) => cpu.run(LookAhead(self, hash, keys, known, GROUPS)),
            Hash::Three(hash) => cpu.run(LookAhead(self, hash, keys, known, GROUPS)),
            Hash::Four(hash) => cpu.run(LookAhead(self, hash, keys, known, GROUPS)),
            Hash::Six(hash) => cpu.run(LookAhead(self, hash, keys, known, GROUPS)),
            Hash::Eight(hash) => cpu.run(LookAhead(self, hash, keys, known, GROUPS)),
            Hash::Sixteen(hash) => cpu.run(LookAhead(self, hash, keys, known, GROUPS)),
        }
    }
}

/// Of so many groups, or fewer.
struct LookAhead<'a, const M: usize>(&'a Hasher, &'a Packed<M>, (&'a [u64], usize), &'a mut Known, usize);

impl<const M: usize> Work for LookAhead<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self(hasher, hash, (keys, each), known, groups) = self;
        for (group, keys) in keys.chunks_exact(GROUP * each).take(groups).enumerate() {
            let mut hashes = [[0; GROUP]; M];
            hash.hash_group(level, keys, each, &mut hashes);
            known.tell(hasher, &hashes, (group, groups));
        }
    }
}

impl Known {
    /// What hashes say of the keys of one group among so many.
    #[inline(always)]
    fn tell<const M: usize>(
        &mut self,
        Hasher { rows, words, shared, .. }: &Hasher,
        hashes: &[[u64; GROUP]; M],
        (group, groups): (usize, usize),
    ) {
        let mut bits = self.bits.iter_mut().skip(group).step_by(groups);
        for (r, selectors) in rows.iter().enumerate() {
            let numbers = selectors.row.of_all(hashes);
            self.rows[r * groups + group] = numbers;
            if let Some(selector) = selectors.coin {
                self.coins[r * groups + group] = selector.of_all(hashes);
            }
            let masks = &mut self.masks[r * words * groups..][..words * groups];
            let masks = masks.iter_mut().skip(group).step_by(groups);
            let indices = &selectors.indices;
            match (words, shared) {
                // As many bits as indices: a mask of many words takes longer than to look at each.
                (0, _) => {
                    for ((lsb, index), bits) in indices.iter().zip(&mut bits) {
                        let mut numbers = index.of_all(hashes);
                        for number in &mut numbers {
                            *number += *lsb as u32;
                        }
                        *bits = numbers;
                    }
                }
                (1, Some(width)) => {
                    let mut words = [0; GROUP];
                    set::<1, GROUP, M>([&mut words].into_iter(), indices, hashes);
                    for (word, row) in words.iter_mut().zip(&numbers) {
                        *word <<= u64::from(*row) * u64::from(*width) % 64;
                    }
                    masks.for_each(|mask| *mask = words);
                }
                (1, None) => set::<1, GROUP, M>(masks, indices, hashes),
                (2, _) => set::<2, 8, M>(masks, indices, hashes),
                _ => set::<4, 8, M>(masks, indices, hashes),
            }
        }
    }
}

/// The bits of all keys in their rows, in `N` words of `KEYS` keys at a time, which stay in registers.
#[inline(always)]
fn set<'m, const N: usize, const KEYS: usize, const M: usize>(
    mut masks: impl Iterator<Item = &'m mut [u64; GROUP]>,
    indices: &[(u64, Selector)],
    hashes: &[[u64; GROUP]; M],
) {
    for first in (0..).step_by(64 * N) {
        let mut masks_now: [Option<_>; N] = std::array::from_fn(|_| masks.next());
        if masks_now[0].is_none() {
            return;
        }
        for from in (0..GROUP).step_by(KEYS) {
            let mut words = [[0; KEYS]; N];
            for (lsb, index) in indices {
                let hashes = hashes[index.word % M][from..].first_chunk::<KEYS>().expect("keys");
                index.for_each(hashes, |k, selected| {
                    for (n, words) in words.iter_mut().enumerate() {
                        // In all words but one the shift is too far, and nothing is set.
                        let shift = (lsb + selected).wrapping_sub(first + 64 * n as u64);
                        words[k] |= if shift < 64 { 1 << shift } else { 0 };
                    }
                });
            }
            for (mask, words) in masks_now.iter_mut().zip(words) {
                if let Some(mask) = mask {
                    mask[from..from + KEYS].copy_from_slice(&words);
                }
            }
        }
    }
}

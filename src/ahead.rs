//! The rows and masks of many keys at once, before a clocked model needs them.
//!
//! Loops here go over the keys of a group and have no branch, which is what a compiler makes vector
//! instructions of.

use crate::{
    cpu::{Cpu, GROUP, Level, Work},
    hash::{Field, H3, Moved, Packed},
};

/// What the hash says of the keys of a group. A key has one or more rows.
#[derive(Debug, Default)]
pub struct Ahead {
    /// By row of a key: its number.
    rows: Vec<[u32; GROUP]>,
    /// Words of masks: all of the first row of a key, all of its second, and so on.
    masks: Vec<[u64; GROUP]>,
    /// Words of a mask.
    words: usize,
    /// Where there are no masks: all bits of the first row of a key, all of its second, and so on.
    bits: Vec<[u32; GROUP]>,
    /// By row of a key: the field that follows its indices.
    coins: Vec<[u32; GROUP]>,
}

impl Ahead {
    /// Number of row `r` of key `i`.
    #[inline(always)]
    pub fn row(&self, r: usize, i: usize) -> usize {
        self.rows[r][i % GROUP] as usize
    }

    /// Numbers of row `r` of all keys.
    #[inline(always)]
    pub fn rows(&self, r: usize) -> &[u32; GROUP] {
        &self.rows[r]
    }

    /// The fields that follow the indices in row `r` of all keys.
    #[inline(always)]
    pub fn coins(&self, r: usize) -> &[u32; GROUP] {
        &self.coins[r]
    }

    /// The field that follows the indices in row `r` of key `i`.
    #[inline(always)]
    pub fn coin(&self, r: usize, i: usize) -> u32 {
        self.coins[r][i % GROUP]
    }

    /// The bits of key `i` in its row `r`.
    #[inline(always)]
    pub fn mask(&self, r: usize, i: usize) -> impl ExactSizeIterator<Item = u64> {
        self.masks[r * self.words..][..self.words].iter().map(move |words| words[i % GROUP])
    }

    /// Word `w` of that mask.
    #[inline(always)]
    pub fn word(&self, r: usize, w: usize, i: usize) -> u64 {
        self.masks[r * self.words + w][i % GROUP]
    }

    /// The bits of key `i` in its row `r` by their numbers, `count` of them: where there are no masks.
    #[inline(always)]
    pub fn bits(&self, r: usize, count: usize, i: usize) -> impl Iterator<Item = u64> {
        self.bits[r * count..][..count].iter().map(move |bits| bits[i % GROUP].into())
    }

    /// By word of row `r`, which is `N` words (0: any number): the bits of all keys.
    #[inline(always)]
    pub fn masks<const N: usize>(&self, r: usize) -> &[[u64; GROUP]] {
        let words = if N > 0 { N } else { self.words };
        &self.masks[r * words..][..words]
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
    #[inline(always)]
    fn of(self, hash: u64) -> u64 {
        let bits = hash >> self.at & (u64::MAX >> (64 - self.width));
        // For a power of two this is the field as it is.
        (u64::from(bits as u32) * u64::from(self.n)) >> self.width
    }

    /// The same of all keys of a group.
    #[inline(always)]
    fn of_all<const M: usize>(self, hashes: &[[u64; GROUP]; M]) -> [u32; GROUP] {
        let mut all = [0; GROUP];
        for (number, hash) in all.iter_mut().zip(&hashes[self.word % M]) {
            *number = self.of(*hash) as u32;
        }
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

    /// Hashes the keys of a group, each at the begin of so many words.
    pub fn look_ahead(&self, cpu: Cpu, keys: (&[u64], usize), ahead: &mut Ahead) {
        ahead.words = self.words;
        ahead.rows.resize(self.rows.len(), [0; GROUP]);
        ahead.coins.resize(self.rows.len(), [0; GROUP]);
        ahead.masks.resize(self.rows.len() * self.words, [0; GROUP]);
        let bits = if self.words > 0 { 0 } else { self.rows.iter().map(|row| row.indices.len()).sum() };
        ahead.bits.resize(bits, [0; GROUP]);
        match &self.hash {
            Hash::One(hash) => cpu.run(LookAhead(self, hash, keys, ahead)),
            Hash::Two(hash) => cpu.run(LookAhead(self, hash, keys, ahead)),
            Hash::Three(hash) => cpu.run(LookAhead(self, hash, keys, ahead)),
            Hash::Four(hash) => cpu.run(LookAhead(self, hash, keys, ahead)),
            Hash::Six(hash) => cpu.run(LookAhead(self, hash, keys, ahead)),
            Hash::Eight(hash) => cpu.run(LookAhead(self, hash, keys, ahead)),
            Hash::Sixteen(hash) => cpu.run(LookAhead(self, hash, keys, ahead)),
        }
    }
}

struct LookAhead<'a, const M: usize>(&'a Hasher, &'a Packed<M>, (&'a [u64], usize), &'a mut Ahead);

impl<const M: usize> Work for LookAhead<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self(Hasher { rows, words, shared, .. }, hash, (keys, each), ahead) = self;
        let mut hashes = [[0; GROUP]; M];
        hash.hash_group(level, keys, each, &mut hashes);
        let Ahead { rows: numbers, masks, bits, coins, .. } = ahead;
        let mut bits = bits.iter_mut();
        for (r, selectors) in rows.iter().enumerate() {
            let numbers = &mut numbers[r];
            *numbers = selectors.row.of_all(&hashes);
            if let Some(selector) = selectors.coin {
                coins[r] = selector.of_all(&hashes);
            }
            let masks = &mut masks[r * words..][..*words];
            match &mut *masks {
                // As many bits as indices: a mask of many words takes longer than to look at each.
                [] => {
                    for ((lsb, index), bits) in selectors.indices.iter().zip(&mut bits) {
                        for (bit, hash) in bits.iter_mut().zip(&hashes[index.word % M]) {
                            *bit = (lsb + index.of(*hash)) as u32;
                        }
                    }
                }
                [a] => set([a], &selectors.indices, &hashes),
                [a, b] => set([a, b], &selectors.indices, &hashes),
                masks => {
                    for (four, first) in masks.chunks_mut(4).zip((0..).step_by(256)) {
                        if let [a, b, c, d] = four {
                            set_from(first, [a, b, c, d], &selectors.indices, &hashes);
                        } else {
                            for (mask, lsb) in four.iter_mut().zip((first..).step_by(64)) {
                                set_from(lsb, [mask], &selectors.indices, &hashes);
                            }
                        }
                    }
                }
            }
            if let Some(width) = *shared {
                // In a copy, which is known to lie apart: else words are moved one by one.
                let mut words = masks[0];
                for (word, row) in words.iter_mut().zip(*numbers) {
                    *word <<= u64::from(row) * u64::from(width) % 64;
                }
                masks[0] = words;
            }
        }
    }
}

/// The bits of all keys in the first words of their rows.
#[inline(always)]
fn set<const N: usize, const M: usize>(
    masks: [&mut [u64; GROUP]; N],
    indices: &[(u64, Selector)],
    hashes: &[[u64; GROUP]; M],
) {
    set_from(0, masks, indices, hashes);
}

/// The bits of all keys in words of their rows from this bit on.
#[inline(always)]
fn set_from<const N: usize, const M: usize>(
    first: u64,
    mut masks: [&mut [u64; GROUP]; N],
    indices: &[(u64, Selector)],
    hashes: &[[u64; GROUP]; M],
) {
    // A few keys at a time, whose masks stay in registers.
    const KEYS: usize = 8;
    for from in (0..GROUP).step_by(KEYS) {
        let mut words = [[0; KEYS]; N];
        for (lsb, index) in indices {
            let hashes = &hashes[index.word % M];
            for k in 0..KEYS {
                let bit = (lsb + index.of(hashes[from + k])).wrapping_sub(first);
                for (n, words) in words.iter_mut().enumerate() {
                    // In all words but one the shift is too far, and nothing is set.
                    let shift = bit.wrapping_sub(64 * n as u64);
                    words[k] |= if shift < 64 { 1 << shift } else { 0 };
                }
            }
        }
        for (mask, words) in masks.iter_mut().zip(words) {
            mask[from..from + KEYS].copy_from_slice(&words);
        }
    }
}

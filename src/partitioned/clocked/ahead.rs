//! The indices of the keys of coming cycles: hashed together.

use crate::{
    cpu::{Below, GROUP, Level, Work, read_alone},
    hash::{Field, Mix, Moved, Packed},
};

use super::super::{Config, Indexing, Partitioned};

/// How the keys of a group become indices.
#[derive(Clone, Debug)]
pub struct LookAhead {
    mix: Mix,
    key_words: usize,
    /// Hash words that hold the fields side by side.
    words: Vec<Packed<1>>,
    /// From one field to the next in a word: a power of two that is at least their width.
    pitch: u32,
    /// Fields that a word has.
    in_a_word: usize,
    /// One of the fields: all are of one width.
    field: Field,
    fields: usize,
    /// With double hashing: how many indices two fields make.
    doubled: Option<usize>,
}

/// Where the keys of so many cycles belong: the first index of each, then the second of each, and so on.
#[derive(Clone, Debug, Default)]
pub struct Group(Vec<[u32; GROUP]>);

impl Group {
    /// Index by index, those of all cycles, which are below `bits`.
    #[inline(always)]
    pub fn below(&self, bits: usize) -> impl Iterator<Item = Below<'_>> {
        Below::all(&self.0, bits)
    }

    /// From that one on index by index, each of all cycles.
    #[inline(always)]
    pub fn from(&self, index: usize) -> &[u32] {
        self.0[index..].as_flattened()
    }

    /// Makes room for so many indices of each cycle.
    #[inline(always)]
    pub fn resize(&mut self, count: usize) {
        self.0.resize(count, [0; GROUP]);
    }

    /// Tells those of one cycle.
    #[inline(always)]
    pub fn set(&mut self, cycle: usize, indices: &[u32]) {
        for (index, cycles) in indices.iter().zip(&mut self.0) {
            cycles[cycle] = *index;
        }
    }

    /// The indices of one cycle.
    #[inline(always)]
    pub fn get(&self, cycle: usize, indices: &mut [u32]) {
        for (index, cycles) in indices.iter_mut().zip(&self.0) {
            *index = read_alone(&cycles[cycle]);
        }
    }
}

/// With more accesses to a request, few of the keys that are offered are taken: one by one they cost less.
const MOST_HASHES: u32 = 8;

impl LookAhead {
    /// `None` where it would not pay, or fields are too wide.
    pub fn new(filter: &Partitioned) -> Option<Self> {
        let (config, fields): (&Config, _) = (filter.config(), filter.fields());
        let field = *fields.first().filter(|field| field.width <= 32)?;
        if config.hashes > MOST_HASHES {
            return None;
        }
        let pitch = field.width.next_power_of_two();
        // The mix comes first, for all of them together.
        let h3 = filter.hash().clone().mixed(0);
        let packed = |fields: &[Field]| {
            let moved =
                |(at, field): (u32, &Field)| Moved { lsb: field.lsb, width: field.width, word: 0, at };
            Packed::new(&h3, &(0..).step_by(pitch as usize).zip(fields).map(moved).collect::<Vec<_>>())
        };
        Some(Self {
            mix: filter.hash().mix(),
            key_words: h3.key_words() as usize,
            words: fields.chunks(64 / pitch as usize).map(packed).collect(),
            pitch,
            in_a_word: 64 / pitch as usize,
            field,
            fields: fields.len(),
            doubled: (config.indexing == Indexing::Double).then_some(config.k() as usize),
        })
    }

    /// All fields of all keys, each key at the begin of `each` words.
    #[inline(always)]
    fn select<L: Level>(&self, level: L, keys: &[u64], each: usize, selected: &mut [[u32; GROUP]]) {
        if self.key_words == 1 {
            let Aligned(words) = &mut Aligned([0; GROUP]);
            match (each, keys.as_chunks()) {
                // The most frequent case as vectors want it.
                (2, (keys, [])) => words.iter_mut().zip(keys).for_each(|(word, [key, _])| *word = *key),
                _ => words.iter_mut().zip(keys.chunks_exact(each)).for_each(|(word, key)| *word = key[0]),
            }
            self.mix.apply_to_words(words);
            self.select_mixed(level, words, 1, selected);
        } else if self.mix.rounds() == 0 {
            self.select_mixed(level, keys, each, selected);
        } else {
            let words = self.key_words;
            let mut mixed = [0; GROUP * MIXED_WORDS];
            for (mixed, key) in mixed.chunks_exact_mut(words).zip(keys.chunks_exact(each)) {
                mixed.copy_from_slice(&key[..words]);
                self.mix.apply(mixed);
            }
            self.select_mixed(level, &mixed, words, selected);
        }
    }

    /// The same of keys that are mixed already.
    #[inline(always)]
    fn select_mixed<L: Level>(&self, level: L, keys: &[u64], each: usize, selected: &mut [[u32; GROUP]]) {
        let Field { n, width, .. } = self.field;
        let mask = u64::from(u32::MAX.unbounded_shr(32 - width));
        let mut rest = selected;
        for packed in &self.words {
            let (selected, later) = rest.split_at_mut(self.in_a_word.min(rest.len()));
            rest = later;
            let Aligned(hashes) = &mut Aligned([[0; GROUP]]);
            packed.hash_group(level, keys, each, hashes);
            for (lsb, selected) in (0..).step_by(self.pitch as usize).zip(selected) {
                let bits = hashes[0].map(|hash: u64| hash >> lsb & mask);
                *selected = if n.is_power_of_two() {
                    bits.map(|bits| bits as u32)
                } else {
                    // Both are halves of words, so that vectors can multiply them.
                    bits.map(|bits| ((u64::from(bits as u32) * u64::from(n as u32)) >> width) as u32)
                };
            }
        }
    }
}

/// Things that begin with a cache line: vectors of 64 bytes then lie in one, and are quickly read back.
#[repr(align(64))]
struct Aligned<T>(T);

/// Words of the widest key that can be mixed.
const MIXED_WORDS: usize = 16;

/// Fills in a group.
pub struct Hash<'a>(pub &'a LookAhead, pub (&'a [u64], usize), pub &'a mut Group);

impl Work for Hash<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self(ahead, (keys, each), Group(indices)) = self;
        indices.resize(ahead.doubled.unwrap_or(ahead.fields), [0; GROUP]);
        let Some(_) = ahead.doubled else { return ahead.select(level, keys, each, indices) };
        let mut selected = [[0; GROUP]; 2];
        ahead.select(level, keys, each, &mut selected);
        let (n, [mut g, steps]) = (ahead.field.n as u32, selected);
        for indices in indices {
            *indices = g;
            for (g, step) in g.iter_mut().zip(steps) {
                // Minus n if that is not below zero.
                let next = *g + step;
                *g = next.min(next.wrapping_sub(n));
            }
        }
    }
}

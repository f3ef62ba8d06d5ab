use std::marker::PhantomData;

use crate::{
    batch,
    cpu::{Asked, Changes, Cpu, Level, Question, Reads},
    filter::{Answer, Filter, Status},
    hash::{Field, H3},
    parallel,
    params::ConfigError,
    sram::Memory,
};

use super::{
    Config,
    alone::Alone,
    rows::{Keys, Rows, Visit},
    view::View,
};

/// The functional model.
///
/// ```
/// use membrane::{Filter, blocked::{Blocked, Config}};
///
/// let config = Config { block_w: 512, rows: 1 << 16, hashes: 8, key_w: 64, ..Config::default() };
/// let mut filter = Blocked::new(&config)?;
/// assert!(!filter.insert(&[0xfeed]).hit); // it was not there before
/// assert!(filter.contains(&[0xfeed]));
/// # Ok::<(), membrane::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocked {
    config: Config,
    hash: H3,
    words: Vec<Word>,
    shape: Shape,
    /// Whole rows at once, where their shape allows it.
    rows: Option<Rows>,
    cpu: Cpu,
    one: One,
    /// How one key is inserted, where that need not be settled again for each.
    insert_one: Option<Asked<Changes<Blocked, Answer>>>,
    memory: Memory,
}

/// How to ask for one key.
#[derive(Clone, Debug)]
enum One {
    /// As part of the code that asks: a call takes as long as the test.
    Inlined(Alone),
    /// By a call.
    Called(Asked<Reads<Blocked>>),
    /// As if there were more.
    Any,
}

/// Where the hash has the row and the indices of one word of a key.
#[derive(Clone, Copy, Debug)]
struct Word {
    row: Field,
    /// The first index; the others follow.
    index: Field,
}

/// How the indices of a word become bits of the memory.
#[derive(Clone, Copy, Debug)]
struct Shape {
    block_w: u32,
    bits_per_row: u32,
    /// Bits between what one index selects from, and what the next does.
    part_step: u32,
}

impl Shape {
    /// The bits of one word of a key with this hash.
    #[inline]
    fn bits(self, Word { row, index }: Word, h: &[u64]) -> impl Iterator<Item = u64> {
        let row = row.of(h) * u64::from(self.block_w);
        let selected = index.row_of(self.bits_per_row, h).zip(0..);
        selected.map(move |(selected, i)| row + u64::from(i * self.part_step) + selected)
    }
}

/// Of k: the rules allow no more.
pub(super) const MAX_K: usize = 64;
/// 64 words of a row field of at most 26 + 8 bits, and 64 indices of at most 9 + 8.
const MAX_HASH_WORDS: usize = 34 + 17;
/// Words of the hash of most filters.
const USUAL_HASH_WORDS: usize = 4;

impl Blocked {
    /// An empty filter.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let mut lsb = 0;
        let mut field = |n: u64| {
            let field = Field::selecting(n, lsb);
            lsb = field.end();
            field
        };
        let words = (0..config.group)
            .map(|_| {
                let row = field(config.rows);
                let indices: Vec<_> =
                    (0..config.bits_per_row()).map(|_| field(config.part_w().into())).collect();
                Word { row, index: indices[0] }
            })
            .collect();
        let hash = H3::new(config.key_w, lsb, config.seed).mixed(config.mix);
        let cpu = Cpu::detect();
        let rows = Rows::new(config, &hash, cpu);
        let mut filter = Self {
            one: One::Any,
            insert_one: None,
            rows,
            cpu,
            hash,
            words,
            shape: Shape {
                block_w: config.block_w,
                bits_per_row: config.bits_per_row(),
                part_step: config.part_lsb(1),
            },
            memory: Memory::new("port.memory.mem", config.rows as usize, config.block_w),
            config: config.clone(),
        };
        filter.settle();
        Ok(filter)
    }

    /// Settles how one key at a time is asked for and inserted.
    fn settle(&mut self) {
        let asked = self.rows.as_ref().and_then(|rows| rows.visit(Settle(self.cpu)));
        self.one = match (self.alone(), asked) {
            (Some(alone), _) => One::Inlined(alone),
            (None, Some((contains, _))) => One::Called(contains),
            (None, None) => One::Any,
        };
        self.insert_one = asked.map(|(_, insert)| insert);
    }

    /// How a test of one key is part of the code that asks, where it can be.
    fn alone(&self) -> Option<Alone> {
        let Word { row, index } = self.words[0];
        let test = self.rows.as_ref()?.test()?;
        Alone::new(self.cpu, test, &self.hash, row, index, self.shape.bits_per_row)
    }

    /// Its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its hash.
    pub fn hash(&self) -> &H3 {
        &self.hash
    }

    /// The hash field that selects the row of word `w` of a key.
    pub fn row_field(&self, w: usize) -> Field {
        self.words[w].row
    }

    /// The hash field of the first index in the row of word `w` of a key; the others follow.
    pub(super) fn index_field(&self, w: usize) -> Field {
        self.words[w].index
    }

    /// The memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Whole rows at once, where their shape allows it, and the processor that does it.
    #[inline]
    pub(super) fn rows(&self) -> Option<&Rows> {
        self.rows.as_ref()
    }

    #[inline]
    pub(super) fn cpu(&self) -> Cpu {
        self.cpu
    }

    /// The bits of a key, numbered over the whole memory: bit b of row r is
    /// `r * BLOCK_W + b`. The bits of word 0 come first.
    #[inline]
    pub fn bits(&self, key: &[u64], bits: &mut [u64]) {
        if self.hash.words() <= USUAL_HASH_WORDS {
            self.bits_by::<USUAL_HASH_WORDS>(key, bits);
        } else {
            self.bits_by::<MAX_HASH_WORDS>(key, bits);
        }
    }

    /// The same, with a hash of at most `N` words.
    #[inline]
    fn bits_by<const N: usize>(&self, key: &[u64], bits: &mut [u64]) {
        let mut h = [0; N];
        self.hash.hash_into(key, &mut h);
        let per_row = self.shape.bits_per_row as usize;
        for (word, bits) in self.words.iter().zip(bits.chunks_exact_mut(per_row)) {
            for (bit, index) in bits.iter_mut().zip(self.shape.bits(*word, &h)) {
                *bit = index;
            }
        }
    }
}

/// How one key that is plain is asked for and inserted by calls.
struct Settle(Cpu);

impl Visit for Settle {
    type Output = Option<(Asked<Reads<Blocked>>, Asked<Changes<Blocked, Answer>>)>;

    fn with<K: Keys<N, M>, const N: usize, const M: usize>(self, _: &Rows, keys: &K) -> Self::Output {
        let Self(cpu) = self;
        keys.hash().is_plain().then(|| (cpu.asks::<_, Plain<K, N, M>>(), cpu.asks::<_, Plain<K, N, M>>()))
    }
}

/// One key of one word, on a whole row.
struct Plain<K, const N: usize, const M: usize>(PhantomData<K>);

impl<K: Keys<N, M>, const N: usize, const M: usize> Question<Reads<Blocked>> for Plain<K, N, M> {
    #[inline(always)]
    fn ask<L: Level>(level: L, filter: &Blocked, key: u64) -> bool {
        let Some((rows, keys)) = filter.rows.as_ref().and_then(|rows| Some((rows, K::of(rows)?))) else {
            return filter.contains_any(&[key]);
        };
        is_in(level, &filter.memory, (rows, keys), key)
    }
}

impl<K: Keys<N, M>, const N: usize, const M: usize> Question<Changes<Blocked, Answer>> for Plain<K, N, M> {
    #[inline(always)]
    fn ask<L: Level>(level: L, filter: &mut Blocked, key: u64) -> Answer {
        let Blocked { rows, memory, .. } = filter;
        let Some((rows, keys)) = rows.as_ref().and_then(|rows| Some((rows, K::of(rows)?))) else {
            return filter.insert_any(&[key]);
        };
        let (field, indices) = K::split(keys.hash().hash_plain(key));
        let row = &mut memory.words_mut().as_chunks_mut().0[rows.row(field) as usize];
        let set = keys.put(level, indices, row);
        Answer { hit: set & !rows.masked(), status: Status::Ok }
    }
}

/// Whether a key that is plain may be present.
#[inline(always)]
fn is_in<L: Level, K: Keys<N, M>, const N: usize, const M: usize>(
    level: L,
    memory: &Memory,
    (rows, keys): (&Rows, &K),
    key: u64,
) -> bool {
    let (field, indices) = K::split(keys.hash().hash_plain(key));
    let row = rows.row(field);
    keys.are_in(level, indices, &memory.words().as_chunks().0[row as usize])
}

/// Queries on whole rows.
struct Query<'a, 'b>(&'a Blocked, &'a [u64], &'b mut [bool]);

impl Visit for Query<'_, '_> {
    type Output = ();

    #[inline]
    fn with<K: Keys<N, M>, const N: usize, const M: usize>(self, rows: &Rows, keys: &K) {
        let Self(Blocked { memory, cpu, .. }, words, hits) = self;
        let view = View { rows, words: memory.words().as_chunks().0, keys };
        match hits {
            [hit] => *hit = batch::contains(&view, *cpu, words),
            hits => batch::contains_all(&view, *cpu, words, hits),
        }
    }
}

/// Inserts into whole rows, in so many threads.
struct Insert<'a, 'b>(&'a mut Memory, (Cpu, usize), &'a [u64], &'b mut [Answer]);

impl Visit for Insert<'_, '_> {
    type Output = ();

    #[inline]
    fn with<K: Keys<N, M>, const N: usize, const M: usize>(self, rows: &Rows, keys: &K) {
        let Self(memory, (cpu, threads), words, answers) = self;
        let mut view = View { rows, words: memory.words_mut().as_chunks_mut().0, keys };
        if threads == 1 {
            return batch::insert_all(&mut view, cpu, words, answers);
        }
        let hasher = View { rows, words: [[0; N]; 0], keys };
        parallel::insert_all(&hasher, view, (cpu, threads), words, answers);
    }
}

/// An insert of one key. Its answer is not left in memory: to read what was just written piece by piece took longer than
/// the insert.
struct InsertOne<'a>(&'a mut Memory, Cpu, &'a [u64]);

impl Visit for InsertOne<'_> {
    type Output = Answer;

    #[inline]
    fn with<K: Keys<N, M>, const N: usize, const M: usize>(self, rows: &Rows, keys: &K) -> Answer {
        let Self(memory, cpu, key) = self;
        batch::insert(&mut View { rows, words: memory.words_mut().as_chunks_mut().0, keys }, cpu, key)
    }
}

impl Blocked {
    /// Bit by bit, whatever the shape.
    fn insert_bits(&mut self, key: &[u64]) -> Answer {
        let mut bits = [0; MAX_K];
        let bits = &mut bits[..self.config.hashes as usize];
        self.bits(key, bits);
        let mut set = !self.config.masked;
        for bit in bits {
            set &= self.memory.read_or_set_bit(*bit, true);
        }
        Answer { hit: set, status: Status::Ok }
    }

    /// Any key, whatever the shape. Not part of its callers: those that seldom call it should not make room for it.
    #[inline(never)]
    fn insert_any(&mut self, key: &[u64]) -> Answer {
        match &self.rows {
            Some(rows) => rows.visit(InsertOne(&mut self.memory, self.cpu, key)),
            None => self.insert_bits(key),
        }
    }

    /// As above.
    #[inline(never)]
    fn contains_any(&self, key: &[u64]) -> bool {
        let mut hit = [false];
        self.contains_all(key, &mut hit);
        hit[0]
    }

    fn contains_bits(&self, key: &[u64]) -> bool {
        let mut bits = [0; MAX_K];
        let bits = &mut bits[..self.config.hashes as usize];
        self.bits(key, bits);
        bits.iter().all(|bit| self.memory.bit(*bit))
    }
}

impl Filter for Blocked {
    /// Answers with `hit` as a query just before would have, but for masked
    /// memories, where an insert does not read.
    #[inline]
    fn insert(&mut self, key: &[u64]) -> Answer {
        match self.insert_one {
            Some(insert) => insert.ask(self, key[0]),
            None => self.insert_any(key),
        }
    }

    #[inline(always)]
    fn contains(&self, key: &[u64]) -> bool {
        match &self.one {
            One::Inlined(alone) => alone.contains(&self.memory, key[0]),
            One::Called(asked) => asked.ask(self, key[0]),
            One::Any => self.contains_any(key),
        }
    }

    fn insert_all(&mut self, keys: &[u64], answers: &mut [Answer]) {
        self.insert_all_in(1, keys, answers);
    }

    fn insert_all_in(&mut self, threads: usize, keys: &[u64], answers: &mut [Answer]) {
        if let Some(rows) = &self.rows {
            let threads = parallel::threads_for(answers.len(), threads);
            return rows.visit(Insert(&mut self.memory, (self.cpu, threads), keys, answers));
        }
        for (key, answer) in batch::split(keys, answers.len()).zip(answers) {
            *answer = self.insert_bits(key);
        }
    }

    fn contains_all(&self, keys: &[u64], hits: &mut [bool]) {
        if let Some(rows) = &self.rows {
            return rows.visit(Query(self, keys, hits));
        }
        for (key, hit) in batch::split(keys, hits.len()).zip(hits) {
            *hit = self.contains_bits(key);
        }
    }

    fn clear(&mut self) {
        self.memory.clear();
    }

    fn memories(&self) -> Vec<&Memory> {
        vec![&self.memory]
    }

    fn memories_mut(&mut self) -> Vec<&mut Memory> {
        vec![&mut self.memory]
    }

    fn run_on(&mut self, cpu: Cpu) {
        self.cpu = cpu;
        self.rows = Rows::new(&self.config, &self.hash, cpu);
        self.settle();
    }
}

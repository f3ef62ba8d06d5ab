use crate::{
    batch,
    cpu::Cpu,
    filter::{Answer, Filter},
    hash::{Field, H3, Lanes},
    parallel,
    params::ConfigError,
    sram::Memory,
};

use super::{
    Config, Indexing,
    alone::Alone,
    banks::{Contains, Hashes, Indices, Insert},
};

/// The functional model.
#[derive(Clone, Debug)]
pub struct Partitioned {
    config: Config,
    hash: H3,
    fields: Vec<Field>,
    /// Not a power of two: what a field holds is not yet what it selects.
    reduces: bool,
    /// The same fields cut out of the hash in advance, unless they are too wide.
    lanes: Option<Lanes>,
    /// The same for many keys at once, where each index has a memory of its own.
    groups: Option<Indices>,
    /// The same for one key, where that need not be asked again for each.
    alone: Option<Alone>,
    cpu: Cpu,
    banks: Vec<Memory>,
}

impl Partitioned {
    /// An empty filter.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let count = match config.indexing {
            Indexing::Independent => config.k(),
            Indexing::Double => 2,
        };
        let mut fields = Vec::new();
        let mut lsb = 0;
        for _ in 0..count {
            let field = Field::selecting(config.bank_bits(), lsb);
            lsb = field.end();
            fields.push(field);
        }
        let bank = |b| Memory::new(format!("g_bank[{b}].bank.mem"), config.rows as usize, config.width);
        let hash = H3::new(config.key_w, lsb, config.seed).mixed(config.mix);
        let own_banks = config.hashes == 1 && config.indexing == Indexing::Independent;
        let mut filter = Self {
            groups: if own_banks { Indices::new(&hash, &fields) } else { None },
            alone: None,
            cpu: Cpu::detect(),
            reduces: !config.bank_bits().is_power_of_two(),
            lanes: Lanes::new(&hash, &fields),
            hash,
            fields,
            banks: (0..config.banks).map(bank).collect(),
            config: config.clone(),
        };
        filter.run_on(filter.cpu);
        Ok(filter)
    }

    /// Its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its hash.
    pub fn hash(&self) -> &H3 {
        &self.hash
    }

    /// The hash fields that select bits: one per index, or `h1` and `h2`.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The memories.
    pub fn banks(&self) -> &[Memory] {
        &self.banks
    }

    pub(super) fn banks_mut(&mut self) -> &mut [Memory] {
        &mut self.banks
    }

    /// Groups of keys that are worked on together, and those that are not.
    fn groups_of<'a>(&self, keys: &'a [u64], each: usize) -> (&'a [u64], &'a [u64]) {
        let group = batch::GROUP * each;
        keys.split_at(if self.groups.is_some() { keys.len() / group * group } else { 0 })
    }

    pub(super) fn cpu(&self) -> Cpu {
        self.cpu
    }

    #[inline(always)]
    pub(super) fn alone(&self) -> Option<&Alone> {
        self.alone.as_ref()
    }

    /// Any key, whatever the shape. Not part of its callers: those that seldom call it should not make room for it.
    #[inline(never)]
    pub(super) fn insert_any(&mut self, key: &[u64]) {
        let mut indices = [0; MAX_K];
        self.all_indices(key, &mut indices);
        let hashes = self.config.hashes as usize;
        for (bank, indices) in self.banks.iter_mut().zip(indices.chunks_exact(hashes)) {
            for index in indices {
                bank.set_bit(u64::from(*index));
            }
        }
    }

    /// As above.
    #[inline(never)]
    pub(super) fn contains_any(&self, key: &[u64]) -> bool {
        let mut indices = [0; MAX_K];
        self.all_indices(key, &mut indices);
        let hashes = self.config.hashes as usize;
        let mut banks = self.banks.iter().zip(indices.chunks_exact(hashes));
        banks.all(|(bank, indices)| indices.iter().all(|index| bank.bit(u64::from(*index))))
    }

    /// The bit that each of the k hash functions selects in its bank, bank 0 first.
    pub fn indices(&self, key: &[u64], indices: &mut [u32]) {
        let mut all = [0; MAX_K];
        self.all_indices(key, &mut all);
        indices.copy_from_slice(&all[..self.config.k() as usize]);
    }

    /// The same; entries after the k-th mean nothing.
    #[inline]
    pub(super) fn all_indices(&self, key: &[u64], indices: &mut [u32; MAX_K]) {
        match self.config.indexing {
            Indexing::Independent => self.selections(key, indices),
            Indexing::Double => {
                let mut h = [0; 4];
                self.selections(key, &mut h);
                let [mut g, step, ..] = h;
                let n = self.config.bank_bits() as u32;
                for index in &mut indices[..self.config.k() as usize] {
                    *index = g;
                    // Minus n if that is not below zero.
                    g += step;
                    g = g.min(g.wrapping_sub(n));
                }
            }
        }
    }

    /// What each field selects.
    // The call would cost a third of the hash
    #[inline(always)]
    fn selections(&self, key: &[u64], selections: &mut [u32]) {
        let Some(lanes) = &self.lanes else { return self.wide_selections(key, selections) };
        lanes.hash_into(key, selections);
        if self.reduces {
            let Field { n, width, .. } = self.fields[0];
            for bits in &mut selections[..self.fields.len()] {
                *bits = ((u64::from(*bits) * n) >> width) as u32;
            }
        }
    }

    #[cold]
    fn wide_selections(&self, key: &[u64], selections: &mut [u32]) {
        let mut h = [0; MAX_HASH_WORDS];
        self.hash.hash_into(key, &mut h);
        for (selection, field) in selections.iter_mut().zip(&self.fields) {
            *selection = field.of(&h) as u32;
        }
    }
}

/// Of k: the rules allow no more.
pub(super) const MAX_K: usize = 64;
/// 64 fields of at most 30 + 8 bits.
const MAX_HASH_WORDS: usize = 64 * 38 / 64 + 1;

impl Filter for Partitioned {
    /// Answers with `hit` low: what was there before is not read.
    #[inline]
    fn insert(&mut self, key: &[u64]) -> Answer {
        match self.alone.as_ref().map(Alone::inserts) {
            Some(inserts) => inserts.ask(self, key[0]),
            None => self.insert_any(key),
        }
        Answer::default()
    }

    #[inline]
    fn contains(&self, key: &[u64]) -> bool {
        match &self.alone {
            Some(alone) => alone.contains(self, key[0]),
            None => self.contains_any(key),
        }
    }

    fn insert_all(&mut self, keys: &[u64], answers: &mut [Answer]) {
        self.insert_all_in(1, keys, answers);
    }

    /// Every thread has memories of its own.
    fn insert_all_in(&mut self, threads: usize, keys: &[u64], answers: &mut [Answer]) {
        let (threads, cpu) = (parallel::threads_for(answers.len(), threads), self.cpu);
        let each = batch::words_each(keys, answers.len());
        let (keys, rest) = self.groups_of(keys, each);
        if let Some(indices) = &self.groups {
            let hashes = Hashes { indices, lanes: self.lanes.as_ref() };
            let share = self.banks.len().div_ceil(threads);
            let inserts = (0..).step_by(share).zip(self.banks.chunks_mut(share));
            let inserts = inserts.map(|(first, banks)| Insert { hashes, first, banks, keys, each });
            if threads == 1 {
                inserts.for_each(|insert| cpu.run(insert));
            } else {
                std::thread::scope(|scope| {
                    for insert in inserts {
                        scope.spawn(move || cpu.run(insert));
                    }
                });
            }
        }
        for key in rest.chunks_exact(each) {
            self.insert(key);
        }
        answers.fill(Answer::default());
    }

    fn contains_all(&self, keys: &[u64], hits: &mut [bool]) {
        let each = batch::words_each(keys, hits.len());
        let (keys, rest) = self.groups_of(keys, each);
        let (hits, rest_hits) = hits.split_at_mut(keys.len() / each);
        if let Some(indices) = &self.groups {
            let hashes = Hashes { indices, lanes: self.lanes.as_ref() };
            self.cpu.run(Contains { hashes, banks: &self.banks, keys, each, hits });
        }
        for (key, hit) in rest.chunks_exact(each).zip(rest_hits) {
            *hit = self.contains(key);
        }
    }

    fn clear(&mut self) {
        self.banks.iter_mut().for_each(Memory::clear);
    }

    fn memories(&self) -> Vec<&Memory> {
        self.banks.iter().collect()
    }

    fn memories_mut(&mut self) -> Vec<&mut Memory> {
        self.banks.iter_mut().collect()
    }

    fn run_on(&mut self, cpu: Cpu) {
        self.cpu = cpu;
        self.alone = self.groups.as_ref().and_then(|_| Alone::new(cpu, &self.hash, &self.fields));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix64;

    /// Lanes or not, reduced or not: the indices are what the fields of the hash say.
    #[test]
    fn indices_follow_the_fields() {
        let mut rng = SplitMix64::new(7);
        for (rows, indexing) in [
            (4096, Indexing::Independent),
            (3000, Indexing::Independent),
            ((1 << 24) + 1, Indexing::Independent),
            (1021, Indexing::Double),
            ((1 << 24) + 1, Indexing::Double),
        ] {
            let config = Config { banks: 5, hashes: 2, rows, key_w: 70, indexing, ..Config::default() };
            let filter = Partitioned::new(&config).unwrap();
            assert_eq!(filter.lanes.is_none(), rows > 1 << 24);
            for _ in 0..100 {
                let key = [rng.next_u64(), rng.next_u64()];
                let selected = filter.fields.iter().map(|field| field.of(&filter.hash.by_definition(&key)));
                let selected: Vec<_> = selected.collect();
                let expected: Vec<_> = match indexing {
                    Indexing::Independent => selected,
                    Indexing::Double => (0..10).map(|i| (selected[0] + i * selected[1]) % rows).collect(),
                };
                let mut indices = [0; 10];
                filter.indices(&key, &mut indices);
                assert_eq!(indices.map(u64::from).to_vec(), expected, "ROWS {rows}, {indexing:?}");
            }
        }
    }

    /// Far memories and near ones, keys of one word and of more, mixed or not: of each batch some keys are left in the end,
    /// and the last batch is short.
    #[test]
    fn a_batch_answers_as_its_keys_do() {
        let mut rng = SplitMix64::new(8);
        for (rows, key_w, mix) in [(1 << 22, 64, 0), (3000, 104, 3), (1 << 22, 70, 2), (3001, 64, 5)] {
            let config = Config { banks: 5, rows, key_w, mix, ..Config::default() };
            let each = key_w.div_ceil(64) as usize;
            let keys: Vec<u64> = (0..each * 2117).map(|_| rng.next_u64()).collect();
            let third: Vec<u64> = keys.chunks_exact(each).step_by(3).flatten().copied().collect();
            let (mut batched, mut single) =
                (Partitioned::new(&config).unwrap(), Partitioned::new(&config).unwrap());
            for key in third.chunks_exact(each) {
                single.insert(key);
            }
            let expected: Vec<_> = keys.chunks_exact(each).map(|key| single.contains(key)).collect();
            assert!((600..900).contains(&expected.iter().filter(|hit| **hit).count()));
            for cpu in Cpu::levels() {
                batched.run_on(cpu);
                batched.clear();
                batched.insert_all(&third, &mut vec![Answer::default(); third.len() / each]);
                assert!(batched.memories() == single.memories(), "{config:?}, {cpu:?}");
                let mut hits = vec![false; expected.len()];
                batched.contains_all(&keys, &mut hits);
                assert_eq!(hits, expected, "{config:?}, {cpu:?}");
            }
        }
    }
}

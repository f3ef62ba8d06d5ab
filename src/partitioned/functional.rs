use crate::{
    filter::{Answer, Filter},
    hash::{Field, H3},
    params::ConfigError,
    sram::Memory,
};

use super::{Config, Indexing};

/// The functional model.
#[derive(Clone, Debug)]
pub struct Partitioned {
    config: Config,
    hash: H3,
    fields: Vec<Field>,
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
        Ok(Self {
            hash: H3::new(config.key_w, lsb, config.seed),
            fields,
            banks: (0..config.banks).map(bank).collect(),
            config: config.clone(),
        })
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

    /// The bit that each of the k hash functions selects in its bank, bank 0 first.
    #[inline]
    pub fn indices(&self, key: &[u64], indices: &mut [u32]) {
        // Most filters need few words, and zeroing many costs more than hashing.
        if self.hash.words() <= 2 {
            let mut h = [0; 2];
            self.hash.hash_into(key, &mut h);
            self.select(&h, indices);
        } else {
            let mut h = [0; MAX_HASH_WORDS];
            self.hash.hash_into(key, &mut h);
            self.select(&h, indices);
        }
    }

    #[inline]
    fn select(&self, h: &[u64], indices: &mut [u32]) {
        match self.config.indexing {
            Indexing::Independent => Field::all_of(self.fields[0], h, indices),
            Indexing::Double => {
                let n = self.config.bank_bits();
                let step = self.fields[1].of(h);
                let mut g = self.fields[0].of(h);
                for index in indices {
                    *index = g as u32;
                    g += step;
                    if g >= n {
                        g -= n;
                    }
                }
            }
        }
    }
}

/// Of k: the rules allow no more.
pub(super) const MAX_K: usize = 64;
/// 64 fields of at most 30 + 8 bits.
const MAX_HASH_WORDS: usize = 64 * 38 / 64 + 1;

impl Filter for Partitioned {
    /// Answers with `hit` low: what was there before is not read.
    fn insert(&mut self, key: &[u64]) -> Answer {
        let mut indices = [0; MAX_K];
        let indices = &mut indices[..self.config.k() as usize];
        self.indices(key, indices);
        let hashes = self.config.hashes as usize;
        for (bank, indices) in self.banks.iter_mut().zip(indices.chunks_exact(hashes)) {
            for index in indices {
                bank.set_bit(u64::from(*index));
            }
        }
        Answer::default()
    }

    fn contains(&self, key: &[u64]) -> bool {
        let mut indices = [0; MAX_K];
        let indices = &mut indices[..self.config.k() as usize];
        self.indices(key, indices);
        let hashes = self.config.hashes as usize;
        let mut banks = self.banks.iter().zip(indices.chunks_exact(hashes));
        banks.all(|(bank, indices)| indices.iter().all(|index| bank.bit(u64::from(*index))))
    }

    fn clear(&mut self) {
        self.banks.iter_mut().for_each(Memory::clear);
    }

    fn memories(&self) -> Vec<&Memory> {
        self.banks.iter().collect()
    }

    fn memories_mut(&mut self) -> Option<Vec<&mut Memory>> {
        Some(self.banks.iter_mut().collect())
    }
}

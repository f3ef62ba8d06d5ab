use crate::{
    filter::{Answer, Filter, Status},
    hash::{Field, H3},
    params::ConfigError,
    sram::Memory,
};

use super::Config;

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
    memory: Memory,
}

/// Where the hash has the row and the indices of one word of a key.
#[derive(Clone, Debug)]
struct Word {
    row: Field,
    /// With the first bit of what each selects from.
    bits: Vec<(Field, u32)>,
}

/// Of k: the rules allow no more.
pub(super) const MAX_K: usize = 64;
/// 64 words of a row field of at most 26 + 8 bits, and 64 indices of at most 9 + 8.
const MAX_HASH_WORDS: usize = 34 + 17;

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
            .map(|_| Word {
                row: field(config.rows),
                bits: (0..config.bits_per_row())
                    .map(|i| (field(config.part_w().into()), config.part_lsb(i)))
                    .collect(),
            })
            .collect();
        Ok(Self {
            hash: H3::new(config.key_w, lsb, config.seed).mixed(config.mix),
            words,
            memory: Memory::new("port.memory.mem", config.rows as usize, config.block_w),
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

    /// The hash field that selects the row of word `w` of a key.
    pub fn row_field(&self, w: usize) -> Field {
        self.words[w].row
    }

    /// The memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// The bits of a key, numbered over the whole memory: bit b of row r is
    /// `r * BLOCK_W + b`. The bits of word 0 come first.
    #[inline]
    pub fn bits(&self, key: &[u64], bits: &mut [u64]) {
        let mut h = [0; MAX_HASH_WORDS];
        self.hash.hash_into(key, &mut h);
        let mut bits = bits.iter_mut();
        for word in &self.words {
            let row = word.row.of(&h) * u64::from(self.config.block_w);
            for ((field, lsb), bit) in word.bits.iter().zip(&mut bits) {
                *bit = row + u64::from(*lsb) + field.of(&h);
            }
        }
    }
}

impl Filter for Blocked {
    /// Answers with `hit` as a query just before would have, but for masked
    /// memories, where an insert does not read.
    fn insert(&mut self, key: &[u64]) -> Answer {
        let mut bits = [0; MAX_K];
        let bits = &mut bits[..self.config.hashes as usize];
        self.bits(key, bits);
        let mut set = !self.config.masked;
        for bit in bits {
            set &= self.memory.bit(*bit);
            self.memory.set_bit(*bit);
        }
        Answer { hit: set, status: Status::Ok }
    }

    fn contains(&self, key: &[u64]) -> bool {
        let mut bits = [0; MAX_K];
        let bits = &mut bits[..self.config.hashes as usize];
        self.bits(key, bits);
        bits.iter().all(|bit| self.memory.bit(*bit))
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
}

use crate::{
    cam::{Cam, Inserted},
    filter::{Answer, Filter, Op, Status},
    hash::{Field, H3, extract},
    params::ConfigError,
    sram::Memory,
};

use super::{Config, bits::Words, block::Layout};

/// The functional model.
#[derive(Clone, Debug)]
pub struct TinySet {
    config: Config,
    layout: Layout,
    hash: H3,
    block: Field,
    chain: Field,
    remainder_w: u32,
    memory: Memory,
    list: Cam,
}

/// What the hash says about a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which block.
    pub block: u32,
    /// Which of its chains.
    pub chain: u32,
    /// What is stored of the key, its first bit lowest.
    pub remainder: u64,
}

/// Hash words: block and chain of at most 32 + 15 bits, remainder of at most 22.
const HASH_WORDS: usize = 2;

impl TinySet {
    /// An empty filter.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let layout = config.layout();
        let block = Field::selecting(config.blocks, 0);
        let chain = Field::selecting(config.chains.into(), block.end());
        let remainder_w = config.longest();
        Ok(Self {
            hash: H3::new(config.key_w, chain.end() + remainder_w, config.seed),
            block,
            chain,
            remainder_w,
            memory: Memory::new("port.memory.mem", config.blocks as usize, layout.block_w()),
            layout,
            list: Cam::new(config.cam_depth as usize, config.key_w),
            config: config.clone(),
        })
    }

    /// Its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The layout of its blocks.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Its hash.
    pub fn hash(&self) -> &H3 {
        &self.hash
    }

    /// The hash field that selects the block.
    pub fn block_field(&self) -> Field {
        self.block
    }

    /// Its blocks.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Where a key belongs.
    #[inline]
    pub fn place(&self, key: &[u64]) -> Place {
        let mut h = [0; HASH_WORDS];
        self.hash.hash_into(key, &mut h);
        Place {
            block: self.block.of(&h) as u32,
            chain: self.chain.of(&h) as u32,
            remainder: extract(&h, self.chain.end(), self.remainder_w),
        }
    }

    /// One block, from its bit 0 on.
    #[inline]
    pub fn load(&self, block: u32) -> Words {
        let mut words: Words = [0; 12];
        let width = self.layout.block_w();
        let first = u64::from(block) * u64::from(width);
        let row = &self.memory.words()[(first / 64) as usize..];
        let count = width.div_ceil(64) as usize;
        if width.is_multiple_of(64) {
            words[..count].copy_from_slice(&row[..count]);
        } else {
            for (i, word) in words[..count].iter_mut().enumerate() {
                let lsb = 64 * i as u32;
                *word = extract(row, (first % 64) as u32 + lsb, (width - lsb).min(64));
            }
        }
        words
    }

    /// The overflow list.
    pub fn list(&self) -> &Cam {
        &self.list
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    pub(super) fn list_mut(&mut self) -> &mut Cam {
        &mut self.list
    }

    /// What a query, insert or remove does to its block: the new block, if it changes.
    /// The overflow list changes at once.
    #[inline]
    pub(super) fn execute(
        &mut self,
        op: Op,
        key: &[u64],
        place: Place,
        block: &Words,
    ) -> (Answer, Option<Words>) {
        let answer = |hit, status| Answer { hit, status };
        let mut new = *block;
        match op {
            Op::Query => {
                let hit =
                    self.layout.contains(block, place.chain, place.remainder) || self.list.contains(key);
                (answer(hit, Status::Ok), None)
            }
            Op::Insert => {
                if self.layout.insert(&mut new, place.chain, place.remainder) {
                    return (answer(false, Status::Ok), Some(new));
                }
                let status = match self.list.insert(key) {
                    // The list holds a key once: two removals would find it once.
                    Inserted::Present if self.config.removals => Status::Full,
                    Inserted::At(_) | Inserted::Present => Status::Ok,
                    Inserted::Full => Status::Full,
                };
                (answer(false, status), None)
            }
            Op::Remove if !self.config.removals => (answer(false, Status::Unsupported), None),
            // Its entry is exact, while a fingerprint may be another key's.
            Op::Remove if self.list.remove(key) => (answer(false, Status::Ok), None),
            Op::Remove => {
                if self.layout.remove(&mut new, place.chain, place.remainder) {
                    (answer(false, Status::Ok), Some(new))
                } else {
                    (answer(false, Status::NotFound), None)
                }
            }
            Op::Clear => (Answer::default(), None),
        }
    }

    #[inline]
    fn change(&mut self, op: Op, key: &[u64]) -> Answer {
        let place = self.place(key);
        let (answer, new) = self.execute(op, key, place, &self.load(place.block));
        if let Some(block) = new {
            self.store(place.block, &block);
        }
        answer
    }

    #[inline]
    pub(super) fn store(&mut self, block: u32, words: &Words) {
        self.memory.set_row(block as usize, words);
    }
}

impl Filter for TinySet {
    /// Answers with `hit` low. When the block has its most slots in use the key goes to the
    /// overflow list, if there is one with a free entry; else FULL. With removals, FULL also
    /// for a key that is in the list already, since the list holds a key once.
    fn insert(&mut self, key: &[u64]) -> Answer {
        self.change(Op::Insert, key)
    }

    fn contains(&self, key: &[u64]) -> bool {
        let place = self.place(key);
        self.layout.contains(&self.load(place.block), place.chain, place.remainder) || self.list.contains(key)
    }

    /// Answers with `hit` low. Only keys that are present may be removed: what is taken is
    /// the key's entry in the overflow list, or one fingerprint that matches it.
    fn remove(&mut self, key: &[u64]) -> Answer {
        self.change(Op::Remove, key)
    }

    fn clear(&mut self) {
        self.memory.clear();
        self.list.clear();
    }

    fn level(&self) -> u64 {
        self.list.level() as u64
    }

    fn memories(&self) -> Vec<&Memory> {
        vec![&self.memory]
    }

    fn memories_mut(&mut self) -> Vec<&mut Memory> {
        vec![&mut self.memory]
    }

    fn check_memories(&self) -> Result<(), String> {
        for block in 0..self.config.blocks as u32 {
            let refuse = |reason| format!("{} row {block}: {reason}", self.memory.path());
            self.layout.check(&self.load(block)).map_err(refuse)?;
        }
        Ok(())
    }
}

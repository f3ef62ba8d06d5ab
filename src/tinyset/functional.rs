use crate::{
    batch::{self, Staged},
    cam::{Cam, Inserted},
    filter::{Answer, Filter, Op, Status},
    hash::{Field, H3, Lanes, extract},
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
    /// Block, chain and remainder, cut out of the hash in advance.
    lanes: Lanes,
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

impl TinySet {
    /// An empty filter.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let layout = config.layout();
        let block = Field::selecting(config.blocks, 0);
        let chain = Field::selecting(config.chains.into(), block.end());
        let remainder = Field::selecting(1 << config.longest(), chain.end());
        let hash = H3::new(config.key_w, remainder.end(), config.seed).mixed(config.mix);
        Ok(Self {
            lanes: Lanes::new(&hash, &[block, chain, remainder]).expect("32 bits at most"),
            hash,
            block,
            chain,
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
        let mut lanes = [0; 4];
        self.lanes.hash_into(key, &mut lanes);
        let [block, chain, remainder, _] = lanes;
        // For a power of two this is the field as it is.
        let selected = |field: Field, bits: u32| ((u64::from(bits) * field.n) >> field.width) as u32;
        Place {
            block: selected(self.block, block),
            chain: selected(self.chain, chain),
            remainder: remainder.into(),
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

    /// What a query, insert or remove does to its block and the overflow list; also
    /// whether the block has changed.
    #[inline]
    pub(super) fn execute<const N: usize>(
        layout: &Layout,
        list: &mut Cam,
        (op, key, place): (Op, &[u64], Place),
        block: &mut [u64; N],
    ) -> (Answer, bool) {
        let answer = |hit, status| Answer { hit, status };
        match op {
            Op::Query => {
                let hit = layout.contains(block, place.chain, place.remainder) || list.contains(key);
                (answer(hit, Status::Ok), false)
            }
            Op::Insert => {
                if layout.insert(block, place.chain, place.remainder) {
                    return (answer(false, Status::Ok), true);
                }
                let status = match list.insert(key) {
                    // The list holds a key once: two removals would find it once.
                    Inserted::Present if layout.removals() => Status::Full,
                    Inserted::At(_) | Inserted::Present => Status::Ok,
                    Inserted::Full => Status::Full,
                };
                (answer(false, status), false)
            }
            Op::Remove if !layout.removals() => (answer(false, Status::Unsupported), false),
            // Its entry is exact, while a fingerprint may be another key's.
            Op::Remove if list.remove(key) => (answer(false, Status::Ok), false),
            Op::Remove => {
                let found = layout.remove(block, place.chain, place.remainder);
                (answer(false, if found { Status::Ok } else { Status::NotFound }), found)
            }
            Op::Clear => (Answer::default(), false),
        }
    }

    /// Executes a request on a block that is held outside of the memory.
    #[inline]
    pub(super) fn execute_on(
        &mut self,
        op: Op,
        key: &[u64],
        place: Place,
        block: &mut Words,
    ) -> (Answer, bool) {
        Self::execute(&self.layout, &mut self.list, (op, key, place), block)
    }

    #[inline]
    fn change(&mut self, op: Op, key: &[u64], place: Place) -> Answer {
        let Self { layout, list, memory, .. } = self;
        let (request, at) = ((op, key, place), place.block as usize);
        // Whole words in place; other widths through a copy.
        match memory.width() {
            512 => Self::execute::<8>(layout, list, request, &mut memory.words_mut().as_chunks_mut().0[at]).0,
            256 => Self::execute::<4>(layout, list, request, &mut memory.words_mut().as_chunks_mut().0[at]).0,
            _ => {
                let mut block = self.load(place.block);
                let (answer, changed) = self.execute_on(op, key, place, &mut block);
                if changed {
                    self.store(place.block, &block);
                }
                answer
            }
        }
    }

    #[inline]
    pub(super) fn store(&mut self, block: u32, words: &Words) {
        self.memory.set_row(block as usize, words);
    }
}

impl Staged for TinySet {
    type Place = Place;

    #[inline]
    fn place(&self, key: &[u64]) -> Place {
        TinySet::place(self, key)
    }

    #[inline]
    fn touch(&self, place: Place) -> u64 {
        let bit = u64::from(place.block) * u64::from(self.memory.width());
        self.memory.words()[(bit / 64) as usize]
    }

    #[inline]
    fn contains_at(&self, key: &[u64], Place { block, chain, remainder }: Place) -> bool {
        let (words, at) = (self.memory.words(), block as usize);
        let hit = match self.memory.width() {
            512 => self.layout.contains::<8>(&words.as_chunks().0[at], chain, remainder),
            256 => self.layout.contains::<4>(&words.as_chunks().0[at], chain, remainder),
            _ => self.layout.contains(&self.load(block), chain, remainder),
        };
        hit || self.list.contains(key)
    }

    #[inline]
    fn insert_at(&mut self, key: &[u64], place: Place) -> Answer {
        self.change(Op::Insert, key, place)
    }
}

impl Filter for TinySet {
    /// Answers with `hit` low. When the block has its most slots in use the key goes to the
    /// overflow list, if there is one with a free entry; else FULL. With removals, FULL also
    /// for a key that is in the list already, since the list holds a key once.
    fn insert(&mut self, key: &[u64]) -> Answer {
        self.change(Op::Insert, key, self.place(key))
    }

    fn contains(&self, key: &[u64]) -> bool {
        self.contains_at(key, self.place(key))
    }

    fn insert_all(&mut self, keys: &[u64], answers: &mut [Answer]) {
        batch::insert_all(self, keys, answers);
    }

    fn contains_all(&self, keys: &[u64], hits: &mut [bool]) {
        batch::contains_all(self, keys, hits);
    }

    /// Answers with `hit` low. Only keys that are present may be removed: what is taken is
    /// the key's entry in the overflow list, or one fingerprint that matches it.
    fn remove(&mut self, key: &[u64]) -> Answer {
        self.change(Op::Remove, key, self.place(key))
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

use crate::{
    batch,
    cam::Cam,
    cpu::{Asked, Changes, Cpu, Level, Question, Reads, Work},
    filter::{Answer, Filter, Op, Status},
    hash::{Field, H3, extract},
    parallel,
    params::ConfigError,
    sram::Memory,
};

use super::{
    Config,
    bits::Words,
    block::Layout,
    group::Group,
    place::{Fields, Place},
    request::{self, Done},
    view::View,
};

/// The functional model.
#[derive(Clone, Debug)]
pub struct TinySet {
    config: Config,
    layout: Layout,
    hash: H3,
    fields: Fields,
    cpu: Cpu,
    /// One key at a time, where that has a way of its own.
    one: Option<One>,
    memory: Memory,
    list: Cam,
}

/// How one key that is plain is asked for and inserted in blocks of whole words: settled once, and not again for each key.
#[derive(Clone, Copy, Debug)]
struct One {
    contains: Asked<Reads<TinySet>>,
    insert: Asked<Changes<TinySet, Answer>>,
}

impl TinySet {
    /// An empty filter.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let layout = config.layout();
        let (fields, hash) = Fields::new(config);
        let cpu = Cpu::detect();
        Ok(Self {
            one: One::new(cpu, &fields, &layout),
            fields,
            hash,
            cpu,
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
        self.fields.block
    }

    /// Its blocks.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Where a key belongs.
    #[inline(always)]
    pub fn place(&self, key: &[u64]) -> Place {
        self.fields.place(key)
    }

    /// One block, from its bit 0 on.
    #[inline(always)]
    pub fn load(&self, block: usize) -> Words {
        let mut words: Words = [0; 12];
        self.load_into(block, &mut words);
        words
    }

    /// The same, where the words are zeros or held a block.
    #[inline]
    pub(super) fn load_into(&self, block: usize, words: &mut Words) {
        let width = self.layout.block_w();
        let first = block as u64 * u64::from(width);
        let row = &self.memory.words()[(first / 64) as usize..];
        if width <= 64 {
            words[0] = extract(row, (first % 64) as u32, width);
            return;
        }
        let count = width.div_ceil(64) as usize;
        words[count..].fill(0);
        if width.is_multiple_of(64) {
            words[..count].copy_from_slice(&row[..count]);
        } else {
            for (i, word) in words[..count].iter_mut().enumerate() {
                let lsb = 64 * i as u32;
                *word = extract(row, (first % 64) as u32 + lsb, (width - lsb).min(64));
            }
        }
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    pub(super) fn cpu(&self) -> Cpu {
        self.cpu
    }

    #[inline]
    pub(super) fn list_mut(&mut self) -> &mut Cam {
        &mut self.list
    }

    /// Where the keys of a group belong, each at the begin of so many words.
    pub(super) fn look_ahead(&self, keys: &[u64], each: usize, group: &mut Group) {
        struct LookAhead<'a>(&'a Fields, (&'a [u64], usize), &'a mut Group);

        impl Work for LookAhead<'_> {
            type Output = ();

            #[inline(always)]
            fn run<L: Level>(self, level: L) {
                let Self(fields, (keys, each), group) = self;
                fields.places(level, keys, each, group);
            }
        }

        self.cpu.run(LookAhead(&self.fields, (keys, each), group));
    }

    #[inline]
    pub(super) fn store(&mut self, block: usize, words: &Words) {
        self.memory.set_row(block, words);
    }
}

impl One {
    fn new(cpu: Cpu, fields: &Fields, layout: &Layout) -> Option<Self> {
        fn on<const N: usize, const USUAL: bool>(cpu: Cpu) -> One {
            One { contains: cpu.asks::<_, Plain<N, USUAL>>(), insert: cpu.asks::<_, Plain<N, USUAL>>() }
        }
        match (layout.block_w(), layout.is_usual()) {
            _ if !fields.is_plain() => None,
            (512, true) => Some(on::<8, true>(cpu)),
            (512, false) => Some(on::<8, false>(cpu)),
            (256, _) => Some(on::<4, false>(cpu)),
            _ => None,
        }
    }
}

/// One key that is plain, in blocks of `N` words, of the [usual](Layout::is_usual) kind or of any.
struct Plain<const N: usize, const USUAL: bool>;

impl<const N: usize, const USUAL: bool> Question<Reads<TinySet>> for Plain<N, USUAL> {
    #[inline(always)]
    fn ask<L: Level>(level: L, filter: &TinySet, key: u64) -> bool {
        let TinySet { fields, layout, memory, list, .. } = filter;
        let Place { block, chain, remainder } = fields.place_plain(key);
        let block = &memory.words().as_chunks::<N>().0[block];
        let hit = if L::FAST {
            layout.contains_one::<_, _, USUAL>(level, block, (chain, remainder))
        } else {
            layout.contains_on(level, block, chain, remainder)
        };
        // Whether it is a hit is hard to guess; whether the list is empty is not.
        hit | (list.level() > 0 && list.contains(&[key]))
    }
}

impl<const N: usize, const USUAL: bool> Question<Changes<TinySet, Answer>> for Plain<N, USUAL> {
    #[inline(always)]
    fn ask<L: Level>(level: L, filter: &mut TinySet, key: u64) -> Answer {
        let TinySet { fields, layout, memory, list, .. } = filter;
        let Place { block, chain, remainder } = fields.place_plain(key);
        let block = &mut memory.words_mut().as_chunks_mut::<N>().0[block];
        if layout.insert_on(level, block, chain, remainder) {
            return Answer::default();
        }
        request::in_list(list, layout.removals(), Op::Insert, &[key], Done::default()).answer
    }
}

impl TinySet {
    fn contains_by<const N: usize>(&self, keys: &[u64], hits: &mut [bool]) {
        let Self { fields, layout, memory, list, .. } = self;
        let view = View { fields, layout, blocks: memory.words().as_chunks::<N>().0, list };
        match hits {
            [hit] => *hit = batch::contains(&view, self.cpu, keys),
            hits => batch::contains_all(&view, self.cpu, keys, hits),
        }
    }

    fn insert_by<const N: usize>(&mut self, keys: &[u64], answers: &mut [Answer]) {
        let Self { fields, layout, memory, list, .. } = self;
        let mut view = View { fields, layout, blocks: memory.words_mut().as_chunks_mut::<N>().0, list };
        match answers {
            [answer] => *answer = batch::insert(&mut view, self.cpu, keys),
            answers => batch::insert_all(&mut view, self.cpu, keys, answers),
        }
    }

    fn insert_in<const N: usize>(&mut self, threads: usize, keys: &[u64], answers: &mut [Answer]) {
        let Self { fields, layout, memory, cpu, .. } = self;
        let list = Cam::new(0, layout.block_w());
        let hasher = View { fields, layout, blocks: [[0; N]; 0], list: &list };
        let view =
            View { fields, layout, blocks: memory.words_mut().as_chunks_mut::<N>().0, list: list.clone() };
        parallel::insert_all(&hasher, view, (*cpu, threads), keys, answers);
        // A block that was full stays so: what was refused is the list's, in the keys' order.
        for (key, answer) in batch::split(keys, answers.len()).zip(answers) {
            if answer.status == Status::Full {
                *answer = self.change(Op::Insert, key);
            }
        }
    }

    /// Any request, on a block of any width.
    fn change(&mut self, op: Op, key: &[u64]) -> Answer {
        let place = self.place(key);
        let mut block = self.load(place.block);
        let done = request::in_words(self.cpu, &self.layout, op, place, &mut block);
        let done = request::in_list(&mut self.list, self.layout.removals(), op, key, done);
        if done.write {
            self.store(place.block, &block);
        }
        done.answer
    }
}

impl Filter for TinySet {
    /// Answers with `hit` low. When the block has its most slots in use the key goes to the
    /// overflow list, if there is one with a free entry; else FULL. With removals, FULL also
    /// for a key that is in the list already, since the list holds a key once.
    #[inline]
    fn insert(&mut self, key: &[u64]) -> Answer {
        if let Some(one) = self.one {
            return one.insert.ask(self, key[0]);
        }
        let mut answer = [Answer::default()];
        self.insert_all(key, &mut answer);
        answer[0]
    }

    #[inline]
    fn contains(&self, key: &[u64]) -> bool {
        if let Some(one) = self.one {
            return one.contains.ask(self, key[0]);
        }
        let mut hit = [false];
        self.contains_all(key, &mut hit);
        hit[0]
    }

    fn insert_all(&mut self, keys: &[u64], answers: &mut [Answer]) {
        match self.memory.width() {
            512 => return self.insert_by::<8>(keys, answers),
            256 => return self.insert_by::<4>(keys, answers),
            _ => {}
        }
        for (key, answer) in batch::split(keys, answers.len()).zip(answers) {
            *answer = self.change(Op::Insert, key);
        }
    }

    fn insert_all_in(&mut self, threads: usize, keys: &[u64], answers: &mut [Answer]) {
        match (self.memory.width(), parallel::threads_for(answers.len(), threads)) {
            (512, threads @ 2..) => self.insert_in::<8>(threads, keys, answers),
            (256, threads @ 2..) => self.insert_in::<4>(threads, keys, answers),
            _ => self.insert_all(keys, answers),
        }
    }

    fn contains_all(&self, keys: &[u64], hits: &mut [bool]) {
        match self.memory.width() {
            512 => return self.contains_by::<8>(keys, hits),
            256 => return self.contains_by::<4>(keys, hits),
            _ => {}
        }
        for (key, hit) in batch::split(keys, hits.len()).zip(hits) {
            let Place { block, chain, remainder } = self.place(key);
            *hit = self.layout.contains(&self.load(block), chain, remainder) || self.list.contains(key);
        }
    }

    /// Answers with `hit` low. Only keys that are present may be removed: what is taken is
    /// the key's entry in the overflow list, or one fingerprint that matches it.
    fn remove(&mut self, key: &[u64]) -> Answer {
        if self.layout.removals() {
            self.change(Op::Remove, key)
        } else {
            Answer { hit: false, status: Status::Unsupported }
        }
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

    fn run_on(&mut self, cpu: Cpu) {
        self.cpu = cpu;
        self.one = One::new(cpu, &self.fields, &self.layout);
    }

    fn check_memories(&self) -> Result<(), String> {
        for block in 0..self.config.blocks as usize {
            let refuse = |reason| format!("{} row {block}: {reason}", self.memory.path());
            self.layout.check(&self.load(block)).map_err(refuse)?;
        }
        Ok(())
    }
}

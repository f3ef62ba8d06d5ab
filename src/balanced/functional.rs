use std::borrow::Borrow;

use crate::{
    batch::{self, FAR, GROUP, Listed, Places, Staged, StagedMut},
    cam::Cam,
    cpu::{self, Cpu, Level},
    filter::{Answer, Filter, Status},
    hash::{Field, H3, Moved, Packed, extract},
    params::ConfigError,
    sram::Memory,
};

use super::{Config, config::MAX_D};

/// Bits of a coin.
pub(super) const COIN_W: u32 = 16;

/// The hash fields of one choice, in the order of the hash: row, bits, coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The memory that it is in.
    pub level: usize,
    /// The block.
    pub row: Field,
    /// The bits in the block.
    pub bits: Vec<Field>,
    /// First hash bit of the coin.
    pub coin: u32,
}

impl Choice {
    /// The 16 bits that decide at `H` keys: below `P` the block takes one more.
    #[inline]
    pub fn coin_of(&self, h: &[u64]) -> u32 {
        extract(h, self.coin, COIN_W) as u32
    }

    /// The bits of a key in the words of a block.
    pub(super) fn mask_into(&self, h: &[u64], mask: &mut [u64]) {
        mask.fill(0);
        for bit in self.bits_of(0, h) {
            mask[(bit / 64) as usize] |= 1 << (bit % 64);
        }
    }

    /// The bits of a key in a block that begins at bit `base`.
    #[inline]
    fn bits_of(&self, base: u64, h: &[u64]) -> impl Iterator<Item = u64> {
        self.bits[0].row_of(self.bits.len() as u32, h).map(move |bit| base + bit)
    }
}

/// Where an insert puts its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into the block of this choice.
    Block(usize),
    /// Into the overflow list, where it may be already.
    List,
    /// Nowhere: the list is full.
    Refused,
}

/// What a request will do: decided without changing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One of the blocks that it reads has all its bits set, or the list has the key.
    pub hit: bool,
    /// Choices that it looks at, one after another.
    pub probes: u32,
    /// Where an insert puts the key.
    pub place: Option<Place>,
    /// The block of each choice.
    pub rows: [u32; MAX_D],
}

impl Plan {
    /// What the request answers.
    pub fn answer(&self) -> Answer {
        let refused = self.place == Some(Place::Refused);
        Answer { hit: self.hit, status: if refused { Status::Full } else { Status::Ok } }
    }
}

/// The functional model.
///
/// ```
/// use membrane::{Filter, analysis::AccessProblem, balanced::{Balanced, Config}, hash::splitmix64};
///
/// // 24 bits per key in 256-bit rows; 0.5 % of the keys may go to the list.
/// let threshold = AccessProblem { a: 1.0, r: 256.0 / 24.0, gamma: 0.005 }.threshold()?;
/// let config = Config {
///     rows: 4096, block_w: 252, hashes: 17, cam_depth: 300, key_w: 64, ..Config::default()
/// }.with_threshold(threshold);
/// let mut filter = Balanced::new(&config)?;
/// for n in 0..43_690 {
///     filter.insert(&[splitmix64(1, n)]);
/// }
/// assert!((0..43_690).all(|n| filter.contains(&[splitmix64(1, n)])));
/// assert!(filter.level() > 150 && filter.level() < 290);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Balanced {
    config: Config,
    hash: H3,
    choices: Vec<Choice>,
    levels: Vec<Memory>,
    list: Cam,
    /// The same hash for many keys at once, if it has few words.
    groups: Option<Packed<USUAL_HASH_WORDS>>,
    /// Block reads that inserts may still make.
    left: u64,
    cpu: Cpu,
}

impl Balanced {
    /// An empty filter.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let sizes = config.levels();
        let mut lsb = 0;
        let mut next = |n| {
            let field = Field::selecting(n, lsb);
            lsb = field.end();
            field
        };
        let choices: Vec<Choice> = (0..config.d as usize)
            .map(|choice| {
                let level = config.level_of(choice);
                let row = next(sizes[level]);
                let bits: Vec<_> = (0..config.hashes).map(|_| next(config.block_w.into())).collect();
                Choice { level, row, bits, coin: next(1 << COIN_W).lsb }
            })
            .collect();
        let level = |(l, rows): (usize, &u64)| {
            Memory::new(format!("g_level[{l}].blocks.memory.mem"), *rows as usize, config.row_w())
        };
        let hash = H3::new(config.key_w, lsb, config.seed).mixed(config.mix);
        let word = |(word, lsb)| Moved { lsb, width: (hash.bits() - lsb).min(64), word, at: 0 };
        let words: Vec<_> = (0..).zip((0..hash.bits()).step_by(64)).map(word).collect();
        let mut filter = Self {
            groups: (words.len() <= USUAL_HASH_WORDS).then(|| Packed::new(&hash, &words)),
            hash,
            choices,
            levels: sizes.iter().enumerate().map(level).collect(),
            list: Cam::new(config.cam_depth as usize, config.key_w),
            left: 0,
            cpu: Cpu::detect(),
            config: config.clone(),
        };
        filter.refill();
        Ok(filter)
    }

    fn refill(&mut self) {
        let budget = self.config.access_budget;
        self.left = if budget == 0 { u64::MAX } else { budget };
    }

    /// Its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its hash.
    pub fn hash(&self) -> &H3 {
        &self.hash
    }

    /// The hash fields of each choice.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The memories.
    pub fn levels(&self) -> &[Memory] {
        &self.levels
    }

    /// The overflow list.
    pub fn list(&self) -> &Cam {
        &self.list
    }

    /// Whether inserts may still read blocks.
    #[inline]
    pub fn has_budget(&self) -> bool {
        self.left > 0
    }

    /// Block reads that inserts made since the last clear, as the budget counts
    /// them; always 0 without one.
    pub fn spent(&self) -> u64 {
        if self.config.access_budget == 0 { 0 } else { self.config.access_budget - self.left }
    }

    /// Keys in a block.
    #[inline]
    pub fn count(&self, level: usize, row: usize) -> u32 {
        let memory = &self.levels[level];
        let lsb = row as u64 * u64::from(memory.width()) + u64::from(self.config.block_w);
        let words = &memory.words()[(lsb / 64) as usize..];
        extract(words, (lsb % 64) as u32, self.config.count_w()) as u32
    }

    /// How many blocks of a memory hold 0, 1, ... H + 1 keys.
    pub fn loads(&self, level: usize) -> Vec<u64> {
        let mut loads = vec![0; self.config.h as usize + 2];
        for row in 0..self.levels[level].rows() {
            loads[self.count(level, row) as usize] += 1;
        }
        loads
    }

    /// Whether the block of a choice has all bits of the key.
    #[inline]
    fn all_set(&self, choice: &Choice, row: u64, h: &[u64]) -> bool {
        let memory = &self.levels[choice.level];
        let words = memory.words();
        // Without an early end: where it would be is as good as random.
        let bits = choice.bits_of(row * u64::from(memory.width()), h);
        bits.fold(1, |set, bit| set & words[(bit / 64) as usize] >> (bit % 64)) == 1
    }

    /// The rows of all choices.
    fn rows(&self, h: &[u64]) -> [u32; MAX_D] {
        let mut rows = [0; MAX_D];
        for (row, choice) in rows.iter_mut().zip(&self.choices) {
            *row = choice.row.of(h) as u32;
        }
        rows
    }

    /// What a query does. `h` is the hash of `key`.
    pub fn plan_query(&self, key: &[u64], h: &[u64]) -> Plan {
        let has = |c: usize, row: u32| self.all_set(&self.choices[c], row.into(), h);
        self.query_plan(key, self.rows(h), has)
    }

    /// The same where it is known which blocks these are; `has` tells whether one has all bits of the key.
    #[inline(always)]
    pub(super) fn query_plan(
        &self,
        key: &[u64],
        rows: [u32; MAX_D],
        has: impl Fn(usize, u32) -> bool,
    ) -> Plan {
        let mut plan = Plan { hit: false, probes: 0, place: None, rows };
        for (c, (choice, row)) in self.choices.iter().zip(rows).enumerate() {
            plan.probes += 1;
            plan.hit = has(c, row);
            // Of the last choice all is said: what a branch would depend on is as good as random.
            if c + 1 < self.choices.len()
                && (plan.hit || self.count(choice.level, row as usize) < self.config.h)
            {
                break;
            }
        }
        plan.hit |= self.list.contains(key);
        plan
    }

    /// What an insert does. `h` is the hash of `key`.
    pub fn plan_insert(&self, key: &[u64], h: &[u64]) -> Plan {
        let has = |c: usize, row: u32| self.all_set(&self.choices[c], row.into(), h);
        self.insert_plan(key, self.rows(h), has, |c| self.choices[c].coin_of(h))
    }

    /// The same where it is known which blocks these are, and the coin for each.
    #[inline(always)]
    pub(super) fn insert_plan(
        &self,
        key: &[u64],
        rows: [u32; MAX_D],
        has: impl Fn(usize, u32) -> bool,
        coin: impl Fn(usize) -> u32,
    ) -> Plan {
        let listed = self.list.contains(key);
        let mut plan = Plan { hit: listed, probes: 0, place: None, rows };
        for (c, (choice, row)) in self.choices.iter().zip(rows).enumerate() {
            if self.left == u64::from(plan.probes) {
                break;
            }
            plan.probes += 1;
            plan.hit |= has(c, row);
            let count = self.count(choice.level, row as usize);
            let coin = coin(c) < self.config.p;
            if count < self.config.h || (count == self.config.h && coin) {
                plan.place = Some(Place::Block(c));
                return plan;
            }
        }
        let refused = !listed && self.list.is_full();
        plan.place = Some(if refused { Place::Refused } else { Place::List });
        plan
    }

    /// Where a row begins: the word, and the bit in it.
    #[inline(always)]
    fn begin(&self, level: usize, row: u32) -> (usize, u32) {
        let lsb = u64::from(row) * u64::from(self.levels[level].width());
        ((lsb / 64) as usize, (lsb % 64) as u32)
    }

    /// Whether a block has all bits of a mask of `N` words, or of any number if that is 0.
    #[inline(always)]
    pub(super) fn has_mask<const N: usize>(&self, level: usize, row: u32, mask: &[u64]) -> bool {
        let (word, shift) = self.begin(level, row);
        let words = &self.levels[level].words()[word..];
        let mask = mask.first_chunk::<N>().filter(|_| N > 0).map_or(mask, |mask| mask);
        let mut missing = 0;
        if let (true, Some(words)) = (shift == 0, words.get(..mask.len())) {
            for (bits, word) in mask.iter().zip(words) {
                missing |= bits & !word;
            }
        } else if let Some(words) = words.get(..=mask.len()) {
            for (bits, pair) in mask.iter().zip(words.windows(2)) {
                // No shift by a whole word.
                missing |= bits & !(pair[0] >> shift | pair[1] << 1 << (63 - shift));
            }
        } else {
            // The last rows: the mask may have more words than are left, but no bits there.
            let word = |i: usize| words.get(i).copied().unwrap_or(0);
            for (i, bits) in mask.iter().enumerate() {
                missing |= bits & !(word(i) >> shift | word(i + 1) << 1 << (63 - shift));
            }
        }
        missing == 0
    }

    /// Sets all bits of a mask in a block.
    #[inline]
    fn set_mask(&mut self, level: usize, row: u32, mask: &[u64]) {
        let (word, shift) = self.begin(level, row);
        let words = &mut self.levels[level].words_mut()[word..];
        for (i, bits) in mask.iter().enumerate() {
            if let Some(word) = words.get_mut(i) {
                *word |= bits << shift;
            }
            if let Some(word) = words.get_mut(i + 1) {
                *word |= bits >> 1 >> (63 - shift);
            }
        }
    }

    /// Does what [`Balanced::plan_insert`] said, with the same key and hash, and no
    /// request in between.
    pub fn commit(&mut self, key: &[u64], h: &[u64], plan: &Plan) {
        self.commit_by(key, plan, |filter, c| {
            let Choice { level, .. } = filter.choices[c];
            let memory = &mut filter.levels[level];
            let base = u64::from(plan.rows[c]) * u64::from(memory.width());
            for bit in filter.choices[c].bits_of(base, h) {
                memory.set_bit(bit);
            }
        });
    }

    /// The same for a key whose bits in the block of a choice are these.
    #[inline]
    pub(super) fn commit_masks<'m>(&mut self, key: &[u64], plan: &Plan, mask: impl Fn(usize) -> &'m [u64]) {
        self.commit_by(key, plan, |filter, c| {
            filter.set_mask(filter.choices[c].level, plan.rows[c], mask(c));
        });
    }

    #[inline(always)]
    fn commit_by(&mut self, key: &[u64], plan: &Plan, set: impl FnOnce(&mut Self, usize)) {
        match plan.place {
            None | Some(Place::Refused) => return,
            Some(Place::List) => {
                self.list.insert(key);
            }
            Some(Place::Block(c)) => {
                let level = self.choices[c].level;
                let count = self.count(level, plan.rows[c] as usize);
                set(self, c);
                let memory = &mut self.levels[level];
                let base = u64::from(plan.rows[c]) * u64::from(memory.width());
                let counter = base + u64::from(self.config.block_w);
                memory.set_bits(counter, self.config.count_w(), u64::from(count) + 1);
            }
        }
        if self.config.access_budget != 0 {
            self.left -= u64::from(plan.probes);
        }
    }

    /// The processor that it runs on.
    #[inline]
    pub(super) fn cpu(&self) -> Cpu {
        self.cpu
    }
}

/// D choices of at most 24 + 8 bits for the row, 64 * 17 for bits and 16 for the coin.
const MAX_HASH_WORDS: usize = MAX_D * (32 + 64 * 17 + 16) / 64;

/// Words of the hash of most filters.
const USUAL_HASH_WORDS: usize = 8;

/// Its hash, of at most `N` words, is all that is known of a key before its blocks are read.
struct Hashed<F, const N: usize>(F);

impl<F: Borrow<Balanced>, const N: usize> Staged for Hashed<F, N> {
    type Place = Hash<N>;
    type Places = Listed<Hash<N>>;

    #[inline(always)]
    fn place(&self, key: &[u64]) -> Hash<N> {
        let mut h = Hash::default();
        self.0.borrow().hash.hash_into(key, &mut h.0);
        h
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Listed<Hash<N>>) {
        let Some(packed) = self.0.borrow().groups.as_ref().filter(|_| L::FAST) else {
            for (i, key) in keys.chunks_exact(each).enumerate() {
                places.put(i, self.place(key));
            }
            return;
        };
        let mut words = [[0; GROUP]; USUAL_HASH_WORDS];
        packed.hash_group(level, keys, each, &mut words);
        for i in 0..GROUP {
            let mut hash = Hash::default();
            for (word, words) in hash.0.iter_mut().zip(&words) {
                *word = words[i];
            }
            places.put(i, hash);
        }
    }

    #[inline(always)]
    fn is_far(&self) -> bool {
        self.0.borrow().levels.iter().map(|level| level.words().len()).sum::<usize>() > FAR
    }

    /// The first choice: most requests need no other.
    #[inline(always)]
    fn prefetch(&self, h: &Hash<N>) {
        let choice = &self.0.borrow().choices[0];
        let memory = &self.0.borrow().levels[choice.level];
        let bit = choice.row.of(&h.0) * u64::from(memory.width());
        cpu::prefetch(memory.words(), (bit / 64) as usize);
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, _: L, key: &[u64], h: &Hash<N>) -> bool {
        self.0.borrow().plan_query(key, &h.0).hit
    }
}

impl<const N: usize> StagedMut for Hashed<&mut Balanced, N> {
    #[inline(always)]
    fn insert_at<L: Level>(&mut self, _: L, key: &[u64], h: &Hash<N>) -> Answer {
        let plan = self.0.plan_insert(key, &h.0);
        self.0.commit(key, &h.0, &plan);
        plan.answer()
    }
}

/// A hash of at most `N` words.
#[derive(Clone, Copy)]
struct Hash<const N: usize>([u64; N]);

impl<const N: usize> Default for Hash<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl Filter for Balanced {
    /// Answers with `hit` when the key may have been there before.
    fn insert(&mut self, key: &[u64]) -> Answer {
        let cpu = self.cpu;
        if self.hash.words() <= USUAL_HASH_WORDS {
            batch::insert(&mut Hashed::<_, USUAL_HASH_WORDS>(self), cpu, key)
        } else {
            batch::insert(&mut Hashed::<_, MAX_HASH_WORDS>(self), cpu, key)
        }
    }

    fn contains(&self, key: &[u64]) -> bool {
        if self.hash.words() <= USUAL_HASH_WORDS {
            batch::contains(&Hashed::<_, USUAL_HASH_WORDS>(self), self.cpu, key)
        } else {
            batch::contains(&Hashed::<_, MAX_HASH_WORDS>(self), self.cpu, key)
        }
    }

    fn insert_all(&mut self, keys: &[u64], answers: &mut [Answer]) {
        let cpu = self.cpu;
        if self.hash.words() <= USUAL_HASH_WORDS {
            return batch::insert_all(&mut Hashed::<_, USUAL_HASH_WORDS>(self), cpu, keys, answers);
        }
        for (key, answer) in batch::split(keys, answers.len()).zip(answers) {
            *answer = self.insert(key);
        }
    }

    fn contains_all(&self, keys: &[u64], hits: &mut [bool]) {
        if self.hash.words() <= USUAL_HASH_WORDS {
            return batch::contains_all(&Hashed::<_, USUAL_HASH_WORDS>(self), self.cpu, keys, hits);
        }
        for (key, hit) in batch::split(keys, hits.len()).zip(hits) {
            *hit = self.contains(key);
        }
    }

    fn run_on(&mut self, cpu: Cpu) {
        self.cpu = cpu;
    }

    fn clear(&mut self) {
        self.levels.iter_mut().for_each(Memory::clear);
        self.list.clear();
        self.refill();
    }

    fn level(&self) -> u64 {
        self.list.level() as u64
    }

    fn memories(&self) -> Vec<&Memory> {
        self.levels.iter().collect()
    }

    fn memories_mut(&mut self) -> Vec<&mut Memory> {
        self.levels.iter_mut().collect()
    }

    /// A block counts at most H + 1 keys.
    fn check_memories(&self) -> Result<(), String> {
        let most = self.config.h + 1;
        for (level, memory) in self.levels.iter().enumerate() {
            for row in 0..memory.rows() {
                let count = self.count(level, row);
                if count > most {
                    return Err(format!(
                        "{} row {row}: a count of {count}, {most} is the most",
                        memory.path()
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::CORE, *};
    use crate::registry::Core;

    /// The blocks that docs/balanced.md draws.
    #[test]
    fn tiny_blocks_by_hand() {
        let tiny = CORE.presets().iter().find(|preset| preset.name == "tiny").unwrap();
        let mut filter = Balanced::new(&Config::from_params(&tiny.params()).unwrap()).unwrap();
        for key in [10, 13, 18, 21] {
            let answer = filter.insert(&[key]);
            assert_eq!((answer.hit, answer.status), (false, Status::Ok));
        }
        let row = |count: u64, bits: &[u32]| bits.iter().fold(count << 14, |row, bit| row | 1 << bit);
        let mut expected = vec![0; 8];
        expected[5] = row(3, &[10, 7, 4, 2, 1]);
        expected[6] = row(1, &[9, 4]);
        let rows: Vec<u64> = (0..8).map(|r| filter.levels()[0].row(r)[0]).collect();
        assert_eq!(rows, expected);
        assert_eq!((filter.level(), filter.loads(0)), (0, vec![6, 1, 0, 1]));
        // Row 5 is full and row 0 is not: 34 has these two.
        filter.insert(&[34]);
        assert_eq!(filter.count(0, 0), 1);
        assert!(filter.insert(&[10]).hit);
    }
}

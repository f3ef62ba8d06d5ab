use crate::{
    batch,
    cam::Cam,
    cpu::Cpu,
    filter::{Answer, Filter, Status},
    hash::{Field, H3, Moved, Packed, extract},
    params::ConfigError,
    sram::Memory,
};

use super::{
    Config,
    config::MAX_D,
    masks::{set_bits, window},
    staged::{Hashed, MAX_HASH_WORDS, USUAL_HASH_WORDS},
};

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
        set_bits(mask, self.bits_of(0, h));
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
    /// Something will be different then. A key that is in the list already makes no difference there.
    pub changes: bool,
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
    pub(super) hash: H3,
    pub(super) choices: Vec<Choice>,
    pub(super) levels: Vec<Memory>,
    list: Cam,
    /// The same hash for many keys at once, if it has few words.
    pub(super) groups: Option<Packed<USUAL_HASH_WORDS>>,
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

    /// Block reads that inserts may still make.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Whether what inserts read counts.
    #[inline]
    pub(super) fn spends(&self) -> bool {
        self.config.access_budget != 0 && self.left > 0
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
        (window(memory.words(), lsb) & !(u64::MAX << self.config.count_w())) as u32
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
        self.has_bits(choice.level, row as u32, choice.bits_of(0, h))
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
        self.plan(false, key, self.rows(h), has, |_| 0)
    }

    /// What an insert does. `h` is the hash of `key`.
    pub fn plan_insert(&self, key: &[u64], h: &[u64]) -> Plan {
        let has = |c: usize, row: u32| self.all_set(&self.choices[c], row.into(), h);
        self.plan(true, key, self.rows(h), has, |c| self.choices[c].coin_of(h))
    }

    /// What a query or an insert of a key with these blocks does. `has` tells whether one of them has all its bits, `coin`
    /// its coin there. Which of the two comes next is as good as random: of the last choice no branch depends on it.
    #[inline(always)]
    pub(super) fn plan(
        &self,
        inserts: bool,
        key: &[u64],
        rows: [u32; MAX_D],
        has: impl Fn(usize, u32) -> bool,
        coin: impl Fn(usize) -> u32,
    ) -> Plan {
        let Config { h, p, .. } = self.config;
        let listed = self.list.contains(key);
        let mut plan = Plan { hit: listed, probes: 0, place: None, changes: false, rows };
        let (mut takes, mut block) = (false, 0);
        for (c, (choice, row)) in self.choices.iter().zip(rows).enumerate() {
            if inserts & (self.left == u64::from(plan.probes)) {
                break;
            }
            plan.probes += 1;
            let (all_set, count) = (has(c, row), self.count(choice.level, row as usize));
            plan.hit |= all_set;
            takes = inserts & ((count < h) | (count == h) & (coin(c) < p));
            block = c;
            // A block below H has never sent a key further.
            let stops = if inserts { takes } else { all_set || count < h };
            if stops && c + 1 < self.choices.len() {
                break;
            }
        }
        let refused = !listed & self.list.is_full();
        if inserts {
            let elsewhere = if refused { Place::Refused } else { Place::List };
            plan.place = Some(if takes { Place::Block(block) } else { elsewhere });
            plan.changes = takes | !refused & (!listed | self.spends());
        }
        plan
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

    #[inline(always)]
    pub(super) fn commit_by(&mut self, key: &[u64], plan: &Plan, set: impl FnOnce(&mut Self, usize)) {
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

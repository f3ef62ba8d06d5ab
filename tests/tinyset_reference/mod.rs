//! TinySet blocks the slow way: lists of bit strings per chain, written out from scratch
//! after every operation. Obviously correct, and what the fast model is held against.
#![allow(dead_code)] // each test binary uses a part of it

/// Which of the matches a removal takes, and what matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Extension bit 1 first, then the lowest slot; extension bit 0 matches anything.
    Safe,
    /// The lowest slot that matches.
    First,
    /// The highest slot that matches.
    Last,
    /// As `Safe`, but extension bits are compared like all others.
    Exact,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    pub array: usize,
    pub f_max: usize,
    pub c_max: usize,
    pub removals: bool,
    /// Slots that the block is laid out for.
    pub slots: usize,
    /// Fingerprints by chain, first slot first, first bit first.
    pub chains: Vec<Vec<Vec<bool>>>,
}

impl Reference {
    pub fn new(chains: usize, array: usize, f_max: usize, c_max: usize, removals: bool) -> Self {
        Self { array, f_max, c_max, removals, slots: 0, chains: vec![Vec::new(); chains] }
    }

    pub fn live(&self) -> usize {
        self.chains.iter().map(Vec::len).sum()
    }

    /// s and mod of the paper.
    fn shape(&self) -> (usize, usize) {
        let s = (self.array / self.slots).saturating_sub(1);
        if s >= self.f_max { (self.f_max, 0) } else { (s, self.array % self.slots) }
    }

    /// Cuts or pads every fingerprint to the width of the slot it is in.
    fn fit(&mut self) {
        if self.slots == 0 {
            return;
        }
        let (s, extended) = self.shape();
        for (i, item) in self.chains.iter_mut().flatten().enumerate() {
            item.resize(s + usize::from(i < extended), false);
        }
    }

    pub fn insert(&mut self, chain: usize, remainder: &[bool]) -> bool {
        if self.live() == self.slots {
            if self.slots == self.c_max {
                return false;
            }
            self.slots += 1;
        }
        self.chains[chain].insert(0, remainder.to_vec());
        self.fit();
        true
    }

    /// Positions in `chain` that match, and whether by an extension bit of 1.
    fn matches(&self, chain: usize, remainder: &[bool], policy: Policy) -> Vec<(usize, bool)> {
        if self.slots == 0 {
            return Vec::new();
        }
        let (s, _) = self.shape();
        let mut found = Vec::new();
        for (position, item) in self.chains[chain].iter().enumerate() {
            let same = (0..item.len()).all(|bit| {
                let wildcard = self.removals && policy != Policy::Exact && bit == s && !item[bit];
                wildcard || item[bit] == remainder[bit]
            });
            if same {
                found.push((position, self.removals && item.len() > s && item[s]));
            }
        }
        found
    }

    pub fn contains(&self, chain: usize, remainder: &[bool], policy: Policy) -> bool {
        !self.matches(chain, remainder, policy).is_empty()
    }

    pub fn remove(&mut self, chain: usize, remainder: &[bool], policy: Policy) -> bool {
        let found = self.matches(chain, remainder, policy);
        let taken = match policy {
            Policy::First => found.first(),
            Policy::Last => found.last(),
            Policy::Safe | Policy::Exact => found.iter().find(|(_, one)| *one).or(found.first()),
        };
        let Some(&(position, _)) = taken else { return false };
        self.chains[chain].remove(position);
        self.fit();
        true
    }

    /// Slots in front of `chain`.
    pub fn start(&self, chain: usize) -> usize {
        self.chains[..chain].iter().map(Vec::len).sum()
    }

    /// A block of this one's shape, with removals, from its bits.
    pub fn decode(&self, bits: &[bool]) -> Self {
        let mut block = Self::new(self.chains.len(), self.array, self.f_max, self.c_max, true);
        let (index, array) = bits.split_at(self.chains.len());
        let (array, count) = array.split_at(self.array);
        block.slots = words_of(&count[..self.count_w()])[0] as usize;
        let (lasts, mut items) = array.split_at(block.slots);
        let mut slot = 0;
        for chain in (0..index.len()).filter(|chain| index[*chain]) {
            loop {
                let (s, extended) = block.shape();
                let (item, rest) = items.split_at(s + usize::from(slot < extended));
                block.chains[chain].push(item.to_vec());
                items = rest;
                slot += 1;
                if lasts[slot - 1] {
                    break;
                }
            }
        }
        block
    }

    /// Bits of the slot count.
    fn count_w(&self) -> usize {
        (usize::BITS - self.c_max.leading_zeros()) as usize
    }

    /// The block, bit 0 first.
    pub fn encode(&self) -> Vec<bool> {
        let mut block: Vec<bool> = self.chains.iter().map(|chain| !chain.is_empty()).collect();
        let mut array: Vec<bool> = Vec::new();
        for chain in &self.chains {
            array.extend((1..=chain.len()).map(|i| i == chain.len()));
        }
        array.resize(self.slots, false);
        for item in self.chains.iter().flatten() {
            array.extend(item);
        }
        assert!(array.len() <= self.array);
        array.resize(self.array, false);
        block.extend(array);
        if self.removals {
            block.extend((0..self.count_w()).map(|bit| self.slots >> bit & 1 == 1));
        }
        block
    }
}

/// The lowest `width` bits of a number, lowest first.
pub fn bits_of(value: u64, width: usize) -> Vec<bool> {
    (0..width).map(|bit| value >> bit & 1 == 1).collect()
}

/// Bits, lowest first, as a block of the fast model.
pub fn words_of(bits: &[bool]) -> [u64; 12] {
    let mut words = [0; 12];
    for (i, bit) in bits.iter().enumerate() {
        words[i / 64] |= u64::from(*bit) << (i % 64);
    }
    words
}

/// A string of 0 and 1 (other characters are skipped), first bit first.
pub fn parse(text: &str) -> Vec<bool> {
    text.chars().filter(|c| "01".contains(*c)).map(|c| c == '1').collect()
}

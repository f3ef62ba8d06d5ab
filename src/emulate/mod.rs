//! A filter on a trace of keys: what it answered, how often it was wrong, and how that
//! changed as it filled.
//!
//! The functional model answers. Where time matters the clocked model plays the same
//! requests back to back, and its accesses and stalls are counted too.

mod timing;
mod windows;

use hashbrown::HashSet;
use xxhash_rust::xxh3::xxh3_128;

pub use windows::{Spent, Window, Windows};

use crate::{
    clocked::Fault,
    filter::{Answer, Filter, Op, Status},
    params::Params,
    registry::Core,
    stimulus::DriveError,
};
use timing::Timing;

/// A filter at work, and the truth beside it.
///
/// ```
/// use membrane::{Params, emulate::Emulation, registry};
/// let core = registry::find("partitioned").unwrap();
/// let params = Params::new().with("BANKS", 7).with("ROWS", 4096).with("KEY_W", 64);
/// let mut emulation = Emulation::new(core, &core.check(&params)?, false)?;
/// emulation.insert(&[1, 2, 3]).unwrap();
/// emulation.query(&[1, 4]).unwrap();
/// let total = emulation.windows().total();
/// assert_eq!((total.inserts, total.queries, total.absent), (3, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Emulation {
    filter: Box<dyn Filter>,
    timing: Option<Timing>,
    words: usize,
    /// The keys that were inserted and not refused. Filled only when it is asked, because
    /// it takes longer than the filter itself.
    members: Members,
    /// Inserted, but not yet among the members.
    newcomers: Vec<u64>,
    windows: Windows,
}

impl Emulation {
    /// An empty filter. `clocked` has the clocked model play along.
    pub fn new(core: &dyn Core, params: &Params, clocked: bool) -> Result<Self, DriveError> {
        let words = params.at("KEY_W").div_ceil(64) as usize;
        Ok(Self {
            filter: core.filter(params)?,
            timing: if clocked { Some(Timing::new(core.clocked(params)?)?) } else { None },
            words,
            members: Members::new(words),
            newcomers: Vec::new(),
            windows: Windows::default(),
        })
    }

    /// The filter.
    pub fn filter(&self) -> &dyn Filter {
        self.filter.as_ref()
    }

    /// What happened, over time.
    pub fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Different keys that were inserted and not refused.
    pub fn distinct(&mut self) -> u64 {
        self.settle();
        self.members.len() as u64
    }

    /// Inserts keys that lie one after another.
    pub fn insert(&mut self, mut keys: &[u64]) -> Result<(), Fault> {
        let (mut answers, mut hits) = (Vec::new(), Vec::new());
        while !keys.is_empty() {
            let piece = keys.split_off(..self.room(keys)).expect("not more than there are");
            answers.resize(piece.len() / self.words, Answer::default());
            hits.resize(answers.len(), false);
            self.filter.insert_all(piece, &mut answers);
            self.filter.contains_all(piece, &mut hits);
            for ((key, answer), hit) in piece.chunks_exact(self.words).zip(&answers).zip(&hits) {
                self.inserted(key, *answer, *hit)?;
            }
            self.windows.last().level = self.filter.level();
        }
        Ok(())
    }

    /// Asks for keys that lie one after another.
    pub fn query(&mut self, mut keys: &[u64]) -> Result<(), Fault> {
        self.settle();
        let mut hits = Vec::new();
        while !keys.is_empty() {
            let piece = keys.split_off(..self.room(keys)).expect("not more than there are");
            hits.resize(piece.len() / self.words, false);
            self.filter.contains_all(piece, &mut hits);
            for (key, hit) in piece.chunks_exact(self.words).zip(&hits) {
                self.queried(key, *hit)?;
            }
        }
        Ok(())
    }

    /// How many words of `keys` are left to the last window, which is not full.
    fn room(&mut self, keys: &[u64]) -> usize {
        if self.windows.room() == 0 {
            if let Some(timing) = &mut self.timing {
                self.windows.last().spent = timing.spent_since();
            }
            self.windows.open();
        }
        keys.len().min(self.windows.room() as usize * self.words)
    }

    /// Asks for each key, and inserts it where the answer is that it was not there yet.
    pub fn meet(&mut self, keys: &[u64]) -> Result<(), Fault> {
        for key in keys.chunks_exact(self.words) {
            self.room(key);
            self.settle();
            let hit = self.filter.contains(key);
            self.queried(key, hit)?;
            if !hit {
                let answer = self.filter.insert(key);
                let hit = self.filter.contains(key);
                self.inserted(key, answer, hit)?;
                self.windows.last().level = self.filter.level();
            }
        }
        Ok(())
    }

    /// The end of the trace: has the clocked model answer what it still owes.
    pub fn finish(&mut self) -> Result<(), Fault> {
        if let Some(timing) = &mut self.timing {
            timing.drain()?;
            self.windows.last().spent = timing.spent_since();
        }
        Ok(())
    }

    /// A filter never denies a key that is there, so only hits are looked up.
    fn queried(&mut self, key: &[u64], hit: bool) -> Result<(), Fault> {
        let member = hit && self.members.contains(key);
        let window = self.windows.last();
        window.queries += 1;
        window.hits += u64::from(hit);
        window.absent += u64::from(!member);
        window.false_positives += u64::from(hit && !member);
        self.clock(Op::Query, key, Answer { hit, status: Status::Ok })
    }

    /// `hit` is the filter's answer when it is asked for the key at once.
    fn inserted(&mut self, key: &[u64], answer: Answer, hit: bool) -> Result<(), Fault> {
        let refused = answer.status == Status::Full;
        if !refused {
            self.newcomers.extend(key);
        }
        let window = self.windows.last();
        window.inserts += 1;
        window.refused += u64::from(refused);
        window.false_negatives += u64::from(!refused && !hit);
        self.clock(Op::Insert, key, answer)
    }

    fn clock(&mut self, op: Op, key: &[u64], expected: Answer) -> Result<(), Fault> {
        self.timing.as_mut().map_or(Ok(()), |timing| timing.request(op, key, expected))
    }

    fn settle(&mut self) {
        if !self.newcomers.is_empty() {
            self.members.extend(&self.newcomers, self.words);
            self.newcomers.clear();
        }
    }
}

/// The exact set of keys: those of one word as they are, others up to 128 bits too, and wider
/// ones by their 128-bit XXH3, which two of 2^64 keys share.
enum Members {
    Narrow(HashSet<u64>),
    Wide(HashSet<u128>),
}

impl Members {
    fn new(words: usize) -> Self {
        if words == 1 { Self::Narrow(HashSet::new()) } else { Self::Wide(HashSet::new()) }
    }

    fn len(&self) -> usize {
        match self {
            Self::Narrow(set) => set.len(),
            Self::Wide(set) => set.len(),
        }
    }

    #[inline]
    fn contains(&self, key: &[u64]) -> bool {
        match self {
            Self::Narrow(set) => set.contains(&key[0]),
            Self::Wide(set) => set.contains(&fingerprint(key)),
        }
    }

    /// Keys that lie one after another.
    fn extend(&mut self, keys: &[u64], words: usize) {
        match self {
            Self::Narrow(set) => set.extend(keys),
            Self::Wide(set) => set.extend(keys.chunks_exact(words).map(fingerprint)),
        }
    }
}

fn fingerprint(key: &[u64]) -> u128 {
    if let [low, high] = key {
        return u128::from(*high) << 64 | u128::from(*low);
    }
    let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_le_bytes()).collect();
    xxh3_128(&bytes)
}

//! The functional view of a filter: keys in, answers out, no clock.

use serde::{Deserialize, Serialize};

use crate::{batch, cpu::Cpu, parallel, sram::Memory};

/// An operation, numbered as on the `req_op` pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// May the key be present?
    #[default]
    Query = 0,
    /// Adds the key.
    Insert = 1,
    /// Takes a key away that was inserted before.
    Remove = 2,
    /// Empties the filter.
    Clear = 3,
}

impl Op {
    /// All operations in the order of their codes.
    pub const ALL: [Op; 4] = [Op::Query, Op::Insert, Op::Remove, Op::Clear];

    /// The operation with this code (of which the low two bits count).
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Self::ALL[(bits & 3) as usize]
    }
}

/// How a request ended, numbered as on the `rsp_status` pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Done.
    #[default]
    Ok = 0,
    /// Nothing to remove.
    NotFound = 1,
    /// Insert refused, nothing changed.
    Full = 2,
    /// The core has no such operation.
    Unsupported = 3,
}

impl Status {
    /// The status with this code (of which the low two bits count).
    #[inline]
    pub fn from_bits(bits: u8) -> Self {
        [Self::Ok, Self::NotFound, Self::Full, Self::Unsupported][usize::from(bits & 3)]
    }
}

/// The result of one request: what the `rsp_hit` and `rsp_status` pins say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// QUERY: maybe present. Other operations: see the core.
    pub hit: bool,
    /// How it ended.
    pub status: Status,
}

/// A membership filter without a clock.
///
/// Keys are little-endian 64-bit words; bits above the core's `KEY_W` are
/// ignored.
pub trait Filter: Send + Sync {
    /// Adds a key.
    fn insert(&mut self, key: &[u64]) -> Answer;

    /// Whether the key may be present. Never false for a key that is.
    fn contains(&self, key: &[u64]) -> bool;

    /// Adds many keys, laid one after another, one per answer: the same as one by one.
    ///
    /// # Panics
    /// When the words of `keys` cannot be shared out evenly among the answers.
    fn insert_all(&mut self, keys: &[u64], answers: &mut [Answer]) {
        for (key, answer) in batch::split(keys, answers.len()).zip(answers) {
            *answer = self.insert(key);
        }
    }

    /// Whether each of many keys, laid one after another, may be present.
    ///
    /// # Panics
    /// When the words of `keys` cannot be shared out evenly among the answers.
    fn contains_all(&self, keys: &[u64], hits: &mut [bool]) {
        for (key, hit) in batch::split(keys, hits.len()).zip(hits) {
            *hit = self.contains(key);
        }
    }

    /// [`Filter::insert_all`] in so many threads, with the same answers and bits. Filters that
    /// cannot share the work out use one.
    fn insert_all_in(&mut self, threads: usize, keys: &[u64], answers: &mut [Answer]) {
        let _ = threads;
        self.insert_all(keys, answers);
    }

    /// [`Filter::contains_all`] in so many threads.
    fn contains_all_in(&self, threads: usize, keys: &[u64], hits: &mut [bool]) {
        parallel::contains_all(self, threads, keys, hits);
    }

    /// Takes a key away. Cores without removal answer [`Status::Unsupported`].
    fn remove(&mut self, key: &[u64]) -> Answer {
        let _ = key;
        Answer { hit: false, status: Status::Unsupported }
    }

    /// Empties the filter.
    fn clear(&mut self);

    /// Entries in the overflow list.
    fn level(&self) -> u64 {
        0
    }

    /// The memories, bit for bit as in the hardware.
    fn memories(&self) -> Vec<&Memory>;

    /// The memories to load an image into, in the order of [`Filter::memories`]. With
    /// the overflow list empty they are all that answers depend on.
    fn memories_mut(&mut self) -> Vec<&mut Memory>;

    /// Refuses memories that no sequence of requests leaves behind, where that can be
    /// seen and other methods rely on it: an image may come from anywhere. Says which
    /// row of which memory is wrong.
    fn check_memories(&self) -> Result<(), String> {
        Ok(())
    }

    /// Runs on the processor as if it were this one; answers are the same on every one.
    fn run_on(&mut self, cpu: Cpu) {
        let _ = cpu;
    }

    /// Executes one request, as the core would.
    fn apply(&mut self, op: Op, key: &[u64]) -> Answer {
        match op {
            Op::Query => Answer { hit: self.contains(key), status: Status::Ok },
            Op::Insert => self.insert(key),
            Op::Remove => self.remove(key),
            Op::Clear => {
                self.clear();
                Answer::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter that only says what every filter must.
    struct Exact(Vec<u64>);

    impl Filter for Exact {
        fn insert(&mut self, key: &[u64]) -> Answer {
            let hit = self.contains(key);
            self.0.push(key[0]);
            Answer { hit, status: Status::Ok }
        }

        fn contains(&self, key: &[u64]) -> bool {
            self.0.contains(&key[0])
        }

        fn clear(&mut self) {
            self.0.clear();
        }

        fn memories(&self) -> Vec<&Memory> {
            Vec::new()
        }

        fn memories_mut(&mut self) -> Vec<&mut Memory> {
            Vec::new()
        }
    }

    #[test]
    fn the_rest_follows_from_one_key_at_a_time() {
        let mut filter = Exact(Vec::new());
        filter.run_on(Cpu::portable());
        let mut answers = [Answer::default(); 4];
        filter.insert_all(&[3, 4, 3, 5], &mut answers);
        assert_eq!(answers.map(|answer| answer.hit), [false, false, true, false]);
        filter.insert_all_in(2, &[7, 5], &mut answers[..2]);
        assert_eq!(answers.map(|answer| answer.hit), [false, true, true, false]);
        for threads in 1..3 {
            let mut hits = [false; 5];
            filter.contains_all_in(threads, &[1, 3, 5, 6, 7], &mut hits);
            assert_eq!(hits, [false, true, true, false, true]);
        }
        let mut hits = [true; 2];
        filter.contains_all(&[1, 3], &mut hits);
        assert_eq!(hits, [false, true]);
        assert_eq!(filter.apply(Op::Remove, &[3]).status, Status::Unsupported);
        assert_eq!((filter.level(), filter.check_memories()), (0, Ok(())));
        filter.apply(Op::Clear, &[0]);
        assert!(!filter.apply(Op::Query, &[3]).hit && !filter.apply(Op::Insert, &[3]).hit);
        assert!(filter.memories().is_empty() && filter.memories_mut().is_empty());
    }
}

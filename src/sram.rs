//! Single-port SRAM: the bits, and the port that lets one access a cycle through.
//!
//! [`Memory`] is content only, so a functional filter stores its bits in it
//! directly. [`Port`] adds time: the clocked model asks it before every access.

use thiserror::Error;

use crate::{cpu::Lines, hash::extract};

/// `rows` rows of `width` bits, row after row without gaps: bit `b` of row `r` is
/// bit `r * width + b` of the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    path: String,
    rows: usize,
    width: u32,
    words: Lines,
}

impl Memory {
    /// A memory of zeros. `path` is where the RTL has it, below the top module.
    pub fn new(path: impl Into<String>, rows: usize, width: u32) -> Self {
        let words = Lines::zeros((rows * width as usize).div_ceil(64));
        Self { path: path.into(), rows, width, words }
    }

    /// Where the RTL has it, below the top module: `g_bank[0].bank.mem`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bits of a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The content as words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The content as words, to change it; those above the last row's bits stay 0.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Bit `index` of the whole memory.
    #[inline]
    pub fn bit(&self, index: u64) -> bool {
        (self.words[(index / 64) as usize] >> (index % 64)) & 1 != 0
    }

    /// Sets bit `index` of the whole memory.
    #[inline]
    pub fn set_bit(&mut self, index: u64) {
        self.words[(index / 64) as usize] |= 1 << (index % 64);
    }

    /// Reads bit `index` of the whole memory, or sets it: by arithmetic and not by
    /// a branch, because which of them comes next is hard to predict.
    #[inline]
    pub fn read_or_set_bit(&mut self, index: u64, set: bool) -> bool {
        let word = &mut self.words[(index / 64) as usize];
        let bit = (*word >> (index % 64)) & 1;
        *word |= u64::from(set) << (index % 64);
        bit != 0
    }

    /// Whether a row has an odd number of ones.
    #[inline]
    pub fn is_odd(&self, row: usize) -> bool {
        if self.width == 1 {
            return self.bit(row as u64);
        }
        let words: &[u64] = &self.words;
        if self.width == 64 {
            return words[row].count_ones() % 2 == 1;
        }
        self.places(row).fold(0, |sum, (word, bits)| sum ^ words[word] & bits).count_ones() % 2 == 1
    }

    /// Flips one bit of a row, as a soft error would.
    pub fn flip(&mut self, row: usize, bit: u32) {
        let index = row * self.width as usize + bit as usize;
        self.words[index / 64] ^= 1 << (index % 64);
    }

    /// Zeros everywhere.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Zeros in one row.
    pub fn clear_row(&mut self, row: usize) {
        let places = self.places(row);
        let words: &mut [u64] = &mut self.words;
        for (word, bits) in places {
            words[word] &= !bits;
        }
    }

    /// One row, low word first.
    pub fn row(&self, row: usize) -> Vec<u64> {
        let lsb = row * self.width as usize;
        let words = &self.words[lsb / 64..];
        let word = |from: u32| extract(words, (lsb % 64) as u32 + from, (self.width - from).min(64));
        (0..self.width).step_by(64).map(word).collect()
    }

    /// Replaces one row; bits above the width are ignored.
    pub fn set_row(&mut self, row: usize, value: &[u64]) {
        if let Some(words) = self.whole_words(row) {
            let words = &mut self.words[words];
            words.copy_from_slice(&value[..words.len()]);
            return;
        }
        let lsb = row as u64 * u64::from(self.width);
        for (from, word) in (0..self.width).step_by(64).zip(value) {
            self.set_bits(lsb + u64::from(from), (self.width - from).min(64), *word);
        }
    }

    /// Copies one row of a memory of the same shape.
    pub fn copy_row(&mut self, row: usize, from: &Self) {
        let places = self.places(row);
        let (words, from): (&mut [u64], &[u64]) = (&mut self.words, &from.words);
        for (word, bits) in places {
            words[word] = words[word] & !bits | from[word] & bits;
        }
    }

    /// Replaces `width` bits (at most 64) from bit `index` of the whole memory on.
    #[inline]
    pub fn set_bits(&mut self, index: u64, width: u32, value: u64) {
        let (word, shift) = ((index / 64) as usize, (index % 64) as u32);
        let mask = u64::MAX.unbounded_shr(64 - width);
        let words = &mut self.words[word..];
        words[0] = words[0] & !(mask << shift) | (value & mask) << shift;
        if shift + width > 64 {
            words[1] = words[1] & !(mask >> (64 - shift)) | (value & mask) >> (64 - shift);
        }
    }

    /// The words of a row that shares none with its neighbours.
    fn whole_words(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let words = self.width as usize / 64;
        self.width.is_multiple_of(64).then(|| row * words..(row + 1) * words)
    }

    /// The words that a row lies in, and which of their bits are its own.
    #[inline]
    fn places(&self, row: usize) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (lsb, end) = (row * self.width as usize, (row + 1) * self.width as usize);
        let (first, last) = (lsb / 64, (end - 1) / 64);
        (first..=last).map(move |word| {
            let above = if word == first { u64::MAX << (lsb % 64) } else { u64::MAX };
            let below = if word == last { u64::MAX >> (63 - (end - 1) % 64) } else { u64::MAX };
            (word, above & below)
        })
    }
}

/// A second access to a single-port memory in one cycle: a bug in a model.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("two accesses to single-port memory {path} in cycle {cycle}")]
pub struct Conflict {
    /// Which memory.
    pub path: String,
    /// When.
    pub cycle: u64,
}

/// What a port did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Cycles seen.
    pub cycles: u64,
    /// Cycles with a read.
    pub reads: u64,
    /// Cycles with a write.
    pub writes: u64,
}

impl PortCounts {
    /// Cycles with neither.
    pub fn idle(&self) -> u64 {
        self.cycles - self.reads - self.writes
    }

    /// Share of cycles with an access. 1 is the physical limit.
    pub fn utilization(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { (self.reads + self.writes) as f64 / self.cycles as f64 }
    }

    /// [`PortCounts::utilization`] of the busiest of some ports, if any was watched: what
    /// limits a core.
    pub fn busiest(ports: &[Self]) -> Option<f64> {
        let watched = ports.iter().filter(|port| port.cycles > 0);
        watched.map(Self::utilization).max_by(f64::total_cmp)
    }

    /// What happened since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cycles: self.cycles - earlier.cycles,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
        }
    }
}

impl std::iter::Sum for PortCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            cycles: a.cycles + b.cycles,
            reads: a.reads + b.reads,
            writes: a.writes + b.writes,
        })
    }
}

/// The one port of a memory: refuses a second access in a cycle, and counts.
#[derive(Clone, Debug)]
pub struct Port {
    last: u64,
    accesses: u64,
    writes: u64,
}

impl Default for Port {
    fn default() -> Self {
        Self { last: u64::MAX, accesses: 0, writes: 0 }
    }
}

impl Port {
    /// Claims the port of `memory` for a read in `cycle`.
    #[inline]
    pub fn read(&mut self, cycle: u64, memory: &Memory) -> Result<(), Conflict> {
        self.access(cycle, false, memory)
    }

    /// Claims the port of `memory` for a write in `cycle`.
    #[inline]
    pub fn write(&mut self, cycle: u64, memory: &Memory) -> Result<(), Conflict> {
        self.access(cycle, true, memory)
    }

    /// Claims the port of `memory` for a write, or else a read, in `cycle`.
    #[inline]
    pub fn access(&mut self, cycle: u64, write: bool, memory: &Memory) -> Result<(), Conflict> {
        self.accesses += 1;
        self.writes += u64::from(write);
        if self.last == cycle {
            return Err(Self::conflict(cycle, memory));
        }
        self.last = cycle;
        Ok(())
    }

    /// Claims the port of `memory` for one access in each of `cycles` cycles from `first` on, `writes` of them writes.
    #[inline]
    pub fn stretch(&mut self, first: u64, cycles: u64, writes: u64, memory: &Memory) -> Result<(), Conflict> {
        if cycles > 0 {
            self.access(first, writes > 0, memory)?;
            self.accesses += cycles - 1;
            self.writes += writes.saturating_sub(1);
            self.last = first + cycles - 1;
        }
        Ok(())
    }

    /// Claims the port of `memory` for so many accesses, some of them writes, in cycles from `first` to `last`.
    #[inline]
    pub fn some(
        &mut self,
        [first, last]: [u64; 2],
        [accesses, writes]: [u64; 2],
        memory: &Memory,
    ) -> Result<(), Conflict> {
        if accesses > 0 {
            self.access(first, writes > 0, memory)?;
            self.accesses += accesses - 1;
            self.writes += writes.saturating_sub(1);
            self.last = last;
        }
        Ok(())
    }

    /// Apart, because it never happens and would only be in the way of what does.
    #[cold]
    pub(crate) fn conflict(cycle: u64, memory: &Memory) -> Conflict {
        Conflict { path: memory.path.clone(), cycle }
    }

    /// The counts after `cycles` cycles.
    pub fn counts(&self, cycles: u64) -> PortCounts {
        PortCounts { cycles, reads: self.accesses - self.writes, writes: self.writes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_width() {
        for width in [1, 7, 33, 64, 100, 512] {
            let mut memory = Memory::new("m", 9, width);
            let words = width.div_ceil(64) as usize;
            let mut top = vec![u64::MAX; words];
            top[words - 1] = u64::MAX >> ((64 - width % 64) % 64);
            memory.set_row(4, &vec![u64::MAX; words]);
            assert_eq!(memory.row(4), top);
            assert_eq!(memory.row(3), vec![0; words]);
            assert_eq!(memory.row(5), vec![0; words]);
            memory.set_bit(3 * u64::from(width));
            memory.clear_row(4);
            assert_eq!(memory.row(4), vec![0; words]);
            assert_eq!(memory.row(3)[0], 1);
            let mut copy = Memory::new("m", 9, width);
            copy.copy_row(3, &memory);
            copy.copy_row(4, &memory);
            assert_eq!(copy, memory);
            let some = width.min(5);
            memory.set_bits(4 * u64::from(width), some, 0b10101);
            assert_eq!(memory.row(4)[0], 0b10101 & (u64::MAX >> (64 - some)));
            memory.set_bits(4 * u64::from(width), some, 0);
            assert_eq!(copy, memory);
        }
    }

    #[test]
    fn memories_and_their_copies_start_with_a_cache_line() {
        for width in [1, 64, 512] {
            let mut memory = Memory::new("m", 100, width);
            memory.set_bit(99);
            let copy = memory.clone();
            assert_eq!(copy, memory);
            assert_eq!(copy.words().len(), 100 * width as usize / 64 + usize::from(width == 1));
            for words in [memory.words(), copy.words()] {
                assert_eq!(words.as_ptr().align_offset(64), 0);
            }
        }
    }

    #[test]
    fn second_access_is_refused_and_counts_are_kept() {
        let memory = Memory::new("m", 4, 1);
        let mut port = Port::default();
        port.read(0, &memory).unwrap();
        port.write(1, &memory).unwrap();
        let error = port.read(1, &memory).unwrap_err();
        assert_eq!(error, Conflict { path: "m".into(), cycle: 1 });
        let mut port = Port::default();
        port.read(0, &memory).unwrap();
        port.access(1, true, &memory).unwrap();
        port.access(5, false, &memory).unwrap();
        let mut busy = port.clone();
        busy.stretch(6, 0, 0, &memory).unwrap();
        busy.stretch(6, 3, 2, &memory).unwrap();
        busy.stretch(9, 2, 0, &memory).unwrap();
        assert_eq!(busy.counts(11), PortCounts { cycles: 11, reads: 5, writes: 3 });
        assert_eq!(busy.read(10, &memory).unwrap_err().cycle, 10);
        assert_eq!(busy.stretch(10, 5, 5, &memory).unwrap_err().cycle, 10);
        let mut some = port.clone();
        some.some([6, 5], [0, 0], &memory).unwrap();
        some.some([6, 9], [3, 2], &memory).unwrap();
        assert_eq!(some.counts(10), PortCounts { cycles: 10, reads: 3, writes: 3 });
        assert_eq!(some.write(9, &memory).unwrap_err().cycle, 9);
        assert_eq!(some.some([9, 12], [2, 0], &memory).unwrap_err().cycle, 9);
        let counts = port.counts(8);
        assert_eq!(counts, PortCounts { cycles: 8, reads: 2, writes: 1 });
        assert_eq!(counts.idle(), 5);
        assert_eq!(PortCounts::busiest(&[PortCounts::default(), counts, port.counts(16)]), Some(0.375));
        assert_eq!(PortCounts::busiest(&[PortCounts::default()]), None);
        assert!((counts.utilization() - 0.375).abs() < 1e-12);
    }
}

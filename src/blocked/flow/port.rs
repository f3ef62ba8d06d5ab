//! The memory in a stretch, and when its port is free.

use std::slice::from_mut;

use crate::{
    block_port::{InFlight, Kind},
    blocked::clocked::{NONE, Read},
    cpu::opaque,
    sram::Memory,
};

use super::log::WRONG;

/// Whether an operation in flight will write its row.
#[inline(always)]
pub fn changes(op: Option<InFlight<Read>>) -> bool {
    op.is_some_and(|op| (op.kind == Kind::Modify) & !op.meta.is_set())
}

pub struct Port<'a> {
    memory: &'a mut [u64],
    /// By row, if there is parity.
    parity: &'a mut [u64],
    /// Bits of a row.
    width: usize,
    /// Of the number of a row that shares its word with others: bits below that of the word.
    shared: u32,
    /// Those of a row that shares its word with others, if it were the first; else all.
    own: u64,
    /// Inserts write when they go.
    masked: u64,
    /// The first cycle in which the next access may go.
    cycle: usize,
    /// A write-back has the port in that cycle.
    writes_back: u64,
    /// The row of the access in the cycle before, if that may still write it, and whether it will.
    changing: u64,
    changes: u64,
}

impl<'a> Port<'a> {
    /// At this cycle, with these operations in flight, whose rows are written.
    #[inline(always)]
    pub fn new(
        memory: &'a mut Memory,
        parity: &'a mut [u64],
        masked: bool,
        cycle: usize,
        [s3, s4]: [Option<InFlight<Read>>; 2],
    ) -> Self {
        let width = memory.width();
        Self {
            width: width as usize,
            shared: if width < 64 { 6 - width.ilog2() } else { 0 },
            own: u64::MAX.unbounded_shr(64_u32.saturating_sub(width)),
            memory: memory.words_mut(),
            parity,
            masked: masked.into(),
            cycle,
            writes_back: changes(s4).into(),
            changing: s3.filter(|op| op.kind == Kind::Modify).map_or(NONE, |op| op.row) as u64,
            changes: changes(s3).into(),
        }
    }

    #[inline(always)]
    fn waits(&self, row: usize) -> u64 {
        self.writes_back | u64::from(row as u64 == self.changing)
    }

    /// When the next access goes, which is to this row.
    #[inline(always)]
    pub fn when(&self, row: usize) -> usize {
        let waits = self.waits(row);
        // After a cycle, what went just before is in the last stage, and may take the port for another.
        self.cycle + (waits + (waits & self.changes)) as usize
    }

    /// The first cycle in which surely so many accesses, whatever they are, have gone.
    #[inline(always)]
    pub fn all_gone(&self, accesses: usize) -> usize {
        self.cycle + 3 * accesses
    }

    /// Accesses a row in that cycle. What is not written back `in_time` is left as it is: no other access comes to that row
    /// before. Says whether all bits were set, 0 or 1, and what else the log should know.
    #[inline(always)]
    pub fn access<const N: usize, const PARITY: bool>(
        &mut self,
        cycle: usize,
        row: usize,
        bits: impl Fn(usize) -> u64,
        insert: u64,
        in_time: bool,
    ) -> (u64, u64) {
        // With parity no memory is masked.
        let masked = if PARITY { 0 } else { self.masked };
        let in_time = u64::from(in_time) | masked;
        let mut writes = (insert & in_time).wrapping_neg();
        if N == 1 {
            // A compiler that knows it to be one of two masks makes a branch of it. More words are better not written.
            writes = opaque(writes);
        }
        let len = if N > 0 { N } else { self.width / 64 };
        // The next access may wait for this one's address: no product, if there is another way.
        let first = match N {
            0 => row * self.width / 64,
            1 => row >> self.shared,
            _ => row * N,
        };
        let words = if N == 1 { from_mut(&mut self.memory[first]) } else { &mut self.memory[first..][..len] };
        // A write does not read.
        let mut missing = insert & masked;
        let (mut read, mut new) = (0, 0);
        for (i, word) in words.iter_mut().enumerate() {
            let bits = bits(i);
            missing |= bits & !*word;
            new ^= bits & !*word;
            read ^= *word;
            *word |= bits & writes;
        }
        let set = u64::from(missing == 0);
        let modifies = insert & !masked;
        self.writes_back = self.changes & !self.waits(row);
        self.changing = row as u64 | modifies.wrapping_sub(1);
        self.changes = modifies & !set;
        self.cycle = cycle + 1;
        let mut flags = 0;
        if PARITY {
            let odd = |sum: u64| u64::from(sum.count_ones() % 2);
            let read = odd(read >> (row * self.width % 64) & self.own);
            let stored = &mut self.parity[row / 64];
            let bit = *stored >> (row % 64) & 1;
            flags |= (bit ^ read) << WRONG;
            // Whatever it was, what is written has the right one.
            *stored ^= ((bit ^ read ^ odd(new)) & self.changes & in_time) << (row % 64);
        }
        (set, flags)
    }
}

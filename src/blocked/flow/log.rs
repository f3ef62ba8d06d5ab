//! What happens in a stretch, cycle by cycle, as far as it can be seen.

use crate::{
    blocked::clocked::GROUPS,
    cpu::GROUP,
    filter::Status,
    parity::Parity,
    pins::{FilterPins, Outputs},
};

/// Cycles from an access to its write-back, and to its response.
pub const LATER: usize = 2;
/// In more cycles it is not known what comes.
pub const LONGEST: usize = GROUPS * GROUP;

/// What is known of an access, in bits above all pins, which are 40 at most: it is an insert, all its bits were set, there is one at all, and
/// the row read has wrong parity.
pub const INSERT: u32 = 63;
pub const SET: u32 = 62;
pub const TAKEN: u32 = 61;
pub const WRONG: u32 = 60;
pub const FLAGS: u64 = u64::MAX << WRONG;

/// 1 if the access is followed by a write-back, or is a write.
#[inline(always)]
pub fn writes(entry: u64) -> u64 {
    (entry & !(entry << (INSERT - SET))) >> INSERT
}

/// See [`Log::show`].
pub struct Counts {
    /// Words that went.
    pub words: usize,
    /// Those of them that write at once or later.
    pub writes: u64,
    /// Those that were the last of a request.
    pub requests: usize,
}

/// By cycle: the response that pins show, and what is known of its access, which was [`LATER`] cycles before.
pub struct Log<'a> {
    pub entries: [u64; LONGEST + LATER],
    valid: u64,
    pub hit: u64,
    pins: &'a FilterPins,
    first: usize,
    end: usize,
}

impl<'a> Log<'a> {
    #[inline(always)]
    pub fn new(pins: &'a FilterPins, valid: u64, [first, end]: [usize; 2]) -> Self {
        debug_assert!(pins.map().output_bits() <= WRONG, "flags have bits of their own");
        let hit = pins.pack_outputs(&Outputs { hit: true, ..Outputs::default() });
        Self { entries: [0; _], valid, hit, pins, first, end }
    }

    /// A response of a request from before the stretch.
    #[inline(always)]
    pub fn respond(&mut self, cycle: usize, hit: bool, status: Status, tag: u64) {
        let status = status as u8;
        let outputs = Outputs { rsp_valid: true, hit, status, tag, ..Outputs::default() };
        self.entries[self.first + cycle] |= self.pins.pack_outputs(&outputs);
    }

    /// Rows with wrong parity were read before the stretch.
    #[inline(always)]
    pub fn err(&mut self, pending: [bool; LATER]) {
        for (entry, error) in self.entries[self.first..].iter_mut().zip(pending) {
            *entry |= u64::from(error) << WRONG;
        }
    }

    /// The entries of what is still in flight at the end.
    #[inline(always)]
    pub fn left(&self) -> [u64; LATER] {
        [self.entries[self.end], self.entries[self.end + 1]]
    }

    /// The cycles in which requests were accepted, the latest first.
    #[inline(always)]
    pub fn last_accepted(&self) -> impl Iterator<Item = usize> {
        (self.first..self.end).rev().filter(|cycle| self.entries[cycle + LATER] & self.valid != 0)
    }

    /// The pins in each cycle but for errors, and what went.
    #[inline(always)]
    pub fn show(&self, outputs: &mut [u64]) -> Counts {
        let busy = self.pins.pack_outputs(&Outputs { busy: true, ..Outputs::default() });
        let ready = self.pins.pack_outputs(&Outputs { req_ready: true, ..Outputs::default() });
        let valid = self.valid.trailing_zeros();
        let up = ready.trailing_zeros() - valid;
        let entries = self.entries[self.first..].iter().zip(&self.entries[self.first + LATER..]);
        let mut sums = [0; 3];
        for (output, (now, later)) in outputs.iter_mut().zip(entries) {
            // The last access of a request, to which the response comes later, makes room for another.
            *output = busy | now & !FLAGS | (later & self.valid) << up;
            sums[0] += later >> TAKEN & 1;
            sums[1] += writes(*later);
            sums[2] += later >> valid & 1;
        }
        Counts { words: sums[0] as usize, writes: sums[1], requests: sums[2] as usize }
    }

    /// The pin that parity errors raise, once and for all.
    #[inline(always)]
    pub fn show_errors(&self, parity: &mut Parity, outputs: &mut [u64]) {
        let entries = &self.entries[self.first..self.end + LATER];
        if entries.iter().fold(0, |all, entry| all | entry) >> WRONG & 1 == 0 {
            return;
        }
        let pin = self.pins.pack_outputs(&Outputs { parity_error: true, ..Outputs::default() });
        let mut error = 0;
        for (output, entry) in outputs.iter_mut().zip(entries) {
            error |= entry >> WRONG & 1;
            *output |= error * pin;
        }
        let [now, next] = self.left().map(|entry| entry >> WRONG & 1 == 1);
        parity.set_pending([now || error == 1, next]);
    }
}

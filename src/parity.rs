//! The parity bit that a memory row may have on top (`PARITY=1`): what is stored, and the
//! error pin that a row with wrong parity raises when it is read.
//!
//! The functional models know nothing of it, because it changes no answer. A clocked model
//! keeps the parity bits beside its memories and tells [`Parity`] of every access; images
//! get theirs from [`stored`] when they are written, and lose them to [`checked`] when they
//! are read.
//!
//! ```
//! use membrane::{parity, sram::Memory};
//!
//! let mut memory = Memory::new("bank.mem", 2, 8);
//! memory.set_row(1, &[0b111]);
//! let mut stored = parity::stored(&memory);
//! assert_eq!(stored.row(1), [0b1_0000_0111]); // an even number of ones
//! assert_eq!(parity::checked(&stored), Ok(memory));
//! stored.flip(1, 0);
//! assert_eq!(parity::checked(&stored), Err(1));
//! ```

use crate::{block_port::Access, hash::extract, params::Params, sram::Memory};

/// Whether the memories of a core with these parameters have parity bits.
pub fn is_on(params: &Params) -> bool {
    params.get("PARITY").is_some_and(|parity| parity > 0)
}

/// The memory with a parity bit on top of each row.
pub fn stored(memory: &Memory) -> Memory {
    with_bits(memory, |row| memory.is_odd(row))
}

/// The memory without the parity bits of its rows, or the first row whose parity is wrong.
pub fn checked(stored: &Memory) -> Result<Memory, usize> {
    let mut memory = Memory::new(stored.path(), stored.rows(), stored.width() - 1);
    for row in 0..stored.rows() {
        if stored.is_odd(row) {
            return Err(row);
        }
        memory.set_row(row, &stored.row(row));
    }
    Ok(memory)
}

fn with_bits(memory: &Memory, odd: impl Fn(usize) -> bool) -> Memory {
    let mut stored = Memory::new(memory.path(), memory.rows(), memory.width() + 1);
    let width = memory.width();
    for row in 0..memory.rows() {
        let (from, to) = (row as u64 * u64::from(width), row as u64 * u64::from(width + 1));
        for bit in (0..width).step_by(64) {
            let (at, some) = (from + u64::from(bit), (width - bit).min(64));
            let bits = extract(&memory.words()[(at / 64) as usize..], (at % 64) as u32, some);
            stored.set_bits(to + u64::from(bit), some, bits);
        }
        stored.set_bits(to + u64::from(width), 1, odd(row).into());
    }
    stored
}

/// The parity bits of a core's memories, and `membrane_parity`: the registers between a read
/// and the pin.
#[derive(Clone, Debug)]
pub struct Parity {
    /// One bit per row, per memory.
    bits: Vec<Memory>,
    /// A row read in this cycle has wrong parity.
    reading: bool,
    /// One read in the last cycle has.
    arrived: bool,
    error: bool,
}

impl Parity {
    /// For memories of zeros.
    pub fn new<'m>(memories: impl IntoIterator<Item = &'m Memory>) -> Self {
        let bits = memories.into_iter().map(|memory| Memory::new(memory.path(), memory.rows(), 1));
        Self { bits: bits.collect(), reading: false, arrived: false, error: false }
    }

    /// The `parity_error` pin.
    #[inline]
    pub fn error(&self) -> bool {
        self.error
    }

    /// Whether a row of memory number `index` has wrong parity.
    #[inline]
    pub fn is_wrong(&self, index: usize, memory: &Memory, row: usize) -> bool {
        memory.is_odd(row) != self.bits[index].bit(row as u64)
    }

    /// A row of memory number `index` was read in this cycle.
    #[inline]
    pub fn read(&mut self, index: usize, memory: &Memory, row: usize) {
        self.reading |= self.is_wrong(index, memory, row);
    }

    /// A row of memory number `index` was written, and holds what `memory` does.
    #[inline]
    pub fn write(&mut self, index: usize, memory: &Memory, row: usize) {
        self.bits[index].set_bits(row as u64, 1, memory.is_odd(row).into());
    }

    /// A row of memory number `index` was written, or else read, and has an odd number of ones now or not: both of the above by
    /// arithmetic, for cores in which chance decides between them.
    #[inline]
    pub fn access(&mut self, index: usize, row: usize, write: bool, odd: bool) {
        let word = &mut self.bits[index].words_mut()[row / 64];
        let differs = (*word >> (row % 64) & 1) ^ u64::from(odd);
        self.reading |= !write && differs != 0;
        *word ^= (differs & u64::from(write)) << (row % 64);
    }

    /// The rising edge.
    #[inline]
    pub fn clock(&mut self) {
        self.error |= self.arrived;
        self.arrived = std::mem::take(&mut self.reading);
    }

    /// The parity bits of memory number `index`, for cycles of which [`Parity::stretch`] is told.
    #[inline]
    pub fn words_mut(&mut self, index: usize) -> &mut [u64] {
        self.bits[index].words_mut()
    }

    /// Up to 62 cycles at once, where `wrong` has a one for every cycle in which a row was read that has wrong parity:
    /// the pin in each of them.
    #[inline]
    pub fn stretch(&mut self, wrong: u64, cycles: u32) -> u64 {
        let rises = u64::from(self.error) | u64::from(self.arrived) << 1 | wrong << 2;
        // From the first one on: a shift by 64 leaves nothing.
        let pin = u64::MAX.unbounded_shl(rises.trailing_zeros());
        self.error = pin >> cycles & 1 != 0;
        self.arrived = rises >> (cycles + 1) & 1 != 0;
        pin
    }

    /// The pin in this cycle and in the next.
    #[inline]
    pub fn pending(&self) -> [bool; 2] {
        [self.error, self.arrived]
    }

    /// After many cycles at once: the pin in the next cycle and in the one after that. It stays high.
    #[inline]
    pub fn set_pending(&mut self, [error, arrived]: [bool; 2]) {
        (self.error, self.arrived) = (error, arrived);
    }

    /// The rising edge of a core with one memory, whose port made this access.
    #[inline]
    pub fn clock_with(&mut self, memory: &Memory, access: Option<Access>) {
        match access {
            Some(Access::Read(row)) => self.read(0, memory, row),
            Some(Access::Write(row)) => self.write(0, memory, row),
            None => {}
        }
        self.clock();
    }

    /// A rising edge with `rst` high, after [`Parity::clock`].
    pub fn reset(&mut self) {
        self.arrived = false;
        self.error = false;
    }

    /// Memory number `index` as the hardware stores it.
    pub fn stored(&self, index: usize, memory: &Memory) -> Memory {
        with_bits(memory, |row| self.bits[index].bit(row as u64))
    }

    /// A soft error in the parity bit of a row.
    pub fn upset(&mut self, index: usize, row: usize) {
        self.bits[index].flip(row, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_single_flip_is_noticed_at_any_width() {
        for width in [1, 5, 63, 64, 65, 200, 512] {
            let mut memory = Memory::new("m", 3, width);
            memory.set_row(1, &vec![0x9e37_79b9_7f4a_7c15; width.div_ceil(64) as usize]);
            let stored = stored(&memory);
            assert_eq!((stored.width(), checked(&stored)), (width + 1, Ok(memory)));
            for bit in 0..=width {
                for row in 0..3 {
                    let mut upset = stored.clone();
                    upset.flip(row, bit);
                    assert_eq!(checked(&upset), Err(row), "bit {bit} of {width}");
                }
            }
        }
    }

    #[test]
    fn a_stretch_is_cycle_by_cycle() {
        let memory = Memory::new("m", 2, 1);
        for cycles in [1, 2, 3, 5, 32, 62] {
            for wrong in (0..cycles).map(|i| 1 << i).chain([0, 3, 0b1001]) {
                for state in 0..4 {
                    let mut parity = Parity::new([&memory]);
                    (parity.error, parity.arrived) = (state & 1 != 0, state & 2 != 0);
                    let mut stepped = parity.clone();
                    let pin = (0..cycles).fold(0, |pin, i| {
                        let now = u64::from(stepped.error()) << i;
                        stepped.reading = wrong >> i & 1 != 0;
                        stepped.clock();
                        pin | now
                    });
                    let wrong = wrong & (u64::MAX >> (64 - cycles));
                    assert_eq!(parity.stretch(wrong, cycles) & (u64::MAX >> (64 - cycles)), pin);
                    assert_eq!((parity.error, parity.arrived), (stepped.error, stepped.arrived));
                }
            }
        }
    }

    #[test]
    fn the_pin_is_high_two_cycles_after_the_read_until_reset() {
        let mut memory = Memory::new("m", 2, 9);
        let mut parity = Parity::new([&memory]);
        memory.set_row(1, &[3]);
        parity.write(0, &memory, 1);
        memory.flip(1, 8);
        let mut pin = Vec::new();
        for row in [0, 1, 0, 0, 0] {
            pin.push(parity.error());
            parity.read(0, &memory, row);
            parity.clock();
        }
        assert_eq!(pin, [false, false, false, true, true]);
        // A reset forgets what is on its way, and so does a write what was wrong.
        parity.read(0, &memory, 1);
        parity.clock();
        parity.reset();
        parity.clock();
        parity.clock();
        assert!(!parity.error());
        parity.write(0, &memory, 1);
        parity.read(0, &memory, 1);
        parity.clock();
        parity.clock();
        assert!(!parity.error());
        // Both in one: whatever the row and its parity bit are.
        for case in 0..8 {
            let (write, odd, stored) = (case & 1 != 0, case & 2 != 0, case & 4 != 0);
            memory.set_row(1, &[odd.into()]);
            parity.bits[0].set_bits(1, 1, stored.into());
            parity.reading = false;
            let mut both = parity.clone();
            both.access(0, 1, write, odd);
            if write {
                parity.write(0, &memory, 1);
            } else {
                parity.read(0, &memory, 1);
            }
            assert_eq!((both.reading, &both.bits), (parity.reading, &parity.bits), "case {case}");
        }
        parity.write(0, &memory, 1);
        parity.upset(0, 1);
        assert_eq!(checked(&parity.stored(0, &memory)), Err(1));
    }
}

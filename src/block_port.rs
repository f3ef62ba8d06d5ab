//! The time of `membrane_block_port`, the scheduler of all cores that modify what
//! they read: one single-port memory, write-backs first, reads in every other
//! cycle.
//!
//! The Verilog's header defines the behaviour. Here is only *when* each operation
//! gets the port; what it reads and writes is the user's, who does it in the same
//! cycle on the [`Memory`]:
//!
//! 1. look at [`BlockPort::last`], decide `advance` and `write_back`;
//! 2. ask [`BlockPort::ready`] for the operation that waits, decide whether it is
//!    taken;
//! 3. on `advance && write_back`, write the row of the last operation;
//!    when a [`Kind::Read`], [`Kind::Modify`] or [`Kind::Write`] is taken, do that
//!    access now and put what it read into the metadata;
//! 4. call [`BlockPort::clock`], which moves the stages, clears rows, counts the
//!    accesses, and refuses two in a cycle. It says what the port did, for those who keep
//!    parity bits beside the memory.
//!
//! It is nothing but registers, so that a model that plays many cycles may hold a copy of it
//! in a variable of its own, and the compiler keeps that out of memory.
//!
//! Reading at the moment the operation is taken gives what the RTL sees one cycle
//! later, because nothing in flight may write that row any more: that is what the
//! hazard rule is for.
//!
//! ```
//! use membrane::{block_port::{BlockPort, Kind}, sram::Memory};
//!
//! let mut memory = Memory::new("port.memory.mem", 2, 64);
//! let mut port = BlockPort::new(2, 1); // STAGES = 1
//! port.clock(&mut memory, true, false, None, None)?; // row 0 of the sweep
//! port.clock(&mut memory, true, false, None, None)?; // row 1
//! let mut wait = 0;
//! for _ in 0..2 {
//!     // Two MODIFY of one row: the second waits STAGES + 1 cycles.
//!     while !port.ready(true, port.last().is_some(), Kind::Modify, 0) {
//!         port.clock(&mut memory, true, port.last().is_some(), Some(Kind::Modify), None)?;
//!         wait += 1;
//!     }
//!     let write_back = port.last().is_some();
//!     port.clock(&mut memory, true, write_back, Some(Kind::Modify), Some((0, ())))?;
//! }
//! assert_eq!(wait, 2);
//! # Ok::<(), membrane::sram::Conflict>(())
//! ```

use crate::sram::{Conflict, Memory, Port, PortCounts};

/// What an operation does, numbered as on the `op_kind` pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// No access: keeps its place in the order.
    #[default]
    None = 0,
    /// Reads the row.
    Read = 1,
    /// Reads the row, and may write it back `STAGES + 1` cycles later.
    Modify = 2,
    /// Writes the row at once.
    Write = 3,
    /// Writes zeros to all rows.
    Clear = 4,
}

impl Kind {
    /// Whether it takes the port when it goes.
    #[inline]
    pub fn accesses(self) -> bool {
        self.reads() || self == Self::Write
    }

    /// Whether it reads the row when it goes.
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Modify)
    }
}

/// An operation in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlight<M> {
    /// What it does.
    pub kind: Kind,
    /// Its row.
    pub row: usize,
    /// What the user sent along.
    pub meta: M,
}

/// What the port did in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read this row.
    Read(usize),
    /// Wrote this row, which the memory now holds.
    Write(usize),
}

/// An operation as a number, because what is put together from parts is moved part by part: its
/// kind and 1 in the lowest bits, its row above. 0 is none.
#[inline(always)]
fn packed(kind: Kind, row: usize) -> u64 {
    (row as u64) << KIND_W | (kind as u64 + 1)
}

const KIND_W: u32 = 3;

/// Whether an operation may still write its row.
#[inline(always)]
fn modifies(op: u64) -> bool {
    op % (1 << KIND_W) == Kind::Modify as u64 + 1
}

/// The lowest bits of the row of an operation that may still write it, and a one above them; else 0.
#[inline(always)]
fn short(op: u64) -> u64 {
    if modifies(op) { op >> KIND_W & 0x7f | 0x80 } else { 0 }
}

/// One in every byte.
const BYTES: u64 = 0x0101_0101_0101_0101;

/// The scheduler's registers, for up to `PLACES - 1` stages. See the module.
#[derive(Clone, Copy, Debug)]
pub struct BlockPort<M, const PLACES: usize = 8> {
    rows: usize,
    /// A ring of `STAGES + 1` places; the last stage is at `last`, stage 0 just
    /// before it. Where there are two, they are stage 0 and the last one.
    stages: [u64; PLACES],
    metas: [M; PLACES],
    /// The same in short, for up to eight stages: a byte each, stage 0 lowest, of the row of a [`Kind::Modify`].
    short: u64,
    /// `STAGES + 1`.
    used: usize,
    last: usize,
    in_flight: usize,
    sweep: bool,
    cleared: bool,
    row: usize,
    accesses: u64,
    writes: u64,
    cycle: u64,
}

impl<M: Copy + Default> BlockPort<M> {
    /// The port of a memory of `rows` rows just after a reset edge, with `stages`
    /// register stages between read and write-back.
    ///
    /// # Panics
    /// When there are more than 7 stages.
    pub fn new(rows: usize, stages: usize) -> Self {
        Self { used: stages + 1, ..Self::filled(rows) }.checked()
    }

    fn checked(self) -> Self {
        assert!(self.used <= self.stages.len(), "room for {} stages", self.stages.len() - 1);
        self
    }
}

impl<M: Copy + Default, const PLACES: usize> BlockPort<M, PLACES> {
    /// With two places the stages move, in registers of the processor. With more it is less
    /// work to move a number.
    const MOVES: bool = PLACES <= 2;

    /// The same with as many stages as there is room for.
    pub fn filled(rows: usize) -> Self {
        Self {
            rows,
            stages: [0; PLACES],
            metas: [M::default(); PLACES],
            short: 0,
            used: PLACES,
            last: 0,
            in_flight: 0,
            sweep: true,
            cleared: false,
            row: 0,
            accesses: 0,
            writes: 0,
            cycle: 0,
        }
    }

    /// Where the last stage is.
    #[inline(always)]
    fn last_place(&self) -> usize {
        if Self::MOVES { PLACES - 1 } else { self.last % PLACES }
    }

    /// The operation in the last stage: `wb_valid` and `wb_meta`.
    #[inline(always)]
    pub fn last(&self) -> Option<InFlight<M>> {
        self.in_place(self.last_place())
    }

    #[inline(always)]
    fn in_place(&self, place: usize) -> Option<InFlight<M>> {
        const KINDS: [Kind; 8] = [
            Kind::None,
            Kind::None,
            Kind::Read,
            Kind::Modify,
            Kind::Write,
            Kind::Clear,
            Kind::None,
            Kind::None,
        ];
        let (op, meta) = (self.stages[place], self.metas[place]);
        let kind = KINDS[(op % (1 << KIND_W)) as usize];
        (op != 0).then_some(InFlight { kind, row: (op >> KIND_W) as usize, meta })
    }

    /// Whether the operation in the last stage is a [`Kind::Modify`].
    #[inline(always)]
    pub fn last_modifies(&self) -> bool {
        modifies(self.stages[self.last_place()])
    }

    /// [`BlockPort::ready`] for an operation that accesses a row, where all stages advance, and nothing is cleared.
    #[inline(always)]
    pub(crate) fn goes(&self, write_back: bool, row: usize) -> bool {
        !self.writes_back(write_back) & !self.hazard(row)
    }

    /// [`BlockPort::clock`] in such a cycle, with an operation that goes: by [`BlockPort::goes`] it is the only access.
    #[inline(always)]
    pub(crate) fn flow(&mut self, kind: Kind, row: usize, meta: M) -> Access {
        let writes = kind == Kind::Write;
        self.cycle += 1;
        self.accesses += 1;
        self.writes += u64::from(writes);
        self.shift(packed(kind, row), meta);
        if writes { Access::Write(row) } else { Access::Read(row) }
    }

    /// The same with one that does not go.
    #[inline(always)]
    pub(crate) fn wait(&mut self, write_back: bool) -> Option<Access> {
        let (writes, row) =
            (self.writes_back(write_back), (self.stages[self.last_place()] >> KIND_W) as usize);
        self.cycle += 1;
        self.accesses += u64::from(writes);
        self.writes += u64::from(writes);
        self.shift(0, M::default());
        writes.then_some(Access::Write(row))
    }

    /// [`BlockPort::clock`] in a cycle in which nothing advances, and nothing is cleared.
    #[inline(always)]
    pub(crate) fn hold(&mut self) {
        self.cycle += 1;
    }

    /// `wb_meta`, if `wb_valid`.
    #[inline(always)]
    pub fn last_meta(&self) -> Option<M> {
        (self.stages[self.last_place()] != 0).then_some(self.metas[self.last_place()])
    }

    /// The `busy` pin.
    #[inline(always)]
    pub fn busy(&self) -> bool {
        self.sweep || !self.is_empty()
    }

    /// Nothing is in flight.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        // Of two stages it is seen at once; more are counted.
        if Self::MOVES { self.stages.iter().all(|op| *op == 0) } else { self.in_flight == 0 }
    }

    /// The `sweep` pin: clearing after reset.
    #[inline(always)]
    pub fn sweeping(&self) -> bool {
        self.sweep
    }

    /// Whether `write_back` (the `wb_write` pin) takes the port in this cycle, if it
    /// advances.
    #[inline(always)]
    fn writes_back(&self, write_back: bool) -> bool {
        write_back & self.last_modifies()
    }

    /// A MODIFY before the last stage may still write this row.
    #[inline(always)]
    fn hazard(&self, row: usize) -> bool {
        let modify = packed(Kind::Modify, row);
        if PLACES == 2 {
            return self.stages[0] == modify;
        }
        // To look at all of them takes long, just after one was written.
        let same = self.short ^ (short(modify) * BYTES);
        // The lowest byte that is zero borrows from its top bit. The last stage does not count.
        let zeros = same.wrapping_sub(BYTES) & !same & BYTES << 7;
        let maybe = zeros.unbounded_shl(64 - 8 * (self.used as u32 - 1)) != 0;
        if !maybe || self.rows <= 1 << 7 {
            return maybe;
        }
        // All but the last, in any order, and without a branch for each.
        let same = self.stages.iter().map(|op| usize::from(*op == modify)).sum::<usize>();
        same > usize::from(self.stages[self.last_place()] == modify)
    }

    /// The `op_ready` pin. `write_back` is the `wb_write` pin.
    #[inline(always)]
    pub fn ready(&self, advance: bool, write_back: bool, kind: Kind, row: usize) -> bool {
        advance
            && !self.sweep
            && if kind.accesses() {
                !self.writes_back(write_back) && !self.hazard(row)
            } else {
                kind == Kind::None || self.cleared
            }
    }

    /// The rising edge. `offered` is the kind of the operation on the `op_*` pins,
    /// if `op_valid`; `taken` its row and metadata, if `op_take`. Tells what the port did.
    ///
    /// # Errors
    /// When the user takes an operation that is not [`BlockPort::ready`], so that the
    /// memory would be accessed twice.
    #[inline(always)]
    pub fn clock(
        &mut self,
        memory: &mut Memory,
        advance: bool,
        write_back: bool,
        offered: Option<Kind>,
        taken: Option<(usize, M)>,
    ) -> Result<Option<Access>, Conflict> {
        let cycle = self.cycle;
        self.cycle += 1;
        let kind = offered.unwrap_or_default();
        let taken = taken.filter(|_| advance);
        let writes_back = advance & self.writes_back(write_back);
        let clears = self.sweep || kind == Kind::Clear && !self.cleared && self.is_empty();
        let goes = taken.is_some() & kind.accesses();
        if u8::from(writes_back) + u8::from(clears) + u8::from(goes) > 1 {
            return Err(Port::conflict(cycle, memory));
        }
        let writes = kind == Kind::Write;
        self.accesses += u64::from(goes | writes_back | clears);
        self.writes += u64::from(goes & writes | writes_back | clears);
        let mut access = None;
        if let Some((row, _)) = taken.filter(|_| goes) {
            access = Some(if writes { Access::Write(row) } else { Access::Read(row) });
        } else if writes_back {
            access = Some(Access::Write((self.stages[self.last_place()] >> KIND_W) as usize));
        } else if clears {
            access = Some(Access::Write(self.row));
            self.clear_row(memory);
        }
        if advance {
            self.cleared &= !(taken.is_some() && kind == Kind::Clear);
            let (op, meta) = taken.map_or((0, M::default()), |(row, meta)| (packed(kind, row), meta));
            self.shift(op, meta);
        }
        Ok(access)
    }

    // A call would take the registers to memory, and so would all others here.
    #[inline(always)]
    fn clear_row(&mut self, memory: &mut Memory) {
        memory.clear_row(self.row);
        self.row += 1;
        if self.row == self.rows {
            self.row = 0;
            self.cleared = !self.sweep;
            self.sweep = false;
        }
    }

    /// All stages move by one.
    #[inline(always)]
    fn shift(&mut self, op: u64, meta: M) {
        if Self::MOVES {
            self.stages.rotate_right(1);
            self.metas.rotate_right(1);
            (self.stages[0], self.metas[0]) = (op, meta);
        } else {
            let last = self.last_place();
            self.short = self.short << 8 | short(op);
            self.in_flight += usize::from(op != 0);
            self.in_flight -= usize::from(self.stages[last] != 0);
            (self.stages[last], self.metas[last]) = (op, meta);
            self.last = if last + 1 == self.used { 0 } else { last + 1 };
        }
    }

    /// A rising edge with `rst` high, after [`BlockPort::clock`]: the access of that
    /// cycle is still made.
    #[inline(always)]
    pub fn reset(&mut self) {
        self.stages = [0; PLACES];
        self.metas = [M::default(); PLACES];
        self.short = 0;
        self.in_flight = 0;
        self.sweep = true;
        self.cleared = false;
        self.row = 0;
    }

    /// What the memory's port did so far.
    pub fn counts(&self) -> PortCounts {
        PortCounts { cycles: self.cycle, reads: self.accesses - self.writes, writes: self.writes }
    }
}

impl<M: Copy + Default> BlockPort<M, 2> {
    /// Stage 0 and the last one.
    #[inline(always)]
    pub(crate) fn in_flight(&self) -> [Option<InFlight<M>>; 2] {
        [self.in_place(0), self.in_place(1)]
    }

    /// Many cycles at once that a user has played, who knows the rules: so many accesses, some of them writes, and at the
    /// end these operations are in stage 0 and the last one.
    #[inline(always)]
    pub(crate) fn stretch(
        &mut self,
        cycles: usize,
        [accesses, writes]: [u64; 2],
        in_flight: [Option<InFlight<M>>; 2],
    ) {
        self.cycle += cycles as u64;
        self.accesses += accesses;
        self.writes += writes;
        self.stages = in_flight.map(|op| op.map_or(0, |op| packed(op.kind, op.row)));
        self.metas = in_flight.map(|op| op.map_or(M::default(), |op| op.meta));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix64;

    /// Rows that differ only above what is kept in short, too.
    #[test]
    fn a_hazard_is_a_modify_before_the_last_stage() {
        let mut rng = SplitMix64::new(3);
        for (rows, stages) in [(4, 0), (4, 1), (128, 2), (129, 7), (400, 3), (1000, 7)] {
            let mut port: BlockPort<()> = BlockPort::new(rows, stages);
            let mut ops = vec![None; stages + 1];
            for _ in 0..2000 {
                if rng.chance(10) {
                    port.reset();
                    ops.fill(None);
                }
                let row = (rng.below(3) * 128 + rng.below(3)) as usize % rows;
                let expected = ops[..stages].contains(&Some((Kind::Modify, row)));
                assert_eq!(port.hazard(row), expected, "{rows} rows, {stages} stages");
                let kind = [Kind::Modify, Kind::Modify, Kind::Read][rng.below(3) as usize];
                let op = rng.chance(700).then_some((kind, row));
                port.shift(op.map_or(0, |(kind, row)| packed(kind, row)), ());
                ops.rotate_right(1);
                ops[0] = op;
            }
        }
    }
}

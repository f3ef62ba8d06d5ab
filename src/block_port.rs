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
//!    accesses, and refuses two in a cycle.
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

use crate::{
    parity::Parity,
    sram::{Conflict, Memory, Port, PortCounts},
};

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
        matches!(self, Self::Read | Self::Modify | Self::Write)
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

/// What no row is.
const NO_ROW: usize = usize::MAX;

/// The scheduler's registers. See the module.
#[derive(Clone, Debug)]
pub struct BlockPort<M> {
    rows: usize,
    /// A ring of `STAGES + 1` places; the last stage is at `last`, stage 0 just
    /// before it.
    stages: Vec<Option<InFlight<M>>>,
    /// The row of each [`Kind::Modify`] among them, which may still be written; else `NO_ROW`.
    modified: Vec<usize>,
    last: usize,
    in_flight: usize,
    sweep: bool,
    cleared: bool,
    row: usize,
    port: Port,
    parity: Option<Parity>,
    cycle: u64,
}

impl<M> BlockPort<M> {
    /// The port of a memory of `rows` rows just after a reset edge, with `stages`
    /// register stages between read and write-back.
    pub fn new(rows: usize, stages: usize) -> Self {
        Self {
            rows,
            stages: (0..=stages).map(|_| None).collect(),
            modified: vec![NO_ROW; stages + 1],
            last: 0,
            in_flight: 0,
            sweep: true,
            cleared: false,
            row: 0,
            port: Port::default(),
            parity: None,
            cycle: 0,
        }
    }

    /// The same for a memory of zeros whose rows have parity bits: `PARITY` is 1.
    #[must_use]
    pub fn with_parity(mut self, memory: &Memory) -> Self {
        self.parity = Some(Parity::new([memory]));
        self
    }

    /// The memory's parity bits, if it has any.
    pub fn parity(&self) -> Option<&Parity> {
        self.parity.as_ref()
    }

    /// The same, to upset them.
    pub fn parity_mut(&mut self) -> Option<&mut Parity> {
        self.parity.as_mut()
    }

    /// The `parity_error` pin.
    #[inline]
    pub fn parity_error(&self) -> bool {
        self.parity.as_ref().is_some_and(Parity::error)
    }

    /// The operation in the last stage: `wb_valid` and `wb_meta`.
    #[inline]
    pub fn last(&self) -> Option<&InFlight<M>> {
        self.stages[self.last].as_ref()
    }

    /// The `busy` pin.
    #[inline]
    pub fn busy(&self) -> bool {
        self.sweep || self.in_flight > 0
    }

    /// The `sweep` pin: clearing after reset.
    #[inline]
    pub fn sweeping(&self) -> bool {
        self.sweep
    }

    /// Whether `write_back` (the `wb_write` pin) takes the port in this cycle, if it
    /// advances.
    #[inline]
    fn writes_back(&self, write_back: bool) -> bool {
        write_back && self.modified[self.last] != NO_ROW
    }

    /// A MODIFY before the last stage may still write this row.
    #[inline]
    fn hazard(&self, row: usize) -> bool {
        // All but the last, in any order, and without a branch for each.
        let same = self.modified.iter().map(|modified| usize::from(*modified == row)).sum::<usize>();
        same > usize::from(self.modified[self.last] == row)
    }

    /// The `op_ready` pin. `write_back` is the `wb_write` pin.
    #[inline]
    pub fn ready(&self, advance: bool, write_back: bool, kind: Kind, row: usize) -> bool {
        advance
            && !self.sweep
            && match kind {
                Kind::None => true,
                Kind::Clear => self.cleared,
                Kind::Read | Kind::Modify | Kind::Write => !self.writes_back(write_back) && !self.hazard(row),
            }
    }

    /// The rising edge. `offered` is the kind of the operation on the `op_*` pins,
    /// if `op_valid`; `taken` its row and metadata, if `op_take`.
    ///
    /// # Errors
    /// When the user takes an operation that is not [`BlockPort::ready`], so that the
    /// memory would be accessed twice.
    #[inline]
    pub fn clock(
        &mut self,
        memory: &mut Memory,
        advance: bool,
        write_back: bool,
        offered: Option<Kind>,
        taken: Option<(usize, M)>,
    ) -> Result<(), Conflict> {
        let cycle = self.cycle;
        self.cycle += 1;
        if advance && self.writes_back(write_back) {
            self.port.write(cycle, memory)?;
            if let Some((parity, op)) = self.parity.as_mut().zip(self.stages[self.last].as_ref()) {
                parity.write(0, memory, op.row);
            }
        }
        let clear = offered == Some(Kind::Clear) && !self.cleared && self.in_flight == 0;
        if self.sweep || clear {
            self.port.write(cycle, memory)?;
            memory.clear_row(self.row);
            if let Some(parity) = &mut self.parity {
                parity.write(0, memory, self.row);
            }
            self.row += 1;
            if self.row == self.rows {
                self.row = 0;
                self.cleared = !self.sweep;
                self.sweep = false;
            }
        }
        if let Some(parity) = &mut self.parity {
            if let Some((row, _)) = &taken
                && matches!(offered, Some(Kind::Read | Kind::Modify))
            {
                parity.read(0, memory, *row);
            }
            parity.clock();
        }
        if !advance {
            return Ok(());
        }
        let (mut entering, mut modified) = (None, NO_ROW);
        if let Some((row, meta)) = taken {
            let kind = offered.unwrap_or_default();
            match kind {
                Kind::Read | Kind::Modify => self.port.read(cycle, memory)?,
                Kind::Write => self.port.write(cycle, memory)?,
                Kind::Clear => self.cleared = false,
                Kind::None => {}
            }
            self.in_flight += 1;
            modified = if kind == Kind::Modify { row } else { NO_ROW };
            entering = Some(InFlight { kind, row, meta });
        }
        self.modified[self.last] = modified;
        let left = std::mem::replace(&mut self.stages[self.last], entering);
        self.in_flight -= usize::from(left.is_some());
        self.last = if self.last + 1 == self.stages.len() { 0 } else { self.last + 1 };
        Ok(())
    }

    /// A rising edge with `rst` high, after [`BlockPort::clock`]: the access of that
    /// cycle is still made.
    pub fn reset(&mut self) {
        self.stages.fill_with(|| None);
        self.modified.fill(NO_ROW);
        self.in_flight = 0;
        self.sweep = true;
        self.cleared = false;
        self.row = 0;
        if let Some(parity) = &mut self.parity {
            parity.reset();
        }
    }

    /// What the memory's port did so far.
    pub fn counts(&self) -> PortCounts {
        self.port.counts(self.cycle)
    }
}

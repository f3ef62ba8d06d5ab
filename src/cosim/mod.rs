//! Co-simulation: two devices with the same pins, compared in lock-step.
//!
//! Every output pin is compared in every cycle, and the memories at the end. What
//! is compared with what does not matter here: a clocked model, a Verilated core
//! and a recorded case all are [`Clocked`](crate::Clocked).
//!
//! * [`Design`] and [`Rtl`]: a core's Verilog, built by Verilator and clocked.
//! * [`lockstep`]: the comparison.
//! * [`Job`]: all that one line of `make sim` does; on a mismatch it finds a short
//!   failing vector and writes it with a waveform.

mod job;
mod lockstep;
mod rtl;
mod shrink;

pub use job::{CosimError, Failure, Job, Outcome, Report};
pub use lockstep::{Mismatch, PinDifference, compare_rows, lockstep, replay};
pub use rtl::{Design, Rtl, RtlLibrary, find_tools};
pub use shrink::shrink;
pub use verilated::{Error as RtlError, Init, Opt, Source, Toolchain};

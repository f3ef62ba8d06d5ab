//! Mutants of a core: single faults in its netlist, many in one build.

mod campaign;
mod device;
mod memory;
mod netlist;
mod proof;
mod tools;

pub use campaign::{Campaign, Fate, Judged, Verdict};
pub use device::MutantDevice;
pub use netlist::{Mutant, Netlist};
pub use proof::Prover;
pub use tools::{Abc, Yosys};

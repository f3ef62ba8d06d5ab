//! What the verification itself is worth: would it notice a fault, and what does it reach?
//!
//! * [`mutants`]: Yosys puts single faults into the netlist of a core; the co-simulation of
//!   `make sim` must notice each, or a proof must show that nobody can.
//! * [`models`]: single faults in the Rust models, which co-simulation or a test must notice.
//! * [`coverage`]: lines, branches and toggles of the RTL, and the states that requests meet.
//! * [`sets`]: the small parameter sets that make every module.
//!
//! The library `membrane` knows nothing of this: Yosys is needed here only.

use std::process::ExitCode;

pub mod coverage;
pub mod models;
pub mod mutants;
pub mod sets;
pub mod table;

/// 0 for a campaign that is as it should be, 1 for one that is not, 2 and a line for one that could not be run.
pub fn exit_code(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

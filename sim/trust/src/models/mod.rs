//! Faults in the Rust models, one at a time: does anybody notice?
//!
//! * [`edits`]: the places in a source file where an operator, a constant, a condition or a
//!   statement can be wrong.
//! * [`Bench`]: a copy of the workspace in which one edit at a time is made, built and tried.
//! * [`recordings`]: what the models answer to the stimulus of `make sim`. Where RTL and model agree, a model that
//!   answers otherwise is a model that co-simulation refuses, so no RTL has to run.

mod bench;
mod edits;
mod recordings;

pub use bench::{Bench, Fate};
pub use edits::{Edit, choose, edits};
pub use recordings::recordings;

/// Models by core; `shared` is what all of them are made of.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("partitioned", &["partitioned/functional.rs", "partitioned/clocked.rs", "partitioned/banks.rs"]),
    ("blocked", &["blocked/functional.rs", "blocked/clocked.rs", "blocked/rows.rs"]),
    ("balanced", &["balanced/functional.rs", "balanced/clocked.rs"]),
    (
        "tinyset",
        &[
            "tinyset/functional.rs",
            "tinyset/clocked.rs",
            "tinyset/block.rs",
            "tinyset/bits.rs",
            "tinyset/repack.rs",
            "tinyset/geometry.rs",
        ],
    ),
    (
        "shared",
        &[
            "hash/mod.rs",
            "hash/mix.rs",
            "hash/lanes.rs",
            "hash/packed.rs",
            "block_port.rs",
            "cam.rs",
            "parity.rs",
            "sram.rs",
        ],
    ),
];

/// Tests that look at a group's models besides those of all (see [`Bench`]).
pub fn tests_of(group: &str) -> &'static [&'static str] {
    match group {
        "partitioned" => &["setops", "soft_errors"],
        "blocked" => &["blocked", "soft_errors"],
        "balanced" => &["balanced", "soft_errors"],
        "tinyset" => &["tinyset_parts", "tinyset_removals", "soft_errors"],
        _ => &["cam", "block_port", "soft_errors"],
    }
}

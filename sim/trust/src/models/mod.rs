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
    (
        "partitioned",
        &[
            "partitioned/functional.rs",
            "partitioned/alone.rs",
            "partitioned/banks.rs",
            "partitioned/setops.rs",
            "partitioned/clocked.rs",
            "partitioned/clocked/ahead.rs",
            "partitioned/clocked/flow.rs",
        ],
    ),
    (
        "blocked",
        &[
            "blocked/functional.rs",
            "blocked/alone.rs",
            "blocked/rows.rs",
            "blocked/rows/masks.rs",
            "blocked/view.rs",
            "blocked/clocked.rs",
            "blocked/mask.rs",
            "blocked/flow.rs",
            "blocked/flow/log.rs",
            "blocked/flow/port.rs",
        ],
    ),
    (
        "balanced",
        &[
            "balanced/functional.rs",
            "balanced/staged.rs",
            "balanced/masks.rs",
            "balanced/clocked.rs",
            "balanced/state.rs",
            "balanced/flow.rs",
            "balanced/calm.rs",
            "balanced/coming.rs",
            "balanced/in_turn.rs",
        ],
    ),
    (
        "tinyset",
        &[
            "tinyset/functional.rs",
            "tinyset/place.rs",
            "tinyset/request.rs",
            "tinyset/view.rs",
            "tinyset/group.rs",
            "tinyset/block.rs",
            "tinyset/moves.rs",
            "tinyset/repack.rs",
            "tinyset/bits.rs",
            "tinyset/geometry.rs",
            "tinyset/clocked.rs",
            "tinyset/flow.rs",
        ],
    ),
    (
        "shared",
        &[
            "hash/mod.rs",
            "hash/mix.rs",
            "hash/lanes.rs",
            "hash/packed.rs",
            "ahead.rs",
            "batch.rs",
            "clocked.rs",
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

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::GROUPS;

    /// Code that moves to a file of its own stays under test. What describes a core is held elsewhere: by presets and
    /// rules that every tool refuses, and by the sizes that it proposes.
    #[test]
    fn every_file_of_a_model_is_in_its_group() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src");
        for (group, files) in GROUPS {
            for file in files {
                assert!(source.join(file).is_file(), "{group}: no file {file}");
            }
            let mut folders = vec![source.join(group)];
            while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
                for entry in fs::read_dir(&folder).expect("a folder") {
                    let path = entry.expect("an entry").path();
                    if path.is_dir() {
                        folders.push(path);
                        continue;
                    }
                    let name = path.strip_prefix(&source).expect("below src").to_string_lossy().into_owned();
                    let described = ["config.rs", "mod.rs", "sizing.rs", "tests.rs"];
                    let listed = files.contains(&name.as_str());
                    assert!(
                        listed || described.iter().any(|end| name.ends_with(end)),
                        "{name} is in no group"
                    );
                }
            }
        }
    }
}

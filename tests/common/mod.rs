//! Shared by the integration tests.
#![allow(dead_code)] // each test binary uses a part of it

#[cfg(feature = "cosim")]
pub mod bugs;

use membrane::{Core, Params, registry};
use proptest::prelude::*;

/// Any core with any legal parameters that a test can afford.
pub fn any_core() -> impl Strategy<Value = (&'static dyn Core, Params)> {
    (0..registry::CORES.len()).prop_flat_map(|i| {
        let core = registry::CORES[i];
        any_params(core).prop_map(move |params| (core, params))
    })
}

/// Sizes that a test can afford, by parameter name; other parameters take their
/// whole range.
fn affordable(name: &str, min: u64, max: u64) -> (u64, u64) {
    let limit = match name {
        "ROWS" => 600,
        "BLOCKS" | "KEY_W" => 200,
        "BLOCK_W" => 150,
        "WIDTH" => 64,
        "BANKS" | "HASHES" | "CAM_DEPTH" | "H" => 12,
        _ => u64::MAX,
    };
    (min, max.min(limit))
}

/// Any legal parameters of a core that a test can afford.
pub fn any_params(core: &'static dyn Core) -> impl Strategy<Value = Params> {
    let one: Vec<_> = core
        .params()
        .iter()
        .map(|spec| {
            let (min, max) = affordable(spec.name, spec.min, spec.max);
            let any = (min..=max).boxed();
            // Small values and powers of two are where the corners are.
            let power = (0..64u32).prop_map(move |bit| (1u64 << bit).clamp(min, max)).boxed();
            let small = (min..=max.min(min.saturating_add(3))).boxed();
            let value = prop_oneof![2 => any, 2 => power, 1 => small];
            (Just(spec.name), value)
        })
        .collect();
    one.prop_map(|values| values.into_iter().fold(Params::new(), |p, (name, value)| p.with(name, value)))
        .prop_filter("legal parameters", |params| core.check(params).is_ok())
}

/// Verilator and the C++ compiler; a test that needs them fails without them.
#[cfg(feature = "cosim")]
pub fn tools() -> membrane::cosim::Toolchain {
    membrane::cosim::find_tools().unwrap_or_else(|error| panic!("{error}\nrun `make setup`"))
}

/// A tool on the PATH, or the one that `make setup` installed.
pub fn tool(name: &str) -> std::process::Command {
    let installed = concat!(env!("CARGO_MANIFEST_DIR"), "/.tools/bin/").to_owned() + name;
    for candidate in [name, &installed] {
        let found = std::process::Command::new(candidate).arg("-V").output();
        if found.is_ok_and(|output| output.status.success()) {
            return std::process::Command::new(candidate);
        }
    }
    panic!("no {name}: run `make setup`");
}

/// A folder that is removed when the test is done with it.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

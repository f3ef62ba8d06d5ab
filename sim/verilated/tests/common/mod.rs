//! What the tests share. Each test binary uses a part of it.
#![allow(dead_code)] // each test binary uses a part of it

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use verilated::{Builder, Layout, Source, Toolchain};

/// The tools, from `$VERILATED_TEST_ROOT` or the nearest `.tools/verilator`
/// above the crate if none is installed.
pub fn tools() -> Toolchain {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|dir| dir.join(".tools/verilator"));
    let root = std::env::var_os("VERILATED_TEST_ROOT")
        .map(PathBuf::from)
        .or_else(|| above.into_iter().find(|dir| dir.is_dir()));
    Toolchain::find(root.as_slice()).unwrap_or_else(|e| panic!("{e}\nrun `make setup` first"))
}

/// One cache for all tests, so that Verilator's run-time library is compiled once.
pub fn cache_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("verilated-cache")
}

/// A folder for a test's files; removed when dropped.
pub fn temp_dir() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A builder for one Verilog text.
pub fn design(top: &str, text: &str) -> Builder {
    Builder::new(top).source(Source::new(format!("{top}.v"), text)).cache_dir(cache_dir())
}

/// Text that no run before has seen, to be sure of a build.
pub fn nonce() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!("// {time} {} {}\n", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// `SplitMix64`.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A value of `width` bits, low word first.
    pub fn bits(&mut self, width: usize) -> Vec<u64> {
        let mut words: Vec<u64> = (0..width.div_ceil(64)).map(|_| self.next()).collect();
        if !width.is_multiple_of(64) {
            *words.last_mut().unwrap() &= u64::MAX >> (64 - width % 64);
        }
        words
    }
}

/// One row, from the values of single pins of up to 64 bits; the rest is zero.
pub fn row(layout: &Layout, pins: &[(&str, u64)]) -> Vec<u64> {
    let mut row = vec![0; layout.words()];
    for (name, value) in pins {
        let pin = layout.pin(name).unwrap_or_else(|| panic!("no pin {name}"));
        Layout::set(&mut row, pin, &[*value]);
    }
    row
}

/// The pin of up to 64 bits in one row.
pub fn pin(layout: &Layout, row: &[u64], name: &str) -> u64 {
    Layout::get(row, layout.pin(name).unwrap())[0]
}

//! What can go wrong.

use std::path::{Path, PathBuf};

/// Any failure of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tool is not installed, or is too old. The message says what to install.
    #[error("{0}")]
    Toolchain(String),

    /// Verilator rejected the design.
    #[error("verilator failed:\n{message}\ncommand: {command}")]
    Verilator {
        /// Verilator's own words.
        message: String,
        /// The command line that failed.
        command: String,
    },

    /// The C++ compiler or linker failed.
    #[error("C++ compiler failed:\n{message}\ncommand: {command}")]
    Compiler {
        /// The compiler's own words.
        message: String,
        /// The command line that failed.
        command: String,
    },

    /// A source's name or a parameter's value cannot be handed to Verilator.
    #[error("{0}")]
    Input(String),

    /// The top module has a port that cannot be packed, or not the clock asked for.
    #[error("{0}")]
    Port(String),

    /// A packing order does not list every pin exactly once.
    #[error("{side} order: {problem}")]
    Order {
        /// `"input"` or `"output"`.
        side: &'static str,
        /// Which pin is missing, unknown or repeated.
        problem: String,
    },

    /// A file or folder could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A built model could not be loaded.
    #[error("cannot load {path}: {message}")]
    Load {
        /// The shared library.
        path: PathBuf,
        /// What the loader said.
        message: String,
    },

    /// A slice does not have the length that the layout asks for.
    #[error("{what}: {expected} words needed, {got} given")]
    Length {
        /// Which slice.
        what: &'static str,
        /// Words needed.
        expected: usize,
        /// Words given.
        got: usize,
    },

    /// No exposed memory has this path.
    #[error("no memory {path:?} is exposed; there {}", list_memories(.known))]
    UnknownMemory {
        /// The path asked for.
        path: String,
        /// The paths there are.
        known: Vec<String>,
    },

    /// A memory has no such row.
    #[error("memory {path:?} has {rows} rows, row {row} asked for")]
    Row {
        /// The memory.
        path: String,
        /// The row asked for.
        row: usize,
        /// The rows there are.
        rows: usize,
    },

    /// The model was built without the feature that the call needs.
    #[error("the model was built without {0}: set Builder::{0}(true)")]
    NotBuilt(&'static str),

    /// A waveform could not be started or written.
    #[error("trace: {0}")]
    Trace(String),

    /// The design stopped by itself: `$stop`, `$fatal`, a failed assertion, or
    /// logic that does not settle. The model cannot run on.
    #[error("simulation stopped: {0}")]
    Simulation(String),
}

fn list_memories(known: &[String]) -> String {
    match known {
        [] => "are none (see Builder::memory)".to_owned(),
        _ => format!("are: {}", known.join(", ")),
    }
}

impl Error {
    /// Wraps an I/O error with the path it happened at.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

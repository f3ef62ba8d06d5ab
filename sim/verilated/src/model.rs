//! A running instance of a design.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::ffi::Instance;
use crate::trace::{Trace, temp_beside};
use crate::{Error, Library};

/// The state in which registers and memories start, before `initial` blocks
/// run. Wherever the Verilog says X, the same is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Init {
    /// All bits zero.
    Zero,
    /// All bits one.
    Ones,
    /// Random bits, the same for the same seed, library and version of Verilator.
    Random(u64),
}

/// A memory exposed by [`Builder::memory`](crate::Builder::memory).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Path from the top module, such as `top.g_bank[0].bank.mem`.
    pub path: String,
    /// Number of rows. Row 0 is the one of the lowest index; several unpacked
    /// dimensions are counted through with the last one fastest.
    pub rows: usize,
    /// Bits in a row.
    pub width: usize,
}

impl MemoryInfo {
    /// Words of 64 bits that a row takes.
    pub fn words(&self) -> usize {
        self.width.div_ceil(64)
    }
}

/// One instance of a design, with its own state and time.
///
/// Any number of instances may be alive at once, of the same or of different
/// libraries, each on any thread.
///
/// ```no_run
/// # fn example(library: &verilated::Library) -> Result<(), verilated::Error> {
/// let mut model = library.instantiate(verilated::Init::Random(1))?;
/// let cycles = 1_000_000;
/// let inputs = vec![0; cycles * library.inputs().words()];
/// let mut outputs = vec![0; cycles * library.outputs().words()];
/// model.run(cycles, &inputs, &mut outputs)?;
/// # Ok(()) }
/// ```
pub struct Model {
    instance: Instance,
    library: Library,
    memories: Vec<MemoryInfo>,
    trace: Option<Trace>,
    /// Why the design stopped; it cannot run on.
    stopped: Option<String>,
}

impl Model {
    pub(crate) fn new(library: Library, init: Init) -> Result<Self, Error> {
        let (mode, seed) = match init {
            Init::Zero => (0, 0),
            Init::Ones => (1, 0),
            Init::Random(seed) => (2, seed),
        };
        let instance = Instance::new(library.loaded(), mode, seed)?;
        let mut memories: Vec<_> = instance
            .memories()
            .into_iter()
            .map(|(path, rows, width)| MemoryInfo { path, rows, width })
            .collect();
        memories.shrink_to_fit();
        Ok(Self { instance, library, memories, trace: None, stopped: None })
    }

    /// The library that this is an instance of.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Runs `cycles` clock cycles. `inputs` and `outputs` hold one row per
    /// cycle, packed as [`Library::inputs`] and [`Library::outputs`] say.
    ///
    /// # Errors
    /// [`Error::Length`] if a slice has not `cycles` rows; nothing is run then.
    /// [`Error::Simulation`] if the design stopped itself.
    pub fn run(&mut self, cycles: usize, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Error> {
        let check = |what, words: usize, got| {
            let expected = cycles.saturating_mul(words);
            if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
        };
        check("inputs", self.library.inputs().words(), inputs.len())?;
        check("outputs", self.library.outputs().words(), outputs.len())?;
        if let Some(why) = &self.stopped {
            return Err(Error::Simulation(why.clone()));
        }
        let result = self.instance.run(cycles, inputs, outputs);
        self.note_stop(result)
    }

    fn note_stop(&mut self, result: Result<(), String>) -> Result<(), Error> {
        result.map_err(|why| {
            self.stopped = Some(why.clone());
            Error::Simulation(why)
        })
    }

    /// Cycles run so far.
    pub fn cycle(&self) -> u64 {
        self.instance.cycle()
    }

    /// Whether the design has called `$finish`. It goes on running regardless.
    pub fn finished(&self) -> bool {
        self.instance.finished()
    }

    /// The memories that can be read and written, in order of their path.
    pub fn memories(&self) -> Vec<MemoryInfo> {
        let mut memories = self.memories.clone();
        memories.sort_by(|a, b| a.path.cmp(&b.path));
        memories
    }

    fn memory(&self, path: &str) -> Result<usize, Error> {
        self.memories.iter().position(|m| m.path == path).ok_or_else(|| Error::UnknownMemory {
            path: path.to_owned(),
            known: self.memories().into_iter().map(|m| m.path).collect(),
        })
    }

    /// All rows of a memory: [`MemoryInfo::words`] words for each row, low word
    /// first, row 0 first.
    pub fn read_memory(&self, path: &str) -> Result<Vec<u64>, Error> {
        Ok(self.instance.memory_read(self.memory(path)?))
    }

    /// Overwrites one row of a memory, as a fault would; the following cycles
    /// see it. Bits beyond the memory's width are dropped.
    pub fn write_memory_row(&mut self, path: &str, row: usize, value: &[u64]) -> Result<(), Error> {
        let index = self.memory(path)?;
        let MemoryInfo { rows, .. } = self.memories[index];
        let expected = self.memories[index].words();
        if row >= rows {
            return Err(Error::Row { path: path.to_owned(), row, rows });
        }
        if value.len() != expected {
            return Err(Error::Length { what: "memory row", expected, got: value.len() });
        }
        let result = self.instance.memory_write(index, row, value);
        self.note_stop(result)
    }

    /// Starts to record all signals. Cycle `t` begins at `10 * t` ns, when its
    /// inputs are applied; its clock edge rises 5 ns later.
    ///
    /// The FST file appears at `path` with [`Model::trace_stop`]; until then a
    /// temporary VCD file grows in the same folder.
    pub fn trace_start(&mut self, path: &Path) -> Result<(), Error> {
        if !self.library.manifest().trace {
            return Err(Error::NotBuilt("trace"));
        }
        if self.trace.is_some() {
            return Err(Error::Trace("already started".to_owned()));
        }
        let trace = Trace::new(path)?;
        self.instance.trace_open(trace.vcd()).map_err(Error::Trace)?;
        self.trace = Some(trace);
        Ok(())
    }

    /// Ends the recording and writes the FST file. Dropping the model does the
    /// same, but cannot say if it failed.
    pub fn trace_stop(&mut self) -> Result<(), Error> {
        let trace = self.trace.take().ok_or_else(|| Error::Trace("not started".to_owned()))?;
        self.instance.trace_close().map_err(Error::Trace)?;
        trace.finish(10 * self.cycle())
    }

    /// Writes the coverage counted so far in Verilator's format, which
    /// `verilator_coverage` reads and merges.
    pub fn write_coverage(&mut self, path: &Path) -> Result<(), Error> {
        if !self.library.manifest().coverage {
            return Err(Error::NotBuilt("coverage"));
        }
        let temp = temp_beside(path)?;
        let fresh = temp.path().join("coverage.dat");
        self.instance.coverage_write(&fresh).map_err(Error::Simulation)?;
        fs::rename(&fresh, path).map_err(Error::io(path))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if self.trace.is_some() {
            let _ = self.trace_stop();
        }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("library", &self.library)
            .field("cycle", &self.cycle())
            .finish_non_exhaustive()
    }
}

//! The comparison of two devices.

use std::fmt::{self, Write as _};

use crate::{
    clocked::{Clocked, Fault},
    pins::PinMap,
    sram::Memory,
    stimulus::{DriveError, Stimulus},
};

/// One pin that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinDifference {
    /// Its name.
    pub pin: String,
    /// What the reference shows, low word first.
    pub expected: Vec<u64>,
    /// What the other device shows.
    pub actual: Vec<u64>,
}

/// The first place where two devices differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Output pins in a cycle.
    Pins {
        /// The first cycle in which any pin differs.
        cycle: u64,
        /// All pins that differ in it.
        pins: Vec<PinDifference>,
    },
    /// A memory row.
    Memory {
        /// The cycles before.
        cycle: u64,
        /// Which memory.
        path: String,
        /// Which row.
        row: usize,
        /// What the reference holds, low word first.
        expected: Vec<u64>,
        /// What the other device holds.
        actual: Vec<u64>,
    },
    /// The devices have different memories.
    Shape {
        /// Those of the reference.
        expected: String,
        /// Those of the other device.
        actual: String,
    },
}

impl Mismatch {
    /// Cycles to play until it shows.
    pub fn cycles(&self) -> u64 {
        match self {
            Self::Pins { cycle, .. } => cycle + 1,
            Self::Memory { cycle, .. } => *cycle,
            Self::Shape { .. } => 0,
        }
    }
}

/// Words, low one first, as one number.
pub(super) fn hex(value: &[u64]) -> String {
    let mut digits = String::new();
    for word in value.iter().rev() {
        let _ = write!(digits, "{word:016x}");
    }
    match digits.trim_start_matches('0') {
        "" => "0x0".into(),
        digits => format!("0x{digits}"),
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pins { cycle, pins } => {
                write!(f, "cycle {cycle}:")?;
                for pin in pins {
                    write!(f, " {} expected {} actual {};", pin.pin, hex(&pin.expected), hex(&pin.actual))?;
                }
                Ok(())
            }
            Self::Memory { cycle, path, row, expected, actual } => write!(
                f,
                "memory {path} row {row} after {cycle} cycles: expected {} actual {}",
                hex(expected),
                hex(actual)
            ),
            Self::Shape { expected, actual } => {
                write!(f, "the memories are not the same: expected {expected}, actual {actual}")
            }
        }
    }
}

/// Compares output rows; `first` is the cycle of the first row.
pub fn compare_rows(pins: &PinMap, first: u64, expected: &[u64], actual: &[u64]) -> Option<Mismatch> {
    if expected == actual {
        return None;
    }
    let words = pins.output_words();
    let rows = expected.chunks_exact(words).zip(actual.chunks_exact(words));
    let (cycle, (expected, actual)) = (first..).zip(rows).find(|(_, (e, a))| e != a)?;
    let pins = pins.outputs().iter().filter_map(|pin| {
        let (expected, actual) = (pin.get_wide(expected), pin.get_wide(actual));
        (expected != actual).then(|| PinDifference { pin: pin.name.clone(), expected, actual })
    });
    Some(Mismatch::Pins { cycle, pins: pins.collect() })
}

fn shapes(memories: &[Memory]) -> String {
    let mut all: Vec<_> =
        memories.iter().map(|m| format!("{} {}x{}", m.path(), m.rows(), m.width())).collect();
    all.sort();
    format!("[{}]", all.join(", "))
}

fn compare_memories(
    cycle: u64,
    reference: &mut dyn Clocked,
    device: &mut dyn Clocked,
) -> Result<Option<Mismatch>, Fault> {
    let (expected, actual) = (reference.memories()?, device.memories()?);
    if shapes(&expected) != shapes(&actual) {
        return Ok(Some(Mismatch::Shape { expected: shapes(&expected), actual: shapes(&actual) }));
    }
    for memory in &expected {
        let Some(other) = actual.iter().find(|other| other.path() == memory.path()) else { continue };
        if memory.words() == other.words() {
            continue;
        }
        if let Some(row) = (0..memory.rows()).find(|row| memory.row(*row) != other.row(*row)) {
            return Ok(Some(Mismatch::Memory {
                cycle,
                path: memory.path().to_owned(),
                row,
                expected: memory.row(row),
                actual: other.row(row),
            }));
        }
    }
    Ok(None)
}

/// Cycles per call of a device: enough to make the call itself cheap, few enough
/// for the rows to stay in the cache.
const CHUNK: usize = 1024;

/// Memories are compared once in so many cycles per row: often enough to find what no
/// pin ever showed before it is overwritten, seldom enough to cost little.
const CYCLES_PER_ROW: u64 = 16;

/// Drives `reference` by `stimulus` in closed loop for `cycles` cycles, plays the
/// same inputs on `device`, and compares: every output pin in every cycle, all memories
/// now and then, and at the end. `progress` is told how many cycles are done.
pub fn lockstep(
    stimulus: &mut Stimulus,
    reference: &mut dyn Clocked,
    device: &mut dyn Clocked,
    cycles: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<Mismatch>, DriveError> {
    let pins = reference.pins().clone();
    let mut inputs = vec![0; CHUNK * pins.input_words()];
    let mut expected = vec![0; CHUNK * pins.output_words()];
    let mut actual = expected.clone();
    let memory_rows: usize = reference.memories()?.iter().map(Memory::rows).sum();
    let (mut done, mut compared) = (0, 0);
    while done < cycles {
        let rows = CHUNK.min((cycles - done) as usize);
        let inputs = &mut inputs[..rows * pins.input_words()];
        let expected = &mut expected[..rows * pins.output_words()];
        let actual = &mut actual[..rows * pins.output_words()];
        stimulus.drive(reference, inputs, expected)?;
        device.run(inputs, actual)?;
        if let Some(mismatch) = compare_rows(&pins, done, expected, actual) {
            return Ok(Some(mismatch));
        }
        done += rows as u64;
        progress(done);
        // Before its first sweep is over, the memories of a core are not defined.
        if stimulus.finished().is_ok() && done - compared >= CYCLES_PER_ROW * memory_rows as u64 {
            compared = done;
            if let Some(mismatch) = compare_memories(done, reference, device)? {
                return Ok(Some(mismatch));
            }
        }
    }
    stimulus.finished()?;
    Ok(compare_memories(cycles, reference, device)?)
}

/// Plays recorded inputs on both devices and compares.
pub fn replay(
    reference: &mut dyn Clocked,
    device: &mut dyn Clocked,
    inputs: &[u64],
) -> Result<Option<Mismatch>, Fault> {
    let pins = reference.pins().clone();
    let cycles = inputs.len() / pins.input_words();
    let mut done = 0;
    for inputs in inputs.chunks(CHUNK * pins.input_words()) {
        let rows = inputs.len() / pins.input_words();
        let mut expected = vec![0; rows * pins.output_words()];
        let mut actual = expected.clone();
        reference.run(inputs, &mut expected)?;
        device.run(inputs, &mut actual)?;
        if let Some(mismatch) = compare_rows(&pins, done, &expected, &actual) {
            return Ok(Some(mismatch));
        }
        done += rows as u64;
    }
    compare_memories(cycles as u64, reference, device)
}

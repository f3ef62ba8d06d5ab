//! The comparison of two devices.

use std::{
    fmt::{self, Write as _},
    sync::mpsc,
    thread,
};

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

fn compare_memories(cycle: u64, expected: &[Memory], actual: &[Memory]) -> Option<Mismatch> {
    let other = |memory: &Memory| {
        let same = |other: &&Memory| {
            (other.path(), other.rows(), other.width()) == (memory.path(), memory.rows(), memory.width())
        };
        actual.iter().find(same)
    };
    if expected.len() != actual.len() || !expected.iter().all(|memory| other(memory).is_some()) {
        return Some(Mismatch::Shape { expected: shapes(expected), actual: shapes(actual) });
    }
    let mut pairs = expected.iter().filter_map(|memory| Some((memory, other(memory)?)));
    let (memory, other) = pairs.find(|(memory, other)| memory.words() != other.words())?;
    let row = (0..memory.rows()).find(|row| memory.row(*row) != other.row(*row))?;
    Some(Mismatch::Memory {
        cycle,
        path: memory.path().to_owned(),
        row,
        expected: memory.row(row),
        actual: other.row(row),
    })
}

/// Cycles per call of a device: enough to make the call itself cheap, few enough
/// for the rows to stay in the cache.
const CHUNK: usize = 1024;

/// Memories are compared once in so many cycles per row: often enough to find what no
/// pin ever showed before it is overwritten, seldom enough to cost little.
const CYCLES_PER_ROW: u64 = 16;

/// Some cycles of the reference: what another device is held against.
#[derive(Default)]
struct Chunk {
    /// The cycles before.
    first: u64,
    inputs: Vec<u64>,
    expected: Vec<u64>,
    /// At the end of it, where they are compared.
    memories: Option<Vec<Memory>>,
}

impl Chunk {
    /// Other cycles, without memories.
    fn refill(&mut self, first: u64, inputs: &[u64], expected: &[u64]) {
        self.first = first;
        self.inputs.clear();
        self.inputs.extend_from_slice(inputs);
        self.expected.clear();
        self.expected.extend_from_slice(expected);
        self.memories = None;
    }
}

/// A chunk, to be filled again, and what came of it.
type Played = (Chunk, Result<Option<Mismatch>, Fault>);

/// Chunks that are played or wait for it, while another is made: more than a thread that slept
/// takes to wake up, or both would wait for each other half of the time.
const AHEAD: usize = 8;

/// Plays a chunk on a device and compares.
fn play(device: &mut dyn Clocked, pins: &PinMap, chunk: Chunk) -> Played {
    let mut compare = || {
        let mut actual = vec![0; chunk.expected.len()];
        device.run(&chunk.inputs, &mut actual)?;
        let mismatch = compare_rows(pins, chunk.first, &chunk.expected, &actual);
        let (None, Some(memories)) = (&mismatch, &chunk.memories) else { return Ok(mismatch) };
        let cycles = chunk.inputs.len() / pins.input_words();
        Ok(compare_memories(chunk.first + cycles as u64, memories, &device.memories()?))
    };
    let verdict = compare();
    (chunk, verdict)
}

/// Drives `reference` by `stimulus` in closed loop for `cycles` cycles, plays the
/// same inputs on `device`, and compares: every output pin in every cycle, all memories
/// now and then, and at the end. `progress` is told how many cycles are done.
///
/// Where there is more than one processor, `device` has a thread of its own and follows some
/// cycles behind. What is found is the same: the first difference in the order of cycles.
pub fn lockstep(
    stimulus: &mut Stimulus,
    reference: &mut dyn Clocked,
    device: &mut dyn Clocked,
    cycles: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<Mismatch>, DriveError> {
    let pins = &reference.pins().clone();
    if thread::available_parallelism().map_or(1, usize::from) == 1 {
        let mut exchange = |chunk: Option<Chunk>| chunk.map(|chunk| play(device, pins, chunk));
        return drive(stimulus, reference, cycles, progress, &mut exchange);
    }
    thread::scope(|scope| {
        let (to_device, chunks) = mpsc::channel();
        let (from_device, played) = mpsc::channel();
        scope.spawn(move || {
            let mut played = chunks.into_iter().map(|chunk| play(device, pins, chunk));
            played.all(|played| from_device.send(played).is_ok())
        });
        let mut waiting = 0;
        let mut exchange = move |chunk: Option<Chunk>| {
            if let Some(chunk) = chunk {
                // A thread that is gone has left a panic for the end of the scope.
                to_device.send(chunk).ok()?;
                waiting += 1;
                if waiting < AHEAD {
                    return None;
                }
            }
            waiting = usize::checked_sub(waiting, 1)?;
            played.recv().ok()
        };
        drive(stimulus, reference, cycles, progress, &mut exchange)
    })
}

/// The reference's side of [`lockstep`]. `exchange` takes a chunk and gives one back that was
/// played, if as many as may are under way; without one it gives back what still is.
fn drive(
    stimulus: &mut Stimulus,
    reference: &mut dyn Clocked,
    cycles: u64,
    progress: &mut dyn FnMut(u64),
    exchange: &mut dyn FnMut(Option<Chunk>) -> Option<Played>,
) -> Result<Option<Mismatch>, DriveError> {
    let (input, output) = (reference.pins().input_words(), reference.pins().output_words());
    let memory_rows: usize = reference.memories()?.iter().map(Memory::rows).sum();
    let (mut driven, mut compared) = (0, 0);
    // Rows are made cycle by cycle in memory that no other processor looks at, and then copied. Made in a chunk
    // that comes back from the device's processor, they took up to twice as long.
    let (mut inputs, mut expected) = (vec![0; CHUNK * input], vec![0; CHUNK * output]);
    let mut free = Chunk::default();
    let mut result = Ok(());
    loop {
        let mut chunk = None;
        if driven < cycles && result.is_ok() {
            let next = chunk.insert(std::mem::take(&mut free));
            let rows = CHUNK.min((cycles - driven) as usize);
            let (inputs, expected) = (&mut inputs[..rows * input], &mut expected[..rows * output]);
            result = stimulus.drive(reference, inputs, expected);
            next.refill(driven, inputs, expected);
            driven += rows as u64;
            // Before its first sweep is over, the memories of a core are not defined.
            let due = driven == cycles || driven - compared >= CYCLES_PER_ROW * memory_rows as u64;
            if due && stimulus.finished().is_ok() {
                compared = driven;
                next.memories = Some(reference.memories()?);
            }
        }
        // What was played before comes first, even where the reference has failed since.
        let over = chunk.is_none() || result.is_err();
        match exchange(chunk.filter(|_| result.is_ok())) {
            None if over => break,
            None => {}
            Some((_, Ok(Some(mismatch)))) => return Ok(Some(mismatch)),
            Some((_, Err(fault))) => return Err(fault.into()),
            Some((played, Ok(None))) => {
                progress(played.first + (played.inputs.len() / input) as u64);
                free = played;
            }
        }
    }
    result?;
    stimulus.finished()?;
    Ok(None)
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
    Ok(compare_memories(cycles as u64, &reference.memories()?, &device.memories()?))
}

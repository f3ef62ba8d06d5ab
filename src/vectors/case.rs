use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::{
    params::Params,
    pins::{Direction, Pin, PinMap},
    sram::Memory,
    whole::{WriteError, write_folder},
};

use super::hex;

/// The format version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
/// Of a pin or a memory row: wide enough for any core, and no claim on memory.
const MAX_WIDTH: u32 = 1 << 20;
const FORMAT: &str = "membrane-case";
const DESCRIPTION: &str = "case.json";

/// A recorded run of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Name of the core in the registry.
    pub core: String,
    /// Its top module.
    pub module: String,
    /// All its parameters.
    pub params: Params,
    /// What the stimulus was made from.
    pub seed: u64,
    /// Rows of stimulus and of expected outputs.
    pub cycles: u64,
    /// The pins and their places in a row.
    pub pins: PinMap,
    /// Input rows.
    pub stimulus: Vec<u64>,
    /// Output rows.
    pub expected: Vec<u64>,
    /// Memories at the end.
    pub memories: Vec<Memory>,
}

/// A case that cannot be read or written.
#[derive(Debug, Error)]
pub enum VectorError {
    /// The file system said no.
    #[error("{path}: {source}")]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Not the JSON of a case.
    #[error("{path}: not a case description: {reason}")]
    Json {
        /// Which file.
        path: PathBuf,
        /// The parser's words, with line and column.
        reason: String,
    },
    /// Written by a newer program.
    #[error(
        "{path}: format version {found}, this program reads up to {VERSION}: use a newer membrane, or generate the case again"
    )]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A line that is not a row.
    #[error("{path}:{line}: the line {reason}")]
    Line {
        /// Which file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Lines are missing or too many.
    #[error(
        "{path}: {found} lines, case.json says {expected}: the file was cut or edited; generate the case again"
    )]
    Length {
        /// Which file.
        path: PathBuf,
        /// Lines there are.
        found: usize,
        /// Lines there should be.
        expected: usize,
    },
    /// The content is not what was written.
    #[error(
        "{path}: SHA-256 is {found}, case.json says {expected}: the file was edited; generate the case again"
    )]
    Checksum {
        /// Which file.
        path: PathBuf,
        /// Of the file.
        found: String,
        /// Of case.json.
        expected: String,
    },
    /// The description contradicts itself.
    #[error("{path}: field {field}: {reason}")]
    Field {
        /// Which file.
        path: PathBuf,
        /// Which field.
        field: String,
        /// What is wrong.
        reason: String,
    },
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Lines of a hex file: beside `case.json`, or inside it.
#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Lines {
    File { file: String, sha256: String },
    Inline { lines: Vec<String> },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryEntry {
    path: String,
    rows: usize,
    width: u32,
    content: Lines,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    format: String,
    version: u32,
    core: String,
    module: String,
    parameters: Params,
    seed: String,
    cycles: u64,
    pins: Vec<Pin>,
    stimulus: Lines,
    expected: Lines,
    memories: Vec<MemoryEntry>,
}

/// Read first, so that a newer format is named as such whatever else it changed.
#[derive(Deserialize)]
struct Preamble {
    format: Option<String>,
    version: Option<u64>,
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

impl Case {
    /// Writes the case as a folder: all of it or, when anything fails, nothing.
    /// An older case at the same place is replaced.
    pub fn write(&self, folder: &Path) -> Result<(), VectorError> {
        Ok(write_folder(folder, DESCRIPTION, &self.files()?)?)
    }

    /// The files of the case, `case.json` first, as names and texts.
    pub fn files(&self) -> Result<Vec<(String, String)>, VectorError> {
        let mut files = vec![(DESCRIPTION.to_owned(), String::new())];
        let mut add = |name: String, text: String| {
            let lines = Lines::File { file: name.clone(), sha256: sha256(&text) };
            files.push((name, text));
            lines
        };
        let description = self.describe(&mut add);
        files[0].1 = serde_json::to_string_pretty(&description)
            .map_err(|error| VectorError::Json { path: DESCRIPTION.into(), reason: error.to_string() })?
            + "\n";
        Ok(files)
    }

    /// The case as one JSON text with the lines inside, for small cases.
    pub fn to_json(&self) -> String {
        let mut inline = |_, text: String| Lines::Inline { lines: text.lines().map(str::to_owned).collect() };
        serde_json::to_string_pretty(&self.describe(&mut inline)).unwrap_or_default()
    }

    fn describe(&self, store: &mut impl FnMut(String, String) -> Lines) -> Description {
        let mut rows = |name: String, bits: u32, words: usize, rows: &[u64]| {
            let mut text = String::new();
            hex::write(&mut text, bits, rows.chunks_exact(words));
            store(name, text)
        };
        let pins = &self.pins;
        let stimulus = rows("stimulus.hex".into(), pins.input_bits(), pins.input_words(), &self.stimulus);
        let expected = rows("expected.hex".into(), pins.output_bits(), pins.output_words(), &self.expected);
        let memories = (0..).zip(&self.memories).map(|(i, memory): (u32, _)| {
            let mut text = String::new();
            hex::write(&mut text, memory.width(), (0..memory.rows()).map(|row| memory.row(row)));
            MemoryEntry {
                path: memory.path().to_owned(),
                rows: memory.rows(),
                width: memory.width(),
                content: store(format!("memory{i}.hex"), text),
            }
        });
        Description {
            memories: memories.collect(),
            format: FORMAT.into(),
            version: VERSION,
            core: self.core.clone(),
            module: self.module.clone(),
            parameters: self.params.clone(),
            seed: format!("{:#018x}", self.seed),
            cycles: self.cycles,
            pins: pins.inputs().iter().chain(pins.outputs()).cloned().collect(),
            stimulus,
            expected,
        }
    }

    /// Reads a case from its folder, or from a `case.json` with the lines inside.
    pub fn read(path: &Path) -> Result<Self, VectorError> {
        let file = if path.is_dir() { path.join(DESCRIPTION) } else { path.to_owned() };
        let text =
            fs::read_to_string(&file).map_err(|source| VectorError::Io { path: file.clone(), source })?;
        Reader { file: &file }.case(&text)
    }
}

/// Reads with the path at hand that every error names.
struct Reader<'a> {
    file: &'a Path,
}

impl Reader<'_> {
    fn field(&self, field: impl Into<String>, reason: impl Into<String>) -> VectorError {
        VectorError::Field { path: self.file.to_owned(), field: field.into(), reason: reason.into() }
    }

    fn json(&self, error: &serde_json::Error) -> VectorError {
        VectorError::Json { path: self.file.to_owned(), reason: error.to_string() }
    }

    fn case(&self, text: &str) -> Result<Case, VectorError> {
        let preamble: Preamble = serde_json::from_str(text).map_err(|error| self.json(&error))?;
        if preamble.format.as_deref() != Some(FORMAT) {
            return Err(self.field("format", format!("is not \"{FORMAT}\"")));
        }
        match preamble.version {
            Some(1) => {}
            Some(found) if found > u64::from(VERSION) => {
                return Err(VectorError::Version { path: self.file.to_owned(), found });
            }
            _ => return Err(self.field("version", format!("must be 1 to {VERSION}"))),
        }
        let case: Description = serde_json::from_str(text).map_err(|error| self.json(&error))?;
        let seed = case.seed.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        let seed = seed.ok_or_else(|| self.field("seed", "is not \"0x\" and hexadecimal digits"))?;
        let pins = self.pins(&case.pins)?;
        let cycles = usize::try_from(case.cycles).map_err(|_| self.field("cycles", "is too large"))?;
        let stimulus = self.lines("stimulus", &case.stimulus, pins.input_bits(), cycles)?;
        let expected = self.lines("expected", &case.expected, pins.output_bits(), cycles)?;
        let mut memories = Vec::new();
        for entry in &case.memories {
            let field = format!("memories ({})", entry.path);
            if entry.rows == 0 || entry.width == 0 || entry.width > MAX_WIDTH {
                return Err(self.field(field, format!("rows must be at least 1, width 1 to {MAX_WIDTH}")));
            }
            let rows = self.lines(&field, &entry.content, entry.width, entry.rows)?;
            let mut memory = Memory::new(&entry.path, entry.rows, entry.width);
            for (row, value) in rows.chunks_exact(entry.width.div_ceil(64) as usize).enumerate() {
                memory.set_row(row, value);
            }
            memories.push(memory);
        }
        Ok(Case {
            core: case.core,
            module: case.module,
            params: case.parameters,
            seed,
            cycles: case.cycles,
            pins,
            stimulus,
            expected,
            memories,
        })
    }

    fn pins(&self, pins: &[Pin]) -> Result<PinMap, VectorError> {
        let of = |direction| {
            let pins = pins.iter().filter(move |pin| pin.direction == direction);
            pins.map(|pin| (pin.name.as_str(), pin.width))
        };
        if let Some(pin) = pins.iter().find(|pin| pin.width == 0 || pin.width > MAX_WIDTH) {
            return Err(self.field(format!("pins ({})", pin.name), format!("width must be 1 to {MAX_WIDTH}")));
        }
        let map = PinMap::new(of(Direction::Input), of(Direction::Output));
        if map.inputs().is_empty() || map.outputs().is_empty() {
            return Err(self.field("pins", "there must be inputs and outputs"));
        }
        let packed = map.inputs().iter().chain(map.outputs());
        match packed.zip(pins).find(|(packed, pin)| packed != pin) {
            None => Ok(map),
            Some((packed, pin)) => Err(self.field(
                format!("pins ({})", pin.name),
                format!(
                    "lsb is {}, {} expected: inputs first, then outputs, each packed without gaps",
                    pin.lsb, packed.lsb
                ),
            )),
        }
    }

    fn lines(&self, field: &str, lines: &Lines, bits: u32, count: usize) -> Result<Vec<u64>, VectorError> {
        match lines {
            Lines::Inline { lines } => parse_rows(self.file, lines.iter().map(String::as_str), bits, count),
            Lines::File { file, sha256: expected } => {
                if Path::new(file).components().count() != 1 || file.starts_with('.') {
                    return Err(self.field(field, format!("\"{file}\" is not a plain file name")));
                }
                let path = self.file.with_file_name(file);
                let text = fs::read_to_string(&path)
                    .map_err(|source| VectorError::Io { path: path.clone(), source })?;
                let rows = parse_rows(&path, text.lines(), bits, count)?;
                let found = sha256(&text);
                if found != *expected {
                    return Err(VectorError::Checksum { path, found, expected: expected.clone() });
                }
                Ok(rows)
            }
        }
    }
}

/// Parses `count` lines of `bits` bits each.
pub fn parse_rows<'t>(
    path: &Path,
    lines: impl Iterator<Item = &'t str>,
    bits: u32,
    count: usize,
) -> Result<Vec<u64>, VectorError> {
    let words = bits.div_ceil(64) as usize;
    // Grown as lines come: a count alone must not be able to claim memory.
    let mut rows = Vec::new();
    let mut found = 0;
    for line in lines {
        found += 1;
        let start = rows.len();
        rows.resize(start + words, 0);
        hex::parse(line, bits, &mut rows[start..]).map_err(|reason| VectorError::Line {
            path: path.to_owned(),
            line: found,
            reason,
        })?;
    }
    if found != count {
        return Err(VectorError::Length { path: path.to_owned(), found, expected: count });
    }
    Ok(rows)
}

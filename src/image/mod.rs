//! Memory images: a filter built in software that the hardware starts with, and a
//! filter dumped from hardware that software can query.
//!
//! An image is a folder: `image.json` (core, parameters, and a checksum per file),
//! `memory<N>.hex` per memory, which `$readmemh` loads, and a Verilog module that
//! instantiates the core with them. `docs/export.md` has the format in full.

mod dump;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    export::wrapper,
    filter::Filter,
    params::{ConfigError, Params},
    parity,
    registry::{self, Core},
    sram::Memory,
    vectors::{VectorError, hex, parse_rows, sha256},
    whole::write_folder,
};

/// The format version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
const FORMAT: &str = "membrane-image";
const DESCRIPTION: &str = "image.json";

/// The content of a filter's memories. Its memories are those of the core.
#[derive(Clone, Debug)]
pub struct Image {
    core: &'static dyn Core,
    params: Params,
    memories: Vec<Memory>,
}

impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        (self.core.name(), &self.params, &self.memories)
            == (other.core.name(), &other.params, &other.memories)
    }
}

/// An image that cannot be made, written or read.
#[derive(Debug, Error)]
pub enum ImageError {
    /// A file or field is wrong.
    #[error(transparent)]
    File(#[from] VectorError),
    /// The parameters are.
    #[error("{path}: {source}")]
    Config {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: ConfigError,
    },
    /// Part of the content is not in the memories.
    #[error(
        "{level} keys are in the overflow list, which is no memory and would be lost: \
         raise ROWS (TinySet: BLOCKS), or insert fewer keys"
    )]
    Overflow {
        /// How many.
        level: u64,
    },
    /// Nobody said whether all of the content is in the memories.
    #[error(
        "{core} has an overflow list, which is not in dumps of its memories: \
         say what its pin level showed (--level)"
    )]
    Level {
        /// The core.
        core: String,
    },
    /// Not what the core could have written.
    #[error("{path}: not the content of {core}: {reason}")]
    Content {
        /// Which file or folder.
        path: PathBuf,
        /// The core.
        core: String,
        /// Memory, row, and what is wrong with it.
        reason: String,
    },
    /// The memories are not those of the core.
    #[error("the memories are {found}, {core} with these parameters has {expected}")]
    Shape {
        /// The core.
        core: String,
        /// What there is.
        found: String,
        /// What there should be.
        expected: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryEntry {
    path: String,
    rows: usize,
    width: u32,
    file: String,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    format: String,
    version: u32,
    core: String,
    module: String,
    parameters: Params,
    memories: Vec<MemoryEntry>,
}

/// Read first, so that a newer format is named as such whatever else it changed.
#[derive(Deserialize)]
struct Preamble {
    format: Option<String>,
    version: Option<u64>,
}

fn shapes<'m>(memories: impl IntoIterator<Item = &'m Memory>) -> String {
    let all: Vec<_> =
        memories.into_iter().map(|m| format!("{} {}x{}", m.path(), m.rows(), m.width())).collect();
    all.join(", ")
}

impl Image {
    /// The core.
    pub fn core(&self) -> &'static dyn Core {
        self.core
    }

    /// All its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The memories, in the order of the model, without parity bits: files have them.
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// The image of a filter that was built with these parameters. Keys in its
    /// overflow list would be lost, so it may have none.
    pub fn of(core: &'static dyn Core, params: &Params, filter: &dyn Filter) -> Result<Self, ImageError> {
        if filter.level() > 0 {
            return Err(ImageError::Overflow { level: filter.level() });
        }
        let memories = filter.memories().into_iter().cloned().collect();
        Ok(Self { core, params: params.clone(), memories })
    }

    /// The image that memory dumps make, one file per memory in the order of the
    /// core: as `$writememh` writes them, or one row a line. `level` is what the pin
    /// of that name showed; a core with an overflow list needs it.
    pub fn from_dumps(
        core: &'static dyn Core,
        params: &Params,
        files: &[PathBuf],
        level: Option<u64>,
    ) -> Result<Self, ImageError> {
        let config = |source| ImageError::Config { path: core.name().into(), source };
        let mut filter = core.filter(params).map_err(config)?;
        match level {
            None if params.get("CAM_DEPTH").is_some_and(|depth| depth > 0) => {
                return Err(ImageError::Level { core: core.name().to_owned() });
            }
            None | Some(0) => {}
            Some(level) => return Err(ImageError::Overflow { level }),
        }
        let mut memories = stored(params, filter.memories());
        if memories.len() != files.len() {
            return Err(ImageError::Shape {
                core: core.name().to_owned(),
                found: format!("{} files", files.len()),
                expected: shapes(&memories),
            });
        }
        for (memory, path) in memories.iter_mut().zip(files) {
            let text =
                fs::read_to_string(path).map_err(|source| VectorError::Io { path: path.clone(), source })?;
            dump::load(path, &text, memory)?;
        }
        fill(core, params, filter.as_mut(), memories, Path::new("dumps"))?;
        Self::of(core, params, filter.as_ref())
    }

    /// Writes the image as a folder: all of it or, when anything fails, nothing.
    /// An older image at the same place is replaced.
    pub fn write(&self, out: &Path) -> Result<(), ImageError> {
        let core = self.core;
        let config = |source| ImageError::Config { path: out.to_owned(), source };
        let model = core.clocked(&self.params).map_err(config)?;
        let mut files = Vec::new();
        let memories = stored(&self.params, &self.memories);
        let entries = (0..).zip(&memories).map(|(i, memory): (u32, _)| {
            let mut text = String::new();
            hex::write(&mut text, memory.width(), (0..memory.rows()).map(|row| memory.row(row)));
            let file = format!("memory{i}.hex");
            let sha256 = sha256(&text);
            files.push((file.clone(), text));
            MemoryEntry {
                path: memory.path().to_owned(),
                rows: memory.rows(),
                width: memory.width(),
                file,
                sha256,
            }
        });
        let description = Description {
            memories: entries.collect(),
            format: FORMAT.into(),
            version: VERSION,
            core: core.name().to_owned(),
            module: core.module().to_owned(),
            parameters: self.params.clone(),
        };
        let json = serde_json::to_string_pretty(&description)
            .map_err(|error| VectorError::Json { path: DESCRIPTION.into(), reason: error.to_string() })?;
        let sums: Vec<_> = files.iter().map(|(name, text)| format!("{}  {name}\n", sha256(text))).collect();
        files.push(("SHA256SUMS".into(), sums.concat()));
        files.push((DESCRIPTION.into(), json + "\n"));
        let module = format!("{}_loaded.v", core.module());
        files.push((module, wrapper(core, &self.params, model.pins(), "_loaded", Some("memory"))));
        Ok(write_folder(out, DESCRIPTION, &files).map_err(VectorError::from)?)
    }

    /// Reads an image from its folder.
    pub fn read(folder: &Path) -> Result<Self, ImageError> {
        let file = folder.join(DESCRIPTION);
        let text =
            fs::read_to_string(&file).map_err(|source| VectorError::Io { path: file.clone(), source })?;
        let json =
            |error: serde_json::Error| VectorError::Json { path: file.clone(), reason: error.to_string() };
        let field = |field: &str, reason: String| VectorError::Field {
            path: file.clone(),
            field: field.to_owned(),
            reason,
        };
        let preamble: Preamble = serde_json::from_str(&text).map_err(json)?;
        if preamble.format.as_deref() != Some(FORMAT) {
            return Err(field("format", format!("is not \"{FORMAT}\"")).into());
        }
        match preamble.version {
            Some(1) => {}
            Some(found) if found > u64::from(VERSION) => {
                return Err(VectorError::Version { path: file, found }.into());
            }
            _ => return Err(field("version", format!("must be 1 to {VERSION}")).into()),
        }
        let image: Description = serde_json::from_str(&text).map_err(json)?;
        let core = registry::find(&image.core)
            .ok_or_else(|| field("core", format!("there is no core {}", image.core)))?;
        let config = |source| ImageError::Config { path: file.clone(), source };
        let params = core.check(&image.parameters).map_err(config)?;
        let mut filter = core.filter(&params).map_err(config)?;
        // The core's own memories say what to read: a description alone cannot claim any.
        let parity = u32::from(parity::is_on(&params));
        let found = image.memories.iter().map(|entry| (entry.path.clone(), entry.rows, entry.width));
        let expected = filter.memories().into_iter();
        let expected = expected.map(|m| (m.path().to_owned(), m.rows(), m.width() + parity));
        let (found, expected): (Vec<_>, Vec<_>) = (found.collect(), expected.collect());
        if found != expected {
            let [found, expected] = [found, expected].map(|shapes| {
                let all = shapes.iter().map(|(path, rows, width)| format!("{path} {rows}x{width}"));
                all.collect::<Vec<_>>().join(", ")
            });
            return Err(ImageError::Shape { core: image.core, found, expected });
        }
        let mut memories = stored(&params, filter.memories());
        for (memory, entry) in memories.iter_mut().zip(&image.memories) {
            if Path::new(&entry.file).components().count() != 1 || entry.file.starts_with('.') {
                return Err(field("memories", format!("\"{}\" is not a plain file name", entry.file)).into());
            }
            let path = folder.join(&entry.file);
            let text =
                fs::read_to_string(&path).map_err(|source| VectorError::Io { path: path.clone(), source })?;
            let rows = parse_rows(&path, text.lines(), entry.width, entry.rows)?;
            let found = sha256(&text);
            if found != entry.sha256 {
                return Err(VectorError::Checksum { path, found, expected: entry.sha256.clone() }.into());
            }
            for (row, value) in rows.chunks_exact(entry.width.div_ceil(64) as usize).enumerate() {
                memory.set_row(row, value);
            }
        }
        fill(core, &params, filter.as_mut(), memories, folder)?;
        Self::of(core, &params, filter.as_ref())
    }

    /// A filter with the content of the image.
    pub fn filter(&self) -> Result<Box<dyn Filter>, ConfigError> {
        let mut filter = self.core.filter(&self.params)?;
        for (memory, content) in filter.memories_mut().into_iter().zip(&self.memories) {
            memory.clone_from(content);
        }
        Ok(filter)
    }
}

/// The memories as the hardware stores them.
fn stored<'m>(params: &Params, memories: impl IntoIterator<Item = &'m Memory>) -> Vec<Memory> {
    let memories = memories.into_iter();
    if parity::is_on(params) { memories.map(parity::stored).collect() } else { memories.cloned().collect() }
}

/// Fills a filter with what the hardware stores, or says what is wrong with it.
fn fill(
    core: &dyn Core,
    params: &Params,
    filter: &mut dyn Filter,
    stored: Vec<Memory>,
    path: &Path,
) -> Result<(), ImageError> {
    let wrong = |reason| ImageError::Content { path: path.to_owned(), core: core.name().to_owned(), reason };
    for (memory, stored) in filter.memories_mut().into_iter().zip(stored) {
        *memory = if parity::is_on(params) {
            parity::checked(&stored)
                .map_err(|row| wrong(format!("{} row {row}: its parity is wrong", stored.path())))?
        } else {
            stored
        };
    }
    filter.check_memories().map_err(wrong)
}

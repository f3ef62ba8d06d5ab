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
    registry::{self, Core},
    sram::Memory,
    vectors::{VectorError, folder, hex, parse_rows, sha256},
};

/// The format version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
const FORMAT: &str = "membrane-image";
const DESCRIPTION: &str = "image.json";

/// The content of a filter's memories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Name of the core in the registry.
    pub core: String,
    /// All its parameters.
    pub params: Params,
    /// The memories, in the order of the model.
    pub memories: Vec<Memory>,
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
    /// The core cannot start from an image.
    #[error("{core} cannot start from memory images: choose a core whose docs say that it can")]
    Unsupported {
        /// Which.
        core: String,
    },
    /// Part of the content is not in the memories.
    #[error("{level} keys are in the overflow list, which is no memory: use more rows, or insert fewer keys")]
    Overflow {
        /// How many.
        level: u64,
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

fn same_shape(a: &Memory, b: &Memory) -> bool {
    (a.path(), a.rows(), a.width()) == (b.path(), b.rows(), b.width())
}

impl Image {
    /// The image of a filter that was built with these parameters.
    pub fn of(core: &dyn Core, params: &Params, filter: &mut dyn Filter) -> Result<Self, ImageError> {
        if filter.memories_mut().is_none() {
            return Err(ImageError::Unsupported { core: core.name().to_owned() });
        }
        if filter.level() > 0 {
            return Err(ImageError::Overflow { level: filter.level() });
        }
        let memories = filter.memories().into_iter().cloned().collect();
        Ok(Self { core: core.name().to_owned(), params: params.clone(), memories })
    }

    /// The image that memory dumps make, one file per memory in the order of the
    /// core: as `$writememh` writes them, or one row a line.
    pub fn from_dumps(core: &dyn Core, params: &Params, files: &[PathBuf]) -> Result<Self, ImageError> {
        let config = |source| ImageError::Config { path: core.name().into(), source };
        let mut filter = core.filter(params).map_err(config)?;
        let Some(mut memories) = filter.memories_mut() else {
            return Err(ImageError::Unsupported { core: core.name().to_owned() });
        };
        if memories.len() != files.len() {
            return Err(ImageError::Shape {
                core: core.name().to_owned(),
                found: format!("{} files", files.len()),
                expected: shapes(memories.iter().map(|memory| &**memory)),
            });
        }
        for (memory, path) in memories.iter_mut().zip(files) {
            let text =
                fs::read_to_string(path).map_err(|source| VectorError::Io { path: path.clone(), source })?;
            dump::load(path, &text, memory)?;
        }
        Self::of(core, params, filter.as_mut())
    }

    /// Writes the image as a folder: all of it or, when anything fails, nothing.
    /// An older image at the same place is replaced.
    pub fn write(&self, core: &dyn Core, out: &Path) -> Result<(), ImageError> {
        let config = |source| ImageError::Config { path: out.to_owned(), source };
        let model = core.clocked(&self.params).map_err(config)?;
        let mut files = Vec::new();
        let entries = (0..).zip(&self.memories).map(|(i, memory): (u32, _)| {
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
            core: self.core.clone(),
            module: core.module().to_owned(),
            parameters: self.params.clone(),
        };
        let json = serde_json::to_string_pretty(&description)
            .map_err(|error| VectorError::Json { path: DESCRIPTION.into(), reason: error.to_string() })?;
        files.push((DESCRIPTION.into(), json + "\n"));
        let module = format!("{}_loaded.v", core.module());
        files.push((module, wrapper(core, &self.params, model.pins(), "_loaded", Some("memory"))));
        Ok(folder::write(out, DESCRIPTION, &files)?)
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
        let filter = core.filter(&params).map_err(config)?;
        // The core's own memories say what to read: a description alone cannot claim any.
        let mut memories: Vec<_> = filter.memories().into_iter().cloned().collect();
        let found = image.memories.iter().map(|entry| (&*entry.path, entry.rows, entry.width));
        if !found.eq(memories.iter().map(|m| (m.path(), m.rows(), m.width()))) {
            let found: Vec<_> =
                image.memories.iter().map(|m| format!("{} {}x{}", m.path, m.rows, m.width)).collect();
            let (found, expected) = (found.join(", "), shapes(&memories));
            return Err(ImageError::Shape { core: image.core, found, expected });
        }
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
        Ok(Self { core: image.core, params, memories })
    }

    /// The core of the image, and a filter with its content.
    pub fn filter(&self) -> Result<(&'static dyn Core, Box<dyn Filter>), ImageError> {
        let unsupported = || ImageError::Unsupported { core: self.core.clone() };
        let core = registry::find(&self.core).ok_or_else(unsupported)?;
        let config = |source| ImageError::Config { path: self.core.clone().into(), source };
        let mut filter = core.filter(&self.params).map_err(config)?;
        let mut memories = filter.memories_mut().ok_or_else(unsupported)?;
        let fits = memories.len() == self.memories.len()
            && memories.iter().zip(&self.memories).all(|(a, b)| same_shape(a, b));
        if !fits {
            return Err(ImageError::Shape {
                core: self.core.clone(),
                found: shapes(&self.memories),
                expected: shapes(memories.iter().map(|memory| &**memory)),
            });
        }
        for (memory, content) in memories.iter_mut().zip(&self.memories) {
            (*memory).clone_from(content);
        }
        Ok((core, filter))
    }
}

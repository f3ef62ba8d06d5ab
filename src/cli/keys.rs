//! Files of keys on the command line.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use membrane::keys::{KeyFormat, KeyReader};

/// Opens a file of keys, or standard input for `-`; `bar` follows it.
pub fn open(path: &Path, format: KeyFormat, key_w: u32, bar: &ProgressBar) -> Result<KeyReader<'static>> {
    let input: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        bar.set_length(file.metadata().map_or(0, |metadata| metadata.len()));
        Box::new(file)
    };
    Ok(KeyReader::new(bar.wrap_read(input), path.display().to_string(), format, key_w))
}

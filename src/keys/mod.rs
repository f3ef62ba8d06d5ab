//! Keys from files: text, binary, and packet captures.
//!
//! A [`KeyReader`] reads any of them in batches, because a filter is faster on many keys at
//! once and a file is, too.

mod pcap;
mod text;

use std::{
    io::{self, Read},
    sync::mpsc,
    thread,
};

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What a file of keys holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum KeyFormat {
    /// A decimal number per line, or 0x and a hexadecimal one.
    Decimal,
    /// A hexadecimal number per line, with or without 0x.
    Hex,
    /// Any text per line, folded to `KEY_W` bits ([`fold`]).
    Text,
    /// Keys one after the other, each of `KEY_W` bits rounded up to whole bytes, lowest
    /// byte first.
    Binary,
    /// A packet capture (pcap or pcapng): the 5-tuple of each IP packet ([`FiveTuple`]).
    Pcap,
}

pub use pcap::FiveTuple;

/// Keys that could not be read.
#[derive(Debug, Error)]
pub enum KeyError {
    /// A key is not what the format says, or does not fit.
    #[error("{file}:{place}: {reason}")]
    Bad {
        /// The file.
        file: String,
        /// Line, byte or packet.
        place: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The file could not be read.
    #[error("{file}: {error}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
}

/// Word `i` of a key that is folded is XXH3-64 of `bytes` with seed `i`, cut to `key_w`
/// bits in all.
pub fn fold(bytes: &[u8], key_w: u32, key: &mut [u64]) {
    for (seed, word) in (0..).zip(key.iter_mut()) {
        *word = xxh3_64_with_seed(bytes, seed);
    }
    mask(key_w, key);
}

/// Clears the bits above `key_w`; true when there were any.
fn mask(key_w: u32, key: &mut [u64]) -> bool {
    let top = u64::MAX >> ((64 - key_w % 64) % 64);
    let last = &mut key[key_w.div_ceil(64) as usize - 1];
    let above = *last & !top;
    *last &= top;
    above != 0
}

fn too_wide(key_w: u32) -> String {
    format!("needs more than the {key_w} bits of KEY_W: raise KEY_W, or fold keys as text")
}

/// Reads keys from a file.
///
/// ```
/// use membrane::keys::{KeyFormat, KeyReader};
/// let mut reader = KeyReader::new("7\n0x10\n".as_bytes(), "keys.txt", KeyFormat::Decimal, 64);
/// let mut keys = Vec::new();
/// assert_eq!(reader.batch(&mut keys)?, 2);
/// assert_eq!(keys, [7, 16]);
/// assert_eq!(reader.batch(&mut keys)?, 0);
/// # Ok::<(), membrane::keys::KeyError>(())
/// ```
pub struct KeyReader<'a> {
    file: String,
    key_w: u32,
    source: Source<'a>,
}

enum Source<'a> {
    Text(text::Lines<'a>),
    Binary(Binary<'a>),
    Pcap(Box<pcap::Packets<'a>>),
}

/// Keys per batch.
pub const BATCH: usize = 4096;
/// Batches that are read ahead.
const AHEAD: usize = 4;

impl<'a> KeyReader<'a> {
    /// Reads `input`; `file` names it in errors.
    pub fn new(input: impl Read + Send + 'a, file: impl Into<String>, format: KeyFormat, key_w: u32) -> Self {
        let source = match format {
            KeyFormat::Decimal | KeyFormat::Hex | KeyFormat::Text => {
                Source::Text(text::Lines::new(Box::new(input), format))
            }
            KeyFormat::Binary => {
                Source::Binary(Binary { input: Box::new(input), bytes: Vec::new(), position: 0 })
            }
            KeyFormat::Pcap => Source::Pcap(Box::new(pcap::Packets::new(Box::new(input)))),
        };
        Self { file: file.into(), key_w, source }
    }

    /// Replaces `keys` by the next keys, word after word, at most [`BATCH`] of them, and
    /// returns how many there are: 0 at the end.
    pub fn batch(&mut self, keys: &mut Vec<u64>) -> Result<usize, KeyError> {
        let words = self.key_w.div_ceil(64) as usize;
        keys.clear();
        keys.resize(BATCH * words, 0);
        let mut one_by_one = |next: &mut dyn FnMut(&mut [u64]) -> Result<bool, Trouble>| {
            for (count, key) in keys.chunks_exact_mut(words).enumerate() {
                if !next(key)? {
                    return Ok(count);
                }
            }
            Ok(BATCH)
        };
        let count = match &mut self.source {
            Source::Text(lines) => one_by_one(&mut |key| lines.next(self.key_w, key)),
            Source::Pcap(packets) => one_by_one(&mut |key| packets.next(self.key_w, key)),
            Source::Binary(binary) => binary.fill(self.key_w, keys),
        };
        let count = count.map_err(|trouble| trouble.in_file(&self.file))?;
        keys.truncate(count * words);
        Ok(count)
    }

    /// Calls `each` with every batch to the end, and reads the next ones meanwhile.
    pub fn for_each_batch<E: From<KeyError>>(
        &mut self,
        mut each: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        thread::scope(|scope| {
            let (sender, batches) = mpsc::sync_channel(AHEAD);
            scope.spawn(move || {
                loop {
                    let mut keys = Vec::new();
                    let batch = self.batch(&mut keys);
                    let over = !matches!(batch, Ok(1..));
                    let empty = matches!(batch, Ok(0));
                    // Nobody listens any more when `each` has failed.
                    if empty || sender.send(batch.map(|_| keys)).is_err() || over {
                        return;
                    }
                }
            });
            batches.into_iter().try_for_each(|batch| each(&batch?))
        })
    }

    /// Calls `each` with every key, and returns how many there were.
    pub fn for_each(mut self, mut each: impl FnMut(&[u64])) -> Result<u64, KeyError> {
        let words = self.key_w.div_ceil(64) as usize;
        let mut total = 0;
        self.for_each_batch(|keys| {
            keys.chunks_exact(words).for_each(&mut each);
            total += (keys.len() / words) as u64;
            Ok::<_, KeyError>(())
        })?;
        Ok(total)
    }

    /// Packets of a capture that had no key: not IP, or IPv6 where `KEY_W` has no place for it.
    pub fn passed_over(&self) -> u64 {
        if let Source::Pcap(packets) = &self.source { packets.passed_over() } else { 0 }
    }
}

/// What went wrong, before the file's name is known.
enum Trouble {
    Bad { place: String, reason: String },
    Io(io::Error),
}

impl Trouble {
    fn in_file(self, file: &str) -> KeyError {
        let file = file.to_owned();
        match self {
            Self::Bad { place, reason } => KeyError::Bad { file, place, reason },
            Self::Io(error) => KeyError::Io { file, error },
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file of nothing but keys.
struct Binary<'a> {
    input: Box<dyn Read + Send + 'a>,
    bytes: Vec<u8>,
    /// Of the first byte.
    position: u64,
}

impl Binary<'_> {
    /// Fills `keys` from the start, and returns how many there are.
    fn fill(&mut self, key_w: u32, keys: &mut [u64]) -> Result<usize, Trouble> {
        let (size, words) = (key_w.div_ceil(8) as usize, key_w.div_ceil(64) as usize);
        self.bytes.clear();
        let wanted = keys.len() / words * size;
        self.input.by_ref().take(wanted as u64).read_to_end(&mut self.bytes)?;
        let bad = |byte: usize, reason| {
            Err(Trouble::Bad { place: format!("byte {}", self.position + byte as u64), reason })
        };
        let count = self.bytes.len() / size;
        let left = self.bytes.len() % size;
        if left > 0 {
            let reason = format!("{left} bytes are left, a key of KEY_W={key_w} has {size}: cut short?");
            return bad(count * size, reason);
        }
        for (i, (bytes, key)) in self.bytes.chunks_exact(size).zip(keys.chunks_exact_mut(words)).enumerate() {
            let (whole, rest) = bytes.as_chunks::<8>();
            for (word, bytes) in key.iter_mut().zip(whole) {
                *word = u64::from_le_bytes(*bytes);
            }
            if !rest.is_empty() {
                let mut last = [0; 8];
                last[..rest.len()].copy_from_slice(rest);
                key[words - 1] = u64::from_le_bytes(last);
            }
            if mask(key_w, key) {
                return bad(i * size, too_wide(key_w));
            }
        }
        self.position += self.bytes.len() as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn read(bytes: &[u8], format: KeyFormat, key_w: u32) -> Result<Vec<Vec<u64>>, KeyError> {
        let mut keys = Vec::new();
        KeyReader::new(bytes, "keys", format, key_w).for_each(|key| keys.push(key.to_vec()))?;
        Ok(keys)
    }

    #[test]
    fn binary_keys_of_any_width() {
        assert_eq!(read(&[1, 2, 3, 4], KeyFormat::Binary, 16).unwrap(), [[0x0201], [0x0403]]);
        assert_eq!(read(&[0xff; 13], KeyFormat::Binary, 104).unwrap(), [[u64::MAX, (1 << 40) - 1]]);
        let error = |bytes: &[u8], key_w| read(bytes, KeyFormat::Binary, key_w).unwrap_err().to_string();
        assert!(error(&[0; 20], 64).starts_with("keys:byte 16: 4 bytes are left, a key of KEY_W=64 has 8"));
        assert!(error(&[0, 0, 0xff, 0xff], 12).starts_with("keys:byte 2: needs more than the 12 bits"));
    }

    #[test]
    fn folding_is_published_xxh3() {
        // As published for the empty input and seed 0.
        let mut key = [0; 2];
        fold(b"", 128, &mut key);
        assert_eq!(key[0], 0x2d06_8005_38d3_94c2);
        assert_eq!(key[1], xxh3_64_with_seed(b"", 1));
        let mut short = [0];
        fold(b"", 12, &mut short);
        assert_eq!(short[0], 0x4c2);
    }

    /// All keys before the damage, then the damage, then nothing; and an end when the
    /// receiver has had enough.
    #[test]
    fn reading_ahead_ends_with_trouble_on_either_side() {
        let bytes = vec![7; (BATCH * 20 + 3) * 4 + 1];
        let read = |enough: usize| {
            let mut seen = 0;
            let mut reader = KeyReader::new(&*bytes, "keys", KeyFormat::Binary, 32);
            let result = reader.for_each_batch(|keys| {
                seen += keys.len();
                if seen >= enough {
                    Err(Box::from("enough"))
                } else {
                    Ok::<_, Box<dyn std::error::Error>>(())
                }
            });
            (seen, result.unwrap_err().to_string())
        };
        let (seen, error) = read(usize::MAX);
        assert_eq!(seen, BATCH * 20);
        assert!(error.starts_with("keys:byte 327692: 1 bytes are left"), "{error}");
        assert_eq!(read(BATCH * 2), (BATCH * 2, "enough".into()));
    }

    #[test]
    fn batches_are_full_but_for_the_last() {
        let bytes = vec![7; BATCH * 4 + 8];
        let mut reader = KeyReader::new(&*bytes, "keys", KeyFormat::Binary, 32);
        let mut keys = Vec::new();
        assert_eq!(reader.batch(&mut keys).unwrap(), BATCH);
        assert_eq!(reader.batch(&mut keys).unwrap(), 2);
        assert_eq!(keys, [0x0707_0707; 2]);
        assert_eq!(reader.batch(&mut keys).unwrap(), 0);
    }
}

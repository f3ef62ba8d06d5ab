//! Keys from text.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyFormat {
    /// A decimal number, or 0x and a hexadecimal one
    Decimal,
    /// A hexadecimal number, with or without 0x
    Hex,
    /// Any text; word i of the key is XXH3-64 of the line with seed i, cut to `KEY_W` bits
    Text,
}

/// Opens a file, or standard input for `-`.
pub fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(File::open(path).with_context(|| path.display().to_string())?))
}

/// Calls `each` with the key of every line; blank lines are passed over.
pub fn for_each(
    input: impl Read,
    name: &str,
    format: KeyFormat,
    key_w: u32,
    mut each: impl FnMut(&[u64]),
) -> Result<u64> {
    let mut reader = BufReader::with_capacity(1 << 20, input);
    let mut key = vec![0; key_w.div_ceil(64) as usize];
    let mut line = Vec::new();
    let mut count = 0;
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).with_context(|| format!("{name}:{number}"))? == 0 {
            break;
        }
        let text = line.trim_ascii_end();
        if text.is_empty() {
            continue;
        }
        if let Err(reason) = parse(text, format, key_w, &mut key) {
            let text = String::from_utf8_lossy(text);
            bail!("{name}:{number}: \"{text}\" {reason}");
        }
        each(&key);
        count += 1;
    }
    Ok(count)
}

fn parse(text: &[u8], format: KeyFormat, key_w: u32, key: &mut [u64]) -> Result<(), String> {
    if format == KeyFormat::Text {
        for (seed, word) in (0..).zip(key.iter_mut()) {
            *word = xxh3_64_with_seed(text, seed);
        }
        mask(key_w, key);
        return Ok(());
    }
    let text = text.trim_ascii_start();
    let (radix, digits) = match text.strip_prefix(b"0x") {
        Some(digits) => (16, digits),
        None if format == KeyFormat::Hex => (16, text),
        None => (10, text),
    };
    key.fill(0);
    if digits.is_empty() {
        return Err("has no digits".into());
    }
    for digit in digits.iter().filter(|digit| **digit != b'_') {
        let Some(digit) = char::from(*digit).to_digit(radix) else {
            let hint = if radix == 10 {
                "use --format hex or --format text, or 0x in front"
            } else {
                "use --format text"
            };
            return Err(format!("is not a number: {hint}"));
        };
        let mut carry = u64::from(digit);
        for word in key.iter_mut() {
            let wide = u128::from(*word) * u128::from(radix) + u128::from(carry);
            *word = wide as u64;
            carry = (wide >> 64) as u64;
        }
        if carry != 0 {
            return Err(too_wide(key_w));
        }
    }
    let top = key.to_vec();
    mask(key_w, key);
    if top == key { Ok(()) } else { Err(too_wide(key_w)) }
}

fn too_wide(key_w: u32) -> String {
    format!("needs more than the {key_w} bits of KEY_W: raise KEY_W, or fold the key with --format text")
}

fn mask(key_w: u32, key: &mut [u64]) {
    if !key_w.is_multiple_of(64) {
        let last = key.len() - 1;
        key[last] &= (1 << (key_w % 64)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str, format: KeyFormat, key_w: u32) -> Result<Vec<Vec<u64>>> {
        let mut keys = Vec::new();
        for_each(text.as_bytes(), "keys", format, key_w, |key| keys.push(key.to_vec()))?;
        Ok(keys)
    }

    #[test]
    fn numbers_of_any_width() {
        assert_eq!(keys("7\r\n\n0x10\n", KeyFormat::Decimal, 8).unwrap(), [[7], [16]]);
        assert_eq!(keys("ff\n0xFE\n", KeyFormat::Hex, 8).unwrap(), [[255], [254]]);
        let wide = "340282366920938463463374607431768211455";
        assert_eq!(keys(wide, KeyFormat::Decimal, 128).unwrap(), [[u64::MAX; 2]]);
    }

    #[test]
    fn text_is_folded_by_published_xxh3() {
        // XXH3-64 of the empty input and seed 0 is published as 2d06800538d394c2; a
        // blank line is no key, so the test uses the crate's answer for "a".
        assert_eq!(xxh3_64_with_seed(b"", 0), 0x2d06_8005_38d3_94c2);
        let both = keys("a\n", KeyFormat::Text, 128).unwrap();
        assert_eq!(both, [[xxh3_64_with_seed(b"a", 0), xxh3_64_with_seed(b"a", 1)]]);
        assert_eq!(keys("a\n", KeyFormat::Text, 12).unwrap()[0][0], both[0][0] & 0xfff);
    }

    #[test]
    fn bad_lines_are_named() {
        let error = |text, key_w| keys(text, KeyFormat::Decimal, key_w).unwrap_err().to_string();
        assert!(error("1\n256\n", 8).starts_with("keys:2: \"256\" needs more than the 8 bits"));
        assert!(error("cafe\n", 8).starts_with("keys:1: \"cafe\" is not a number: use --format hex"));
        assert!(error("18446744073709551616\n", 64).contains("more than the 64 bits"));
    }
}

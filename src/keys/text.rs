//! A key per line.

use std::io::{BufRead, BufReader, Read};

use super::{KeyFormat, Trouble, fold, mask, too_wide};

pub struct Lines<'a> {
    input: BufReader<Box<dyn Read + Send + 'a>>,
    format: KeyFormat,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub fn new(input: Box<dyn Read + Send + 'a>, format: KeyFormat) -> Self {
        Self { input: BufReader::with_capacity(1 << 20, input), format, line: Vec::new(), number: 0 }
    }

    /// The key of the next line that is not blank, unless the file is over.
    pub fn next(&mut self, key_w: u32, key: &mut [u64]) -> Result<bool, Trouble> {
        loop {
            self.line.clear();
            self.number += 1;
            if self.input.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(false);
            }
            let text = self.line.trim_ascii_end();
            if text.is_empty() {
                continue;
            }
            if self.format == KeyFormat::Text {
                fold(text, key_w, key);
                return Ok(true);
            }
            return number(text, self.format, key_w, key).map(|()| true).map_err(|reason| Trouble::Bad {
                place: self.number.to_string(),
                reason: format!("\"{}\" {reason}", String::from_utf8_lossy(text)),
            });
        }
    }
}

fn number(text: &[u8], format: KeyFormat, key_w: u32, key: &mut [u64]) -> Result<(), String> {
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
    if let ([word], Some(number)) = (&mut *key, one_word(digits, radix)) {
        *word = number;
        return if mask(key_w, key) { Err(too_wide(key_w)) } else { Ok(()) };
    }
    let not_a_number = || {
        let hint =
            if radix == 10 { "give the format hex or text, or 0x in front" } else { "give the format text" };
        format!("is not a number: {hint}")
    };
    let digits = digits.iter().filter(|digit| **digit != b'_');
    let digits =
        digits.map(|digit| char::from(*digit).to_digit(radix).map(u64::from).ok_or_else(not_a_number));
    for digit in digits {
        let mut carry = digit?;
        for word in key.iter_mut() {
            let wide = u128::from(*word) * u128::from(radix) + u128::from(carry);
            *word = wide as u64;
            carry = (wide >> 64) as u64;
        }
        if carry != 0 {
            return Err(too_wide(key_w));
        }
    }
    if mask(key_w, key) { Err(too_wide(key_w)) } else { Ok(()) }
}

/// The most frequent case, fast: plain decimal digits of a number that fits into a word.
fn one_word(digits: &[u8], radix: u32) -> Option<u64> {
    // So many never overflow.
    const SURE: usize = 19;
    if radix != 10 || digits.len() > SURE + 1 {
        return None;
    }
    let (sure, last) = digits.split_at(digits.len().min(SURE));
    let (mut number, mut wrong) = (0, 0);
    for digit in sure {
        let digit = digit.wrapping_sub(b'0');
        wrong |= u8::from(digit > 9);
        number = number * 10 + u64::from(digit & 0xf);
    }
    if wrong != 0 {
        return None;
    }
    let Some(last) = last.first() else { return Some(number) };
    let last = last.is_ascii_digit().then(|| u64::from(last - b'0'))?;
    number.checked_mul(10)?.checked_add(last)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::read, *};
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    #[test]
    fn numbers_of_any_width() {
        assert_eq!(read(b"7\r\n\n0x10\n", KeyFormat::Decimal, 8).unwrap(), [[7], [16]]);
        assert_eq!(read(b"ff\n0xFE\n", KeyFormat::Hex, 8).unwrap(), [[255], [254]]);
        assert_eq!(read(b"ffffffffffffffff", KeyFormat::Hex, 64).unwrap(), [[u64::MAX]]);
        assert_eq!(read(b"18446744073709551615", KeyFormat::Decimal, 64).unwrap(), [[u64::MAX]]);
        assert_eq!(
            read(b"9_999_999_999_999_999_999", KeyFormat::Decimal, 64).unwrap(),
            [[10u64.pow(19) - 1]]
        );
        let wide = b"340282366920938463463374607431768211455";
        assert_eq!(read(wide, KeyFormat::Decimal, 128).unwrap(), [[u64::MAX; 2]]);
    }

    #[test]
    fn text_is_folded() {
        let both = read(b"a\n", KeyFormat::Text, 128).unwrap();
        assert_eq!(both, [[xxh3_64_with_seed(b"a", 0), xxh3_64_with_seed(b"a", 1)]]);
    }

    #[test]
    fn bad_lines_are_named() {
        let error =
            |text: &str, key_w| read(text.as_bytes(), KeyFormat::Decimal, key_w).unwrap_err().to_string();
        assert!(error("1\n256\n", 8).starts_with("keys:2: \"256\" needs more than the 8 bits"));
        assert!(error("cafe\n", 8).starts_with("keys:1: \"cafe\" is not a number: give the format hex"));
        assert!(error("18446744073709551616\n", 64).contains("more than the 64 bits"));
        assert!(error("0x\n", 64).contains("has no digits"));
    }
}

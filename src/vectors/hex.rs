//! Rows as lines of hexadecimal digits, for `$readmemh`.

use std::fmt::Write;

/// Appends `rows` rows of `bits` bits, one line each, most significant digit first.
pub fn write(text: &mut String, bits: u32, rows: impl IntoIterator<Item = impl AsRef<[u64]>>) {
    let digits = bits.div_ceil(4);
    for row in rows {
        for digit in (0..digits).rev() {
            let nibble = (row.as_ref()[(digit / 16) as usize] >> (digit % 16 * 4)) & 0xf;
            let _ = write!(text, "{nibble:x}");
        }
        text.push('\n');
    }
}

/// Parses one line into `row`, or says what is wrong with it.
pub fn parse(line: &str, bits: u32, row: &mut [u64]) -> Result<(), String> {
    let digits = bits.div_ceil(4) as usize;
    if line.len() != digits {
        return Err(format!(
            "has {} characters, {digits} hexadecimal digits expected ({bits} bits)",
            line.len()
        ));
    }
    row.fill(0);
    for (i, c) in line.chars().enumerate() {
        let nibble = c.to_digit(16).ok_or_else(|| format!("'{c}' is not a hexadecimal digit"))?;
        let place = digits - 1 - i;
        row[place / 16] |= u64::from(nibble) << (place % 16 * 4);
    }
    if !bits.is_multiple_of(64) && row[(bits / 64) as usize] >> (bits % 64) != 0 {
        return Err(format!("sets a bit above the {bits} bits of a row"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        for bits in [1u32, 4, 5, 63, 64, 65, 77, 130] {
            let words = bits.div_ceil(64) as usize;
            let mut row: Vec<u64> = (0..words as u64).map(|w| crate::hash::splitmix64(7, w)).collect();
            if !bits.is_multiple_of(64) {
                row[words - 1] &= u64::MAX >> (64 - bits % 64);
            }
            let mut text = String::new();
            write(&mut text, bits, [&row]);
            let mut back = vec![0; words];
            parse(text.trim_end(), bits, &mut back).unwrap();
            assert_eq!(back, row);
        }
    }

    #[test]
    fn bad_lines_say_why() {
        let mut row = [0];
        assert_eq!(
            parse("12", 12, &mut row).unwrap_err(),
            "has 2 characters, 3 hexadecimal digits expected (12 bits)"
        );
        assert_eq!(parse("1g2", 12, &mut row).unwrap_err(), "'g' is not a hexadecimal digit");
        assert_eq!(parse("8", 3, &mut row).unwrap_err(), "sets a bit above the 3 bits of a row");
    }
}

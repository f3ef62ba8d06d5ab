//! Memory dumps as `$writememh` and lab tools write them.

use std::path::Path;

use crate::{
    sram::Memory,
    vectors::{VectorError, hex},
};

/// Loads every row of `memory` from a dump: words apart by white space, `//`
/// comments, `@` and an address in hexadecimal. Each row must be there once.
pub fn load(path: &Path, text: &str, memory: &mut Memory) -> Result<(), VectorError> {
    let digits = memory.width().div_ceil(4) as usize;
    let mut seen = vec![false; memory.rows()];
    let mut row = 0;
    let mut value = vec![0; memory.width().div_ceil(64) as usize];
    for (line, content) in (1..).zip(text.lines()) {
        let refuse = |reason: String| VectorError::Line { path: path.to_owned(), line, reason };
        let content = content.split("//").next().unwrap_or_default();
        for word in content.split_ascii_whitespace() {
            if let Some(address) = word.strip_prefix('@') {
                row = usize::from_str_radix(address, 16)
                    .map_err(|_| refuse(format!("has {word}, which is no hexadecimal address")))?;
                continue;
            }
            match seen.get_mut(row) {
                None => {
                    return Err(refuse(format!("is row {row}, the memory has {} rows", seen.len())));
                }
                Some(seen) if *seen => return Err(refuse(format!("is row {row}, which was there before"))),
                Some(seen) => *seen = true,
            }
            let plain = word.replace('_', "");
            // Some tools leave out leading zeros.
            hex::parse(&format!("{plain:0>digits$}"), memory.width(), &mut value).map_err(refuse)?;
            memory.set_row(row, &value);
            row += 1;
        }
    }
    let found = seen.iter().filter(|seen| **seen).count();
    if found != seen.len() {
        return Err(VectorError::Length { path: path.to_owned(), found, expected: seen.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<Vec<u64>, String> {
        let mut memory = Memory::new("m", 4, 6);
        load(Path::new("dump"), text, &mut memory).map_err(|error| error.to_string())?;
        Ok((0..4).map(|row| memory.row(row)[0]).collect())
    }

    #[test]
    fn what_tools_write() {
        assert_eq!(rows("// 0x00000000\n01\n02\n03\n3f\n").unwrap(), [1, 2, 3, 0x3f]);
        assert_eq!(rows("@2 3 3_f // tail\n@0\n1 2\n").unwrap(), [1, 2, 3, 0x3f]);
    }

    #[test]
    fn what_is_refused() {
        let error = |text| rows(text).unwrap_err();
        assert!(error("1\n2\n3\n").starts_with("dump: 3 lines"), "{}", error("1\n2\n3\n"));
        assert_eq!(error("1\n2\nxx\n4\n"), "dump:3: the line 'x' is not a hexadecimal digit");
        assert_eq!(error("1 2 3 4 5"), "dump:1: the line is row 4, the memory has 4 rows");
        assert_eq!(error("1 2 @0 3"), "dump:1: the line is row 0, which was there before");
        assert_eq!(error("1\n40"), "dump:2: the line sets a bit above the 6 bits of a row");
        assert_eq!(error("@zz"), "dump:1: the line has @zz, which is no hexadecimal address");
    }
}

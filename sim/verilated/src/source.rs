//! Verilog sources and parameter values.

use std::path::Path;

use serde::Serialize;

use crate::Error;

/// One file of the design: its name and content.
///
/// The name may have folders (`rtl/fifo.v`), which count for `` `include ``. By
/// its ending:
/// - `.vlt` is a Verilator control file,
/// - `.v`, `.sv`, `.vp` and `.svp` are compiled,
/// - anything else only lies ready for `` `include ``.
///
/// A file that the design opens while it runs, as `$readmemh` does, is not looked
/// for among the sources but in the process's working folder.
///
/// ```
/// let source = verilated::Source::new("buf.v", "module buf_1 (input a, output y); assign y = a; endmodule");
/// assert_eq!(source.name, "buf.v");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// File name, as it appears in messages and coverage.
    pub name: String,
    /// Content.
    pub text: String,
}

/// What Verilator is told about a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Control,
    Design,
    Included,
}

impl Source {
    /// A source from text at hand.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Reads a file; its name is kept without the folder.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(Self { name: name.to_string_lossy().into_owned(), text })
    }

    pub(crate) fn kind(&self) -> Kind {
        match Path::new(&self.name).extension().and_then(|e| e.to_str()) {
            Some("vlt") => Kind::Control,
            Some("v" | "sv" | "vp" | "svp") => Kind::Design,
            _ => Kind::Included,
        }
    }
}

/// A value for a parameter of the top module.
///
/// Whole numbers convert by themselves; those beyond 32 bits are passed with
/// the width of their type, so that Verilog does not cut them.
///
/// ```
/// use verilated::Param;
/// assert_eq!(Param::from(-5), Param::Int(-5));
/// assert_eq!(Param::from(1_u64 << 40), Param::Bits { width: 64, value: 1 << 40 });
/// assert_eq!(Param::from("fast"), Param::Str("fast".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Param {
    /// A plain decimal number, a signed 32-bit integer in Verilog.
    Int(i32),
    /// An unsigned number of an explicit width.
    Bits {
        /// Width in bits.
        width: u32,
        /// Value; must fit the width.
        value: u128,
    },
    /// A string. Printable ASCII without `"` and `\`, which Verilator would
    /// pass on altered.
    Str(String),
}

impl Param {
    /// The text after `-GNAME=`.
    pub(crate) fn literal(&self, name: &str) -> Result<String, Error> {
        match self {
            Self::Int(value) => Ok(value.to_string()),
            Self::Bits { width, value } => {
                if *width == 0 || (*width < 128 && value >> width != 0) {
                    return Err(Error::Input(format!(
                        "parameter {name}: {value:#x} does not fit in {width} bits"
                    )));
                }
                Ok(format!("{width}'h{value:x}"))
            }
            Self::Str(text) => {
                if text.chars().any(|c| c == '"' || c == '\\' || !(' '..='~').contains(&c)) {
                    return Err(Error::Input(format!(
                        "parameter {name}: {text:?} holds characters that Verilator would alter \
                         (only printable ASCII without quotes and backslashes passes unchanged)"
                    )));
                }
                Ok(format!("\"{text}\""))
            }
        }
    }
}

macro_rules! param_from {
    ($($ty:ty: $width:literal),*) => {$(
        impl From<$ty> for Param {
            fn from(value: $ty) -> Self {
                i32::try_from(value).map_or(
                    // A negative number keeps its two's complement at the width of its type.
                    Self::Bits { width: $width, value: (value as u128) & (u128::MAX >> (128 - $width)) },
                    Self::Int,
                )
            }
        }
    )*};
}
#[allow(clippy::cast_lossless, clippy::cast_sign_loss)] // one macro for all types, signed and not
mod from {
    use super::Param;
    param_from!(u8: 8, u16: 16, u32: 32, u64: 64, u128: 128, usize: 64, i32: 32, i64: 64);
}

impl From<bool> for Param {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for Param {
    fn from(value: &str) -> Self {
        Self::Str(value.to_owned())
    }
}

impl From<String> for Param {
    fn from(value: String) -> Self {
        Self::Str(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let literal = |p: Param| p.literal("P").unwrap();
        assert_eq!(literal((-7).into()), "-7");
        assert_eq!(literal(0xffff_ffff_u32.into()), "32'hffffffff");
        assert_eq!(literal(0xdead_beef_0000_0001_u64.into()), "64'hdeadbeef00000001");
        assert_eq!(literal((-(1_i64 << 40)).into()), "64'hffffff0000000000");
        assert_eq!(literal((1_u128 << 100).into()), "128'h10000000000000000000000000");
        assert_eq!(literal(true.into()), "1");
        assert_eq!(literal("a b".into()), "\"a b\"");
    }

    #[test]
    fn values_that_would_be_altered_are_refused() {
        assert!(Param::from("say \"hi\"").literal("P").is_err());
        assert!(Param::from("back\\slash").literal("P").is_err());
        assert!(Param::Bits { width: 4, value: 16 }.literal("P").is_err());
        assert!(Param::Bits { width: 4, value: 15 }.literal("P").is_ok());
        assert!(Param::Bits { width: 0, value: 0 }.literal("P").is_err());
    }
}

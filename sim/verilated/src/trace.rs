//! Waveforms: Verilator's VCD turned into FST.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use fst_writer::{
    FstFileType, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection, FstVarType,
    FstWriteError, open_fst,
};
use tempfile::TempDir;

use crate::Error;
use crate::vcd::{self, Change, Definition};

/// How much the FST writer may gather in memory before it writes a block.
const BLOCK: usize = 64 << 20;

/// A recording under way.
pub(crate) struct Trace {
    target: PathBuf,
    /// In the target's folder, so that the result can be renamed into place.
    temp: TempDir,
    vcd: PathBuf,
}

impl Trace {
    pub(crate) fn new(target: &Path) -> Result<Self, Error> {
        let temp = temp_beside(target)?;
        let vcd = temp.path().join("trace.vcd");
        Ok(Self { target: target.to_owned(), temp, vcd })
    }

    /// Where Verilator writes.
    pub(crate) fn vcd(&self) -> &Path {
        &self.vcd
    }

    /// Writes the FST file; the waveform ends at `end`.
    pub(crate) fn finish(self, end: u64) -> Result<(), Error> {
        let fst = self.temp.path().join("trace.fst");
        convert(&self.vcd, &fst, end, BLOCK)?;
        fs::rename(&fst, &self.target).map_err(Error::io(&self.target))
    }
}

/// A folder beside `target`, from which a finished file can be renamed to it.
pub(crate) fn temp_beside(target: &Path) -> Result<TempDir, Error> {
    let dir = match target.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    tempfile::Builder::new().prefix(".verilated-").tempdir_in(dir).map_err(Error::io(dir))
}

struct Signal {
    id: FstSignalId,
    width: usize,
}

fn convert(from: &Path, to: &Path, end: u64, block: usize) -> Result<(), Error> {
    let fail = |e: FstWriteError| Error::Trace(e.to_string());
    let mut input = BufReader::with_capacity(1 << 16, File::open(from).map_err(Error::io(from))?);
    let (definitions, timescale_exponent) = vcd::read_header(&mut input).map_err(Error::io(from))?;
    let info = FstInfo {
        start_time: 0,
        timescale_exponent,
        version: concat!("verilated ", env!("CARGO_PKG_VERSION")).to_owned(),
        // The same run gives the same file.
        date: String::new(),
        file_type: FstFileType::Verilog,
    };
    let mut header = open_fst(to, &info).map_err(fail)?;
    let mut signals: HashMap<u64, Signal> = HashMap::new();
    for definition in definitions {
        match definition {
            Definition::Scope { kind, name } => header.scope(name, "", scope_type(&kind)).map_err(fail)?,
            Definition::UpScope => header.up_scope().map_err(fail)?,
            Definition::Var { kind, width, code, name } => {
                let real = kind == "real";
                let (signal, var) = if real {
                    (FstSignalType::real(), FstVarType::Real)
                } else {
                    (FstSignalType::bit_vec(width), var_type(&kind))
                };
                // One signal may be seen under several names.
                let alias = signals.get(&code).map(|s| s.id);
                let id = header.var(name, signal, var, FstVarDirection::Implicit, alias).map_err(fail)?;
                signals.entry(code).or_insert(Signal { id, width: width as usize });
            }
        }
    }
    let mut body = header.finish().map_err(fail)?;
    let (mut line, mut now) = (Vec::new(), 0);
    while let Some(change) = vcd::read_change(&mut input, &mut line).map_err(Error::io(from))? {
        match change {
            Change::Time(time) => {
                if body.size() > block && time > now {
                    body.flush().map_err(fail)?;
                }
                body.time_change(time).map_err(fail)?;
                now = time;
            }
            Change::Bits(code, digits) => {
                let Some(signal) = signals.get(&code) else { continue };
                // The writer fills up short values but panics on long ones.
                let digits = &digits[digits.len().saturating_sub(signal.width)..];
                body.signal_change(signal.id, digits).map_err(fail)?;
            }
            Change::Real(code, value) => {
                let Some(signal) = signals.get(&code) else { continue };
                body.signal_change(signal.id, &value.to_le_bytes()).map_err(fail)?;
            }
        }
    }
    // The last cycle is as long as the others.
    body.time_change(end.max(now)).map_err(fail)?;
    body.finish().map_err(fail)?;
    Ok(())
}

fn scope_type(kind: &str) -> FstScopeType {
    match kind {
        "task" => FstScopeType::Task,
        "function" => FstScopeType::Function,
        "begin" => FstScopeType::Begin,
        "fork" => FstScopeType::Fork,
        "generate" => FstScopeType::Generate,
        "struct" => FstScopeType::Struct,
        "union" => FstScopeType::Union,
        "class" => FstScopeType::Class,
        "interface" => FstScopeType::Interface,
        "package" => FstScopeType::Package,
        "program" => FstScopeType::Program,
        _ => FstScopeType::Module,
    }
}

fn var_type(kind: &str) -> FstVarType {
    match kind {
        "reg" => FstVarType::Reg,
        "integer" => FstVarType::Integer,
        "parameter" => FstVarType::Parameter,
        "time" => FstVarType::Time,
        "event" => FstVarType::Event,
        "logic" => FstVarType::Logic,
        "bit" => FstVarType::Bit,
        "int" => FstVarType::Int,
        "supply0" => FstVarType::Supply0,
        "supply1" => FstVarType::Supply1,
        "tri" => FstVarType::Tri,
        _ => FstVarType::Wire,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fst_reader::{FstFilter, FstReader, FstSignalValue};
    use std::fmt::Write;

    /// Time, signal index and digits of every change.
    fn read_back(path: &Path) -> Vec<(u64, usize, String)> {
        let mut reader = FstReader::open(BufReader::new(File::open(path).unwrap())).unwrap();
        let mut changes = Vec::new();
        reader
            .read_signals::<()>(&FstFilter::all(), |time, handle, value| {
                let FstSignalValue::String(digits) = value else { panic!("no reals here") };
                changes.push((time, handle.get_index(), String::from_utf8(digits.to_vec()).unwrap()));
                Ok(())
            })
            .unwrap();
        changes.sort();
        changes
    }

    #[test]
    fn small_blocks_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let [vcd, fst] = ["a.vcd", "a.fst"].map(|name| dir.path().join(name));
        let mut text = "$timescale 1ns $end\n$scope module t $end\n$var wire 16 ! n $end\n\
            $var wire 16 ! alias $end\n$upscope $end\n$enddefinitions $end\n"
            .to_owned();
        for t in 0..2000_u64 {
            let _ = writeln!(text, "#{}\nb{t:016b} !", 10 * t);
        }
        fs::write(&vcd, text).unwrap();
        for block in [500, usize::MAX] {
            convert(&vcd, &fst, 20_000, block).unwrap();
            let mut changes = read_back(&fst);
            // Each block repeats the state it starts from.
            changes.dedup_by(|b, a| a.2 == b.2);
            assert_eq!(changes.len(), 2000, "block size {block}");
            for (t, change) in changes.iter().enumerate() {
                assert_eq!(*change, (10 * t as u64, 0, format!("{t:016b}")));
            }
        }
    }

    #[test]
    fn a_late_start_is_unknown_before() {
        let dir = tempfile::tempdir().unwrap();
        let [vcd, fst] = ["a.vcd", "a.fst"].map(|name| dir.path().join(name));
        let text = "$timescale 1ns $end\n$scope module t $end\n$var wire 2 ! n $end\n\
            $upscope $end\n$enddefinitions $end\n#100\nb10 !\n#110\nb01 !\n";
        fs::write(&vcd, text).unwrap();
        convert(&vcd, &fst, 120, BLOCK).unwrap();
        let expected = [(0, 0, "xx".to_owned()), (100, 0, "10".to_owned()), (110, 0, "01".to_owned())];
        assert_eq!(read_back(&fst), expected);
    }

    #[test]
    fn broken_files_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let [vcd, fst] = ["a.vcd", "a.fst"].map(|name| dir.path().join(name));
        fs::write(&vcd, "$scope module t $end\n").unwrap();
        assert!(convert(&vcd, &fst, 0, BLOCK).unwrap_err().to_string().contains("no end"));
    }
}

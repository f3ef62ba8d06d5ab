//! A case as a folder that plays everywhere: the RTL with its parameters fixed, the
//! vectors, test benches for simulators, cocotb and a board, and package files.
//!
//! Nothing here knows a core by name: its pins, parameters, files and memories say
//! all there is to say. The files themselves are in `templates/`, as a user gets
//! them but for the words between `@`.

mod fill;
mod verilog;

use std::path::Path;

use thiserror::Error;

use crate::{
    registry::Core,
    vectors::{Case, VectorError, sha256},
    whole::write_folder,
};

use fill::fill;
pub use verilog::wrapper;

/// A folder that cannot be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The folder cannot be written.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// A case without that pin has no beginning.
    #[error("{module} has no input pin rst: a case begins with a reset")]
    NoReset {
        /// The core's top module.
        module: String,
    },
    /// A case without a cycle.
    #[error("the case has no cycles: give at least 1")]
    Empty,
}

/// Writes the case and all that plays it as a folder: all of it or, when anything
/// fails, nothing. An older case or export at the same place is replaced.
///
/// ```
/// use membrane::{Params, export, registry, stimulus::record};
///
/// let core = registry::CORES[0];
/// let params = core.presets()[0].params();
/// let case = record(core, &params, 1, 10_000)?;
/// let folder = tempfile::tempdir()?;
/// export::write(core, &case, &folder.path().join("case"))?;
/// assert!(folder.path().join("case/tb/membrane_tb.v").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(core: &dyn Core, case: &Case, out: &Path) -> Result<(), ExportError> {
    Ok(write_folder(out, "case.json", &files(core, case)?).map_err(VectorError::from)?)
}

/// All files of the exported folder, as names and texts.
pub fn files(core: &dyn Core, case: &Case) -> Result<Vec<(String, String)>, ExportError> {
    if case.cycles == 0 {
        return Err(ExportError::Empty);
    }
    let reset = case.pins.inputs().iter().find(|pin| pin.name == "rst");
    let reset = reset.ok_or_else(|| ExportError::NoReset { module: case.module.clone() })?.lsb;
    let mut files = case.files()?;
    let sums: Vec<_> = files.iter().map(|(name, text)| format!("{}  {name}", sha256(text))).collect();
    // All but the description.
    let vectors: Vec<_> = files.iter().skip(1).map(|(name, _)| name.clone()).collect();

    let module = &case.module;
    let fixed = format!("rtl/{module}_fixed.v");
    let mut rtl: Vec<_> = core.rtl().iter().map(|file| format!("rtl/{}", file.name)).collect();
    files.extend(core.rtl().iter().map(|file| (format!("rtl/{}", file.name), file.text.to_owned())));
    files.push((fixed.clone(), wrapper(core, &case.params, &case.pins, "_fixed", None)));
    rtl.push(fixed);

    let bench = verilog::Bench::new(case, reset);
    let lines = |each: &dyn Fn(&String) -> String, of: &[String]| -> String {
        of.iter().map(each).collect::<Vec<_>>().join("\n")
    };
    let vlnv = format!("membrane:case:{}:1.0.0", case.core);
    let package = [
        ("MODULE", module.clone()),
        ("CYCLES", case.cycles.to_string()),
        ("PARAMS", case.params.to_string()),
        ("SEED", case.seed.to_string()),
        ("RTL_FILES", rtl.join(" ")),
        ("FILES", rtl.join("\n") + "\ntb/membrane_tb.v"),
        ("VLNV", vlnv),
        ("BENDER_NAME", format!("membrane_case_{}", case.core)),
        ("CORE_RTL_FILES", lines(&|file| format!("      - {file}"), &rtl)),
        // Beside the simulation, where $readmemh looks.
        ("CORE_HEX_FILES", lines(&|file| format!("      - {file}: {{copyto: {file}}}"), &vectors)),
        ("BENDER_RTL_FILES", lines(&|file| format!("  - {file}"), &rtl)),
        ("PIN_TABLE", verilog::pin_table(&case.pins)),
    ];
    let mut add = |name: &str, template: &str, words: &[(&'static str, String)]| {
        files.push((name.to_owned(), fill(template, words)));
    };
    add("tb/membrane_tb.v", include_str!("templates/tb.v"), bench.words());
    add("tb/membrane_selftest.v", include_str!("templates/selftest.v"), bench.words());
    add("tb/membrane_selftest_tb.v", include_str!("templates/selftest_tb.v"), bench.words());
    add("Makefile", include_str!("templates/Makefile"), &package);
    add("files.f", include_str!("templates/files.f"), &package);
    add("README.md", include_str!("templates/README.md"), &package);
    add("membrane_case.core", include_str!("templates/case.core"), &package);
    add("Bender.yml", include_str!("templates/Bender.yml"), &package);
    for (name, text) in [
        ("cocotb/membrane_case.py", include_str!("templates/membrane_case.py")),
        ("cocotb/test_case.py", include_str!("templates/test_case.py")),
        ("cocotb/run.py", include_str!("templates/run.py")),
    ] {
        files.push((name.to_owned(), text.to_owned()));
    }
    files.push(("SHA256SUMS".into(), sums.join("\n") + "\n"));
    Ok(files)
}

//! What `make lint` holds besides the tools' own warnings: netlists without surprises, licences
//! that are accepted, and a reason next to every waiver.

mod common;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use membrane::{Core, Params, registry};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Checks of a core as one netlist: no loop, no latch, no asynchronous reset, no tri-state, no
/// divider, no memory but `membrane_sram_1p`'s; no path from a request to an output without a
/// register, and none from `rsp_ready` but to `req_ready`.
fn netlist_script(core: &dyn Core, params: &Params) -> String {
    let names: Vec<_> = core.rtl().iter().map(|file| file.name).collect();
    let mut script =
        format!("read_verilog -defer {}; hierarchy -check -top {}", names.join(" "), core.module());
    for (name, value) in params.iter() {
        let literal = if name == "SEED" { format!("64'h{value:x}") } else { value.to_string() };
        script.extend([" -chparam ", name, " ", &literal]);
    }
    // Everything that a signal reaches before a clock edge.
    let reach = "%coe*:-$dff,$dffe,$sdff,$sdffe,$sdffce,$mem_v2";
    script +=
        "; setattr -mod -unset keep_hierarchy *; proc; flatten; opt_clean; memory_collect; check -assert";
    script += "; select -assert-none t:$dlatch t:$adlatch t:$dlatchsr t:$sr t:$tribuf";
    script += "; select -assert-none t:$adff t:$adffe t:$aldff t:$aldffe t:$dffsr t:$dffsre";
    script += "; select -assert-none t:$div t:$mod t:$divfloor t:$modfloor t:$pow";
    script += "; select -assert-none t:$mem_v2 c:*.mem %d";
    write!(script, "; select -assert-none i:req_* {reach} o:* %i").expect("a string grows");
    write!(script, "; select -assert-none i:rsp_ready {reach} o:* o:req_ready %d %i")
        .expect("a string grows");
    script
}

/// What Yosys says of a core, edited; nothing if all is well.
fn netlist_faults(core: &dyn Core, params: &Params, edit: Option<(&str, &str)>) -> Option<String> {
    let scratch = common::scratch();
    let mut edits = 0;
    for file in core.rtl() {
        let mut text = file.text.to_owned();
        if let Some((old, new)) = edit {
            edits += text.matches(old).count();
            text = text.replace(old, new);
        }
        fs::write(scratch.path().join(file.name), text).expect("written");
    }
    assert_eq!(edits, usize::from(edit.is_some()), "{edit:?} fits once");
    let output = common::tool("yosys")
        .args(["-q", "-p", &netlist_script(core, params)])
        .current_dir(scratch.path())
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (!output.status.success() || text.contains("Warning")).then(|| text.into_owned())
}

/// The preset of a core with the smallest netlist, as far as parameters tell; all of them where
/// `LINT_ALL` is set, as `make lint` does.
fn presets(core: &dyn Core) -> Vec<(&'static str, Params)> {
    let all: Vec<_> = core
        .presets()
        .iter()
        .map(|preset| (preset.name, core.check(&preset.params()).expect("legal")))
        .collect();
    if std::env::var_os("LINT_ALL").is_some() {
        return all;
    }
    let tiny = all.iter().position(|(name, _)| *name == "tiny").unwrap_or(0);
    vec![all[tiny].clone()]
}

#[test]
fn netlists_hold_no_surprise() {
    for core in registry::CORES {
        for (name, params) in presets(*core) {
            let faults = netlist_faults(*core, &params, None);
            assert!(faults.is_none(), "{} {name}:\n{}", core.name(), faults.unwrap_or_default());
        }
    }
}

#[test]
fn surprises_in_a_netlist_are_found() {
    let core = registry::CORES.iter().find(|core| core.name() == "partitioned").expect("a core");
    let (_, params) = presets(*core).remove(0);
    let hands_over = "wire s2_hands_over = s2_last || (s2_op == OP_QUERY);";
    let row_last = "wire row_last = row == LAST_ROW[ROW_W-1:0];";
    let before = "always @(posedge clk) begin\n    if (rst) s3_before";
    let level = "assign level     = 1'b0;";
    let ready = "assign req_ready = !sweep && s1_free;";
    let busy = "assign busy      = sweep ||";
    let edits = [
        (
            "a latch",
            hands_over,
            "reg s2_hands_over; always @* if (s2_op != OP_CLEAR) s2_hands_over = s2_last;",
        ),
        ("a loop", row_last, "wire row_last; assign row_last = row == LAST_ROW[ROW_W-1:0] && !row_last;"),
        ("a reset", before, "always @(posedge clk or posedge rst) begin\n    if (rst) s3_before"),
        (
            "a memory",
            level,
            "reg [0:0] spare[0:3]; always @(posedge clk) if (take) spare[req_op] <= req_tag[0]; \
             assign level = spare[s1_op];",
        ),
        ("a divider", level, "assign level = (s1_tag / s2_tag) == 0;"),
        ("a path", ready, "assign req_ready = !sweep && s1_free && req_valid;"),
        ("a path", busy, "assign busy      = rsp_ready || sweep ||"),
    ];
    for (what, old, new) in edits {
        assert!(netlist_faults(*core, &params, Some((old, new))).is_some(), "{what} is not found: {new}");
    }
}

fn licences(accepted: &Path) -> (bool, String) {
    let output = Command::new("python3")
        .arg(root().join("scripts/licences.py"))
        .arg(accepted)
        .current_dir(root())
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text.into_owned())
}

#[test]
fn every_dependence_has_an_accepted_licence() {
    let (accepted, text) = licences(&root().join("scripts/licences.txt"));
    assert!(accepted, "{text}");
    let scratch = common::scratch();
    let short = scratch.path().join("short.txt");
    fs::write(&short, "MIT  short\n").expect("written");
    let (accepted, text) = licences(&short);
    assert!(!accepted && text.contains("BSD-3-Clause"), "{text}");
}

/// All files under the folders that end so.
fn files(folders: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<_> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if endings.iter().any(|end| path.to_string_lossy().ends_with(end)) {
                found.push(path);
            }
        }
    }
    found
}

/// Lines that switch a check off without saying why, there or in the line above.
fn unexplained(text: &str) -> Vec<usize> {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        // A waiver in a string or in words about waivers does not begin its line.
        let rust = ["#[allow(", "#![allow(", "#[expect(", "#![expect("].iter().any(|w| line.starts_with(w));
        let verilog = ["verilator lint_off", "verible lint: waive"].iter().any(|waiver| {
            line.split_once(waiver).is_some_and(|(before, _)| before.trim_end().ends_with(['/', '*']))
        });
        let beside =
            if verilog { line.contains(" -- ") } else { line.contains("// ") || line.contains("reason =") };
        let above = number > 0 && lines[number - 1].starts_with("// ");
        if (rust || verilog) && !beside && !above {
            found.push(number + 1);
        }
    }
    found
}

#[test]
fn every_waiver_has_its_reason() {
    let mut waivers = String::new();
    for path in files(&["src", "sim", "tests", "benches", "rtl"], &[".rs", ".v"]) {
        for line in unexplained(&fs::read_to_string(&path).expect("text")) {
            writeln!(waivers, "{}:{line}: says not why", path.display()).expect("a string grows");
        }
    }
    // Rules of Verible and lints of Clippy that are off, in their files: a comment stands above each group.
    for (file, off) in [("scripts/verible.rules", "-"), ("Cargo.toml", "")] {
        let text = fs::read_to_string(root().join(file)).expect("text");
        let mut explained = false;
        for (number, line) in text.lines().enumerate() {
            let waiver = if off.is_empty() { line.ends_with("= \"allow\"") } else { line.starts_with(off) };
            explained = line.starts_with('#') || (explained && !line.is_empty());
            if waiver && !explained {
                writeln!(waivers, "{file}:{}: says not why", number + 1).expect("a string grows");
            }
        }
    }
    assert!(waivers.is_empty(), "{waivers}");
}

#[test]
fn a_waiver_without_reason_is_found() {
    let allow = "#[allow(".to_owned() + "dead_code)]";
    assert_eq!(unexplained(&format!("fn f() {{}}\n{allow}\nfn g() {{}}")), [2]);
    assert_eq!(unexplained(&format!("{allow} // used by one test\nfn g() {{}}")), [0; 0]);
    assert_eq!(unexplained(&format!("// used by one test\n{allow}\nfn g() {{}}")), [0; 0]);
    let off = "/* verilator ".to_owned() + "lint_off UNUSED";
    assert_eq!(unexplained(&format!("  {off} */")), [1]);
    assert_eq!(unexplained(&format!("  {off} -- a spare bit */")), [0; 0]);
}

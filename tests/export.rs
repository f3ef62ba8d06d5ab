//! The exported folder, alone in an empty directory, in every player: it passes, a bug
//! in its RTL makes it fail, and damaged files are refused. `make export-check` does
//! the first for every preset.

mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use membrane::{Core, export, registry, stimulus::record, vectors::Case};

/// Every player, as arguments of `make`.
const PLAYERS: [(&str, &[&str]); 6] = [
    ("Icarus", &["sim", "SIM=icarus"]),
    ("Verilator", &["sim", "SIM=verilator"]),
    ("self-test in Icarus", &["selftest", "SIM=icarus"]),
    ("self-test in Verilator", &["selftest", "SIM=verilator"]),
    ("cocotb", &["cocotb", "SIM=icarus"]),
    ("FuseSoC", &["fusesoc"]),
];

fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/bin")
}

/// A command that finds the tools on the PATH, or those that `make setup` installed.
fn with_tools(program: &str) -> Command {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":");
    path.push(installed());
    let mut command = Command::new(program);
    command.env("PATH", path).env("PYTHON", installed().join("cocotb-python"));
    command
}

fn make(folder: &Path, args: &[&str]) -> Output {
    with_tools("make")
        .arg("--no-print-directory")
        .arg("-C")
        .arg(folder)
        .args(args)
        .output()
        .expect("make runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.starts_with(start))
}

/// The smallest preset of a core, exported.
fn exported(core: &'static dyn Core, folder: &Path) {
    let preset = core.presets().iter().find(|preset| preset.name == "tiny").unwrap_or(&core.presets()[0]);
    let case = record(core, &preset.params(), 5, 3000).expect("recorded");
    export::write(core, &case, folder).expect("written");
}

fn edit(path: &Path, from: &str, to: &str) {
    let before = fs::read_to_string(path).expect("read");
    assert_eq!(before.matches(from).count(), 1, "{from:?} is not once in {}", path.display());
    fs::write(path, before.replace(from, to)).expect("written");
}

const SRAM: &str = "rtl/membrane_sram_1p.v";

/// A bug: what is read is wrong, and the pins show it.
fn invert_reads(folder: &Path) {
    for branch in ["          else", "          end else"] {
        let read = |value: &str| format!("{branch} rdata <= {value};");
        edit(&folder.join(SRAM), &read("mem[addr]"), &read("~mem[addr]"));
    }
}

#[test]
fn every_player_passes_and_notices_bugs() {
    for core in registry::CORES {
        let scratch = common::scratch();
        let folder = scratch.path().join("case");
        exported(*core, &folder);
        for (player, args) in PLAYERS {
            let output = make(&folder, args);
            let text = text(&output);
            assert!(output.status.success() && has_line(&text, "PASS"), "{}, {player}:\n{text}", core.name());
        }
        invert_reads(&folder);
        for (player, args) in PLAYERS {
            let output = make(&folder, args);
            let text = text(&output);
            assert!(!output.status.success(), "{}, {player} does not notice:\n{text}", core.name());
            assert!(
                has_line(&text, "FAIL") && !has_line(&text, "PASS"),
                "{}, {player}:\n{text}",
                core.name()
            );
            if args[0] == "sim" {
                assert!(
                    text.contains(" expected ") && text.contains("rsp_hit"),
                    "{player} names no pin:\n{text}"
                );
            }
        }
    }
}

/// Bits that are kept inverted in the memory and inverted again when they are read: no
/// pin differs, but the memory does.
#[test]
fn memories_are_compared() {
    for core in registry::CORES {
        let scratch = common::scratch();
        let folder = scratch.path().join("case");
        exported(*core, &folder);
        invert_reads(&folder);
        let sram = folder.join(SRAM);
        edit(&sram, "mem[addr] <= wdata;", "mem[addr] <= ~wdata;");
        edit(&sram, "mem[addr][i] <= wdata[i];", "mem[addr][i] <= ~wdata[i];");
        for (player, args) in [PLAYERS[0], PLAYERS[1], PLAYERS[4]] {
            let output = make(&folder, args);
            let text = text(&output);
            assert!(
                !output.status.success() && has_line(&text, "FAIL"),
                "{}, {player}:\n{text}",
                core.name()
            );
            assert!(
                text.contains("memory ") && !text.contains("cycle 0:"),
                "{}, {player}:\n{text}",
                core.name()
            );
        }
        let output = make(&folder, PLAYERS[2].1);
        assert!(output.status.success(), "the bug is not hidden from the pins:\n{}", text(&output));
    }
}

#[test]
fn self_test_goes_through_synthesis() {
    for core in registry::CORES {
        let scratch = common::scratch();
        let folder = scratch.path().join("case");
        exported(*core, &folder);
        let output = make(&folder, &["synth"]);
        assert!(output.status.success(), "{}:\n{}", core.name(), text(&output));
        let log = fs::read_to_string(folder.join("build/synth.log")).expect("a log");
        // The vectors and the core are in it, and were not optimized away.
        for cell in ["DP16KD", "TRELLIS_FF", "LUT4"] {
            assert!(log.contains(cell), "{}: no {cell}", core.name());
        }
    }
}

#[test]
fn damaged_files_are_refused_by_every_reader() {
    let scratch = common::scratch();
    let folder = scratch.path().join("case");
    exported(registry::CORES[0], &folder);
    let built = make(&folder, PLAYERS[0].1);
    assert!(built.status.success(), "{}", text(&built));

    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("read");
    let last_digit = |text: &str| {
        let end = text.len() - 2;
        let digit = if text.as_bytes()[end] == b'0' { "1" } else { "0" };
        format!("{}{digit}\n", &text[..end])
    };
    let lines = |text: &str, n: usize| text.lines().take(n).collect::<Vec<_>>().join("\n") + "\n";
    // File, damaged text, and what the Python reader and the test bench say.
    let mut damages = Vec::new();
    for name in ["stimulus.hex", "expected.hex", "memory0.hex"] {
        let whole = read(name);
        let count = whole.lines().count();
        damages.push((name, lines(&whole, count - 1), format!("{} lines, ", count - 1), true));
        damages.push((name, last_digit(&whole), String::new(), true));
        damages.push((name, format!("0{whole}"), ":1: the line has ".into(), true));
        damages.push((
            name,
            whole.replacen(|c: char| c.is_ascii_hexdigit(), "g", 1),
            ":1: the line ".into(),
            false,
        ));
    }
    let json = read("case.json");
    damages.push((
        "case.json",
        json.replacen("\"version\": 1", "\"version\": 2", 1),
        "format version 2".into(),
        false,
    ));
    damages.push((
        "case.json",
        json.replacen("\"lsb\": 0", "\"lsb\": 1", 1),
        "packed without gaps".into(),
        false,
    ));
    damages.push((
        "case.json",
        json.replacen("\"width\": 1,\n      \"lsb\": 16", "\"width\": 5,\n      \"lsb\": 16", 1),
        "stimulus.hex:1: the line has".into(),
        false,
    ));
    damages.push(("case.json", json[..json.len() / 2].to_owned(), "not a case description".into(), false));
    damages.push((
        "case.json",
        json.replacen("\"cycles\": 3000", "\"cycles\": 2999", 1),
        "stimulus.hex: 3000 lines, ".into(),
        false,
    ));
    damages.push(("case.json", json.replacen("\"seed\"", "\"sead\"", 1), "field se".into(), false));

    for (name, damaged, reason, bench_sees) in damages {
        let whole = read(name);
        assert_ne!(whole, damaged);
        fs::write(folder.join(name), &damaged).expect("written");

        let said = Case::read(&folder).expect_err("damaged").to_string();
        // Of a field that is not known, the two readers say what is missing and what is there.
        let same = said.contains(&reason) || reason == "field se";
        assert!(same && (said.contains(name) || reason.contains(".hex")), "{name}, {reason}: {said}");

        let output = with_tools("python3").arg(folder.join("cocotb/membrane_case.py")).arg(&folder).output();
        let output = output.expect("runs");
        let said = text(&output);
        assert!(
            !output.status.success()
                && (said.contains(name) || reason.contains(".hex"))
                && said.contains(&reason),
            "{name}, {reason}: {said}"
        );
        assert!(!said.contains("Traceback"), "{said}");

        let output = make(&folder, PLAYERS[0].1);
        assert!(!output.status.success() && text(&output).contains("cut or edited"), "{}", text(&output));

        if bench_sees {
            // The test bench by itself, without the checksums of the Makefile.
            let output = with_tools("vvp").args(["-N", "sim.vvp"]).current_dir(folder.join("build")).output();
            let output = output.expect("runs");
            let said = text(&output);
            assert!(
                !output.status.success() && said.contains(name) && has_line(&said, "FAIL"),
                "{name}: {said}"
            );
            assert!(said.contains(&reason), "{said}");
        }
        fs::write(folder.join(name), whole).expect("written");
    }
}

/// The reader for Python reads what the Rust one writes, inline cases too.
#[test]
fn committed_cases_in_python_and_by_the_schema() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases: Vec<_> = fs::read_dir(root.join("vectors"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path().join("case.json"))
        .collect();
    assert!(!cases.is_empty());
    let scratch = common::scratch();
    let core = registry::CORES[0];
    let inline = scratch.path().join("inline.json");
    let case = record(core, &core.presets()[0].params(), 1, 10_000).expect("recorded");
    fs::write(&inline, case.to_json()).expect("written");
    cases.push(inline.clone());

    let python = |args: &[&str], cases: &[PathBuf]| python(args).args(cases).output().expect("runs");
    let output = python(&["src/export/templates/membrane_case.py"], &cases);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(text(&output).lines().count(), cases.len());

    let validate = "import fastjsonschema, json, sys\n\
        check = fastjsonschema.compile(json.load(open('docs/case.schema.json')))\n\
        for path in sys.argv[1:]: check(json.load(open(path)))";
    let output = python(&["-c", validate], &cases);
    assert!(output.status.success(), "{}", text(&output));
    let json = case.to_json();
    for (from, to) in [
        ("\"version\": 1", "\"version\": 2"),
        ("\"width\": 1,", "\"width\": 0,"),
        ("\"direction\": \"input\"", "\"direction\": \"inout\""),
        ("\"seed\"", "\"sead\""),
        ("\"lines\"", "\"rows\""),
    ] {
        assert!(json.contains(from));
        fs::write(&inline, json.replacen(from, to, 1)).expect("written");
        let output = python(&["-c", validate], std::slice::from_ref(&inline));
        assert!(!output.status.success() && text(&output).contains("JsonSchema"), "{to}: {}", text(&output));
    }
}

/// `make export-check` says what failed and how to see it again, and keeps the folder.
#[test]
fn export_check_keeps_what_fails() {
    let membrane = env!("CARGO_BIN_EXE_membrane");
    let args = ["scripts/export_check.py", "--membrane", membrane, "--only", "partitioned/tiny", "--players"];
    let check = |player: &str| {
        let scratch = common::scratch();
        let mut command = python(&args);
        command.arg(player).env("TMPDIR", scratch.path()).env("VVP", "false");
        let output = command.output().expect("runs");
        let kept = fs::read_dir(scratch.path()).expect("a folder").count();
        (output.status.success(), text(&output), kept)
    };
    let (passed, said, kept) = check("fusesoc");
    assert!(passed && kept == 0 && said.contains("[  1/1 "), "{said}");
    let (passed, said, kept) = check("icarus");
    assert!(!passed && kept == 1 && said.contains("1 failures"), "{said}");
    assert!(
        said.contains("again: make --no-print-directory -C /") && said.contains("/case sim SIM=icarus"),
        "{said}"
    );
}

/// Python with the packages that came with `FuseSoC`: YAML, JSON schema.
fn python(args: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = with_tools("python3");
    command.current_dir(root).env("PYTHONPATH", root.join(".tools/fusesoc-wheel")).args(args);
    command
}

/// Of the cores: up to date, and `FuseSoC` runs a simulation of each.
#[test]
fn package_files_of_the_cores() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let membrane = env!("CARGO_BIN_EXE_membrane");
    let output = python(&["scripts/packages.py", "--check", "--membrane", membrane]).output().expect("runs");
    assert!(output.status.success(), "{}", text(&output));
    let scratch = common::scratch();
    for core in registry::CORES {
        let mut fusesoc = with_tools("fusesoc");
        fusesoc.current_dir(scratch.path()).arg("--cores-root").arg(root);
        let target = format!("sim_{}", core.name());
        let output = fusesoc.args(["run", "--target", &target, "membrane:ip:cores"]).output().expect("runs");
        let said = text(&output);
        let pass = format!("PASS {}", core.module());
        assert!(output.status.success() && has_line(&said, &pass), "{}:\n{said}", core.name());
    }
    let files = bender(&root.join("Bender.yml"), &[]).expect("a manifest");
    assert_eq!(files.len(), fs::read_dir(root.join("rtl")).expect("a folder").count());
}

/// The files of a Bender.yml for these targets, or what is wrong with it.
fn bender(manifest: &Path, targets: &[&str]) -> Result<Vec<String>, String> {
    let output = python(&["tests/bender.py"]).arg(manifest).args(targets).output().expect("runs");
    let said = text(&output);
    if output.status.success() { Ok(said.lines().map(str::to_owned).collect()) } else { Err(said) }
}

/// What Bender would hand to a simulator is a simulation.
#[test]
fn bender_manifest_of_an_export() {
    let scratch = common::scratch();
    let folder = scratch.path().join("case");
    exported(registry::CORES[0], &folder);
    let manifest = folder.join("Bender.yml");
    for (targets, top) in
        [(&["simulation"][..], "membrane_tb"), (&["simulation", "selftest"], "membrane_selftest_tb")]
    {
        let files = bender(&manifest, targets).expect("a manifest");
        let program = folder.join(top);
        let mut iverilog = with_tools("iverilog");
        iverilog.args(["-g2005", "-s", top, "-o"]).arg(&program).args(&files).current_dir(&folder);
        let output = iverilog.output().expect("runs");
        assert!(output.status.success(), "{targets:?}: {}", text(&output));
        let output = with_tools("vvp").arg("-N").arg(&program).current_dir(&folder).output().expect("runs");
        assert!(has_line(&text(&output), "PASS"), "{targets:?}: {}", text(&output));
    }
    let rtl = bender(&manifest, &["selftest"]).expect("a manifest");
    assert_eq!(rtl.last().map(String::as_str), Some("tb/membrane_selftest.v"));

    let whole = fs::read_to_string(&manifest).expect("read");
    for (from, to, reason) in [
        ("package:", "packages:", "unknown field packages"),
        (SRAM, "rtl/gone.v", "rtl/gone.v is not there"),
        ("not(selftest)", "not(selftest", "no end"),
        ("files:", "file:", "unknown field file"),
    ] {
        fs::write(&manifest, whole.replacen(from, to, 1)).expect("written");
        let said = bender(&manifest, &[]).expect_err("damaged");
        assert!(said.contains(reason), "{to}: {said}");
    }
}

//! The RTL under all tools: presets are clean, and every parameter rule stops
//! elaboration in the words in which the Rust config refuses.

mod common;

use std::{fs, path::Path, process::Command};

use membrane::{
    Core, Params,
    params::{ParamSpec, sentinel},
    registry,
};

/// Verilator, Icarus and Yosys, each reading a core with its parameters and
/// nothing more; all warnings on.
fn commands(core: &dyn Core, params: &Params, folder: &Path) -> Vec<(&'static str, Command)> {
    // Names without a folder: Yosys from a wheel sees only the current one.
    let files = || core.rtl().iter().map(|file| file.name);
    let literal =
        |name: &str, value: u64| if name == "SEED" { format!("64'h{value:x}") } else { value.to_string() };

    let mut verilator = common::tools().verilator();
    verilator.args(["--lint-only", "-Wall", "--top-module", core.module()]).args(files());
    let mut icarus = common::tool("iverilog");
    icarus.args(["-g2005", "-Wall", "-tnull", "-s", core.module()]).args(files());
    let names: Vec<_> = files().collect();
    let mut script =
        format!("read_verilog -defer {}; hierarchy -check -top {}", names.join(" "), core.module());
    for (name, value) in params.iter() {
        verilator.arg(format!("-G{name}={}", literal(name, value)));
        icarus.arg(format!("-P{}.{name}={}", core.module(), literal(name, value)));
        script.extend([" -chparam ", name, " ", &literal(name, value)]);
    }
    let mut yosys = common::tool("yosys");
    yosys.args(["-q", "-p", &(script + "; proc; check -assert")]);
    let mut all = vec![("Verilator", verilator), ("Icarus", icarus), ("Yosys", yosys)];
    for (_, command) in &mut all {
        command.current_dir(folder);
    }
    all
}

fn write_rtl(core: &dyn Core, folder: &Path) {
    for file in core.rtl() {
        fs::write(folder.join(file.name), file.text).expect("written");
    }
}

#[test]
fn presets_are_clean_in_every_tool() {
    for core in registry::CORES {
        let scratch = common::scratch();
        write_rtl(*core, scratch.path());
        for preset in core.presets() {
            let params = core.check(&preset.params()).expect("legal");
            for (tool, mut command) in commands(*core, &params, scratch.path()) {
                let output = command.output().expect("runs");
                let text = String::from_utf8_lossy(&output.stderr).to_lowercase()
                    + &String::from_utf8_lossy(&output.stdout).to_lowercase();
                let clean = output.status.success() && !text.contains("warning") && !text.contains("error");
                assert!(clean, "{tool}, {} {}:\n{text}", core.name(), preset.name);
            }
        }
    }
}

/// Illegal parameters, one set per rule, with the rule's words.
fn illegal(core: &dyn Core) -> Vec<(String, Params)> {
    // From the smallest preset: tools elaborate much of a core before they stop.
    let tiny = core.presets().iter().find(|preset| preset.name == "tiny").unwrap_or(&core.presets()[0]);
    let base = core.check(&tiny.params()).expect("legal");
    let mut all = Vec::new();
    for spec in core.params() {
        let Some(words) = spec.range_rule() else { continue };
        if let Some(below) = spec.min.checked_sub(1) {
            all.push((words.clone(), base.clone().with(spec.name, below)));
        }
        if let Some(above) = spec.max.checked_add(1) {
            all.push((words, base.clone().with(spec.name, above)));
        }
    }
    for rule in core.rules() {
        let values = |spec: &ParamSpec| {
            [spec.min, 3, 24, 511, spec.max / 2 + 1, spec.max].map(|v| v.clamp(spec.min, spec.max))
        };
        let mut found = None;
        for a in core.params() {
            for b in core.params() {
                for (x, y) in values(a).into_iter().flat_map(|x| values(b).map(|y| (x, y))) {
                    let params = base.clone().with(a.name, x).with(b.name, y);
                    let refused =
                        core.check(&params).is_err_and(|error| error.to_string().starts_with(rule.words));
                    if found.is_none() && refused {
                        found = Some(params);
                    }
                }
            }
        }
        all.push((rule.words.to_owned(), found.unwrap_or_else(|| panic!("nothing breaks: {}", rule.words))));
    }
    all
}

#[test]
fn every_rule_stops_every_tool_in_its_own_words() {
    for core in registry::CORES {
        let scratch = common::scratch();
        write_rtl(*core, scratch.path());
        for (words, params) in illegal(*core) {
            let refusal = core.check(&params).expect_err("illegal").to_string();
            assert!(refusal.starts_with(&words), "{refusal:?} does not say {words:?}");
            for (tool, mut command) in commands(*core, &params, scratch.path()) {
                let output = command.output().expect("runs");
                let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
                assert!(!output.status.success(), "{tool} accepts {params}");
                assert!(
                    text.contains(&sentinel(&words)),
                    "{tool} does not say {words:?} of {params}:\n{text}"
                );
            }
        }
    }
}

/// Sizes have no default: a core that is instantiated without them does not elaborate.
#[test]
fn sizes_cannot_be_forgotten() {
    for core in registry::CORES {
        let scratch = common::scratch();
        write_rtl(*core, scratch.path());
        for (tool, mut command) in commands(*core, &Params::new(), scratch.path()) {
            let output = command.output().expect("runs");
            let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            assert!(!output.status.success(), "{tool} accepts {} without sizes", core.name());
            assert!(text.contains("membrane_error_"), "{tool}:\n{text}");
        }
    }
}

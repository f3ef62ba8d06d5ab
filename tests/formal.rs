//! A sample of `make formal`: a quick proof holds, and a core that is broken on purpose is refuted.
//! And every edit that breaks a core on purpose still finds its place in the RTL.

use std::{path::Path, process::Command};

fn run(arguments: &[&str]) -> (bool, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(root.join("sim/formal/run.py"))
        .args(arguments)
        .current_dir(root)
        .output()
        .expect("python3 runs");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn a_proof_holds_and_a_broken_core_is_refuted() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/bin");
    if let Some(missing) = ["sby", "yosys-abc", "yices-smt2"].iter().find(|name| !tools.join(name).exists()) {
        println!("SKIPPED: no {missing} in .tools/bin: run scripts/setup.py formal");
        return;
    }
    let (success, text) = run(&["--only", "hold/partitioned", "--quick"]);
    assert!(success, "{text}");
    let rows: Vec<_> =
        text.lines().filter(|line| line.contains("| pdr |") || line.contains("| bmc |")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].contains("| partitioned |") && rows[0].contains("| proven |"), "{text}");
    assert!(
        rows[1].contains("broken: a response is overwritten") && rows[1].contains("| refuted |"),
        "{text}"
    );
    assert!(text.contains("1 proofs, 1 broken cores, 0 not as expected"), "{text}");
}

#[test]
fn every_edit_that_breaks_a_core_finds_its_place() {
    let (success, text) = run(&["--check"]);
    assert!(success, "{text}");
    let edits: usize = text.split_whitespace().next().expect("a number").parse().expect("a number");
    assert!(edits >= 30, "{text}");
}

#[test]
fn a_proof_that_is_not_there_is_an_error() {
    let (success, text) = run(&["--only", "no/such"]);
    assert!(!success && text.contains("see --list"), "{text}");
}

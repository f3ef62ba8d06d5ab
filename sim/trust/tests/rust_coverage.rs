//! `make coverage-rust` says what it should of counts that are written by hand.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The number of the first line of a file of `src/` that has this text.
fn line_with(file: &str, text: &str) -> usize {
    let source = fs::read_to_string(root().join("src").join(file)).expect("a source file");
    1 + source.lines().position(|line| line.contains(text)).expect("such a line")
}

/// Exit code and words of the script, for these lines with their counts, and these waivers.
fn report(counts: &[(&str, usize, u64)], waivers: &str) -> (i32, String) {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = |(file, line, count): &(&str, usize, u64)| {
        let path = root().join("src").join(file);
        let path: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        serde_json::json!({ "path": path, "traces": [{ "line": line, "stats": { "Line": count } }] })
    };
    let json = serde_json::json!({ "files": counts.iter().map(file).collect::<Vec<_>>() });
    let (from, waived) = (scratch.path().join("counts.json"), scratch.path().join("waivers.txt"));
    fs::write(&from, json.to_string()).expect("written");
    fs::write(&waived, waivers).expect("written");
    let script = root().join("scripts/rust_coverage.py");
    let output = Command::new("python3")
        .args([&script, Path::new("--from"), &from, Path::new("--waivers"), &waived])
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().expect("an exit code"), text.into_owned())
}

#[test]
fn lines_of_models_are_reached_or_waived_with_a_reason() {
    let text = "pub fn insert(";
    let (cam, plot) = (line_with("cam.rs", text), line_with("plot/mod.rs", "fn "));
    let (code, words) = report(&[("cam.rs", cam, 3), ("plot/mod.rs", plot, 0)], "");
    assert_eq!(code, 0, "{words}");
    assert!(words.contains(&format!("left  src/plot/mod.rs:{plot}")), "{words}");

    let missed = [("cam.rs", cam, 0)];
    let (code, words) = report(&missed, "# none\n");
    assert!(code == 1 && words.contains(&format!("missed  src/cam.rs:{cam}: {text}")), "{words}");

    let waiver = format!("cam.rs | {text} | only for this test\n");
    let (code, words) = report(&missed, &waiver);
    assert_eq!(code, 0, "{words}");

    // A waiver that is not needed, one for two lines, one without a reason, and counts of nothing.
    let (code, words) = report(&[("cam.rs", cam, 1)], &waiver);
    assert!(code == 1 && words.contains("waivers.txt:1: no missed line"), "{words}");
    let two = [("cam.rs", cam, 0), ("cam.rs", line_with("cam.rs", "pub fn contains("), 0)];
    let (code, words) = report(&two, "cam.rs | pub fn | only for this test\n");
    assert!(code == 1 && words.contains("more than one missed line"), "{words}");
    let (code, words) = report(&missed, &format!("cam.rs | {text} |\n"));
    assert!(code == 1 && words.contains("reason"), "{words}");
    let (code, words) = report(&[], "");
    assert!(code == 1 && words.contains("counts no line"), "{words}");
}

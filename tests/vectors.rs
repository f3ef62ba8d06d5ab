//! The case format: what is written is read back, what is damaged is refused with
//! file, line and reason, and the committed cases are what this program writes.

mod common;

use std::{fs, path::Path};

use membrane::{
    registry,
    stimulus::record,
    vectors::{Case, VectorError},
    whole::WriteError,
};
use proptest::prelude::*;

fn small_case() -> Case {
    let core = registry::find("partitioned").expect("registered");
    let tiny = core.presets().iter().find(|preset| preset.name == "tiny").expect("tiny");
    record(core, &tiny.params(), 4, 120).expect("stimulus")
}

/// The files of a folder by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("folder")
        .map(|entry| {
            let entry = entry.expect("entry");
            (entry.file_name().into_string().expect("name"), fs::read(entry.path()).expect("file"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn committed_cases_are_what_this_program_writes() {
    let mut cores = std::collections::HashSet::new();
    for folder in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors")).expect("vectors/") {
        let folder = folder.expect("entry").path();
        let case = Case::read(&folder).expect("a case");
        let core = registry::find(&case.core).expect("registered");
        let again = record(core, &case.params, case.seed, case.cycles).expect("stimulus");
        let scratch = common::scratch();
        again.write(&scratch.path().join("case")).expect("written");
        let hint = "the model or the stimulus changed; if that is meant, run `make vectors`";
        assert!(files(&folder) == files(&scratch.path().join("case")), "{}: {hint}", folder.display());
        cores.insert(case.core);
    }
    let missing: Vec<_> =
        registry::CORES.iter().map(|core| core.name()).filter(|name| !cores.contains(*name)).collect();
    assert!(missing.is_empty(), "no committed case for {missing:?}");
}

#[test]
fn cases_round_trip_as_folder_and_as_one_text() {
    let case = small_case();
    let scratch = common::scratch();
    let folder = scratch.path().join("case");
    case.write(&folder).expect("written");
    assert_eq!(Case::read(&folder).expect("read"), case);
    // Again over the old one, and nothing is left beside it.
    case.write(&folder).expect("written again");
    assert_eq!(Case::read(&folder).expect("read"), case);
    assert_eq!(fs::read_dir(scratch.path()).expect("folder").count(), 1);
    let inline = scratch.path().join("case.json");
    fs::write(&inline, case.to_json()).expect("written");
    assert_eq!(Case::read(&inline).expect("read"), case);
}

#[test]
fn a_folder_that_is_no_case_is_not_replaced() {
    let scratch = common::scratch();
    let folder = scratch.path().join("precious");
    fs::create_dir(&folder).expect("folder");
    fs::write(folder.join("thesis.txt"), "years of work").expect("written");
    let error = small_case().write(&folder).expect_err("in the way");
    assert!(matches!(error, VectorError::Write(WriteError::InTheWay { .. })), "{error}");
    assert!(folder.join("thesis.txt").is_file());
}

/// Writes a case, changes one of its files, and returns the refusal.
fn refusal(file: &str, change: impl Fn(String) -> String) -> String {
    let scratch = common::scratch();
    let folder = scratch.path().join("case");
    small_case().write(&folder).expect("written");
    let path = folder.join(file);
    let text = fs::read_to_string(&path).expect("file");
    let changed = change(text.clone());
    assert_ne!(changed, text, "nothing was changed");
    fs::write(&path, changed).expect("written");
    let error = Case::read(&folder).expect_err("damaged").to_string();
    error.replace(&folder.display().to_string(), "CASE")
}

fn nth_line(text: &str, n: usize, line: &str) -> String {
    let mut lines: Vec<_> = text.lines().collect();
    lines[n - 1] = line;
    lines.join("\n") + "\n"
}

#[test]
fn damage_is_refused_with_file_line_and_reason() {
    let starts = |error: String, expected: &str| assert!(error.starts_with(expected), "{error:?}");
    starts(
        refusal("expected.hex", |text| text.lines().take(57).collect::<Vec<_>>().join("\n")),
        "CASE/expected.hex: 57 lines, case.json says 120",
    );
    starts(
        refusal("stimulus.hex", |text| text + "00000\n"),
        "CASE/stimulus.hex: 121 lines, case.json says 120",
    );
    starts(
        refusal("stimulus.hex", |text| nth_line(&text, 7, "0000")),
        "CASE/stimulus.hex:7: the line has 4 characters",
    );
    starts(
        refusal("expected.hex", |text| nth_line(&text, 120, "xyz")),
        "CASE/expected.hex:120: the line 'x' is not a hexadecimal digit",
    );
    starts(
        refusal("expected.hex", |text| nth_line(&text, 3, "fff")),
        "CASE/expected.hex:3: the line sets a bit above",
    );
    let other = |text: String| text.replacen('0', "1", 1);
    starts(refusal("memory1.hex", other), "CASE/memory1.hex: SHA-256 is ");
    starts(
        refusal("case.json", |text| text.replace("\"version\": 1", "\"version\": 2")),
        "CASE/case.json: format version 2",
    );
    starts(
        refusal("case.json", |text| text.replace("membrane-case", "other")),
        "CASE/case.json: field format",
    );
    starts(
        refusal("case.json", |text| text[..text.len() / 2].to_owned()),
        "CASE/case.json: not a case description: EOF",
    );
    starts(
        refusal("case.json", |text| text.replace("\"lsb\": 8", "\"lsb\": 9")),
        "CASE/case.json: field pins (req_tag): lsb is 9",
    );
    starts(
        refusal("case.json", |text| text.replace("stimulus.hex", "../stimulus.hex")),
        "CASE/case.json: field stimulus: \"../stimulus.hex\" is not a plain file name",
    );
    starts(
        refusal("case.json", |text| text.replace("\"cycles\": 120", "\"cycles\": 119")),
        "CASE/stimulus.hex: 120 lines",
    );
    starts(
        refusal("case.json", |text| text.replace("\"seed\": \"0x", "\"seed\": \"")),
        "CASE/case.json: field seed",
    );
}

#[test]
fn a_missing_file_is_named() {
    let scratch = common::scratch();
    let folder = scratch.path().join("case");
    small_case().write(&folder).expect("written");
    fs::remove_file(folder.join("memory0.hex")).expect("removed");
    let error = Case::read(&folder).expect_err("missing").to_string();
    assert!(error.contains("memory0.hex"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever one byte of a case becomes, reading gives the same case or an error.
    #[test]
    fn a_changed_byte_is_never_read_as_another_case(file in 0usize..6, at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let case = small_case();
        let scratch = common::scratch();
        let folder = scratch.path().join("case");
        case.write(&folder).expect("written");
        let all = files(&folder);
        let (name, mut bytes) = all[file % all.len()].clone();
        let at = at.index(bytes.len());
        bytes[at] = to;
        fs::write(folder.join(&name), bytes).expect("written");
        if let Ok(read) = Case::read(&folder) {
            // Names and the seed are not covered by a checksum; rows and shapes are.
            prop_assert_eq!(read.stimulus, case.stimulus);
            prop_assert_eq!(read.expected, case.expected);
            prop_assert_eq!(read.memories.len(), case.memories.len());
        }
    }
}

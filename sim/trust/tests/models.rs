//! A sample of `make mutants-models`.

use membrane_trust::models::{Bench, Edit, Fate, edits};

/// A fault in the pipeline of the blocked model is noticed; an edit that changes nothing is not; one that is
/// no Rust does not count.
#[test]
#[ignore = "builds a copy of the workspace: minutes where that is not built yet"]
fn a_fault_in_a_model_is_noticed() {
    // That of `make mutants-models`: what it built is not built again.
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("../models");
    let bench = Bench::new(&folder, 1, 20_000).expect("the models build");
    let file = "blocked/clocked.rs";
    let text =
        std::fs::read_to_string(format!("{}/../../src/{file}", env!("CARGO_MANIFEST_DIR"))).expect("a model");
    let all = edits(file, &text);
    let fault = all.iter().find(|edit| edit.old.contains("self.word + 1 == words") || edit.old == " == ");
    let fault = fault.expect("a comparison");
    let fate = bench.judge("blocked", fault).expect("tried");
    assert!(
        matches!(&fate, Fate::Differs(by) if by.starts_with("blocked/") || by.contains("blocked")),
        "{fault}: {fate:?}"
    );
    let end = text.len()..text.len();
    let edit =
        |new: &str| Edit { new: new.to_owned(), old: String::new(), range: end.clone(), ..fault.clone() };
    assert_eq!(bench.judge("blocked", &edit("// nothing\n")).expect("tried"), Fate::Survived);
    assert_eq!(bench.judge("blocked", &edit("nothing\n")).expect("tried"), Fate::Refused);
}

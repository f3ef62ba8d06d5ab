//! A sample of `make mutants`.

use std::path::Path;

use membrane::cosim::find_tools;
use membrane_trust::{
    mutants::{Abc, Campaign, Fate, Judged, Mutant, Prover, Verdict, Yosys},
    sets::Set,
};

fn set() -> Set {
    Set::parse("blocked tiny").expect("a preset")
}

fn judge(cycles: u64, abc: Option<&Abc>, folder: &Path) -> Vec<Judged> {
    let campaign = Campaign { mutants: 60, seed: 1, cycles, jobs: 2 };
    let (yosys, tools) = (Yosys::find().expect("make setup"), find_tools().expect("make setup"));
    campaign.run(&yosys, abc, &tools, &set(), folder).expect("a campaign")
}

fn killed(judged: &[Judged]) -> Vec<&Judged> {
    judged.iter().filter(|j| matches!(j.fate, Fate::Killed(_))).collect()
}

/// Co-simulation notices every fault that a proof does not excuse; with hardly any stimulus it
/// does not, so the score says something about the stimulus; and of faults that were noticed the
/// solver finds a sequence that tells them, so it does not excuse what it should not.
#[test]
fn co_simulation_kills_mutants_and_proofs_excuse_none_of_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (yosys, abc, set) = (Yosys::find().expect("make setup"), Abc::find().expect("make setup"), set());
    let long = judge(50_000, Some(&abc), folder.path());
    assert_eq!(long.len(), 60);
    let noticed = killed(&long);
    assert!(noticed.len() >= 51, "only {} of 60 mutants killed", noticed.len());
    for judged in &long {
        assert!(!matches!(judged.fate, Fate::Survived(_)), "{judged:?}");
    }
    // Yosys itself makes a few cells, which have none.
    let with_source = long.iter().filter(|j| j.mutant.source.starts_with("membrane_")).count();
    assert!(with_source >= 54, "only {with_source} of 60 faults have a source line");
    let short = judge(12, None, folder.path());
    assert!(killed(&short).len() + 10 < noticed.len(), "12 cycles are as good as 50,000?");
    // What they miss is played longer.
    assert!(short.iter().any(|j| matches!(j.fate, Fate::Late(_))), "120 cycles are no better than 12?");

    let pins = set.core.clocked(&set.params).expect("a model").pins().clone();
    let prover = Prover { yosys: &yosys, abc: &abc, set: &set, folder: folder.path(), pins: &pins, jobs: 2 };
    let sample: Vec<Mutant> = noticed.iter().step_by(10).map(|j| j.mutant.clone()).collect();
    for (mutant, verdict) in sample.iter().zip(prover.judge(&sample).expect("Yosys and ABC run")) {
        assert!(matches!(verdict, Verdict::Different(_)), "{mutant:?} was noticed, but {verdict:?}");
    }
}

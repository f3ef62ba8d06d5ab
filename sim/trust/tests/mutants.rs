//! A sample of `make mutants`.

use std::path::Path;

use membrane::cosim::find_tools;
use membrane_trust::{
    mutants::{Campaign, Fate, Judged, Prover, Yosys},
    sets::Set,
};

fn set() -> Set {
    Set::parse("blocked tiny").expect("a preset")
}

fn judge(cycles: u64, folder: &Path) -> Vec<Judged> {
    let campaign = Campaign { mutants: 60, seed: 1, cycles, prove: false };
    let (yosys, tools) = (Yosys::find().expect("make setup"), find_tools().expect("make setup"));
    campaign.run(&yosys, &tools, &set(), folder, &mut |_| {}).expect("a campaign")
}

fn killed(judged: &[Judged]) -> Vec<&Judged> {
    judged.iter().filter(|j| matches!(j.fate, Fate::Killed(_))).collect()
}

/// Co-simulation notices faults; with hardly any stimulus it does not, so the score says
/// something about the stimulus; and the proof never excuses a fault that was noticed.
#[test]
fn co_simulation_kills_mutants_and_proofs_excuse_none_of_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let long = judge(20_000, folder.path());
    assert_eq!(long.len(), 60);
    let noticed = killed(&long);
    assert!(noticed.len() >= 51, "only {} of 60 mutants killed", noticed.len());
    assert!(long.iter().all(|j| j.mutant.source.starts_with("membrane_")), "every fault has a source line");
    let short = judge(12, folder.path());
    assert!(killed(&short).len() + 10 < noticed.len(), "12 cycles are as good as 20,000?");

    let (yosys, set) = (Yosys::find().expect("make setup"), set());
    let prover = Prover::new(&yosys, &set, folder.path());
    for judged in noticed.into_iter().step_by(10) {
        let proof = prover.induction(&judged.mutant).expect("Yosys runs");
        assert_eq!(proof, None, "{:?} was noticed, and proven equivalent", judged.mutant);
    }
}

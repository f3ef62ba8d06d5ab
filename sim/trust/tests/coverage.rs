//! A sample of `make coverage`.

use membrane::{
    Clocked,
    cosim::{Design, Init, find_tools},
    stimulus::record,
};
use membrane_trust::{
    coverage::{Crossings, Kind, Points},
    sets::Set,
};

fn points(set: &Set, cycles: usize) -> Points {
    let case = record(set.core, &set.params, 1, 20_000).expect("stimulus");
    let design = Design::new(set.core, &set.params, &case.pins);
    let library = design.build_coverage(&find_tools().expect("make setup")).expect("RTL builds");
    let mut rtl = library.power_up(Init::Random(1)).expect("instance");
    let (input, output) = (case.pins.input_words(), case.pins.output_words());
    rtl.run(&case.stimulus[..cycles * input], &mut vec![0; cycles * output]).expect("runs");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("points.dat");
    rtl.write_coverage(&file).expect("counts");
    let mut points = Points::default();
    points
        .merge(&String::from_utf8_lossy(&std::fs::read(&file).expect("counts")))
        .expect("Verilator's format");
    points
}

/// The stimulus reaches all lines and branches of the overflow list; a few cycles do not.
#[test]
fn the_stimulus_reaches_the_overflow_list() {
    // Only this core takes keys from the list again.
    let set = Set::parse("tinyset tiny-list").expect("a preset");
    let missed = |points: &Points| {
        let cam = points.missed().filter(|p| p.file == "membrane_cam.v" && p.kind != Kind::Toggle);
        cam.map(ToString::to_string).collect::<Vec<_>>()
    };
    let all = points(&set, 20_000);
    assert!(all.iter().any(|(point, _)| point.file == "membrane_cam.v"), "it is counted at all");
    assert_eq!(missed(&all), Vec::<String>::new());
    assert!(!missed(&points(&set, 30)).is_empty(), "30 cycles reach everything?");
}

/// Every operation meets every state of the list.
#[test]
fn operations_meet_every_state_of_the_list() {
    let set = Set::parse("balanced tiny").expect("a preset");
    let case = record(set.core, &set.params, 1, 50_000).expect("stimulus");
    let mut crossings = Crossings::default();
    crossings.add(&set, &case).expect("counted");
    let rows = crossings.rows();
    let head = Crossings::head();
    for (column, name) in head.iter().enumerate().skip(2) {
        let met = rows.iter().map(|row| row[column].parse::<u64>().expect("a count")).sum::<u64>();
        // This core has a list, so that no request meets a core without one; and a row that refuses a key has put
        // one there.
        let never = name.ends_with("/none") || name == "refusing/empty";
        assert_eq!(met == 0, never, "{name}: {met}");
    }
    assert!(Crossings::default().missed().is_empty(), "nothing is missed where nothing is counted");
}

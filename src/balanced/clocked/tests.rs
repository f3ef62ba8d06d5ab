use super::*;
use crate::{registry::Core, roads};

/// All presets, some with parity, and rows that begin anywhere.
#[test]
fn all_roads_lead_to_the_same() {
    let presets = super::super::CORE.presets().iter();
    let small = presets
        .map(|preset| Config::from_params(&preset.params()).unwrap())
        .map(|config| Config { rows: config.rows.min(50), ..config });
    let odd = Config { rows: 7, block_w: 131, hashes: 5, h: 3, key_w: 70, cam_depth: 4, ..Config::default() };
    let more = [
        Config { parity: true, ..odd.clone() },
        Config { scheme: Scheme::Sequential, d: 4, p: 30_000, mix: 3, ..odd.clone() },
        Config { scheme: Scheme::Sequential, d: 3, parity: true, block_w: 60, ..odd.clone() },
        Config { scheme: Scheme::Multilevel, d: 4, q: 40_000, access_budget: 300, parity: true, ..odd },
    ];
    for (seed, config) in (1..).zip(small.chain(more)) {
        let model = ClockedBalanced::new(&config).unwrap();
        roads::all_lead_to_the_same(model, 12_000, seed, true);
    }
}

/// Blocks and a list that are full most of the time, so that groups of inserts change nothing, or only one of them does.
#[test]
fn all_roads_lead_to_the_same_when_full() {
    let one = Config { rows: 3, block_w: 20, hashes: 3, h: 2, p: 30_000, cam_depth: 2, ..Config::default() };
    let one = Config { key_w: 40, ..one };
    let levels = Config { scheme: Scheme::Multilevel, d: 2, q: 40_000, ..one.clone() };
    let turns = Config { scheme: Scheme::Sequential, d: 2, ..one.clone() };
    let all = [
        Config { block_w: 70, ..one.clone() },
        Config { access_budget: 40, ..one.clone() },
        Config { access_budget: 25, block_w: 64, ..levels.clone() },
        Config { access_budget: 60, p: 65_535, h: 1, ..levels.clone() },
        Config { parity: true, ..one.clone() },
        Config { parity: true, d: 3, rows: 9, ..levels.clone() },
        Config { d: 1, ..turns.clone() },
        Config { d: 3, rows: 5, block_w: 64, ..turns.clone() },
        Config { d: 4, rows: 9, access_budget: 60, ..turns.clone() },
        Config { d: 3, access_budget: 90, p: 0, cam_depth: 0, ..turns.clone() },
        Config { d: 2, p: 65_535, rows: 2, ..turns.clone() },
        one,
        levels,
        turns,
    ];
    for seed in 0..280 {
        let model = ClockedBalanced::new(&all[seed as usize % all.len()]).unwrap();
        roads::all_lead_to_the_same(model, 8_000, seed, true);
    }
}

/// Inserts that change something now and then, when a coin lets them in: some are in s3 when a group of cycles begins.
#[test]
fn all_roads_lead_to_the_same_seldom_changes() {
    let one = Config { rows: 40, block_w: 20, hashes: 3, h: 1, p: 1_500, key_w: 40, ..Config::default() };
    let turns = Config { scheme: Scheme::Sequential, d: 2, ..one.clone() };
    for seed in 0..400 {
        let model = ClockedBalanced::new([&one, &turns][seed as usize % 2]).unwrap();
        roads::all_lead_to_the_same(model, 12_000, seed, false);
    }
}

/// Wrong rows that are read as a second or third choice: few are, before the pin is high.
#[test]
fn all_roads_lead_to_the_same_wrong_rows() {
    let config = Config { rows: 9, block_w: 60, hashes: 3, h: 2, key_w: 40, ..Config::default() };
    let config = Config { scheme: Scheme::Sequential, d: 3, parity: true, ..config };
    for seed in 0..60 {
        let model = ClockedBalanced::new(&config).unwrap();
        roads::all_lead_to_the_same(model, 4_000, seed, true);
    }
    // Rows that are read after others have been written.
    let room = Config { scheme: Scheme::Single, d: 1, rows: 60, h: 200, ..config.clone() };
    for seed in 0..300 {
        let model = ClockedBalanced::new(&room).unwrap();
        roads::all_lead_to_the_same(model, 1_500, seed, true);
    }
    // The same in groups, and with inserts that do not read, because the budget is spent.
    let config = Config { scheme: Scheme::Multilevel, d: 2, q: 40_000, cam_depth: 2, ..config };
    let config = Config { access_budget: 40, ..config };
    for seed in 0..600 {
        let model = ClockedBalanced::new(&config).unwrap();
        roads::all_lead_to_the_same(model, 1_500, seed, true);
    }
}

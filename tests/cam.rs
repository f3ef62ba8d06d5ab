//! `membrane_cam` against its model: random operations, every output pin in every
//! cycle, from a random power-up state; and bugs put in on purpose, each of which
//! must be noticed.
#![cfg(feature = "cosim")]

use membrane::{cam::Cam, cosim::find_tools, hash::SplitMix64};
use verilated::{Builder, Init, Layout, Library, Source};

const RTL: &str = include_str!("../rtl/membrane_cam.v");
const PARTS: [(&str, &str); 3] = [
    ("membrane_equal.v", include_str!("../rtl/membrane_equal.v")),
    ("membrane_equal8.v", include_str!("../rtl/membrane_equal8.v")),
    ("membrane_equal2.v", include_str!("../rtl/membrane_equal2.v")),
];

fn build(text: &str, depth: u64, key_w: u64) -> Result<Library, verilated::Error> {
    let tools = find_tools().expect("Verilator");
    Builder::new("membrane_cam")
        .source(Source::new("membrane_cam.v", text))
        .sources(PARTS.map(|(name, text)| Source::new(name, text)))
        .param("DEPTH", depth)
        .param("KEY_W", key_w)
        .build(&tools)
}

/// Some keys of `key_w` bits that differ in single bits, and some that differ a lot.
fn keys(key_w: u64, count: usize, rng: &mut SplitMix64) -> Vec<Vec<u64>> {
    let words = key_w.div_ceil(64) as usize;
    let top = u64::MAX >> ((64 - key_w % 64) % 64);
    let base: Vec<u64> = (0..words).map(|_| rng.next_u64()).collect();
    let mut keys: Vec<Vec<u64>> = (0..count.max(6))
        .map(|i| {
            if i % 2 == 0 {
                let mut key = base.clone();
                // The first and the last bit, then any.
                let bit = [0, key_w - 1, rng.below(key_w)][(i / 2).min(2)] as usize;
                key[bit / 64] ^= 1 << (bit % 64);
                key
            } else if i == 1 {
                base.clone()
            } else {
                (0..words).map(|_| rng.next_u64()).collect()
            }
        })
        .collect();
    for key in &mut keys {
        key[words - 1] &= top;
    }
    keys
}

/// What the run met, so that a test can see that it met everything.
#[derive(Debug, Default)]
struct Met {
    added: u64,
    present: u64,
    refused: u64,
    removed: u64,
    absent: u64,
    emptied: u64,
    toggled: u64,
}

/// Plays `cycles` random operations on both; the first cycle in which a pin
/// differs, and what the run met.
fn compare(library: &Library, depth: u64, key_w: u64, seed: u64, cycles: usize) -> (Option<usize>, Met) {
    let (inputs, outputs) = (library.inputs(), library.outputs());
    let mut rng = SplitMix64::new(seed);
    let pool = keys(key_w, depth as usize * 3 / 2, &mut rng);
    let mut list = Cam::new(depth as usize, key_w as u32);
    let mut rtl = library.instantiate(Init::Random(seed)).expect("instance");
    let mut met = Met::default();
    let set = |row: &mut [u64], name: &str, value: &[u64]| {
        Layout::set(row, inputs.pin(name).expect("pin"), value);
    };
    // Whether the list tends to fill or to drain, for a while.
    let mut filling = true;
    for cycle in 0..cycles {
        if rng.chance(10) {
            filling = !filling;
        }
        let key = &pool[rng.below(pool.len() as u64) as usize];
        let rst = cycle == 0 || rng.chance(1);
        let clear = rng.chance(3);
        let insert = rng.chance(if filling { 700 } else { 150 });
        let remove = rng.chance(if filling { 100 } else { 700 });
        let mut row = vec![0; inputs.words()];
        set(&mut row, "key", key);
        for (name, value) in [("rst", rst), ("clear", clear), ("insert", insert), ("remove", remove)] {
            set(&mut row, name, &[value.into()]);
        }
        let mut seen = vec![0; outputs.words()];
        rtl.run(1, &row, &mut seen).expect("runs");
        let pin = |name: &str| Layout::get(&seen, outputs.pin(name).expect("pin"))[0];
        let hit = list.contains(key);
        let expected = (u64::from(hit), u64::from(list.is_full()), list.level() as u64);
        if cycle > 0 && (pin("hit"), pin("full"), pin("level")) != expected {
            return (Some(cycle), met);
        }
        if rst || clear {
            met.emptied += u64::from(list.level() > 0);
            list.clear();
        } else if insert && !hit {
            let before = list.level();
            list.insert(key);
            *if list.level() > before { &mut met.added } else { &mut met.refused } += 1;
        } else if remove {
            met.toggled += u64::from(insert && hit);
            *if list.remove(key) { &mut met.removed } else { &mut met.absent } += 1;
        } else if insert {
            met.present += 1;
        }
    }
    (None, met)
}

#[test]
fn model_and_rtl_agree_in_every_cycle() {
    for (depth, key_w) in [(1, 1), (2, 9), (5, 64), (16, 32), (32, 104), (33, 70)] {
        let library = build(RTL, depth, key_w).expect("builds");
        let (different, met) = compare(&library, depth, key_w, depth * 1000 + key_w, 20_000);
        assert_eq!(different, None, "DEPTH {depth}, KEY_W {key_w}");
        let counts = [met.added, met.present, met.removed, met.absent, met.emptied, met.toggled];
        assert!(counts.iter().all(|count| *count > 10), "DEPTH {depth}, KEY_W {key_w}: {met:?}");
        assert!(met.refused > 10, "DEPTH {depth}: never full: {met:?}");
    }
}

#[test]
fn bugs_are_noticed() {
    for (what, good, bad) in [
        ("free entries are searched", ".en   (used[i])", ".en   (1'b1)"),
        ("the last bit is not compared", ".a    (entry)", ".a    ({key[KEY_W-1], entry[KEY_W-2:0]})"),
        ("a full list counts on", "insert && !hit && !full", "insert && !hit"),
        ("duplicates", "insert && !hit && !full", "insert && !full"),
        ("the last entry is never used", "assign full = &used", "assign full = &used[DEPTH-2:0]"),
        ("remove takes nothing", "else if (remove && match[i]) used[i] <= 1'b0;", ""),
        ("level counts removals of absent keys", "remove && hit", "remove"),
        ("clear leaves the list", "if (rst || clear) used[i]", "if (rst) used[i]"),
        ("reset leaves the list", "if (rst || clear) used[i]", "if (clear) used[i]"),
        ("keys are overwritten", "if (insert && lowest[i]) entry", "if (insert && !lowest[i]) entry"),
    ] {
        assert_eq!(RTL.matches(good).count(), 1, "{what}: the text to break is there once");
        let library = build(&RTL.replace(good, bad), 8, 32).expect("builds");
        let (different, _) = compare(&library, 8, 32, 5, 5_000);
        assert!(different.is_some(), "not noticed: {what}");
    }
}

#[test]
fn illegal_parameters_stop_elaboration() {
    for (depth, key_w, words) in [
        (0, 8, "DEPTH_must_be_1_to_1024"),
        (1025, 8, "DEPTH_must_be_1_to_1024"),
        (4, 0, "KEY_W_must_be_1_to_1024"),
        (4, 1025, "KEY_W_must_be_1_to_1024"),
    ] {
        let error = build(RTL, depth, key_w).expect_err("refused").to_string();
        assert!(error.contains(&format!("membrane_error_{words}")), "{error}");
    }
}

//! One answer, whichever way it is computed: key by key or many at once, by the least of
//! processors or by all that this one can do, in one thread or in several.

use membrane::{Answer, Filter, Params, Status, cpu::Cpu, hash::SplitMix64, registry::CORES};
use proptest::prelude::*;

/// A filter of this core, small enough to be filled.
fn filter(core: usize, params: &Params) -> Box<dyn Filter> {
    CORES[core].filter(params).expect("a filter")
}

/// Each preset of each core, with its parameters.
fn presets() -> Vec<(usize, &'static str, Params)> {
    let of = |(n, core): (usize, &&'static dyn membrane::Core)| {
        let core = *core;
        core.presets()
            .iter()
            .map(move |preset| (n, preset.name, core.check(&preset.params()).expect("legal")))
            .collect::<Vec<_>>()
    };
    CORES.iter().enumerate().flat_map(of).collect()
}

fn keys(count: usize, each: usize, seed: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(seed);
    (0..count * each).map(|_| rng.next_u64()).collect()
}

/// All ways to insert and query give the same answers and the same bits.
fn check(core: usize, params: &Params, count: usize, seed: u64) {
    let each = params.at("KEY_W").div_ceil(64) as usize;
    let (present, others) = (keys(count, each, seed), keys(count, each, !seed));
    let mut single = filter(core, params);
    single.run_on(Cpu::portable());
    let expected: Vec<Answer> = present.chunks(each).map(|key| single.insert(key)).collect();
    let all = [&present[..], &others].concat();
    let hits: Vec<bool> = all.chunks(each).map(|key| single.contains(key)).collect();
    // Every third key that is there, where keys can be removed: slots that are free, before others that are not.
    let stored = || present.chunks(each).zip(&expected).filter(|(_, answer)| answer.status == Status::Ok);
    let remove = |filter: &mut dyn Filter| -> Vec<Answer> {
        stored().step_by(3).map(|(key, _)| filter.remove(key)).collect()
    };
    let mut fewer = filter(core, params);
    fewer.run_on(Cpu::portable());
    assert!(present.chunks(each).zip(&expected).all(|(key, answer)| fewer.insert(key) == *answer));
    let removed = remove(&mut *fewer);
    let fewer_hits: Vec<bool> = all.chunks(each).map(|key| fewer.contains(key)).collect();
    for cpu in Cpu::levels() {
        let mut batched = filter(core, params);
        batched.run_on(cpu);
        let mut answers = vec![Answer::default(); count];
        // Groups that are not full, too.
        let cut = count / 3;
        batched.insert_all(&present[..cut * each], &mut answers[..cut]);
        batched.insert_all(&present[cut * each..], &mut answers[cut..]);
        assert_eq!(answers, expected, "{cpu:?}");
        assert_eq!(batched.memories(), single.memories(), "{cpu:?}");
        assert_eq!(batched.level(), single.level(), "{cpu:?}");
        let mut found = vec![false; all.len() / each];
        batched.contains_all(&all, &mut found);
        assert_eq!(found, hits, "{cpu:?}");
        assert!(all.chunks(each).zip(&hits).all(|(key, hit)| batched.contains(key) == *hit), "{cpu:?}");
        for threads in [2, 3, 5] {
            let mut parallel = filter(core, params);
            parallel.run_on(cpu);
            parallel.insert_all_in(threads, &present, &mut answers);
            assert_eq!(answers, expected, "{cpu:?}, {threads} threads");
            assert_eq!(parallel.memories(), single.memories(), "{cpu:?}, {threads} threads");
            assert_eq!(parallel.level(), single.level(), "{cpu:?}, {threads} threads");
            parallel.contains_all_in(threads, &all, &mut found);
            assert_eq!(found, hits, "{cpu:?}, {threads} threads");
        }
        let mut one_by_one = filter(core, params);
        one_by_one.run_on(cpu);
        assert!(present.chunks(each).zip(&expected).all(|(key, answer)| one_by_one.insert(key) == *answer));
        assert_eq!(one_by_one.memories(), single.memories(), "{cpu:?}");
        assert_eq!(remove(&mut *one_by_one), removed, "{cpu:?}");
        assert_eq!(one_by_one.memories(), fewer.memories(), "{cpu:?}");
        one_by_one.contains_all(&all, &mut found);
        assert_eq!(found, fewer_hits, "{cpu:?}");
        assert!(
            all.chunks(each).zip(&fewer_hits).all(|(key, hit)| one_by_one.contains(key) == *hit),
            "{cpu:?}"
        );
    }
}

/// Blocks of whole words, most of them full, with lists that fill up.
#[test]
fn overflow_lists_are_in_the_order_of_the_keys() {
    let tinyset = CORES.iter().position(|core| core.name() == "tinyset").expect("a core");
    for (chains, array, removals) in [(64, 448, 0), (32, 224, 0), (64, 440, 1), (32, 217, 1)] {
        let params = Params::new()
            .with("BLOCKS", 100)
            .with("CHAINS", chains)
            .with("ARRAY", array)
            .with("REMOVALS", removals)
            .with("CAM_DEPTH", 64)
            .with("KEY_W", 64);
        let params = CORES[tinyset].check(&params).expect("legal");
        let mut filter = filter(tinyset, &params);
        filter.insert_all(&keys(20_000, 1, 3), &mut vec![Answer::default(); 20_000]);
        assert!(filter.level() > 0 && [256, 512].contains(&filter.memories()[0].width()));
        check(tinyset, &params, 20_000, 3);
    }
}

#[test]
fn every_preset_from_empty_to_overfull() {
    for (core, name, params) in presets() {
        for count in [0, 1, 31, 33, 700, 20_000] {
            println!("{} {name}, {count} keys", CORES[core].name());
            check(core, &params, count, 5);
        }
    }
}

/// Filters that are larger than the caches near a core, and than those far from it: rows are asked for ahead, the farther the
/// more.
#[test]
fn beyond_the_caches() {
    let large: [(&str, &[(&str, u64)]); 12] = [
        ("partitioned", &[("BANKS", 7), ("ROWS", 1 << 22)]),
        ("partitioned", &[("BANKS", 7), ("ROWS", 20_000_003)]),
        ("partitioned", &[("BANKS", 7), ("ROWS", 30_000_001)]),
        ("blocked", &[("ROWS", 1 << 15), ("BLOCK_W", 512), ("HASHES", 8)]),
        ("blocked", &[("ROWS", 300_007), ("BLOCK_W", 512), ("HASHES", 8), ("IN_BLOCK", 1)]),
        ("blocked", &[("ROWS", 600_011), ("BLOCK_W", 256), ("HASHES", 7)]),
        ("blocked", &[("ROWS", 1 << 20), ("BLOCK_W", 256), ("HASHES", 8), ("IN_BLOCK", 1)]),
        ("blocked", &[("ROWS", 400_009), ("BLOCK_W", 512), ("HASHES", 7)]),
        ("balanced", &[("ROWS", 1 << 14), ("BLOCK_W", 251), ("HASHES", 7), ("H", 16), ("CAM_DEPTH", 8)]),
        ("tinyset", &[("BLOCKS", 1 << 14), ("CHAINS", 64), ("ARRAY", 448)]),
        ("tinyset", &[("BLOCKS", 600_011), ("CHAINS", 32), ("ARRAY", 224)]),
        ("tinyset", &[("BLOCKS", 400_009), ("CHAINS", 64), ("ARRAY", 448)]),
    ];
    for (name, values) in large {
        let core = CORES.iter().position(|core| core.name() == name).expect("a core");
        let params = values.iter().fold(Params::new(), |params, (name, value)| params.with(name, *value));
        check(core, &CORES[core].check(&params.with("KEY_W", 64)).expect("legal"), 3_000, 9);
    }
}

/// Fields of more than half a word: many rows, and not a power of two of them.
#[test]
fn wide_fields() {
    let partitioned = CORES.iter().position(|core| core.name() == "partitioned").expect("a core");
    for (banks, rows) in [(8, (1 << 24) + 1), (3, (1 << 25) - 1), (1, (1 << 30) - 1)] {
        let params = Params::new().with("BANKS", banks).with("ROWS", rows).with("KEY_W", 64);
        check(partitioned, &CORES[partitioned].check(&params).expect("legal"), 500, 7);
    }
}

proptest! {
    #[test]
    fn any_seed_and_number(preset in 0..presets().len(), count in 0..3000usize, seed: u64) {
        let (core, _, params) = &presets()[preset];
        check(*core, &params.clone().with("SEED", seed), count, seed);
    }
}

//! Functional model against clocked model, for every core of the registry and for
//! random parameters: responses come in request order, and are exactly those of
//! executing the requests one after another.

mod common;

use membrane::{
    Answer, Core, Params,
    filter::Op,
    hash::SplitMix64,
    pins::{FilterPins, Inputs},
    registry,
    stimulus::{Stimulus, record},
    vectors::{Case, Event, transcript},
};
use proptest::prelude::*;

/// Replays the requests of a case on the functional model and compares every
/// response; returns (responses, hits).
fn check_responses(core: &dyn Core, case: &Case) -> (usize, usize) {
    let pins = FilterPins::of(&case.pins).expect("filter pins");
    let mut filter = core.filter(&case.params).expect("legal parameters");
    let mut due = std::collections::VecDeque::new();
    let (mut responses, mut hits) = (0, 0);
    for event in transcript(&pins, &case.stimulus, &case.expected) {
        match event {
            Event::Reset => {
                due.clear();
                filter.clear();
            }
            Event::Request { op, key, tag, .. } => due.push_back((op, filter.apply(op, &key), tag)),
            Event::Response { cycle, hit, status, tag, .. } => {
                let (op, answer, expected_tag) = due.pop_front().expect("a response without a request");
                let expected = (answer.hit, answer.status as u8, expected_tag);
                assert_eq!((hit, status, tag), expected, "{op:?} answered in cycle {cycle}");
                responses += 1;
                hits += usize::from(hit && op == Op::Query);
            }
        }
    }
    assert!(due.len() <= 16, "{} requests were never answered", due.len());
    (responses, hits)
}

#[test]
fn presets_answer_as_the_functional_model() {
    for core in registry::CORES {
        for preset in core.presets() {
            let params = core.check(&preset.params()).expect("presets are legal");
            let case = record(*core, &params, 1, 60_000).expect("stimulus");
            let (responses, hits) = check_responses(*core, &case);
            assert!(responses > 2_000, "{} {}: {responses} responses", core.name(), preset.name);
            assert!(hits > 50 && hits < responses * 9 / 10, "{} {}: {hits} hits", core.name(), preset.name);
        }
    }
}

#[test]
fn a_seed_gives_the_same_case_and_another_seed_another() {
    for core in registry::CORES {
        let params = core.presets()[0].params();
        let case = |seed| record(*core, &params, seed, 6_000).expect("stimulus");
        assert_eq!(case(3), case(3));
        assert_ne!(case(3).stimulus, case(4).stimulus);
    }
}

/// Driving in chunks or at once must not matter: co-simulation uses chunks.
#[test]
fn chunks_do_not_change_the_stimulus() {
    for core in registry::CORES {
        let params = core.check(&core.presets()[0].params()).expect("legal");
        let whole = record(*core, &params, 9, 9_000).expect("stimulus");
        let mut model = core.clocked(&params).expect("legal");
        let mut stimulus = Stimulus::new(*core, &params, 9, 9_000).expect("legal");
        let (input, output) = (whole.pins.input_words(), whole.pins.output_words());
        let mut rows = Vec::new();
        for _ in 0..9 {
            let mut inputs = vec![0; 1_000 * input];
            let mut outputs = vec![0; 1_000 * output];
            stimulus.drive(model.as_mut(), &mut inputs, &mut outputs).expect("driven");
            rows.extend(inputs);
        }
        assert!(rows == whole.stimulus);
    }
}

#[test]
fn too_short_a_run_is_refused() {
    let core = registry::find("partitioned").expect("registered");
    let params = Params::new().with("BANKS", 2).with("ROWS", 1000).with("KEY_W", 16);
    let error = record(core, &params, 1, 900).expect_err("memories are undefined");
    assert!(error.to_string().contains("900 cycles are too few"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_parameters_answer_as_the_functional_model(
        (core, params) in common::any_core(),
        seed in any::<u64>(),
    ) {
        let case = record(core, &params, seed, 12_000).expect("stimulus");
        let (responses, _) = check_responses(core, &case);
        prop_assert!(responses > 300, "{} responses", responses);
    }

    #[test]
    fn many_keys_at_once_answer_as_one_by_one(
        (core, params) in common::any_core(),
        batches in prop::collection::vec(0..80usize, 1..12),
        seed in any::<u64>(),
    ) {
        let words = params.at("KEY_W").div_ceil(64) as usize;
        let mut rng = SplitMix64::new(seed);
        let mut single = core.filter(&params).expect("legal");
        let mut batched = core.filter(&params).expect("legal");
        for count in batches {
            // Few different bits, so that keys come again.
            let mut some = || (0..count * words).map(|_| rng.next_u64() & 0x3f).collect::<Vec<_>>();
            let (keys, others) = (some(), some());
            let mut answers = vec![Answer::default(); count];
            batched.insert_all(&keys, &mut answers);
            let expected: Vec<_> = keys.chunks(words).map(|key| single.insert(key)).collect();
            prop_assert_eq!(answers, expected);
            prop_assert_eq!(batched.memories(), single.memories());
            let mut hits = vec![false; count];
            batched.contains_all(&others, &mut hits);
            let expected: Vec<_> = others.chunks(words).map(|key| single.contains(key)).collect();
            prop_assert_eq!(hits, expected);
        }
    }
}

/// Many cycles in one go are the same as one by one, where a model may look at the keys ahead.
#[test]
fn many_cycles_in_one_go() {
    let mut rng = SplitMix64::new(11);
    for core in registry::CORES {
        for preset in core.presets() {
            let params = core.check(&preset.params()).expect("legal");
            let [mut ahead, mut single] = [(); 2].map(|()| core.clocked(&params).expect("legal"));
            let pins = FilterPins::of(ahead.pins()).expect("filter pins");
            let (words, outputs) = (pins.map().input_words(), pins.map().output_words());
            // The sweep after reset is over in the first.
            for cycles in [10_000, 31, 32, 2_000] {
                let mut rows = vec![0; cycles * words];
                for row in rows.chunks_exact_mut(words) {
                    let mut key: Vec<u64> = (0..pins.key_words()).map(|_| rng.next_u64()).collect();
                    *key.last_mut().expect("a word") &= pins.key_top();
                    let op = if rng.chance(500) { Op::Query } else { Op::Insert };
                    let (req_valid, rsp_ready) = (rng.chance(900), rng.chance(900));
                    let inputs = Inputs { rst: false, req_valid, op, tag: rng.next_u64(), rsp_ready };
                    pins.write_inputs(&inputs, &key, row);
                }
                let mut together = vec![0; cycles * outputs];
                ahead.run(&rows, &mut together).expect("runs");
                let mut row = vec![0; outputs];
                for (inputs, expected) in rows.chunks_exact(words).zip(together.chunks_exact(outputs)) {
                    single.clock(inputs, &mut row).expect("runs");
                    assert_eq!(row, expected, "{} {}", core.name(), preset.name);
                }
            }
            assert_eq!(ahead.memories().expect("memories"), single.memories().expect("memories"));
            let ports = ahead.ports();
            assert!(ports.iter().any(|port| port.reads > 100), "{} {}: {ports:?}", core.name(), preset.name);
        }
    }
}

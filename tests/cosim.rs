//! Clocked model against RTL, pin by pin and cycle by cycle.

mod common;

use common::tools;
use membrane::{
    Clocked, Core, Params,
    clocked::Fault,
    cosim::{Design, Init, Job, Opt, Outcome, RtlLibrary, replay},
    filter::Op,
    hash::SplitMix64,
    pins::{FilterPins, Inputs},
    registry,
    stimulus::record,
    vectors::{Case, Recorded},
};
use proptest::prelude::*;

fn job(core: &'static dyn Core, params: &Params, seed: u64, cycles: u64) -> Job {
    Job::new(core, params, seed, cycles).expect("legal parameters")
}

fn assert_equal(job: &Job) {
    let design = job.design().expect("legal parameters");
    match job.run(&tools(), &design, Opt::Quick, None, &mut |_| {}).expect("co-simulation") {
        Outcome::Equal(report) => assert!(report.totals.requests > 100, "{:?}", report.totals),
        Outcome::Different(failure) => panic!("{}", failure.describe(job)),
    }
}

proptest! {
    // Each case builds a model, which takes seconds.
    #![proptest_config(ProptestConfig {
        cases: 12, max_shrink_iters: 8, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn random_parameters_agree((core, params) in common::any_core(), seed in any::<u64>()) {
        assert_equal(&job(core, &params, seed, 20_000));
    }
}

fn build(core: &'static dyn Core, params: &Params) -> (RtlLibrary, Params) {
    let params = core.check(params).expect("legal parameters");
    let model = core.clocked(&params).expect("legal parameters");
    let design = Design::new(core, &params, model.pins());
    (design.build(&tools(), Opt::Quick, false).expect("RTL builds"), params)
}

/// Whatever memories and registers hold at power-up, nothing shows after reset.
#[test]
fn power_up_state_changes_nothing() {
    for core in registry::CORES {
        let (library, params) = build(*core, &core.presets()[0].params());
        let case = record(*core, &params, 5, 30_000).expect("stimulus");
        for init in [Init::Zero, Init::Ones, Init::Random(1), Init::Random(2), Init::Random(3)] {
            let mut recorded = Recorded::new(case.clone());
            let mut rtl = library.power_up(init).expect("instance");
            let mismatch = replay(&mut recorded, &mut rtl, &case.stimulus).expect("replay");
            assert_eq!(mismatch, None, "{} {init:?}", core.name());
        }
    }
}

#[test]
fn committed_vectors_play_on_the_rtl() {
    for folder in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors")).expect("vectors/") {
        let case = Case::read(&folder.expect("entry").path()).expect("a case");
        let core = registry::find(&case.core).expect("registered");
        let (library, _) = build(core, &case.params);
        let mut rtl = library.power_up(Init::Random(1)).expect("instance");
        let mut recorded = Recorded::new(case.clone());
        assert_eq!(replay(&mut recorded, &mut rtl, &case.stimulus).expect("replay"), None);
        // A player is not to be driven with anything else.
        let mut other = case.stimulus.clone();
        other[0] ^= 1;
        let error = replay(&mut Recorded::new(case), &mut rtl, &other).expect_err("other inputs");
        assert!(matches!(error, Fault::NotRecorded { cycle: 0 }));
    }
}

/// Offers a request in every cycle and takes every response; returns the outputs
/// of `cycles` cycles after the pipeline has filled.
fn saturate(device: &mut dyn Clocked, ops: &[Op], cycles: usize) -> (u64, u64) {
    let pins = FilterPins::of(device.pins()).expect("filter pins");
    let mut rng = SplitMix64::new(11);
    let mut input = vec![0; pins.map().input_words()];
    let mut output = vec![0; pins.map().output_words()];
    let (mut taken, mut answered) = (0, 0);
    let mut settle = 16;
    let mut left = cycles;
    while left > 0 {
        let inputs = Inputs {
            req_valid: true,
            rsp_ready: true,
            op: ops[rng.below(ops.len() as u64) as usize],
            tag: rng.next_u64(),
            rst: false,
        };
        let mut key: Vec<u64> = (0..pins.key_words()).map(|_| rng.next_u64()).collect();
        *key.last_mut().expect("a word") &= pins.key_top();
        pins.write_inputs(&inputs, &key, &mut input);
        device.clock(&input, &mut output).expect("clocked");
        let outputs = pins.read_outputs(&output);
        if taken == 0 && !outputs.req_ready && settle == 16 {
            continue; // the start-up sweep
        }
        if settle > 0 {
            settle -= 1;
            continue;
        }
        taken += u64::from(outputs.req_ready);
        answered += u64::from(outputs.rsp_valid);
        left -= 1;
    }
    (taken, answered)
}

/// The partitioned shape takes a request and gives a response in every cycle, any
/// mix of queries and inserts, in the model and in the RTL, and every port is used
/// in every cycle; with HASHES accesses each, one every HASHES cycles.
#[test]
fn partitioned_is_limited_by_its_ports_alone() {
    let core = registry::find("partitioned").expect("registered");
    for (banks, hashes) in [(7, 1), (1, 4), (3, 2)] {
        let params =
            Params::new().with("BANKS", banks).with("HASHES", hashes).with("ROWS", 500).with("KEY_W", 64);
        let (library, params) = build(core, &params);
        for ops in
            [&[Op::Query][..], &[Op::Insert], &[Op::Query, Op::Insert], &[Op::Query, Op::Query, Op::Insert]]
        {
            let mut model = core.clocked(&params).expect("legal");
            let mut rtl = library.power_up(Init::Random(3)).expect("instance");
            let cycles = 6_000;
            let each = cycles / hashes;
            assert_eq!(saturate(model.as_mut(), ops, cycles as usize), (each, each), "model, {ops:?}");
            assert_eq!(saturate(&mut rtl, ops, cycles as usize), (each, each), "RTL, {ops:?}");

            // Every port, every cycle: counted in the model, whose pins and memories
            // are those of the RTL in the tests above.
            let before = model.ports();
            saturate_on(model.as_mut(), ops, 1_000);
            for (before, after) in before.iter().zip(model.ports()) {
                let counts = after.since(before);
                assert_eq!((counts.cycles, counts.idle()), (1_000, 0), "{ops:?}");
            }
        }
    }
}

/// As `saturate`, on a device that is already saturated.
fn saturate_on(device: &mut dyn Clocked, ops: &[Op], cycles: u64) {
    let pins = FilterPins::of(device.pins()).expect("filter pins");
    let mut input = vec![0; pins.map().input_words()];
    let mut output = vec![0; pins.map().output_words()];
    for cycle in 0..cycles {
        let op = ops[cycle as usize % ops.len()];
        let inputs = Inputs { req_valid: true, rsp_ready: true, op, tag: cycle, rst: false };
        pins.write_inputs(&inputs, &[cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15)], &mut input);
        device.clock(&input, &mut output).expect("clocked");
    }
}

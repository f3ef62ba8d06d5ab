//! The balanced filter beyond what every core is tested for: its corner cases occur
//! in the stimulus, its pipeline loses no cycles, and its definition holds.

mod common;

use std::collections::BTreeMap;

use membrane::{
    Clocked, Core, Filter, Params, Status,
    balanced::{Balanced, CORE, Config, Place, Scheme},
    filter::Op,
    hash::SplitMix64,
    pins::{FilterPins, Inputs},
    sram::PortCounts,
    stimulus::record,
    vectors::{Event, transcript},
};

/// Small filters of every scheme with every number of choices, with and without budget
/// and list, in which everything that can happen happens.
fn small() -> Vec<Config> {
    let base = Config {
        rows: 12,
        q: 30_000,
        block_w: 24,
        hashes: 2,
        h: 3,
        p: 30_000,
        cam_depth: 6,
        key_w: 16,
        tag_w: 8,
        ..Config::default()
    };
    let mut all = Vec::new();
    for (scheme, d) in [
        (Scheme::Single, 1),
        (Scheme::Sequential, 1),
        (Scheme::Sequential, 2),
        (Scheme::Sequential, 3),
        (Scheme::Multilevel, 1),
        (Scheme::Multilevel, 2),
        (Scheme::Multilevel, 3),
    ] {
        all.push(Config { scheme, d, ..base.clone() });
        // One choice is the same in every scheme, but for the first of these.
        if scheme == Scheme::Single || d > 1 {
            all.push(Config { scheme, d, access_budget: 41, cam_depth: 30, ..base.clone() });
        }
        if scheme == Scheme::Single || d > 2 {
            all.push(Config { scheme, d, cam_depth: 0, ..base.clone() });
        }
    }
    all
}

type Events = BTreeMap<String, u64>;

/// Replays the requests of a run and counts what the filter met.
fn events(config: &Config, seed: u64, cycles: u64) -> Events {
    let case = record(&CORE, &config.params(), seed, cycles).expect("stimulus");
    let pins = FilterPins::of(&case.pins).expect("filter pins");
    let mut filter = Balanced::new(config).expect("legal");
    let mut h = vec![0; filter.hash().words()];
    let mut events = Events::new();
    let mut meet = |what: String| *events.entry(what).or_default() += 1;
    for event in transcript(&pins, &case.stimulus, &case.expected) {
        let Event::Request { op, key, .. } = event else {
            if matches!(event, Event::Reset) {
                filter.clear();
            }
            continue;
        };
        filter.hash().hash_into(&key, &mut h);
        if op == Op::Clear && filter.level() > 0 {
            meet(format!("clear, list {}", if filter.list().is_full() { "full" } else { "not full" }));
        }
        if op == Op::Query {
            let plan = filter.plan_query(&key, &h);
            meet(format!("query, {} choices, hit {}", plan.probes, u8::from(plan.hit)));
            if filter.list().contains(&key) {
                meet("query, key in the list".into());
            }
        }
        if op == Op::Insert {
            let plan = filter.plan_insert(&key, &h);
            let read = filter.choices().iter().zip(plan.rows).take(plan.probes as usize);
            for (c, (choice, row)) in read.enumerate() {
                let count = filter.count(choice.level, row as usize);
                let at = match count.cmp(&config.h) {
                    std::cmp::Ordering::Less if count + 1 == config.h => "H-1",
                    std::cmp::Ordering::Less => continue,
                    std::cmp::Ordering::Equal => "H",
                    std::cmp::Ordering::Greater => "H+1",
                };
                let coin = u8::from(choice.coin_of(&h) < config.p);
                meet(format!("choice {c} at {at}, coin {coin}"));
            }
            let cut = plan.probes < config.d && !matches!(plan.place, Some(Place::Block(_)));
            if cut {
                meet(format!("budget ends after {} choices", plan.probes));
            }
            match plan.place {
                Some(Place::Block(c)) => meet(format!("into choice {c}")),
                Some(Place::List) if filter.list().contains(&key) => meet("in the list already".into()),
                Some(Place::List) => meet("into the list".into()),
                _ => meet("refused".into()),
            }
        }
        filter.apply(op, &key);
        if filter.list().is_full() {
            meet("list full".into());
        }
    }
    events
}

/// The stimulus that co-simulation uses reaches them all.
#[test]
fn every_corner_case_occurs() {
    for config in small() {
        let events = events(&config, 1, 100_000);
        let mut expected = Vec::new();
        for c in 0..config.d {
            expected.push(format!("into choice {c}"));
            expected.extend([0, 1].map(|hit| format!("query, {} choices, hit {hit}", c + 1)));
            if config.access_budget > 0 {
                expected.push(format!("budget ends after {c} choices"));
                continue; // so small that it keeps most blocks from filling up
            }
            for (at, coin) in [("H-1", 0), ("H-1", 1), ("H", 0), ("H", 1), ("H+1", 0), ("H+1", 1)] {
                expected.push(format!("choice {c} at {at}, coin {coin}"));
            }
        }
        if config.cam_depth > 0 {
            expected.extend(
                ["into the list", "in the list already", "query, key in the list", "list full"]
                    .map(String::from),
            );
            expected.extend(["full", "not full"].map(|list| format!("clear, list {list}")));
        }
        expected.push("refused".into());
        for what in expected {
            let count = events.get(&what).copied().unwrap_or(0);
            assert!(count > 0, "never: {what}\n{config:?}\n{events:#?}");
        }
    }
}

/// A refused insert changes nothing: not a bit, not the budget, not the list.
#[test]
fn a_refused_insert_changes_nothing() {
    let mut refused = 0;
    for config in small() {
        let mut filter = Balanced::new(&config).expect("legal");
        let mut rng = SplitMix64::new(3);
        for _ in 0..400 {
            let key = [rng.below(1 << 16)];
            let before = filter.clone();
            let answer = filter.insert(&key);
            if answer.status == Status::Full {
                refused += 1;
                assert_eq!(filter.levels(), before.levels());
                assert_eq!(filter.list(), before.list());
                assert_eq!(filter.spent(), before.spent());
            } else {
                assert!(filter.contains(&key), "a false negative");
                assert!(filter.insert(&key).hit || !filter.has_budget(), "a key that is there is not seen");
            }
        }
        assert!(filter.spent() <= config.access_budget);
    }
    assert!(refused > 1_000, "{refused}");
}

/// What a run of requests, one offered in every cycle, all responses taken, cost.
struct Cost {
    cycles: u64,
    taken: u64,
    answered: u64,
    ports: Vec<PortCounts>,
}

/// Offers `requests` without a pause and waits for the last response.
fn saturate(device: &mut dyn Clocked, requests: &[(Op, u64)]) -> Cost {
    let pins = FilterPins::of(device.pins()).expect("filter pins");
    let mut input = vec![0; pins.map().input_words()];
    let mut output = vec![0; pins.map().output_words()];
    let mut clock = |device: &mut dyn Clocked, request: Option<(Op, u64)>| {
        let (op, key) = request.unwrap_or_default();
        let inputs =
            Inputs { req_valid: request.is_some(), rsp_ready: true, op, tag: key & 0xff, rst: false };
        let key = key & (u64::MAX >> (64 - pins.key_w().min(64)));
        pins.write_inputs(&inputs, &[key], &mut input);
        device.clock(&input, &mut output).expect("clocked");
        pins.read_outputs(&output)
    };
    while !clock(device, None).req_ready {}
    let before = device.ports();
    let mut cost = Cost { cycles: 0, taken: 0, answered: 0, ports: Vec::new() };
    while cost.taken < requests.len() as u64 {
        let seen = clock(device, Some(requests[cost.taken as usize]));
        cost.cycles += 1;
        cost.taken += u64::from(seen.req_ready);
        cost.answered += u64::from(seen.rsp_valid);
    }
    cost.ports = device.ports().iter().zip(&before).map(|(now, before)| now.since(before)).collect();
    loop {
        let seen = clock(device, None);
        cost.answered += u64::from(seen.rsp_valid);
        if !seen.busy {
            return cost;
        }
    }
}

fn random_requests(count: usize, inserts_per_mille: u32, seed: u64) -> Vec<(Op, u64)> {
    let mut rng = SplitMix64::new(seed);
    let mut request = || {
        let op = if rng.chance(inserts_per_mille) { Op::Insert } else { Op::Query };
        (op, rng.next_u64())
    };
    (0..count).map(|_| request()).collect()
}

/// The devices under test: the model, and the RTL where it can be built.
fn devices(params: &Params) -> Vec<(&'static str, Box<dyn Clocked>)> {
    let params = CORE.check(params).expect("legal");
    let model = CORE.clocked(&params).expect("legal");
    #[cfg(feature = "cosim")]
    {
        use membrane::cosim::{Design, Init, Opt};
        let design = Design::new(&CORE, &params, model.pins());
        let library = design.build(&common::tools(), Opt::Quick, false).expect("RTL builds");
        let rtl = library.power_up(Init::Random(1)).expect("instance");
        vec![("model", model), ("RTL", Box::new(rtl))]
    }
    #[cfg(not(feature = "cosim"))]
    vec![("model", model)]
}

/// 24 bits per key in 4,096 blocks of 256 bits.
fn full_size(scheme: Scheme) -> Config {
    let name = if scheme == Scheme::Multilevel { "multilevel-256" } else { "single-256" };
    let preset = CORE.presets().iter().find(|preset| preset.name == name).expect("preset");
    let config = Config::from_params(&preset.params()).expect("legal");
    if scheme == Scheme::Sequential {
        return Config { scheme, d: 3, h: 12, p: 20_000, cam_depth: 256, ..config };
    }
    Config { cam_depth: 256, ..config }
}

/// What the requests need, by the functional model.
fn needs(config: &Config, requests: &[(Op, u64)]) -> (u64, u64, u64) {
    let mut filter = Balanced::new(config).expect("legal");
    let mut h = vec![0; filter.hash().words()];
    let (mut probes, mut placed, mut elsewhere) = (0, 0, 0);
    for (op, key) in requests {
        let key = [*key];
        filter.hash().hash_into(&key, &mut h);
        let plan = if *op == Op::Insert { filter.plan_insert(&key, &h) } else { filter.plan_query(&key, &h) };
        probes += u64::from(plan.probes);
        placed += u64::from(matches!(plan.place, Some(Place::Block(_))));
        elsewhere += u64::from(matches!(plan.place, Some(Place::Block(c)) if config.level_of(c) > 0));
        filter.commit(&key, &h, &plan);
    }
    (probes, placed, elsewhere)
}

#[test]
fn one_query_per_cycle() {
    for scheme in [Scheme::Single, Scheme::Multilevel] {
        let config = full_size(scheme);
        let requests = random_requests(5_000, 0, 1);
        for (device, mut model) in devices(&config.params()) {
            let cost = saturate(model.as_mut(), &requests);
            assert_eq!((cost.cycles, cost.answered), (5_000, 5_000), "{scheme:?} {device}");
            // All but what is in s1 and s2 when the last request was taken.
            assert!(cost.ports.iter().all(|port| port.reads >= 4_998), "{:?}", cost.ports);
        }
    }
}

/// Half queries, half inserts, without a pause, from empty to the load that the
/// filter is made for: the busiest memory works in 98 % of the cycles, a query costs
/// one access of a memory, an insert two of the one it changes.
#[test]
fn a_saturating_mix_uses_the_port_in_98_percent_of_the_cycles() {
    for scheme in [Scheme::Single, Scheme::Sequential, Scheme::Multilevel] {
        let config = full_size(scheme);
        let requests = random_requests(87_000, 500, 7);
        let (probes, placed, elsewhere) = needs(&config, &requests);
        assert!(scheme != Scheme::Multilevel || elsewhere > 5_000, "{elsewhere}");
        for (device, mut model) in devices(&config.params()) {
            let cost = saturate(model.as_mut(), &requests);
            assert_eq!(cost.answered, 87_000);
            let reads = if scheme == Scheme::Sequential { probes } else { 87_000 };
            let busy = reads + placed - elsewhere;
            let use_of_first = busy as f64 / cost.cycles as f64;
            println!("{scheme:?} {device}: {} cycles, first memory {use_of_first:.4}", cost.cycles);
            assert!(use_of_first >= 0.98, "{scheme:?} {device}: {use_of_first}");
            for (level, port) in cost.ports.iter().enumerate() {
                // All but what is in flight when the last request was taken.
                assert!(port.reads.abs_diff(reads) <= 6, "level {level}: {port:?}, {reads}");
            }
            if let Some(busiest) = cost.ports.iter().map(PortCounts::utilization).reduce(f64::max) {
                assert!(busiest >= 0.98, "{scheme:?}: {busiest}");
                let writes: u64 = cost.ports.iter().map(|port| port.writes).sum();
                assert!(writes.abs_diff(placed) <= 6, "{writes} writes, {placed} keys placed");
            }
        }
    }
}

/// Requests that all meet in one block cost the same as requests that never meet.
#[test]
fn one_hammered_block_costs_no_cycle_more() {
    for scheme in [Scheme::Single, Scheme::Multilevel] {
        // So high a threshold that all keys stay in their first choice.
        let config = Config { h: 254, rows: 64, ..full_size(scheme) };
        let spread = random_requests(250, 500, 5);
        let hammered: Vec<_> = spread.iter().map(|(op, _)| (*op, 0x1234)).collect();
        let run = |requests: &[(Op, u64)]| -> Vec<u64> {
            let devices = devices(&config.params());
            devices.into_iter().map(|(_, mut device)| saturate(device.as_mut(), requests).cycles).collect()
        };
        assert_eq!(run(&hammered), run(&spread), "{scheme:?}");
    }
}

#[cfg(feature = "cosim")]
#[test]
fn small_filters_of_every_scheme_agree_with_the_rtl() {
    use membrane::cosim::{Job, Opt, Outcome};
    for config in small() {
        let job = Job::new(&CORE, &config.params(), 1, 30_000).expect("legal");
        let design = job.design().expect("legal");
        match job.run(&common::tools(), &design, Opt::Quick, None, &mut |_| {}).expect("co-simulation") {
            Outcome::Equal(report) => assert!(report.totals.requests > 5_000),
            Outcome::Different(failure) => panic!("{}", failure.describe(&job)),
        }
    }
}

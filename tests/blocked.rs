//! The blocked core: false positive rates against theory, cycles against the
//! promise, and the layout of a row against its definition.

use membrane::{
    Clocked, Filter,
    analysis::{self, BloomG},
    blocked::{Blocked, Config, InBlock},
    filter::{Op, Status},
    hash::{SplitMix64, extract},
    pins::{FilterPins, Inputs},
    registry,
    sram::PortCounts,
};
use proptest::prelude::*;

// ---- false positive rates --------------------------------------------------------------

/// How the keys of a run follow each other.
#[derive(Clone, Copy, Debug)]
enum Sequence {
    Random,
    /// 0, 1, 2, ...
    Sequential,
    /// 0, 4096, 8192, ...
    Aligned,
    /// 0, 1000, 2000, ...
    Strided,
}

impl Sequence {
    fn key(self, i: u64, seed: u64) -> u64 {
        match self {
            Self::Random => membrane::hash::splitmix64(seed, i),
            Self::Sequential => i,
            Self::Aligned => i << 12,
            Self::Strided => i * 1_000,
        }
    }
}

/// The false positive rate of filters with hash seeds of their own: the first
/// `keys` of the sequence are inserted, the next `queries` are asked.
fn rates(config: &Config, sequence: Sequence, keys: u64, queries: u64, filters: u64) -> Vec<f64> {
    let rate = |seed| {
        let mut filter = Blocked::new(&Config { seed, ..config.clone() }).expect("legal");
        for i in 0..keys {
            filter.insert(&[sequence.key(i, seed)]);
        }
        assert!((0..keys).all(|i| filter.contains(&[sequence.key(i, seed)])), "a false negative");
        let hits = (keys..keys + queries).filter(|i| filter.contains(&[sequence.key(*i, seed)])).count();
        hits as f64 / queries as f64
    };
    (0..filters).map(rate).collect()
}

/// From both sides: too many hits fail as too few do. The rate of one filled filter is
/// itself random, as its hash is; filters are independent, so their spread gives the
/// standard error without further assumptions. Counters need keys that are mixed.
fn check_rate(what: &str, config: &Config, keys: u64, queries: u64, filters: u64) {
    let expected = exact(config, keys);
    for (sequence, mix) in [
        (Sequence::Random, 0),
        (Sequence::Strided, 0),
        (Sequence::Sequential, MIXED),
        (Sequence::Aligned, MIXED),
        (Sequence::Strided, MIXED),
    ] {
        let rates = rates(&Config { mix, ..config.clone() }, sequence, keys, queries, filters);
        let n = filters as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let error = (rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        let what = format!("{what} {sequence:?} MIX {mix}");
        println!("{what}: measured {mean:.4e} +- {error:.1e}, exact {expected:.4e}");
        assert!(error < expected / 10.0, "{what}: +- {error:e} says nothing");
        assert!(
            (mean - expected).abs() < 4.0 * error,
            "{what}: measured {mean:e} +- {error:e}, exact {expected:e}"
        );
    }
}

/// Rounds of mixing after which keys in a row are as good as random, as docs/hash.md says.
const MIXED: u32 = 5;

/// H3 alone is linear over GF(2), and counters fill linear spaces: most seeds spread such keys
/// over the rows more evenly than chance would, and a few seeds leave rows empty. The
/// mean over seeds then says nothing, but the middle does, from both sides, and so does
/// the share of bad seeds. docs/blocked.md states both.
#[test]
fn counters_are_better_than_theory_for_most_seeds_and_far_worse_for_few() {
    let config = Config { block_w: 256, rows: 1024, hashes: 8, key_w: 64, ..Config::default() };
    let keys = 1024 * 256 / 12;
    let expected = exact(&config, keys);
    for sequence in [Sequence::Sequential, Sequence::Aligned] {
        let mut rates = rates(&config, sequence, keys, 10_000, 301);
        rates.sort_by(f64::total_cmp);
        let median = rates[150] / expected;
        let bad = rates.iter().filter(|rate| **rate > 4.0 * expected).count();
        println!("{sequence:?}: median {median:.3} of theory; {bad} of 301 seeds above 4 times");
        assert!((0.3..1.0).contains(&median), "{sequence:?}: median {median} of theory");
        assert!((1..=18).contains(&bad), "{sequence:?}: {bad} bad seeds");
    }
}

fn in_block(config: &Config) -> analysis::InBlock {
    match config.in_block {
        InBlock::Standard => analysis::InBlock::Standard { bits: config.block_w.into() },
        InBlock::Partitioned => analysis::InBlock::Partitioned { part_bits: config.part_w().into() },
    }
}

fn exact(config: &Config, keys: u64) -> f64 {
    let rate = if config.group == 1 {
        let (blocks, hashes) = (config.rows, config.hashes);
        analysis::Blocked { keys, blocks, hashes, in_block: in_block(config) }.false_positive_rate()
    } else {
        let (words, group, hashes) = (config.rows, config.group, config.hashes);
        BloomG { keys, words, group, hashes, in_word: in_block(config) }.false_positive_rate()
    };
    rate.expect("in range")
}

#[test]
fn the_papers_256_bit_blocks_at_24_bits_per_key() {
    let config = Config { block_w: 256, rows: 4096, hashes: 17, key_w: 64, ..Config::default() };
    let keys = 4096 * 256 / 24;
    let expected = exact(&config, keys);
    assert!((expected / 2.26e-4 - 1.0).abs() < 0.01, "{expected:e}");
    check_rate("256 bits, k = 17", &config, keys, 100_000, 60);
}

#[test]
fn rates_of_all_layouts() {
    let base = Config { block_w: 256, rows: 1024, hashes: 8, key_w: 64, ..Config::default() };
    let parts = Config { in_block: InBlock::Partitioned, ..base.clone() };
    let word = Config { block_w: 64, rows: 4096, hashes: 6, ..base.clone() };
    let cases = [
        ("256 bits, k = 8", base.clone(), 12),
        ("512 bits, k = 8", Config { block_w: 512, rows: 500, ..base.clone() }, 12),
        ("64 bits, k = 6", word.clone(), 12),
        ("256 bits in 8 parts", parts.clone(), 12),
        ("256 bits in 7 parts of 36", Config { hashes: 7, rows: 777, ..parts }, 12),
        ("Bloom-2", Config { group: 2, ..word.clone() }, 12),
        ("Bloom-3 in parts", Config { group: 3, in_block: InBlock::Partitioned, ..word.clone() }, 12),
        ("Bloom-2, masked", Config { group: 2, masked: true, ..word }, 10),
        ("masked", Config { masked: true, ..base }, 10),
    ];
    for (what, config, bits_per_key) in cases {
        let keys = config.rows * u64::from(config.block_w) / bits_per_key;
        check_rate(what, &config, keys, 20_000, 60);
    }
}

// ---- layout ----------------------------------------------------------------------------

/// Straight from the docs: fields in order, parts by division.
#[test]
fn bits_lie_where_the_docs_say() {
    let mut rng = SplitMix64::new(5);
    for preset in registry::find("blocked").expect("registered").presets() {
        let config = Config::from_params(&preset.params()).expect("legal");
        let mut filter = Blocked::new(&config).expect("legal");
        let key: Vec<u64> = (0..config.key_w.div_ceil(64)).map(|_| rng.next_u64()).collect();
        let h = filter.hash().by_definition(&key);
        let mut at = 0;
        let mut select = |n: u64| {
            let clog2 = n.next_power_of_two().trailing_zeros();
            let width = if n.is_power_of_two() { clog2 } else { clog2 + 8 };
            let field = u128::from(extract(&h, at, width));
            at += width;
            if n.is_power_of_two() { field as u64 } else { ((field * u128::from(n)) >> width) as u64 }
        };
        let mut expected = vec![vec![0u64; 8]; config.rows as usize];
        let in_row = config.hashes / config.group;
        for _ in 0..config.group {
            let row = select(config.rows) as usize;
            for i in 0..in_row {
                let part = config.block_w / in_row;
                let bit = match config.in_block {
                    InBlock::Standard => select(config.block_w.into()),
                    InBlock::Partitioned => u64::from(i * part) + select(part.into()),
                };
                expected[row][(bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        assert_eq!(at, filter.hash().bits(), "{}", preset.name);
        filter.insert(&key);
        for (row, expected) in expected.iter().enumerate() {
            let words = config.block_w.div_ceil(64) as usize;
            assert_eq!(filter.memory().row(row), expected[..words], "{} row {row}", preset.name);
        }
    }
}

// ---- answers ---------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    /// An insert answers as a query just before; what was inserted is found; what
    /// was asked changes nothing. Small filters, so that words of a key meet.
    #[test]
    fn an_insert_answers_as_a_query_before_it(
        block_w in 8..80u32,
        rows in 2..9u64,
        bits in 1..5u32,
        group in 1..5u32,
        parts in any::<bool>(),
        masked in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let in_block = if parts { InBlock::Partitioned } else { InBlock::Standard };
        let hashes = bits * group;
        let config = Config { block_w, rows, hashes, group, in_block, masked, key_w: 20, seed, ..Config::default() };
        let mut filter = Blocked::new(&config).expect("legal");
        let mut rng = SplitMix64::new(seed);
        let mut inserted = Vec::new();
        for _ in 0..60 {
            let key = [rng.next_u64()];
            let before = filter.contains(&key);
            prop_assert_eq!(filter.insert(&key).hit, before && !masked);
            inserted.push(key);
            prop_assert!(inserted.iter().all(|key| filter.contains(key)));
            prop_assert_eq!(filter.remove(&key).status, Status::Unsupported);
        }
        if parts {
            let first = u64::from(config.part_w() * config.bits_per_row());
            let used = |row| (first..block_w.into()).any(|bit| filter.memory().bit(row * u64::from(block_w) + bit));
            prop_assert!(!(0..rows).any(used), "bits above the parts are used");
        }
        filter.clear();
        prop_assert!(!inserted.iter().any(|key| filter.contains(key)));
    }
}

// ---- cycles ----------------------------------------------------------------------------

/// What a saturated run did.
#[derive(Debug)]
struct Run {
    cycles: u64,
    queries: u64,
    inserts: u64,
    hits: u64,
    ports: PortCounts,
}

/// Offers a request and takes responses in every cycle, for `cycles` cycles after the
/// sweep; `device` may be model or RTL.
fn saturate(
    device: &mut dyn Clocked,
    config: &Config,
    cycles: u64,
    mut next: impl FnMut(u64) -> (Op, u64),
) -> Run {
    let pins = FilterPins::of(device.pins()).expect("a filter");
    let mut input = vec![0; device.pins().input_words()];
    let mut output = vec![0; device.pins().output_words()];
    let idle = Inputs { rsp_ready: true, ..Inputs::default() };
    pins.write_inputs(&idle, &[0], &mut input);
    for _ in 0..config.rows {
        device.clock(&input, &mut output).expect("clocked");
        assert!(!pins.read_outputs(&output).req_ready);
    }
    let before: PortCounts = device.ports().into_iter().sum();
    let mut run = Run { cycles, queries: 0, inserts: 0, hits: 0, ports: PortCounts::default() };
    let mut sent = 0;
    let (mut op, mut key) = next(0);
    for _ in 0..cycles {
        pins.write_inputs(&Inputs { req_valid: true, op, tag: sent, ..idle }, &[key], &mut input);
        device.clock(&input, &mut output).expect("clocked");
        let seen = pins.read_outputs(&output);
        run.hits += u64::from(seen.rsp_valid && seen.hit);
        if seen.req_ready {
            run.queries += u64::from(op == Op::Query);
            run.inserts += u64::from(op == Op::Insert);
            sent += 1;
            (op, key) = next(sent);
        }
    }
    let after: PortCounts = device.ports().into_iter().sum();
    run.ports = after.since(&before);
    run
}

fn model(config: &Config) -> Box<dyn Clocked> {
    registry::find("blocked").expect("registered").clocked(&config.params()).expect("legal")
}

#[cfg(feature = "cosim")]
fn rtl(config: &Config) -> membrane::cosim::Rtl {
    use membrane::cosim::{Init, Job, Opt, find_tools};
    let job =
        Job::new(registry::find("blocked").expect("registered"), &config.params(), 1, 1).expect("legal");
    let library = job.design().expect("legal").build(&find_tools().expect("Verilator"), Opt::Quick, false);
    library.expect("built").power_up(Init::Random(1)).expect("runs")
}

/// The same requests on the RTL: what it takes in as many cycles must be the same.
#[cfg(feature = "cosim")]
fn same_in_rtl(config: &Config, run: &Run, next: impl FnMut(u64) -> (Op, u64)) {
    let seen = saturate(&mut rtl(config), config, run.cycles, next);
    assert_eq!((seen.queries, seen.inserts, seen.hits), (run.queries, run.inserts, run.hits));
}

#[cfg(not(feature = "cosim"))]
fn same_in_rtl(_: &Config, run: &Run, _: impl FnMut(u64) -> (Op, u64)) {
    assert_eq!(run.ports.cycles, run.cycles);
}

fn papers() -> Config {
    Config { block_w: 256, rows: 4096, hashes: 17, key_w: 64, ..Config::default() }
}

fn uniform(i: u64) -> u64 {
    membrane::hash::splitmix64(7, i)
}

/// Cycles from an idle core's request to its response.
fn latency(device: &mut dyn Clocked, config: &Config, op: Op) -> u64 {
    let pins = FilterPins::of(device.pins()).expect("a filter");
    let mut input = vec![0; device.pins().input_words()];
    let mut output = vec![0; device.pins().output_words()];
    let mut taken = None;
    for cycle in 0..3 * config.rows + 100 {
        let inputs = Inputs { req_valid: taken.is_none(), op, rsp_ready: true, ..Inputs::default() };
        pins.write_inputs(&inputs, &[5], &mut input);
        device.clock(&input, &mut output).expect("clocked");
        let seen = pins.read_outputs(&output);
        if seen.rsp_valid {
            return cycle - taken.expect("a request before the response");
        }
        if inputs.req_valid && seen.req_ready {
            taken = Some(cycle);
        }
    }
    panic!("no response");
}

#[test]
fn latency_is_as_documented() {
    for group in [1, 2, 3, 6] {
        for masked in [false, true] {
            let config =
                Config { block_w: 64, rows: 64, hashes: 6, group, masked, key_w: 64, ..Config::default() };
            for op in Op::ALL {
                let expected = match op {
                    Op::Query | Op::Insert => 3 + u64::from(group),
                    Op::Remove => 4,
                    // Taken by s2, the rows, one cycle to be taken by the port.
                    Op::Clear => 4 + config.rows,
                };
                let what = format!("{op:?}, GROUP {group}, MASKED {masked}");
                let model = latency(model(&config).as_mut(), &config, op);
                // Two words are read, two written back, and so on.
                let extra = if op == Op::Insert && !masked { 2 * ((u64::from(group) - 1) / 2) } else { 0 };
                assert_eq!(model, expected + extra, "{what}");
                #[cfg(feature = "cosim")]
                assert_eq!(latency(&mut rtl(&config), &config, op), model, "{what}: RTL");
            }
        }
    }
}

#[test]
fn one_query_per_cycle() {
    for config in [papers(), Config { masked: true, ..papers() }] {
        let next = |i| (Op::Query, uniform(i));
        let run = saturate(model(&config).as_mut(), &config, 20_000, next);
        assert_eq!(run.queries, 20_000);
        same_in_rtl(&config, &run, next);
    }
    let config = Config { block_w: 64, hashes: 6, group: 2, ..papers() };
    let next = |i| (Op::Query, uniform(i));
    let run = saturate(model(&config).as_mut(), &config, 20_000, next);
    assert!((9_999..=10_001).contains(&run.queries), "{run:?}");
    same_in_rtl(&config, &run, next);
}

#[test]
fn an_insert_costs_two_accesses_and_nothing_else() {
    let config = papers();
    let next = |i| (Op::Insert, uniform(i));
    let run = saturate(model(&config).as_mut(), &config, 20_000, next);
    // One read each, one write unless all bits were there.
    assert!(run.ports.reads.abs_diff(run.inserts) <= 3, "{run:?}");
    assert!(run.ports.writes.abs_diff(run.inserts - run.hits) <= 3, "{run:?}");
    assert!(run.inserts >= 9_950, "{run:?}");
    same_in_rtl(&config, &run, next);

    let config = Config { masked: true, ..papers() };
    let run = saturate(model(&config).as_mut(), &config, 20_000, next);
    assert_eq!((run.inserts, run.ports.reads), (20_000, 0), "{run:?}");
    same_in_rtl(&config, &run, next);
}

#[test]
fn half_queries_half_inserts_use_the_port_in_98_of_100_cycles() {
    let next = |i: u64| (if uniform(!i) & 1 == 0 { Op::Query } else { Op::Insert }, uniform(i));
    for config in [papers(), Config { block_w: 64, hashes: 6, group: 2, ..papers() }] {
        let run = saturate(model(&config).as_mut(), &config, 60_000, next);
        println!("{:.3} % of cycles: {run:?}", 100.0 * run.ports.utilization());
        assert!(run.ports.utilization() >= 0.98, "{run:?}");
        let accesses = run.ports.reads + run.ports.writes;
        let needed = (run.queries + 2 * run.inserts) * u64::from(config.group);
        assert!(accesses <= needed, "{run:?}");
        same_in_rtl(&config, &run, next);
    }
}

/// The numbers that docs/blocked.md states.
#[test]
fn what_a_hammered_row_costs() {
    // Keys of row 0 of two. Many bits, so that an insert nearly always has one to set.
    let config = Config { block_w: 512, rows: 2, hashes: 32, key_w: 64, ..Config::default() };
    let filter = Blocked::new(&config).expect("legal");
    let mut h = vec![0; filter.hash().words()];
    let mut keys = Vec::new();
    for i in 0.. {
        let key = uniform(i);
        filter.hash().hash_into(&[key], &mut h);
        if filter.row_field(0).of(&h) == 0 {
            keys.push(key);
        }
        if keys.len() == 100 {
            break;
        }
    }
    let key = |i: u64| keys[i as usize % keys.len()];
    // Keys that set new bits: one insert every 3 cycles. The row lasts for some 60.
    let next = |i| (Op::Insert, key(i));
    let run = saturate(model(&config).as_mut(), &config, 90, next);
    assert!((30..=32).contains(&run.inserts) && run.hits == 0, "{run:?}");
    same_in_rtl(&config, &run, next);
    // The same key again and again: nothing to write, one every 2 cycles.
    let next = |_| (Op::Insert, key(0));
    let run = saturate(model(&config).as_mut(), &config, 3_000, next);
    assert!((1_499..=1_502).contains(&run.inserts), "{run:?}");
    same_in_rtl(&config, &run, next);
    // Insert and query in turn: the query waits for the write-back; 4 cycles a pair.
    let next = |i: u64| (if i.is_multiple_of(2) { Op::Insert } else { Op::Query }, key(i / 2));
    let run = saturate(model(&config).as_mut(), &config, 80, next);
    assert!((20..=22).contains(&run.inserts), "{run:?}");
    same_in_rtl(&config, &run, next);
}

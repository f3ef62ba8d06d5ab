//! Balanced filters against theory, from both sides: load distribution, overflow,
//! accesses and false positive rate.

use membrane::{
    Filter,
    analysis::{
        AccessProblem, Balance, InBlock, Levels, LoadDistribution, Multilevel, Sequential, Threshold, single,
    },
    balanced::{Balanced, Config, Place, Scheme},
    hash::SplitMix64,
};

/// Standard deviations that a measurement may be off.
const LIMIT: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Keys {
    Random,
    /// A counter; of every so many of its values one, at random, is a key.
    Sequential(u64),
    /// The same times 4096.
    Strided(u64),
}

impl Keys {
    fn stream(self, seed: u64) -> impl FnMut() -> u64 {
        let mut rng = SplitMix64::new(seed);
        let mut n = 0;
        let mut count = move |every| {
            n += every;
            n - rng.below(every)
        };
        let mut rng = SplitMix64::new(!seed);
        move || match self {
            Keys::Random => rng.next_u64(),
            Keys::Sequential(every) => count(every),
            Keys::Strided(every) => count(every) << 12,
        }
    }
}

/// One value per filter.
#[derive(Clone, Debug, Default)]
struct Sample(Vec<f64>);

impl Sample {
    fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The standard error of the mean.
    fn error(&self) -> f64 {
        let (n, mean) = (self.0.len() as f64, self.mean());
        (self.0.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt()
    }

    /// Agrees with theory, and says something: its error is at most `resolution` of it.
    fn assert(&self, theory: f64, resolution: f64, what: &str) {
        let (mean, error) = (self.mean(), self.error());
        println!("{what}: measured {mean:.6e} +- {error:.1e}, theory {theory:.6e}");
        assert!((mean - theory).abs() <= LIMIT * error, "{what}: {mean} +- {error}, theory {theory}");
        assert!(error <= resolution * theory, "{what}: {mean} +- {error} says nothing about {theory}");
    }
}

/// What filters with hashes of their own did.
#[derive(Debug, Default)]
struct Measured {
    gamma: Sample,
    by_budget: Sample,
    insert: Sample,
    positive: Sample,
    negative: Sample,
    rate: Sample,
    /// Per level, per load.
    loads: Vec<Vec<Sample>>,
}

fn measure(config: &Config, kind: Keys, inserts: u64, queries: u64, filters: u64) -> Measured {
    let levels = config.levels().len();
    let mut measured = Measured {
        loads: vec![vec![Sample::default(); config.h as usize + 2]; levels],
        ..Measured::default()
    };
    for seed in 0..filters {
        let mut filter = Balanced::new(&Config { seed, ..config.clone() }).expect("legal");
        let mut next = kind.stream(seed);
        let mut h = vec![0; filter.hash().words()];
        let (mut reads, mut untried) = (0, 0);
        let mut held = Vec::new();
        let mut members = Vec::new();
        for _ in 0..inserts {
            let key = [next()];
            filter.hash().hash_into(&key, &mut h);
            let plan = filter.plan_insert(&key, &h);
            assert_ne!(plan.place, Some(Place::Refused), "the list is too short for this test");
            untried += u64::from(!filter.has_budget());
            reads += u64::from(plan.probes);
            filter.commit(&key, &h, &plan);
            members.push(key);
            if let Some(Place::Block(choice)) = plan.place {
                held.push(choice as f64 + 1.0);
            }
        }
        assert!(members.iter().all(|key| filter.contains(key)), "a false negative");
        let (mut hits, mut query_reads) = (0, 0);
        for _ in 0..queries {
            let key = [next()];
            filter.hash().hash_into(&key, &mut h);
            let plan = filter.plan_query(&key, &h);
            hits += u64::from(plan.hit);
            // As in theory: what a hit, which is false, would save is not saved.
            let rows = filter.choices().iter().zip(plan.rows);
            let full = rows.map(|(choice, row)| filter.count(choice.level, row as usize) >= config.h);
            let reads = full.take_while(|full| *full).count() + 1;
            assert!(plan.probes as usize <= reads.min(config.d as usize));
            query_reads += reads.min(config.d as usize);
        }
        let per_insert = |n: u64| n as f64 / inserts as f64;
        measured.gamma.0.push(per_insert(filter.level()));
        measured.by_budget.0.push(per_insert(untried));
        measured.insert.0.push(per_insert(reads));
        measured.positive.0.push(held.iter().sum::<f64>() / held.len() as f64);
        measured.negative.0.push(query_reads as f64 / queries as f64);
        measured.rate.0.push(hits as f64 / queries as f64);
        for (level, samples) in measured.loads.iter_mut().enumerate() {
            let rows = filter.levels()[level].rows() as f64;
            for (sample, blocks) in samples.iter_mut().zip(filter.loads(level)) {
                sample.0.push(blocks as f64 / rows);
            }
        }
    }
    measured
}

/// A scheme, what theory says of it, and how many keys it gets.
struct Scenario {
    config: Config,
    balance: Balance,
    keys: u64,
}

impl Scenario {
    fn rate(&self) -> f64 {
        let block = InBlock::Standard { bits: self.config.block_w.into() };
        self.balance.false_positive_rate(block, self.config.hashes).expect("legal")
    }
}

fn small(rows: u64, threshold: Threshold) -> Config {
    Config { rows, block_w: 60, hashes: 4, cam_depth: 1024, key_w: 64, ..Config::default() }
        .with_threshold(threshold)
}

/// The three schemes at about `blocks` blocks of 60 bits and 8 keys each.
fn scenarios(blocks: u64) -> Vec<(&'static str, Scenario)> {
    let r = 8.0;
    let keys = blocks * 8;
    let threshold = AccessProblem { a: 1.0, r, gamma: 0.02 }.threshold().expect("legal");
    let config = small(blocks, threshold);
    let arrivals = LoadDistribution::binomial(keys, blocks).expect("legal");
    let balance = single(&arrivals, config.threshold());
    let mut all = vec![("single", Scenario { config, balance, keys })];
    let threshold = Threshold::new(9, 0.5).expect("legal");
    for (name, d, budget) in
        [("sequential d=3", 3, None), ("sequential d=3 a=1.05", 3, Some(1.05)), ("sequential d=2", 2, None)]
    {
        let config = Config {
            scheme: Scheme::Sequential,
            d,
            access_budget: budget.map_or(0, |a| (a * keys as f64) as u64),
            ..small(blocks, threshold)
        };
        let scheme = Sequential { r, choices: d, threshold: config.threshold(), budget };
        all.push((name, Scenario { config, balance: scheme.balance().expect("legal"), keys }));
    }
    for (name, d, budget) in
        [("multilevel d=3", 3, None), ("multilevel d=3 a=1.1", 3, Some(1.1)), ("multilevel d=2", 2, None)]
    {
        let levels = Levels::for_budget(1.2, d).expect("legal");
        let threshold = AccessProblem { a: 1.2, r, gamma: levels.gamma }.threshold().expect("legal");
        let config = Config {
            scheme: Scheme::Multilevel,
            d,
            q: (levels.q * 65536.0).round() as u64,
            ..small((levels.alpha[0] * blocks as f64).round() as u64, threshold)
        };
        let sizes = config.levels();
        let total: u64 = sizes.iter().sum();
        let keys = total * 8;
        let config = Config { access_budget: budget.map_or(0, |a| (a * keys as f64) as u64), ..config };
        let alpha = sizes.iter().map(|rows| *rows as f64 / total as f64).collect();
        let scheme = Multilevel { r, alpha, threshold: config.threshold(), budget };
        all.push((name, Scenario { config, balance: scheme.balance().expect("legal"), keys }));
    }
    all
}

#[test]
fn random_keys_load_overflow_and_cost_as_theory_says() {
    load_overflow_and_cost_are_as_theory_says(Keys::Random, 0);
}

/// Rounds of mixing after which keys in a row are as good as random, as docs/hash.md says.
const MIXED: u32 = 5;

#[test]
fn counters_do_so_too_when_mixed() {
    load_overflow_and_cost_are_as_theory_says(Keys::Sequential(1), MIXED);
}

#[test]
fn strided_keys_do_so_too_when_mixed() {
    load_overflow_and_cost_are_as_theory_says(Keys::Strided(1), MIXED);
}

fn load_overflow_and_cost_are_as_theory_says(kind: Keys, mix: u32) {
    for (name, scenario) in scenarios(1_000) {
        let Scenario { config, balance, keys } = &scenario;
        let measured = measure(&Config { mix, ..config.clone() }, kind, *keys, 8_000, 60);
        measured.gamma.assert(balance.gamma(), 0.1, &format!("{name}: overflow"));
        measured.rate.assert(scenario.rate(), 0.02, &format!("{name}: false positives"));
        if config.d > 1 {
            measured.positive.assert(
                balance.positive_query_accesses(),
                0.01,
                &format!("{name}: accesses, present key"),
            );
            measured.negative.assert(
                balance.negative_query_accesses(),
                0.01,
                &format!("{name}: accesses, absent key"),
            );
        }
        if balance.listed_by_budget() > 0.0 {
            let untried = balance.listed_by_budget();
            measured.by_budget.assert(untried, 0.1, &format!("{name}: listed untried"));
            // Spent to the last access in every filter.
            assert!(measured.insert.0.iter().all(|reads| (reads - balance.insert_accesses()).abs() < 1e-4));
        } else {
            assert!(measured.by_budget.0.iter().all(|untried| *untried == 0.0));
        }
        if balance.listed_by_budget() == 0.0 && config.d > 1 {
            measured.insert.assert(balance.insert_accesses(), 0.01, &format!("{name}: accesses, insert"));
        }
        for (level, samples) in measured.loads.iter().enumerate() {
            for (load, sample) in samples.iter().enumerate() {
                let theory = balance.choices()[level].probability(load);
                // Loads that occur often enough for a mean to be near normal.
                if theory * (config.levels()[level] * 60) as f64 > 60.0 {
                    sample.assert(theory, 0.2, &format!("{name}: level {level}, load {load}"));
                }
            }
        }
    }
}

#[test]
fn unmixed_keys_do_so_too_where_they_are_sparse() {
    for kind in [Keys::Sequential(1024), Keys::Strided(1024)] {
        for (name, scenario) in scenarios(128) {
            let Scenario { config, balance, keys } = &scenario;
            let measured = measure(config, kind, *keys, 600, 300);
            let what = format!("{kind:?} {name}");
            measured.gamma.assert(balance.gamma(), 0.1, &format!("{what}: overflow"));
            measured.rate.assert(scenario.rate(), 0.03, &format!("{what}: false positives"));
            if config.d > 1 {
                let negative = balance.negative_query_accesses();
                measured.negative.assert(negative, 0.01, &format!("{what}: accesses, absent key"));
            }
        }
    }
}

/// The limit of that: H3 alone is linear, so all keys of a dense range, 0 to 2^s - 1, load the
/// blocks either all alike, or, when the seed's matrix lacks rank, in heaps of twice,
/// four times, ... as many. The share of seeds that lack it is known exactly.
#[test]
fn a_dense_range_loads_evenly_or_in_heaps_by_the_rank_of_the_hash() {
    let (row_bits, key_bits, seeds) = (7, 10, 1_200);
    let config = small(1 << row_bits, Threshold::new(9, 0.0).expect("legal"));
    let each = 1 << (key_bits - row_bits);
    for shift in [0, 12] {
        let mut even = 0;
        for seed in 0..seeds {
            let mut filter = Balanced::new(&Config { seed, ..config.clone() }).expect("legal");
            (0..1 << key_bits).for_each(|key: u64| {
                filter.insert(&[key << shift]);
            });
            let loads = filter.loads(0);
            if loads[each] == 1 << row_bits {
                assert_eq!(filter.level(), 0);
                even += 1;
            } else {
                // At most every second block has keys, and no more than it can take.
                assert_eq!(loads[0] + loads[10].max(loads[9]), 1 << row_bits, "{loads:?}");
                assert!(loads[0] >= 1 << (row_bits - 1) && filter.level() > 100);
            }
        }
        let full_rank: f64 = (key_bits - row_bits + 1..=key_bits).map(|i| 1.0 - 0.5f64.powi(i)).product();
        let error = (full_rank * (1.0 - full_rank) / seeds as f64).sqrt();
        let share = f64::from(even) / seeds as f64;
        assert!((share - full_rank).abs() < LIMIT * error, "{share} of the seeds, theory {full_rank}");
    }
}

/// 256-bit rows at 24 bits per key, k = 17 and a list of 0.5 %, as in the paper's figure 4.
fn paper(scheme: Scheme) -> Scenario {
    let levels = Levels::for_budget(1.2, 3).expect("legal");
    let base = Config { block_w: 251, hashes: 17, cam_depth: 1024, key_w: 64, ..Config::default() };
    let keys = 4096 * 256 / 24;
    let r = keys as f64 / 4096.0;
    if scheme == Scheme::Single {
        let threshold = AccessProblem { a: 1.0, r, gamma: levels.gamma }.threshold().expect("legal");
        let config = Config { rows: 4096, ..base }.with_threshold(threshold);
        let arrivals = LoadDistribution::binomial(keys, 4096).expect("legal");
        let balance = single(&arrivals, config.threshold());
        return Scenario { config, balance, keys };
    }
    let threshold = AccessProblem { a: 1.2, r, gamma: levels.gamma }.threshold().expect("legal");
    let config = Config { scheme, d: 3, rows: 3413, block_w: 252, ..base }.with_threshold(threshold);
    let alpha = config.levels().iter().map(|rows| *rows as f64 / 4096.0).collect();
    let scheme = Multilevel { r, alpha, threshold: config.threshold(), budget: None };
    Scenario { config, balance: scheme.balance().expect("legal"), keys }
}

#[test]
fn the_papers_figure_at_24_bits_per_key() {
    for (scheme, rate) in [(Scheme::Single, "1.76e-4"), (Scheme::Multilevel, "5.59e-5")] {
        let scenario = paper(scheme);
        assert_eq!(format!("{:.2e}", scenario.rate()), rate);
        assert_eq!(scenario.config.row_w(), 256);
        for (kind, mix) in [(Keys::Random, 0), (Keys::Sequential(1), MIXED), (Keys::Strided(1), MIXED)] {
            let config = Config { mix, ..scenario.config.clone() };
            let measured = measure(&config, kind, scenario.keys, 250_000, 14);
            let what = format!("{scheme:?} at 24 bits per key, {kind:?}");
            measured.rate.assert(scenario.rate(), 0.1, &what);
            measured.gamma.assert(scenario.balance.gamma(), 0.1, &format!("{what}: overflow"));
        }
    }
}

/// The presets that are named after the paper are what the analysis solves for.
#[test]
fn presets_of_the_paper_have_its_parameters() {
    use membrane::{Core, balanced::CORE};
    for (name, scheme) in [("single-256", Scheme::Single), ("multilevel-256", Scheme::Multilevel)] {
        let preset = CORE.presets().iter().find(|preset| preset.name == name).expect("preset");
        let preset = Config::from_params(&preset.params()).expect("legal");
        let solved = paper(scheme).config;
        assert_eq!(preset, Config { cam_depth: preset.cam_depth, ..solved }, "{name}");
    }
}

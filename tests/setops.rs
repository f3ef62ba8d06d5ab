//! Set operations of partitioned filters, and what theory says of them.

use std::collections::HashSet;

use membrane::{
    Filter,
    analysis::{DoublePartitioned, DoubleStandard, Overlap, Partitioned as Theory},
    hash::SplitMix64,
    partitioned::{Config, Indexing, Partitioned},
};
use proptest::prelude::*;

fn filter_of<'a>(config: &Config, keys: impl IntoIterator<Item = &'a u64>) -> Partitioned {
    let mut filter = Partitioned::new(config).expect("legal");
    for key in keys {
        filter.insert(&[*key]);
    }
    filter
}

/// Any shape, and two sets of keys that may overlap.
fn any_sets() -> impl Strategy<Value = (Config, HashSet<u64>, HashSet<u64>)> {
    let config = (1..=6u32, 1..=3u32, 2..=200u64, 0..=5u32, any::<bool>(), any::<u64>()).prop_map(
        |(banks, hashes, rows, width, double, seed)| Config {
            banks,
            hashes,
            rows,
            width: 1 << width,
            key_w: 16,
            indexing: if double { Indexing::Double } else { Indexing::Independent },
            seed,
            ..Config::default()
        },
    );
    let set = || prop::collection::hash_set(0..1u64 << 16, 0..40);
    (config, set(), set(), set()).prop_map(|(config, left, right, both)| {
        (config, &left | &both, &right | &both) // some keys in common, mostly
    })
}

proptest! {
    #[test]
    fn union_is_the_filter_of_the_union((config, left, right) in any_sets()) {
        let union = filter_of(&config, &left).union(&filter_of(&config, &right)).unwrap();
        let built = filter_of(&config, left.union(&right));
        prop_assert_eq!(union.banks(), built.banks());
    }

    #[test]
    fn intersection_has_every_common_key((config, left, right) in any_sets()) {
        let both = filter_of(&config, &left).intersection(&filter_of(&config, &right)).unwrap();
        let built = filter_of(&config, left.intersection(&right));
        for (bank, least) in both.banks().iter().zip(built.banks()) {
            prop_assert!(bank.words().iter().zip(least.words()).all(|(a, b)| a & b == *b));
        }
        prop_assert!(left.intersection(&right).all(|key| both.contains(&[*key])));
    }

    #[test]
    fn disjoint_is_never_said_of_sets_that_meet((config, left, right) in any_sets()) {
        let (a, b) = (filter_of(&config, &left), filter_of(&config, &right));
        let disjoint = a.is_disjoint(&b).unwrap();
        prop_assert_eq!(disjoint, b.is_disjoint(&a).unwrap());
        prop_assert!(!disjoint || left.is_disjoint(&right));
        prop_assert!(disjoint || !left.is_empty() && !right.is_empty());
    }

    #[test]
    fn first_parts_are_the_filter_built_smaller((config, left, right) in any_sets(), parts in 1..=6u32) {
        let parts = parts.min(config.banks);
        let small = Config { banks: parts, ..config.clone() };
        let mut view = filter_of(&config, &left).first_parts(parts).unwrap();
        prop_assert_eq!(view.config(), &small);
        let built = filter_of(&small, &left);
        prop_assert_eq!(view.banks(), built.banks());
        // It is a filter like any other, and goes on taking keys.
        for key in &right {
            view.insert(&[*key]);
        }
        let built = filter_of(&small, left.union(&right));
        prop_assert_eq!(view.banks(), built.banks());
    }
}

#[test]
fn filters_that_do_not_go_together_are_refused() {
    let config = Config { banks: 3, rows: 64, key_w: 16, seed: 2, ..Config::default() };
    let filter = Partitioned::new(&config).unwrap();
    let other = |config: Config| Partitioned::new(&config).unwrap();
    let seeded = other(Config { seed: 1, ..config.clone() });
    assert_eq!(
        filter.union(&seeded).unwrap_err().to_string(),
        "SEED is 2 in one filter and 1 in the other: build both with the same"
    );
    assert!(filter.intersection(&other(Config { rows: 32, ..config.clone() })).is_err());
    assert!(filter.is_disjoint(&other(Config { banks: 2, ..config.clone() })).is_err());
    // Tags are no part of a filter's content.
    assert!(filter.is_disjoint(&other(Config { tag_w: 3, ..config })).unwrap());
    assert!(filter.first_parts(3).is_ok());
    for parts in [0, 4] {
        assert_eq!(
            filter.first_parts(parts).unwrap_err().to_string(),
            format!("{parts} parts of a filter with BANKS=3: ask for 1 to 3")
        );
    }
}

/// The share of `trials` in which `event` happens, four standard deviations from `theory` at most.
fn assert_share(trials: u32, theory: f64, what: &str, mut event: impl FnMut(&mut SplitMix64) -> bool) {
    let mut rng = SplitMix64::new(11);
    let share = f64::from((0..trials).filter(|_| event(&mut rng)).count() as u32) / f64::from(trials);
    let error = (theory * (1.0 - theory) / f64::from(trials)).sqrt();
    println!("{what}: {share:.5}, theory {theory:.5} +- {error:.5}");
    assert!((share - theory).abs() < 4.0 * error, "{what}: {share} of the trials, theory {theory}");
    assert!(error < 0.1 * theory, "{what}: too few trials for {theory}");
}

/// Keys of as many bits as the hash has, so that uniform keys have independent indices.
const WIDE: u32 = 256;

fn key(rng: &mut SplitMix64) -> [u64; 4] {
    std::array::from_fn(|_| rng.next_u64())
}

#[test]
fn disjoint_sets_overlap_as_often_as_theory_says() {
    let parts = Overlap { keys: [12, 7], part_bits: 64, parts: 4, hashes_per_part: 1 };
    let standard = Overlap { part_bits: 256, parts: 1, hashes_per_part: 4, ..parts };
    for overlap in [parts, standard] {
        let config = Config {
            key_w: WIDE,
            banks: overlap.parts,
            hashes: overlap.hashes_per_part,
            rows: overlap.part_bits,
            ..Config::default()
        };
        let mut filters = [0; 2].map(|_| Partitioned::new(&config).unwrap());
        let theory = overlap.probability().unwrap();
        assert_share(8_000, theory, &format!("{overlap:?}"), |rng| {
            for (filter, keys) in filters.iter_mut().zip(overlap.keys) {
                filter.clear();
                (0..keys).for_each(|_| {
                    filter.insert(&key(rng));
                });
            }
            !filters[0].is_disjoint(&filters[1]).unwrap()
        });
        // All pairs taken as independent: near, and not the same.
        let paper = overlap.paper_probability().unwrap();
        assert!((paper / theory - 1.0).abs() < 0.1 && paper > theory, "{paper} against {theory}");
    }
}

/// By step, over filters that do not hold the key; and with parts for any step.
#[test]
fn double_hashing_has_the_weak_spots_that_theory_says() {
    let standard = DoubleStandard { keys: 11, bits: 128, hashes: 8 };
    let config = Config {
        key_w: WIDE,
        banks: 1,
        hashes: 8,
        rows: 128,
        indexing: Indexing::Double,
        ..Config::default()
    };
    let mut filter = Partitioned::new(&config).unwrap();
    // A key of a given step, by search.
    let with_step = |filter: &Partitioned, step: u32, rng: &mut SplitMix64| loop {
        let key = key(rng);
        let mut indices = [0; 8];
        filter.indices(&key, &mut indices);
        if (indices[1] + 128 - indices[0]) % 128 == step {
            return key;
        }
    };
    for step in [0, 64, 32, 16, 5] {
        let theory = standard.element_rate(step.into()).unwrap();
        let trials = (300.0 / theory) as u32;
        assert_share(trials, theory, &format!("step {step}"), |rng| {
            filter.clear();
            (0..11).for_each(|_| {
                filter.insert(&key(rng));
            });
            filter.contains(&with_step(&filter, step, rng))
        });
    }
    let theory = standard.false_positive_rate().unwrap();
    assert_share(20_000, theory, "average", |rng| {
        filter.clear();
        (0..11).for_each(|_| {
            filter.insert(&key(rng));
        });
        filter.contains(&key(rng))
    });
    let parts = DoublePartitioned { keys: 11, part_bits: 16, parts: 8 };
    let config = Config { banks: 8, hashes: 1, rows: 16, ..config };
    let mut filter = Partitioned::new(&config).unwrap();
    for step in [0u32, 8, 1] {
        let theory = parts.false_positive_rate().unwrap();
        assert_share(5_000, theory, &format!("parts, step {step}"), |rng| {
            filter.clear();
            (0..11).for_each(|_| {
                filter.insert(&key(rng));
            });
            loop {
                let key = key(rng);
                let mut indices = [0; 8];
                filter.indices(&key, &mut indices);
                if (indices[1] + 16 - indices[0]) % 16 == step {
                    return filter.contains(&key);
                }
            }
        });
    }
    // Pairs of keys that share both hash values make it a little worse than k hashes.
    let independent = Theory { keys: 11, part_bits: 16, parts: 8 }.false_positive_rate().unwrap();
    assert!(parts.false_positive_rate().unwrap() > independent);
}

/// Small filters by listing all contents.
#[test]
fn double_hashing_by_enumeration() {
    let (bits, hashes) = (6u64, 3u64);
    let indices = |h1: u64, h2: u64| (0..hashes).fold(0u64, |set, i| set | 1 << ((h1 + i * h2) % bits));
    let part_indices =
        |h1: u64, h2: u64| (0..hashes).fold(0u64, |set, i| set | 1 << (i * bits + (h1 + i * h2) % bits));
    let pairs = || (0..bits).flat_map(|h1| (0..bits).map(move |h2| (h1, h2)));
    let covered = |of: &dyn Fn(u64, u64) -> u64, query: u64| {
        let hits = pairs().flat_map(|a| pairs().map(move |b| (a, b)));
        let hits = hits.filter(|(a, b)| (of(a.0, a.1) | of(b.0, b.1)) & query == query).count();
        hits as f64 / (bits * bits).pow(2) as f64
    };
    let standard = DoubleStandard { keys: 2, bits, hashes: hashes as u32 };
    for step in 0..bits {
        let rate = covered(&indices, indices(1, step));
        assert!((standard.element_rate(step).unwrap() - rate).abs() < 1e-14, "step {step}");
    }
    let average = (0..bits).map(|step| covered(&indices, indices(0, step))).sum::<f64>() / bits as f64;
    assert!((standard.false_positive_rate().unwrap() - average).abs() < 1e-14);
    let shares = standard.distinct_indices().unwrap();
    for (distinct, share) in shares.iter().enumerate() {
        let keys = pairs().filter(|(h1, h2)| indices(*h1, *h2).count_ones() as usize == distinct).count();
        assert!((share - keys as f64 / 36.0).abs() < 1e-14);
    }
    let parts = DoublePartitioned { keys: 2, part_bits: bits, parts: hashes as u32 };
    for (h1, h2) in pairs() {
        let rate = covered(&part_indices, part_indices(h1, h2));
        assert!((parts.false_positive_rate().unwrap() - rate).abs() < 1e-14, "every key has the same");
    }
}

#[test]
fn questions_without_an_answer_are_refused() {
    let overlap = Overlap { keys: [10, 10], part_bits: 64, parts: 2, hashes_per_part: 1 };
    assert!(Overlap { keys: [10, 5_000], ..overlap }.probability().is_err());
    assert!(Overlap { part_bits: 0, ..overlap }.paper_probability().is_err());
    assert_eq!(Overlap { keys: [0, 10], ..overlap }.probability(), Ok(0.0));
    assert_eq!(Overlap { keys: [0, 10], ..overlap }.paper_probability(), Ok(0.0));
    let standard = DoubleStandard { keys: 1, bits: 64, hashes: 4 };
    assert!(DoubleStandard { bits: 5_000, ..standard }.false_positive_rate().is_err());
    assert!(DoubleStandard { hashes: 17, ..standard }.distinct_indices().is_err());
    assert!(standard.element_rate(64).is_err());
    assert!(DoublePartitioned { keys: 1, part_bits: 0, parts: 2 }.false_positive_rate().is_err());
}

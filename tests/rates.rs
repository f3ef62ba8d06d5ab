//! False positive rates against theory, from both sides: a filter that says "hit"
//! to everything has no false negatives either.

use membrane::{
    Filter,
    analysis::{Hybrid, Partitioned as PartitionedRate, Standard},
    hash::SplitMix64,
    partitioned::{Config, Indexing, Partitioned},
};

/// Keys 0, 1, 2, ... as three kinds of people have them.
fn keys(kind: &str, seed: u64) -> Box<dyn FnMut() -> u64> {
    let mut n = 0u64;
    match kind {
        "random" => {
            let mut rng = SplitMix64::new(seed);
            Box::new(move || rng.next_u64())
        }
        "sequential" => Box::new(move || {
            n += 1;
            n
        }),
        _ => Box::new(move || {
            n += 1;
            n << 12
        }),
    }
}

/// Measures over several filters with hashes of their own, because the fill of
/// one filter is itself random, and returns the mean and its standard error.
fn measure(config: &Config, kind: &str, inserts: u64, queries: u64, filters: u64) -> (f64, f64) {
    let rates: Vec<f64> = (0..filters)
        .map(|seed| {
            let config = Config { seed, ..config.clone() };
            let mut filter = Partitioned::new(&config).expect("legal");
            let mut next = keys(kind, seed);
            let members: Vec<u64> = (0..inserts).map(|_| next()).collect();
            for key in &members {
                filter.insert(&[*key]);
            }
            assert!(members.iter().all(|key| filter.contains(&[*key])), "a false negative");
            (0..queries).filter(|_| filter.contains(&[next()])).count() as f64 / queries as f64
        })
        .collect();
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn assert_rate(config: &Config, inserts: u64, theory: f64) {
    // H3 alone is linear, and on keys in a row its seed matters more than chance: more
    // filters, with fewer queries each. Mixed keys need no such care.
    for (kind, mix, queries, filters) in [
        ("random", 0, 20_000, 60),
        ("sequential", 0, 2_000, 2_500),
        ("strided", 0, 2_000, 2_500),
        ("sequential", 5, 20_000, 60),
        ("strided", 5, 20_000, 60),
    ] {
        let config = Config { mix, ..config.clone() };
        let (mean, error) = measure(&config, kind, inserts, queries, filters);
        let off = (mean - theory).abs() / error;
        assert!(off < 4.0, "{kind}: measured {mean:.6} +- {error:.6}, theory {theory:.6}, {config:?}");
        assert!(error < theory / 10.0, "{kind}: the measurement says nothing: {mean} +- {error}");
    }
}

#[test]
fn partitioned_shapes_have_the_rate_of_theory() {
    let base = Config { key_w: 64, ..Config::default() };
    let keys = 700;
    for (rows, width) in [(1024, 1), (1000, 1), (32, 32)] {
        let config = Config { banks: 7, rows, width, ..base.clone() };
        let part_bits = config.bank_bits();
        let theory = PartitionedRate { keys, part_bits, parts: 7 }.false_positive_rate().expect("legal");
        assert_rate(&config, keys, theory);
    }
    let standard = Config { banks: 1, hashes: 4, rows: 4001, ..base.clone() };
    let theory = Standard { keys, bits: 4001, hashes: 4 }.false_positive_rate().expect("legal");
    assert_rate(&standard, keys, theory);
    let hybrid = Config { banks: 3, hashes: 2, rows: 2048, ..base };
    let theory =
        Hybrid { keys, part_bits: 2048, parts: 3, hashes_per_part: 2 }.false_positive_rate().expect("legal");
    assert_rate(&hybrid, keys, theory);
}

/// Double hashing leaves the partitioned shape's rate as it is but for the pairs
/// of keys that agree in both hashes, about n / (m/k)^2: nothing at this size.
#[test]
fn double_hashing_keeps_the_rate_of_the_partitioned_shape() {
    let config = Config { banks: 6, rows: 4096, key_w: 64, indexing: Indexing::Double, ..Config::default() };
    let theory =
        PartitionedRate { keys: 2800, part_bits: 4096, parts: 6 }.false_positive_rate().expect("legal");
    assert_rate(&config, 2800, theory + 2800.0 / 4096f64.powi(2));
}

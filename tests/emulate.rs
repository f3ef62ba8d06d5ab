//! Emulation on traces: every figure against a slow count of its own.
#![cfg(feature = "keys")]

use std::collections::HashSet;

use membrane::{
    Core, Params,
    emulate::{Emulation, Spent, Window},
    hash::SplitMix64,
    registry,
};
use proptest::prelude::*;

fn core(name: &str) -> &'static dyn Core {
    registry::find(name).expect("registered")
}

/// Keys of a small world, so that many come again.
fn trace(len: usize, world: u64, words: usize, seed: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(seed);
    (0..len)
        .flat_map(|_| {
            let key = rng.below(world);
            (0..words as u64).map(move |w| membrane::hash::splitmix64(w, key))
        })
        .collect()
}

/// What the filter says, one key at a time, and what is true.
#[derive(Debug, Default, PartialEq)]
struct Count {
    hits: u64,
    absent: u64,
    false_positives: u64,
    inserts: u64,
    refused: u64,
}

fn meet_slowly(core: &dyn Core, params: &Params, keys: &[u64], words: usize) -> Count {
    let mut filter = core.filter(params).expect("legal");
    let mut members = HashSet::new();
    let mut count = Count::default();
    for key in keys.chunks_exact(words) {
        let (hit, member) = (filter.contains(key), members.contains(key));
        assert!(hit || !member, "a false negative");
        count.hits += u64::from(hit);
        count.absent += u64::from(!member);
        count.false_positives += u64::from(hit && !member);
        if !hit {
            count.inserts += 1;
            if filter.insert(key).status == membrane::Status::Full {
                count.refused += 1;
            } else {
                members.insert(key.to_vec());
            }
        }
    }
    count
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All cores, clocked or not: the clocked model, when it plays along, agrees with every
    /// answer or panics.
    #[test]
    fn counts_are_those_of_one_key_at_a_time(
        which in 0..registry::CORES.len(), preset in any::<prop::sample::Index>(), clocked: bool, seed: u64,
    ) {
        let core = registry::CORES[which];
        let preset = preset.get(core.presets());
        let params = core.check(&preset.params()).expect("legal");
        let words = params.at("KEY_W").div_ceil(64) as usize;
        let mask = u64::MAX >> ((64 - params.at("KEY_W") % 64) % 64);
        let mut keys = trace(1_500, 600, words, seed);
        keys.chunks_exact_mut(words).for_each(|key| key[words - 1] &= mask);

        let mut emulation = Emulation::new(core, &params, clocked).expect("legal");
        // In pieces of any size.
        for piece in keys.chunks(words * 700) {
            emulation.meet(piece).expect("a model");
        }
        emulation.finish().expect("a model");
        let total = emulation.windows().total();
        let expected = meet_slowly(core, &params, &keys, words);
        let seen = Count {
            hits: total.hits,
            absent: total.absent,
            false_positives: total.false_positives,
            inserts: total.inserts,
            refused: total.refused,
        };
        prop_assert_eq!(seen, expected, "{} {}", core.name(), preset.name);
        prop_assert_eq!(total.queries, 1_500);
        prop_assert_eq!(total.false_negatives, 0);
        prop_assert_eq!(total.level, emulation.filter().level());
        if clocked {
            // A cycle per request at least, and all that waited are among them.
            prop_assert!(total.spent.cycles >= total.requests() + total.spent.stalls);
            prop_assert!(total.spent.accesses >= total.requests());
        } else {
            prop_assert_eq!(total.spent, Spent::default());
        }
    }
}

/// Insert and query, in batches, are the same as one by one; the partitioned core never
/// keeps a request waiting, and accesses each of its banks once for it.
#[test]
fn batches_and_cycles_of_the_partitioned_core() {
    let core = core("partitioned");
    let params = core.check(&core.presets()[0].params()).expect("legal");
    let (members, others) = (trace(3_000, u64::MAX, 1, 1), trace(20_000, u64::MAX, 1, 2));
    let mut emulation = Emulation::new(core, &params, true).expect("legal");
    emulation.insert(&members).expect("a model");
    emulation.query(&others).expect("a model");
    emulation.query(&members).expect("a model");
    emulation.finish().expect("a model");

    let mut filter = core.filter(&params).expect("legal");
    for key in &members {
        filter.insert(&[*key]);
    }
    let wrong = others.iter().filter(|key| filter.contains(&[**key])).count() as u64;
    let total = emulation.windows().total();
    assert_eq!((total.false_positives, total.absent), (wrong, 20_000));
    assert!(wrong > 100, "{wrong}");
    assert_eq!(total.hits, wrong + 3_000);
    assert_eq!(emulation.distinct(), 3_000);
    assert_eq!(total.spent.stalls, 0);
    assert_eq!(total.spent.accesses, 7 * 26_000);
    // The rate rises only where there are queries, and the windows add up.
    let windows = emulation.windows().all();
    assert!(windows.len() > 20 && windows.iter().all(|window| window.requests() > 0));
    assert_eq!(windows.iter().map(Window::requests).sum::<u64>(), 26_000);
}

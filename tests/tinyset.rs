//! TinySet's blocks, bit for bit: the paper's worked block, every small block by brute force,
//! random blocks of any size, and the safety of removals.

mod tinyset_reference;

use std::collections::{BTreeMap, HashSet};

use membrane::{
    Filter, Status,
    hash::SplitMix64,
    tinyset::{Config, Layout, TinySet},
};
use proptest::prelude::*;
use tinyset_reference::{Policy, Reference, bits_of, parse, words_of};

fn layout_of(r: &Reference) -> Layout {
    Layout::new(r.chains.len() as u32, r.array as u32, r.f_max as u32, r.c_max as u32, r.removals)
}

fn value_of(bits: &[bool]) -> u64 {
    words_of(bits)[0]
}

/// Figure 7 of the paper as ERRATA prints it.
#[test]
fn the_papers_worked_block() {
    let items = [(6, "00111"), (4, "11000"), (2, "01101"), (2, "10110"), (0, "10011")];
    let expected = words_of(&parse("10101010 | 10111 1001 1011 0110 1100 001"));
    for f_max in [4, 5] {
        let layout = Layout::new(8, 24, f_max, 12, false);
        // Chains in any order, as long as B comes before A.
        for rotation in 0..5 {
            let mut order = items;
            order.rotate_left(rotation);
            if rotation == 3 {
                order.swap(0, 4);
            }
            let mut block = [0; 12];
            for (chain, remainder) in order {
                assert!(layout.insert(&mut block, chain, value_of(&parse(remainder))));
            }
            assert_eq!(block[0], expected[0], "rotation {rotation}: {:032b}", block[0].reverse_bits());
        }
    }
}

/// Every sequence of inserts into small blocks until they are full, each step against the
/// reference, with every query.
#[test]
fn every_small_block_by_inserts() {
    let mut steps = 0u64;
    for (chains, array, f_max) in
        [(2, 4, 2), (2, 6, 2), (3, 7, 2), (2, 8, 3), (1, 9, 3), (2, 9, 1), (3, 5, 4), (2, 12, 3), (1, 16, 4)]
    {
        let empty = Reference::new(chains, array, f_max, array / 2, false);
        let layout = layout_of(&empty);
        let mut seen = HashSet::new();
        let mut todo = vec![empty];
        while let Some(reference) = todo.pop() {
            for chain in 0..chains {
                for remainder in 0..1 << f_max {
                    let bits = bits_of(remainder, f_max);
                    let mut block = words_of(&reference.encode());
                    let hit = layout.contains(&block, chain as u32, remainder);
                    assert_eq!(hit, reference.contains(chain, &bits, Policy::Safe));
                    let mut next = reference.clone();
                    let done = layout.insert(&mut block, chain as u32, remainder);
                    assert_eq!(done, next.insert(chain, &bits));
                    assert_eq!(block, words_of(&next.encode()), "{reference:?} chain {chain} {bits:?}");
                    steps += 1;
                    if done && seen.insert(next.encode()) {
                        todo.push(next);
                    }
                }
            }
        }
    }
    assert!(steps > 100_000, "only {steps} inserts");
}

/// A block and the keys that are in it.
type State = (Reference, BTreeMap<(usize, u64), usize>);

/// Looks through all blocks that inserts and removals of present keys can lead to, at most
/// `limit` of them; returns the first false negative, and how many blocks were seen.
fn search(start: Reference, policy: Policy, limit: usize) -> (Option<String>, usize) {
    let (chains, f_max) = (start.chains.len(), start.f_max);
    let layout = layout_of(&start);
    let mut seen: HashSet<State> = HashSet::new();
    let mut todo: std::collections::VecDeque<(State, String)> =
        [((start, BTreeMap::new()), String::new())].into();
    while let Some(((block, keys), path)) = todo.pop_front() {
        let mut steps = Vec::new();
        for chain in 0..chains {
            steps.extend((0..1u64 << f_max).map(|remainder| (true, chain, remainder)));
        }
        steps.extend(keys.keys().map(|&(chain, remainder)| (false, chain, remainder)));
        for (insert, chain, remainder) in steps {
            let (mut next, mut left) = (block.clone(), keys.clone());
            let bits = bits_of(remainder, f_max);
            let mut fast = words_of(&block.encode());
            let (done, fast_done) = if insert {
                (next.insert(chain, &bits), layout.insert(&mut fast, chain as u32, remainder))
            } else {
                (next.remove(chain, &bits, policy), layout.remove(&mut fast, chain as u32, remainder))
            };
            if policy == Policy::Safe {
                assert_eq!(done, fast_done);
                assert_eq!(fast, words_of(&next.encode()), "{block:?}: insert {insert} {chain} {bits:?}");
            }
            let path = format!("{path} {}{chain}:{bits:?}", if insert { '+' } else { '-' });
            if insert && !done {
                continue;
            }
            if !insert && !done {
                return (Some(format!("{path}: nothing to remove")), seen.len());
            }
            let count = left.entry((chain, remainder)).or_default();
            *count = if insert { *count + 1 } else { *count - 1 };
            if *count == 0 {
                left.remove(&(chain, remainder));
            }
            for &(chain, remainder) in left.keys() {
                let bits = bits_of(remainder, f_max);
                if !next.contains(chain, &bits, policy) {
                    return (Some(format!("{path}: lost {chain}:{bits:?}")), seen.len());
                }
                if policy == Policy::Safe {
                    assert!(layout.contains(&fast, chain as u32, remainder));
                }
            }
            if seen.len() < limit && seen.insert((next.clone(), left.clone())) {
                todo.push_back(((next, left), path));
            }
        }
    }
    let seen = seen.len();
    (None, seen)
}

#[test]
fn removals_are_safe_in_every_small_block() {
    let mut all = 0;
    for (chains, array, f_max, c_max) in [
        (1, 3, 2, 2),
        (1, 4, 2, 2),
        (1, 5, 2, 3),
        (1, 7, 2, 4),
        (2, 5, 2, 2),
        (1, 8, 3, 3),
        (2, 7, 1, 3),
        (1, 6, 3, 2),
        (1, 9, 3, 4),
        (2, 8, 2, 4),
        (1, 12, 3, 5),
    ] {
        let start = Reference::new(chains, array, f_max, c_max, true);
        let (found, seen) = search(start, Policy::Safe, 15_000);
        assert_eq!(found, None, "ARRAY {array} F_MAX {f_max} C_MAX {c_max}");
        all += seen;
    }
    assert!(all > 5_000, "only {all} states");
}

#[test]
fn every_other_policy_has_false_negatives() {
    for policy in [Policy::First, Policy::Last, Policy::Exact] {
        let found = [(3, 2, 2), (8, 3, 4)].into_iter().find_map(|(array, f_max, c_max)| {
            search(Reference::new(1, array, f_max, c_max, true), policy, 20_000).0
        });
        assert!(found.is_some(), "{policy:?} looks safe");
    }
}

/// ERRATA's own counterexamples: one chain, each string a remainder.
#[test]
fn the_known_counterexamples() {
    let lost = |policy, array, add: &[&str], remove: &str, lost: &str| {
        let mut block = Reference::new(1, array, 3, array, true);
        for remainder in add {
            assert!(block.insert(0, &parse(remainder)));
        }
        assert!(block.remove(0, &parse(remove), policy));
        !block.contains(0, &parse(lost), policy)
    };
    let first: (usize, &[&str], _, _) = (8, &["000", "110", "100"], "110", "100");
    let last: (usize, &[&str], _, _) = (3, &["000", "100"], "100", "000");
    let exact: (usize, &[&str], _, _) = (3, &["100", "000"], "000", "100");
    for (unsafe_policy, (array, add, remove, key)) in
        [(Policy::First, first), (Policy::Last, last), (Policy::Exact, exact)]
    {
        assert!(lost(unsafe_policy, array, add, remove, key), "{unsafe_policy:?}");
        assert!(!lost(Policy::Safe, array, add, remove, key));
    }
}

/// Parameters of any block, as (chains, array, `f_max`, `c_max`, removals).
fn any_block() -> impl Strategy<Value = (usize, usize, usize, usize, bool)> {
    (1..=128usize, 2..=512usize, 1..=22usize, any::<bool>(), 0..100usize).prop_map(
        |(chains, array, f_max, removals, cut)| {
            let c_max = (array / 2 * (100 - cut) / 100).max(1);
            (chains, array, f_max, c_max, removals)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_blocks_equal_the_reference(
        (chains, array, f_max, c_max, removals) in any_block(),
        few_chains in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut reference = Reference::new(chains, array, f_max, c_max, removals);
        let layout = layout_of(&reference);
        let mut rng = SplitMix64::new(seed);
        let mut block = [0; 12];
        let mut present = Vec::new();
        for _ in 0..2 * c_max + 20 {
            let chain = rng.below(if few_chains { chains.min(3) } else { chains } as u64) as usize;
            let remainder = rng.next_u64() & ((1 << f_max) - 1);
            if removals && !present.is_empty() && rng.chance(300) {
                let (chain, remainder) = present.swap_remove(rng.below(present.len() as u64) as usize);
                prop_assert!(layout.remove(&mut block, chain as u32, remainder), "a present key was not found");
                prop_assert!(reference.remove(chain, &bits_of(remainder, f_max), Policy::Safe));
            } else {
                let done = layout.insert(&mut block, chain as u32, remainder);
                prop_assert_eq!(done, reference.insert(chain, &bits_of(remainder, f_max)));
                if done {
                    present.push((chain, remainder));
                }
            }
            prop_assert_eq!(block, words_of(&reference.encode()));
            let found = layout.find(&block, chain as u32);
            prop_assert_eq!(found.start as usize, reference.start(chain));
            prop_assert_eq!((found.live as usize, found.slots as usize), (reference.live(), reference.slots));
            let query = rng.next_u64() & ((1 << f_max) - 1);
            prop_assert_eq!(
                layout.contains(&block, chain as u32, query),
                reference.contains(chain, &bits_of(query, f_max), Policy::Safe)
            );
            for &(chain, remainder) in &present {
                prop_assert!(layout.contains(&block, chain as u32, remainder), "false negative");
            }
        }
    }

    #[test]
    fn no_key_is_lost(
        chains in 2..=128u32,
        array in 4..=512u32,
        blocks in 2..=40u64,
        removals in any::<bool>(),
        cam_depth in 0..=9u32,
        seed in any::<u64>(),
    ) {
        let config = Config { blocks, chains, array, removals, cam_depth, key_w: 40, seed, ..Config::default() };
        let mut filter = TinySet::new(&config).expect("legal");
        let mut rng = SplitMix64::new(seed);
        let mut present: Vec<u64> = Vec::new();
        let mut full = 0;
        for _ in 0..blocks * u64::from(array + 64) {
            if removals && !present.is_empty() && rng.chance(120) {
                let key = present.swap_remove(rng.below(present.len() as u64) as usize);
                prop_assert_eq!(filter.remove(&[key]).status, Status::Ok);
            } else {
                let key = rng.next_u64() >> 24;
                match filter.insert(&[key]).status {
                    Status::Ok => present.push(key),
                    Status::Full => full += 1,
                    status => prop_assert!(false, "insert answered {:?}", status),
                }
            }
        }
        prop_assert!(full > 0, "no block was ever full");
        if !removals {
            prop_assert_eq!(filter.level(), u64::from(cam_depth), "the list fills before inserts are refused");
        }
        for key in &present {
            prop_assert!(filter.contains(&[*key]), "false negative");
        }
        if removals {
            for key in &present {
                prop_assert_eq!(filter.remove(&[*key]).status, Status::Ok);
            }
            prop_assert!(!present.iter().any(|key| filter.contains(&[*key])), "an empty filter answers nothing");
        } else {
            prop_assert_eq!(filter.remove(&[1]).status, Status::Unsupported);
        }
    }
}

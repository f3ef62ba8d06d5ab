//! TinySet's blocks, bit for bit: the paper's worked block, every small block by brute force,
//! and random blocks of any size.

mod tinyset_reference;

use std::collections::HashSet;

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

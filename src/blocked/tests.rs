//! Rows of every shape against the definition of the hash, on every level, one key and many.

use std::collections::HashSet;

use super::*;
use crate::{cpu::Cpu, filter::Answer, hash::SplitMix64, sram::Memory};

/// The bits of a key, numbered over the whole memory, from the hash as it is defined.
fn bits(filter: &Blocked, key: u64) -> Vec<u64> {
    let config = filter.config();
    let h = filter.hash().by_definition(&[key]);
    let row = Field::selecting(config.rows, 0);
    let index = |i: u32| {
        let field = Field::selecting(config.part_w().into(), row.end());
        Field { lsb: field.lsb + i * field.width, ..field }.of(&h)
    };
    let row = row.of(&h) * u64::from(config.block_w);
    (0..config.hashes).map(|i| row + u64::from(config.part_lsb(i)) + index(i)).collect()
}

/// Fifteen in sixteen bits of the memory are set, whatever the keys.
fn fill(memory: &mut Memory, rng: &mut SplitMix64) {
    for word in memory.words_mut() {
        *word = (0..4).fold(0, |bits, _| bits | rng.next_u64());
    }
}

fn check(config: &Config) {
    let mut rng = SplitMix64::new(18);
    let keys: Vec<u64> = (0..1000).map(|_| rng.next_u64() >> (64 - config.key_w)).collect();
    let is_set =
        |filter: &Blocked, bit: u64| filter.memory().words()[bit as usize / 64] >> (bit % 64) & 1 == 1;
    for cpu in Cpu::levels() {
        let [mut one, mut many] = [(); 2].map(|()| Blocked::new(config).expect("legal"));
        one.run_on(cpu);
        many.run_on(cpu);
        let mut expected = HashSet::new();
        for key in &keys[..300] {
            let bits = bits(&one, *key);
            let known = bits.iter().all(|bit| expected.contains(bit));
            assert_eq!(one.insert(&[*key]).hit, known && !config.masked, "{cpu:?} {config:?}");
            expected.extend(bits);
        }
        many.insert_all(&keys[..300], &mut vec![Answer::default(); 300]);
        assert_eq!(one.memory(), many.memory(), "{cpu:?} {config:?}");
        let count: u32 = one.memory().words().iter().map(|word| word.count_ones()).sum();
        assert_eq!(count as usize, expected.len(), "{cpu:?} {config:?}");
        assert!(expected.iter().all(|bit| is_set(&one, *bit)), "{cpu:?} {config:?}");

        fill(one.memory_mut(), &mut rng);
        let mut hits = vec![false; keys.len()];
        one.contains_all(&keys, &mut hits);
        let mut seen = [0; 2];
        for (key, hit) in keys.iter().zip(hits) {
            let all = bits(&one, *key).iter().all(|bit| is_set(&one, *bit));
            assert_eq!([one.contains(&[*key]), hit], [all; 2], "{cpu:?} {config:?} {key:#x}");
            seen[usize::from(all)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
    }
}

#[test]
fn rows_of_every_shape_are_as_defined() {
    use InBlock::{Partitioned, Standard};
    for (block_w, hashes, in_block) in [
        (64, 4, Standard),
        (64, 4, Partitioned),
        (128, 5, Standard),
        (256, 8, Partitioned),
        (256, 4, Partitioned),
        (256, 8, Standard),
        (256, 7, Standard),
        (256, 1, Standard),
        (512, 8, Partitioned),
        (512, 7, Standard),
        (512, 3, Standard),
    ] {
        for (rows, key_w, masked) in
            [(64, 64, false), (2, 64, true), (37, 48, false), (300, 64, false), (60_000, 64, false)]
        {
            check(&Config { block_w, rows, hashes, in_block, masked, key_w, ..Config::default() });
        }
    }
}

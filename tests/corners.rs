//! Corners that random parameters and random keys hardly ever meet: each was shown by a fault in
//! a model that no other test noticed (`make mutants-models`).

use membrane::{
    Answer, Filter,
    blocked::{Blocked, Config, InBlock},
    cpu::Cpu,
    hash::SplitMix64,
    registry,
};

fn keys(count: usize, seed: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(seed);
    (0..count).map(|_| rng.next_u64()).collect()
}

/// Rows and indices that share a hash word: as many rows as one range of bits holds, one more, and many; and rows
/// of every width that is a group of whole words.
#[test]
fn blocked_filters_with_many_rows_set_the_bits_of_the_definition() {
    let (parts, whole) = (InBlock::Partitioned, InBlock::Standard);
    let mut shapes =
        vec![(parts, 256, 4096), (parts, 256, 4097), (parts, 256, 1 << 17), (parts, 256, 70_000)];
    shapes.extend([
        (parts, 512, 256),
        (parts, 512, 1 << 16),
        (parts, 512, (1 << 16) + 1),
        (parts, 512, 1 << 17),
    ]);
    let mut shapes: Vec<_> = shapes.into_iter().map(|(parts, w, rows)| (parts, w, rows, 8)).collect();
    // Parts of other sizes, and no parts.
    shapes.extend([128, 256, 512].map(|block_w| (parts, block_w, 1000, 4)));
    shapes.extend([64, 128, 256, 512].map(|block_w| (whole, block_w, 1000, 5)));
    for (in_block, block_w, rows, hashes) in shapes {
        let config = Config { rows, block_w, hashes, in_block, key_w: 64, ..Config::default() };
        for cpu in [Cpu::portable(), Cpu::detect()] {
            let mut filter = Blocked::new(&config).expect("legal");
            filter.run_on(cpu);
            let mut expected = filter.memories()[0].clone();
            let keys = keys(2_000, rows);
            let mut bits = vec![0; hashes as usize];
            for key in keys.chunks(1) {
                filter.bits(key, &mut bits);
                for bit in &bits {
                    expected.set_bit(*bit);
                }
            }
            filter.insert_all(&keys, &mut vec![Answer::default(); keys.len()]);
            let shape = format!("{in_block:?}, BLOCK_W {block_w}, {rows} rows, {cpu:?}");
            assert!(*filter.memories()[0] == expected, "{shape}");
            // Many keys of few rows: some that were not inserted hit as well.
            let others = [&keys[..], &self::keys(20_000, rows + 1)].concat();
            let mut hits = vec![false; others.len()];
            filter.contains_all(&others, &mut hits);
            for (key, hit) in others.chunks(1).zip(&hits) {
                filter.bits(key, &mut bits);
                assert_eq!(*hit, bits.iter().all(|bit| expected.bit(*bit)), "{shape}");
                assert_eq!(*hit, filter.contains(key), "{shape}");
            }
        }
    }
}

/// A block that holds H keys takes no further one if P is 0, whatever the key's coin shows.
#[test]
fn a_chance_of_zero_is_none() {
    let core = registry::find("balanced").expect("registered");
    for name in ["tiny", "sequential-3", "multilevel-3"] {
        let preset = core.presets().iter().find(|preset| preset.name == name).expect("a preset");
        let params = preset.params().with("P", 0).with("ROWS", 8).with("KEY_W", 64).with("ACCESS_BUDGET", 0);
        let mut filter = core.filter(&core.check(&params).expect("legal")).expect("legal");
        let keys = keys(500_000, 1);
        let mut answers = vec![Answer::default(); keys.len()];
        let (first, others) = keys.split_at(5_000);
        filter.insert_all(first, &mut answers[..first.len()]);
        let full: Vec<_> = filter.memories().into_iter().cloned().collect();
        filter.insert_all(others, &mut answers[..others.len()]);
        assert!(filter.memories().into_iter().eq(&full), "{name}");
    }
}

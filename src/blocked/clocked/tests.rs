use super::*;
use crate::{
    blocked::InBlock,
    clocked::{Clocked, Packed},
    roads,
};

/// Rows that share words, are words, or are neither; one row or more; masks, parity and mixing.
#[test]
fn all_roads_lead_to_the_same() {
    let base = Config { block_w: 64, rows: 13, hashes: 6, key_w: 40, ..Config::default() };
    let shapes = [
        base.clone(),
        Config { group: 2, ..base.clone() },
        Config { group: 3, in_block: InBlock::Partitioned, key_w: 100, ..base.clone() },
        Config { block_w: 8, rows: 4, hashes: 2, key_w: 8, tag_w: 4, ..base.clone() },
        Config { block_w: 16, rows: 12, hashes: 4, group: 2, key_w: 16, ..base.clone() },
        Config { block_w: 128, hashes: 20, ..base.clone() },
        Config { block_w: 256, hashes: 17, key_w: 64, ..base.clone() },
        Config { block_w: 256, hashes: 7, in_block: InBlock::Partitioned, rows: 9, ..base.clone() },
        Config { block_w: 512, hashes: 8, mix: 5, key_w: 105, ..base.clone() },
        Config { block_w: 192, hashes: 6, group: 2, mix: 2, ..base.clone() },
        Config { block_w: 100, hashes: 5, ..base.clone() },
        Config { masked: true, ..base.clone() },
        Config { masked: true, group: 2, rows: 5, ..base.clone() },
        Config { masked: true, block_w: 256, rows: 7, ..base.clone() },
        Config { parity: true, rows: 60, mix: 3, ..base.clone() },
        Config { parity: true, block_w: 256, group: 3, ..base.clone() },
        Config { parity: true, block_w: 16, rows: 70, hashes: 4, group: 2, key_w: 16, ..base.clone() },
        Config { hashes: 16, group: 8, rows: 100, ..base.clone() },
        Config { hashes: 64, group: 32, ..base },
    ];
    for (seed, config) in (1..).zip(shapes) {
        let model = ClockedBlocked::new(&config).unwrap();
        roads::all_lead_to_the_same(model, 12_000, seed, true);
    }
}

/// The wrong row is read in any cycle: in the last two of a stretch, nothing is seen of it yet.
#[test]
fn an_error_on_its_way_is_not_lost() {
    let config = Config { block_w: 64, rows: 13, hashes: 6, key_w: 40, parity: true, ..Config::default() };
    let model = ClockedBlocked::new(&config).unwrap();
    let pins = model.filter_pins().clone();
    let row_of = |key: u64| {
        let mut mask = Mask::default();
        mask::find(&model.state.filter, &[key], [&mut mask].into_iter(), &mut [0; MAX_K]);
        mask.row
    };
    let right = (1..100).find(|key| row_of(*key) != row_of(0)).expect("a row");
    for wrong in 0..40 {
        let (mut plain, mut fast) = (model.clone(), Packed::new(model.clone()));
        let inputs = |req_valid| Inputs { req_valid, rsp_ready: true, ..Inputs::default() };
        let mut run = |inputs: Inputs, keys: &[u64], upset: bool| {
            let mut rows = vec![0; keys.len() * pins.map().input_words()];
            for (key, row) in keys.iter().zip(rows.chunks_exact_mut(pins.map().input_words())) {
                pins.write_inputs(&inputs, &[*key], row);
            }
            let mut outputs = vec![0; keys.len()];
            fast.run(&rows, &mut outputs).unwrap();
            for (cycle, (key, output)) in keys.iter().zip(outputs).enumerate() {
                let expected = plain.cycle(&inputs, &[*key], None).unwrap();
                assert_eq!(pins.read_outputs(&[output]), expected, "cycle {cycle}, wrong in {wrong}");
            }
            if upset {
                plain.upset(0, row_of(0), 5);
                fast.upset(plain.memories()[0].path(), row_of(0), 5).unwrap();
            }
        };
        run(inputs(false), &[0; 20], true);
        let mut keys = [right; 64];
        keys[wrong] = 0;
        run(inputs(true), &keys[..32], false);
        run(inputs(true), &keys[32..], false);
        assert!(plain.parity().is_some_and(Parity::error));
    }
}

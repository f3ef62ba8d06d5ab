use super::*;
use crate::{hash::SplitMix64, partitioned::Indexing};

/// All shapes that are treated differently somewhere.
fn shapes() -> Vec<Config> {
    let base = Config { banks: 3, rows: 30, key_w: 12, ..Config::default() };
    let wide = Config { key_w: 104, tag_w: 32, ..base.clone() };
    vec![
        Config { banks: 1, ..base.clone() },
        Config { banks: 7, ..base.clone() },
        Config { banks: 8, width: 32, key_w: 64, ..base.clone() },
        Config { banks: 20, width: 4, ..base.clone() },
        Config { banks: 10, rows: 300, ..wide.clone() },
        Config { banks: 5, rows: 70_000, key_w: 60, ..base.clone() },
        Config { banks: 2, rows: (1 << 24) + 1, ..base.clone() },
        Config { parity: true, ..base.clone() },
        Config { parity: true, rows: 64, key_w: 8, tag_w: 4, ..base.clone() },
        Config { parity: true, rows: 100, ..base.clone() },
        Config { parity: true, hashes: 2, ..base.clone() },
        Config { indexing: Indexing::Double, banks: 8, ..base.clone() },
        Config { indexing: Indexing::Double, rows: 1021, hashes: 5, banks: 1, ..base.clone() },
        Config { hashes: 2, banks: 4, key_w: 48, ..base.clone() },
        Config { hashes: 3, ..base.clone() },
        Config { hashes: 4, banks: 1, ..wide.clone() },
        Config { hashes: 40, banks: 1, ..base.clone() },
        Config { mix: 5, key_w: 64, ..base.clone() },
        Config { mix: 3, key_w: 21, hashes: 2, ..base.clone() },
        Config { mix: 2, ..wide },
    ]
}

/// Rows of a few cycles: nearly always everything at once, or every kind of hindrance.
fn rows(pins: &FilterPins, (calm, sweeps): (bool, bool), cycles: usize, rng: &mut SplitMix64) -> Vec<u64> {
    let words = pins.map().input_words();
    let mut rows = vec![0; words * cycles];
    for row in rows.chunks_exact_mut(words) {
        let clear = sweeps && rng.chance(if calm { 2 } else { 5 });
        let op = if clear { 3 } else { rng.below(if calm { 2 } else { 3 }) };
        let inputs = Inputs {
            rst: sweeps && rng.below(if calm { 4000 } else { 500 }) == 0,
            req_valid: rng.chance(if calm { 999 } else { 700 }),
            op: Op::from_bits(op),
            tag: rng.next_u64(),
            rsp_ready: rng.chance(if calm { 999 } else { 600 }),
        };
        // Few keys, but all bits of them.
        let number = rng.below(64);
        let mut key: Vec<_> =
            (0..pins.key_words()).map(|_| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        *key.last_mut().unwrap() &= pins.key_top();
        pins.write_inputs(&inputs, &key, row);
    }
    rows
}

/// What the stages hold, as far as anything depends on it.
fn stages(model: &ClockedPartitioned) -> impl PartialEq + std::fmt::Debug {
    let slot = |slot: Slot| (slot.op, slot.tag, slot.place);
    // Of the bits that were read only the AND counts, and only for a query.
    let set = |read: Read| read.op == Op::Query && read.set && model.all_set;
    let s3 = model.s3.map(|read| (read.op, read.tag, read.last, set(read)));
    let rsp = (model.rsp_valid, model.rsp, model.rsp_tag);
    (model.s1.map(slot), model.s2.map(slot), model.access, s3, rsp, model.place, model.sweep, model.row)
}

/// Every pin of every cycle, every register and every bit of memory: cycle by cycle as the stages say, and with all that
/// makes it fast, under stalls, gaps, CLEARs, resets and soft errors.
#[test]
fn a_flowing_pipeline_is_a_pipeline() {
    let mut rng = SplitMix64::new(5);
    for config in shapes() {
        let mut plain = ClockedPartitioned::new(&config).unwrap();
        // Those of large banks would be all of the test.
        let sweeps = config.rows < 10_000;
        plain.sweep = sweeps;
        let (mut model, mut single) = (plain.clone(), plain.clone());
        let (pins, mut ahead) = (plain.filter_pins().clone(), Group::default());
        let each = pins.map().input_words();
        let (mut cycle, mut flowing, mut errors) = (0, 0, 0);
        while cycle < 30_000 {
            let calm = cycle / 500 % 3 != 0;
            let cycles = if rng.chance(800) { GROUP } else { 1 + rng.below(GROUP as u64) as usize };
            let rows = rows(&pins, (calm, sweeps), cycles, &mut rng);
            let known = cycles == GROUP && model.look_ahead(&rows, each, &mut ahead);
            let known = known.then_some(&ahead);

            let controls: Vec<_> = rows.chunks_exact(each).map(|row| pins.controls_of(row)).collect();
            flowing += if model.is_full() && pins.all_flow(&controls) { cycles } else { 0 };
            let mut outputs = vec![0; cycles];
            model.cycles(&pins, (&rows, each), known, &mut outputs).unwrap();
            for (i, (row, output)) in rows.chunks_exact(each).zip(outputs).enumerate() {
                let (inputs, key) = pins.borrow_inputs(row);
                let expected = plain.step(&inputs, key, None).unwrap();
                errors += u32::from(expected.parity_error);
                assert_eq!(pins.read_outputs(&[output]), expected, "cycle {}, {config:?}", cycle + i);
                let known = known.map(|ahead| (ahead, i));
                assert_eq!(single.cycle(&inputs, key, known).unwrap(), expected, "{config:?}");
            }
            cycle += cycles;
            assert_eq!(stages(&model), stages(&plain), "after cycle {cycle}, {config:?}");
            if rng.chance(50) {
                let (row, bit) = (rng.below(config.rows) as usize, rng.below(2) as u32);
                let (bank, bit) = (rng.below(config.banks.into()) as usize, bit * u32::from(config.parity));
                for model in [&mut plain, &mut model, &mut single] {
                    model.upset(bank, row, bit);
                }
            }
        }
        for model in [&model, &single] {
            assert_eq!(model.memories(), plain.memories(), "{config:?}");
            assert_eq!(model.port_counts(), plain.port_counts(), "{config:?}");
            let stored = |model: &ClockedPartitioned| {
                let memories = model.memories().into_iter().enumerate();
                model
                    .parity
                    .as_ref()
                    .map(|p| memories.map(|(i, memory)| p.stored(i, memory)).collect::<Vec<_>>())
            };
            assert_eq!(stored(model), stored(&plain), "{config:?}");
        }
        assert!(flowing > 3_000, "{flowing} cycles, {config:?}");
        assert_eq!(errors > 1_000, config.parity, "{errors} errors, {config:?}");
    }
}

/// What is told of coming cycles is what each of their keys would be hashed to.
#[test]
fn ahead_is_what_will_be() {
    let mut rng = SplitMix64::new(6);
    for config in shapes() {
        let model = ClockedPartitioned::new(&config).unwrap();
        let expected = config.hashes <= 8 && config.rows < 1 << 24;
        let each = model.pins.map().input_words();
        let keys: Vec<_> = (0..GROUP * each).map(|_| rng.next_u64()).collect();
        for cpu in crate::cpu::Cpu::levels() {
            let mut model = model.clone();
            crate::Filter::run_on(&mut model.filter, cpu);
            let mut group = Group::default();
            assert_eq!(model.look_ahead(&keys, each, &mut group), expected, "{config:?}");
            for (i, key) in keys.chunks_exact(each).enumerate().filter(|_| expected) {
                let (mut indices, mut told) = ([0; MAX_K], [0; MAX_K]);
                model.filter.all_indices(key, &mut indices);
                group.get(i, &mut told);
                let k = config.k() as usize;
                assert_eq!(told[..k], indices[..k], "{config:?}, {cpu:?}");
            }
        }
    }
}

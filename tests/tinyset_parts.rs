//! The sub-modules of `membrane_tinyset`, each alone against the model.
#![cfg(feature = "cosim")]

use std::collections::HashSet;

use membrane::{
    cosim::find_tools,
    hash::{SplitMix64, extract},
    tinyset::{
        Layout, Shape,
        bits::{self, Words},
    },
};
use verilated::{Builder, Init, Layout as Pins, Library, Source};

/// A combinational module.
struct Part {
    library: Library,
    rows: Vec<u64>,
    expected: Vec<(usize, &'static str, Vec<u64>)>,
}

macro_rules! rtl {
    ($($name:literal),*) => {
        [$(Source::new($name, include_str!(concat!("../rtl/", $name)))),*]
    };
}

impl Part {
    fn new(module: &str, sources: impl IntoIterator<Item = Source>, params: &[(&str, u32)]) -> Self {
        let mut builder = Builder::new(module).sources(sources).combinational();
        for (name, value) in params {
            builder = builder.param(*name, u64::from(*value));
        }
        let library = builder.build(&find_tools().expect("Verilator")).expect("builds");
        Self { library, rows: Vec::new(), expected: Vec::new() }
    }

    /// One set of inputs, and the outputs that it must give.
    fn case(&mut self, inputs: &[(&str, &[u64])], outputs: &[(&'static str, &[u64])]) {
        let layout = self.library.inputs();
        let mut row = vec![0; layout.words()];
        assert_eq!(inputs.len(), layout.pins.len(), "every input is given");
        for (name, value) in inputs {
            Pins::set(&mut row, layout.pin(name).expect("an input"), value);
        }
        let number = self.rows.len() / layout.words();
        self.rows.extend(row);
        for (name, value) in outputs {
            self.expected.push((number, name, value.to_vec()));
        }
    }

    /// Plays all cases; returns how many.
    fn check(self) -> usize {
        let count = self.rows.len() / self.library.inputs().words();
        let words = self.library.outputs().words();
        let mut outputs = vec![0; count * words];
        let mut model = self.library.instantiate(Init::Random(1)).expect("instance");
        model.run(count, &self.rows, &mut outputs).expect("runs");
        for (number, name, expected) in self.expected {
            let pin = self.library.outputs().pin(name).expect("an output");
            let mut got = Pins::get(&outputs[number * words..][..words], pin);
            got.resize(expected.len().max(got.len()), 0);
            let mut expected = expected;
            expected.resize(got.len(), 0);
            assert_eq!(got, expected, "case {number}, {name}");
        }
        count
    }
}

fn random_bits(rng: &mut SplitMix64, width: u32) -> Vec<u64> {
    let sparse = rng.below(3);
    let mut words: Vec<u64> = (0..width.div_ceil(64))
        .map(|_| match sparse {
            0 => rng.next_u64(),
            1 => rng.next_u64() & rng.next_u64() & rng.next_u64(),
            _ => rng.next_u64() | rng.next_u64(),
        })
        .collect();
    *words.last_mut().expect("a word") &= u64::MAX >> ((64 - width % 64) % 64);
    words
}

#[test]
fn rank_counts_chains() {
    let mut rng = SplitMix64::new(1);
    for chains in [2u32, 64, 80] {
        let mut part =
            Part::new("membrane_tinyset_rank", rtl!("membrane_tinyset_rank.v"), &[("CHAINS", chains)]);
        for _ in 0..500 {
            let index = random_bits(&mut rng, chains);
            let chain = rng.below(chains.into()) as u32;
            let set = |i: u32| extract(&index, i, 1);
            part.case(
                &[("index", &index), ("chain", &[chain.into()])],
                &[
                    ("ones", &[(0..chains).map(set).sum()]),
                    ("rank", &[(0..chain).map(set).sum()]),
                    ("present", &[set(chain)]),
                ],
            );
        }
        assert_eq!(part.check(), 500);
    }
}

#[test]
fn select_finds_every_set_bit() {
    let mut rng = SplitMix64::new(2);
    for width in [1u32, 17, 224] {
        let n_w = 8;
        let params = [("WIDTH", width), ("N_W", n_w)];
        let mut part = Part::new("membrane_tinyset_select", rtl!("membrane_tinyset_select.v"), &params);
        for _ in 0..60 {
            let bits = random_bits(&mut rng, width);
            part.case(&[("bits", &bits), ("n", &[0])], &[("after", &[0])]);
            let mut n = 0u64;
            for i in (0..width).filter(|&i| extract(&bits, i, 1) == 1) {
                n += 1;
                if n < 256 {
                    part.case(&[("bits", &bits), ("n", &[n])], &[("after", &[u64::from(i) + 1])]);
                }
            }
        }
        assert!(part.check() > 60);
    }
}

#[test]
fn geometry_is_the_models_for_every_number_of_slots() {
    for (array, f_max, c_max) in [(448, 21, 224), (217, 14, 108), (24, 4, 12), (4, 1, 2), (4, 2, 1)] {
        let params = [("ARRAY", array), ("F_MAX", f_max), ("C_MAX", c_max)];
        let mut part = Part::new("membrane_tinyset_geometry", rtl!("membrane_tinyset_geometry.v"), &params);
        for slots in 0..=c_max {
            let shape = Shape::new(array, f_max, slots);
            part.case(
                &[("slots", &[slots.into()])],
                &[("s", &[shape.s.into()]), ("extended", &[shape.extended.into()])],
            );
        }
        assert_eq!(part.check(), c_max as usize + 1);
    }
}

#[test]
fn match_takes_the_slot_that_the_model_takes() {
    let mut rng = SplitMix64::new(3);
    let mut met = [0; 3];
    for (f_max, parallel, removals) in [(21u32, 8u32, 1u32), (21, 8, 0), (4, 2, 1), (1, 3, 0)] {
        let params = [("F_MAX", f_max), ("PARALLEL", parallel), ("REMOVALS", removals)];
        let mut part = Part::new("membrane_tinyset_match", rtl!("membrane_tinyset_match.v"), &params);
        for _ in 0..3_000 {
            let s = 1 + rng.below(f_max.into()) as u32;
            let extended = if s == f_max { 0 } else { rng.below(u64::from(parallel) + 1) as u32 };
            let used = rng.below(u64::from(parallel) + 1) as u32;
            let shape = Shape { s, extended };
            // Remainders that differ in few bits, so that there are matches.
            let remainder = rng.next_u64() & bits::low(f_max);
            let mut window: Words = [0; 12];
            let (mut best, mut best_is_certain) = (None, false);
            for i in 0..parallel {
                let differ = (rng.next_u64() & rng.next_u64() & rng.next_u64()) & bits::low(f_max);
                let near = if rng.chance(300) { 1 << s } else { differ & rng.next_u64() };
                let stored = (remainder ^ near) & bits::low(shape.width(i));
                bits::put(&mut window, shape.offset(i), shape.width(i), stored);
                let mut same = (stored ^ remainder) & bits::low(s) == 0;
                let extension = stored >> s & 1 == 1;
                let certain = removals == 1 && i < extended && extension;
                if i < extended && (removals == 0 || extension) {
                    same &= (stored ^ remainder) >> s & 1 == 0;
                }
                if i < used && same && (best.is_none() || (certain && !best_is_certain)) {
                    (best, best_is_certain) = (Some(i), certain);
                }
            }
            met[usize::from(best.is_some()) + usize::from(best_is_certain)] += 1;
            // Whatever lies behind the last slot that counts.
            let slot = best.unwrap_or(0);
            part.case(
                &[
                    ("window", &window),
                    ("s", &[s.into()]),
                    ("extended", &[extended.into()]),
                    ("used", &[used.into()]),
                    ("remainder", &[remainder]),
                ],
                &[
                    ("hit", &[best.is_some().into()]),
                    ("certain", &[best_is_certain.into()]),
                    ("slot", &[slot.into()]),
                    ("start", &[shape.offset(slot).into()]),
                    ("length", &[shape.offset(parallel).into()]),
                ],
            );
        }
        part.check();
    }
    assert!(met.iter().all(|count| *count > 500), "{met:?}");
}

/// A block model and the modules that insert into and remove from its array.
struct Bench {
    layout: Layout,
    chains: u32,
    array: u32,
    f_max: u32,
    insert: Part,
    remove: Part,
}

impl Bench {
    fn new(chains: u32, array: u32, f_max: u32, c_max: u32, removals: bool) -> Self {
        let sources =
            rtl!("membrane_tinyset_drops.v", "membrane_tinyset_sums.v", "membrane_tinyset_repack.v");
        let bench = Source::new("tinyset_insert.v", include_str!("rtl/tinyset_insert.v"));
        let insert = Part::new(
            "tinyset_insert",
            sources.into_iter().chain([bench]),
            &[("ARRAY", array), ("F_MAX", f_max)],
        );
        let params = [("ARRAY", array), ("F_MAX", f_max), ("C_MAX", c_max)];
        let remove = Part::new("membrane_tinyset_unpack", rtl!("membrane_tinyset_unpack.v"), &params);
        Self {
            layout: Layout::new(chains, array, f_max, c_max, removals),
            chains,
            array,
            f_max,
            insert,
            remove,
        }
    }

    fn array_of(&self, block: &Words) -> Vec<u64> {
        let mut array = [0; 12];
        bits::copy(block, self.chains, &mut array, 0, self.array);
        array.to_vec()
    }

    /// Inserts into the block, and notes what the modules must do for it.
    fn insert(&mut self, block: &mut Words, chain: u32, remainder: u64) -> bool {
        let old_block = *block;
        let found = self.layout.find(block, chain);
        if !self.layout.insert(block, chain, remainder) {
            return false;
        }
        let slots = self.layout.find(block, chain).slots.max(found.slots);
        let (old, new) = (self.layout.shape(found.slots), self.layout.shape(slots));
        // The dropped bits, slot by slot.
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for i in 0..found.slots {
            let to = if i < found.start { i } else { i + 1 };
            // A freed slot at the end is all zeros: nothing is dropped from it.
            if to < slots && old.width(i) > new.width(to) {
                assert_eq!(old.width(i), new.width(to) + 1);
                let at = found.slots + old.offset(i + 1) - 1;
                if i < old.extended { near.push(at) } else { far.push(at) }
            }
        }
        let near_count = near.len() as u32;
        let far_first = far.first().copied().unwrap_or(0);
        let far_base = u64::from(far_first).wrapping_sub(u64::from(near_count * old.s));
        let freed = slots == found.slots;
        let mut drop: Words = [0; 12];
        for at in near.iter().chain(&far).copied().chain(freed.then(|| found.slots - 1)) {
            bits::put(&mut drop, at, 1, 1);
        }
        let at = slots + new.offset(found.start);
        let (before, after) = (self.array_of(&old_block), self.array_of(block));
        self.insert.case(
            &[
                ("near_count", &[near_count.into()]),
                ("near_first", &[near.first().copied().unwrap_or(0).into()]),
                ("far_count", &[far.len() as u64]),
                ("far_base", &[far_base]),
                ("s", &[old.s.into()]),
                ("freed", &[freed.into()]),
                ("freed_at", &[u64::from(found.slots).wrapping_sub(1)]),
                ("array", &before),
                ("slot", &[found.start.into()]),
                ("last", &[u64::from(found.start == found.end)]),
                ("at", &[at.into()]),
                ("width", &[new.width(found.start).into()]),
                ("remainder", &[remainder & bits::low(self.f_max)]),
            ],
            &[("drop", &drop), ("packed_array", &after)],
        );
        true
    }

    fn remove(&mut self, block: &mut Words, chain: u32, remainder: u64) -> bool {
        let before = self.array_of(block);
        let Some((found, slot)) = self.layout.removed_slot(block, chain, remainder) else { return false };
        assert!(self.layout.remove(block, chain, remainder));
        let shape = self.layout.shape(found.slots);
        let after = self.array_of(block);
        self.remove.case(
            &[
                ("array", &before),
                ("slots", &[found.slots.into()]),
                ("first", &[found.start.into()]),
                ("at", &[(found.slots + shape.offset(slot)).into()]),
                ("width", &[shape.width(slot).into()]),
                ("pad", &[(slot < shape.extended).into()]),
                ("pad_at", &[u64::from(found.slots + shape.offset(shape.extended)).wrapping_sub(1)]),
            ],
            &[("left", &after)],
        );
        true
    }
}

/// Every insert into every small block, and with removals every removal.
#[test]
fn repack_every_small_block() {
    for (chains, array, f_max, c_max, removals, limit) in [
        (2, 9, 3, 4, false, 30_000),
        (2, 4, 1, 2, false, 30_000),
        (1, 16, 4, 5, true, 8_000),
        (2, 12, 3, 4, true, 8_000),
    ] {
        let mut bench = Bench::new(chains, array, f_max, c_max, removals);
        let mut seen = HashSet::new();
        let mut todo = std::collections::VecDeque::from([[0; 12]]);
        while let Some(block) = todo.pop_front() {
            for chain in 0..chains {
                for remainder in 0..1u64 << f_max {
                    for insert in [true, false] {
                        let mut next = block;
                        let done = if insert {
                            bench.insert(&mut next, chain, remainder)
                        } else {
                            removals && bench.remove(&mut next, chain, remainder)
                        };
                        if done && seen.len() < limit && seen.insert(next) {
                            todo.push_back(next);
                        }
                    }
                }
            }
        }
        let (inserts, removes) = (bench.insert.check(), bench.remove.check());
        assert!(inserts > 15 && (removes > 100) == removals, "{inserts} inserts, {removes} removes");
    }
}

/// Blocks of the presets from empty to full, at random; with removals also back.
#[test]
fn repack_the_presets_blocks() {
    let mut rng = SplitMix64::new(4);
    for (chains, array, f_max, removals) in
        [(64, 448, 21, false), (80, 432, 20, false), (64, 440, 20, true), (32, 217, 14, true)]
    {
        let mut bench = Bench::new(chains, array, f_max, array / 2, removals);
        for round in 0..6 {
            let mut block = [0; 12];
            let mut present = Vec::new();
            for _ in 0..array {
                // The first rounds crowd a few chains.
                let chain = rng.below([1, 3, chains.into()][(round as usize).min(2)]) as u32;
                let remainder = rng.next_u64() & bits::low(f_max);
                if removals && rng.chance(350) && !present.is_empty() {
                    let (chain, remainder) = present.swap_remove(rng.below(present.len() as u64) as usize);
                    assert!(bench.remove(&mut block, chain, remainder));
                } else if bench.insert(&mut block, chain, remainder) {
                    present.push((chain, remainder));
                }
            }
        }
        assert!(bench.insert.check() > 600);
        assert_eq!(bench.remove.check() > 300, removals);
    }
}

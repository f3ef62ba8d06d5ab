//! `membrane_block_port`: its model against its RTL in every pin and cycle, and both
//! against executing the operations one after another.
#![cfg(feature = "cosim")]
#![allow(clippy::struct_excessive_bools, reason = "each is a pin")]

use std::collections::VecDeque;

use membrane::{
    block_port::{BlockPort, Kind},
    cosim::find_tools,
    hash::SplitMix64,
    pins::PinMap,
    sram::Memory,
};
use proptest::prelude::*;
use verilated::{Builder, Init, Library, Opt, Source};

const PORT: &str = include_str!("../rtl/membrane_block_port.v");
const USER: &str = include_str!("rtl/block_port_user.v");
const SRAM: &str = include_str!("../rtl/membrane_sram_1p.v");
const KINDS: [Kind; 5] = [Kind::None, Kind::Read, Kind::Modify, Kind::Write, Kind::Clear];
const TAG_W: u32 = 16;

/// Parameters of the test's user of the port.
#[derive(Clone, Copy, Debug)]
struct Shape {
    rows: usize,
    width: u32,
    stages: usize,
    masked: bool,
}

impl Shape {
    fn top(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    fn pins(self) -> PinMap {
        let row_w = membrane::hash::clog2(self.rows as u64);
        PinMap::new(
            [
                ("op_data", self.width),
                ("op_mask", self.width),
                ("op_row", row_w),
                ("op_tag", TAG_W),
                ("op_kind", 3),
                ("op_keep", 1),
                ("op_valid", 1),
                ("advance", 1),
                ("rst", 1),
            ],
            [
                ("rsp_row", self.width),
                ("rsp_tag", TAG_W),
                ("rsp_valid", 1),
                ("op_ready", 1),
                ("sweep", 1),
                ("busy", 1),
                ("mem_en", 1),
                ("mem_we", 1),
            ],
        )
    }

    fn build(self, port: &str) -> Library {
        let pins = self.pins();
        Builder::new("block_port_user")
            .sources([
                Source::new("block_port_user.v", USER),
                Source::new("membrane_block_port.v", port),
                Source::new("membrane_sram_1p.v", SRAM),
            ])
            .memory("membrane_sram_1p", "mem")
            .input_order(pins.inputs().iter().map(|pin| pin.name.clone()))
            .output_order(pins.outputs().iter().map(|pin| pin.name.clone()))
            .optimize(Opt::Quick)
            .param("ROWS", self.rows as u64)
            .param("WIDTH", u64::from(self.width))
            .param("STAGES", self.stages as u64)
            .param("MASKED", u64::from(self.masked))
            .param("TAG_W", u64::from(TAG_W))
            .build(&find_tools().expect("Verilator"))
            .expect("built")
    }
}

/// The pins of one cycle.
#[derive(Clone, Copy, Debug, Default)]
struct In {
    rst: bool,
    advance: bool,
    valid: bool,
    kind: usize,
    row: usize,
    tag: u64,
    keep: bool,
    data: u64,
    mask: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Out {
    ready: bool,
    sweep: bool,
    busy: bool,
    rsp: Option<(u64, u64)>,
    access: bool,
    write: bool,
}

/// The model of `block_port_user`.
struct Model {
    shape: Shape,
    port: BlockPort<Meta>,
    memory: Memory,
}

#[derive(Clone, Copy, Debug, Default)]
struct Meta {
    tag: u64,
    keep: bool,
    old: u64,
    new: u64,
}

impl Model {
    fn new(shape: Shape) -> Self {
        Self {
            shape,
            port: BlockPort::new(shape.rows, shape.stages),
            memory: Memory::new("port.memory.mem", shape.rows, shape.width),
        }
    }

    fn cycle(&mut self, pins: &In) -> Out {
        let last = self.port.last();
        let write_back = last.is_some_and(|op| !op.meta.keep);
        let kind = KINDS[pins.kind];
        let mut out = Out {
            ready: self.port.ready(pins.advance, write_back, kind, pins.row),
            sweep: self.port.sweeping(),
            busy: self.port.busy(),
            rsp: last.map(|op| (op.meta.tag, op.meta.old)),
            ..Out::default()
        };
        if let Some(op) = last.filter(|op| pins.advance && write_back && op.kind == Kind::Modify) {
            self.memory.set_row(op.row, &[op.meta.new]);
        }
        let mut taken = None;
        if pins.valid && out.ready {
            let mut meta = Meta { tag: pins.tag, keep: pins.keep, old: 0, new: 0 };
            let row = if kind.accesses() { self.memory.row(pins.row)[0] } else { 0 };
            if matches!(kind, Kind::Read | Kind::Modify) {
                meta.old = row;
                meta.new = row.wrapping_add(pins.data) & self.shape.top();
            }
            if kind == Kind::Write {
                let mask = if self.shape.masked { pins.mask } else { u64::MAX };
                self.memory.set_row(pins.row, &[row & !mask | pins.data & mask]);
            }
            taken = Some((pins.row, meta));
        }
        let before = self.port.counts();
        let offered = pins.valid.then_some(kind);
        self.port
            .clock(&mut self.memory, pins.advance, write_back, offered, taken)
            .expect("one access a cycle");
        let now = self.port.counts().since(&before);
        (out.access, out.write) = (now.reads + now.writes == 1, now.writes == 1);
        assert!(now.reads + now.writes <= 1);
        if pins.rst {
            self.port.reset();
        }
        out
    }
}

/// What traffic looks like: weights of the kinds, rows used, and per mille.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    kinds: [u64; 5],
    hot_rows: u64,
    valid: u32,
    advance: u32,
    keep: u32,
}

const SATURATING: Traffic =
    Traffic { kinds: [0, 1, 1, 0, 0], hot_rows: u64::MAX, valid: 1000, advance: 1000, keep: 0 };

struct Driver {
    shape: Shape,
    rng: SplitMix64,
    offered: Option<In>,
}

impl Driver {
    fn pins(&mut self, traffic: &Traffic, may_reset: bool) -> In {
        let shape = self.shape;
        let rng = &mut self.rng;
        let mut draw = |kinds: &[u64; 5]| {
            let mut pick = rng.below(kinds.iter().sum());
            let mut kind = 0;
            while pick >= kinds[kind] {
                pick -= kinds[kind];
                kind += 1;
            }
            In {
                kind,
                row: rng.below(traffic.hot_rows.min(shape.rows as u64)) as usize,
                tag: rng.next_u64() & ((1 << TAG_W) - 1),
                keep: rng.chance(traffic.keep),
                data: rng.next_u64() & shape.top(),
                mask: rng.next_u64() & shape.top(),
                ..In::default()
            }
        };
        // CLEAR holds, others change while they wait.
        let mut pins = match self.offered {
            Some(held) if held.kind == Kind::Clear as usize => held,
            _ => draw(&traffic.kinds),
        };
        pins.valid =
            self.offered.is_some_and(|o| o.kind == Kind::Clear as usize) || self.rng.chance(traffic.valid);
        pins.advance = self.rng.chance(traffic.advance);
        pins.rst = may_reset && self.rng.chance(1);
        self.offered = pins.valid.then_some(pins);
        pins
    }

    fn learn(&mut self, pins: &In, out: &Out) {
        if out.ready || pins.rst {
            self.offered = None;
        }
    }
}

/// Executes operations one after another, and knows which answers are due.
struct Sequential {
    shape: Shape,
    rows: Vec<u64>,
    due: VecDeque<(u64, u64)>,
    answered: usize,
}

impl Sequential {
    fn new(shape: Shape) -> Self {
        Self { shape, rows: vec![0; shape.rows], due: VecDeque::new(), answered: 0 }
    }

    fn see(&mut self, pins: &In, out: &Out) {
        if let Some(answer) = out.rsp {
            assert_eq!(Some(answer), self.due.front().copied(), "order, or a stale row");
            if pins.advance {
                self.due.pop_front();
                self.answered += 1;
            }
        }
        if pins.rst {
            // What is in flight is lost, and all rows are cleared before the next.
            self.rows.fill(0);
            self.due.clear();
        } else if pins.valid && out.ready {
            let mut old = 0;
            let row = &mut self.rows[pins.row.min(self.shape.rows - 1)];
            match KINDS[pins.kind] {
                Kind::None => {}
                Kind::Read => old = *row,
                Kind::Modify => {
                    old = *row;
                    if !pins.keep {
                        *row = row.wrapping_add(pins.data) & self.shape.top();
                    }
                }
                Kind::Write => {
                    let mask = if self.shape.masked { pins.mask } else { u64::MAX };
                    *row = *row & !mask | pins.data & mask;
                }
                Kind::Clear => self.rows.fill(0),
            }
            self.due.push_back((pins.tag, old));
        }
    }
}

fn any_shape() -> impl Strategy<Value = Shape> {
    (prop_oneof![2..6usize, 2..40usize], 1..=64u32, 0..8usize, any::<bool>())
        .prop_map(|(rows, width, stages, masked)| Shape { rows, width, stages, masked })
}

fn any_traffic() -> impl Strategy<Value = Traffic> {
    let weights = [0..3u64, 0..20, 1..20, 0..5, 0..2];
    (weights, prop_oneof![1..4u64, Just(u64::MAX)], 100..1200u32, 200..1400u32, 0..500u32).prop_map(
        |(kinds, hot_rows, valid, advance, keep)| Traffic {
            kinds: [kinds[0], kinds[1] * 4, kinds[2] * 4, kinds[3] * 4, kinds[4]],
            hot_rows,
            valid,
            advance,
            keep,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Answers come in order, each with the newest value, and there never are two
    /// accesses in a cycle.
    #[test]
    fn the_model_is_sequential(shape in any_shape(), traffic in any_traffic(), seed in any::<u64>()) {
        let mut model = Model::new(shape);
        let mut source = Driver { shape, rng: SplitMix64::new(seed), offered: None };
        let mut sequential = Sequential::new(shape);
        for _ in 0..3_000 {
            let pins = source.pins(&traffic, true);
            let out = model.cycle(&pins);
            source.learn(&pins, &out);
            sequential.see(&pins, &out);
        }
        prop_assert!(sequential.due.len() <= shape.stages + 1);
        prop_assert!(sequential.answered > 5, "{} answers", sequential.answered);
    }
}

fn pack(pins: &PinMap, values: &In) -> Vec<u64> {
    let mut row = vec![0; pins.input_words()];
    let values = [
        values.data,
        values.mask,
        values.row as u64,
        values.tag,
        values.kind as u64,
        values.keep.into(),
        values.valid.into(),
        values.advance.into(),
        values.rst.into(),
    ];
    pins.inputs().iter().zip(values).for_each(|(pin, value)| pin.put(&mut row, value));
    row
}

fn unpack(pins: &PinMap, row: &[u64]) -> Out {
    let value: Vec<u64> = pins.outputs().iter().map(|pin| pin.get(row)).collect();
    if value[2] == 0 {
        assert_eq!((value[0], value[1]), (0, 0));
    }
    Out {
        rsp: (value[2] != 0).then_some((value[1], value[0])),
        ready: value[3] != 0,
        sweep: value[4] != 0,
        busy: value[5] != 0,
        access: value[6] != 0,
        write: value[7] != 0,
    }
}

/// The first cycle in which model and RTL differ, or where their memories do; and
/// the accesses of the RTL.
fn compare(library: &Library, shape: Shape, seed: u64, cycles: usize) -> (Option<String>, u64) {
    let pins = shape.pins();
    let mut rtl = library.instantiate(Init::Random(seed)).expect("instance");
    let mut row = vec![0; pins.output_words()];
    rtl.run(1, &pack(&pins, &In { rst: true, ..In::default() }), &mut row).expect("reset");
    let mut model = Model::new(shape);
    let mut source = Driver { shape, rng: SplitMix64::new(seed), offered: None };
    let mut sequential = Sequential::new(shape);
    let mut rng = SplitMix64::new(!seed);
    let mut traffic = SATURATING;
    let mut accesses = 0;
    for cycle in 0..cycles {
        if cycle % 200 == 0 && cycle > 0 {
            let pick = |rng: &mut SplitMix64, all: &[u32]| all[rng.below(all.len() as u64) as usize];
            traffic = Traffic {
                kinds: [1, 12, 12, 4, rng.below(2)],
                hot_rows: [1, 2, u64::MAX][rng.below(3) as usize],
                valid: pick(&mut rng, &[1000, 1000, 500, 100]),
                advance: pick(&mut rng, &[1000, 1000, 800, 300]),
                keep: pick(&mut rng, &[0, 300]),
            };
        }
        let input = source.pins(&traffic, true);
        let expected = model.cycle(&input);
        source.learn(&input, &expected);
        sequential.see(&input, &expected);
        rtl.run(1, &pack(&pins, &input), &mut row).expect("clocked");
        let actual = unpack(&pins, &row);
        accesses += u64::from(actual.access);
        if actual != expected {
            return (Some(format!("cycle {cycle}: expected {expected:?}, actual {actual:?}")), accesses);
        }
    }
    assert!(sequential.answered > cycles / 20, "{} answers", sequential.answered);
    let words = rtl.read_memory("block_port_user.port.memory.mem").expect("memory");
    let expected: Vec<u64> = (0..shape.rows).map(|row| model.memory.row(row)[0]).collect();
    ((words != expected).then(|| format!("memory {words:x?}, expected {expected:x?}")), accesses)
}

const SHAPES: [Shape; 5] = [
    Shape { rows: 5, width: 8, stages: 0, masked: false },
    Shape { rows: 8, width: 64, stages: 1, masked: false },
    Shape { rows: 33, width: 13, stages: 2, masked: true },
    Shape { rows: 2, width: 1, stages: 4, masked: true },
    Shape { rows: 16, width: 32, stages: 7, masked: false },
];

#[test]
fn model_and_rtl_agree_in_every_pin_and_cycle() {
    for shape in SHAPES {
        let library = shape.build(PORT);
        for seed in 0..4 {
            let (difference, accesses) = compare(&library, shape, seed, 20_000);
            assert_eq!(difference, None, "{shape:?} seed {seed}");
            assert!(accesses > 2_000, "{shape:?}: {accesses} accesses");
        }
    }
}

/// Utilization of the RTL's port over `cycles` saturating cycles after the sweep.
fn rtl_utilization(library: &Library, shape: Shape, traffic: &Traffic, cycles: u64) -> (f64, f64) {
    let pins = shape.pins();
    let mut rtl = library.instantiate(Init::Random(1)).expect("instance");
    let mut model = Model::new(shape);
    let mut driver = Driver { shape, rng: SplitMix64::new(1), offered: None };
    let mut row = vec![0; pins.output_words()];
    rtl.run(1, &pack(&pins, &In { rst: true, ..In::default() }), &mut row).expect("reset");
    let (mut accesses, mut operations) = (0, 0);
    for cycle in 0..shape.rows as u64 + cycles {
        let input = driver.pins(traffic, false);
        let expected = model.cycle(&input);
        rtl.run(1, &pack(&pins, &input), &mut row).expect("clocked");
        let actual = unpack(&pins, &row);
        assert_eq!(actual, expected, "cycle {cycle}");
        if cycle >= shape.rows as u64 {
            accesses += u64::from(actual.access);
            operations += u64::from(actual.ready && input.valid);
        }
    }
    (accesses as f64 / cycles as f64, operations as f64 / cycles as f64)
}

/// Counted at the memory of the RTL itself.
#[test]
fn the_port_is_busy_in_nearly_every_cycle() {
    let cases = [(0, 4_096, 1.0), (1, 4_096, 0.999), (6, 16_384, 0.998), (6, 4_096, 0.99), (6, 1_024, 0.96)];
    for (stages, rows, least) in cases {
        let shape = Shape { rows, width: 64, stages, masked: false };
        let library = shape.build(PORT);
        let (use_, operations) = rtl_utilization(&library, shape, &SATURATING, 60_000);
        assert!(use_ >= least - 1e-4, "STAGES {stages}, {rows} rows: utilization {use_}");
        // Half of the operations take one access, half two.
        assert!((operations / use_ - 2.0 / 3.0).abs() < 0.01, "{operations} operations per cycle");
        let reads = Traffic { kinds: [0, 1, 0, 0, 0], ..SATURATING };
        assert_eq!(rtl_utilization(&library, shape, &reads, 5_000), (1.0, 1.0));
        // A hammered row: MODIFY at t, the next at t + 2 + STAGES.
        let hammer = Traffic { kinds: [0, 0, 1, 0, 0], hot_rows: 1, ..SATURATING };
        let period = stages as f64 + 2.0;
        let (_, operations) = rtl_utilization(&library, shape, &hammer, 1_000 * (stages as u64 + 2));
        assert!((operations - 1.0 / period).abs() < 1e-3, "STAGES {stages}: {operations} per cycle");
    }
}

/// A broken scheduler must be told from a sound one.
#[test]
fn every_mutation_is_found() {
    let mutations = [
        (
            "hazard of stage 0 dropped",
            "assign hazards[s] = valid[s]",
            "assign hazards[s] = s > 0 && valid[s]",
        ),
        ("hazard checked against bubbles", "valid[s] && modify[s] &&", "modify[s] &&"),
        ("hazard waits for reads, too", "valid[s] && modify[s] &&", "valid[s] &&"),
        ("write-back not first", "(write_back || hazard)", "(hazard)"),
        ("row of the wrong stage", "write_back ? rows[STAGES*ROW_W+:ROW_W]", "write_back ? rows[0+:ROW_W]"),
        ("refused write-back is made", "modify[STAGES] && wb_write", "modify[STAGES] && (wb_write || 1'b1)"),
        ("write-back while frozen", "(advance && write_back)", "write_back"),
        ("moves while frozen", "else if (advance) valid", "else valid"),
        ("CLEAR does not drain", "!cleared && valid == 0", "!cleared"),
        ("the last row is not cleared", "LAST_ROW = ROWS - 1", "LAST_ROW = ROWS - 2"),
        ("CLEAR answers at once the second time", "else if (op_take) cleared <= 1'b0;", ""),
        ("mask ignored", "{WIDTH{1'b1}} : op_wmask", "{WIDTH{1'b1}} : {WIDTH{1'b1}}"),
        ("metadata of the wrong stage", "metas[STAGES*META_W+:META_W]", "metas[0+:META_W]"),
    ];
    let shape = SHAPES[2]; // two stages, masked
    for (what, from, to) in mutations {
        assert_eq!(PORT.matches(from).count(), 1, "{what}: the text has changed");
        let library = shape.build(&PORT.replace(from, to));
        let found = (0..4).any(|seed| compare(&library, shape, seed, 20_000).0.is_some());
        assert!(found, "{what}: not found");
    }
}

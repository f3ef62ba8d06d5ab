//! Single flipped memory bits: lock-step reports them, and with parity the core does.

mod common;

use std::collections::VecDeque;

use membrane::{
    Clocked, Core, Filter, Params,
    clocked::Fault,
    cosim::{Design, Init, Opt, Rtl, RtlLibrary, lockstep},
    filter::{Answer, Op},
    hash::SplitMix64,
    pins::{FilterPins, Inputs, Outputs, PinMap},
    registry,
    sram::Memory,
    stimulus::Stimulus,
};

fn design(core: &dyn Core, params: &Params) -> Design {
    Design::new(core, params, core.clocked(params).expect("legal parameters").pins())
}

fn build(design: &Design) -> RtlLibrary {
    design.build(&common::tools(), Opt::Quick, false).expect("RTL builds")
}

/// More cycles than any sweep of the presets below takes, with what is in flight before it.
const SWEEP: u64 = 4_200;

/// A device that suffers one soft error.
struct Upset {
    device: Rtl,
    pins: FilterPins,
    cycle: u64,
    /// When it happens.
    at: u64,
    path: String,
    row: usize,
    bit: u32,
    /// A sweep, by reset or CLEAR, was still going on or came after it, and wrote all rows again.
    swept: bool,
}

impl Clocked for Upset {
    fn pins(&self) -> &PinMap {
        self.device.pins()
    }

    fn clock(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        if self.cycle == self.at {
            self.device.upset(&self.path, self.row, self.bit)?;
        }
        self.device.clock(inputs, outputs)?;
        let mut key = vec![0; self.pins.key_words()];
        let input = self.pins.read_inputs(inputs, &mut key);
        let clear = input.req_valid && input.op == Op::Clear && self.pins.read_outputs(outputs).req_ready;
        self.swept |= self.cycle + SWEEP >= self.at && (clear || input.rst);
        self.cycle += 1;
        Ok(())
    }

    fn memories(&mut self) -> Result<Vec<Memory>, Fault> {
        self.device.memories()
    }
}

/// A bit of any memory.
fn any_bit(rng: &mut SplitMix64, memories: &[Memory]) -> (String, usize, u32) {
    // As likely in each row, so that the larger of several memories has its share.
    let mut row = rng.below(memories.iter().map(|memory| memory.rows() as u64).sum()) as usize;
    let mut memories = memories.iter();
    let mut memory = memories.next().expect("a memory");
    while row >= memory.rows() {
        row -= memory.rows();
        memory = memories.next().expect("a memory");
    }
    (memory.path().to_owned(), row, rng.below(memory.width().into()) as u32)
}

/// One flipped bit of a core's memories during the run: lock-step reports it within the run,
/// at the pins or in the memories, unless a sweep wrote the row before anybody read it.
#[test]
fn lockstep_reports_soft_errors() {
    const CYCLES: u64 = 20_000;
    let mut rng = SplitMix64::new(1);
    for core in registry::CORES {
        let params = core.check(&core.presets()[0].params()).expect("legal");
        let library = build(&design(*core, &params));
        let mut reported = 0;
        for flip in 0..5 {
            let mut model = core.clocked(&params).expect("legal");
            let (path, row, bit) = any_bit(&mut rng, &model.memories().expect("memories"));
            let mut device = Upset {
                device: library.power_up(Init::Random(flip)).expect("instance"),
                pins: FilterPins::of(model.pins()).expect("filter pins"),
                cycle: 0,
                at: 15_000 + rng.below(4_000),
                path,
                row,
                bit,
                swept: false,
            };
            let mut stimulus = Stimulus::new(*core, &params, 5, CYCLES).expect("stimulus");
            let found = lockstep(&mut stimulus, model.as_mut(), &mut device, CYCLES, &mut |_| {});
            let found = found.expect("lock-step");
            let Upset { path, at, swept, .. } = device;
            assert!(found.is_some() || swept, "{} {path} row {row} bit {bit} in cycle {at}", core.name());
            reported += u32::from(found.is_some());
        }
        assert!(reported >= 2, "{}: {reported} reported, too many sweeps to tell", core.name());
    }
}

/// Model and RTL of a core with parity, and the answers of a filter without soft errors.
struct Pair {
    model: Box<dyn Clocked>,
    rtl: Rtl,
    pins: FilterPins,
    clean: Box<dyn Filter>,
    expected: VecDeque<Answer>,
    cycle: u64,
    /// A response was wrong while `parity_error` was high.
    wrong: bool,
}

impl Pair {
    fn new(core: &dyn Core, params: &Params, library: &RtlLibrary) -> Self {
        let model = core.clocked(params).expect("legal");
        Self {
            pins: FilterPins::of(model.pins()).expect("filter pins"),
            model,
            rtl: library.power_up(Init::Random(7)).expect("instance"),
            clean: core.filter(params).expect("legal"),
            expected: VecDeque::new(),
            cycle: 0,
            wrong: false,
        }
    }

    /// One cycle of both, which must agree in all pins; and no response may be wrong before
    /// `parity_error` says so.
    fn clock(&mut self, inputs: &Inputs, key: u64) -> Result<Outputs, String> {
        let map = self.pins.map();
        let mut row = vec![0; map.input_words()];
        let (mut expected, mut actual) = ([0], [0]);
        self.pins.write_inputs(inputs, &[key], &mut row);
        self.model.clock(&row, &mut expected).expect("model");
        self.rtl.clock(&row, &mut actual).expect("RTL");
        let (model, rtl) = (self.pins.read_outputs(&expected), self.pins.read_outputs(&actual));
        if model != rtl {
            return Err(format!("cycle {}: model {model:?}, RTL {rtl:?}", self.cycle));
        }
        self.cycle += 1;
        if inputs.req_valid && rtl.req_ready {
            self.expected.push_back(self.clean.apply(inputs.op, &[key]));
        }
        if let Some(answer) = self.expected.front().filter(|_| rtl.rsp_valid) {
            if (answer.hit, answer.status as u8) != (rtl.hit, rtl.status) {
                if !rtl.parity_error {
                    return Err(format!("cycle {}: a wrong response without parity_error", self.cycle));
                }
                self.wrong = true;
            }
            if inputs.rsp_ready {
                self.expected.pop_front();
            }
        }
        if inputs.rst {
            self.expected.clear();
            self.clean.clear();
        }
        Ok(rtl)
    }

    /// Takes responses until nothing is in flight.
    fn drain(&mut self) -> Result<Outputs, String> {
        loop {
            let outputs = self.clock(&Inputs { rsp_ready: true, ..Inputs::default() }, 0)?;
            if !outputs.busy {
                return Ok(outputs);
            }
        }
    }

    /// Requests with gaps and stalls.
    fn play(&mut self, rng: &mut SplitMix64, cycles: u64, ops: &[Op]) -> Result<(), String> {
        for _ in 0..cycles {
            let op = ops[rng.below(ops.len() as u64) as usize];
            let (req_valid, rsp_ready) = (rng.chance(800), rng.chance(800));
            let key = rng.below(120);
            self.clock(&Inputs { op, req_valid, rsp_ready, tag: rng.below(16), rst: false }, key)?;
        }
        Ok(())
    }

    fn same_memories(&mut self) -> Result<(), String> {
        let mut both = [self.model.memories(), self.rtl.memories()].map(|all| all.expect("memories"));
        for all in &mut both {
            all.sort_by(|a, b| a.path().cmp(b.path()));
        }
        if both[0] == both[1] { Ok(()) } else { Err("the memories differ".into()) }
    }

    /// A filling, one soft error, and requests until it shows or not: whether `parity_error`
    /// rose, and whether a response was wrong.
    fn round(
        &mut self,
        rng: &mut SplitMix64,
        path: &str,
        row: usize,
        bit: u32,
    ) -> Result<(bool, bool), String> {
        self.wrong = false;
        self.clock(&Inputs { rst: true, ..Inputs::default() }, 0)?;
        self.drain()?;
        self.play(rng, 300, &[Op::Insert, Op::Insert, Op::Query])?;
        if self.drain()?.parity_error {
            return Err("parity_error without a soft error".into());
        }
        self.model.upset(path, row, bit).expect("a bit");
        self.rtl.upset(path, row, bit).expect("a bit");
        self.play(rng, 250, &[Op::Query, Op::Query, Op::Query, Op::Insert, Op::Remove])?;
        let raised = self.drain()?.parity_error;
        self.same_memories()?;
        // CLEAR mends the rows, and leaves the pin to reset.
        self.play(rng, 20, &[Op::Clear])?;
        if self.drain()?.parity_error != raised {
            return Err("CLEAR changed parity_error".into());
        }
        self.same_memories()?;
        Ok((raised, self.wrong))
    }
}

/// The preset of a core that has parity bits.
fn with_parity(core: &dyn Core) -> Params {
    let presets = core.presets().iter().map(|preset| core.check(&preset.params()).expect("legal"));
    presets.into_iter().find(|params| params.at("PARITY") == 1).expect("a preset with parity")
}

/// Bits to upset, each fourth a parity bit, which is the last of a row: of TinySet only those,
/// because on a block that no sequence of requests leaves behind model and RTL need not agree. What
/// checks its rows is what checks those of a blocked filter, `membrane_block_port`.
fn bit_of(
    rng: &mut SplitMix64,
    core: &dyn Core,
    params: &Params,
    memories: &[Memory],
) -> (String, usize, u32) {
    loop {
        let (path, row, mut bit) = any_bit(rng, memories);
        if rng.chance(250) {
            bit = memories.iter().find(|memory| memory.path() == path).expect("the memory").width() - 1;
        }
        let array = core.name() == "tinyset" && u64::from(bit) < params.at("CHAINS") + params.at("ARRAY");
        if !array {
            return (path, row, bit);
        }
    }
}

/// With PARITY a flipped bit raises `parity_error` in the same cycle in model and RTL, before
/// or with the first response that is wrong because of it; it stays until reset.
#[test]
fn parity_turns_soft_errors_into_a_pin() {
    let mut rng = SplitMix64::new(3);
    for core in registry::CORES {
        let params = with_parity(*core);
        let library = build(&design(*core, &params));
        let mut pair = Pair::new(*core, &params, &library);
        let memories = pair.model.memories().expect("memories");
        let (mut raised, mut wrong) = (0, 0);
        for _ in 0..60 {
            let (path, row, bit) = bit_of(&mut rng, *core, &params, &memories);
            let round = pair.round(&mut rng, &path, row, bit);
            let round = round.unwrap_or_else(|e| panic!("{} {path} row {row} bit {bit}: {e}", core.name()));
            raised += u32::from(round.0);
            wrong += u32::from(round.1);
        }
        println!("{}: {raised} of 60 raised parity_error, {wrong} gave wrong responses", core.name());
        // A wrong parity bit changes no response.
        assert_eq!(wrong > 0, core.name() != "tinyset", "{}: {wrong} wrong of 60", core.name());
        assert!(raised > 30, "{}: {raised} raised of 60", core.name());
    }
}

/// The test above fails when the mechanism is broken.
#[test]
fn broken_parity_is_noticed() {
    const PARITY: &str = include_str!("../rtl/membrane_parity.v");
    const PORT: &str = include_str!("../rtl/membrane_block_port.v");
    let core = registry::find("blocked").expect("registered");
    let params = with_parity(core);
    for (file, text, from, to) in [
        ("membrane_parity.v", PARITY, "if (fresh && bad)", "if (fresh && bad && !error && 1'b0)"),
        ("membrane_parity.v", PARITY, "if (fresh && bad)", "if (bad)"),
        ("membrane_parity.v", PARITY, "if (fresh && bad) error <= 1'b1", "error <= fresh && bad"),
        ("membrane_block_port.v", PORT, "{^wdata, wdata}", "{1'b0, wdata}"),
        ("membrane_block_port.v", PORT, "(^stored)", "(^stored[WIDTH-1:0])"),
    ] {
        assert!(text.contains(from), "{from} is not in {file}");
        let library = build(&design(core, &params).with_source(file, &text.replace(from, to)));
        let mut rng = SplitMix64::new(3);
        let mut pair = Pair::new(core, &params, &library);
        let memories = pair.model.memories().expect("memories");
        let noticed = (0..20).any(|_| {
            let (path, row, bit) = any_bit(&mut rng, &memories);
            pair.round(&mut rng, &path, row, bit).is_err()
        });
        assert!(noticed, "nobody noticed {to}");
    }
}

use crate::{
    batch::Places,
    block_port::{BlockPort, Kind},
    clocked::ClockedFilter,
    filter::{Answer, Filter, Op, Status},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, PortCounts},
};

use super::{
    Config, Layout, Place, TinySet,
    bits::Words,
    flow::{Flow, flows},
    group::Group,
    request::{self, Done},
};

/// Register stages between the block read and the block to write back.
pub(super) const STAGES: usize = 7;
/// The stage that searches the chain and asks the overflow list.
pub(super) const SEARCH: usize = 5;
/// For a request in each of s1, s2 and the eight stages, and some to spare.
pub(super) const PLACES: usize = 16;
/// The number of no place.
pub(super) const NONE: usize = 0xff;

/// The clocked model of `membrane_tinyset`: its pipeline, stage by stage.
///
/// | stage | does |
/// |---|---|
/// | s1 | holds the hash, reduces fields |
/// | s2 | holds block, chain and remainder; waits for the memory's port |
/// | b0 | block read; rank in the index |
/// | b1 | select in the last bits |
/// | b2 | geometry, by table |
/// | b3 | positions |
/// | b4 | chain moved to bit 0; dropped bits marked |
/// | b5 | compared, `PARALLEL` slots a cycle; overflow list; distances |
/// | b6 | new block |
/// | b7 | written back |
/// | rsp | response waits for `rsp_ready` |
///
/// From b0 on all stages move together, or none does.
#[derive(Clone, Debug)]
pub struct ClockedTinySet {
    pins: FilterPins,
    registers: Registers,
    state: State,
}

/// All that moves at an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    pub port: BlockPort<()>,
    pub next: usize,
    pub s1: usize,
    pub s2: usize,
    /// b0 to b7, a byte each, b0 lowest.
    pub stages: u64,
    pub rsp_valid: bool,
    pub rsp: Answer,
    pub rsp_tag: u64,
}

/// The memory, and all that stays where it is until its request is done.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub filter: TinySet,
    pub parity: Option<Parity>,
    /// Requests stay in a place of their own; only its number moves.
    pub slots: Box<[Slot; PLACES]>,
    /// By operation.
    kinds: [Kind; 4],
    /// Their keys; only with an overflow list.
    keys: Vec<u64>,
}

/// A request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub op: Op,
    pub kind: Kind,
    pub tag: u64,
    pub place: Place,
    /// The block to write, if any.
    pub block: Words,
    /// What it does in its block, told when that is read; from b6 on, what the list says too.
    pub done: Done,
    /// Cycles that b5 stops the pipeline for.
    pub windows: u32,
}

impl ClockedTinySet {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = TinySet::new(config)?;
        let remove = if config.removals { Kind::Modify } else { Kind::None };
        Ok(Self {
            pins: FilterPins::new(config.key_w, config.tag_w, config.level_w()),
            registers: Registers {
                port: BlockPort::new(config.blocks as usize, STAGES),
                next: 0,
                s1: NONE,
                s2: NONE,
                stages: u64::MAX,
                rsp_valid: false,
                rsp: Answer::default(),
                rsp_tag: 0,
            },
            state: State {
                parity: config.parity.then(|| Parity::new([filter.memory()])),
                filter,
                slots: Box::new([Slot::default(); PLACES]),
                kinds: [Kind::Read, Kind::Modify, remove, Kind::Clear],
                keys: vec![
                    0;
                    if config.cam_depth > 0 { PLACES * config.key_w.div_ceil(64) as usize } else { 0 }
                ],
            },
        })
    }
}

impl State {
    /// The key of the request in a place: none without an overflow list.
    #[inline(always)]
    fn key(&self, place: usize) -> std::ops::Range<usize> {
        let words = self.keys.len() / PLACES;
        place * words..(place + 1) * words
    }

    /// Whether there is an overflow list.
    #[inline(always)]
    pub fn has_list(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Takes a request.
    #[inline(always)]
    pub fn accept(
        &mut self,
        place: usize,
        &Inputs { op, tag, .. }: &Inputs,
        key: &[u64],
        ahead: Option<(&Group, usize)>,
    ) {
        if self.has_list() {
            let kept = self.key(place);
            self.keys[kept].copy_from_slice(key);
        }
        let kind = self.kinds[op as usize];
        let slot = &mut self.slots[place % PLACES];
        slot.place = ahead.map_or_else(|| self.filter.place(key), |(group, i)| group.get(i));
        (slot.op, slot.kind, slot.tag) = (op, kind, tag);
        let status = if kind == Kind::None { Status::Unsupported } else { Status::Ok };
        slot.done = Done { answer: Answer { hit: false, status }, ..Done::default() };
        slot.windows = 0;
    }

    /// The request goes: its block is read, which `in_block` tells what it does in.
    #[inline(always)]
    pub fn start(&mut self, place: usize, in_block: impl FnOnce(&Layout, Op, Place, &mut Words) -> Done) {
        let slot = &mut self.slots[place % PLACES];
        if slot.kind.accesses() {
            self.filter.load_into(slot.place.block, &mut slot.block);
            slot.done = in_block(self.filter.layout(), slot.op, slot.place, &mut slot.block);
            let (length, parallel) = (slot.done.length, self.filter.config().parallel);
            // Most chains are short, and a division is not. Which operation comes is as good as random.
            let windows = if length <= parallel { 0 } else { (length - 1) / parallel };
            slot.windows = if slot.op == Op::Insert { 0 } else { windows };
        }
    }

    /// What happens at the edge at which the request leaves b5.
    #[inline(always)]
    pub fn search(&mut self, place: usize) {
        if !self.has_list() {
            return;
        }
        let key = self.key(place);
        if let Some(slot) = self.slots.get_mut(place) {
            let removals = self.filter.layout().removals();
            slot.done =
                request::in_list(self.filter.list_mut(), removals, slot.op, &self.keys[key], slot.done);
        }
    }
}

impl Registers {
    /// The place of what is in a stage.
    #[inline(always)]
    pub fn stage(&self, stage: usize) -> usize {
        usize::from(self.stages.to_le_bytes()[stage])
    }

    #[inline(always)]
    fn reset(&mut self, state: &mut State) {
        self.port.reset();
        state.filter.list_mut().clear();
        if let Some(parity) = &mut state.parity {
            parity.reset();
        }
        [self.s1, self.s2] = [NONE; 2];
        self.stages = u64::MAX;
        self.rsp_valid = false;
        self.rsp = Answer::default();
        self.rsp_tag = 0;
    }

    /// One cycle. Part of its caller, so that these stay in registers of the processor.
    #[inline(always)]
    fn step(
        &mut self,
        state: &mut State,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Group, usize)>,
    ) -> Result<Outputs, Conflict> {
        let (search, last) = (self.stage(SEARCH), self.stage(STAGES));
        let rsp_free = !self.rsp_valid || inputs.rsp_ready;
        let more = state.slots.get(search).is_some_and(|slot| slot.windows > 0);
        let advance = rsp_free && !more;
        let write_back = state.slots.get(last).is_some_and(|slot| slot.done.write);
        let (mut offered, mut taken) = (None, None);
        if let Some(slot) = state.slots.get(self.s2) {
            let row = slot.place.block;
            offered = Some(slot.kind);
            taken = self.port.ready(advance, write_back, slot.kind, row).then_some((row, ()));
        }
        let s2_free = self.s2 == NONE || taken.is_some();
        let s1_free = self.s1 == NONE || s2_free;
        let outputs = Outputs {
            req_ready: !self.port.sweeping() && s1_free,
            rsp_valid: self.rsp_valid,
            hit: self.rsp.hit,
            status: self.rsp.status as u8,
            tag: self.rsp_tag,
            busy: self.port.busy() || self.s1 != NONE || self.s2 != NONE || self.rsp_valid,
            level: state.filter.level(),
            parity_error: state.parity.as_ref().is_some_and(Parity::error),
        };

        // Memory is accessed in this cycle even when `rst` is high, as in the RTL.
        let mut entering = NONE;
        if taken.is_some() {
            entering = self.s2;
            let cpu = state.filter.cpu();
            state
                .start(entering, |layout, op, place, block| request::in_words(cpu, layout, op, place, block));
        }
        if let Some(slot) = state.slots.get(last).filter(|slot| advance && slot.done.write) {
            state.filter.store(slot.place.block, &slot.block);
        }
        let memory = state.filter.memory_mut();
        let access = self.port.clock(memory, advance, write_back, offered, taken)?;
        if let Some(parity) = &mut state.parity {
            parity.clock_with(memory, access);
        }
        if inputs.rst {
            self.reset(state);
            return Ok(outputs);
        }
        if rsp_free {
            self.rsp_valid = false;
            if let Some(slot) = state.slots.get(last).filter(|_| advance) {
                self.rsp_valid = true;
                self.rsp = slot.done.answer;
                self.rsp_tag = slot.tag;
            }
        }
        if advance {
            state.search(search);
            self.stages = self.stages << 8 | entering as u64;
        } else if let Some(slot) = state.slots.get_mut(search).filter(|_| more) {
            slot.windows -= 1;
        }
        if s2_free {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = NONE;
            if inputs.req_valid && outputs.req_ready {
                self.s1 = self.next;
                self.next = (self.next + 1) % PLACES;
                state.accept(self.s1, inputs, key, ahead);
            }
        }
        Ok(outputs)
    }
}

impl ClockedFilter for ClockedTinySet {
    type Ahead = Group;

    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    fn look_ahead(&self, keys: &[u64], each: usize, ahead: &mut Group) -> bool {
        self.state.filter.look_ahead(keys, each, ahead);
        true
    }

    #[inline]
    fn cycle(
        &mut self,
        inputs: &Inputs,
        key: &[u64],
        ahead: Option<(&Group, usize)>,
    ) -> Result<Outputs, Conflict> {
        self.registers.step(&mut self.state, inputs, key, ahead)
    }

    fn cycles(
        &mut self,
        pins: &FilterPins,
        (rows, each): (&[u64], usize),
        ahead: Option<&Group>,
        outputs: &mut [u64],
    ) -> Result<(), Conflict> {
        let Self { registers, state, .. } = self;
        let mut at = 0;
        while at < outputs.len() {
            if let Some(ahead) = ahead.filter(|_| flows(registers, state)) {
                let cpu = state.filter.cpu();
                let played = cpu.run(Flow { registers, state, pins, rows: (rows, each), ahead, at, outputs });
                at += played;
                if played > 0 {
                    continue;
                }
            }
            let (inputs, key) = pins.borrow_inputs(&rows[at * each..][..each]);
            let known = ahead.map(|ahead| (ahead, at));
            outputs[at] = pins.pack_outputs(&registers.step(state, &inputs, key, known)?);
            at += 1;
        }
        Ok(())
    }

    fn memories(&self) -> Vec<&Memory> {
        vec![self.state.filter.memory()]
    }

    fn parity(&self) -> Option<&Parity> {
        self.state.parity.as_ref()
    }

    fn upset(&mut self, _: usize, row: usize, bit: u32) {
        let State { filter, parity, .. } = &mut self.state;
        match parity.as_mut().filter(|_| bit == filter.memory().width()) {
            Some(parity) => parity.upset(0, row),
            None => filter.memory_mut().flip(row, bit),
        }
    }

    fn port_counts(&self) -> Vec<PortCounts> {
        vec![self.registers.port.counts()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cpu::Cpu, registry::Core, roads};

    fn presets() -> impl Iterator<Item = Config> {
        super::super::CORE.presets().iter().map(|preset| Config::from_params(&preset.params()).unwrap())
    }

    /// All presets, on few blocks, on more than a byte tells apart, and in words of any number.
    #[test]
    fn all_roads_lead_to_the_same() {
        let few = presets().map(|config| Config { blocks: config.blocks.min(24), ..config });
        let more = presets().skip(5).map(|config| Config { blocks: 300, ..config });
        let wide =
            Config { blocks: 20, chains: 100, array: 500, key_w: 70, cam_depth: 3, ..Config::default() };
        let wide = [Config { parity: true, ..wide.clone() }, Config { removals: true, parallel: 2, ..wide }];
        for (seed, config) in (1..).zip(few.chain(more).chain(wide)) {
            let model = ClockedTinySet::new(&config).unwrap();
            roads::all_lead_to_the_same(model, 12_000, seed, false);
        }
    }

    #[test]
    fn all_roads_lead_to_the_same_on_any_processor() {
        for (seed, config) in (1..).zip(presets().skip(5)) {
            for cpu in Cpu::levels() {
                let mut model = ClockedTinySet::new(&config).unwrap();
                model.state.filter.run_on(cpu);
                roads::all_lead_to_the_same(model, 4_000, seed, false);
            }
        }
    }

    /// A parity bit that is wrong; what it speaks for is not, or a block might be none.
    #[test]
    fn all_roads_lead_to_the_same_wrong_rows() {
        let config = Config { parallel: 2, ..presets().find(|config| config.parity).unwrap() };
        for seed in 0..200 {
            let mut model = ClockedTinySet::new(&config).unwrap();
            for _ in 0..config.blocks {
                model.cycle(&Inputs::default(), &[0], None).unwrap();
            }
            let (row, parity_bit) = ((seed % config.blocks) as usize, config.layout().block_w());
            model.upset(0, row, parity_bit);
            roads::all_lead_to_the_same(model, 1_000, seed, false);
        }
    }
}

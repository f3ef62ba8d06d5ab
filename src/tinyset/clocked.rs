use crate::{
    block_port::{BlockPort, Kind},
    clocked::ClockedFilter,
    filter::{Answer, Filter, Op},
    params::ConfigError,
    parity::Parity,
    pins::{FilterPins, Inputs, Outputs},
    sram::{Conflict, Memory, PortCounts},
};

use super::{Config, TinySet, bits::Words, functional::Place};

/// Register stages between the block read and the block to write back.
const STAGES: usize = 7;
/// The stage that searches the chain and asks the overflow list.
const SEARCH: usize = 5;
/// Of a key: the rules allow no more.
const KEY_WORDS: usize = 16;

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
    filter: TinySet,
    pins: FilterPins,
    port: BlockPort<()>,
    s1: Option<Request>,
    s2: Option<Request>,
    /// b0 to b7 as a ring: stage n is at `(first + n) % 8`.
    stages: Vec<Option<Slot>>,
    first: usize,
    rsp_valid: bool,
    rsp: Answer,
    rsp_tag: u64,
}

/// A request in s1 or s2.
#[derive(Clone, Copy, Debug)]
struct Request {
    op: Op,
    tag: u64,
    place: Place,
    /// Only with an overflow list.
    key: [u64; KEY_WORDS],
}

/// A request in b0 to b7.
#[derive(Clone, Copy, Debug)]
struct Slot {
    request: Request,
    /// The block as read; from b6 on, the one to write.
    block: Words,
    write: bool,
    /// Cycles that b5 stops the pipeline for.
    windows: u32,
    answer: Answer,
}

impl ClockedTinySet {
    /// The core just after a reset edge.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let filter = TinySet::new(config)?;
        let port = BlockPort::new(config.blocks as usize, STAGES);
        Ok(Self {
            port: if config.parity { port.with_parity(filter.memory()) } else { port },
            filter,
            pins: FilterPins::new(config.key_w, config.tag_w, config.level_w()),
            s1: None,
            s2: None,
            stages: vec![None; STAGES + 1],
            first: 0,
            rsp_valid: false,
            rsp: Answer::default(),
            rsp_tag: 0,
        })
    }

    #[inline]
    fn place_of(&self, stage: usize) -> usize {
        (self.first + stage) % (STAGES + 1)
    }

    fn kind(&self, op: Op) -> Kind {
        match op {
            Op::Query => Kind::Read,
            Op::Insert => Kind::Modify,
            Op::Remove if self.filter.config().removals => Kind::Modify,
            Op::Remove => Kind::None,
            Op::Clear => Kind::Clear,
        }
    }

    /// The request goes: its block is read.
    #[inline]
    fn start(&self, request: Request) -> Slot {
        let kind = self.kind(request.op);
        let mut slot = Slot { request, block: [0; 12], write: false, windows: 0, answer: Answer::default() };
        if kind.accesses() {
            slot.block = self.filter.load(request.place.block);
            if request.op != Op::Insert {
                let chain = self.filter.layout().find(&slot.block, request.place.chain);
                let length = chain.end - chain.start;
                slot.windows = length.div_ceil(self.filter.config().parallel).saturating_sub(1);
            }
        }
        slot
    }

    /// What happens at the edge at which the request leaves b5.
    #[inline]
    fn search(&mut self, place: usize) {
        let Some(mut slot) = self.stages[place] else { return };
        let Request { op, place: at, key, .. } = slot.request;
        if op == Op::Clear {
            self.filter.list_mut().clear();
        } else {
            (slot.answer, slot.write) = self.filter.execute_on(op, &key, at, &mut slot.block);
        }
        self.stages[place] = Some(slot);
    }

    fn reset(&mut self) {
        self.port.reset();
        self.filter.list_mut().clear();
        self.s1 = None;
        self.s2 = None;
        self.stages.fill(None);
        self.rsp_valid = false;
        self.rsp = Answer::default();
        self.rsp_tag = 0;
    }
}

impl ClockedFilter for ClockedTinySet {
    fn filter_pins(&self) -> &FilterPins {
        &self.pins
    }

    #[inline]
    fn cycle(&mut self, inputs: &Inputs, key: &[u64]) -> Result<Outputs, Conflict> {
        let (search, last) = (self.place_of(SEARCH), self.place_of(STAGES));
        let rsp_free = !self.rsp_valid || inputs.rsp_ready;
        let more = self.stages[search].as_ref().is_some_and(|slot| slot.windows > 0);
        let advance = rsp_free && !more;
        let write_back = self.stages[last].as_ref().is_some_and(|slot| slot.write);
        let offered = self.s2.map(|request| self.kind(request.op));
        let goes = self.s2.filter(|request| {
            self.port.ready(advance, write_back, self.kind(request.op), request.place.block)
        });
        let s2_free = self.s2.is_none() || goes.is_some();
        let s1_free = self.s1.is_none() || s2_free;
        let outputs = Outputs {
            req_ready: !self.port.sweeping() && s1_free,
            rsp_valid: self.rsp_valid,
            hit: self.rsp.hit,
            status: self.rsp.status as u8,
            tag: self.rsp_tag,
            busy: self.port.busy() || self.s1.is_some() || self.s2.is_some() || self.rsp_valid,
            level: self.filter.level(),
            parity_error: self.port.parity_error(),
        };

        // Memory is accessed in this cycle even when `rst` is high, as in the RTL.
        let entering = goes.map(|request| self.start(request));
        let left = if advance { self.stages[last].take() } else { None };
        if let Some(slot) = left.as_ref().filter(|slot| slot.write) {
            self.filter.store(slot.request.place.block, &slot.block);
        }
        let taken = goes.map(|request| (request.place.block, ()));
        self.port.clock(self.filter.memory_mut(), advance, write_back, offered, taken)?;
        if inputs.rst {
            self.reset();
            return Ok(outputs);
        }
        if rsp_free {
            self.rsp_valid = left.is_some();
            if let Some(slot) = left {
                self.rsp = slot.answer;
                self.rsp_tag = slot.request.tag;
            }
        }
        if advance {
            self.search(search);
            // The ring turns: what was stage n is stage n + 1, and the last place is free.
            self.stages[last] = entering;
            self.first = last;
        } else if more && let Some(slot) = &mut self.stages[search] {
            slot.windows -= 1;
        }
        if s2_free {
            self.s2 = self.s1;
        }
        if s1_free {
            self.s1 = None;
            if inputs.req_valid && outputs.req_ready {
                let mut kept = [0; KEY_WORDS];
                if self.filter.config().cam_depth > 0 {
                    kept[..key.len()].copy_from_slice(key);
                }
                self.s1 = Some(Request {
                    op: inputs.op,
                    tag: inputs.tag,
                    place: self.filter.place(key),
                    key: kept,
                });
            }
        }
        Ok(outputs)
    }

    fn memories(&self) -> Vec<&Memory> {
        vec![self.filter.memory()]
    }

    fn parity(&self) -> Option<&Parity> {
        self.port.parity()
    }

    fn upset(&mut self, _: usize, row: usize, bit: u32) {
        match self.port.parity_mut().filter(|_| bit == self.filter.memory().width()) {
            Some(parity) => parity.upset(0, row),
            None => self.filter.memory_mut().flip(row, bit),
        }
    }

    fn port_counts(&self) -> Vec<PortCounts> {
        vec![self.port.counts()]
    }
}

//! Functional coverage: which operation met which state.
//!
//! The requests of a run are executed one after another by the functional model, which gives
//! the state that each of them met: this is what the core answers by, whatever its pipeline
//! does. The pins give how the request came in.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use membrane::{
    filter::{Op, Status},
    pins::FilterPins,
    vectors::Case,
};

use crate::sets::Set;

/// How a request came in.
const STALLS: [&str; 4] = ["idle", "flowing", "waited", "stalled"];
/// What its home row held: nothing, something, or more than it takes.
const BLOCKS: [&str; 3] = ["empty", "used", "refusing"];
/// The overflow list; `none` where a core has none.
const LISTS: [&str; 4] = ["none", "empty", "filling", "full"];

/// Requests by operation, stall, block and list.
#[derive(Clone, Debug, Default)]
pub struct Crossings(BTreeMap<(u8, usize, usize, usize), u64>);

impl Crossings {
    /// Counts the requests of a recorded run.
    pub fn add(&mut self, set: &Set, case: &Case) -> Result<()> {
        let pins = FilterPins::of(&case.pins).context("pins of a filter core")?;
        let mut filter = set.core.filter(&set.params)?;
        let (hash, home) = set.core.home(&set.params)?;
        let entries = set.params.get("CAM_DEPTH").unwrap_or(0);
        let mut key = vec![0; pins.key_words()];
        let mut h = vec![0; hash.words()];
        let (mut used, mut refusing) = (BTreeSet::new(), BTreeSet::new());
        let mut waited = false;
        let inputs = case.stimulus.chunks_exact(case.pins.input_words());
        let outputs = case.expected.chunks_exact(case.pins.output_words());
        for (input, output) in inputs.zip(outputs) {
            let (request, response) = (pins.read_inputs(input, &mut key), pins.read_outputs(output));
            if request.rst {
                filter.clear();
                (used, refusing) = <_>::default();
                waited = false;
                continue;
            }
            let taken = request.req_valid && response.req_ready;
            if taken {
                hash.hash_into(&key, &mut h);
                let row = home.of(&h);
                let stall = match () {
                    () if response.rsp_valid && !request.rsp_ready => 3,
                    () if waited => 2,
                    () if response.busy => 1,
                    () => 0,
                };
                let block = if refusing.contains(&row) { 2 } else { usize::from(used.contains(&row)) };
                let before = filter.level();
                let list = match before {
                    _ if entries == 0 => 0,
                    0 => 1,
                    level if level < entries => 2,
                    _ => 3,
                };
                *self.0.entry((request.op as u8, stall, block, list)).or_default() += 1;
                let answer = filter.apply(request.op, &key);
                match request.op {
                    Op::Insert if answer.status == Status::Full || filter.level() > before => {
                        refusing.insert(row);
                    }
                    Op::Insert => {
                        used.insert(row);
                    }
                    Op::Remove => {
                        refusing.remove(&row);
                    }
                    Op::Clear => (used, refusing) = <_>::default(),
                    Op::Query => {}
                }
            }
            waited = request.req_valid && !taken;
        }
        Ok(())
    }

    /// Requests of one crossing.
    pub fn count(&self, op: Op, stall: usize, block: usize, list: usize) -> u64 {
        self.0.get(&(op as u8, stall, block, list)).copied().unwrap_or(0)
    }

    /// The head of the table: block and list states.
    pub fn head() -> Vec<String> {
        let mut head = vec!["operation".to_owned(), "came in".to_owned()];
        for list in LISTS {
            head.extend(BLOCKS.map(|block| format!("{block}/{list}")));
        }
        head
    }

    /// A row for each operation and stall, a column for each block and list state.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for op in Op::ALL {
            for (stall, name) in STALLS.iter().enumerate() {
                let mut row = vec![format!("{op:?}").to_uppercase(), (*name).to_owned()];
                for list in 0..LISTS.len() {
                    row.extend((0..BLOCKS.len()).map(|block| self.count(op, stall, block, list).to_string()));
                }
                rows.push(row);
            }
        }
        rows
    }

    /// Columns in which any request was counted, and crossings of these that no request met.
    pub fn missed(&self) -> Vec<String> {
        let seen: BTreeSet<_> = self.0.keys().map(|(_, _, block, list)| (*block, *list)).collect();
        let mut missed = Vec::new();
        for op in Op::ALL {
            for (stall, name) in STALLS.iter().enumerate() {
                for &(block, list) in &seen {
                    if self.count(op, stall, block, list) == 0 {
                        missed.push(format!("{op:?} {name} {}/{}", BLOCKS[block], LISTS[list]));
                    }
                }
            }
        }
        missed
    }
}

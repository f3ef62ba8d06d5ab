//! Golden vectors: a case is a folder that any simulator or board can play.
//!
//! `case.json` describes the case; `stimulus.hex` and `expected.hex` hold one line
//! per cycle with all input or output pins packed; one `memory<N>.hex` per memory
//! holds its content at the end. All hex files load with `$readmemh`. Small cases
//! may carry the lines inside `case.json` instead. `docs/vectors.md` has the
//! format in full.

mod case;
pub(crate) mod hex;
mod recorded;

pub use case::{Case, VERSION, VectorError};
pub(crate) use case::{parse_rows, sha256};
pub use recorded::Recorded;

use crate::{filter::Op, pins::FilterPins};

/// What happened at the request and response pins of a filter core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A reset edge: everything in flight is lost, and the content with it.
    Reset,
    /// A request moved.
    Request {
        /// When.
        cycle: u64,
        /// What.
        op: Op,
        /// The key.
        key: Vec<u64>,
        /// The tag.
        tag: u64,
    },
    /// A response moved.
    Response {
        /// When.
        cycle: u64,
        /// The `rsp_hit` pin.
        hit: bool,
        /// The `rsp_status` pins.
        status: u8,
        /// The tag.
        tag: u64,
        /// The `level` pins in the same cycle.
        level: u64,
    },
}

/// Reads the rows of a filter core as requests and responses. Of a cycle, the
/// response comes first: it cannot be that of a request of the same cycle.
pub fn transcript(pins: &FilterPins, inputs: &[u64], outputs: &[u64]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut key = vec![0; pins.key_words()];
    let input_rows = inputs.chunks_exact(pins.map().input_words());
    let output_rows = outputs.chunks_exact(pins.map().output_words());
    for (cycle, (input, output)) in (0..).zip(input_rows.zip(output_rows)) {
        let request = pins.read_inputs(input, &mut key);
        let response = pins.read_outputs(output);
        if response.rsp_valid && request.rsp_ready {
            let (hit, status, tag, level) = (response.hit, response.status, response.tag, response.level);
            events.push(Event::Response { cycle, hit, status, tag, level });
        }
        if request.rst {
            events.push(Event::Reset);
        } else if request.req_valid && response.req_ready {
            events.push(Event::Request { cycle, op: request.op, key: key.clone(), tag: request.tag });
        }
    }
    events
}

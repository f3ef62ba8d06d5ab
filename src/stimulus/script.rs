//! The directed cases that every run starts with.

use crate::{filter::Op, hash::SplitMix64};

use super::keys::Keys;

/// One step of the script.
#[derive(Clone, Debug)]
pub enum Step {
    /// Offers a request until it is taken; the next one follows in the next cycle.
    Request(Op, Vec<u64>),
    /// Offers nothing.
    Idle(u64),
    /// Takes no response for this many cycles, beginning now.
    Stall(u64),
    /// Resets for this many cycles, beginning in the next one.
    Reset(u64),
}

/// Sweeps that the full script costs.
pub const SWEEPS: u64 = 6;

/// Enough for any pipeline to drain.
const DRAIN: u64 = 40;

/// The script; without its sweeps when the run is too short for them.
pub fn script(keys: &mut Keys, rng: &mut SplitMix64, sweep: u64, sweeps: bool) -> Vec<Step> {
    use Op::{Clear, Insert, Query, Remove};
    let mut steps = Vec::new();
    let corners: Vec<_> = (0..keys.key_w() + 2).map(|i| keys.corner(i)).collect();
    let mut request = |op: Op, key: &[u64]| steps.push(Step::Request(op, key.to_vec()));

    // Nothing is found in an empty filter; every column of the hash is used once.
    for key in &corners {
        request(Query, key);
    }
    for key in &corners {
        request(Insert, key);
    }
    for key in &corners {
        request(Query, key);
    }
    // Insert and query of one key in a row, with every distance in between.
    for distance in 0..8 {
        let key = keys.uniform(rng);
        request(Query, &key);
        request(Insert, &key);
        for _ in 0..distance {
            request(Query, &keys.uniform(rng));
        }
        request(Query, &key);
        request(Remove, &key);
        request(Query, &key);
    }
    steps.push(Step::Idle(DRAIN));

    // Requests that share a memory row, in every order, while responses wait.
    for round in 0..4 {
        steps.push(Step::Stall(5 * round));
        for _ in 0..16 {
            let op = if rng.chance(500) { Insert } else { Query };
            steps.push(Step::Request(op, keys.home(rng)));
        }
    }
    // Every fill of the pipeline meets a stall, and every gap.
    for gap in 0..8 {
        steps.push(Step::Stall(12));
        for _ in 0..10 {
            steps.push(Step::Request(Query, keys.uniform(rng)));
            steps.push(Step::Idle(gap));
        }
    }
    if !sweeps {
        return steps;
    }
    let key = keys.uniform(rng);
    let mut request = |op: Op, key: &[u64]| steps.push(Step::Request(op, key.to_vec()));
    // CLEAR among requests in flight, twice in a row, and while responses wait.
    request(Insert, &key);
    request(Clear, &key);
    request(Query, &key);
    request(Insert, &key);
    request(Query, &key);
    request(Clear, &key);
    request(Clear, &key);
    request(Query, &key);
    request(Insert, &key);
    steps.push(Step::Stall(sweep + 20));
    for op in [Query, Query, Clear, Query, Query] {
        steps.push(Step::Request(op, key.clone()));
    }
    // Reset with requests in flight, and in the middle of a sweep.
    for op in [Insert, Query, Insert, Query] {
        steps.push(Step::Request(op, key.clone()));
    }
    steps.push(Step::Reset(1));
    steps.push(Step::Idle(sweep / 2));
    steps.push(Step::Reset(3));
    for op in [Query, Insert, Query] {
        steps.push(Step::Request(op, key.clone()));
    }
    steps
}

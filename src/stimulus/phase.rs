//! The phases of random stimulus.

use super::keys::{CROWD, KeyMix};
use crate::hash::SplitMix64;

/// How `rsp_ready` behaves.
#[derive(Clone, Copy, Debug)]
pub enum Ready {
    Always,
    /// Per mille of cycles.
    Chance(u32),
    /// Low for runs of up to this many cycles.
    Stalls(u64),
}

/// What a phase of random stimulus does.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Weights of QUERY, INSERT, REMOVE.
    pub ops: [u32; 3],
    pub keys: KeyMix,
    /// Per mille of cycles in which a request is offered.
    pub valid: u32,
    pub ready: Ready,
    /// A request that waits changes instead of holding.
    pub scramble: bool,
    /// Counted for the utilization of the ports.
    pub saturating: bool,
    pub cycles: u64,
}

/// Weights of QUERY, INSERT, REMOVE that a phase may have.
const OPS: [[u32; 3]; 7] = [[10, 10, 1], [30, 3, 1], [3, 30, 1], [1, 0, 0], [0, 1, 0], [4, 3, 3], [1, 1, 0]];
/// How often, per mille, a phase may offer requests.
const VALID: [u32; 5] = [1000, 1000, 900, 500, 100];

impl Phase {
    pub fn idle() -> Self {
        Self {
            ops: [1, 0, 0],
            keys: KeyMix::Uniform,
            valid: 0,
            ready: Ready::Always,
            scramble: false,
            saturating: false,
            cycles: 0,
        }
    }

    /// Turns this phase into one that fills a few rows, or empties them again.
    pub fn crowd(&mut self, rng: &mut SplitMix64, capacity: u64) {
        const OPS: [[u32; 3]; 6] = [[0, 1, 0], [1, 8, 0], [1, 3, 2], [1, 4, 4], [1, 2, 4], [2, 1, 1]];
        const VECTORS: [usize; 5] = [1, 3, 5, 7, 64];
        self.ops = OPS[rng.below(OPS.len() as u64) as usize];
        self.keys = KeyMix::Crowd {
            vectors: VECTORS[rng.below(VECTORS.len() as u64) as usize],
            rows: 1 + rng.below(CROWD),
        };
        self.saturating = false;
        // A row takes an insert every ten cycles or so.
        self.cycles = 20 + rng.below(20 * capacity + 200);
    }

    pub fn random(rng: &mut SplitMix64, run: u64) -> Self {
        // Short runs get short phases, so that they see several.
        let cycles = 20 + rng.below((run / 20).clamp(30, 2000));
        let keys = KeyMix::random(rng);
        if rng.chance(150) {
            return Self {
                ops: [1, 1, 0],
                keys: KeyMix::Uniform,
                valid: 1000,
                ready: Ready::Always,
                scramble: rng.chance(500),
                saturating: true,
                cycles,
            };
        }
        let pick = |rng: &mut SplitMix64, n: usize| rng.below(n as u64) as usize;
        Self {
            ops: OPS[pick(rng, OPS.len())],
            keys,
            valid: VALID[pick(rng, VALID.len())],
            ready: match rng.below(5) {
                0 | 1 => Ready::Always,
                2 => Ready::Chance(800),
                3 => Ready::Chance(300),
                _ => Ready::Stalls(30),
            },
            scramble: rng.chance(500),
            saturating: false,
            cycles,
        }
    }
}

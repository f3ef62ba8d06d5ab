//! Digests of what the clocked models answer.

use std::fmt::Write;

use anyhow::Result;
use membrane::{sram::Memory, stimulus::record};
use sha2::{Digest, Sha256};

use crate::sets::Set;

/// Plays the stimulus of `make sim` on the model of each set, and gives a line for it: its name, and the SHA-256
/// of all pins in all cycles and of the memories at the end. `each` may end it by `false`.
pub fn recordings(sets: &[Set], seed: u64, cycles: u64, mut each: impl FnMut(&str) -> bool) -> Result<()> {
    for set in sets {
        let case = record(set.core, &set.params, seed, cycles)?;
        let mut digest = Sha256::new();
        let memories = case.memories.iter().flat_map(Memory::words);
        for word in case.stimulus.iter().chain(&case.expected).chain(memories) {
            digest.update(word.to_le_bytes());
        }
        let mut line = format!("{set}: ");
        for byte in digest.finalize() {
            write!(line, "{byte:02x}")?;
        }
        if !each(&line) {
            break;
        }
    }
    Ok(())
}

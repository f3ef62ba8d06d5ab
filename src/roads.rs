//! Tests: a clocked model that plays many cycles in one call, with all that it looks ahead for, against the
//! same model cycle by cycle, which looks at nothing ahead.

use crate::{
    clocked::{Clocked, ClockedFilter, Packed},
    filter::Op,
    hash::SplitMix64,
    pins::Inputs,
    sram::Memory,
};

/// What traffic looks like for a while.
#[derive(Clone, Copy, Debug)]
struct Phase {
    /// Per mille: a request is offered, a response is taken.
    valid: u32,
    ready: u32,
    /// Operations are those below this one.
    ops: u64,
    /// Per mille: clears, resets.
    clears: u32,
    resets: u32,
    /// Keys to choose from.
    keys: u64,
}

const CALM: Phase = Phase { valid: 1000, ready: 1000, ops: 2, clears: 0, resets: 0, keys: u64::MAX };

/// Stretches of everything at once, and of every kind of hindrance.
const PHASES: [Phase; 10] = [
    CALM,
    Phase { ops: 1, ..CALM },
    // Bursts on one block.
    Phase { keys: 1, ..CALM },
    Phase { keys: 6, ..CALM },
    Phase { ready: 600, ..CALM },
    Phase { valid: 700, ops: 3, ..CALM },
    Phase { valid: 990, ready: 980, ops: 3, ..CALM },
    Phase { ready: 950, clears: 3, ops: 4, keys: 40, ..CALM },
    Phase { valid: 400, ready: 400, clears: 5, ops: 3, resets: 4, ..CALM },
    Phase { clears: 2, resets: 1, ..CALM },
];

/// As the hardware stores them.
fn stored<T: ClockedFilter>(model: &T) -> Vec<Memory> {
    let memories = model.memories().into_iter().enumerate();
    memories.map(|(i, m)| model.parity().map_or_else(|| m.clone(), |parity| parity.stored(i, m))).collect()
}

/// Compares every pin of so many cycles, all memories and port counts every few cycles, under all kinds of traffic. With
/// `upsets` bits flip on the way.
pub fn all_lead_to_the_same<T: ClockedFilter + Clone>(model: T, cycles: usize, seed: u64, upsets: bool) {
    let mut rng = SplitMix64::new(seed);
    let pins = model.filter_pins().clone();
    let each = pins.map().input_words();
    let (mut plain, mut fast) = (model.clone(), Packed::new(model));
    // A few keys meet often; all others are new.
    let pool: Vec<u64> = (0..40).map(|_| rng.next_u64()).collect();
    let (mut played, mut responses, mut left, mut phase) = (0, 0, 0, CALM);
    while played < cycles {
        // Groups begin anywhere.
        let count = if rng.chance(500) { 32 * (1 + rng.below(8)) } else { 1 + rng.below(100) } as usize;
        let mut rows = vec![0; count * each];
        for row in rows.chunks_exact_mut(each) {
            if left == 0 {
                phase = PHASES[rng.below(PHASES.len() as u64) as usize];
                left = 50 + rng.below(300);
            }
            left -= 1;
            let pick = rng.below(phase.keys.min(4 * pool.len() as u64)) as usize;
            let first = pool.get(pick).copied().unwrap_or_else(|| rng.next_u64());
            let mut key: Vec<u64> =
                (0..pins.key_words() as u64).map(|w| first.rotate_left(w as u32)).collect();
            *key.last_mut().expect("a word") &= pins.key_top();
            let op = if rng.chance(phase.clears) { 3 } else { rng.below(phase.ops.min(3)) };
            let inputs = Inputs {
                rst: rng.chance(phase.resets),
                req_valid: rng.chance(phase.valid),
                op: Op::from_bits(op),
                tag: rng.next_u64(),
                rsp_ready: rng.chance(phase.ready),
            };
            pins.write_inputs(&inputs, &key, row);
        }
        let mut outputs = vec![0; count];
        fast.run(&rows, &mut outputs).expect("no conflict");
        for (cycle, (row, output)) in (played..).zip(rows.chunks_exact(each).zip(outputs)) {
            let (inputs, key) = pins.borrow_inputs(row);
            let expected = plain.cycle(&inputs, key, None).expect("no conflict");
            assert_eq!(pins.read_outputs(&[output]), expected, "cycle {cycle}, {phase:?}, {inputs:?}");
            responses += usize::from(expected.rsp_valid && inputs.rsp_ready);
        }
        played += count;
        let memories = stored(&plain);
        assert!(fast.memories().expect("memories") == memories, "memories after {played} cycles, {phase:?}");
        assert_eq!(fast.ports(), plain.port_counts(), "after {played} cycles");
        if upsets && rng.chance(50) {
            let index = rng.below(memories.len() as u64) as usize;
            let memory = &memories[index];
            let (row, bit) =
                (rng.below(memory.rows() as u64) as usize, rng.below(memory.width().into()) as u32);
            fast.upset(memory.path(), row, bit).expect("a bit");
            plain.upset(index, row, bit);
        }
    }
    assert!(responses > cycles / 100, "{responses} responses");
}

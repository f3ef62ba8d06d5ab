//! Digests of what the models answer.

use std::fmt::Write;

use anyhow::{Context, Result};
use membrane::{
    Answer, Filter,
    cpu::Cpu,
    hash::SplitMix64,
    pins::FilterPins,
    sram::Memory,
    stimulus::record,
    vectors::{Case, Event, transcript},
};
use sha2::{Digest, Sha256};

use crate::sets::Set;

/// Keys that a filter gets at once.
const KEYS: usize = 3_000;

/// Three lines for each set, each with a SHA-256. `each` may end it by `false`.
///
/// * `clocked`: all pins in all cycles of the stimulus of `make sim`, and the memories at the end. The RTL has the same.
/// * `functional`: what the functional model answers to these requests, which are the responses of the core.
/// * `batches`: what it answers to many keys at once, as it does one by one, on any processor and in two threads.
pub fn recordings(sets: &[Set], seed: u64, cycles: u64, mut each: impl FnMut(&str) -> bool) -> Result<()> {
    for set in sets {
        let case = record(set.core, &set.params, seed, cycles)?;
        let mut digest = Sha256::new();
        words(&mut digest, &case.stimulus);
        words(&mut digest, &case.expected);
        case.memories.iter().for_each(|memory| words(&mut digest, memory.words()));
        if !each(&line(set, "clocked", digest)?)
            || !each(&line(set, "functional", functional(set, &case)?)?)
            || !each(&line(set, "batches", batches(set)?)?)
        {
            break;
        }
    }
    Ok(())
}

fn functional(set: &Set, case: &Case) -> Result<Sha256> {
    let pins = FilterPins::of(&case.pins).context("pins of a filter core")?;
    let mut filter = set.core.filter(&set.params)?;
    let mut digest = Sha256::new();
    for event in transcript(&pins, &case.stimulus, &case.expected) {
        match event {
            Event::Reset => filter.clear(),
            Event::Request { op, key, .. } => answers(&mut digest, &[filter.apply(op, &key)]),
            Event::Response { .. } => {}
        }
    }
    state(&mut digest, filter.as_ref());
    Ok(digest)
}

fn batches(set: &Set) -> Result<Sha256> {
    let mut rng = SplitMix64::new(1);
    let words = set.params.at("KEY_W").div_ceil(64) as usize;
    let mut some = || (0..KEYS * words).map(|_| rng.next_u64()).collect::<Vec<_>>();
    let (present, others) = (some(), some());
    let mut digest = Sha256::new();
    let (mut answered, mut hits) = (vec![Answer::default(); KEYS], vec![false; KEYS]);
    for (cpu, threads) in [(Cpu::portable(), 1), (Cpu::detect(), 1), (Cpu::detect(), 2)] {
        let mut filter = set.core.filter(&set.params)?;
        filter.run_on(cpu);
        filter.insert_all_in(threads, &present, &mut answered);
        answers(&mut digest, &answered);
        for keys in [&present, &others] {
            filter.contains_all_in(threads, keys, &mut hits);
            digest.update(hits.iter().map(|hit| u8::from(*hit)).collect::<Vec<_>>());
        }
        state(&mut digest, filter.as_ref());
    }
    Ok(digest)
}

fn words(digest: &mut Sha256, words: &[u64]) {
    for word in words {
        digest.update(word.to_le_bytes());
    }
}

fn answers(digest: &mut Sha256, answers: &[Answer]) {
    for answer in answers {
        digest.update([u8::from(answer.hit), answer.status as u8]);
    }
}

/// Memories and the number of entries in the list.
fn state(digest: &mut Sha256, filter: &dyn Filter) {
    filter.memories().into_iter().map(Memory::words).for_each(|memory| words(digest, memory));
    words(digest, &[filter.level()]);
}

fn line(set: &Set, model: &str, digest: Sha256) -> Result<String> {
    let mut line = format!("{set}, {model}: ");
    for byte in digest.finalize() {
        write!(line, "{byte:02x}")?;
    }
    Ok(line)
}

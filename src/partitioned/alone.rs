//! One key of one word at a time, where each index has a memory of its own, and there are no more than eight.

use crate::{
    cpu::{Asked, Changes, Cpu, Level, Question, Reads, read_alone, selected},
    hash::{Field, H3, Moved, Packed},
    sram::Memory,
};

use super::functional::Partitioned;

/// Memories that are looked at together, without a branch between: a bit that is there is as good as random. Few of the keys that
/// are not there have all bits of so many memories.
const TOGETHER: usize = 4;

/// How it is done: settled once, and not again for each key.
#[derive(Clone, Debug)]
pub struct Alone {
    hash: Hash,
    /// What each field selects from.
    n: u32,
    contains: Asked<Reads<Partitioned>>,
    insert: Asked<Changes<Partitioned, ()>>,
}

/// Each field at the top of its room, so that what it selects is found without a shift for each.
#[derive(Clone, Debug)]
enum Hash {
    /// Half a word for each: that of the first memory is the lower half of the first word, and those from the fifth on are upper
    /// halves.
    Halves(Packed<4>),
    /// A word for each.
    Words(Packed<8>),
}

impl Alone {
    /// `None` where there are too many fields, which are of one width, or keys are not plain.
    pub fn new(cpu: Cpu, h3: &H3, fields: &[Field]) -> Option<Self> {
        let Field { n, width, .. } = *fields.first()?;
        if fields.len() > 2 * TOGETHER || !h3.is_plain() {
            return None;
        }
        let moves = |bits: u32, place: fn(usize) -> (usize, u32)| -> Vec<Moved> {
            let moved = |(i, field): (usize, &Field)| {
                let (word, lsb) = place(i);
                Moved { lsb: field.lsb, width, word, at: lsb + bits - width }
            };
            fields.iter().enumerate().map(moved).collect()
        };
        let n = u32::try_from(n).ok()?;
        Some(if width <= 32 {
            let place = |i| (i % TOGETHER, if i < TOGETHER { 0 } else { 32 });
            let hash = Hash::Halves(Packed::new(h3, &moves(32, place)));
            Self { hash, n, contains: cpu.asks::<_, InHalves>(), insert: cpu.asks::<_, InHalves>() }
        } else {
            let hash = Hash::Words(Packed::new(h3, &moves(64, |i| (i, 0))));
            Self { hash, n, contains: cpu.asks::<_, InWords>(), insert: cpu.asks::<_, InWords>() }
        })
    }

    /// Whether a key may be present.
    #[inline(always)]
    pub fn contains(&self, filter: &Partitioned, key: u64) -> bool {
        self.contains.ask(filter, key)
    }

    /// How to insert a key.
    #[inline(always)]
    pub fn inserts(&self) -> Asked<Changes<Partitioned, ()>> {
        self.insert
    }
}

/// The bits that a key selects in the first memories, and in the others.
type Selected = [[u64; TOGETHER]; 2];

/// How they are found.
trait Select {
    /// `None` where the hash is of another kind.
    fn select(alone: &Alone, key: u64) -> Option<Selected>;
}

struct InHalves;

impl Select for InHalves {
    #[inline(always)]
    fn select(Alone { hash, n, .. }: &Alone, key: u64) -> Option<Selected> {
        let (Hash::Halves(hash), n) = (hash, u64::from(*n)) else { return None };
        let words = hash.hash_plain(key);
        Some([words.map(|word| ((word & 0xffff_ffff) * n) >> 32), words.map(|word| ((word >> 32) * n) >> 32)])
    }
}

struct InWords;

impl Select for InWords {
    #[inline(always)]
    fn select(Alone { hash, n, .. }: &Alone, key: u64) -> Option<Selected> {
        let Hash::Words(hash) = hash else { return None };
        let bits = hash.hash_plain(key).map(|word| u64::from(selected(word, *n)));
        Some([0, 1].map(|half| std::array::from_fn(|i| bits[TOGETHER * half + i])))
    }
}

impl<S: Select> Question<Reads<Partitioned>> for S {
    #[inline(always)]
    fn ask<L: Level>(_: L, filter: &Partitioned, key: u64) -> bool {
        let selected = filter.alone().and_then(|alone| S::select(alone, key));
        let Some([first, others]) = selected else { return filter.contains_any(&[key]) };
        let (memories, rest) = filter.banks().split_at(filter.banks().len().min(TOGETHER));
        are_set(memories, &first) && are_set(rest, &others)
    }
}

impl<S: Select> Question<Changes<Partitioned, ()>> for S {
    #[inline(always)]
    fn ask<L: Level>(_: L, filter: &mut Partitioned, key: u64) {
        let selected = filter.alone().and_then(|alone| S::select(alone, key));
        let Some(bits) = selected else { return filter.insert_any(&[key]) };
        for (memory, bit) in filter.banks_mut().iter_mut().zip(bits.as_flattened()) {
            memory.set_bit(read_alone(bit));
        }
    }
}

/// Whether all of these memories have their bit.
#[inline(always)]
fn are_set(memories: &[Memory], bits: &[u64; TOGETHER]) -> bool {
    // One by one: compilers would put what they are to shift by, and then what is shifted, together into vectors.
    let set = |set: u64, (memory, bit): (&Memory, &u64)| {
        let bit = read_alone(bit);
        set & read_alone(&memory.words()[(bit / 64) as usize]) >> (bit % 64)
    };
    let set = match memories.first_chunk::<TOGETHER>() {
        // Their number known to the compiler.
        Some(memories) => memories.iter().zip(bits).fold(1, set),
        None => memories.iter().zip(bits).fold(1, set),
    };
    set & 1 == 1
}

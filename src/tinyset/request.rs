//! What a request does: in its block first, and then in the overflow list.
//!
//! A block may be looked at before the list: what the list says needs no block, and what the block says stays true until the
//! list has its say.

use super::{Layout, Place, bits::Words};
use crate::{
    cam::Cam,
    cpu::{Cpu, Level, Work},
    filter::{Answer, Op, Status},
};

/// What a request does, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What it answers.
    pub answer: Answer,
    /// Its block has changed, and is to be written.
    pub write: bool,
    /// Slots in the chain of its key before.
    pub length: u32,
}

/// What a request does in its block, if it is the only one that is asked.
///
/// Whether it is a query or an insert is as good as random. No branch depends on that unless the insert changes
/// something, which those of a full block do not.
#[inline(always)]
pub fn in_block<L: Level, const N: usize>(
    level: L,
    layout: &Layout,
    op: Op,
    Place { chain, remainder, .. }: Place,
    block: &mut [u64; N],
) -> Done {
    let found = layout.find_on(level, block, chain);
    let length = found.end - found.start;
    if op == Op::Remove {
        let write = layout.remove(block, chain, remainder);
        let status = if write { Status::Ok } else { Status::NotFound };
        return Done { answer: Answer { hit: false, status }, write, length };
    }
    let inserts = op == Op::Insert;
    let hit = layout.holds(level, block, found, remainder);
    let room = layout.has_room(found);
    let write = inserts & room;
    if write {
        layout.add(level, block, found, chain, remainder);
    }
    let status = if inserts && !room { Status::Full } else { Status::Ok };
    Done { answer: Answer { hit: hit && !inserts, status }, write, length }
}

/// The same in the first words of a block of any shape, by the means of this processor.
pub fn in_words(cpu: Cpu, layout: &Layout, op: Op, place: Place, block: &mut Words) -> Done {
    struct InWords<'a>(&'a Layout, Op, Place, &'a mut Words);

    impl Work for InWords<'_> {
        type Output = Done;

        #[inline(always)]
        fn run<L: Level>(self, level: L) -> Done {
            let Self(layout, op, place, block) = self;
            // The smallest blocks in one register.
            match layout.block_w() {
                ..=64 => in_block(level, layout, op, place, first::<1>(block)),
                65..=512 => in_block(level, layout, op, place, first::<8>(block)),
                _ => in_block(level, layout, op, place, block),
            }
        }
    }

    cpu.run(InWords(layout, op, place, block))
}

/// The first words of a block.
#[inline(always)]
pub fn first<const N: usize>(block: &mut Words) -> &mut [u64; N] {
    block.first_chunk_mut().expect("no block has more words")
}

/// What a request does in the overflow list; before, it has done this in its block.
#[inline(always)]
pub fn in_list(list: &mut Cam, removals: bool, op: Op, key: &[u64], done: Done) -> Done {
    let Done { mut answer, mut write, length } = done;
    match op {
        // Here too no branch depends on which of the two it is, unless the list changes.
        Op::Query | Op::Insert => {
            let (listed, asks) = (list.contains(key), op == Op::Insert && !write);
            answer.hit |= listed && op == Op::Query;
            // The list holds a key once: two removals would find it once.
            let full = if listed { removals } else { list.is_full() };
            if asks && !listed && !full {
                list.insert(key);
            }
            if asks {
                answer.status = if full { Status::Full } else { Status::Ok };
            }
        }
        // Its entry is exact, while a fingerprint may be another key's.
        Op::Remove if removals && list.remove(key) => (answer.status, write) = (Status::Ok, false),
        Op::Remove => {}
        Op::Clear => list.clear(),
    }
    Done { answer, write, length }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Filter,
        hash::SplitMix64,
        registry::Core,
        tinyset::{CORE, Config, TinySet},
    };

    #[test]
    fn chains_are_as_long_as_they_are() {
        let mut rng = SplitMix64::new(6);
        for preset in CORE.presets() {
            let config = Config::from_params(&preset.params()).unwrap();
            let mut filter = TinySet::new(&Config { blocks: 3, ..config.clone() }).unwrap();
            for _ in 0..150 {
                filter.insert(&[rng.next_u64(); 2][..config.key_w.div_ceil(64) as usize]);
                let (block, chain) = (filter.load(0), rng.below(config.chains.into()) as u32);
                let found = filter.layout().find(&block, chain);
                for cpu in Cpu::levels() {
                    let (place, mut block) = (Place { chain, ..Place::default() }, block);
                    let done = in_words(cpu, filter.layout(), Op::Query, place, &mut block);
                    assert_eq!(done.length, found.end - found.start, "{}", preset.name);
                }
            }
        }
    }

    /// Of two removals of a key that is listed, one takes its entry, and leaves the block as it was.
    #[test]
    fn the_list_has_the_last_word() {
        let (removed, refused) = (Done { write: true, ..Done::default() }, Done::default());
        let status = |done: Done| done.answer.status;
        for removals in [false, true] {
            let mut list = Cam::new(2, 64);
            let mut ask = |op, key: u64, done| in_list(&mut list, removals, op, &[key], done);
            assert_eq!(ask(Op::Insert, 1, Done { write: true, ..refused }).answer, Answer::default());
            assert!(!ask(Op::Query, 1, refused).answer.hit);
            assert_eq!(status(ask(Op::Insert, 1, refused)), Status::Ok);
            let again = if removals { Status::Full } else { Status::Ok };
            assert_eq!(status(ask(Op::Insert, 1, refused)), again);
            assert_eq!(status(ask(Op::Insert, 2, refused)), Status::Ok);
            assert_eq!(status(ask(Op::Insert, 3, refused)), Status::Full);
            assert!(ask(Op::Query, 1, refused).answer.hit && !ask(Op::Query, 3, refused).answer.hit);
            assert!(!ask(Op::Insert, 1, refused).answer.hit);
            assert_eq!(ask(Op::Remove, 1, removed).write, !removals);
            assert!(ask(Op::Remove, 1, removed).write);
            assert_eq!(ask(Op::Query, 1, refused).answer.hit, !removals);
            assert_eq!(ask(Op::Clear, 0, refused), refused);
            assert!(!ask(Op::Query, 2, refused).answer.hit);
        }
    }
}

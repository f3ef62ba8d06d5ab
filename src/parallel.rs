//! Many keys at once, in several threads, with the same answers and bits as in one.
//!
//! Queries are shared out as they come. Inserts are shared out by the row that they change: in
//! a first pass every thread hashes a part of the keys and sorts them by the thread that owns
//! the row, in a second every thread works on rows of its own, key after key in their order.
//!
//! ```
//! use membrane::{Answer, Filter, blocked::{Blocked, Config}};
//!
//! let config = Config { block_w: 512, rows: 1000, hashes: 8, key_w: 64, ..Config::default() };
//! let (mut one, mut four) = (Blocked::new(&config)?, Blocked::new(&config)?);
//! let keys: Vec<u64> = (0..10_000).collect();
//! let mut answers = vec![Answer::default(); keys.len()];
//! one.insert_all(&keys, &mut answers);
//! four.insert_all_in(4, &keys, &mut answers);
//! assert_eq!(one.memories(), four.memories());
//! # Ok::<(), membrane::ConfigError>(())
//! ```

use std::{marker::PhantomData, thread};

use crate::{
    batch::{self, GROUP, Places, Staged, StagedMut},
    cpu::{Cache, Cpu, Level, Work},
    filter::{Answer, Filter},
};

/// Fewer keys than that are not worth a thread.
const LEAST: usize = 1 << 12;

/// How many threads are worth it, of those that there may be.
pub fn threads_for(keys: usize, most: usize) -> usize {
    most.min(keys / LEAST).max(1)
}

/// [`Filter::contains_all`] in several threads.
pub fn contains_all<F: Filter + ?Sized>(filter: &F, threads: usize, keys: &[u64], hits: &mut [bool]) {
    let threads = threads_for(hits.len(), threads);
    if threads == 1 {
        return filter.contains_all(keys, hits);
    }
    let each = batch::words_each(keys, hits.len());
    let share = hits.len().div_ceil(threads);
    thread::scope(|scope| {
        for (keys, hits) in keys.chunks(share * each).zip(hits.chunks_mut(share)) {
            scope.spawn(|| filter.contains_all(keys, hits));
        }
    });
}

/// A filter that can be cut into parts, each with rows of its own.
pub trait Sharded: StagedMut + Send + Sized {
    /// Cuts it into at most so many parts, and says how many rows each but the last has, or whatever rows are counted in.
    fn shards(self, count: usize) -> (Vec<Self>, usize);

    /// The row of a place, which can be changed.
    fn row(place: &mut Self::Place) -> &mut usize;
}

/// A key on its way from the first pass to the second: its number, and its place in its part.
type Sorted<P> = (usize, P);

/// [`Filter::insert_all`] in several threads; `hasher` is the filter itself to be read,
/// `filter` the same to be changed.
pub fn insert_all<F: Sharded>(
    hasher: &(impl Staged<Place = F::Place> + Sync),
    filter: F,
    (cpu, threads): (Cpu, usize),
    keys: &[u64],
    answers: &mut [Answer],
) where
    F::Place: Send + Sync,
{
    let each = batch::words_each(keys, answers.len());
    let share = answers.len().div_ceil(threads).max(1);
    let (shards, rows) = filter.shards(threads);
    let count = shards.len();
    let sort = |(first, keys)| {
        cpu.run(Sort { hasher, keys, each, first, rows, count, filter: PhantomData::<fn(F)> })
    };
    let sort = &sort;
    let sorted: Vec<Vec<Vec<Sorted<F::Place>>>> = thread::scope(|scope| {
        let shares = (0..).step_by(share).zip(keys.chunks(share * each));
        let sorting: Vec<_> = shares.map(|share| scope.spawn(move || sort(share))).collect();
        sorting.into_iter().map(join).collect()
    });
    let parts = |n: usize| sorted.iter().flat_map(move |part| &part[n]);
    let inserted: Vec<Vec<Answer>> = thread::scope(|scope| {
        let insert =
            |(n, shard)| scope.spawn(move || cpu.run(Insert { shard, keys, each, sorted: parts(n) }));
        let inserting: Vec<_> = shards.into_iter().enumerate().map(insert).collect();
        inserting.into_iter().map(join).collect()
    });
    for (n, inserted) in inserted.into_iter().enumerate() {
        for ((key, _), answer) in parts(n).zip(inserted) {
            answers[*key] = answer;
        }
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The first pass over some keys, the first of which has this number.
struct Sort<'a, F, H> {
    hasher: &'a H,
    keys: &'a [u64],
    each: usize,
    first: usize,
    rows: usize,
    count: usize,
    filter: PhantomData<fn(F)>,
}

impl<F: Sharded, H: Staged<Place = F::Place>> Work for Sort<'_, F, H> {
    type Output = Vec<Vec<Sorted<F::Place>>>;

    #[inline(always)]
    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self { hasher, keys, each, first, rows, count, .. } = self;
        let expected = keys.len() / each / count;
        let mut sorted: Vec<_> = (0..count).map(|_| Vec::with_capacity(expected + expected / 16)).collect();
        let mut places = H::Places::default();
        for (n, group) in keys.chunks(GROUP * each).enumerate() {
            if group.len() == GROUP * each {
                hasher.places(level, group, each, &mut places);
            } else {
                for (i, key) in group.chunks_exact(each).enumerate() {
                    places.put(i, hasher.place(key));
                }
            }
            for i in 0..group.len() / each {
                let mut place = places.get(i);
                let row = F::row(&mut place);
                let shard = *row / rows;
                *row -= shard * rows;
                sorted[shard].push((first + n * GROUP + i, place));
            }
        }
        sorted
    }
}

/// The second pass over the keys of one part.
struct Insert<'a, F, S> {
    shard: F,
    keys: &'a [u64],
    each: usize,
    sorted: S,
}

impl<'a, F: StagedMut, S: Iterator<Item = &'a Sorted<F::Place>> + Clone> Work for Insert<'_, F, S>
where
    F::Place: 'a,
{
    type Output = Vec<Answer>;

    #[inline(always)]
    fn run<L: Level>(self, level: L) -> Vec<Answer> {
        let Self { mut shard, keys, each, sorted } = self;
        let mut ahead = sorted.clone();
        let (groups, into) = shard.distance().ahead().unwrap_or((1, Cache::Nearest));
        for (_, place) in ahead.by_ref().take(groups * GROUP) {
            shard.prefetch(place, into);
        }
        let mut answers = Vec::new();
        for (key, place) in sorted {
            if let Some((_, place)) = ahead.next() {
                shard.prefetch(place, into);
            }
            answers.push(shard.insert_at(level, &keys[key * each..][..each], place));
        }
        answers
    }
}

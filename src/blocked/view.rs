//! The memory of a filter whose rows are whole words, for one key or many at once.

use super::rows::{Keys, Rows};
use crate::{
    batch::{Ahead, GROUP, NEAR, Places, Staged, StagedMut},
    cpu::{self, Cache, Distance, Level, RowsMut},
    filter::{Answer, Status},
    parallel::Sharded,
};

/// The rows of a memory, to be read, or read and written.
pub struct View<'a, W, K, const N: usize, const M: usize> {
    /// The filter that they belong to.
    pub rows: &'a Rows,
    /// All of them, or a thread's share.
    pub words: W,
    /// Its keys.
    pub keys: &'a K,
}

/// What the hash says about a key.
#[derive(Clone, Copy)]
pub struct Place {
    /// The first word of the row.
    start: usize,
    indices: u64,
}

/// The same for a group: what is side by side is computed together. From the start of a cache line on: else vectors would be
/// in two lines each.
#[repr(align(64))]
pub struct Group {
    starts: [u32; GROUP],
    indices: [u64; GROUP],
}

impl Default for Group {
    #[inline(always)]
    fn default() -> Self {
        Self { starts: [0; GROUP], indices: [0; GROUP] }
    }
}

impl Places<Place> for Group {
    #[inline(always)]
    fn put(&mut self, i: usize, Place { start, indices }: Place) {
        (self.starts[i], self.indices[i]) = (start as u32, indices);
    }

    #[inline(always)]
    fn get(&self, i: usize) -> Place {
        Place { start: self.starts[i] as usize, indices: self.indices[i] }
    }
}

impl<W, K, const N: usize, const M: usize> Staged for View<'_, W, K, N, M>
where
    W: AsRef<[[u64; N]]>,
    K: Keys<N, M>,
{
    type Place = Place;
    type Places = Group;
    type Room = ();

    #[inline(always)]
    fn place(&self, key: &[u64]) -> Place {
        let (field, indices) = K::split(self.keys.hash().hash(key));
        Place { start: self.rows.row(field) as usize * N, indices }
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Group) {
        let Group { starts, indices } = places;
        self.keys.places(level, self.rows, (keys, each), (starts, indices));
    }

    #[inline(always)]
    fn distance(&self) -> Distance {
        Distance::of(self.words.as_ref().len() * N, NEAR)
    }

    #[inline(always)]
    fn prefetch(&self, place: &Place, into: Cache) {
        cpu::prefetch(self.words.as_ref().as_flattened(), place.start, into);
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, level: L, _: &[u64], place: &Place) -> bool {
        self.keys.are_in(level, place.indices, &self.words.as_ref()[place.start / N])
    }

    #[inline(always)]
    fn contains_group<L: Level>(
        &self,
        level: L,
        _: (&[u64], usize),
        places: &mut Group,
        ahead: Ahead<'_, Group>,
        (): &mut (),
        hits: &mut [bool; GROUP],
    ) {
        let (keys, words) = (self.keys, self.words.as_ref().as_flattened());
        bring_nearer::<N>(words, places, self.distance());
        // What there is ahead is asked once, and not for each key.
        match ahead.group() {
            None => are_in_rows(level, keys, words, places, |_| (), hits),
            Some((later, Cache::Second)) => {
                let fetch = |i: usize| cpu::prefetch_two(words, &later.starts, i, Cache::Second);
                are_in_rows(level, keys, words, places, fetch, hits);
            }
            Some((later, _)) => {
                let fetch = |i: usize| cpu::prefetch_two(words, &later.starts, i, Cache::Nearest);
                are_in_rows(level, keys, words, places, fetch, hits);
            }
        }
    }
}

/// Begins to bring rows that wait in the second cache into the nearest: where a row is a whole line, and one vector, some
/// processors take long to read it from there.
#[inline(always)]
fn bring_nearer<const N: usize>(words: &[u64], places: &Group, distance: Distance) {
    if N == 8 && matches!(distance.ahead(), Some((_, Cache::Second))) {
        for first in (0..GROUP).step_by(2) {
            cpu::prefetch_two(words, &places.starts, first, Cache::Nearest);
        }
    }
}

/// Whether each key of a group is in its row; `ahead` is told the number of the first of two before.
#[inline(always)]
fn are_in_rows<L: Level, K: Keys<N, M>, const N: usize, const M: usize>(
    level: L,
    keys: &K,
    words: &[u64],
    places: &Group,
    ahead: impl Fn(usize),
    hits: &mut [bool; GROUP],
) {
    let rows = cpu::Rows::new(words, &places.starts);
    if let Some(numbers) = K::NUMBERS
        && level.find_in_group(numbers, &places.indices, rows, &ahead, hits)
    {
        return;
    }
    for (i, hits) in (0..).step_by(2).zip(hits.as_chunks_mut::<2>().0) {
        ahead(i);
        let indices = [places.indices[i], places.indices[i + 1]];
        *hits = keys.are_in_two(level, indices, rows.two(i));
    }
}

impl<W, K, const N: usize, const M: usize> StagedMut for View<'_, W, K, N, M>
where
    W: AsRef<[[u64; N]]> + AsMut<[[u64; N]]>,
    K: Keys<N, M>,
{
    type Ready = cpu::Ready;

    #[inline(always)]
    fn make_ready<L: Level>(&self, level: L, places: &Group, ready: &mut cpu::Ready) {
        if let Some(numbers) = K::NUMBERS {
            level.make_ready(numbers, &places.indices, ready);
        }
    }

    #[inline(always)]
    fn insert_at<L: Level>(&mut self, level: L, _: &[u64], place: &Place) -> Answer {
        let set = self.keys.put(level, place.indices, &mut self.words.as_mut()[place.start / N]);
        Answer { hit: set & !self.rows.masked(), status: Status::Ok }
    }

    #[inline(always)]
    fn insert_group<L: Level>(
        &mut self,
        level: L,
        _: (&[u64], usize),
        places: &mut Group,
        ahead: Ahead<'_, Group>,
        ready: &cpu::Ready,
        answers: &mut [Answer; GROUP],
    ) {
        let distance = self.distance();
        let (keys, read, words) = (self.keys, !self.rows.masked(), self.words.as_mut().as_flattened_mut());
        bring_nearer::<N>(words, places, distance);
        let rows = RowsMut::new(words, &places.starts);
        // As above.
        match ahead.group() {
            None => put_in_rows(level, keys, rows, (places, ready), |_, _| (), (read, answers)),
            Some((later, Cache::Second)) => {
                let fetch =
                    |words: &[u64], i: usize| cpu::prefetch_two(words, &later.starts, i, Cache::Second);
                put_in_rows(level, keys, rows, (places, ready), fetch, (read, answers));
            }
            Some((later, _)) => {
                let fetch =
                    |words: &[u64], i: usize| cpu::prefetch_two(words, &later.starts, i, Cache::Nearest);
                put_in_rows(level, keys, rows, (places, ready), fetch, (read, answers));
            }
        }
    }
}

/// Puts each key of a group into its row; `ahead` is told the number of the first of two before. Answers only say
/// whether it was there where rows are `read`.
#[inline(always)]
fn put_in_rows<L: Level, K: Keys<N, M>, const N: usize, const M: usize>(
    level: L,
    keys: &K,
    mut rows: RowsMut<'_, N>,
    (places, ready): (&Group, &cpu::Ready),
    ahead: impl Fn(&[u64], usize),
    (read, answers): (bool, &mut [Answer; GROUP]),
) {
    *answers = UNREAD;
    let mut tell = |i: usize, hit: bool| answers[i].hit = hit;
    let in_group = K::NUMBERS.is_some_and(|numbers| {
        level.put_in_group(numbers, (&places.indices, ready), &mut rows, &ahead, &mut tell)
    });
    if !in_group {
        for i in 0..GROUP {
            if i.is_multiple_of(2) {
                ahead(rows.words(), i);
            }
            // Not in a closure: those that are not inlined are not built for the level.
            tell(i, keys.put(level, places.indices[i], rows.get(i)));
        }
    }
    if !read {
        *answers = UNREAD;
    }
}

/// Answers where nothing is read.
const UNREAD: [Answer; GROUP] = [Answer { hit: false, status: Status::Ok }; GROUP];

impl<K: Keys<N, M>, const N: usize, const M: usize> Sharded for View<'_, &mut [[u64; N]], K, N, M> {
    fn shards(self, count: usize) -> (Vec<Self>, usize) {
        let Self { rows, words, keys } = self;
        let share = words.len().div_ceil(count);
        (words.chunks_mut(share).map(|words| Self { rows, words, keys }).collect(), share * N)
    }

    #[inline(always)]
    fn row(place: &mut Place) -> &mut usize {
        &mut place.start
    }
}

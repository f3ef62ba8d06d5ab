//! The memory of a filter whose rows are whole words, for one key or many at once.

use super::rows::{Keys, Rows};
use crate::{
    batch::{Ahead, GROUP, NEAR, Places, Staged, StagedMut},
    cpu::{self, Cache, Chosen, ChosenMut, Distance, Level},
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
pub struct Place<const M: usize> {
    row: usize,
    hash: [u64; M],
}

/// The same for a group: rows and words of hashes side by side are computed together.
pub struct Group<const M: usize> {
    rows: [u32; GROUP],
    hashes: [[u64; GROUP]; M],
}

impl<const M: usize> Default for Group<M> {
    #[inline(always)]
    fn default() -> Self {
        Self { rows: [0; GROUP], hashes: [[0; GROUP]; M] }
    }
}

impl<const M: usize> Group<M> {
    #[inline(always)]
    fn hash(&self, i: usize) -> [u64; M] {
        std::array::from_fn(|w| self.hashes[w][i])
    }

    /// The words of two keys.
    #[inline(always)]
    fn pair(&self, first: usize) -> [[u64; 2]; M] {
        std::array::from_fn(|w| [self.hashes[w][first], self.hashes[w][first + 1]])
    }
}

impl<const M: usize> Places<Place<M>> for Group<M> {
    #[inline(always)]
    fn put(&mut self, i: usize, Place { row, hash }: Place<M>) {
        self.rows[i] = row as u32;
        for (words, word) in self.hashes.iter_mut().zip(hash) {
            words[i] = word;
        }
    }

    #[inline(always)]
    fn get(&self, i: usize) -> Place<M> {
        Place { row: self.rows[i] as usize, hash: self.hash(i) }
    }
}

impl<W, K, const N: usize, const M: usize> Staged for View<'_, W, K, N, M>
where
    W: AsRef<[[u64; N]]>,
    K: Keys<N, M>,
{
    type Place = Place<M>;
    type Places = Group<M>;

    #[inline(always)]
    fn place(&self, key: &[u64]) -> Place<M> {
        let hash = self.keys.hash().hash(key);
        Place { row: self.rows.row(K::field(hash)) as usize, hash }
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Group<M>) {
        self.keys.places(level, self.rows, (keys, each), (&mut places.rows, &mut places.hashes));
    }

    #[inline(always)]
    fn distance(&self) -> Distance {
        Distance::of(self.words.as_ref().len() * N, NEAR)
    }

    #[inline(always)]
    fn prefetch(&self, place: &Place<M>, into: Cache) {
        cpu::prefetch(self.words.as_ref(), place.row, into);
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, level: L, _: &[u64], place: &Place<M>) -> bool {
        self.keys.are_in(level, place.hash, &self.words.as_ref()[place.row])
    }

    #[inline(always)]
    fn contains_group<L: Level>(
        &self,
        level: L,
        _: (&[u64], usize),
        places: &mut Group<M>,
        ahead: Ahead<'_, Group<M>>,
        hits: &mut [bool; GROUP],
    ) {
        let (keys, rows) = (self.keys, self.words.as_ref());
        keys.ready_to_find(level, &mut places.hashes);
        let fetch = |group: &Group<M>, i: usize, into| cpu::prefetch(rows, group.rows[i] as usize, into);
        // What there is ahead is asked once, and not for each key.
        match ahead {
            Ahead::Nothing => are_in_rows(level, keys, rows, places, |_| (), hits),
            Ahead::Next(next) => {
                are_in_rows(level, keys, rows, places, |i| fetch(next, i, Cache::Nearest), hits);
            }
            Ahead::Later(later) => {
                let both = |i| {
                    fetch(later, i, Cache::Second);
                    fetch(places, soon(i), Cache::Nearest);
                };
                are_in_rows(level, keys, rows, places, both, hits);
            }
        }
    }
}

/// The key of a group whose row is moved on from the second cache while that of key `i` is worked on: rows of a whole cache
/// line are read from there slowly.
#[inline(always)]
fn soon(i: usize) -> usize {
    (i + 8) % GROUP
}

/// Whether each key of a group is in its row; `ahead` is told its number before.
#[inline(always)]
fn are_in_rows<L: Level, K: Keys<N, M>, const N: usize, const M: usize>(
    level: L,
    keys: &K,
    rows: &[[u64; N]],
    places: &Group<M>,
    ahead: impl Fn(usize),
    hits: &mut [bool; GROUP],
) {
    let rows = Chosen::new(rows, &places.rows);
    for (i, hits) in (0..).step_by(2).zip(hits.as_chunks_mut::<2>().0) {
        ahead(i);
        ahead(i + 1);
        *hits = keys.found(level, places.pair(i), [rows.get(i), rows.get(i + 1)]);
    }
}

impl<W, K, const N: usize, const M: usize> StagedMut for View<'_, W, K, N, M>
where
    W: AsRef<[[u64; N]]> + AsMut<[[u64; N]]>,
    K: Keys<N, M>,
{
    #[inline(always)]
    fn insert_at<L: Level>(&mut self, level: L, _: &[u64], place: &Place<M>) -> Answer {
        let mask = self.keys.mask(level, place.hash);
        let set = level.put(&mut self.words.as_mut()[place.row], &mask);
        Answer { hit: set & !self.rows.masked(), status: Status::Ok }
    }

    #[inline(always)]
    fn insert_group<L: Level>(
        &mut self,
        level: L,
        _: (&[u64], usize),
        places: &mut Group<M>,
        ahead: Ahead<'_, Group<M>>,
        answers: &mut [Answer; GROUP],
    ) {
        let (keys, read, rows) = (self.keys, !self.rows.masked(), self.words.as_mut());
        keys.ready_to_set(level, &mut places.hashes);
        let rows = ChosenMut::new(rows, &places.rows);
        // As above.
        match ahead {
            Ahead::Nothing => put_in_rows(level, keys, rows, places, |_, _| (), (read, answers)),
            Ahead::Next(next) => {
                let fetch = |rows: &ChosenMut<_>, i: usize| rows.prefetch(next.rows[i], Cache::Nearest);
                put_in_rows(level, keys, rows, places, fetch, (read, answers));
            }
            Ahead::Later(later) => {
                let both = |rows: &ChosenMut<_>, i: usize| {
                    rows.prefetch(later.rows[i], Cache::Second);
                    rows.prefetch(places.rows[soon(i)], Cache::Nearest);
                };
                put_in_rows(level, keys, rows, places, both, (read, answers));
            }
        }
    }
}

/// Puts each key of a group into its row; `ahead` is told its number before. Answers only say whether it was there where
/// rows are `read`.
#[inline(always)]
fn put_in_rows<L: Level, K: Keys<N, M>, const N: usize, const M: usize>(
    level: L,
    keys: &K,
    mut rows: ChosenMut<'_, [u64; N]>,
    places: &Group<M>,
    ahead: impl Fn(&ChosenMut<'_, [u64; N]>, usize),
    (read, answers): (bool, &mut [Answer; GROUP]),
) {
    for (first, answers) in (0..).step_by(2).zip(answers.as_chunks_mut::<2>().0) {
        let masks = keys.masks(level, places.pair(first));
        for (i, (answer, mask)) in (first..).zip(answers.iter_mut().zip(&masks)) {
            ahead(&rows, i);
            let set = level.put(rows.get(i), mask);
            *answer = Answer { hit: set & read, status: Status::Ok };
        }
    }
}

impl<K: Keys<N, M>, const N: usize, const M: usize> Sharded for View<'_, &mut [[u64; N]], K, N, M> {
    fn shards(self, count: usize) -> (Vec<Self>, usize) {
        let Self { rows, words, keys } = self;
        let share = words.len().div_ceil(count);
        (words.chunks_mut(share).map(|words| Self { rows, words, keys }).collect(), share)
    }

    #[inline(always)]
    fn row(place: &mut Place<M>) -> &mut usize {
        &mut place.row
    }
}

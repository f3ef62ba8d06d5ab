//! Many keys at once: the memory reads of a group of keys overlap.
//!
//! A filter that can say where a key belongs before it looks there is [`Staged`]. Its keys
//! are then worked on in groups: while one is worked on, the rows of the next are read, and the hashes
//! of that one were computed before. The code is built for what the
//! processor has ([`cpu`]).
//!
//! ```
//! use membrane::{Answer, Filter, tinyset::{Config, TinySet}};
//!
//! let config = Config { blocks: 1024, chains: 64, array: 448, key_w: 64, ..Config::default() };
//! let mut filter = TinySet::new(&config)?;
//! let keys: Vec<u64> = (0..1000).collect();
//! filter.insert_all(&keys, &mut [Answer::default(); 1000]);
//! let mut hits = [false; 1000];
//! filter.contains_all(&keys, &mut hits);
//! assert_eq!(hits, [true; 1000]);
//! # Ok::<(), membrane::ConfigError>(())
//! ```

use crate::{
    cpu::{self, Cache, Cpu, Distance, Level, MOST_AHEAD, Work},
    filter::Answer,
    hash,
};

/// Keys of a group: more reads than a core can have under way do not help.
pub const GROUP: usize = hash::GROUP;

/// Words of a memory that is near.
pub const NEAR: usize = 1 << 15;

/// A filter whose queries can be split at the memory access. What is done on a level is
/// to be `#[inline(always)]`, as [`Work`] says.
pub trait Staged {
    /// Where a key belongs, and what the hash says of it.
    type Place: Copy;

    /// Those of a group.
    type Places: Places<Self::Place>;

    /// Room for what is found out about the keys of a group: to make it anew for every group would take time.
    type Room: Default;

    /// Hashes a key.
    fn place(&self, key: &[u64]) -> Self::Place;

    /// Hashes a whole group of keys, of so many words each.
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Self::Places);

    /// How far the memory is.
    fn distance(&self) -> Distance;

    /// Begins to read the memory that the place is in.
    fn prefetch(&self, place: &Self::Place, into: Cache);

    /// Whether the key that belongs there may be present.
    fn contains_at<L: Level>(&self, level: L, key: &[u64], place: &Self::Place) -> bool;

    /// The same for a group of keys, of so many words each. On the way, key by key, it is begun to
    /// read the places of a group after it: as many reads at once as there are keys would be more
    /// than a processor takes. The group's own places are no longer needed afterwards.
    #[inline(always)]
    fn contains_group<L: Level>(
        &self,
        level: L,
        (keys, each): (&[u64], usize),
        places: &mut Self::Places,
        ahead: Ahead<'_, Self::Places>,
        _room: &mut Self::Room,
        hits: &mut [bool; GROUP],
    ) {
        for (i, hit) in hits.iter_mut().enumerate() {
            ahead.begin(self, i);
            *hit = self.contains_at(level, key(keys, each, i), &places.get(i));
        }
    }
}

/// One key of a group. Not by an index, which may panic: most filters do not look at the key
/// again, and then this is nothing.
#[inline(always)]
fn key(keys: &[u64], each: usize, i: usize) -> &[u64] {
    keys.get(i * each..(i + 1) * each).unwrap_or_default()
}

/// The places of a group, in whatever order is quick to write and to read.
pub trait Places<P>: Default {
    /// Writes one.
    fn put(&mut self, i: usize, place: P);

    /// Reads one.
    fn get(&self, i: usize) -> P;
}

/// What is begun to read while a group is worked on: the places of a group after it, and where these are to wait.
#[derive(Debug)]
pub struct Ahead<'a, P>(Option<(&'a P, Cache)>);

impl<'a, P> Ahead<'a, P> {
    /// The places of a group as many before as memory at this distance asks for.
    #[inline(always)]
    fn at(distance: Distance, places: &'a P) -> Self {
        Self(distance.ahead().map(|(_, into)| (places, into)))
    }

    /// The group, and where its rows are to wait.
    #[inline(always)]
    pub fn group(&self) -> Option<(&'a P, Cache)> {
        self.0
    }

    /// Begins to read the place of one of its keys.
    #[inline(always)]
    pub fn begin<F: Staged<Places = P> + ?Sized>(&self, filter: &F, i: usize)
    where
        P: Places<F::Place>,
    {
        if let Some((places, into)) = self.group() {
            filter.prefetch(&places.get(i), into);
        }
    }
}

/// Groups that are hashed and not yet worked on, and the one that is.
const RING: usize = 2 + MOST_AHEAD;

/// One after the other.
pub struct Listed<P>([P; GROUP]);

impl<P: Copy + Default> Default for Listed<P> {
    #[inline(always)]
    fn default() -> Self {
        Self([P::default(); GROUP])
    }
}

impl<P: Copy + Default> Places<P> for Listed<P> {
    #[inline(always)]
    fn put(&mut self, i: usize, place: P) {
        self.0[i] = place;
    }

    #[inline(always)]
    fn get(&self, i: usize) -> P {
        self.0[i]
    }
}

/// A filter whose inserts can be split as well.
pub trait StagedMut: Staged {
    /// What is made ready for a group some time before it is worked on: what was just written would have to be waited for.
    type Ready: Default;

    /// Makes it ready, before the next group is hashed.
    #[inline(always)]
    fn make_ready<L: Level>(&self, _level: L, _places: &Self::Places, _ready: &mut Self::Ready) {}

    /// Adds the key that belongs there.
    fn insert_at<L: Level>(&mut self, level: L, key: &[u64], place: &Self::Place) -> Answer;

    /// The same for a group of keys, as [`Staged::contains_group`].
    #[inline(always)]
    fn insert_group<L: Level>(
        &mut self,
        level: L,
        (keys, each): (&[u64], usize),
        places: &mut Self::Places,
        ahead: Ahead<'_, Self::Places>,
        _ready: &Self::Ready,
        answers: &mut [Answer; GROUP],
    ) {
        for (i, answer) in answers.iter_mut().enumerate() {
            ahead.begin(self, i);
            *answer = self.insert_at(level, key(keys, each, i), &places.get(i));
        }
    }
}

/// The keys that lie one after another in `words`.
///
/// # Panics
/// When the words cannot be shared out evenly.
pub fn split(words: &[u64], keys: usize) -> std::slice::ChunksExact<'_, u64> {
    words.chunks_exact(words_each(words, keys))
}

/// Words of each of the keys that lie one after another in `words`.
///
/// # Panics
/// When the words cannot be shared out evenly.
pub fn words_each(words: &[u64], keys: usize) -> usize {
    let each = words.len() / keys.max(1);
    assert_eq!(each * keys, words.len(), "{} words are not {keys} keys of equal length", words.len());
    each.max(1)
}

/// [`Filter::contains`](crate::Filter::contains) by its stages.
#[inline(always)]
pub fn contains<F: Staged>(filter: &F, cpu: Cpu, key: &[u64]) -> bool {
    struct Contains<'a, F: Staged>(&'a F, &'a [u64]);

    impl<F: Staged> Work for Contains<'_, F> {
        type Output = bool;

        #[inline(always)]
        fn run<L: Level>(self, level: L) -> bool {
            let Self(filter, key) = self;
            filter.contains_at(level, key, &filter.place(key))
        }
    }

    cpu.run(Contains(filter, key))
}

/// [`Filter::insert`](crate::Filter::insert) by its stages.
#[inline(always)]
pub fn insert<F: StagedMut>(filter: &mut F, cpu: Cpu, key: &[u64]) -> Answer {
    struct Insert<'a, F: Staged>(&'a mut F, &'a [u64]);

    impl<F: StagedMut> Work for Insert<'_, F> {
        type Output = Answer;

        #[inline(always)]
        fn run<L: Level>(self, level: L) -> Answer {
            let Self(filter, key) = self;
            let place = filter.place(key);
            filter.insert_at(level, key, &place)
        }
    }

    cpu.run(Insert(filter, key))
}

/// [`Filter::contains_all`](crate::Filter::contains_all) in groups.
pub fn contains_all<F: Staged>(filter: &F, cpu: Cpu, keys: &[u64], hits: &mut [bool]) {
    struct Contains<'a, F: Staged>(&'a F, F::Room);

    impl<F: Staged> Operation for Contains<'_, F> {
        type Filter = F;
        type Answer = bool;

        #[inline(always)]
        fn filter(&self) -> &F {
            self.0
        }

        #[inline(always)]
        fn at<L: Level>(&mut self, level: L, key: &[u64], place: &F::Place) -> bool {
            self.0.contains_at(level, key, place)
        }

        #[inline(always)]
        fn group<L: Level>(
            &mut self,
            level: L,
            keys: (&[u64], usize),
            places: &mut F::Places,
            ahead: Ahead<'_, F::Places>,
            hits: &mut [bool; GROUP],
        ) {
            self.0.contains_group(level, keys, places, ahead, &mut self.1, hits);
        }
    }

    cpu.run(All(Contains(filter, F::Room::default()), keys, hits));
}

/// [`Filter::insert_all`](crate::Filter::insert_all) in groups.
pub fn insert_all<F: StagedMut>(filter: &mut F, cpu: Cpu, keys: &[u64], answers: &mut [Answer]) {
    struct Insert<'a, F: StagedMut>(&'a mut F, F::Ready);

    impl<F: StagedMut> Operation for Insert<'_, F> {
        type Filter = F;
        type Answer = Answer;

        #[inline(always)]
        fn filter(&self) -> &F {
            self.0
        }

        #[inline(always)]
        fn make_ready<L: Level>(&mut self, level: L, places: &F::Places) {
            self.0.make_ready(level, places, &mut self.1);
        }

        #[inline(always)]
        fn at<L: Level>(&mut self, level: L, key: &[u64], place: &F::Place) -> Answer {
            self.0.insert_at(level, key, place)
        }

        #[inline(always)]
        fn group<L: Level>(
            &mut self,
            level: L,
            keys: (&[u64], usize),
            places: &mut F::Places,
            ahead: Ahead<'_, F::Places>,
            answers: &mut [Answer; GROUP],
        ) {
            self.0.insert_group(level, keys, places, ahead, &self.1, answers);
        }
    }

    cpu.run(All(Insert(filter, F::Ready::default()), keys, answers));
}

/// What is done with each key.
trait Operation {
    type Filter: Staged;
    type Answer;

    fn filter(&self) -> &Self::Filter;

    /// Does it, where the key belongs.
    fn at<L: Level>(
        &mut self,
        level: L,
        key: &[u64],
        place: &<Self::Filter as Staged>::Place,
    ) -> Self::Answer;

    /// Makes ready what it takes for a group that is worked on next.
    #[inline(always)]
    fn make_ready<L: Level>(&mut self, _level: L, _places: &<Self::Filter as Staged>::Places) {}

    /// Does it for a group of keys, of so many words each, and begins to read a later one's places.
    fn group<L: Level>(
        &mut self,
        level: L,
        keys: (&[u64], usize),
        places: &mut <Self::Filter as Staged>::Places,
        ahead: Ahead<'_, <Self::Filter as Staged>::Places>,
        answers: &mut [Self::Answer; GROUP],
    );
}

/// An operation on all keys.
struct All<'a, O: Operation>(O, &'a [u64], &'a mut [O::Answer]);

impl<O: Operation> Work for All<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self(mut operation, keys, answers) = self;
        let each = words_each(keys, answers.len());
        let (groups, rest) = answers.as_chunks_mut::<GROUP>();
        let (keys, rest_keys) = keys.split_at(groups.len() * GROUP * each);
        let mut places: [<O::Filter as Staged>::Places; RING] = Default::default();
        let distance = operation.filter().distance();
        // Three groups in every turn: one is hashed, the one before it is begun to read, and so many before that is worked on. What
        // was just hashed would have to be waited for.
        let between = distance.ahead().map_or(0, |(groups, _)| groups);
        let of_group = |group: usize| &keys[group * GROUP * each..(group + 1) * GROUP * each];
        // Where their places are.
        let (mut hashed, mut begun, mut now) = (0, 0, 0);
        let next = |place: usize| if place + 1 < RING { place + 1 } else { 0 };
        for turn in 0..=groups.len() + between {
            let group = turn.checked_sub(1 + between);
            if group.is_some() {
                operation.make_ready(level, &places[now]);
            }
            if turn < groups.len() {
                hash(operation.filter(), level, of_group(turn), each, &mut places[hashed]);
            }
            let is_begun = (1..=groups.len()).contains(&turn);
            if let Some(group) = group {
                let answers = &mut groups[group];
                if let Ok([now, later]) = places.get_disjoint_mut([now, begun])
                    && is_begun
                {
                    operation.group(level, (of_group(group), each), now, Ahead::at(distance, later), answers);
                } else {
                    operation.group(level, (of_group(group), each), &mut places[now], Ahead(None), answers);
                }
                now = next(now);
            } else if is_begun {
                for i in 0..GROUP {
                    Ahead::at(distance, &places[begun]).begin(operation.filter(), i);
                }
            }
            (begun, hashed) = (hashed, next(hashed));
        }
        for (answer, key) in rest.iter_mut().zip(rest_keys.chunks_exact(each)) {
            let place = operation.filter().place(key);
            *answer = operation.at(level, key, &place);
        }
    }
}

/// Hashes a group of keys.
#[inline(always)]
fn hash<F: Staged>(filter: &F, level: impl Level, keys: &[u64], each: usize, places: &mut F::Places) {
    // Keys are read a group at a time, between reads at random: a processor does not foresee that.
    let ahead = (2 * keys.len()).max(8 * GROUP);
    cpu::prefetch_lines(keys, ahead, GROUP * each / 8, level.once());
    filter.places(level, keys, each, places);
}

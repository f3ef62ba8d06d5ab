//! Blocks of whole words, for many keys at once.

use std::borrow::{Borrow, BorrowMut};

use super::{
    block::Layout,
    group::{Found, Group},
    place::{Fields, Place},
    request::{self, Done},
};
use crate::{
    batch::{Ahead, GROUP, NEAR, Places, Staged, StagedMut},
    cam::Cam,
    cpu::{self, Cache, Distance, Level},
    filter::{Answer, Op},
    parallel::Sharded,
};

/// The blocks of a filter, of `N` whole words each, to be read, or read and written.
pub struct View<'a, W, C, const N: usize> {
    pub fields: &'a Fields,
    pub layout: &'a Layout,
    pub blocks: W,
    pub list: C,
}

impl<W: AsRef<[[u64; N]]>, C: Borrow<Cam>, const N: usize> Staged for View<'_, W, C, N> {
    type Place = Place;
    type Places = Group;
    type Room = Found;

    #[inline(always)]
    fn place(&self, key: &[u64]) -> Place {
        self.fields.place(key)
    }

    #[inline(always)]
    fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Group) {
        self.fields.places(level, keys, each, places);
    }

    /// Much is done for a key: to read ahead pays beyond the first cache.
    #[inline(always)]
    fn distance(&self) -> Distance {
        Distance::of(self.blocks.as_ref().len() * N, NEAR / 4)
    }

    #[inline(always)]
    fn prefetch(&self, place: &Place, into: Cache) {
        cpu::prefetch(self.blocks.as_ref(), place.block, into);
    }

    #[inline(always)]
    fn contains_at<L: Level>(&self, level: L, key: &[u64], place: &Place) -> bool {
        let Place { block, chain, remainder } = *place;
        let block = &self.blocks.as_ref()[block];
        let hit = self.layout.contains_on(level, block, chain, remainder);
        // Whether it is a hit is hard to guess; whether the list is empty is not.
        hit | self.list.borrow().contains(key)
    }

    /// Keys are only looked at again if there is something in the list.
    #[inline(always)]
    fn contains_group<L: Level>(
        &self,
        level: L,
        (keys, each): (&[u64], usize),
        places: &mut Group,
        ahead: Ahead<'_, Group>,
        found: &mut Found,
        hits: &mut [bool; GROUP],
    ) {
        let (layout, blocks, list) = (self.layout, self.blocks.as_ref(), self.list.borrow());
        if L::FAST {
            layout.contains_group(level, blocks, (places, ahead), found, hits);
        } else {
            for (i, hit) in hits.iter_mut().enumerate() {
                ahead.begin(self, i);
                let Place { block, chain, remainder } = places.get(i);
                *hit = layout.contains_on(level, &blocks[block], chain, remainder);
            }
        }
        if list.level() > 0 {
            for (hit, key) in hits.iter_mut().zip(keys.chunks_exact(each)) {
                *hit |= list.contains(key);
            }
        }
    }
}

impl<C: Borrow<Cam> + BorrowMut<Cam>, const N: usize> StagedMut for View<'_, &mut [[u64; N]], C, N> {
    type Ready = ();

    #[inline(always)]
    fn insert_at<L: Level>(&mut self, level: L, key: &[u64], place: &Place) -> Answer {
        let (block, list) = (&mut self.blocks[place.block], self.list.borrow_mut());
        if self.layout.insert_on(level, block, place.chain, place.remainder) {
            return Answer::default();
        }
        request::in_list(list, self.layout.removals(), Op::Insert, key, Done::default()).answer
    }
}

/// Parts have no overflow list: its entries are in the order of all keys.
impl<const N: usize> Sharded for View<'_, &mut [[u64; N]], Cam, N> {
    fn shards(self, count: usize) -> (Vec<Self>, usize) {
        let Self { fields, layout, blocks, list } = self;
        let share = blocks.len().div_ceil(count);
        let shard = |blocks| Self { fields, layout, blocks, list: list.clone() };
        (blocks.chunks_mut(share).map(shard).collect(), share)
    }

    #[inline(always)]
    fn row(place: &mut Place) -> &mut usize {
        &mut place.block
    }
}

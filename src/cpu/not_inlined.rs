//! Where such instructions are not written out.

use super::{Pair, Pairs};

pub const ROOM_OF_512: u64 = 0;

/// Words that nothing asks for.
#[derive(Clone, Copy, Debug)]
pub struct AllRows;

impl AllRows {
    pub fn new(_: &[u64]) -> Self {
        Self
    }
}

/// There is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inlined {}

impl Inlined {
    pub fn sum<const TEST: u8>(self, _: &Pairs, _: u64) -> Pair {
        match self {}
    }

    pub fn one_of_each_64(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }

    pub fn all_of_256(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }

    pub fn all_of_512(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }
}

/// Nor this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlinedWider {}

impl InlinedWider {
    pub fn all_of_256(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }

    pub fn one_of_each_64(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }

    pub fn all_of_512(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }
}

/// Nor this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlinedWidest {}

impl InlinedWidest {
    pub fn all_of_256(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }

    pub fn all_of_512(self, _: AllRows, _: Pair) -> bool {
        match self {}
    }
}

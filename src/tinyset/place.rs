//! Where the hash of a key puts it.

use super::{Config, group::Group};
use crate::{
    batch::{GROUP, Places},
    cpu::Level,
    hash::{Field, H3, Moved, Packed},
};

/// How the hash of a key becomes its place.
#[derive(Clone, Debug)]
pub struct Fields {
    pub block: Field,
    chain: Field,
    /// The block in its first word; in its second the chain, and the remainder above it.
    packed: Packed,
    /// All in one word, if there is room: half the tables for one key. The chain, the remainder above it, and the block at the top.
    short: Option<Packed<1>>,
}

impl Fields {
    /// Those of a filter, and the hash that they are of.
    pub fn new(config: &Config) -> (Self, H3) {
        let block = Field::selecting(config.blocks, 0);
        let chain = Field::selecting(config.chains.into(), block.end());
        let remainder = Field::selecting(1 << config.longest(), chain.end());
        let hash = H3::new(config.key_w, remainder.end(), config.seed).mixed(config.mix);
        let moves = [(block, 0, 0), (chain, 1, 0), (remainder, 1, chain.width)]
            .map(|(Field { lsb, width, .. }, word, at)| Moved { lsb, width, word, at });
        let fits = block.width > 0 && remainder.end() <= 64;
        let short = fits.then(|| {
            Packed::new(
                &hash,
                &moves.map(|moved| match moved.word {
                    0 => Moved { at: 64 - moved.width, ..moved },
                    _ => Moved { word: 0, ..moved },
                }),
            )
        });
        (Self { packed: Packed::new(&hash, &moves), short, block, chain }, hash)
    }

    /// The place of a key.
    #[inline(always)]
    pub fn place(&self, key: &[u64]) -> Place {
        self.place_of(self.packed.hash(key))
    }

    /// Whether keys are one word, and are not mixed.
    pub fn is_plain(&self) -> bool {
        self.packed.is_plain()
    }

    /// The place of a key that is plain. Above the remainder there may be more.
    #[inline(always)]
    pub fn place_plain(&self, key: u64) -> Place {
        let Some(short) = &self.short else { return self.place_of(self.packed.hash_plain(key)) };
        let [word] = short.hash_plain(key);
        let Field { n, width, .. } = self.block;
        Place {
            block: (((word >> ((64 - width) % 64)) * n) >> (width % 64)) as usize,
            chain: self.chain_of(word),
            remainder: word >> self.chain.width,
        }
    }

    #[inline(always)]
    fn chain_of(&self, rest: u64) -> u32 {
        selected(self.chain, rest & !(u64::MAX << self.chain.width))
    }

    #[inline(always)]
    fn place_of(&self, [block, rest]: [u64; 2]) -> Place {
        Place {
            block: selected(self.block, block) as usize,
            chain: self.chain_of(rest),
            remainder: rest >> self.chain.width,
        }
    }

    /// Those of a group of keys, of so many words each.
    #[inline(always)]
    pub fn places<L: Level>(&self, level: L, keys: &[u64], each: usize, places: &mut Group) {
        let mut hashes = [[0; GROUP]; 2];
        self.packed.hash_group(level, keys, each, &mut hashes);
        let [blocks, rest] = &hashes;
        for i in 0..GROUP {
            places.blocks[i] = selected(self.block, blocks[i]);
            places.chains[i] = self.chain_of(rest[i]);
            places.remainders[i] = (rest[i] >> self.chain.width) as u32;
        }
    }
}

/// What a field in the lower half of a word selects. For a power of two this is the field as it is.
#[inline(always)]
fn selected(field: Field, bits: u64) -> u32 {
    ((u64::from(bits as u32) * u64::from(field.n as u32)) >> field.width) as u32
}

impl Places<Place> for Group {
    #[inline(always)]
    fn put(&mut self, i: usize, Place { block, chain, remainder }: Place) {
        (self.blocks[i], self.chains[i], self.remainders[i]) = (block as u32, chain, remainder as u32);
    }

    #[inline(always)]
    fn get(&self, i: usize) -> Place {
        Place { block: self.blocks[i] as usize, chain: self.chains[i], remainder: self.remainders[i].into() }
    }
}

/// What the hash says about a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which block.
    pub block: usize,
    /// Which of its chains.
    pub chain: u32,
    /// What is stored of the key, its first bit lowest.
    pub remainder: u64,
}

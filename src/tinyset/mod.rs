//! TinySet: blocks that shorten their fingerprints as they fill (Einziger and Friedman,
//! *TinySet*, 2015).
//!
//! The hash gives a key a block, a chain of it and a remainder. A block is one memory row:
//! an index with a bit per chain, and an array of slots ordered by chain, each with a bit
//! that says "last of its chain" and as many bits of a remainder as there is room for.
//! The paper's figure 7, five items in chains 0, 2 and 4 and 6 of 8, 24 array bits:
//!
//! ```text
//! index      last    slot 0 slot 1 slot 2 slot 3 slot 4
//! 10101010 | 10111 | 1001   1011   0110   1100   001
//! 0 2 4 6    E|AB|C|D   E      A      B      C      D
//! ```
//!
//! C slots share `ARRAY` bits: `floor(ARRAY / C)` each with their last bit, and one more for
//! the first `ARRAY mod C` slots. An insert lays the block out anew for C + 1 slots. There
//! is no counter: the index says how many chains there are, and the last of so many set
//! last bits ends the slots.
//!
//! With removals C never shrinks, because cut bits are gone; it is counted above the array,
//! and freed slots lie behind the live ones. A fingerprint that moves left into a wider slot
//! is padded with 0; so a 0 in that place matches anything, and a removal must first take
//! a match that has a 1 there ([`Layout::removed_slot`] says why).

pub mod bits;
mod block;
mod clocked;
mod config;
mod flow;
mod functional;
mod geometry;
mod group;
mod moves;
mod place;
mod repack;
mod request;
mod sizing;
mod view;

pub use block::{Chain, Layout};
pub use clocked::ClockedTinySet;
pub use config::Config;
pub use functional::TinySet;
pub use geometry::Shape;
pub use place::Place;

use crate::{
    clocked::{Clocked, Packed},
    filter::Filter,
    hash::{Field, H3},
    params::{ConfigError, Params},
    registry::{Core, Facts, Stage},
    rtl,
    size::{Forecast, ForecastError, Loads, Need, Variant},
};

/// The registry's entry.
pub static CORE: TinySetCore = TinySetCore;

/// See [`CORE`].
#[derive(Debug)]
pub struct TinySetCore;

static FACTS: Facts = Facts {
    name: "tinyset",
    about: "TinySet: blocks that shorten their fingerprints as they fill, one access per query",
    module: "membrane_tinyset",
    rtl: &[
        rtl!("membrane_tinyset.v"),
        rtl!("membrane_tinyset_rank.v"),
        rtl!("membrane_tinyset_select.v"),
        rtl!("membrane_tinyset_geometry.v"),
        rtl!("membrane_tinyset_match.v"),
        rtl!("membrane_tinyset_drops.v"),
        rtl!("membrane_tinyset_sums.v"),
        rtl!("membrane_tinyset_repack.v"),
        rtl!("membrane_tinyset_unpack.v"),
        rtl!("membrane_block_port.v"),
        rtl!("membrane_cam.v"),
        rtl!("membrane_equal.v"),
        rtl!("membrane_equal_pairs.v"),
        rtl!("membrane_equal_fours.v"),
        rtl!("membrane_hash_h3.v"),
        rtl!("membrane_mix.v"),
        rtl!("membrane_parity.v"),
        rtl!("membrane_select.v"),
        rtl!("membrane_sram_1p.v"),
    ],
    params: config::PARAMS,
    rules: config::RULES,
    presets: config::PRESETS,
    pipeline: &[
        Stage::new("s1", "hash; reduces its fields to block and chain"),
        Stage::new("s2", "waits for the port; hazards").memory("reads"),
        Stage::new("b0", "counts the chains, in all and before ours"),
        Stage::new("b1", "first slot, end of the chain, number of slots: three selects"),
        Stage::new(
            "b2",
            "C to s and mod, of the block as it is and with one slot more; by table, no divider",
        ),
        Stage::new("b3", "slot numbers to bit positions"),
        Stage::new("b4", "moves the chain's fingerprints to bit 0; marks the bits that an insert drops"),
        Stage::new(
            "b5",
            "compares PARALLEL slots at once; overflow list; counts dropped bits below each bit",
        ),
        Stage::new(
            "b6",
            "insert: closes the gaps by shifts of 1, 2, 4, 8 (and 16), opens that of the new item. Remove: \
             closes one gap",
        ),
        Stage::new("b7", "writes back").memory("writes back"),
        Stage::new("rsp", "waits for rsp_ready"),
    ],
};

impl Core for TinySetCore {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn filter(&self, params: &Params) -> Result<Box<dyn Filter>, ConfigError> {
        Ok(Box::new(TinySet::new(&Config::from_params(params)?)?))
    }

    fn clocked(&self, params: &Params) -> Result<Box<dyn Clocked>, ConfigError> {
        Ok(Box::new(Packed::new(ClockedTinySet::new(&Config::from_params(params)?)?)))
    }

    fn home(&self, params: &Params) -> Result<(H3, Field), ConfigError> {
        let filter = TinySet::new(&Config::from_params(params)?)?;
        Ok((filter.hash().clone(), filter.block_field()))
    }

    fn capacity(&self, params: &Params) -> Option<u64> {
        Config::from_params(params).ok().map(|config| config.capacity().into())
    }

    fn forecast(&self, params: &Params, keys: u64) -> Result<Forecast, ForecastError> {
        sizing::forecast(params, keys)
    }

    fn loads(&self, params: &Params, keys: &[u64]) -> Result<Option<Loads>, ForecastError> {
        Ok(Some(sizing::loads(params, keys)?))
    }

    fn variants(&self, need: &Need) -> Result<Vec<Variant>, String> {
        Ok(sizing::variants(need))
    }
}

//! The balanced Bloom filter: a blocked filter whose full blocks send keys
//! elsewhere (Kanizo, Hay and Keslassy, *Access-Efficient Balanced Bloom Filters*).
//!
//! | scheme | memories | choices of a key |
//! |---|---|---|
//! | single | 1 | one block, then the list |
//! | sequential | 1 | `D` blocks, tried in turn, then the list |
//! | multilevel | `D`, each `Q` times the one before | one block in each, then the list |
//!
//! A block is one row: `BLOCK_W` filter bits, and above them a count of its keys of
//! `clog2(H + 2)` bits. It takes a key while it holds fewer than `H`, and at `H` if
//! the key's coin for this choice (16 hash bits) is below `P`. A key that no choice
//! takes goes to the overflow list ([`crate::cam`]); when that is full, the insert is
//! refused and nothing changes. `ACCESS_BUDGET` bounds the block reads of all
//! inserts since the last clear: whoever comes later goes to the list untried.
//!
//! Counts never fall, so a block below `H` has never sent a key further, and a query
//! stops there. The list is always looked at.
//!
//! [`crate::analysis`] says how to choose `H`, `P` and `Q`, and what comes of it.

mod calm;
mod clocked;
mod coming;
mod config;
mod flow;
mod functional;
mod in_turn;
mod masks;
mod sizing;
mod staged;
mod state;

pub use clocked::ClockedBalanced;
pub use config::{Config, Scheme};
pub use functional::{Balanced, Choice, Place, Plan};

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
pub static CORE: BalancedCore = BalancedCore;

/// See [`CORE`].
#[derive(Debug)]
pub struct BalancedCore;

static FACTS: Facts = Facts {
    name: "balanced",
    about: "Blocked Bloom filter with counted blocks and an overflow list: single, sequential, multilevel",
    module: "membrane_balanced",
    rtl: &[
        rtl!("membrane_balanced.v"),
        rtl!("membrane_balanced_choice.v"),
        rtl!("membrane_balanced_level.v"),
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
        Stage::new("s1", "reduces the fields of the hash to rows, bits and coins of all choices"),
        Stage::new(
            "s2",
            "reads every level; CLEAR, when s3 is empty and no row waits, writes zeros to one row a cycle",
        )
        .memory("reads"),
        Stage::new(
            "s3",
            "on the newest rows: hit, who takes the key, list, budget; sequential: reads the next choice and \
             stays; leaves the changed row in its level's register, to be written",
        )
        .memory("writes"),
        Stage::new("rsp", "waits for rsp_ready"),
    ],
};

impl Core for BalancedCore {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn filter(&self, params: &Params) -> Result<Box<dyn Filter>, ConfigError> {
        Ok(Box::new(Balanced::new(&Config::from_params(params)?)?))
    }

    fn clocked(&self, params: &Params) -> Result<Box<dyn Clocked>, ConfigError> {
        Ok(Box::new(Packed::new(ClockedBalanced::new(&Config::from_params(params)?)?)))
    }

    fn home(&self, params: &Params) -> Result<(H3, Field), ConfigError> {
        let filter = Balanced::new(&Config::from_params(params)?)?;
        Ok((filter.hash().clone(), filter.choices()[0].row))
    }

    fn forecast(&self, params: &Params, keys: u64) -> Result<Forecast, ForecastError> {
        sizing::forecast(params, keys)
    }

    fn loads(&self, params: &Params, keys: &[u64]) -> Result<Option<Loads>, ForecastError> {
        Ok(Some(sizing::loads(params, keys)?))
    }

    fn variants(&self, need: &Need) -> Result<Vec<Variant>, String> {
        sizing::variants(need)
    }
}

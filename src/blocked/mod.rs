//! The blocked Bloom filter, and Bloom-g: all bits of a key in one memory row, or
//! in `GROUP` rows.
//!
//! ```text
//!   hash: | row 0 | index | index | ... | row 1 | index | index | ... |
//!             |       \       |
//!             v        v      v
//!   row:  [ . . . . . . 1 . . 1 . . . . . . . . 1 . . ]   BLOCK_W bits, one access
//! ```
//!
//! | shape | `GROUP` | accesses of a query | of an insert |
//! |---|---|---|---|
//! | blocked | 1 | 1 | 2 (masked memory: 1) |
//! | Bloom-g | g | g | at most 2g (masked memory: g) |
//!
//! A key sets `HASHES / GROUP` bits in each of its rows. With standard in-block
//! hashing each index selects among all bits of the row; with partitioned hashing
//! index i selects within part i of `floor(BLOCK_W / (HASHES / GROUP))` bits, bits
//! left over at the top of the row stay 0, and no two indices meet.
//!
//! A Bloom-g key may draw the same row twice: the model and the RTL treat its words
//! one after the other, so that nothing about this is special.

mod alone;
mod clocked;
mod config;
mod flow;
mod functional;
mod mask;
mod rows;
mod sizing;
#[cfg(test)]
mod tests;
mod view;

pub use clocked::ClockedBlocked;
pub use config::{Config, InBlock};
pub use functional::Blocked;

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
pub static CORE: BlockedCore = BlockedCore;

/// See [`CORE`].
#[derive(Debug)]
pub struct BlockedCore;

static FACTS: Facts = Facts {
    name: "blocked",
    about: "Bloom filter with all bits of a key in one memory row (blocked), or in GROUP rows (Bloom-g)",
    module: "membrane_blocked",
    rtl: &[
        rtl!("membrane_blocked.v"),
        rtl!("membrane_block_port.v"),
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
        Stage::new("s1", "reduces the fields of the hash to rows and bit indices"),
        Stage::new("s2", "offers one row after the other to the port").memory("reads; masked: writes"),
        Stage::new("s3", "compares the row read with the key's bits, and sets them"),
        Stage::new(
            "s4",
            "writes back what changed; the last row's is the response, which waits for rsp_ready",
        )
        .memory("writes back"),
    ],
};

impl Core for BlockedCore {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn filter(&self, params: &Params) -> Result<Box<dyn Filter>, ConfigError> {
        Ok(Box::new(Blocked::new(&Config::from_params(params)?)?))
    }

    fn clocked(&self, params: &Params) -> Result<Box<dyn Clocked>, ConfigError> {
        Ok(Box::new(Packed::new(ClockedBlocked::new(&Config::from_params(params)?)?)))
    }

    fn home(&self, params: &Params) -> Result<(H3, Field), ConfigError> {
        let filter = Blocked::new(&Config::from_params(params)?)?;
        Ok((filter.hash().clone(), filter.row_field(0)))
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

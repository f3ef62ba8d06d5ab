//! The partitioned Bloom filter and its relatives: `BANKS` memories with `HASHES`
//! hash functions each.
//!
//! | shape | `BANKS` | `HASHES` | cycles per operation |
//! |---|---|---|---|
//! | partitioned | k | 1 | 1 |
//! | hybrid | k / h | h | h |
//! | standard, one port | 1 | k | k |
//!
//! A bank holds `ROWS * WIDTH` bits, and hash i selects bit `g_i` of bank
//! `i / HASHES`: row `g_i / WIDTH`, bit `g_i % WIDTH` of the row. With independent
//! indexing each `g_i` is a hash field of its own; with double hashing
//! `g_i = (h1 + i * h2) mod (ROWS * WIDTH)`, which weakens the standard shape but
//! not the partitioned one (Almeida, *A Case for Partitioned Bloom Filters*,
//! section 5).
//!
//! An insert only ever sets bits, so with one-bit rows it is one write per hash
//! and needs neither a read nor a mask.

mod alone;
mod banks;
mod clocked;
mod config;
mod functional;
mod setops;
mod sizing;

pub use clocked::ClockedPartitioned;
pub use config::{Config, Indexing};
pub use functional::Partitioned;
pub use setops::SetError;

use crate::{
    clocked::{Clocked, Packed},
    filter::Filter,
    hash::{Field, H3},
    params::{ConfigError, Params},
    registry::{Core, Facts, Stage},
    rtl,
    size::{Forecast, ForecastError, Need, Variant},
};

/// The registry's entry.
pub static CORE: PartitionedCore = PartitionedCore;

/// See [`CORE`].
#[derive(Debug)]
pub struct PartitionedCore;

static FACTS: Facts = Facts {
    name: "partitioned",
    about: "Bloom filter in BANKS memories: partitioned, standard on one port, or between",
    module: "membrane_partitioned",
    rtl: &[
        rtl!("membrane_partitioned.v"),
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
        Stage::new("s1", "reduces the fields of the hash to bit indices"),
        Stage::new("s2", "accesses all banks, HASHES times; CLEAR writes one row a cycle")
            .memory("reads or writes"),
        Stage::new("s3", "ANDs the bits read over banks and accesses"),
        Stage::new("rsp", "waits for rsp_ready"),
    ],
};

impl Core for PartitionedCore {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn filter(&self, params: &Params) -> Result<Box<dyn Filter>, ConfigError> {
        Ok(Box::new(Partitioned::new(&Config::from_params(params)?)?))
    }

    fn clocked(&self, params: &Params) -> Result<Box<dyn Clocked>, ConfigError> {
        Ok(Box::new(Packed::new(ClockedPartitioned::new(&Config::from_params(params)?)?)))
    }

    fn home(&self, params: &Params) -> Result<(H3, Field), ConfigError> {
        let filter = Partitioned::new(&Config::from_params(params)?)?;
        Ok((filter.hash().clone(), filter.fields()[0]))
    }

    fn forecast(&self, params: &Params, keys: u64) -> Result<Forecast, ForecastError> {
        sizing::forecast(params, keys)
    }

    fn variants(&self, need: &Need) -> Result<Vec<Variant>, String> {
        sizing::variants(need)
    }
}

//! What the blocked filter does with given parameters, and its variants: see [`crate::size`].

use super::{Blocked as Filter, Config, InBlock};
use crate::{
    analysis::{self, AnalysisError, Blocked, BloomG, LoadDistribution},
    params::Params,
    size::{Cost, Forecast, ForecastError, Loads, Need, Sram, Variant},
};

pub(super) fn forecast(params: &Params, keys: u64) -> Result<Forecast, ForecastError> {
    let config = Config::from_params(params)?;
    let in_word = match config.in_block {
        InBlock::Standard => analysis::InBlock::Standard { bits: config.block_w.into() },
        InBlock::Partitioned => analysis::InBlock::Partitioned { part_bits: config.part_w().into() },
    };
    let filter = BloomG { keys, words: config.rows, group: config.group, hashes: config.hashes, in_word };
    // An insert reads each row, and writes it unless its bits were set before; or it writes
    // only, in masked memories.
    let rows = config.group;
    let accesses =
        f64::from(rows) * if config.masked { 1.0 } else { 2.0 - already_set(&config, keys, in_word)? };
    let most_accesses = rows * if config.masked { 1 } else { 2 };
    Ok(Forecast {
        // Exact for one row per key; with more it is high by some 1/keys, and far cheaper than exact.
        rate: filter.independent_rate()?,
        query: Cost::always(rows, rows),
        insert: Cost { accesses, most_accesses, cycles: accesses },
        memories: vec![Sram { banks: 1, rows: config.rows, width: config.block_w }],
        cam: 0,
        suffices: 1.0,
    })
}

/// The share of rows in which an insert finds all its bits set, on average from the first key
/// to the last.
fn already_set(config: &Config, keys: u64, in_block: analysis::InBlock) -> Result<f64, AnalysisError> {
    const POINTS: u64 = 4;
    let mut share = 0.0;
    for point in 0..POINTS {
        let picks = keys * u64::from(config.group) * (2 * point + 1) / (2 * POINTS);
        let row = Blocked { keys: picks, blocks: config.rows, hashes: config.bits_per_row(), in_block };
        share += row.false_positive_rate()? / POINTS as f64;
    }
    Ok(share)
}

/// The rows of a key are in its hash, and nowhere else.
pub(super) fn loads(params: &Params, keys: &[u64]) -> Result<Loads, ForecastError> {
    let config = Config::from_params(params)?;
    let filter = Filter::new(&config)?;
    let mut h = vec![0; filter.hash().words()];
    let mut rows = vec![0; config.rows as usize];
    for key in keys {
        filter.hash().hash_into(&[*key], &mut h);
        for word in 0..config.group as usize {
            rows[filter.row_field(word).of(&h) as usize] += 1;
        }
    }
    let picks = keys.len() as u64 * u64::from(config.group);
    Ok(Loads::count(rows, LoadDistribution::binomial(picks, config.rows)?))
}

pub(super) fn variants(need: &Need) -> Result<Vec<Variant>, String> {
    if need.removals {
        return Err("cannot remove keys: a bit may be shared".into());
    }
    let mut variants = Vec::new();
    for block_w in need.rows(&[64, 128, 256, 512]) {
        for hashes in need.hashes() {
            for (group, in_block, words) in [
                (1, InBlock::Standard, String::new()),
                (1, InBlock::Partitioned, " in parts".into()),
                (2, InBlock::Standard, ", 2 per key (Bloom-2)".into()),
                (3, InBlock::Standard, ", 3 per key (Bloom-3)".into()),
            ] {
                let hashes = hashes.next_multiple_of(group);
                let key_w = need.key_w;
                variants.push(Variant::new(format!("{block_w}-bit rows{words}"), block_w, move |rows| {
                    Some(
                        Config { block_w, rows, hashes, group, in_block, key_w, ..Config::default() }
                            .params(),
                    )
                }));
            }
        }
    }
    Ok(variants)
}

//! What TinySet does with given parameters, and its variants: see [`crate::size`].

use super::{Config, TinySet as Filter};
use crate::{
    analysis::{LoadDistribution, Reading, TinySet},
    filter::{Answer, Filter as _},
    params::Params,
    size::{Cost, Forecast, ForecastError, Loads, Need, Sram, Variant},
};

pub(super) fn forecast(params: &Params, keys: u64) -> Result<Forecast, ForecastError> {
    let config = Config::from_params(params)?;
    let theory = TinySet {
        keys,
        blocks: config.blocks,
        chains: config.chains,
        array: config.array,
        f_max: config.longest(),
        c_max: config.capacity(),
    };
    let reading = if config.removals { Reading::Wildcard } else { Reading::Extended };
    // A long chain takes further cycles; chains of more than twice PARALLEL are not counted.
    let longer = theory.long_chain_share(config.parallel)?;
    // No block with more keys than slots: the list is for what this bound leaves out.
    let suffices = 1.0 - theory.overflow_probability()?;
    Ok(Forecast {
        rate: theory.false_positive_rate(reading)?,
        query: Cost { cycles: 1.0 + longer, ..Cost::always(1, 1) },
        insert: Cost::always(2, 2),
        memories: vec![Sram { banks: 1, rows: config.blocks, width: config.layout().block_w() }],
        cam: config.cam_depth,
        suffices,
    })
}

pub(super) fn loads(params: &Params, keys: &[u64]) -> Result<Loads, ForecastError> {
    let config = Config::from_params(params)?;
    let mut filter = Filter::new(&config)?;
    filter.insert_all(keys, &mut vec![Answer::default(); keys.len()]);
    let live = |block| filter.layout().find(&filter.load(block), 0).live as usize;
    let theory = LoadDistribution::binomial(keys.len() as u64, config.blocks)?;
    Ok(Loads::count((0..config.blocks as usize).map(live), theory))
}

/// Chains of a block, in parts of 64 of its bits: few chains for low rates, many for high ones.
const CHAINS: [u32; 6] = [4, 6, 8, 10, 12, 14];

pub(super) fn variants(need: &Need) -> Vec<Variant> {
    let removals = need.removals;
    let words = if removals { " with removals" } else { "" };
    let mut variants = Vec::new();
    for row in need.rows(&[256, 512]) {
        for share in CHAINS {
            let chains = row * share / 64;
            let base = Config { chains, removals, key_w: need.key_w, ..Config::default() };
            // What is left, less the count of slots, whose width the array decides.
            let fits = |array: &u32| Config { array: *array, ..base.clone() }.layout().block_w() <= row;
            let Some(array) = (4..=row.saturating_sub(chains)).rev().find(fits) else { continue };
            variants.push(Variant::new(format!("{row}-bit blocks{words}"), row, move |blocks| {
                Some(Config { blocks, array, ..base.clone() }.params())
            }));
        }
    }
    variants
}

//! What the partitioned filter does with given parameters, and its variants: see [`crate::size`].

use super::{Config, Indexing};
use crate::{
    analysis::{AnalysisError, Hybrid},
    params::Params,
    size::{Cost, Forecast, ForecastError, Need, Sram, Variant},
};

pub(super) fn forecast(params: &Params, keys: u64) -> Result<Forecast, ForecastError> {
    let config = Config::from_params(params)?;
    let part_bits = config.bank_bits();
    let filter = Hybrid { keys, part_bits, parts: config.banks, hashes_per_part: config.hashes };
    let mut rate = filter.false_positive_rate()?;
    if config.indexing == Indexing::Double {
        if config.hashes > 1 {
            return Err(AnalysisError::NoSolution {
                argument: "INDEXING",
                value: 1.0,
                reason: "double hashing has weak spots when HASHES is above 1",
                remedy: "use independent indexing, or HASHES 1; analysis::DoubleStandard has small cases",
            }
            .into());
        }
        // Some key has the same h1 and h2: then all indices are the same.
        let pairs = -(part_bits as f64).powi(-2);
        let twin = -(keys as f64 * pairs.ln_1p()).exp_m1();
        rate += (1.0 - rate) * twin;
    }
    // Every bank is accessed HASHES times, all banks at the same time.
    let cost = Cost::always(config.k(), config.hashes);
    Ok(Forecast {
        rate,
        query: cost,
        insert: cost,
        memories: vec![Sram { banks: config.banks.into(), rows: config.rows, width: config.width }],
        cam: 0,
        suffices: 1.0,
    })
}

pub(super) fn variants(need: &Need) -> Result<Vec<Variant>, String> {
    if need.removals {
        return Err("cannot remove keys: a bit may be shared".into());
    }
    let width = need.row.unwrap_or(1);
    let masked = if width == 1 { String::new() } else { format!(", {width}-bit rows with write mask") };
    let mut variants = Vec::new();
    for k in need.hashes() {
        for (hashes, about) in [(1, "partitioned"), (2, "hybrid, 2 hashes a bank"), (k, "standard, one port")]
        {
            // Every shape once: one bank is the standard one, one hash a bank the partitioned one.
            let banks = k.div_ceil(hashes);
            if (hashes == 2 && banks == 1) || (hashes == k && k == 1) {
                continue;
            }
            let key_w = need.key_w;
            variants.push(Variant::new(format!("{about}{masked}"), banks * width, move |rows| {
                Some(Config { banks, hashes, rows, width, key_w, ..Config::default() }.params())
            }));
        }
    }
    Ok(variants)
}

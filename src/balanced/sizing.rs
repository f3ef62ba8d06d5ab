//! What the balanced filter does with given parameters, and its variants: see [`crate::size`].

use super::{Balanced, Config, Scheme};
use crate::{
    analysis::{
        AccessProblem, AnalysisError, Balance, InBlock, Levels, Listed, LoadDistribution, Multilevel,
        Sequential, Threshold, single,
    },
    filter::{Answer, Filter as _},
    params::Params,
    size::{CONFIDENCE, Cost, Forecast, ForecastError, Loads, Need, Sram, Variant},
};

/// Loads, accesses and list of a filter that holds `keys` keys.
fn balance(config: &Config, keys: u64) -> Result<(Balance, Listed), AnalysisError> {
    let levels = config.levels();
    let blocks: u64 = levels.iter().sum();
    let (r, threshold) = (keys as f64 / blocks as f64, config.threshold());
    if config.access_budget != 0 {
        return Err(AnalysisError::NoSolution {
            argument: "ACCESS_BUDGET",
            value: config.access_budget as f64,
            reason: "how long the list gets is known without a budget only",
            remedy: "set it to 0",
        });
    }
    if config.scheme == Scheme::Sequential {
        let scheme = Sequential { r, choices: config.d, threshold, budget: None };
        let balance = scheme.balance()?;
        let listed = scheme.listed(&balance, blocks)?;
        return Ok((balance, listed));
    }
    let alpha = levels.iter().map(|rows| *rows as f64 / blocks as f64).collect();
    let scheme = Multilevel { r, alpha, threshold, budget: None };
    let balance = match config.scheme {
        Scheme::Single => single(&LoadDistribution::binomial(keys, blocks)?, threshold),
        _ => scheme.balance()?,
    };
    let listed = scheme.listed(&balance, blocks)?;
    Ok((balance, listed))
}

pub(super) fn forecast(params: &Params, keys: u64) -> Result<Forecast, ForecastError> {
    let config = Config::from_params(params)?;
    let (balance, listed) = balance(&config, keys)?;
    let in_block = InBlock::Standard { bits: config.block_w.into() };
    let (d, stored) = (config.d, 1.0 - balance.gamma());
    // Levels are read together, and a write delays the next read; writes of further levels often
    // do so together with one of the first, which is not counted here. Sequential reads and
    // writes one memory.
    let (query, insert) = if config.scheme == Scheme::Sequential {
        let (reads, inserts) = (balance.negative_query_accesses(), balance.insert_accesses() + stored);
        (
            Cost { accesses: reads, most_accesses: d, cycles: reads },
            Cost { accesses: inserts, most_accesses: d + 1, cycles: inserts },
        )
    } else {
        let accesses = f64::from(d) + stored;
        (Cost::always(d, 1), Cost { accesses, most_accesses: d + 1, cycles: 1.0 + stored })
    };
    let sram = |rows: u64| Sram { banks: 1, rows, width: config.row_w() };
    Ok(Forecast {
        rate: balance.false_positive_rate(in_block, config.hashes)?,
        query,
        insert,
        memories: config.levels().into_iter().map(sram).collect(),
        cam: config.cam_depth,
        suffices: listed.at_most(config.cam_depth.into()),
    })
}

pub(super) fn loads(params: &Params, keys: &[u64]) -> Result<Loads, ForecastError> {
    let config = Config::from_params(params)?;
    let mut filter = Balanced::new(&config)?;
    filter.insert_all(keys, &mut vec![Answer::default(); keys.len()]);
    let (balance, _) = balance(&config, keys.len() as u64)?;
    Ok(Loads { blocks: filter.loads(0), theory: balance.choices()[0].clone() })
}

/// Schemes to try, with their choices.
const SCHEMES: [(Scheme, u32, &str); 6] = [
    (Scheme::Single, 1, "single"),
    (Scheme::Sequential, 2, "sequential, 2 choices"),
    (Scheme::Sequential, 3, "sequential, 3 choices"),
    (Scheme::Multilevel, 2, "multilevel, 2 levels"),
    (Scheme::Multilevel, 3, "multilevel, 3 levels"),
    (Scheme::Multilevel, 4, "multilevel, 4 levels"),
];

pub(super) fn variants(need: &Need) -> Result<Vec<Variant>, String> {
    if need.removals {
        return Err("cannot remove keys: a bit may be shared".into());
    }
    if need.cam == 0 {
        return Err("needs an overflow list: without one it is the blocked filter".into());
    }
    if need.row.is_some_and(|row| row > 512) {
        return Err("has blocks of at most 512 bits".into());
    }
    let mut variants = Vec::new();
    for row in need.rows(&[256, 512]) {
        for (scheme, d, words) in SCHEMES {
            let (keys, hashes) = (need.keys, need.hashes());
            let base =
                Config { scheme, d, cam_depth: need.cam.min(1024), key_w: need.key_w, ..Config::default() };
            variants.push(Variant::new(format!("{words}, {row}-bit rows"), row, move |blocks| {
                let (config, balance) = solve(&base, keys, blocks, row)?;
                let in_block = InBlock::Standard { bits: config.block_w.into() };
                let rate = |hashes: &u32| balance.false_positive_rate(in_block, *hashes).unwrap_or(1.0);
                let hashes = *hashes.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
                Some(Config { hashes, ..config }.params())
            }));
        }
    }
    Ok(variants)
}

/// Rows, Q, H, P and the bits of a block, with `blocks` blocks in all, so that the list suffices.
fn solve(base: &Config, keys: u64, blocks: u64, row: u32) -> Option<(Config, Balance)> {
    let r = keys as f64 / blocks as f64;
    let fitted = |config: Config, threshold: Threshold| {
        let config = config.with_threshold(threshold);
        let config = Config { block_w: row.checked_sub(config.count_w())?, ..config };
        let (balance, listed) = balance(&config, keys).ok()?;
        (listed.at_most(config.cam_depth.into()) >= CONFIDENCE).then_some((config, balance))
    };
    if base.scheme == Scheme::Sequential {
        // The fewest keys per block that list so few; the coin would save a fraction of one.
        let config = Config { rows: blocks, ..base.clone() };
        let with_h = |h: u32| fitted(config.clone(), Threshold::from_fixed_point(h, 0));
        let (mut low, mut high) = (r as u32, (2.0 * r) as u32 + 20);
        let mut found = with_h(high)?;
        while high - low > 1 {
            let h = u32::midpoint(low, high);
            match with_h(h) {
                Some(fit) => (found, high) = (fit, h),
                None => low = h,
            }
        }
        return Some(found);
    }
    // A list that is full but for four standard deviations of a Poisson number, or for more
    // where keys come in clumps.
    let mut listed = (f64::from(base.cam_depth) + 4.0).sqrt() - 2.0;
    listed *= listed;
    for _ in 0..20 {
        let gamma = listed / keys as f64;
        let levels = Levels::for_overflow(gamma, base.d).ok()?;
        let config = Config {
            rows: (levels.alpha[0] * blocks as f64).round() as u64,
            q: if base.d == 1 { base.q } else { (levels.q * 65536.0).round() as u64 },
            ..base.clone()
        };
        let threshold = AccessProblem { a: levels.a, r, gamma }.threshold().ok()?;
        if let Some(solution) = fitted(config, threshold) {
            return Some(solution);
        }
        listed *= 0.7;
    }
    None
}

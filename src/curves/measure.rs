//! False positives of the functional models.

use serde::{Deserialize, Serialize};

use super::Effort;
use crate::{
    filter::Answer,
    hash::SplitMix64,
    params::{ConfigError, Params},
    registry::Core,
};

/// Queries for keys that are not there, over several fillings of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The mean of the fillings' rates.
    pub mean: f64,
    /// Its standard error, from how much they differ: queries of one filling are not independent.
    pub error: f64,
    /// How many queries were answered "maybe" all the same.
    pub hits: u64,
    /// Of how many.
    pub queries: u64,
}

impl Measured {
    /// The rate, if there are enough hits to speak of one.
    pub fn rate(&self) -> Option<f64> {
        (self.hits >= Self::ENOUGH).then_some(self.mean)
    }

    /// With fewer hits the rate would be off by more than a third.
    pub const ENOUGH: u64 = 10;
}

/// Keys at once.
const GROUP: usize = 1 << 14;

/// Scattered keys for a filling, no two of them the same.
pub fn keys(filling: u64) -> impl Iterator<Item = u64> {
    let mut stream = SplitMix64::new(filling);
    std::iter::repeat_with(move || stream.next_u64())
}

/// Fills a filter with the first keys, and asks it for those that follow; several times.
pub fn measure(core: &dyn Core, params: &Params, effort: &Effort) -> Result<Measured, ConfigError> {
    let mut filter = core.filter(params)?;
    let (mut hits, mut queries) = (0, 0);
    let mut rates = Vec::new();
    let mut found = [false; GROUP];
    for filling in 0..effort.fillings {
        let mut keys = keys(filling);
        let mut take = |count: usize| keys.by_ref().take(count).collect::<Vec<_>>();
        let members = take(effort.keys as usize);
        filter.clear();
        filter.insert_all(&members, &mut vec![Answer::default(); members.len()]);
        let (mut its_hits, mut its_queries) = (0, 0);
        while its_hits < effort.hits && its_queries < effort.queries {
            filter.contains_all(&take(GROUP), &mut found);
            its_hits += found.iter().filter(|hit| **hit).count() as u64;
            its_queries += GROUP as u64;
        }
        rates.push(its_hits as f64 / its_queries as f64);
        (hits, queries) = (hits + its_hits, queries + its_queries);
    }
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Ok(Measured { mean, error: (variance / n).sqrt(), hits, queries })
}

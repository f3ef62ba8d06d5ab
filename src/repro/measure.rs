//! Measurements on the functional models.

use serde::Serialize;

use crate::{filter::Filter, hash::SplitMix64};

/// A measured value and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl Sample {
    /// The mean of independent values; `None` if they say nothing about it.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance / n).sqrt();
        (error > 0.0 && error < 0.25 * mean).then_some(Self { mean, error })
    }

    /// A share of independent trials; `None` with fewer than 20 hits.
    pub fn share(hits: u64, trials: u64) -> Option<Self> {
        let mean = hits as f64 / trials as f64;
        let error = (mean * (1.0 - mean) / trials as f64).sqrt();
        (hits >= 20).then_some(Self { mean, error })
    }

    /// This, in units of an exact number.
    #[must_use]
    pub fn over(self, unit: f64) -> Self {
        Self { mean: self.mean / unit, error: self.error / unit }
    }

    /// The ratio of two independent samples.
    #[must_use]
    pub fn ratio(self, other: Self) -> Self {
        let mean = self.mean / other.mean;
        Self { mean, error: mean * (self.error / self.mean).hypot(other.error / other.mean) }
    }
}

/// Words of a key, more bits than the hash of a small filter has, so that uniform keys have
/// independent and uniform indices: H3 is linear, and 64 key bits give 64 independent ones.
pub const KEY_WORDS: usize = 4;
/// Their bits.
pub const KEY_W: u32 = 64 * KEY_WORDS as u32;

/// A random key.
pub fn key(rng: &mut SplitMix64) -> [u64; KEY_WORDS] {
    std::array::from_fn(|_| rng.next_u64())
}

/// Empties a filter and puts in `keys` random keys.
pub fn refill(filter: &mut dyn Filter, keys: u64, rng: &mut SplitMix64) {
    filter.clear();
    for _ in 0..keys {
        filter.insert(&key(rng));
    }
}

/// The false positive rate over `fillings` of a filter, each asked `queries` times: one value per
/// filling, since queries of one filling are not independent.
pub fn rate(filter: &mut dyn Filter, keys: u64, fillings: u64, queries: u64, seed: u64) -> Option<Sample> {
    let mut rng = SplitMix64::new(seed);
    let rates: Vec<f64> = (0..fillings)
        .map(|_| {
            refill(filter, keys, &mut rng);
            let hits = (0..queries).filter(|_| filter.contains(&key(&mut rng))).count();
            hits as f64 / queries as f64
        })
        .collect();
    Sample::of(&rates)
}

//! Balls into bins: the experiment behind every Bloom filter.
//!
//! Throw N balls into m bins, each bin equally likely. Two questions decide false
//! positives:
//!
//! - **Distinct indices.** How many different bins do the k hashes of a key name? The
//!   answer is `B(k, m, d)`, computed by [`distinct_indices`].
//! - **Coverage.** With what probability are d given bins all hit? This is
//!   `C(N, m, d) = sum_j (-1)^j binom(d, j) (1 - j/m)^N`, computed by [`coverage`].
//!
//! A query with k indices into m bits, N of whose index draws were made before, is a
//! false positive with probability `sum_d B(k, m, d) C(N, m, d)`.
//!
//! # Method and error
//!
//! The alternating sum cancels: for m = 512, k = 16 it loses more than 20 digits. Instead
//!
//! - **up to [`WALK_BALLS`] balls** the recurrence over balls,
//!   `C(N+1, m, d) = C(N, m, d) + d/m * (C(N, m, d-1) - C(N, m, d))`, in which every term is
//!   positive. One step adds half a unit in the last place, so the relative error is at most
//!   (N + 4d) * 1.2e-16;
//! - **above**, Cauchy's integral for the coefficient of `z^N` in `e^(mz) (1 - e^-z)^d`, on
//!   the circle through the saddle point. With `rho = (N - delta)/m` it reads
//!
//!   ```text
//!   C = N! (e/N)^N * e^(-N ln(1 - delta/N) - delta) * (1 - e^-rho)^d
//!       * 1/(2 pi) * integral of e^(L(theta)) over theta
//!   L = (N - delta)(cos theta - 1) + i (N (sin theta - theta) - delta sin theta)
//!       + d ln((1 - e^(-rho e^(i theta))) / (1 - e^-rho))
//!   ```
//!
//!   which holds exactly for every rho. The saddle only makes the integrand a bell of width
//!   `N^-1/2` whose peak is the result, so nothing cancels. The trapezoidal rule converges
//!   geometrically on it: with three nodes per standard deviation, out to ten, its error
//!   is below 1e-15. Rounding adds about (4d + 100) * 1.2e-16.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::occupancy::{coverage, distinct_indices};
//!
//! // Two dice: both show the same face in one of six throws.
//! let faces = distinct_indices(2, 6)?;
//! assert!((faces[1] - 1.0 / 6.0).abs() < 1e-15);
//!
//! // Six given bins of 2^36, ten thousand million balls.
//! let all_hit = coverage(10_000_000_000, 1 << 36, 6)?;
//! let each = 1.0 - (-1e10 / (1u64 << 36) as f64).exp();
//! assert!((all_hit / each.powi(6) - 1.0).abs() < 1e-8);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use std::f64::consts::TAU;

use super::Result;
use super::error::require;

/// Most hashes of one query.
pub const MAX_HASHES: u32 = 4096;

/// Most balls and most bins: up to here integers are exact in `f64`.
pub const MAX_COUNT: u64 = 1 << 53;

/// Up to this many balls a single [`coverage`] walks ball by ball.
pub const WALK_BALLS: u64 = 1 << 16;

/// Tables over all loads walk further, since each step serves an entry.
const TABLE_WALK_BALLS: u64 = 1 << 20;

pub(super) fn check_hashes(hashes: u32) -> Result<()> {
    require(
        (1..=MAX_HASHES).contains(&hashes),
        "hashes",
        f64::from(hashes),
        "in 1..=4096",
        "a filter needs a hash, and more than some dozens never help",
    )
}

pub(super) fn check_bits(bits: u64) -> Result<()> {
    require(
        (1..=MAX_COUNT).contains(&bits),
        "bits",
        bits as f64,
        "in 1..=2^53",
        "give the number of bits that an index chooses from",
    )
}

pub(super) fn check_draws(keys: u64, hashes_per_key: u32) -> Result<u64> {
    let draws = keys.checked_mul(u64::from(hashes_per_key)).filter(|&d| d <= MAX_COUNT);
    require(
        draws.is_some(),
        "keys",
        keys as f64,
        "small enough that keys * hashes is at most 2^53",
        "use fewer keys",
    )?;
    Ok(draws.unwrap_or(MAX_COUNT))
}

/// `B(k, m, d)`: entry d is the probability that `hashes` independent indices into `bits`
/// bits name exactly d different bits. Entry 0 is 0; the length is `min(hashes, bits) + 1`.
///
/// ```
/// use membrane::analysis::occupancy::distinct_indices;
///
/// let distinct = distinct_indices(8, 64)?;
/// assert_eq!(format!("{:.4}", 1.0 - distinct[8]), "0.3660"); // some hashes collide
/// # Ok::<(), membrane::analysis::AnalysisError>(())
/// ```
///
/// # Errors
/// If `hashes` is not in `1..=4096` or `bits` not in `1..=2^53`.
pub fn distinct_indices(hashes: u32, bits: u64) -> Result<Vec<f64>> {
    check_hashes(hashes)?;
    check_bits(bits)?;
    let most = u64::from(hashes).min(bits) as usize;
    let m = bits as f64;
    let mut probability = vec![0.0; most + 1];
    probability[0] = 1.0;
    for _ in 0..hashes {
        for d in (1..=most).rev() {
            let hit = d as f64 / m;
            let miss = (bits - (d as u64 - 1)) as f64 / m;
            probability[d] = probability[d] * hit + probability[d - 1] * miss;
        }
        probability[0] = 0.0;
    }
    Ok(probability)
}

/// `C(N, m, d)`: the probability that `given` chosen bins of `bins` are all hit by `balls`
/// balls. See the [module](self) for method and error.
///
/// # Errors
/// If `bins` is not in `1..=2^53`, `balls` above 2^53, or `given` above `bins` or 4096.
pub fn coverage(balls: u64, bins: u64, given: u32) -> Result<f64> {
    check_bits(bins)?;
    check_draws(balls, 1)?;
    check_given(given, bins)?;
    Ok(*coverage_up_to(balls, bins, given, WALK_BALLS).last().unwrap_or(&1.0))
}

fn check_given(given: u32, bins: u64) -> Result<()> {
    require(
        given <= MAX_HASHES && u64::from(given) <= bins,
        "given",
        f64::from(given),
        "at most the number of bins, and at most 4096",
        "ask for fewer different bins",
    )
}

/// `C(N, m, d)` for d = 0 ..= given.
fn coverage_up_to(balls: u64, bins: u64, given: u32, walk: u64) -> Vec<f64> {
    if balls <= walk.max(8 * u64::from(given)) {
        let mut coverage = Walk::new(bins, given);
        coverage.advance(balls);
        coverage.covered
    } else {
        (0..=given).map(|d| contour(balls, bins, d)).collect()
    }
}

/// The chance that a query of `query` indices into `bins` bits finds them all set after
/// `draws` index draws.
pub(super) fn query_rate(draws: u64, bins: u64, query: u32) -> Result<f64> {
    let distinct = distinct_indices(query, bins)?;
    let covered = coverage_up_to(draws, bins, distinct.len() as u32 - 1, WALK_BALLS);
    Ok(mix(&distinct, &covered))
}

/// The chance of [`query_rate`] for `load * draws_per_load` draws, load = 0 ..= `max_load`.
pub(super) fn query_rates(draws_per_load: u32, bins: u64, query: u32, max_load: usize) -> Result<Vec<f64>> {
    let distinct = distinct_indices(query, bins)?;
    let given = distinct.len() as u32 - 1;
    let mut walk = Walk::new(bins, given);
    let mut rates = Vec::with_capacity(max_load + 1);
    for load in 0..=max_load as u64 {
        let draws = check_draws(load, draws_per_load)?;
        if draws <= TABLE_WALK_BALLS {
            walk.advance(draws - walk.balls);
            rates.push(mix(&distinct, &walk.covered));
        } else {
            rates.push(mix(&distinct, &coverage_up_to(draws, bins, given, 0)));
        }
    }
    Ok(rates)
}

fn mix(weights: &[f64], values: &[f64]) -> f64 {
    weights.iter().zip(values).map(|(w, v)| w * v).sum::<f64>().min(1.0)
}

/// The recurrence over balls.
struct Walk {
    balls: u64,
    /// d / m
    chance: Vec<f64>,
    /// C(balls, m, d)
    covered: Vec<f64>,
}

impl Walk {
    fn new(bins: u64, given: u32) -> Self {
        let chance: Vec<f64> = (0..=given).map(|d| f64::from(d) / bins as f64).collect();
        let mut covered = vec![0.0; chance.len()];
        covered[0] = 1.0;
        Self { balls: 0, chance, covered }
    }

    fn advance(&mut self, balls: u64) {
        for _ in 0..balls {
            for d in (1..self.covered.len()).rev() {
                self.covered[d] += self.chance[d] * (self.covered[d - 1] - self.covered[d]);
            }
        }
        self.balls += balls;
    }
}

/// Cauchy's integral, for `balls` well above `given`.
fn contour(balls: u64, bins: u64, given: u32) -> f64 {
    if given == 0 {
        return 1.0;
    }
    let (n, m, d) = (balls as f64, bins as f64, f64::from(given));
    let mut delta = 0.0;
    for _ in 0..4 {
        let rho = (n - delta) / m;
        delta = d * rho / rho.exp_m1();
        if !delta.is_finite() {
            delta = 0.0; // rho above 700: every bin is full
        }
    }
    let rho = (n - delta) / m;
    let hit = -(-rho).exp_m1();

    let step = 1.0 / (3.0 * (n - delta).sqrt());
    let mut bell = 0.5;
    for node in 1..=30 {
        let theta = f64::from(node) * step;
        let (sin, cos) = theta.sin_cos();
        let half = (0.5 * theta).sin();
        let cos_m1 = -2.0 * half * half;
        // 1 - exp(-rho e^(i theta)), without cancellation for small rho
        let (x, y) = (rho * cos, rho * sin);
        let decay = (-x).exp();
        let half_y = (0.5 * y).sin();
        let re = -(-x).exp_m1() + 2.0 * decay * half_y * half_y;
        let im = decay * y.sin();
        let modulus = (n - delta) * cos_m1 + d * (re.hypot(im) / hit).ln();
        let phase = n * sin_minus(theta) - delta * sin + d * im.atan2(re);
        bell += modulus.exp() * phase.cos();
    }
    let integral = 2.0 * bell * step;

    // N! (e/N)^N, by Stirling's series; the next term is below 1e-25
    let factorial = (TAU * n).sqrt() * (1.0 / (12.0 * n) - 1.0 / (360.0 * n * n * n)).exp();
    let shift = (-n * ln_1p_minus(-delta / n)).exp();
    (factorial / TAU * integral * shift * hit.powf(d)).min(1.0)
}

/// sin x - x for |x| < 0.2
fn sin_minus(x: f64) -> f64 {
    let y = x * x;
    -x * y / 6.0 * (1.0 - y / 20.0 * (1.0 - y / 42.0 * (1.0 - y / 72.0 * (1.0 - y / 110.0))))
}

/// ln(1 + x) - x
fn ln_1p_minus(x: f64) -> f64 {
    if x.abs() > 0.01 {
        return x.ln_1p() - x;
    }
    // -x^2/2 + x^3/3 - ..., twelve terms
    let mut sum = 0.0;
    for i in (2..14).rev() {
        let term = if i % 2 == 0 { -1.0 } else { 1.0 } / f64::from(i);
        sum = sum * x + term;
    }
    sum * x * x
}

//! The analysis against exact rational arithmetic, the papers' tables, and simulation.
#![allow(clippy::cast_possible_wrap, reason = "exponents are small numbers of the test itself")]
#![allow(clippy::too_many_lines, reason = "a printed table stays in one piece")]

mod balanced;
mod bloom_g;
mod properties;
mod refusals;
mod simulation;
mod tables;

use balanced::PoissonExact;
use membrane::analysis::occupancy::{coverage, distinct_indices};
use membrane::analysis::optimal::sequential_gamma;
use membrane::analysis::standard::nominal_keys;
use membrane::analysis::{
    AccessProblem, AnalysisError, Balance, Blocked, BloomG, Hybrid, InBlock, Levels, LoadDistribution,
    Multilevel, Partitioned, Sequential, Standard, Threshold, single,
};
use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;

type Outcome = Result<(), AnalysisError>;

/// What the project promises against exact arithmetic.
const PROMISE: f64 = 1e-9;

fn assert_close(actual: f64, exact: f64, what: &str) {
    let error = if exact == 0.0 { actual.abs() } else { (actual / exact - 1.0).abs() };
    assert!(error <= PROMISE, "{what}: {actual:e} should be {exact:e}, relative error {error:e}");
}

fn int(value: u64) -> BigInt {
    BigInt::from(value)
}

fn ratio(numerator: u64, denominator: u64) -> BigRational {
    BigRational::new(int(numerator), int(denominator))
}

/// Exactly what the `f64` holds.
fn binary(value: f64) -> BigRational {
    BigRational::from_float(value).expect("a finite number")
}

/// The nearest `f64`, to one unit in the last place.
fn float(value: &BigRational) -> f64 {
    quotient(value.numer().clone(), value.denom().clone())
}

fn quotient(numerator: BigInt, denominator: BigInt) -> f64 {
    let shift = 80 + denominator.bits() as i64 - numerator.bits() as i64;
    let scaled = if shift >= 0 {
        (numerator << shift as u64) / denominator
    } else {
        numerator / (denominator << shift.unsigned_abs())
    };
    let (sign, digits) = scaled.to_u64_digits();
    let size = digits.iter().rev().fold(0.0, |value, &digit| value * 2f64.powi(64) + digit as f64);
    let size = size * 2f64.powi((-shift / 2) as i32) * 2f64.powi((-shift - -shift / 2) as i32);
    if sign == num_bigint::Sign::Minus { -size } else { size }
}

fn choose(n: u64, k: u64) -> BigInt {
    (0..k).fold(int(1), |product, i| product * (n - i) / (i + 1))
}

/// `e_ni`: surjections from n balls onto i bins.
fn surjections(balls: u64, onto: u64) -> BigInt {
    (0..=onto).fold(int(0), |sum, j| {
        let term = choose(onto, j) * int(onto - j).pow(balls as u32);
        if j % 2 == 0 { sum + term } else { sum - term }
    })
}

/// B(balls, bins, i).
fn occupancy_exact(balls: u64, bins: u64, i: u64) -> BigRational {
    let ways = choose(bins, i) * surjections(balls, i);
    BigRational::new(ways, int(bins).pow(balls as u32))
}

/// C(balls, bins, given), by the alternating sum.
fn coverage_exact(balls: u64, bins: u64, given: u64) -> BigRational {
    let sum = (0..=given).fold(int(0), |sum, j| {
        let term = choose(given, j) * int(bins - j).pow(balls as u32);
        if j % 2 == 0 { sum + term } else { sum - term }
    });
    BigRational::new(sum, int(bins).pow(balls as u32))
}

fn standard_exact(draws: u64, bits: u64, query: u64) -> BigRational {
    (1..=query.min(bits))
        .fold(ratio(0, 1), |sum, d| sum + occupancy_exact(query, bits, d) * coverage_exact(draws, bits, d))
}

/// 1 - (1 - 1/bits)^draws
fn fill_exact(draws: u64, bits: u64) -> BigRational {
    ratio(1, 1) - ratio(bits - 1, bits).pow(draws as i32)
}

fn binomial_exact(keys: u64, blocks: u64, load: u64) -> BigRational {
    let ways = choose(keys, load) * int(blocks - 1).pow((keys - load) as u32);
    BigRational::new(ways, int(blocks).pow(keys as u32))
}

/// C(balls, bins, given) for any number of balls, to `BITS` binary places.
fn coverage_fixed_point(balls: u64, bins: u64, given: u64) -> f64 {
    const BITS: u64 = 4096;
    let one = int(1) << BITS;
    let power = |mut base: BigInt, mut exponent: u64| {
        let mut result = one.clone();
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = (result * &base) >> BITS;
            }
            base = (&base * &base) >> BITS;
            exponent /= 2;
        }
        result
    };
    let mut ways = int(1);
    let sum = (0..=given).fold(int(0), |sum, j| {
        let term = &ways * power((&one * (bins - j)) / bins, balls);
        ways = &ways * (given - j) / (j + 1);
        if j % 2 == 0 { sum + term } else { sum - term }
    });
    quotient(sum, one)
}

#[test]
fn standard_filter_against_rationals() -> Outcome {
    for bits in [1, 2, 3, 7, 64, 96, 512] {
        for hashes in [1, 2, 4, 7, 16] {
            for keys in [0, 1, 2, 5, 11, 44, 100] {
                let filter = Standard { keys, bits, hashes };
                let draws = keys * u64::from(hashes);
                let k = u64::from(hashes);
                let exact = float(&standard_exact(draws, bits, k));
                assert_close(filter.false_positive_rate()?, exact, &format!("F_s {filter:?}"));
                let approximate = float(&fill_exact(draws, bits).pow(hashes as i32));
                assert_close(filter.approximate_rate()?, approximate, &format!("F_a {filter:?}"));
                let part = Partitioned { keys, part_bits: bits, parts: hashes };
                let exact = float(&fill_exact(keys, bits).pow(hashes as i32));
                assert_close(part.false_positive_rate()?, exact, &format!("F_p {part:?}"));
                for d in 1..=k.min(bits) {
                    let exact = float(&coverage_exact(draws, bits, d));
                    assert_close(filter.element_rate(d as u32)?, exact, &format!("{filter:?} d {d}"));
                }
            }
            for (d, &share) in distinct_indices(hashes, bits)?.iter().enumerate() {
                let exact = float(&occupancy_exact(u64::from(hashes), bits, d as u64));
                assert_close(share, exact, &format!("B({hashes}, {bits}, {d})"));
            }
        }
    }
    Ok(())
}

#[test]
fn hybrid_filter_against_rationals() -> Outcome {
    for (keys, part_bits, parts, hashes_per_part) in
        [(0, 8, 2, 2), (1, 1, 3, 2), (20, 64, 2, 4), (44, 128, 4, 2), (90, 200, 1, 6)]
    {
        let filter = Hybrid { keys, part_bits, parts, hashes_per_part };
        let h = u64::from(hashes_per_part);
        let exact = standard_exact(keys * h, part_bits, h).pow(parts as i32);
        assert_close(filter.false_positive_rate()?, float(&exact), &format!("{filter:?}"));
    }
    Ok(())
}

/// Both sides of the border between the recurrence and the integral, and far beyond it.
#[test]
fn large_filters_against_fixed_point() -> Outcome {
    for (balls, bins, given) in [
        (65_536, 100_003, 16),
        (65_537, 100_003, 16),
        (65_537, 1, 1),
        (70_000, 3_000, 30),
        (80_000, (1 << 20) + 7, 200),
        (80_000, 1 << 36, 40),
        (1_000_000, 1 << 24, 1_000),
        (33_000, 4_200, 1_500),
        (400_000, 50_000, 1_500),
        (700_000_000, 1_000_000_000, 7),
        (48_000_000_000, 1 << 36, 1),
        (48_000_000_000, 1 << 36, 48),
        (48_000_000_000, 1 << 40, 24),
        (1 << 53, 1 << 53, 53),
        (1 << 53, 1 << 45, 9),
    ] {
        let exact = coverage_fixed_point(balls, bins, u64::from(given));
        let what = format!("C({balls}, {bins}, {given})");
        assert_close(coverage(balls, bins, given)?, exact, &what);
    }
    // a table over loads crosses the border too: 2^20 draws lie between these loads
    let table = InBlock::Standard { bits: 1 << 20 }.rates(20, 52_500)?;
    for keys in [52_428, 52_429, 52_500] {
        let filter = Standard { keys, bits: 1 << 20, hashes: 20 };
        let rate = table[keys as usize];
        assert_close(rate, filter.false_positive_rate()?, &format!("{filter:?}"));
    }
    for (keys, bits, hashes) in
        [(1_000_000_000, 1 << 36, 48), (100_000_000, 1 << 30, 7), (5_000, 1 << 17, 18)]
    {
        let filter = Standard { keys, bits, hashes };
        let draws = keys * u64::from(hashes);
        let exact = (1..=u64::from(hashes))
            .map(|d| {
                let share = float(&occupancy_exact(u64::from(hashes), bits, d));
                share * coverage_fixed_point(draws, bits, d)
            })
            .sum();
        assert_close(filter.false_positive_rate()?, exact, &format!("{filter:?}"));
    }
    Ok(())
}

#[test]
fn blocked_filter_against_rationals() -> Outcome {
    for (keys, blocks, hashes, width) in
        [(0, 3, 2, 8), (9, 1, 3, 16), (40, 4, 4, 32), (60, 7, 5, 64), (100, 50, 8, 64)]
    {
        let k = u64::from(hashes);
        for in_block in [InBlock::Standard { bits: width }, InBlock::Partitioned { part_bits: width / k }] {
            let exact = (0..=keys).fold(ratio(0, 1), |sum, load| {
                let phi = match in_block {
                    InBlock::Standard { bits } => standard_exact(load * k, bits, k),
                    InBlock::Partitioned { part_bits } => fill_exact(load, part_bits).pow(k as i32),
                };
                sum + binomial_exact(keys, blocks, load) * phi
            });
            let filter = Blocked { keys, blocks, hashes, in_block };
            assert_close(filter.false_positive_rate()?, float(&exact), &format!("{filter:?}"));
        }
    }
    Ok(())
}

#[test]
fn loads_against_rationals() -> Outcome {
    for (keys, blocks) in [(1, 2), (10, 3), (64, 1 << 20), (1_000, 50), (2_000, 2)] {
        let loads = LoadDistribution::binomial(keys, blocks)?;
        for (load, &p) in loads.as_slice().iter().enumerate() {
            if p > 1e-290 {
                let exact = float(&binomial_exact(keys, blocks, load as u64));
                assert_close(p, exact, &format!("Binomial({keys}, 1/{blocks}) at {load}"));
            }
        }
        assert_close(loads.mean(), keys as f64 / blocks as f64, "mean");
        assert_close(
            loads.variance(),
            keys as f64 * (blocks - 1) as f64 / (blocks as f64).powi(2),
            "variance",
        );
    }
    for mean in [0.125, 1.0, 10.625, 400.0] {
        let loads = LoadDistribution::poisson(mean)?;
        let exact = PoissonExact::new(mean);
        for (load, &p) in loads.as_slice().iter().enumerate().take(700) {
            assert_close(p, float(&exact.probability(load)), &format!("Poisson({mean}) at {load}"));
        }
    }
    Ok(())
}

//! Balanced filters.

use super::*;

#[test]
fn single_against_rationals() -> Outcome {
    for (keys, blocks, h, p8) in [(30, 4, 6, 3_u32), (30, 4, 7, 0), (12, 5, 0, 5), (50, 3, 20, 8)] {
        let threshold = Threshold::new(h, f64::from(p8) / 8.0)?;
        let balance = single(&LoadDistribution::binomial(keys, blocks)?, threshold);
        let refuse = ratio(8 - u64::from(p8), 8);
        let h = u64::from(h);
        let (mut at, mut above, mut refused) = (ratio(0, 1), ratio(0, 1), ratio(0, 1));
        for arrivals in h..=keys {
            let p = binomial_exact(keys, blocks, arrivals);
            let none = refuse.pow((arrivals - h) as i32);
            at += &p * &none;
            above += &p * (ratio(1, 1) - &none);
            refused += p * (ratio(arrivals - h, 1) - ratio(1, 1) + none);
        }
        let loads = &balance.choices()[0];
        let what = format!("{keys} keys, {blocks} blocks, {threshold:?}");
        for load in 0..h {
            let exact = float(&binomial_exact(keys, blocks, load));
            assert_close(loads.probability(load as usize), exact, &what);
        }
        assert_close(loads.probability(h as usize), float(&at), &what);
        assert_close(loads.probability(h as usize + 1), float(&above), &what);
        assert_close(balance.gamma(), float(&(refused * ratio(blocks, keys))), &what);
        let phi = InBlock::Standard { bits: 32 }.rates(3, keys as usize)?;
        let mut rate = (0..h).fold(ratio(0, 1), |sum, load| {
            sum + binomial_exact(keys, blocks, load) * standard_exact(load * 3, 32, 3)
        });
        rate += at * standard_exact(h * 3, 32, 3) + above * standard_exact(h * 3 + 3, 32, 3);
        assert_close(balance.rate_with(&phi)?, float(&rate), &what);
    }
    Ok(())
}

/// e^x for x > 0, to 2^-2000.
pub fn exp_exact(x: &BigRational) -> BigRational {
    let (mut term, mut sum) = (int(1) << 2000, int(0));
    for i in 1_u64.. {
        sum += &term;
        term = term * x.numer() / (x.denom() * i);
        if term == int(0) {
            break;
        }
    }
    BigRational::new(sum, int(1) << 2000)
}

/// Poisson probabilities with e^mean to more than 100 digits.
pub struct PoissonExact {
    mean: BigRational,
    normal: BigRational,
}

impl PoissonExact {
    pub fn new(mean: f64) -> Self {
        let mean = binary(mean);
        let normal = exp_exact(&mean).recip();
        Self { mean, normal }
    }

    pub fn probability(&self, load: usize) -> BigRational {
        let factorial = (1..=load as u64).fold(int(1), |product, i| product * i);
        self.mean.pow(load as i32) * &self.normal / BigRational::from(factorial)
    }

    /// P(X <= load)
    pub fn below(&self, load: i64) -> BigRational {
        (0..=load).fold(ratio(0, 1), |sum, i| sum + self.probability(i as usize))
    }
}

/// k0 and `P_LB` by the paper's formulas with the corrected line, in rationals.
#[test]
fn lower_bound_against_rationals() -> Outcome {
    for a in [1.0, 1.125, 1.25, 1.5] {
        for r in [0.5, 2.0, 8.0, 10.625] {
            for gamma in [0.0, 0.003_906_25, 0.0625] {
                let problem = AccessProblem { a, r, gamma };
                let bound = problem.lower_bound()?;
                let sum: f64 = bound.loads.as_slice().iter().sum();
                assert_close(sum, 1.0, "sum of P_LB");
                assert_close(bound.loads.mean(), r * (1.0 - gamma), "mean of P_LB");
                let Some(k0) = bound.k0 else {
                    assert_eq!((a, gamma), (1.0, 0.0));
                    assert_eq!(bound.loads, LoadDistribution::poisson(r)?);
                    continue;
                };
                let exact = PoissonExact::new(a * r);
                let one = ratio(1, 1);
                let wanted = binary(r) * (&one - binary(gamma));
                let cut = |k: u32| {
                    let e0 = binary(a * r) * exact.below(i64::from(k) - 1);
                    let p0 = exact.below(i64::from(k));
                    (e0, p0)
                };
                let reach = |k: u32| {
                    let (e0, p0) = cut(k);
                    e0 + ratio(u64::from(k), 1) * (&one - p0)
                };
                let what = format!("{problem:?}");
                assert!(reach(k0) < wanted && reach(k0 + 1) >= wanted, "k0 of {what}");
                let ((e0, p0), k) = (cut(k0), ratio(u64::from(k0), 1));
                let at = exact.probability(k0 as usize) + &e0 + &k + &one - &k * &p0 - &p0 - &wanted;
                let above = wanted - e0 - &k + &k * p0;
                for load in 0..k0 as usize {
                    assert_close(bound.loads.probability(load), float(&exact.probability(load)), &what);
                }
                assert_close(bound.loads.probability(k0 as usize), float(&at), &what);
                assert_close(bound.loads.probability(k0 as usize + 1), float(&above), &what);
            }
        }
    }
    Ok(())
}

/// The solved h and p give SINGLE the loads `P_LB`, and satisfy the paper's fixed-point equation.
#[test]
fn solved_threshold_reaches_the_lower_bound() -> Outcome {
    for (a, r, gamma) in [(1.0, 8.0, 0.005), (1.2, 8.0, 0.005), (1.2, 10.6667, 0.1), (1.5, 3.0, 0.0)] {
        let problem = AccessProblem { a, r, gamma };
        let (bound, threshold) = (problem.lower_bound()?, problem.threshold()?);
        assert_eq!(bound.k0, Some(threshold.h()));
        let balance = single(&LoadDistribution::poisson(a * r)?, threshold);
        let loads = &balance.choices()[0];
        assert_eq!(loads.max_load(), bound.loads.max_load());
        for load in 0..=loads.max_load() {
            assert_close(loads.probability(load), bound.loads.probability(load), "P_LB");
        }
        // the printed equation cancels for p near 1, hence in rationals
        let (h, p, ar) = (threshold.h() as i32, binary(threshold.p()), binary(a * r));
        let refuse = ratio(1, 1) - &p;
        let (mut term, mut partial) = (ratio(1, 1), ratio(0, 1));
        for i in 0..h {
            partial += &term;
            term *= &ar * &refuse / BigRational::from(int(i as u64 + 1));
        }
        let left = exp_exact(&(p * &ar)).recip() - partial / exp_exact(&ar);
        let left = left / refuse.pow(h);
        assert_close(float(&left), bound.loads.probability(h as usize), "fixed point");
    }
    Ok(())
}

#[test]
fn levels_share_one_load_distribution() -> Outcome {
    for (a, d) in [(1.05, 2), (1.2, 3), (1.7, 4), (2.9, 3)] {
        let levels = Levels::for_budget(a, d)?;
        let q = levels.q;
        assert_close((0..d as i32).map(|i| q.powi(i)).sum(), a, "1 + q + ...");
        assert_close(levels.gamma, q.powi(d as i32), "gamma");
        for (j, &alpha) in levels.alpha.iter().enumerate() {
            assert_close(alpha, q.powi(j as i32) / a, "alpha");
        }
        assert_close(Levels::for_overflow(levels.gamma, d)?.a, a, "a from gamma");
        let problem = AccessProblem { a, r: 8.0, gamma: levels.gamma };
        assert_close(Levels::for_problem(&problem, d)?.q, q, "q from the problem");
        let bound = problem.lower_bound()?.loads;
        let scheme =
            Multilevel { r: 8.0, alpha: levels.alpha, threshold: problem.threshold()?, budget: None };
        let balance = scheme.balance()?;
        assert_close(balance.insert_accesses(), a, "accesses");
        assert_close(balance.gamma(), levels.gamma, "overflow");
        for loads in balance.choices() {
            assert!(distance(loads, &bound) < 1e-12);
        }
    }
    Ok(())
}

pub fn distance(a: &LoadDistribution, b: &LoadDistribution) -> f64 {
    let most = a.max_load().max(b.max_load());
    (0..=most).map(|load| (a.probability(load) - b.probability(load)).abs()).sum()
}

/// Inside the optimality region the budget ends probing and the loads stay `P_LB`; just outside
/// accesses are left over.
#[test]
fn optimality_region() -> Outcome {
    let (a, r, d) = (1.2, 8.0, 3);
    for (gamma, inside) in [(sequential_gamma(a, r, d)?, 0.0), (0.05, 0.005)] {
        let problem = AccessProblem { a, r, gamma };
        let scheme = Sequential { r, choices: d, threshold: problem.threshold()?, budget: Some(a) };
        let balance = scheme.balance()?;
        assert_close(balance.insert_accesses(), a, "SEQUENTIAL accesses");
        assert_close(balance.gamma(), gamma, "SEQUENTIAL gamma");
        assert!(balance.listed_by_budget() >= inside - 1e-12);
        assert!(distance(&balance.choices()[2], &problem.lower_bound()?.loads) < 1e-9);
        let levels = Levels::for_problem(&problem, d)?;
        let scheme = Multilevel { r, alpha: levels.alpha, threshold: problem.threshold()?, budget: Some(a) };
        let balance = scheme.balance()?;
        assert_close(balance.gamma(), gamma, "multilevel gamma");
        assert!(balance.listed_by_budget() > inside);
        assert!(distance(&balance.choices()[2], &problem.lower_bound()?.loads) < 1e-9);
    }
    let problem = AccessProblem { a, r, gamma: 0.9 * sequential_gamma(a, r, d)? };
    let scheme = Sequential { r, choices: d, threshold: problem.threshold()?, budget: Some(a) };
    assert!(scheme.balance()?.insert_accesses() < 0.999 * a);
    let short = AccessProblem { gamma: 0.9 * Levels::for_budget(a, d)?.gamma, ..problem };
    assert!(matches!(Levels::for_problem(&short, d), Err(AnalysisError::NoSolution { .. })));
    // figure 3(a): multilevel needs the shorter list
    assert!(Levels::for_budget(1.1, 3)?.gamma < sequential_gamma(1.1, 8.0, 3)?);
    Ok(())
}

/// 256-bit blocks at 24 bits per key, with k, counters and list as in the balanced paper.
#[test]
fn balanced_paper_at_24_bits_per_key() -> Outcome {
    let (r, k) = (256.0 / 24.0, (24.0 * std::f64::consts::LN_2).round() as u32);
    assert_eq!(k, 17);
    let arrivals = LoadDistribution::poisson(r)?;
    let phi = InBlock::Standard { bits: 256 }.rates(k, arrivals.max_load())?;
    assert_eq!(format!("{:.3e}", arrivals.average(&phi)?), "2.264e-4");
    let levels = Levels::for_budget(1.2, 3)?;
    let block = |t: Threshold| InBlock::Standard { bits: u64::from(256 - t.counter_bits()) };
    let threshold = AccessProblem { a: 1.0, r, gamma: levels.gamma }.threshold()?;
    let balance = single(&arrivals, threshold);
    assert_eq!(format!("{:.3e}", balance.false_positive_rate(block(threshold), k)?), "1.758e-4");
    let threshold = AccessProblem { a: 1.2, r, gamma: levels.gamma }.threshold()?;
    let balance = Multilevel { r, alpha: levels.alpha, threshold, budget: None }.balance()?;
    assert_eq!(format!("{:.3e}", balance.false_positive_rate(block(threshold), k)?), "5.593e-5");
    assert_eq!(format!("{:.2}", balance.negative_query_accesses()), "2.26");
    let paper = block(threshold).paper_rates(k, threshold.h() as usize + 1)?;
    assert_eq!(format!("{:.3e}", balance.rate_with(&paper)?), "4.805e-5");
    // what the docs say of the paper's phi
    for (bits_per_key, excess) in [(30.0, "0.26"), (40.0, "0.48")] {
        let (r, k) = (256.0 / bits_per_key, (bits_per_key * std::f64::consts::LN_2).round() as u32);
        let levels = Levels::for_budget(1.2, 3)?;
        let threshold = AccessProblem { a: 1.2, r, gamma: levels.gamma }.threshold()?;
        let balance = Multilevel { r, alpha: levels.alpha, threshold, budget: None }.balance()?;
        let paper = block(threshold).paper_rates(k, threshold.h() as usize + 1)?;
        let ratio = balance.false_positive_rate(block(threshold), k)? / balance.rate_with(&paper)?;
        assert_eq!(format!("{:.2}", ratio - 1.0), excess);
    }
    Ok(())
}

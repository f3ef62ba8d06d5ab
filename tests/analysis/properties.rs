//! Properties over random arguments.

use super::{
    balanced::distance,
    simulation::{BLOCK, HASHES},
    *,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn more_keys_or_fewer_bits_are_worse(
        keys in 1_u64..20_000,
        bits in 2_u64..100_000,
        hashes in 1_u32..20,
    ) {
        let filter = Standard { keys, bits, hashes };
        let rate = filter.false_positive_rate()?;
        prop_assert!((0.0..=1.0).contains(&rate));
        let slack = 1.0 + 1e-12;
        let fuller = Standard { keys: keys + 1, ..filter };
        prop_assert!(rate <= slack * fuller.false_positive_rate()?);
        let smaller = Standard { bits: bits - 1, ..filter };
        prop_assert!(rate <= slack * smaller.false_positive_rate()?);
        // Jensen's inequality, and collisions
        prop_assert!(filter.approximate_rate()? <= slack * rate);
        let most = u64::from(hashes).min(bits) as u32;
        prop_assert!(filter.element_rate(most)? <= slack * rate);
        prop_assert!(rate <= slack * filter.element_rate(1)?);
        let hybrid = Hybrid { keys, part_bits: bits, parts: 1, hashes_per_part: hashes };
        prop_assert!((hybrid.false_positive_rate()? - rate).abs() <= 1e-13 * rate);
    }

    #[test]
    fn large_filters_are_smooth(
        keys in 1_u64..1_000_000_000,
        bits in 1_u64..(1 << 36),
        hashes in 1_u32..40,
    ) {
        let filter = Standard { keys, bits, hashes };
        let (rate, close) = (filter.false_positive_rate()?, filter.approximate_rate()?);
        prop_assert!((0.0..=1.0).contains(&rate));
        // the approximation is low by a share of order k^2/m * (1 + m/(nk))
        let (k, m, n) = (f64::from(hashes), bits as f64, keys as f64);
        let share = k * k * (1.0 / m + 1.0 / (n * k));
        prop_assume!(share < 0.1 && rate > 1e-280);
        let off = rate / close - 1.0;
        prop_assert!((-1e-12..=share).contains(&off), "{} {}", off, share);
    }

    #[test]
    fn blocking_costs(
        blocks in 1_u64..200,
        hashes in 2_u32..12,
        occupation in 0.0_f64..0.5,
    ) {
        // phi is convex up to a fill of 1 - 1/k, so up to half the nominal load uneven blocks
        // cost; an overfull filter, whose rate tends to 1, gains from blocks that are less so
        let keys = nominal_keys(blocks * 64, hashes, occupation)?;
        let in_block = InBlock::Standard { bits: 64 };
        let filter = Blocked { keys, blocks, hashes, in_block };
        let rate = filter.false_positive_rate()?;
        prop_assert!((0.0..=1.0 + 1e-12).contains(&rate));
        let standard = Standard { keys, bits: blocks * 64, hashes }.false_positive_rate()?;
        prop_assert!(rate >= standard * (1.0 - 1e-12));
        prop_assert!(rate <= filter.poisson_rate()? * (1.0 + 1e-12));
        let loads = filter.loads()?;
        let paper = loads.average(&in_block.paper_rates(hashes, loads.max_load())?)?;
        prop_assert!(paper <= rate * (1.0 + 1e-12));
    }

    #[test]
    fn keys_are_conserved(
        r in 0.1_f64..40.0,
        h in 0_u32..50,
        p in 0.0_f64..=1.0,
        d in 1_u32..5,
        budget in prop::option::of(0.5_f64..3.0),
    ) {
        let threshold = Threshold::new(h, p)?;
        let sequential = Sequential { r, choices: d, threshold, budget }.balance()?;
        let alpha = vec![1.0 / f64::from(d); d as usize];
        let multilevel = Multilevel { r, alpha: alpha.clone(), threshold, budget }.balance()?;
        for balance in [&sequential, &multilevel] {
            let placed: f64 = balance.placed().iter().sum();
            prop_assert!((placed + balance.gamma() - 1.0).abs() < 1e-11);
            let limit = budget.unwrap_or(f64::INFINITY).min(f64::from(d));
            prop_assert!(balance.insert_accesses() <= limit * (1.0 + 1e-12));
            let negative = balance.negative_query_accesses();
            prop_assert!((1.0..=f64::from(d) + 1e-12).contains(&negative));
            for loads in balance.choices() {
                prop_assert!((loads.as_slice().iter().sum::<f64>() - 1.0).abs() < 1e-12);
                prop_assert!(loads.max_load() <= h as usize + 1);
            }
            let phi = BLOCK.rates(HASHES, h as usize + 1)?;
            prop_assert!(balance.rate_with(&phi)? <= balance.rate_reading_all(&phi)? + 1e-15);
        }
        // what the blocks hold is what was placed
        let held = sequential.choices()[0].mean();
        let placed: f64 = sequential.placed().iter().sum();
        prop_assert!((held - r * placed).abs() < 1e-11 * r.max(1.0));
        for (level, loads) in multilevel.choices().iter().enumerate() {
            let placed = multilevel.placed()[level];
            prop_assert!((loads.mean() * alpha[level] - r * placed).abs() < 1e-11 * r.max(1.0));
        }
    }

    #[test]
    fn one_choice_is_single(r in 0.1_f64..40.0, h in 0_u32..50, p in 0.0_f64..=1.0) {
        let threshold = Threshold::new(h, p)?;
        let one = single(&LoadDistribution::poisson(r)?, threshold);
        let sequential = Sequential { r, choices: 1, threshold, budget: None }.balance()?;
        let multilevel = Multilevel { r, alpha: vec![1.0], threshold, budget: None }.balance()?;
        prop_assert!((sequential.gamma() - one.gamma()).abs() < 1e-12);
        prop_assert!(distance(&sequential.choices()[0], &one.choices()[0]) < 1e-12);
        prop_assert!((multilevel.gamma() - one.gamma()).abs() < 1e-14);
        prop_assert!(distance(&multilevel.choices()[0], &one.choices()[0]) < 1e-14);
        // p = 1 at h is p = 0 at h + 1
        let arrivals = LoadDistribution::poisson(r)?;
        let (sure, never) = (Threshold::new(h, 1.0)?, Threshold::new(h + 1, 0.0)?);
        prop_assert!(distance(&sure.loads(&arrivals), &never.loads(&arrivals)) < 1e-14);
        let (h16, p16) = threshold.fixed_point();
        let near = Threshold::from_fixed_point(h16, p16);
        prop_assert!(distance(&near.loads(&arrivals), &threshold.loads(&arrivals)) < 1e-3);
    }

    #[test]
    fn solved_thresholds_keep_their_word(
        a in 1.0_f64..2.0,
        r in 0.5_f64..60.0,
        gamma in 1e-4_f64..0.3,
    ) {
        let problem = AccessProblem { a, r, gamma };
        let loads = problem.threshold()?.loads(&LoadDistribution::poisson(a * r)?);
        prop_assert!((loads.mean() / (r * (1.0 - gamma)) - 1.0).abs() < 1e-12);
        prop_assert!(distance(&loads, &problem.lower_bound()?.loads) < 1e-10);
    }
}

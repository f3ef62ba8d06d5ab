//! Sections 5, 6.2 and 6.3.

use super::{Result, at_occupation, model, parts_model, parts_of, standard_model};
use crate::{
    analysis::{
        DoublePartitioned, DoubleStandard, Overlap, Partitioned as Rate, Standard, standard::nominal_keys,
    },
    filter::Filter,
    hash::SplitMix64,
    partitioned::{Config, Indexing, Partitioned},
    repro::{
        Claim, Figure, Item, Printed, Sample, Tolerance,
        measure::{key, refill},
    },
};

pub(super) fn items() -> Result<Vec<Item>> {
    Ok(vec![double_hashing()?, disjointness()?, size_reduction()?])
}

/// A 512-bit block at nominal load, k = 8. In parts, no key is weaker than another.
fn double_hashing() -> Result<Item> {
    let filter = DoubleStandard { keys: nominal_keys(512, 8, 1.0)?, bits: 512, hashes: 8 };
    let parts = DoublePartitioned { keys: filter.keys, part_bits: 64, parts: 8 };
    let shares = filter.distinct_indices()?;
    let independent = at_occupation(512, 8, 1.0)?;
    let (standard_rate, parts_rate) = (filter.false_positive_rate()?, parts.false_positive_rate()?);
    let one_in_512 = Printed::new(1.0 / 512.0, Tolerance::Relative(1e-9));
    let near = |value| Printed::new(value, Tolerance::Relative(0.02));
    let figures = vec![
        Figure::new("keys with 1 bit (h2 = 0)", shares[1]).printed(one_in_512),
        Figure::new("keys with 2 bits (h2 = m/2)", shares[2]).printed(one_in_512),
        Figure::new("rate of a key with 1 bit", filter.element_rate(0)?).printed(near(0.5)),
        Figure::new("rate of a key with 2 bits", filter.element_rate(256)?).printed(near(0.25)),
        Figure::new("rate of a key with 4 bits", filter.element_rate(128)?),
        Figure::new("rate of a key with 8 bits (h2 odd)", filter.element_rate(1)?),
        Figure::new("rate of all keys", standard_rate),
        Figure::new("8 parts: rate of a key with h2 = 0", parts_rate),
        Figure::new("8 parts: rate of a key with h2 = half a part", parts_rate),
        Figure::new("8 parts: rate of a key with h2 = a quarter", parts_rate),
        Figure::new("8 parts: rate of a key with h2 odd", parts_rate),
        Figure::new("8 parts: rate of all keys", parts_rate),
    ];
    let cost = [
        filter.element_rate(1)? - independent.false_positive_rate()?,
        parts_rate - parts_of(independent).false_positive_rate()?,
    ];
    let claims = vec![Claim::new(
        "without weak spots, double hashing costs a partitioned filter more than a standard one",
        format!("it adds {:.4} to the rate of h2 odd in one array, {:.4} in parts", cost[0], cost[1]),
        cost[0] > 0.0 && cost[1] > cost[0],
    )];
    Ok(Item::new("section 5: double hashing, m=512, k=8, nominal load", figures).claims(claims).measured(
        move |effort| {
            let fillings = effort.pick(3_000, 30_000);
            let one =
                Config { banks: 1, hashes: 8, rows: 512, indexing: Indexing::Double, ..Config::default() };
            let parts = Config { banks: 8, hashes: 1, rows: 64, ..one.clone() };
            [vec![None, None], by_step(&one, filter.keys, fillings), by_step(&parts, filter.keys, fillings)]
                .concat()
        },
    ))
}

/// The rate of keys whose step h2 is 0, a half or a quarter of the bits, or odd, and of all keys.
fn by_step(config: &Config, keys: u64, fillings: u64) -> Vec<Option<Sample>> {
    let n = config.rows as u32;
    let mut filter = model(config);
    let mut rng = SplitMix64::new(5);
    // Keys by class, found once: they are random as far as the fillings are concerned.
    let mut classes: [Vec<_>; 4] = Default::default();
    while classes.iter().any(|class| class.len() < 64) {
        let key = key(&mut rng);
        let mut indices = [0; 8];
        filter.indices(&key, &mut indices);
        let class = match (indices[1] + n - indices[0]) % n {
            0 => 0,
            step if 2 * step == n => 1,
            step if 4 * step % n == 0 => 2,
            step if step % 2 == 1 => 3,
            _ => continue,
        };
        if classes[class].len() < 64 {
            classes[class].push(key);
        }
    }
    let mut rates: [Vec<f64>; 5] = Default::default();
    for _ in 0..fillings {
        refill(&mut filter, keys, &mut rng);
        for (rates, class) in rates.iter_mut().zip(&classes) {
            let hits = class.iter().filter(|key| filter.contains(*key)).count();
            rates.push(hits as f64 / class.len() as f64);
        }
        let hits = (0..200).filter(|_| filter.contains(&key(&mut rng))).count();
        rates[4].push(hits as f64 / 200.0);
    }
    rates.iter().map(|rates| Sample::of(rates)).collect()
}

/// Two sets of 8 addresses, in 1,024 bits with k = 4.
fn disjointness() -> Result<Item> {
    let parts = Overlap { keys: [8, 8], part_bits: 256, parts: 4, hashes_per_part: 1 };
    let standard = Overlap { part_bits: 1024, parts: 1, hashes_per_part: 4, ..parts };
    let [p, s] = [parts.probability()?, standard.probability()?];
    let figures = vec![
        Figure::new("P_s, one array", s).reading(standard.paper_probability()?),
        Figure::new("P_p, 4 parts", p).reading(parts.paper_probability()?),
    ];
    let claims = vec![Claim::new(
        "false overlap is rarer with parts: P_s > P_p",
        format!("{:.0} times at this size", s / p),
        s > p && standard.paper_probability()? > parts.paper_probability()?,
    )];
    let item =
        Item::new("section 6.2: disjoint sets of 8 and 8 keys that seem to overlap, m=1024, k=4", figures);
    let note = "The paper's formulas take all pairs of bits as independent; ours do not.";
    Ok(item.claims(claims).note(note).measured(move |effort| {
        let overlap = |mut filters: [Partitioned; 2], trials: u64| {
            let mut rng = SplitMix64::new(7);
            let overlaps = (0..trials).filter(|_| {
                for filter in &mut filters {
                    refill(filter, 8, &mut rng);
                }
                !filters[0].is_disjoint(&filters[1]).expect("the same parameters")
            });
            Sample::share(overlaps.count() as u64, trials)
        };
        vec![
            overlap([0; 2].map(|_| standard_model(1024, 4)), effort.pick(10_000, 100_000)),
            overlap([0; 2].map(|_| parts_model(1024, 4)), effort.pick(100_000, 2_000_000)),
        ]
    }))
}

/// 4,096 bits, k = 8, at nominal load; the first 4 parts.
fn size_reduction() -> Result<Item> {
    let filter = at_occupation(4096, 8, 1.0)?;
    let whole = parts_of(filter);
    let view = Rate { parts: 4, ..whole };
    // The best that a partitioned filter of 2,048 bits can do with as many keys, over k.
    let best = (1..=8u32)
        .map(|k| Rate { part_bits: 2048 / u64::from(k), parts: k, ..whole }.false_positive_rate())
        .try_fold(1.0f64, |best, rate| rate.map(|rate| best.min(rate)))?;
    // A standard filter folded to half: the same indices, modulo 2,048.
    let folded = Standard { bits: 2048, ..filter }.false_positive_rate()?;
    let rate_of_view = view.false_positive_rate()?;
    let figures = vec![
        Figure::new("rate of the first 4 of 8 parts", rate_of_view),
        Figure::new("rate of a standard filter folded to half", folded),
    ];
    let claims = vec![
        Claim::new(
            "the first parts of a full filter have the best rate for their size",
            format!("{rate_of_view:.5} against {best:.5} over all k"),
            rate_of_view <= 1.001 * best,
        ),
        Claim::new(
            "a standard filter made smaller is far from that",
            format!("{folded:.5}, {:.1} times as many false positives", folded / rate_of_view),
            folded > 1.2 * rate_of_view,
        ),
    ];
    let item = Item::new("section 6.3: half of a filter, m=4096, k=8, nominal load", figures);
    Ok(item.claims(claims).measured(move |effort| {
        let mut rng = SplitMix64::new(8);
        let mut whole = parts_model(4096, 8);
        let rates: Vec<f64> = (0..effort.pick(60, 600))
            .map(|_| {
                refill(&mut whole, filter.keys, &mut rng);
                let view = whole.first_parts(4).expect("it has 8");
                (0..1_000).filter(|_| view.contains(&key(&mut rng))).count() as f64 / 1_000.0
            })
            .collect();
        vec![Sample::of(&rates), None]
    }))
}

//! Tables 1 to 4, sections 2, 5, 6.2 and 6.3 of the partitioned-filter paper.

use super::{
    Claim, Effort, Figure, Item, Printed, Sample, Tolerance,
    measure::{KEY_W, key, rate, refill},
};
use crate::{
    analysis::{
        AnalysisError, DoublePartitioned, DoubleStandard, Overlap, Partitioned as Rate, Standard,
        standard::nominal_keys,
    },
    filter::Filter,
    hash::SplitMix64,
    partitioned::{Config, Indexing, Partitioned},
};

type Result<T> = std::result::Result<T, AnalysisError>;

/// m, k, then the columns `F_a`, `F_s`, `F_p`, `F_p/F_s`.
const TABLE_1: &str = "
    64 4    0.06244514 0.06423247 0.06676410 1.03941360
    64 8    0.00227672 0.00260362 0.00316870 1.21703762
    512 4   0.06126247 0.06148344 0.06176528 1.00458411
    512 8   0.00375309 0.00381650 0.00389940 1.02172097
    512 16  0.00001409 0.00001513 0.00001661 1.09783475
    4096 4  0.06233016 0.06235819 0.06239353 1.00056676
    4096 8  0.00385474 0.00386284 0.00387308 1.00265094
    4096 16 0.00001486 0.00001499 0.00001516 1.01143019";

/// m, k, then `F_p/F_s` at occupations 1/4, 1/2 and 1/1.
const TABLE_2: &str = "
    64 4    4.42059447 1.11720759 1.03941360
    64 8    8.91227883 1.77601565 1.21703762
    512 4   1.00616297 1.00527287 1.00458411
    512 8   1.02790590 1.02512045 1.02172097
    512 16  1.13309283 1.11474124 1.09783475
    4096 4  1.00069246 1.00064963 1.00056676
    4096 8  1.00324437 1.00303940 1.00265094
    4096 16 1.01404449 1.01313731 1.01143019";

/// m, k, occupation, then the per-element rate over `F_s` for 0 to 3 collisions.
const TABLE_3: &str = "
    64 4   1 0.91 1.88 3.85 7.78
    64 8   1 0.59 1.39 3.25 7.47
    512 8  1 0.95 1.92 3.89 7.88
    512 16 1 0.79 1.62 3.31 6.78
    64 4   0.5 0.76 3.21 12.92 50.00
    64 8   0.5 0.14 1.09 7.50 47.38
    512 8  0.5 0.87 3.09 10.87 38.10
    512 16 0.5 0.56 2.03 7.41 26.86
    64 4   0.25 0.38 5.90 74.86 804.25
    64 8   0.25 0.00 0.07 4.45 134.33
    512 8  0.25 0.74 5.03 33.76 224.42
    512 16 0.25 0.23 1.87 15.28 123.08";

/// m, k, then the probability of some collision, and of exactly 0 to 3.
const TABLE_4: &str = "
    64 4   0.0911 0.9089 0.0894 0.0017 0.0000
    64 8   0.3660 0.6340 0.3115 0.0510 0.0034
    512 8  0.0535 0.9465 0.0525 0.0010 0.0000
    512 16 0.2108 0.7892 0.1905 0.0192 0.0011";

/// m, k and the further cells of each line.
fn lines(table: &'static str) -> impl Iterator<Item = (u64, u32, Vec<&'static str>)> {
    table.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut cells = line.split_whitespace();
        let mut number = || cells.next().and_then(|cell| cell.parse().ok()).expect("m and k");
        let (m, k): (u32, u32) = (number(), number());
        (m.into(), k, cells.collect())
    })
}

pub(super) fn items() -> Result<Vec<Item>> {
    let mut items = vec![section_2()?];
    for (m, k, cells) in lines(TABLE_1) {
        items.push(table_1(m, k, &cells)?);
    }
    for (m, k, cells) in lines(TABLE_2) {
        items.push(table_2(m, k, &cells)?);
    }
    for (m, k, cells) in lines(TABLE_3) {
        items.push(table_3(m, k, &cells)?);
    }
    for (m, k, cells) in lines(TABLE_4) {
        items.push(table_4(m, k, &cells)?);
    }
    items.extend([double_hashing()?, disjointness()?, size_reduction()?]);
    Ok(items)
}

/// A filter of m bits and k hashes at a share of its nominal load.
fn at_occupation(m: u64, k: u32, occupation: f64) -> Result<Standard> {
    Ok(Standard { keys: nominal_keys(m, k, occupation)?, bits: m, hashes: k })
}

fn parts_of(filter: Standard) -> Rate {
    Rate { keys: filter.keys, part_bits: filter.bits / u64::from(filter.hashes), parts: filter.hashes }
}

/// Equation 10, or 14 for a key with d different bits, as the tables were computed: the sum over
/// the bits set stops one short of nk, the most that can be.
fn short_sum(filter: Standard, distinct: Option<u32>) -> f64 {
    let (m, draws) = (filter.bits as f64, (filter.keys * u64::from(filter.hashes)) as usize);
    let most = draws.min(filter.bits as usize);
    let mut set = vec![0.0; most + 1];
    set[0] = 1.0;
    for _ in 0..draws {
        for i in (1..=most).rev() {
            set[i] = set[i] * (i as f64 / m) + set[i - 1] * ((m - i as f64 + 1.0) / m);
        }
        set[0] = 0.0;
    }
    let hit = |i: f64| match distinct {
        None => (i / m).powf(f64::from(filter.hashes)),
        Some(d) => (0..d).map(|j| (i - f64::from(j)).max(0.0) / (m - f64::from(j))).product(),
    };
    (1..=most.min(draws.saturating_sub(1))).map(|i| set[i] * hit(i as f64)).sum()
}

fn standard_model(m: u64, k: u32) -> Partitioned {
    model(&Config { banks: 1, hashes: k, rows: m, ..Config::default() })
}

fn parts_model(m: u64, k: u32) -> Partitioned {
    model(&Config { banks: k, rows: m / u64::from(k), ..Config::default() })
}

fn model(config: &Config) -> Partitioned {
    Partitioned::new(&Config { key_w: KEY_W, ..config.clone() }).expect("legal parameters")
}

/// Fillings and queries per filling that make `hits` hits at a rate; none if that takes too long.
fn trials(keys: u64, rate: f64, effort: Effort) -> Option<(u64, u64)> {
    let hits = effort.pick(2_000, 40_000) as f64;
    let most = effort.pick(1_000_000, 20_000_000) as f64;
    // As many queries as keys, or a filling would cost more than what is asked of it.
    let queries = keys.max(20);
    let needed = hits / rate;
    let affordable = needed.min(most);
    (affordable * rate >= 100.0).then_some((affordable as u64 / queries + 2, queries))
}

fn measured_rate(filter: &mut Partitioned, keys: u64, expected: f64, effort: Effort) -> Option<Sample> {
    let (fillings, queries) = trials(keys, expected, effort)?;
    rate(filter, keys, fillings, queries, 1)
}

fn section_2() -> Result<Item> {
    // The text cuts off digits.
    let printed = [
        (96, 8, 0.2588, 1e-4),
        (64, 4, 0.091, 1e-3),
        (512, 16, 0.21, 0.01),
        (512, 8, 0.053, 1e-3),
        (64, 8, 0.36, 0.01),
    ];
    let mut figures = Vec::new();
    for (m, k, share, unit) in printed {
        let some = 1.0 - Standard { keys: 0, bits: m, hashes: k }.distinct_indices()?[k as usize];
        let printed = Printed::new(share, Tolerance::Absolute(unit));
        figures.push(Figure::new(format!("m={m}, k={k}"), some).printed(printed));
    }
    Ok(Item::new("section 2: share of keys whose hashes collide", figures).measured(|effort| {
        let one = |(m, k): (u64, u32)| collisions(m, k, effort.pick(200_000, 2_000_000))[0];
        [(96, 8), (64, 4), (512, 16), (512, 8), (64, 8)].into_iter().map(one).collect()
    }))
}

/// The share of keys with some collision, and with exactly 0 to 3.
fn collisions(m: u64, k: u32, keys: u64) -> Vec<Option<Sample>> {
    let filter = standard_model(m, k);
    let mut rng = SplitMix64::new(3);
    let mut counts = vec![0u64; k as usize + 4];
    for _ in 0..keys {
        counts[k as usize - distinct(&filter, &key(&mut rng))] += 1;
    }
    let some = keys - counts[0];
    [some].iter().chain(&counts[..4]).map(|count| Sample::share(*count, keys)).collect()
}

/// Different bits of a key.
fn distinct(filter: &Partitioned, key: &[u64]) -> usize {
    let mut indices = [u32::MAX; 16];
    let indices = &mut indices[..filter.config().k() as usize];
    filter.indices(key, indices);
    let repeated = |i: &usize| indices[..*i].contains(&indices[*i]);
    indices.len() - (0..indices.len()).filter(repeated).count()
}

fn table_1(m: u64, k: u32, cells: &[&'static str]) -> Result<Item> {
    let filter = at_occupation(m, k, 1.0)?;
    let (standard, parts) = (filter.false_positive_rate()?, parts_of(filter).false_positive_rate()?);
    let short = short_sum(filter, None);
    let figures = vec![
        Figure::new("F_a", filter.approximate_rate()?).printed(Printed::cell(cells[0])),
        Figure::new("F_s", standard).printed(Printed::cell(cells[1])).reading(short),
        Figure::new("F_p", parts).printed(Printed::cell(cells[2])),
        Figure::new("F_p/F_s", parts / standard).printed(Printed::cell(cells[3])).reading(parts / short),
    ];
    Ok(Item::new(format!("table 1, m={m}, k={k}"), figures).measured(move |effort| {
        let s = measured_rate(&mut standard_model(m, k), filter.keys, standard, effort);
        let p = measured_rate(&mut parts_model(m, k), filter.keys, parts, effort);
        vec![None, s, p, p.zip(s).map(|(p, s)| p.ratio(s))]
    }))
}

fn table_2(m: u64, k: u32, cells: &[&'static str]) -> Result<Item> {
    let filters = [0.25, 0.5, 1.0].map(|occupation| at_occupation(m, k, occupation));
    let mut figures = Vec::new();
    let mut rates = Vec::new();
    for ((filter, cell), occupation) in filters.into_iter().zip(cells).zip(["1/4", "1/2", "1/1"]) {
        let filter = filter?;
        let (standard, parts) = (filter.false_positive_rate()?, parts_of(filter).false_positive_rate()?);
        rates.push((filter.keys, standard, parts));
        figures.push(
            Figure::new(format!("F_p/F_s at {occupation}"), parts / standard)
                .printed(Printed::cell(cell))
                .reading(parts / short_sum(filter, None)),
        );
    }
    let item = Item::new(format!("table 2, m={m}, k={k}"), figures);
    // Where the print is far off, and the last column is table 1's.
    if m > 64 {
        return Ok(item);
    }
    Ok(item.measured(move |effort| {
        let ratio = |(keys, standard, parts): &(u64, f64, f64)| {
            let s = measured_rate(&mut standard_model(m, k), *keys, *standard, effort)?;
            let p = measured_rate(&mut parts_model(m, k), *keys, *parts, effort)?;
            Some(p.ratio(s))
        };
        rates[..2].iter().map(ratio).collect()
    }))
}

fn table_3(m: u64, k: u32, cells: &[&'static str]) -> Result<Item> {
    let occupation: f64 = cells[0].parse().expect("an occupation");
    let filter = at_occupation(m, k, occupation)?;
    let (average, short) = (filter.false_positive_rate()?, short_sum(filter, None));
    let mut figures = Vec::new();
    for (collisions, cell) in (0..).zip(&cells[1..]) {
        let d = k - collisions;
        figures.push(
            Figure::new(format!("{collisions} collisions"), filter.element_rate(d)? / average)
                .printed(Printed::cell(cell))
                .reading(short_sum(filter, Some(d)) / short),
        );
    }
    let place = format!("table 3, occupation {}, m={m}, k={k}", cells[0]);
    Ok(Item::new(place, figures).measured(move |effort| {
        let Some((fillings, queries)) = trials(filter.keys, average, effort) else { return vec![None; 4] };
        by_collisions(filter, fillings, queries).into_iter().map(|s| s.map(|s| s.over(average))).collect()
    }))
}

/// The rate of keys with 0 to 3 collisions.
fn by_collisions(filter: Standard, fillings: u64, queries: u64) -> Vec<Option<Sample>> {
    let k = filter.hashes as usize;
    let mut model = standard_model(filter.bits, filter.hashes);
    let mut rng = SplitMix64::new(4);
    let (mut hits, mut asked) = (vec![0u64; k], vec![0u64; k]);
    for _ in 0..fillings {
        refill(&mut model, filter.keys, &mut rng);
        for _ in 0..queries {
            let key = key(&mut rng);
            let collisions = k - distinct(&model, &key);
            asked[collisions] += 1;
            hits[collisions] += u64::from(model.contains(&key));
        }
    }
    // Queries of one filling are nearly independent: it has few keys, and there are many fillings.
    hits.iter().zip(asked).take(4).map(|(hits, asked)| Sample::share(*hits, asked)).collect()
}

fn table_4(m: u64, k: u32, cells: &[&'static str]) -> Result<Item> {
    let shares = Standard { keys: 0, bits: m, hashes: k }.distinct_indices()?;
    let k_at = k as usize;
    let mut figures = vec![Figure::new("some", 1.0 - shares[k_at]).printed(Printed::cell(cells[0]))];
    for (collisions, cell) in cells[1..].iter().enumerate() {
        figures.push(
            Figure::new(format!("{collisions} collisions"), shares[k_at - collisions])
                .printed(Printed::cell(cell)),
        );
    }
    let item = Item::new(format!("table 4, m={m}, k={k}"), figures);
    Ok(item.measured(move |effort| collisions(m, k, effort.pick(200_000, 4_000_000))))
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

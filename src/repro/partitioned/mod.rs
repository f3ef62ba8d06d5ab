//! Tables 1 to 4, sections 2, 5, 6.2 and 6.3 of the partitioned-filter paper.

mod sets;

use super::{
    Effort, Figure, Item, Printed, Sample, Tolerance,
    measure::{KEY_W, key, rate, refill},
};
use crate::{
    analysis::{AnalysisError, Partitioned as Rate, Standard, standard::nominal_keys},
    filter::Filter,
    hash::SplitMix64,
    partitioned::{Config, Partitioned},
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
    items.extend(sets::items()?);
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

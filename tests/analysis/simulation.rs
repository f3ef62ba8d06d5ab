//! Monte-Carlo simulation.

use super::*;

pub struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    fn coin(&mut self, p: f64) -> bool {
        ((self.next() >> 11) as f64) < p * 2f64.powi(53)
    }

    /// The mask of `hashes` bits in a word of at most 64.
    fn mask(&mut self, layout: InBlock, hashes: u32) -> u64 {
        (0..u64::from(hashes)).fold(0, |mask, part| {
            let index = match layout {
                InBlock::Standard { bits } => self.below(bits),
                InBlock::Partitioned { part_bits } => part * part_bits + self.below(part_bits),
            };
            mask | 1 << index
        })
    }
}

/// The expected value lies within four standard deviations of the mean of independent runs.
pub fn assert_simulated(runs: &[f64], expected: f64, what: &str) {
    let n = runs.len() as f64;
    let mean = runs.iter().sum::<f64>() / n;
    let variance = runs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let deviation = (variance / n).sqrt();
    let off = (mean - expected) / deviation;
    assert!(off.abs() <= 4.0, "{what}: simulated {mean:e} +- {deviation:e}, expected {expected:e}");
    // a deviation this large would let anything pass
    assert!(deviation <= 0.03 * mean.abs(), "{what}: simulated {mean:e} +- {deviation:e}");
}

/// The false positive rates of independent Bloom-g filters.
pub fn simulate_bloom_g(filter: &BloomG, runs: usize, random: &mut SplitMix64) -> Vec<f64> {
    let BloomG { keys, words, group, hashes, in_word } = *filter;
    let bits_of = |pick| hashes / group + u32::from(pick < hashes % group);
    let queries = 4_000;
    let run = |_| {
        let mut memory = vec![0_u64; words as usize];
        for _ in 0..keys {
            for pick in 0..group {
                memory[random.below(words) as usize] |= random.mask(in_word, bits_of(pick));
            }
        }
        let mut hits = 0;
        for _ in 0..queries {
            hits += u32::from((0..group).all(|pick| {
                let mask = random.mask(in_word, bits_of(pick));
                memory[random.below(words) as usize] & mask == mask
            }));
        }
        f64::from(hits) / f64::from(queries)
    };
    (0..runs).map(run).collect()
}

#[test]
fn blocked_and_bloom_g_against_simulation() -> Outcome {
    let standard = InBlock::Standard { bits: 64 };
    let parts = |part_bits| InBlock::Partitioned { part_bits };
    let mut random = SplitMix64(0xb10c);
    for (keys, words, group, hashes, in_word) in [
        (512, 64, 1, 5, standard),
        (512, 64, 1, 5, parts(12)),
        (200, 30, 1, 4, parts(16)),
        (300, 40, 2, 6, standard),
        (300, 40, 2, 6, parts(21)),
        (60, 5, 3, 6, standard),
    ] {
        let filter = BloomG { keys, words, group, hashes, in_word };
        let runs = simulate_bloom_g(&filter, 100, &mut random);
        assert_simulated(&runs, filter.false_positive_rate()?, &format!("{filter:?}"));
        if group == 1 {
            let blocked = Blocked { keys, blocks: words, hashes, in_block: in_word };
            assert_simulated(&runs, blocked.false_positive_rate()?, &format!("{blocked:?}"));
        }
    }
    // three bits in the first word and two in the second; the excess is below 1e-3 here
    let uneven = BloomG { keys: 4_000, words: 500, group: 2, hashes: 5, in_word: standard };
    let runs = simulate_bloom_g(&uneven, 40, &mut random);
    assert_simulated(&runs, uneven.independent_rate()?, &format!("{uneven:?}"));
    Ok(())
}

/// What independent balanced filters did, one entry per run.
#[derive(Default)]
pub struct Runs {
    gamma: Vec<f64>,
    by_budget: Vec<f64>,
    insert: Vec<f64>,
    positive: Vec<f64>,
    negative: Vec<f64>,
    at_least_h: Vec<f64>,
    rate: Vec<f64>,
}

pub struct Simulated<'a> {
    keys: u64,
    /// The blocks of each choice: first block and number.
    choices: &'a [(u64, u64)],
    threshold: Threshold,
    budget: Option<f64>,
    /// One coin per key instead of one per choice.
    shared_coin: bool,
}

pub const BLOCK: InBlock = InBlock::Standard { bits: 64 };
pub const HASHES: u32 = 5;

impl Simulated<'_> {
    fn runs(&self, runs: usize, random: &mut SplitMix64) -> Runs {
        let mut result = Runs::default();
        for _ in 0..runs {
            self.run(random, &mut result);
        }
        result
    }

    fn run(&self, random: &mut SplitMix64, result: &mut Runs) {
        let blocks = self.choices.iter().map(|(first, count)| first + count).max().unwrap_or(0);
        let mut memory = vec![(0_u32, 0_u64); blocks as usize];
        let h = self.threshold.h();
        let budget = self.budget.map_or(u64::MAX, |a| (a * self.keys as f64) as u64);
        let (mut reads, mut held, mut held_reads, mut untried) = (0, 0_u64, 0, 0_u64);
        for _ in 0..self.keys {
            let key_coin = random.coin(self.threshold.p());
            untried += u64::from(reads >= budget);
            for (&(first, count), tried) in self.choices.iter().zip(1..) {
                if reads >= budget {
                    break;
                }
                reads += 1;
                let coin = random.coin(self.threshold.p());
                let coin = if self.shared_coin { key_coin } else { coin };
                let block = &mut memory[(first + random.below(count)) as usize];
                if block.0 < h || (block.0 == h && coin) {
                    *block = (block.0 + 1, block.1 | random.mask(BLOCK, HASHES));
                    held += 1;
                    held_reads += tried;
                    break;
                }
            }
        }
        let (queries, mut hits, mut query_reads) = (20_000, 0, 0);
        for _ in 0..queries {
            let mut hit = false;
            for &(first, count) in self.choices {
                query_reads += 1;
                let (load, bits) = memory[(first + random.below(count)) as usize];
                let mask = random.mask(BLOCK, HASHES);
                hit |= bits & mask == mask;
                if load < h {
                    break;
                }
            }
            hits += u32::from(hit);
        }
        let (n, (first, count)) = (self.keys as f64, self.choices[0]);
        let full = memory[first as usize..(first + count) as usize].iter().filter(|b| b.0 >= h);
        result.gamma.push(1.0 - held as f64 / n);
        result.by_budget.push(untried as f64 / n);
        result.insert.push(reads as f64 / n);
        result.positive.push(f64::from(held_reads) / held as f64);
        result.negative.push(f64::from(query_reads) / f64::from(queries));
        result.at_least_h.push(full.count() as f64 / count as f64);
        result.rate.push(f64::from(hits) / f64::from(queries));
    }
}

pub fn assert_balance(runs: &Runs, balance: &Balance, what: &str) -> Outcome {
    let h = balance.threshold().h() as usize;
    assert_simulated(&runs.gamma, balance.gamma(), &format!("{what}: gamma"));
    assert_simulated(&runs.at_least_h, balance.choices()[0].tail(h), &format!("{what}: full"));
    let rate = balance.false_positive_rate(BLOCK, HASHES)?;
    assert_simulated(&runs.rate, rate, &format!("{what}: rate"));
    if balance.choices().len() > 1 {
        let positive = balance.positive_query_accesses();
        assert_simulated(&runs.positive, positive, &format!("{what}: positive query"));
        let negative = balance.negative_query_accesses();
        assert_simulated(&runs.negative, negative, &format!("{what}: negative query"));
    }
    if balance.listed_by_budget() > 0.0 {
        let listed = balance.listed_by_budget();
        assert_simulated(&runs.by_budget, listed, &format!("{what}: untried"));
        assert!((runs.insert[0] - balance.insert_accesses()).abs() < 1e-4, "{what}: budget");
    } else if balance.choices().len() > 1 {
        assert_simulated(&runs.insert, balance.insert_accesses(), &format!("{what}: insert"));
    }
    Ok(())
}

#[test]
fn single_against_simulation() -> Outcome {
    let mut random = SplitMix64(0x51);
    // few blocks: the analysis is exact, not a limit
    let (keys, blocks) = (160, 20);
    let threshold = Threshold::new(9, 0.4)?;
    let balance = single(&LoadDistribution::binomial(keys, blocks)?, threshold);
    let choices = &[(0, blocks)];
    let scheme = Simulated { keys, choices, threshold, budget: None, shared_coin: false };
    assert_balance(&scheme.runs(400, &mut random), &balance, "SINGLE")
}

#[test]
fn sequential_against_simulation() -> Outcome {
    let mut random = SplitMix64(0x5e9);
    let (blocks, keys) = (2_000, 16_000);
    let choices = &[(0, blocks); 3];
    for (h, p, budget) in [(9, 0.5, None), (9, 0.5, Some(1.15)), (8, 0.875, None)] {
        let threshold = Threshold::new(h, p)?;
        let balance = Sequential { r: 8.0, choices: 3, threshold, budget }.balance()?;
        let scheme = Simulated { keys, choices, threshold, budget, shared_coin: false };
        let what = format!("SEQUENTIAL {threshold:?} {budget:?}");
        assert_balance(&scheme.runs(60, &mut random), &balance, &what)?;
    }
    // the edge of the optimality region: a*n accesses without a budget
    let gamma = sequential_gamma(1.1, 8.0, 3)?;
    let threshold = AccessProblem { a: 1.1, r: 8.0, gamma }.threshold()?;
    let scheme = Simulated { keys, choices, threshold, budget: None, shared_coin: false };
    let runs = scheme.runs(60, &mut random);
    assert_simulated(&runs.insert, 1.1, "accesses at the edge");
    assert_simulated(&runs.gamma, gamma, "overflow at the edge");
    Ok(())
}

#[test]
fn multilevel_against_simulation() -> Outcome {
    let mut random = SplitMix64(0x3e7);
    let sizes = [1_666, 285, 49]; // q = 0.1708, as for a = 1.2
    let choices = &[(0, sizes[0]), (sizes[0], sizes[1]), (sizes[0] + sizes[1], sizes[2])];
    let alpha: Vec<f64> = sizes.iter().map(|&size| size as f64 / 2_000.0).collect();
    let gamma = Levels::for_budget(1.2, 3)?.gamma;
    let threshold = AccessProblem { a: 1.2, r: 8.0, gamma }.threshold()?;
    for (threshold, budget) in [(threshold, None), (threshold, Some(1.1)), (Threshold::new(7, 0.25)?, None)] {
        let balance = Multilevel { r: 8.0, alpha: alpha.clone(), threshold, budget }.balance()?;
        let scheme = Simulated { keys: 16_000, choices, threshold, budget, shared_coin: false };
        let what = format!("multilevel {threshold:?} {budget:?}");
        assert_balance(&scheme.runs(100, &mut random), &balance, &what)?;
    }
    // one coin for all levels is another scheme, with more overflow
    for (r, more) in [(8.0, 1.13), (256.0 / 24.0, 1.40), (16.0, 1.25)] {
        let threshold = AccessProblem { a: 1.2, r, gamma }.threshold()?;
        let keys = (r * 2_000.0) as u64;
        let scheme = Simulated { keys, choices, threshold, budget: None, shared_coin: true };
        let ratio = scheme.runs(200, &mut random).gamma.iter().sum::<f64>() / 200.0 / gamma;
        assert!((ratio - more).abs() < 0.04, "shared coin at r = {r}: {ratio}");
    }
    Ok(())
}

//! Bloom-g: each key picks g words and sets k/g bits in each of them.
//!
//! ```text
//!   key -> word a, k/g bits    | | |1| |1| | | |
//!       -> word b, k/g bits    |1| | | | | |1| |      g accesses instead of k
//! ```
//!
//! The g words are drawn independently, so they may coincide. The survey's rate, with the
//! outer exponent that it lacks and c*k/g inside, is
//!
//! ```text
//!   F_1 = [ sum_c binom(gn, c) (1/l)^c (1 - 1/l)^(gn-c) (1 - (1 - 1/w)^(c k/g))^(k/g) ]^g
//! ```
//!
//! for l words of w bits ([`BloomG::survey_rate`]). It makes three simplifications: bits of a
//! word are filled independently, the words of a query differ, and their loads are
//! independent. Here they are taken back one by one:
//!
//! - [`BloomG::independent_rate`]: the exact in-word rate, and every way in which
//!   the g words of a query can coincide, with its probability `l (l-1) ... (l-j+1) / l^g` for j
//!   different words. Only the loads of different words are still taken as
//!   independent. All n*g picks being independent, they are multinomial, which is slightly
//!   negatively correlated, so this rate is high by a share of at most about
//!   `binom(g, 2) (k/g)^2 / (n g)`. For 64-bit words, 16 bits per key, k = 8, g = 2 the excess is
//!   8.1e-4 of the rate with 4 096 keys, and falls as 1/n. (The survey's rate is 5.6 % low there,
//!   whatever n.)
//! - [`BloomG::false_positive_rate`]: exact. Given the total T of picks that fall on the j
//!   words, the loads are those of independent Poisson variables with sum T. So the j
//!   functions `phi(c) Poisson(c)` are convolved, and the sum over T is weighted by
//!   `Binomial(T) / Poisson(T)`. All terms are positive.
//!
//! If g does not divide k, the first `k mod g` words of a key get one bit more. Loads are then
//! of two kinds, and only `independent_rate` is offered.
//!
//! # Example
//!
//! ```
//! use membrane::analysis::{BloomG, InBlock};
//!
//! let in_word = InBlock::Standard { bits: 64 };
//! let one = BloomG { keys: 4096, words: 1024, group: 1, hashes: 8, in_word };
//! let two = BloomG { group: 2, ..one };
//! // Two accesses instead of one: the rate falls to less than half.
//! assert!(two.false_positive_rate()? < 0.5 * one.false_positive_rate()?);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

use std::collections::BTreeMap;

use super::blocked::InBlock;
use super::error::require;
use super::load::check_mean;
use super::occupancy::{check_bits, check_draws, check_hashes, query_rates};
use super::standard::single_hash_rate;
use super::{AnalysisError, LoadDistribution, Result};

/// Most words per key.
pub const MAX_GROUP: u32 = 8;

/// A Bloom-g filter that holds `keys` keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomG {
    /// n, the keys inserted.
    pub keys: u64,
    /// l, the number of words.
    pub words: u64,
    /// g, the words per key.
    pub group: u32,
    /// k, the bits per key.
    pub hashes: u32,
    /// The layout of a word. Its parts, if any, are k/g.
    pub in_word: InBlock,
}

impl BloomG {
    fn check(&self) -> Result<()> {
        check_hashes(self.hashes)?;
        require(
            (1..=MAX_GROUP.min(self.hashes)).contains(&self.group),
            "group",
            f64::from(self.group),
            "in 1..=8 and at most hashes",
            "each word of a key needs a bit; many words are a standard filter",
        )?;
        require(self.words >= 1, "words", self.words as f64, "at least 1", "keys need a word")?;
        check_draws(self.keys, self.hashes)?;
        // the load of all words of a query together
        let picks = self.keys as f64 * f64::from(self.group);
        check_mean("keys * group^2 / words", picks * f64::from(self.group) / self.words as f64)?;
        let (InBlock::Standard { bits } | InBlock::Partitioned { part_bits: bits }) = self.in_word;
        check_bits(bits)
    }

    fn is_even(&self) -> bool {
        self.hashes.is_multiple_of(self.group)
    }

    /// Picks that set `hashes_of_word` bits, for the first words and for the others.
    fn kinds(&self) -> [(u64, u32); 2] {
        let (less, first) = (self.hashes / self.group, self.hashes % self.group);
        [(self.keys * u64::from(first), less + 1), (self.keys * u64::from(self.group - first), less)]
    }

    /// The survey's rate with the two corrections: see the [module](self). With parts in
    /// the word the inner term is `(1 - (1 - 1/part_bits)^c)^(k/g)`.
    ///
    /// # Errors
    /// If `group` is not in `1..=8` or above `hashes`, or another parameter is out of range.
    pub fn survey_rate(&self) -> Result<f64> {
        self.check()?;
        let g = f64::from(self.group);
        let per_word = f64::from(self.hashes) / g;
        let loads = LoadDistribution::binomial(self.keys * u64::from(self.group), self.words)?;
        let in_word = |load: usize| match self.in_word {
            InBlock::Standard { bits } if bits > 1 => {
                let draws = load as f64 * per_word;
                -(draws * (-1.0 / bits as f64).ln_1p()).exp_m1()
            }
            InBlock::Standard { bits } | InBlock::Partitioned { part_bits: bits } => {
                single_hash_rate(load as u64, bits)
            }
        };
        Ok(loads.expect(|load| in_word(load).powf(per_word)).powf(g))
    }

    /// The rate with exact in-word rates and coincident words, for independent loads of
    /// different words. Exact for g = 1.
    ///
    /// # Errors
    /// As [`BloomG::survey_rate`]; also if the words have parts and g does not divide k.
    pub fn independent_rate(&self) -> Result<f64> {
        self.check()?;
        if self.is_even() {
            let loads = LoadDistribution::binomial(self.keys * u64::from(self.group), self.words)?;
            let rates = self.rates_by_bits(self.hashes / self.group, loads.max_load())?;
            return self.over_coincidences(|bits| bits.iter().map(|b| loads.average(&rates[b])).product());
        }
        require(
            matches!(self.in_word, InBlock::Standard { .. }),
            "hashes",
            f64::from(self.hashes),
            "a multiple of group, as parts need",
            "make hashes a multiple of group, or use a standard layout in the word",
        )?;
        // the index draws that fall into one word, from both kinds of picks
        let mut draws = vec![1.0];
        for (picks, bits) in self.kinds() {
            let loads = LoadDistribution::binomial(picks, self.words)?;
            draws = convolve(&draws, &spread(loads.as_slice(), bits as usize));
        }
        let draws = LoadDistribution::trimmed(draws);
        let rates = self.rates_by_bits(1, draws.max_load())?;
        self.over_coincidences(|bits| bits.iter().map(|b| draws.average(&rates[b])).product())
    }

    /// The exact rate.
    ///
    /// # Errors
    /// As [`BloomG::survey_rate`]; also if g does not divide k.
    pub fn false_positive_rate(&self) -> Result<f64> {
        self.check()?;
        if !self.is_even() {
            return Err(AnalysisError::OutOfRange {
                argument: "hashes",
                value: f64::from(self.hashes),
                range: "a multiple of group, as the exact rate needs",
                remedy: "make hashes a multiple of group, or use independent_rate",
            });
        }
        let picks = self.keys * u64::from(self.group);
        if self.words == 1 {
            let loads = LoadDistribution::binomial(picks, 1)?;
            let rates = self.rates_by_bits(self.hashes / self.group, loads.max_load())?;
            return loads.average(&rates[&self.hashes]);
        }
        let mean = picks as f64 / self.words as f64;
        let one = LoadDistribution::poisson(mean)?;
        let rates = self.rates_by_bits(self.hashes / self.group, one.max_load())?;
        self.over_coincidences(|bits| {
            let different = bits.len() as u64;
            let mut joint = vec![1.0];
            for b in bits {
                let weighted: Vec<f64> =
                    one.as_slice().iter().zip(&rates[b]).map(|(p, rate)| p * rate).collect();
                joint = convolve(&joint, &weighted);
            }
            let poisson = LoadDistribution::poisson(mean * different as f64)?;
            let total = binomial_share(picks, different, self.words);
            let terms = joint.iter().zip(poisson.as_slice()).zip(total.as_slice());
            Ok(terms.filter(|((_, p), _)| **p > 0.0).map(|((j, p), t)| j / p * t).sum())
        })
    }

    /// For every number of bits that a query can test in one word, the exact chance that all
    /// are set, by load. `draws_per_load` indices were set per load.
    fn rates_by_bits(&self, draws_per_load: u32, max: usize) -> Result<BTreeMap<u32, Vec<f64>>> {
        let mut rates = BTreeMap::new();
        for bits in self.coincidences().into_keys().flatten() {
            if rates.contains_key(&bits) {
                continue;
            }
            let rate = match self.in_word {
                InBlock::Standard { bits: w } => query_rates(draws_per_load, w, bits, max)?,
                InBlock::Partitioned { part_bits } => {
                    // each part got one index per load, and is asked for one per coincident pick
                    let parts = self.hashes / self.group;
                    let mut rate = query_rates(1, part_bits, bits / parts, max)?;
                    for r in &mut rate {
                        *r = r.powf(f64::from(parts));
                    }
                    rate
                }
            };
            rates.insert(bits, rate);
        }
        Ok(rates)
    }

    /// The ways in which the g words of a query coincide: for each, the bits tested in each
    /// different word, and the number of ways with these bits.
    fn coincidences(&self) -> BTreeMap<Vec<u32>, f64> {
        let mut ways = BTreeMap::from([(Vec::new(), 1.0)]);
        for pick in 0..self.group {
            let bits = self.hashes / self.group + u32::from(pick < self.hashes % self.group);
            let mut next = BTreeMap::new();
            for (words, count) in ways {
                for at in 0..=words.len() {
                    let mut words = words.clone();
                    if at == words.len() {
                        words.push(bits);
                    } else {
                        words[at] += bits;
                    }
                    words.sort_unstable();
                    *next.entry(words).or_insert(0.0) += count;
                }
            }
            ways = next;
        }
        ways
    }

    /// The sum over [`BloomG::coincidences`] of probability times `rate`.
    fn over_coincidences(&self, rate: impl Fn(&[u32]) -> Result<f64>) -> Result<f64> {
        let l = self.words as f64;
        let mut sum = 0.0;
        for (bits, ways) in self.coincidences() {
            if bits.len() as u64 > self.words {
                continue;
            }
            let different: f64 = (0..bits.len()).map(|i| (l - i as f64) / l).product();
            let same = l.powf(bits.len() as f64 - f64::from(self.group));
            sum += ways * different * same * rate(&bits)?;
        }
        Ok(sum.min(1.0))
    }
}

/// Binomial(`picks`, `part`/`words`): how many picks fall on `part` given words.
fn binomial_share(picks: u64, part: u64, words: u64) -> LoadDistribution {
    if part == words {
        let mut all = vec![0.0; picks as usize + 1];
        all[picks as usize] = 1.0;
        return LoadDistribution::trimmed(all);
    }
    let odds = part as f64 / (words - part) as f64;
    let mode = ((picks as f64 + 1.0) * part as f64 / words as f64).min(picks as f64) as usize;
    let ratio = |load: usize| (picks.saturating_sub(load as u64)) as f64 / (load + 1) as f64 * odds;
    LoadDistribution::from_ratios(mode, ratio)
}

/// Each entry i moved to entry i * step.
fn spread(values: &[f64], step: usize) -> Vec<f64> {
    let mut out = vec![0.0; (values.len() - 1) * step + 1];
    for (i, &value) in values.iter().enumerate() {
        out[i * step] = value;
    }
    out
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.len() + b.len() - 1];
    for (i, &x) in a.iter().enumerate().filter(|(_, x)| **x > 0.0) {
        for (j, &y) in b.iter().enumerate() {
            out[i + j] += x * y;
        }
    }
    out
}

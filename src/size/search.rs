use std::collections::BTreeMap;

use serde::Serialize;

use super::{CONFIDENCE, Forecast, Need, Variant};
use crate::{
    params::{ConfigError, Params},
    registry::{self, Core},
};

/// A filter that meets the need.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The core.
    pub core: &'static str,
    /// Its variant.
    pub about: String,
    /// All its parameters.
    pub parameters: Params,
    /// Bits of memory.
    pub bits: u64,
    /// Bits of memory per key. The overflow list is not counted.
    pub bits_per_key: f64,
    /// What it does with all keys in.
    pub forecast: Forecast,
}

impl Choice {
    /// The command that co-verifies it: model and RTL with these very parameters.
    pub fn cosim_command(&self) -> String {
        self.command("cosim")
    }

    /// The command that exports it for other simulators and boards.
    pub fn export_command(&self) -> String {
        self.command("export") + " --out case"
    }

    fn command(&self, verb: &str) -> String {
        let options = registry::find(self.core).map(|core| core.options(&self.parameters));
        // The core clears its largest memory first.
        let sweep = self.forecast.memories.iter().map(|sram| sram.rows).max().unwrap_or(0);
        let cycles = (CYCLES + sweep).next_multiple_of(CYCLES / 2);
        format!("membrane {verb} {}{} --cycles {cycles}", self.core, options.unwrap_or_default())
    }
}

/// Why a core does not meet the need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The core.
    pub core: &'static str,
    /// What is in the way.
    pub why: String,
}

/// All cores, sorted out.
#[derive(Clone, Debug, Serialize)]
pub struct Ranking {
    /// Filters that meet the need, fewest bits first; where these agree to about one percent,
    /// fewest cycles of a query first.
    pub choices: Vec<Choice>,
    /// Cores that do not.
    pub refusals: Vec<Refusal>,
}

/// Cycles of a co-simulation beyond the start-up sweep.
const CYCLES: u64 = 200_000;
/// Rows are searched for to one in so many.
const RESOLUTION: u64 = 512;
/// A filter that is so many times larger than the least that can be is none.
const MOST_TIMES: u64 = 100;

/// Finds the fewest rows of every variant of every core, and sorts them.
///
/// # Panics
/// If the need is not one: no keys, or a rate that is not between 0 and 1.
pub fn rank(need: &Need) -> Ranking {
    assert!(need.keys > 0 && need.rate > 0.0 && need.rate < 1.0, "a number of keys, and a rate in 0..1");
    let mut ranking = Ranking { choices: Vec::new(), refusals: Vec::new() };
    let of_core = |core: &&'static dyn Core| (core.name(), choices_of(*core, need));
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = registry::CORES.iter().map(|core| scope.spawn(|| of_core(core))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic in a forecast")).collect()
    });
    for (core, result) in results {
        match result {
            Ok(choices) => ranking.choices.extend(choices),
            Err(why) => ranking.refusals.push(Refusal { core, why }),
        }
    }
    // A percent of the memory is no difference, where one has a faster query.
    let percents = |c: &Choice| (100.0 * c.bits_per_key.ln()).round() as i64;
    let order = |c: &Choice| (percents(c), (100.0 * c.forecast.query.cycles) as u64);
    ranking.choices.sort_by_key(|choice| (order(choice), choice.bits));
    ranking
}

/// What stands between a variant and the need.
#[derive(Default)]
struct Obstacles {
    /// Fewest accesses of a query.
    accesses: Option<u32>,
    /// Fewest bits.
    bits: Option<u64>,
    /// Lowest rate.
    rate: Option<f64>,
    /// What the core has against the parameters.
    refused: Option<ConfigError>,
}

impl Obstacles {
    fn describe(&self) -> String {
        let mut parts = Vec::new();
        if let Some(bits) = self.bits {
            parts.push(format!("needs {bits} bits of memory or more"));
        }
        if let Some(rate) = self.rate {
            parts.push(format!("has a rate of {rate:.2e} at its largest"));
        }
        if let Some(accesses) = self.accesses {
            parts.push(format!("reads {accesses} rows or more per query"));
        }
        if let Some(error) = self.refused.as_ref().filter(|_| parts.is_empty()) {
            parts.push(format!("has no parameters for it: {error}"));
        }
        if parts.is_empty() { "has no parameters for it".into() } else { parts.join("; else it ") }
    }
}

fn at_least<T: PartialOrd + Copy>(least: &mut Option<T>, value: T) {
    if least.is_none_or(|old| value < old) {
        *least = Some(value);
    }
}

/// The smallest of each kind of variant, or why there is none.
fn choices_of(core: &'static dyn Core, need: &Need) -> Result<Vec<Choice>, String> {
    let mut best: BTreeMap<String, Choice> = BTreeMap::new();
    let mut obstacles = Obstacles::default();
    for variant in core.variants(need)? {
        let Some((parameters, forecast)) = smallest(core, need, &variant, &mut obstacles) else { continue };
        let bits = forecast.bits();
        if need.memory.is_some_and(|most| bits > most) {
            at_least(&mut obstacles.bits, bits);
            continue;
        }
        let bits_per_key = bits as f64 / need.keys as f64;
        let choice = Choice {
            core: core.name(),
            about: variant.about.clone(),
            parameters,
            bits,
            bits_per_key,
            forecast,
        };
        // Of equal size, the lower rate.
        let size = |choice: &Choice| (choice.bits, choice.forecast.rate);
        if best.get(&variant.about).is_none_or(|old| size(&choice) < size(old)) {
            best.insert(variant.about, choice);
        }
    }
    if best.is_empty() { Err(obstacles.describe()) } else { Ok(best.into_values().collect()) }
}

/// The fewest rows of a variant that meet all but the limit of memory.
fn smallest(
    core: &dyn Core,
    need: &Need,
    variant: &Variant,
    obstacles: &mut Obstacles,
) -> Option<(Params, Forecast)> {
    let mut try_rows = |rows: u64| {
        let params = match core.check(&(variant.with_rows)(rows)?) {
            Ok(params) => params,
            Err(error) => {
                obstacles.refused.get_or_insert(error);
                return None;
            }
        };
        let forecast = core.forecast(&params, need.keys).ok()?;
        if need.accesses.is_some_and(|most| forecast.query.most_accesses > most) {
            at_least(&mut obstacles.accesses, forecast.query.most_accesses);
            return None;
        }
        if forecast.suffices < CONFIDENCE {
            return Some(Err(1.0));
        }
        let fits = forecast.rate <= need.rate;
        Some(if fits { Ok((params, forecast)) } else { Err(forecast.rate) })
    };
    // Upwards from what no filter can do with less, log2(1/rate) bits per key, and back to the
    // last that failed. Far too few rows may have no parameters at all, as far too many have.
    let bound = (need.keys as f64 * -need.rate.log2()) as u64 / variant.row_bits;
    let mut low = bound.max(1);
    let (mut found, mut lowest) = (None, f64::INFINITY);
    let mut high = low + 1;
    while high <= MOST_TIMES * (bound + 2) {
        match try_rows(high) {
            Some(Ok(fit)) => {
                found = Some(fit);
                break;
            }
            Some(Err(rate)) => lowest = lowest.min(rate),
            None => {}
        }
        low = high;
        high += 1 + high / 4;
    }
    let Some(mut found) = found else {
        if lowest.is_finite() {
            at_least(&mut obstacles.rate, lowest);
        }
        return None;
    };
    while high - low > 1 + high / RESOLUTION {
        let middle = low + (high - low) / 2;
        if let Some(Ok(fit)) = try_rows(middle) {
            found = fit;
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(found)
}

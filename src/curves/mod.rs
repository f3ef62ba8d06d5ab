//! What the report draws of every core: false positive rates and loads, measured and by theory,
//! its pipeline, and a few requests at its pins.
//!
//! A curve is a kind of filter as [`Core::variants`] names it. At every number of bits per key it has
//! the parameters of that kind with the lowest rate by theory ([`Core::forecast`]); where it is
//! measured, the functional model is filled with scattered keys and asked for others. Seeds are
//! fixed: two runs give the same file.

mod measure;
mod wave;

pub use measure::Measured;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    clocked::Fault,
    params::Params,
    plot::{Signal, Stage},
    registry::{CORES, Core},
    size::{CONFIDENCE, ForecastError, Loads, Need, Variant},
};
use measure::{keys, measure};

/// How much is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Keys in every filter.
    pub keys: u64,
    /// Bits per key at which the theory is asked.
    pub theory: Vec<u32>,
    /// Those of them at which the models are measured.
    pub measured: Vec<u32>,
    /// Bits per key, among the measured ones, at which loads are counted.
    pub loads: u32,
    /// How often a filter is filled, each time with other keys: twice at least.
    pub fillings: u64,
    /// A filling is asked until there are so many false positives,
    pub hits: u64,
    /// or so many queries were made.
    pub queries: u64,
}

impl Effort {
    /// Less than a minute.
    pub fn quick() -> Self {
        Self {
            keys: 50_000,
            theory: (6..=24).collect(),
            measured: (8..=24).step_by(4).collect(),
            loads: 16,
            fillings: 10,
            hits: 100,
            queries: 1 << 19,
        }
    }

    /// Many minutes.
    pub fn full() -> Self {
        Self {
            keys: 1_000_000,
            measured: (6..=24).step_by(2).collect(),
            hits: 1_000,
            queries: 1 << 24,
            ..Self::quick()
        }
    }
}

/// All that a run of `membrane curves` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// The command that wrote it.
    pub command: String,
    /// Keys in every filter.
    pub keys: u64,
    /// All cores.
    pub cores: Vec<CoreCurves>,
}

/// All of one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreCurves {
    /// Its name.
    pub core: String,
    /// What it is, in one line.
    pub about: String,
    /// One for each kind of it.
    pub curves: Vec<Curve>,
    /// How full blocks are, for each kind that has blocks.
    pub loads: Vec<BlockLoads>,
    /// Its stages, first one first.
    pub pipeline: Vec<Stage>,
    /// A few requests.
    pub wave: Wave,
}

/// A kind of filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// In few words.
    pub variant: String,
    /// Fewest bits per key first.
    pub points: Vec<Point>,
}

/// A filter of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Bits of all its memories per key.
    pub bits_per_key: f64,
    /// Its parameters.
    pub parameters: Params,
    /// False positive rate by theory.
    pub theory: f64,
    /// What the functional model did.
    pub measured: Option<Measured>,
}

/// How full the blocks of a filter's first memory are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockLoads {
    /// The kind of filter.
    pub variant: String,
    /// Bits of all its memories per key.
    pub bits_per_key: f64,
    /// How many blocks hold 0, 1, ... keys.
    pub blocks: Vec<u64>,
    /// The chance of a block to do so, by theory.
    pub theory: Vec<f64>,
}

impl BlockLoads {
    /// Leaves out what is too rare to be seen.
    fn new(variant: &str, bits_per_key: f64, found: Loads) -> Self {
        let theory = found.theory.as_slice();
        let likely = theory.iter().rposition(|share| *share > RARE).map_or(0, |last| last + 1);
        Self {
            variant: variant.to_owned(),
            bits_per_key,
            theory: theory[..likely].to_vec(),
            blocks: found.blocks,
        }
    }
}

/// Pins over time, from the clocked model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// Of which preset.
    pub preset: String,
    /// What is asked for, in words.
    pub script: String,
    /// Pins of one cycle after the other.
    pub signals: Vec<Signal>,
}

/// Curves of one core that a chart can tell apart.
const MOST: usize = 6;
/// Where a core has more kinds than that: those with the papers' rows.
const ROW: u32 = 256;
/// Loads less likely than this are not listed.
const RARE: f64 = 1e-5;

/// Measures all cores, one thread each. `progress` is called with the number of measurements that
/// turned out to be wanted, and of those that were made, since it was called last.
pub fn run(
    command: &str,
    effort: &Effort,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Curves, CurvesError> {
    let cores = std::thread::scope(|scope| {
        let start = |core: &&'static dyn Core| {
            let core = *core;
            scope.spawn(move || of_core(core, effort, progress))
        };
        let threads: Vec<_> = CORES.iter().map(start).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic in a model"))
            .collect::<Result<_, _>>()
    })?;
    Ok(Curves { command: command.to_owned(), keys: effort.keys, cores })
}

/// A core could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum CurvesError {
    /// Its theory has no answer.
    #[error(transparent)]
    Forecast(#[from] ForecastError),
    /// Its clocked model failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

fn of_core(
    core: &'static dyn Core,
    effort: &Effort,
    progress: &dyn Fn(u64, u64),
) -> Result<CoreCurves, CurvesError> {
    let plan: Vec<_> = effort.theory.iter().map(|bits| (*bits, best(core, effort.keys, *bits))).collect();
    let wanted = plan.iter().filter(|(bits, _)| effort.measured.contains(bits));
    progress(wanted.map(|(_, points)| points.len() as u64).sum(), 0);
    let mut kinds: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let mut loads = Vec::new();
    for (bits, points) in plan {
        for (variant, mut point) in points {
            if effort.measured.contains(&bits) {
                point.measured = Some(measure(core, &point.parameters, effort).map_err(ForecastError::from)?);
                progress(0, 1);
            }
            if bits == effort.loads {
                let keys: Vec<_> = keys(0).take(effort.keys as usize).collect();
                let found = core.loads(&point.parameters, &keys)?;
                loads.extend(found.map(|found| BlockLoads::new(&variant, point.bits_per_key, found)));
            }
            kinds.entry(variant).or_default().push(point);
        }
    }
    let curve = |(variant, points)| Curve { variant, points };
    let stages = core.facts().pipeline.iter().map(|stage| Stage {
        name: stage.name.into(),
        does: stage.does.into(),
        memory: stage.memory.map(str::to_owned),
    });
    Ok(CoreCurves {
        core: core.name().into(),
        about: core.about().into(),
        curves: kinds.into_iter().map(curve).collect(),
        loads,
        pipeline: stages.collect(),
        wave: wave::record(core)?,
    })
}

/// The filter with the lowest rate of every kind, at about so many bits per key.
fn best(core: &dyn Core, keys: u64, bits: u32) -> BTreeMap<String, Point> {
    // What a Bloom filter would do, so that the numbers of hashes around it are tried.
    let rate = 0.6185f64.powi(bits.cast_signed());
    let of_rows = |row| {
        let need = Need { keys, rate, row, ..Need::default() };
        let mut best: BTreeMap<String, Point> = BTreeMap::new();
        for variant in core.variants(&need).unwrap_or_default() {
            let Some(point) = point(core, &variant, keys, bits) else { continue };
            if best.get(&variant.about).is_none_or(|old| point.theory < old.theory) {
                best.insert(variant.about, point);
            }
        }
        best
    };
    let all = of_rows(None);
    if all.len() > MOST { of_rows(Some(ROW)) } else { all }
}

/// The variant with as many rows as there are bits for; `None` if it cannot be built, or would
/// refuse keys.
fn point(core: &dyn Core, variant: &Variant, keys: u64, bits: u32) -> Option<Point> {
    let rows = keys * u64::from(bits) / variant.row_bits;
    let parameters = core.check(&(variant.with_rows)(rows)?).ok()?;
    let forecast = core.forecast(&parameters, keys).ok()?;
    (forecast.suffices >= CONFIDENCE).then(|| Point {
        bits_per_key: forecast.bits() as f64 / keys as f64,
        parameters,
        theory: forecast.rate,
        measured: None,
    })
}

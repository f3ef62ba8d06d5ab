//! The files that a report is made from, as the commands write them.

use std::{fs, path::Path};

use serde::{Deserialize, de::DeserializeOwned};
use thiserror::Error;

use crate::params::Params;

/// A file that is not what it should be.
#[derive(Debug, Error)]
pub enum ReportError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is damaged, or another command's.
    #[error("{path}: {field}: {reason}: write it again with `{command}`")]
    Damaged {
        /// Which file.
        path: String,
        /// Where in it.
        field: String,
        /// What is wrong there.
        reason: String,
        /// What writes such a file.
        command: &'static str,
    },
}

/// What a command wrote.
pub trait Input: DeserializeOwned {
    /// The command.
    const COMMAND: &'static str;

    /// Reads a file.
    fn read(path: &Path) -> Result<Self, ReportError> {
        let name = || path.display().to_string();
        let text = fs::read_to_string(path).map_err(|source| ReportError::Io { path: name(), source })?;
        let mut json = serde_json::Deserializer::from_str(&text);
        let damaged = |field: String, reason: String| ReportError::Damaged {
            path: name(),
            field,
            reason,
            command: Self::COMMAND,
        };
        let value = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| damaged(error.path().to_string(), error.inner().to_string()))?;
        json.end().map_err(|error| damaged("after the end".into(), error.to_string()))?;
        Ok(value)
    }
}

impl Input for crate::curves::Curves {
    const COMMAND: &'static str = "membrane curves --json";
}

/// `membrane cosim --json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Cosim {
    /// The simulator and compiler.
    pub tools: String,
    /// A run each.
    pub results: Vec<CosimRun>,
}

impl Input for Cosim {
    const COMMAND: &'static str = "membrane cosim --json";
}

/// A co-simulation; one that stopped at a mismatch counted nothing.
#[derive(Clone, Debug, Deserialize)]
pub struct CosimRun {
    /// The core.
    pub core: String,
    /// Its preset.
    pub preset: String,
    /// All its parameters.
    pub parameters: Params,
    /// Of the stimulus.
    pub seed: u64,
    /// Cycles compared.
    pub cycles: u64,
    /// Requests in them.
    pub requests: Option<u64>,
    /// Differences.
    pub mismatches: u64,
    /// Share of cycles in which a memory port is used.
    pub port_utilization: Option<f64>,
    /// The same while requests are offered and responses taken in every cycle.
    pub port_utilization_saturated: Option<f64>,
    /// Speed.
    pub cycles_per_second: Option<f64>,
}

/// `membrane repro --json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Repro {
    /// `quick` or `full`.
    pub effort: String,
    /// All papers.
    pub papers: Vec<Paper>,
}

impl Input for Repro {
    const COMMAND: &'static str = "membrane repro --json";
}

/// What is reproduced of a paper.
#[derive(Clone, Debug, Deserialize)]
pub struct Paper {
    /// Its title.
    pub title: String,
    /// Its tables and plots.
    pub sections: Vec<PaperSection>,
}

/// A table or plot of a paper, or a line of it.
#[derive(Clone, Debug, Deserialize)]
pub struct PaperSection {
    /// Where it is.
    pub place: String,
    /// Its figures.
    pub rows: Vec<PaperRow>,
    /// Its statements.
    pub claims: Vec<Claim>,
    /// What a reader should know.
    pub note: Option<String>,
}

/// A figure of a paper beside ours.
#[derive(Clone, Debug, Deserialize)]
pub struct PaperRow {
    /// What it is.
    pub what: String,
    /// As printed.
    pub paper: Option<f64>,
    /// By the paper's own formula, where that is not ours.
    pub reading: Option<f64>,
    /// By ours.
    pub formula: Option<f64>,
    /// By the models.
    pub measured: Option<Sample>,
    /// Ours against the printed one.
    pub difference: Option<f64>,
    /// How far they may be apart.
    pub tolerance: Option<Tolerance>,
    /// How it came out.
    pub verdict: String,
    /// Why the print is wrong.
    pub erratum: Option<String>,
}

/// How near a computed figure must come to the printed one.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// To half a unit of the last of so many decimals.
    Decimals(u32),
    /// To this share of it.
    Relative(f64),
    /// To this difference.
    Absolute(f64),
    /// At or below it.
    AtMost,
    /// Between two formulas, or outside by this difference.
    Between(f64),
}

/// A measured value.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Sample {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

/// A statement of a paper.
#[derive(Clone, Debug, Deserialize)]
pub struct Claim {
    /// What it says.
    pub statement: String,
    /// What we found.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
    /// It is known not to.
    pub erratum: bool,
}

/// `scripts/area_table.py --json`.
#[derive(Clone, Debug, Deserialize)]
pub struct Area {
    /// What it was synthesized for.
    pub target: String,
    /// A core and preset each.
    pub rows: Vec<AreaRow>,
}

impl Input for Area {
    const COMMAND: &'static str = "scripts/area_table.py --json area.json";
}

/// Cells of a core.
#[derive(Clone, Debug, Deserialize)]
pub struct AreaRow {
    /// The core.
    pub core: String,
    /// Its preset.
    pub preset: String,
    /// Look-up tables.
    #[serde(rename = "LUT4")]
    pub lut4: u64,
    /// Pairs of carry cells.
    #[serde(rename = "CCU2C")]
    pub ccu2c: u64,
    /// Flip-flops.
    #[serde(rename = "TRELLIS_FF")]
    pub flip_flops: u64,
    /// Block RAMs.
    #[serde(rename = "DP16KD")]
    pub block_rams: u64,
}

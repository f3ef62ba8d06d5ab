//! Parameter sets, one a line: `core preset [NAME=VALUE ...]`.

use std::fmt;

use anyhow::{Context, Result, bail};
use membrane::{Core, Params, registry};

/// The committed sets for mutants: small, so that proofs are in reach, and such that together
/// they make every module.
pub const MUTANTS: &str = include_str!("../mutants.sets");

/// A core with parameters.
#[derive(Clone, Debug)]
pub struct Set {
    /// The core.
    pub core: &'static dyn Core,
    /// The preset it starts from, and what differs.
    pub name: String,
    /// All parameters, checked.
    pub params: Params,
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.core.name(), self.name)
    }
}

impl Set {
    /// A file name of its own.
    pub fn slug(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        self.to_string().chars().map(plain).collect()
    }

    /// Reads one line.
    pub fn parse(line: &str) -> Result<Self> {
        let mut words = line.split_whitespace();
        let (Some(core), Some(preset)) = (words.next(), words.next()) else {
            bail!("{line:?} is not `core preset [NAME=VALUE ...]`");
        };
        let core = registry::find(core).with_context(|| format!("there is no core {core}"))?;
        let found = core.presets().iter().find(|p| p.name == preset);
        let mut params = found.with_context(|| format!("{} has no preset {preset}", core.name()))?.params();
        let mut name = preset.to_owned();
        for word in words {
            params.parse_set(core.params(), core.name(), word)?;
            name = name + " " + word;
        }
        Ok(Self { core, name, params: core.check(&params)? })
    }
}

/// The sets of a text whose name starts with `only`; lines that start with `#` are comments.
pub fn read(text: &str, only: &str) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if !line.trim().is_empty() && !line.starts_with('#') {
            sets.push(Set::parse(line).with_context(|| format!("line {number}"))?);
        }
    }
    sets.retain(|set| set.to_string().starts_with(only));
    if sets.is_empty() {
        bail!("no set starts with {only}: see sim/trust/mutants.sets");
    }
    Ok(sets)
}

/// All presets of all cores, then the sets for mutants: what coverage is measured over.
pub fn all(only: &str) -> Result<Vec<Set>> {
    let presets = registry::CORES
        .iter()
        .flat_map(|core| core.presets().iter().map(|preset| format!("{} {}\n", core.name(), preset.name)));
    read(&(presets.collect::<String>() + MUTANTS), only)
}

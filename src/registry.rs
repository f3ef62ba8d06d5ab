//! The cores, one line each. Everything that works on "any core" (the command
//! line, the vectors, co-simulation, the tests) finds it here and nowhere else.

use crate::{
    balanced, blocked,
    clocked::Clocked,
    filter::Filter,
    hash::{Field, H3},
    params::{ConfigError, ParamSpec, Params, Rule},
    partitioned,
    size::{Forecast, ForecastError, Loads, Need, Variant},
    tinyset,
};

/// All cores.
pub static CORES: &[&dyn Core] = &[&partitioned::CORE, &blocked::CORE, &balanced::CORE, &tinyset::CORE];

/// Named parameters that people can start from.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// The parameters that differ from their defaults.
    pub values: &'static [(&'static str, u64)],
}

impl Preset {
    /// Its parameters.
    pub fn params(&self) -> Params {
        self.values.iter().fold(Params::new(), |params, (name, value)| params.with(name, *value))
    }
}

/// One Verilog file.
#[derive(Clone, Copy, Debug)]
pub struct RtlFile {
    /// File name.
    pub name: &'static str,
    /// Content.
    pub text: &'static str,
}

/// A file of `rtl/`, built into the program: a user of the binary alone can
/// co-verify and export any core.
#[macro_export]
macro_rules! rtl {
    ($name:literal) => {
        $crate::registry::RtlFile {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/rtl/", $name)),
        }
    };
}

/// A stage of a core's pipeline: a row of the table in its page of docs/.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Its name in model and Verilog.
    pub name: &'static str,
    /// What happens in it.
    pub does: &'static str,
    /// What it does with the memories, if anything.
    pub memory: Option<&'static str>,
}

impl Stage {
    /// A stage without memory access.
    pub const fn new(name: &'static str, does: &'static str) -> Self {
        Self { name, does, memory: None }
    }

    /// With one.
    #[must_use]
    pub const fn memory(self, memory: &'static str) -> Self {
        Self { memory: Some(memory), ..self }
    }
}

/// What is the same for every use of a core: data beside its code.
#[derive(Clone, Copy)]
pub struct Facts {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Its top module.
    pub module: &'static str,
    /// Its Verilog, top module's file first.
    pub rtl: &'static [RtlFile],
    /// Its parameters, in the order of the Verilog.
    pub params: &'static [ParamSpec],
    /// Its rules beyond the ranges.
    pub rules: &'static [Rule],
    /// Its presets.
    pub presets: &'static [Preset],
    /// Its pipeline, first stage first.
    pub pipeline: &'static [Stage],
}

/// What the rest of the project needs to know of a filter.
pub trait Core: Sync + std::fmt::Debug {
    /// What is the same for every use of it.
    fn facts(&self) -> &'static Facts;

    /// The functional model.
    fn filter(&self, params: &Params) -> Result<Box<dyn Filter>, ConfigError>;

    /// The clocked model.
    fn clocked(&self, params: &Params) -> Result<Box<dyn Clocked>, ConfigError>;

    /// The hash, and the field in which keys of one memory row agree: how the
    /// stimulus makes requests that get in each other's way.
    fn home(&self, params: &Params) -> Result<(H3, Field), ConfigError>;

    /// Keys of one memory row that the core takes before it refuses one; `None` if it
    /// never does. The stimulus fills some rows to that point.
    fn capacity(&self, params: &Params) -> Option<u64> {
        let _ = params;
        None
    }

    /// What the filter does when `keys` keys are in it.
    fn forecast(&self, params: &Params, keys: u64) -> Result<Forecast, ForecastError>;

    /// How full the blocks of the first memory are after these 64-bit keys were inserted; `None`
    /// for a core without blocks.
    fn loads(&self, params: &Params, keys: &[u64]) -> Result<Option<Loads>, ForecastError> {
        let _ = (params, keys);
        Ok(None)
    }

    /// The variants to try for a need, or why there are none.
    fn variants(&self, need: &Need) -> Result<Vec<Variant>, String>;

    /// Its name on the command line.
    fn name(&self) -> &'static str {
        self.facts().name
    }

    /// What it is, in one line.
    fn about(&self) -> &'static str {
        self.facts().about
    }

    /// Its top module.
    fn module(&self) -> &'static str {
        self.facts().module
    }

    /// Its Verilog, top module's file first.
    fn rtl(&self) -> &'static [RtlFile] {
        self.facts().rtl
    }

    /// Its parameters, in the order of the Verilog.
    fn params(&self) -> &'static [ParamSpec] {
        self.facts().params
    }

    /// Its rules beyond the ranges.
    fn rules(&self) -> &'static [Rule] {
        self.facts().rules
    }

    /// Its presets.
    fn presets(&self) -> &'static [Preset] {
        self.facts().presets
    }

    /// The options of a command line that set these parameters, each after a space; what is
    /// at its default is left out.
    fn options(&self, params: &Params) -> String {
        let default = |name| self.params().iter().find(|spec| spec.name == name).and_then(|s| s.default);
        let set = params.iter().filter(|(name, value)| default(*name) != Some(*value));
        set.fold(String::new(), |options, (name, value)| options + &format!(" --set {name}={value}"))
    }

    /// Checks parameters and fills in defaults.
    fn check(&self, params: &Params) -> Result<Params, ConfigError> {
        params.check(self.name(), self.params(), self.rules())
    }
}

/// The core with this name.
pub fn find(name: &str) -> Option<&'static dyn Core> {
    CORES.iter().copied().find(|core| core.name() == name)
}

//! Parameters of the cores: their ranges, their rules, and the words in which
//! both halves refuse a bad one.
//!
//! A rule is a sentence such as `BANKS must be 1 to 64`. The Rust config refuses
//! with that sentence and a remedy; the Verilog stops elaboration by
//! instantiating a module that does not exist and is named after the sentence,
//! `membrane_error_BANKS_must_be_1_to_64`, the one idiom that stops every tool.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// One parameter of a core.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Name in the Verilog.
    pub name: &'static str,
    /// What it sets.
    pub about: &'static str,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// The value when none is given; sizes have none.
    pub default: Option<u64>,
    /// Names for values, where they are choices.
    pub choices: &'static [(&'static str, u64)],
}

impl ParamSpec {
    /// A parameter that must be given.
    pub const fn required(name: &'static str, about: &'static str, min: u64, max: u64) -> Self {
        Self { name, about, min, max, default: None, choices: &[] }
    }

    /// A parameter with a default.
    pub const fn optional(name: &'static str, about: &'static str, min: u64, max: u64, default: u64) -> Self {
        Self { name, about, min, max, default: Some(default), choices: &[] }
    }

    /// A parameter that picks one of several named things; the first is the default.
    pub const fn choice(
        name: &'static str,
        about: &'static str,
        choices: &'static [(&'static str, u64)],
    ) -> Self {
        let max = choices.len() as u64 - 1;
        Self { name, about, min: 0, max, default: Some(0), choices }
    }

    /// The sentence that its range makes, unless every 64-bit value is legal.
    pub fn range_rule(&self) -> Option<String> {
        (self.min > 0 || self.max < u64::MAX)
            .then(|| format!("{} must be {} to {}", self.name, self.min, self.max))
    }
}

/// The parameters that every filter core has.
pub mod common {
    use super::{ParamSpec, Rule};

    /// `SEED` when none is given.
    pub const DEFAULT_SEED: u64 = 0x6d65_6d62_7261_6e65;

    pub const KEY_W: ParamSpec = ParamSpec::required("KEY_W", "bits of a key", 1, 1024);
    pub const TAG_W: ParamSpec = ParamSpec::optional("TAG_W", "bits of a tag", 1, 32, 8);
    pub const SEED: ParamSpec = ParamSpec::optional("SEED", "seed of the hash", 0, u64::MAX, DEFAULT_SEED);
    pub const MIX: ParamSpec =
        ParamSpec::optional("MIX", "rounds that mix the key before it is hashed", 0, 16, 0);

    pub const PARITY: ParamSpec = ParamSpec::optional(
        "PARITY",
        "1: a parity bit on top of every memory row, checked on reading",
        0,
        1,
        0,
    );

    pub const MIX_RULE: Rule = Rule {
        words: "KEY_W must be at least 20 where MIX is above 0",
        remedy: "set MIX to 0, or widen the key with zeros",
        broken: |p| p.at("MIX") > 0 && p.at("KEY_W") < 20,
    };
}

/// A rule beyond the ranges.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The sentence; `{A}` is not replaced: it is the same for every value.
    pub words: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Whether these parameters, each in its range, break it.
    pub broken: fn(&Params) -> bool,
}

/// The module that the Verilog instantiates when a rule is broken.
pub fn sentinel(words: &str) -> String {
    let mut name = String::from("membrane_error_");
    for c in words.chars() {
        name.push(if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' });
    }
    name
}

/// Parameters that a core refuses.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// A rule is broken.
    #[error("{rule} (got {got}): {remedy}")]
    Rule {
        /// The sentence that the RTL stops with, too.
        rule: String,
        /// The values that break it.
        got: String,
        /// What to do.
        remedy: String,
    },
    /// A parameter without default was not given.
    #[error("{name} is not set ({about}): give it, {min} to {max}")]
    Missing {
        /// Which.
        name: &'static str,
        /// What it sets.
        about: &'static str,
        /// Range.
        min: u64,
        /// Range.
        max: u64,
    },
    /// No such parameter.
    #[error("{core} has no parameter {name}: it has {known}")]
    Unknown {
        /// The core.
        core: String,
        /// The name given.
        name: String,
        /// The names it has.
        known: String,
    },
    /// Not a number, nor one of the choices.
    #[error("{name}={text} is not a value: give {expected}")]
    Value {
        /// The parameter.
        name: String,
        /// The text given.
        text: String,
        /// What would do.
        expected: String,
    },
}

/// Values by parameter name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Params(BTreeMap<String, u64>);

impl Params {
    /// No values yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one value set.
    #[must_use]
    pub fn with(mut self, name: &str, value: u64) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a value.
    pub fn set(&mut self, name: &str, value: u64) {
        self.0.insert(name.to_owned(), value);
    }

    /// The value of a parameter, if set.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// The value of a parameter that is known to be set.
    ///
    /// # Panics
    /// When it is not: [`Params::check`] has not passed.
    pub fn at(&self, name: &str) -> u64 {
        self.get(name).unwrap_or_else(|| panic!("parameter {name} was not checked"))
    }

    /// All values in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Sets a value from `NAME=VALUE` text: decimal, `0x` hexadecimal, or a choice.
    pub fn parse_set(&mut self, specs: &[ParamSpec], core: &str, text: &str) -> Result<(), ConfigError> {
        let (name, value) = text.split_once('=').ok_or_else(|| ConfigError::Value {
            name: text.to_owned(),
            text: String::new(),
            expected: "NAME=VALUE, such as BANKS=5".into(),
        })?;
        let name = name.trim().to_ascii_uppercase();
        let spec = find(specs, core, &name)?;
        let digits = value.trim().replace('_', "");
        let number = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        };
        let choice = || spec.choices.iter().find(|(word, _)| *word == value.trim()).map(|c| c.1);
        let value = number.or_else(choice).ok_or_else(|| ConfigError::Value {
            name: name.clone(),
            text: value.to_owned(),
            expected: if spec.choices.is_empty() {
                format!("a number from {} to {}", spec.min, spec.max)
            } else {
                spec.choices.iter().map(|(word, n)| format!("{word} ({n})")).collect::<Vec<_>>().join(" or ")
            },
        })?;
        self.set(&name, value);
        Ok(())
    }

    /// Fills in defaults and checks names, ranges and rules.
    pub fn check(&self, core: &str, specs: &[ParamSpec], rules: &[Rule]) -> Result<Params, ConfigError> {
        for (name, _) in self.iter() {
            find(specs, core, name)?;
        }
        let mut full = self.clone();
        for spec in specs {
            let value = self.get(spec.name).or(spec.default).ok_or(ConfigError::Missing {
                name: spec.name,
                about: spec.about,
                min: spec.min,
                max: spec.max,
            })?;
            if value < spec.min || value > spec.max {
                return Err(ConfigError::Rule {
                    rule: spec.range_rule().unwrap_or_default(),
                    got: value.to_string(),
                    remedy: if value < spec.min {
                        format!("raise it to {} or more", spec.min)
                    } else {
                        format!("lower it to {} or less", spec.max)
                    },
                });
            }
            full.set(spec.name, value);
        }
        for rule in rules {
            if (rule.broken)(&full) {
                // Whole words: a parameter may be named by one letter.
                let words = rule.words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let named = specs.iter().filter(|spec| words.clone().any(|word| word == spec.name));
                let got: Vec<_> = named.map(|s| format!("{}={}", s.name, full.at(s.name))).collect();
                return Err(ConfigError::Rule {
                    rule: rule.words.to_owned(),
                    got: got.join(", "),
                    remedy: rule.remedy.to_owned(),
                });
            }
        }
        Ok(full)
    }
}

fn find<'a>(specs: &'a [ParamSpec], core: &str, name: &str) -> Result<&'a ParamSpec, ConfigError> {
    specs.iter().find(|spec| spec.name == name).ok_or_else(|| ConfigError::Unknown {
        core: core.to_owned(),
        name: name.to_owned(),
        known: specs.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", "),
    })
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            if value > u64::from(u32::MAX) {
                write!(f, "{space}{name}={value:#x}")?;
            } else {
                write!(f, "{space}{name}={value}")?;
            }
        }
        Ok(())
    }
}

// Numbers that a double cannot hold become strings, because many JSON readers
// turn every number into a double.
const EXACT_IN_JSON: u64 = 1 << 53;

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| {
            let value = if *value < EXACT_IN_JSON {
                serde_json::Value::from(*value)
            } else {
                serde_json::Value::from(format!("{value:#018x}"))
            };
            (name, value)
        }))
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let mut params = Params::new();
        for (name, value) in map {
            let number = match &value {
                serde_json::Value::Number(n) => n.as_u64(),
                serde_json::Value::String(s) => {
                    s.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok())
                }
                _ => None,
            };
            let number = number.ok_or_else(|| {
                de::Error::custom(format!("parameter {name}: {value} is neither a number nor \"0x...\""))
            })?;
            params.set(&name, number);
        }
        Ok(params)
    }
}

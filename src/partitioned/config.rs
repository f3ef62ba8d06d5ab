use serde::{Deserialize, Serialize};

use crate::{
    params::{
        ConfigError, ParamSpec, Params, Rule,
        common::{DEFAULT_SEED, KEY_W, MIX, MIX_RULE, PARITY, SEED, TAG_W},
    },
    registry::{Core, Preset},
};

use super::CORE;

/// How the bit indices come from the hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Indexing {
    /// A hash field per index.
    #[default]
    Independent = 0,
    /// `g_i = h1 + i * h2`: two fields for all indices.
    Double = 1,
}

/// Parameters of `membrane_partitioned`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Memories.
    pub banks: u32,
    /// Hash functions per memory.
    pub hashes: u32,
    /// Rows of a memory.
    pub rows: u64,
    /// Bits of a row. More than one needs memories with a write mask per bit.
    pub width: u32,
    /// Bits of a key.
    pub key_w: u32,
    /// Bits of a tag.
    pub tag_w: u32,
    /// How the bit indices come from the hash.
    pub indexing: Indexing,
    /// Seed of the hash.
    pub seed: u64,
    /// Rounds that mix the key before it is hashed.
    pub mix: u32,
    /// Every memory row has a parity bit.
    pub parity: bool,
}

const MAX_BITS: u64 = 1 << 30;

pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("BANKS", "memories, accessed together", 1, 64),
    ParamSpec::optional("HASHES", "hash functions per memory, one access each", 1, 64, 1),
    ParamSpec::required("ROWS", "rows per memory", 2, MAX_BITS),
    ParamSpec::optional("WIDTH", "bits per row; above 1 the memories need a write mask", 1, 512, 1),
    KEY_W,
    TAG_W,
    ParamSpec::choice("INDEXING", "where the bit indices come from", &[("independent", 0), ("double", 1)]),
    SEED,
    MIX,
    PARITY,
];

pub(super) const RULES: &[Rule] = &[
    MIX_RULE,
    Rule {
        words: "PARITY must be 0 where WIDTH is above 1",
        remedy: "with a write mask no row is known when it is written: use WIDTH 1, or set PARITY to 0",
        broken: |p| p.at("PARITY") > 0 && p.at("WIDTH") > 1,
    },
    Rule {
        words: "BANKS times HASHES must be at most 64",
        remedy: "a filter rarely gains from more than 30 hash functions: lower one of them",
        broken: |p| p.at("BANKS") * p.at("HASHES") > 64,
    },
    Rule {
        words: "WIDTH must be a power of two",
        remedy: "use 1 for block RAM, or a power of two for masked memories",
        broken: |p| !p.at("WIDTH").is_power_of_two(),
    },
    Rule {
        words: "ROWS times WIDTH must be at most 1073741824",
        remedy: "spread the bits over more BANKS",
        broken: |p| p.at("ROWS") * p.at("WIDTH") > MAX_BITS,
    },
];

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "k7",
        about: "partitioned, k = 7: 1 % at 9.7 bits per key",
        values: &[("BANKS", 7), ("ROWS", 4096), ("KEY_W", 64)],
    },
    Preset {
        name: "k8-double",
        about: "partitioned, 8 banks, double hashing",
        values: &[("BANKS", 8), ("ROWS", 4096), ("KEY_W", 64), ("INDEXING", 1)],
    },
    Preset {
        name: "k10-odd",
        about: "partitioned, k = 10: 0.1 %, rows not a power of two, 104-bit keys (IPv4 5-tuple)",
        values: &[("BANKS", 10), ("ROWS", 3000), ("KEY_W", 104), ("TAG_W", 12)],
    },
    Preset {
        name: "standard-k4",
        about: "standard filter on one port: 4 hashes, 4 cycles",
        values: &[("BANKS", 1), ("HASHES", 4), ("ROWS", 8192), ("KEY_W", 32)],
    },
    Preset {
        name: "hybrid-4x2",
        about: "hybrid: 4 banks with 2 hashes each, 2 cycles",
        values: &[("BANKS", 4), ("HASHES", 2), ("ROWS", 2048), ("KEY_W", 48)],
    },
    Preset {
        name: "standard-double",
        about: "standard filter on one port, double hashing over an odd size",
        values: &[("BANKS", 1), ("HASHES", 5), ("ROWS", 1021), ("KEY_W", 64), ("INDEXING", 1)],
    },
    Preset {
        name: "tiny",
        about: "3 banks of 16 bits: small enough to follow by hand",
        values: &[("BANKS", 3), ("ROWS", 16), ("KEY_W", 8), ("TAG_W", 4)],
    },
    Preset {
        name: "tiny-parity",
        about: "3 banks of 16 bits, each stored twice: soft errors raise a pin",
        values: &[("BANKS", 3), ("ROWS", 16), ("KEY_W", 8), ("TAG_W", 4), ("PARITY", 1)],
    },
    Preset {
        name: "k8-masked",
        about: "partitioned on memories of 32-bit rows with a write mask, for ASIC macros",
        values: &[("BANKS", 8), ("ROWS", 256), ("WIDTH", 32), ("KEY_W", 64)],
    },
    Preset {
        name: "k7-mixed",
        about: "partitioned, k = 7, for keys in a row: mixed before they are hashed",
        values: &[("BANKS", 7), ("ROWS", 4096), ("KEY_W", 64), ("MIX", 5)],
    },
];

/// One bank of one hash and no size: a start for `..Config::default()`, refused
/// as it stands because sizes have no default.
impl Default for Config {
    fn default() -> Self {
        Self {
            banks: 0,
            hashes: 1,
            rows: 0,
            width: 1,
            key_w: 0,
            tag_w: 8,
            indexing: Indexing::Independent,
            seed: DEFAULT_SEED,
            mix: 0,
            parity: false,
        }
    }
}

impl Config {
    /// Checks parameters by name.
    pub fn from_params(params: &Params) -> Result<Self, ConfigError> {
        let params = CORE.check(params)?;
        Ok(Self {
            banks: params.at("BANKS") as u32,
            hashes: params.at("HASHES") as u32,
            rows: params.at("ROWS"),
            width: params.at("WIDTH") as u32,
            key_w: params.at("KEY_W") as u32,
            tag_w: params.at("TAG_W") as u32,
            indexing: if params.at("INDEXING") == 0 { Indexing::Independent } else { Indexing::Double },
            seed: params.at("SEED"),
            mix: params.at("MIX") as u32,
            parity: params.at("PARITY") != 0,
        })
    }

    /// The same by name.
    pub fn params(&self) -> Params {
        Params::new()
            .with("BANKS", self.banks.into())
            .with("HASHES", self.hashes.into())
            .with("ROWS", self.rows)
            .with("WIDTH", self.width.into())
            .with("KEY_W", self.key_w.into())
            .with("TAG_W", self.tag_w.into())
            .with("INDEXING", self.indexing as u64)
            .with("SEED", self.seed)
            .with("MIX", self.mix.into())
            .with("PARITY", self.parity.into())
    }

    /// Refuses what the RTL refuses, in the same words.
    pub fn validate(&self) -> Result<(), ConfigError> {
        CORE.check(&self.params()).map(|_| ())
    }

    /// Hash functions in all: the k of the papers.
    pub fn k(&self) -> u32 {
        self.banks * self.hashes
    }

    /// Bits of a bank: what one index selects from.
    pub fn bank_bits(&self) -> u64 {
        self.rows * u64::from(self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_legal_and_round_trip() {
        for preset in PRESETS {
            let config = Config::from_params(&preset.params()).unwrap();
            assert_eq!(Config::from_params(&config.params()).unwrap(), config, "{}", preset.name);
        }
    }

    #[test]
    fn refusals_name_parameter_and_remedy() {
        let base = Config { banks: 4, rows: 1024, key_w: 64, ..Config::default() };
        base.validate().unwrap();
        let refused = |config: Config| config.validate().unwrap_err().to_string();
        assert_eq!(
            refused(Config { banks: 65, ..base.clone() }),
            "BANKS must be 1 to 64 (got 65): lower it to 64 or less"
        );
        assert_eq!(
            refused(Config { width: 24, ..base.clone() }),
            "WIDTH must be a power of two (got WIDTH=24): \
             use 1 for block RAM, or a power of two for masked memories"
        );
        assert_eq!(
            refused(Config { hashes: 20, ..base.clone() }),
            "BANKS times HASHES must be at most 64 (got BANKS=4, HASHES=20): \
             a filter rarely gains from more than 30 hash functions: lower one of them"
        );
        assert!(refused(Config { rows: 1 << 22, width: 512, ..base }).starts_with("ROWS times WIDTH"));
        assert_eq!(
            Config::from_params(&Params::new().with("BANKS", 3)).unwrap_err().to_string(),
            "ROWS is not set (rows per memory): give it, 2 to 1073741824"
        );
    }
}

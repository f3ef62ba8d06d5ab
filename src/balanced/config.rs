use serde::{Deserialize, Serialize};

use crate::{
    analysis::Threshold,
    hash::clog2,
    params::{
        ConfigError, ParamSpec, Params, Rule,
        common::{DEFAULT_SEED, KEY_W, MIX, MIX_RULE, PARITY, SEED, TAG_W},
    },
    registry::{Core, Preset},
};

use super::CORE;

/// Where the choices of a key are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// One choice.
    #[default]
    Single = 0,
    /// `D` choices in one memory, read one after another.
    Sequential = 1,
    /// `D` memories of falling size with one choice each, read at the same time.
    Multilevel = 2,
}

/// Parameters of `membrane_balanced`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Where the choices are.
    pub scheme: Scheme,
    /// Choices of a key.
    pub d: u32,
    /// Blocks of the (first) memory.
    pub rows: u64,
    /// Size of a level relative to the one before, times 65536.
    pub q: u64,
    /// Filter bits of a block, without its count.
    pub block_w: u32,
    /// Bits that a key sets in a block: the k of the papers.
    pub hashes: u32,
    /// Keys that a block takes in any case.
    pub h: u32,
    /// Chance that a block of `h` keys takes one more, times 65536.
    pub p: u32,
    /// Block reads that inserts may make between two clears; 0 for any number.
    pub access_budget: u64,
    /// Entries of the overflow list.
    pub cam_depth: u32,
    /// Bits of a key.
    pub key_w: u32,
    /// Bits of a tag.
    pub tag_w: u32,
    /// Seed of the hash.
    pub seed: u64,
    /// Rounds that mix the key before it is hashed.
    pub mix: u32,
    /// Every memory row has a parity bit.
    pub parity: bool,
}

const MAX_BITS: u64 = 1 << 30;
/// q for an insert budget of 1.2 accesses on 3 levels: 1 + q + q^2 = 1.2.
const DEFAULT_Q: u64 = 11195;
/// Choices that the range of `D` allows.
pub(super) const MAX_D: usize = 4;

pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec::choice(
        "SCHEME",
        "where the choices of a key are",
        &[("single", 0), ("sequential", 1), ("multilevel", 2)],
    ),
    ParamSpec::optional("D", "choices of a key", 1, MAX_D as u64, 1),
    ParamSpec::required("ROWS", "blocks of the first memory", 2, 1 << 24),
    ParamSpec::optional("Q", "multilevel: size of a level / one before * 65536", 1, 65536, DEFAULT_Q),
    ParamSpec::required("BLOCK_W", "filter bits of a block, its count excluded", 4, 512),
    ParamSpec::required("HASHES", "bits that a key sets in a block", 1, 64),
    ParamSpec::required("H", "keys that a block takes in any case", 1, 254),
    ParamSpec::optional("P", "chance to take one key more * 65536", 0, 65535, 0),
    ParamSpec::optional("ACCESS_BUDGET", "block reads of all inserts; 0: any number", 0, 1 << 30, 0),
    ParamSpec::required("CAM_DEPTH", "entries of the overflow list; 0: none", 0, 1024),
    KEY_W,
    TAG_W,
    SEED,
    MIX,
    PARITY,
];

pub(super) const RULES: &[Rule] = &[
    MIX_RULE,
    Rule {
        words: "D must be 1 with SCHEME single",
        remedy: "choose SCHEME sequential or multilevel for more choices",
        broken: |p| p.at("SCHEME") == 0 && p.at("D") != 1,
    },
    Rule {
        words: "ROWS times BLOCK_W must be at most 1073741824",
        remedy: "lower one of them",
        broken: |p| p.at("ROWS") * p.at("BLOCK_W") > MAX_BITS,
    },
];

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "single-256",
        about: "one choice, 256-bit rows: 251 bits and a count; 24 bits per key, 0.5 % listed",
        values: &[
            ("ROWS", 4096),
            ("BLOCK_W", 251),
            ("HASHES", 17),
            ("H", 16),
            ("P", 59386),
            ("CAM_DEPTH", 32),
            ("KEY_W", 64),
        ],
    },
    Preset {
        name: "sequential-256",
        about: "two choices in one memory, 256-bit rows, 24 bits per key",
        values: &[
            ("SCHEME", 1),
            ("D", 2),
            ("ROWS", 1024),
            ("BLOCK_W", 252),
            ("HASHES", 17),
            ("H", 12),
            ("P", 20000),
            ("CAM_DEPTH", 32),
            ("KEY_W", 64),
        ],
    },
    Preset {
        name: "multilevel-256",
        about: "the paper's: a = 1.2, d = 3, 256-bit rows, 24 bits per key in 4096 blocks",
        values: &[
            ("SCHEME", 2),
            ("D", 3),
            ("ROWS", 3413),
            ("BLOCK_W", 252),
            ("HASHES", 17),
            ("H", 11),
            ("P", 10256),
            ("CAM_DEPTH", 32),
            ("KEY_W", 64),
        ],
    },
    Preset {
        name: "multilevel-2",
        about: "two levels of 4 to 1, 256 filter bits (no multipliers), 104-bit keys (IPv4 5-tuple)",
        values: &[
            ("SCHEME", 2),
            ("D", 2),
            ("ROWS", 256),
            ("Q", 16384),
            ("BLOCK_W", 256),
            ("HASHES", 8),
            ("H", 20),
            ("P", 32768),
            ("CAM_DEPTH", 16),
            ("KEY_W", 104),
            ("TAG_W", 12),
        ],
    },
    Preset {
        name: "single-512",
        about: "one choice, 512 filter bits",
        values: &[
            ("ROWS", 512),
            ("BLOCK_W", 512),
            ("HASHES", 11),
            ("H", 38),
            ("P", 9830),
            ("CAM_DEPTH", 32),
            ("KEY_W", 48),
        ],
    },
    Preset {
        name: "sequential-3",
        about: "three choices and an access budget, small: the list fills, the budget runs out",
        values: &[
            ("SCHEME", 1),
            ("D", 3),
            ("ROWS", 24),
            ("BLOCK_W", 64),
            ("HASHES", 4),
            ("H", 6),
            ("P", 24576),
            ("ACCESS_BUDGET", 260),
            ("CAM_DEPTH", 12),
            ("KEY_W", 32),
        ],
    },
    Preset {
        name: "multilevel-3",
        about: "three levels and an access budget, small: the list fills, the budget runs out",
        values: &[
            ("SCHEME", 2),
            ("D", 3),
            ("ROWS", 20),
            ("Q", 26214),
            ("BLOCK_W", 40),
            ("HASHES", 3),
            ("H", 4),
            ("P", 32768),
            ("ACCESS_BUDGET", 190),
            ("CAM_DEPTH", 8),
            ("KEY_W", 24),
        ],
    },
    Preset {
        name: "single-mixed",
        about: "blocks of 60 bits, 20-bit keys that are mixed before they are hashed",
        values: &[
            ("ROWS", 64),
            ("BLOCK_W", 60),
            ("HASHES", 4),
            ("H", 9),
            ("P", 32768),
            ("CAM_DEPTH", 8),
            ("KEY_W", 20),
            ("MIX", 4),
        ],
    },
    Preset {
        name: "parity-3",
        about: "three small levels whose rows have a parity bit: soft errors raise a pin",
        values: &[
            ("SCHEME", 2),
            ("D", 3),
            ("ROWS", 20),
            ("Q", 26214),
            ("BLOCK_W", 61),
            ("HASHES", 3),
            ("H", 5),
            ("P", 32768),
            ("CAM_DEPTH", 8),
            ("KEY_W", 24),
            ("PARITY", 1),
        ],
    },
    Preset {
        name: "tiny",
        about: "8 blocks of 14 bits and a count of 2: small enough to follow by hand",
        values: &[
            ("SCHEME", 1),
            ("D", 2),
            ("ROWS", 8),
            ("BLOCK_W", 14),
            ("HASHES", 2),
            ("H", 2),
            ("P", 32768),
            ("CAM_DEPTH", 2),
            ("KEY_W", 8),
            ("TAG_W", 4),
        ],
    },
];

/// One choice, no list and no size: a start for `..Config::default()`, refused as it
/// stands because sizes have no default.
impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Single,
            d: 1,
            rows: 0,
            q: DEFAULT_Q,
            block_w: 0,
            hashes: 0,
            h: 0,
            p: 0,
            access_budget: 0,
            cam_depth: 0,
            key_w: 0,
            tag_w: 8,
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
            scheme: [Scheme::Single, Scheme::Sequential, Scheme::Multilevel][params.at("SCHEME") as usize],
            d: params.at("D") as u32,
            rows: params.at("ROWS"),
            q: params.at("Q"),
            block_w: params.at("BLOCK_W") as u32,
            hashes: params.at("HASHES") as u32,
            h: params.at("H") as u32,
            p: params.at("P") as u32,
            access_budget: params.at("ACCESS_BUDGET"),
            cam_depth: params.at("CAM_DEPTH") as u32,
            key_w: params.at("KEY_W") as u32,
            tag_w: params.at("TAG_W") as u32,
            seed: params.at("SEED"),
            mix: params.at("MIX") as u32,
            parity: params.at("PARITY") != 0,
        })
    }

    /// The same by name.
    pub fn params(&self) -> Params {
        Params::new()
            .with("SCHEME", self.scheme as u64)
            .with("D", self.d.into())
            .with("ROWS", self.rows)
            .with("Q", self.q)
            .with("BLOCK_W", self.block_w.into())
            .with("HASHES", self.hashes.into())
            .with("H", self.h.into())
            .with("P", self.p.into())
            .with("ACCESS_BUDGET", self.access_budget)
            .with("CAM_DEPTH", self.cam_depth.into())
            .with("KEY_W", self.key_w.into())
            .with("TAG_W", self.tag_w.into())
            .with("SEED", self.seed)
            .with("MIX", self.mix.into())
            .with("PARITY", self.parity.into())
    }

    /// Refuses what the RTL refuses, in the same words.
    pub fn validate(&self) -> Result<(), ConfigError> {
        CORE.check(&self.params()).map(|_| ())
    }

    /// Takes H and P from a threshold of [`crate::analysis`].
    #[must_use]
    pub fn with_threshold(self, threshold: Threshold) -> Self {
        let (h, p) = threshold.fixed_point();
        Self { h, p: p.into(), ..self }
    }

    /// The threshold that H and P are.
    pub fn threshold(&self) -> Threshold {
        Threshold::from_fixed_point(self.h, self.p as u16)
    }

    /// Bits of a block's count, which goes from 0 to H + 1.
    pub fn count_w(&self) -> u32 {
        clog2(u64::from(self.h) + 2)
    }

    /// Bits of a row: a block and its count.
    pub fn row_w(&self) -> u32 {
        self.block_w + self.count_w()
    }

    /// Blocks of each memory, first level first: each Q / 65536 of the one before,
    /// rounded to nearest, at least 2.
    pub fn levels(&self) -> Vec<u64> {
        let count = if self.scheme == Scheme::Multilevel { self.d } else { 1 };
        let smaller = |rows: &u64| Some(((rows * self.q + 0x8000) >> 16).max(2));
        std::iter::successors(Some(self.rows), smaller).take(count as usize).collect()
    }

    /// The memory that a choice is in.
    pub fn level_of(&self, choice: usize) -> usize {
        if self.scheme == Scheme::Multilevel { choice } else { 0 }
    }

    /// Bits of the `level` pin.
    pub fn level_w(&self) -> u32 {
        clog2(u64::from(self.cam_depth) + 1).max(1)
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
    fn levels_fall_geometrically() {
        let config = Config { scheme: Scheme::Multilevel, d: 3, rows: 3413, ..Config::default() };
        assert_eq!(config.levels(), [3413, 583, 100]);
        assert_eq!(Config { q: 16384, d: 4, rows: 64, ..config.clone() }.levels(), [64, 16, 4, 2]);
        assert_eq!(Config { q: 65536, ..config.clone() }.levels(), [3413; 3]);
        assert_eq!(Config { scheme: Scheme::Sequential, ..config }.levels(), [3413]);
    }

    #[test]
    fn refusals_name_parameter_and_remedy() {
        let base =
            Config { rows: 64, block_w: 64, hashes: 4, h: 6, key_w: 32, cam_depth: 4, ..Config::default() };
        base.validate().unwrap();
        let refused = |config: Config| config.validate().unwrap_err().to_string();
        assert_eq!(
            refused(Config { d: 2, ..base.clone() }),
            "D must be 1 with SCHEME single (got SCHEME=0, D=2): \
             choose SCHEME sequential or multilevel for more choices"
        );
        assert_eq!(
            refused(Config { h: 255, ..base.clone() }),
            "H must be 1 to 254 (got 255): lower it to 254 or less"
        );
        assert_eq!(
            refused(Config { rows: 1 << 22, block_w: 512, ..base }),
            "ROWS times BLOCK_W must be at most 1073741824 (got ROWS=4194304, BLOCK_W=512): \
             lower one of them"
        );
    }
}

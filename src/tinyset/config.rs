use crate::hash::clog2;
use crate::params::{
    ConfigError, ParamSpec, Params, Rule,
    common::{DEFAULT_SEED, KEY_W, MIX, MIX_RULE, PARITY, SEED, TAG_W},
};
use crate::registry::Preset;

use super::block::Layout;

/// Parameters of `membrane_tinyset`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Blocks, one memory row each.
    pub blocks: u64,
    /// Chains of a block: the paper's L.
    pub chains: u32,
    /// Bits of a block for last bits and fingerprints.
    pub array: u32,
    /// Longest fingerprint; 0 for floor(sqrt(`array`)).
    pub f_max: u32,
    /// Most slots of a block; 0 for `array` / 2.
    pub c_max: u32,
    /// Whether keys can be removed.
    pub removals: bool,
    /// Keys of the overflow list; 0 for none.
    pub cam_depth: u32,
    /// Slots of a chain that are compared in one cycle.
    pub parallel: u32,
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

pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("BLOCKS", "blocks, one memory row each", 2, 1 << 24),
    ParamSpec::required("CHAINS", "chains of a block", 2, 128),
    ParamSpec::required("ARRAY", "bits of a block for last bits and fingerprints", 4, 512),
    ParamSpec::optional("F_MAX", "longest fingerprint; 0: floor(sqrt(ARRAY))", 0, 22, 0),
    ParamSpec::optional("C_MAX", "most slots of a block; 0: ARRAY / 2", 0, 256, 0),
    ParamSpec::choice("REMOVALS", "whether keys can be removed", &[("no", 0), ("yes", 1)]),
    ParamSpec::optional("CAM_DEPTH", "keys of the overflow list; 0: none", 0, 1024, 0),
    ParamSpec::optional("PARALLEL", "slots of a chain compared in one cycle", 2, 16, 8),
    KEY_W,
    TAG_W,
    SEED,
    MIX,
    PARITY,
];

pub(super) const RULES: &[Rule] = &[
    MIX_RULE,
    Rule {
        words: "F_MAX times F_MAX must be at most ARRAY",
        remedy: "with longer fingerprints an insert could cut two bits off one slot: lower it",
        broken: |p| p.at("F_MAX") * p.at("F_MAX") > p.at("ARRAY"),
    },
    Rule {
        words: "C_MAX times 2 must be at most ARRAY",
        remedy: "each slot needs a last bit and a bit of fingerprint: lower it",
        broken: |p| p.at("C_MAX") * 2 > p.at("ARRAY"),
    },
];

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "64b",
        about: "64-byte blocks: 0.1 % at 13.1 bits per key, 0.01 % at 17.7",
        values: &[("BLOCKS", 1024), ("CHAINS", 64), ("ARRAY", 448), ("KEY_W", 64)],
    },
    Preset {
        name: "64b-1pct",
        about: "64-byte blocks with more chains: 1 % at 9.1 bits per key",
        values: &[("BLOCKS", 1024), ("CHAINS", 80), ("ARRAY", 432), ("KEY_W", 64)],
    },
    Preset {
        name: "32b",
        about: "32-byte blocks: 0.1 % at 14 bits per key",
        values: &[("BLOCKS", 2048), ("CHAINS", 32), ("ARRAY", 224), ("KEY_W", 64)],
    },
    Preset {
        name: "64b-removals",
        about: "64-byte blocks with removals: an 8-bit slot count above 440 array bits",
        values: &[("BLOCKS", 1024), ("CHAINS", 64), ("ARRAY", 440), ("REMOVALS", 1), ("KEY_W", 64)],
    },
    Preset {
        name: "32b-removals",
        about: "32-byte blocks with removals: a 7-bit slot count above 217 array bits",
        values: &[("BLOCKS", 2048), ("CHAINS", 32), ("ARRAY", 217), ("REMOVALS", 1), ("KEY_W", 64)],
    },
    Preset {
        name: "tiny",
        about: "the paper's drawings: 8 chains and 24 bits, small enough to follow by hand",
        values: &[("BLOCKS", 16), ("CHAINS", 8), ("ARRAY", 24), ("KEY_W", 32), ("TAG_W", 4)],
    },
    Preset {
        name: "tiny-list",
        about: "8 chains, 21 bits and at most 6 slots with removals, and an overflow list of 4 keys",
        values: &[
            ("BLOCKS", 16),
            ("CHAINS", 8),
            ("ARRAY", 21),
            ("C_MAX", 6),
            ("REMOVALS", 1),
            ("CAM_DEPTH", 4),
            ("PARALLEL", 2),
            ("KEY_W", 32),
            ("TAG_W", 4),
        ],
    },
    Preset {
        name: "tiny-parity",
        about: "8 chains and 24 bits, and a parity bit: soft errors raise a pin",
        values: &[("BLOCKS", 16), ("CHAINS", 8), ("ARRAY", 24), ("KEY_W", 32), ("TAG_W", 4), ("PARITY", 1)],
    },
    Preset {
        name: "tiny-mixed",
        about: "8 chains and 24 bits, 33-bit keys that are mixed before they are hashed",
        values: &[("BLOCKS", 16), ("CHAINS", 8), ("ARRAY", 24), ("KEY_W", 33), ("TAG_W", 4), ("MIX", 5)],
    },
];

/// No size: a start for `..Config::default()`, refused as it stands because sizes have
/// no default.
impl Default for Config {
    fn default() -> Self {
        Self {
            blocks: 0,
            chains: 0,
            array: 0,
            f_max: 0,
            c_max: 0,
            removals: false,
            cam_depth: 0,
            parallel: 8,
            key_w: 0,
            tag_w: 8,
            seed: DEFAULT_SEED,
            mix: 0,
            parity: false,
        }
    }
}

fn check(params: &Params) -> Result<Params, ConfigError> {
    params.check("tinyset", PARAMS, RULES)
}

impl Config {
    /// Checks parameters by name.
    pub fn from_params(params: &Params) -> Result<Self, ConfigError> {
        let params = check(params)?;
        Ok(Self {
            blocks: params.at("BLOCKS"),
            chains: params.at("CHAINS") as u32,
            array: params.at("ARRAY") as u32,
            f_max: params.at("F_MAX") as u32,
            c_max: params.at("C_MAX") as u32,
            removals: params.at("REMOVALS") != 0,
            cam_depth: params.at("CAM_DEPTH") as u32,
            parallel: params.at("PARALLEL") as u32,
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
            .with("BLOCKS", self.blocks)
            .with("CHAINS", self.chains.into())
            .with("ARRAY", self.array.into())
            .with("F_MAX", self.f_max.into())
            .with("C_MAX", self.c_max.into())
            .with("REMOVALS", self.removals.into())
            .with("CAM_DEPTH", self.cam_depth.into())
            .with("PARALLEL", self.parallel.into())
            .with("KEY_W", self.key_w.into())
            .with("TAG_W", self.tag_w.into())
            .with("SEED", self.seed)
            .with("MIX", self.mix.into())
            .with("PARITY", self.parity.into())
    }

    /// Refuses what the RTL refuses, in the same words.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check(&self.params()).map(|_| ())
    }

    /// Bits of the longest fingerprint.
    pub fn longest(&self) -> u32 {
        if self.f_max == 0 { self.array.isqrt() } else { self.f_max }
    }

    /// Most slots of a block.
    pub fn capacity(&self) -> u32 {
        if self.c_max == 0 { self.array / 2 } else { self.c_max }
    }

    /// Bits of the `level` pin.
    pub fn level_w(&self) -> u32 {
        clog2(u64::from(self.cam_depth) + 1).max(1)
    }

    /// The layout of a block.
    pub fn layout(&self) -> Layout {
        Layout::new(self.chains, self.array, self.longest(), self.capacity(), self.removals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_legal_round_trip_and_have_the_papers_sizes() {
        let sizes = [512, 512, 256, 512, 256, 32, 32];
        for (preset, size) in PRESETS.iter().zip(sizes) {
            let config = Config::from_params(&preset.params()).unwrap();
            assert_eq!(Config::from_params(&config.params()).unwrap(), config, "{}", preset.name);
            assert_eq!(config.layout().block_w(), size, "{}", preset.name);
        }
    }

    #[test]
    fn refusals_name_parameter_and_remedy() {
        let base = Config { blocks: 16, chains: 8, array: 24, key_w: 32, ..Config::default() };
        base.validate().unwrap();
        let refused = |config: Config| config.validate().unwrap_err().to_string();
        assert_eq!(
            refused(Config { f_max: 5, ..base.clone() }),
            "F_MAX times F_MAX must be at most ARRAY (got ARRAY=24, F_MAX=5): \
             with longer fingerprints an insert could cut two bits off one slot: lower it"
        );
        assert_eq!(
            refused(Config { c_max: 13, ..base.clone() }),
            "C_MAX times 2 must be at most ARRAY (got ARRAY=24, C_MAX=13): \
             each slot needs a last bit and a bit of fingerprint: lower it"
        );
        assert_eq!(
            refused(Config { chains: 129, ..base }),
            "CHAINS must be 2 to 128 (got 129): lower it to 128 or less"
        );
    }
}

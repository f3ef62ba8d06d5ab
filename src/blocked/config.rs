use serde::{Deserialize, Serialize};

use crate::{
    params::{
        ConfigError, ParamSpec, Params, Rule,
        common::{DEFAULT_SEED, KEY_W, MIX, MIX_RULE, PARITY, SEED, TAG_W},
    },
    registry::{Core, Preset},
};

use super::CORE;

/// How the bits of a key lie inside a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InBlock {
    /// Every index selects among all bits of the row.
    #[default]
    Standard = 0,
    /// Every index selects within a part of its own.
    Partitioned = 1,
}

/// Parameters of `membrane_blocked`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Bits of a row: the block of the papers.
    pub block_w: u32,
    /// Rows.
    pub rows: u64,
    /// Bits that a key sets: the k of the papers.
    pub hashes: u32,
    /// Rows of a key: the g of Bloom-g.
    pub group: u32,
    /// How the bits of a key lie inside a row.
    pub in_block: InBlock,
    /// The memory has a write mask per bit: an insert only writes.
    pub masked: bool,
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
    ParamSpec::required("BLOCK_W", "bits of a row, the block of the papers", 8, 512),
    ParamSpec::required("ROWS", "rows", 2, 1 << 26),
    ParamSpec::required("HASHES", "bits that a key sets, the k of the papers", 1, 64),
    ParamSpec::optional("GROUP", "rows of a key, the g of Bloom-g", 1, 64, 1),
    ParamSpec::choice("IN_BLOCK", "where in a row the bits lie", &[("standard", 0), ("partitioned", 1)]),
    ParamSpec::optional("MASKED", "1: memory with a write mask, inserts only write", 0, 1, 0),
    KEY_W,
    TAG_W,
    SEED,
    MIX,
    PARITY,
];

pub(super) const RULES: &[Rule] = &[
    MIX_RULE,
    Rule {
        words: "PARITY must be 0 where MASKED is 1",
        remedy: "with a write mask no row is known when it is written: set one of them to 0",
        broken: |p| p.at("PARITY") > 0 && p.at("MASKED") > 0,
    },
    Rule {
        words: "GROUP must divide HASHES",
        remedy: "every row of a key gets the same number of bits: change one of them",
        broken: |p| !p.at("HASHES").is_multiple_of(p.at("GROUP")),
    },
    Rule {
        words: "IN_BLOCK partitioned needs parts of at least 2 bits",
        remedy: "raise BLOCK_W or GROUP, or lower HASHES, until BLOCK_W is at least 2 * HASHES / GROUP",
        broken: |p| p.at("IN_BLOCK") == 1 && p.at("BLOCK_W") * p.at("GROUP") < 2 * p.at("HASHES"),
    },
];

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "block256",
        about: "256-bit blocks, k = 17, as in the papers: 2.3e-4 at 24 bits per key",
        values: &[("BLOCK_W", 256), ("ROWS", 4096), ("HASHES", 17), ("KEY_W", 64)],
    },
    Preset {
        name: "block512",
        about: "512-bit blocks, k = 8, rows not a power of two, 104-bit keys (IPv4 5-tuple)",
        values: &[("BLOCK_W", 512), ("ROWS", 1000), ("HASHES", 8), ("KEY_W", 104), ("TAG_W", 12)],
    },
    Preset {
        name: "block64",
        about: "64-bit blocks, k = 5",
        values: &[("BLOCK_W", 64), ("ROWS", 2048), ("HASHES", 5), ("KEY_W", 32)],
    },
    Preset {
        name: "parts256",
        about: "256-bit blocks of 8 parts of 32 bits",
        values: &[("BLOCK_W", 256), ("ROWS", 1024), ("HASHES", 8), ("IN_BLOCK", 1), ("KEY_W", 64)],
    },
    Preset {
        name: "parts-odd",
        about: "256-bit blocks of 7 parts of 36 bits, 4 bits left over",
        values: &[("BLOCK_W", 256), ("ROWS", 777), ("HASHES", 7), ("IN_BLOCK", 1), ("KEY_W", 48)],
    },
    Preset {
        name: "bloom-g2",
        about: "Bloom-2: two 64-bit words of a key, 3 bits in each",
        values: &[("BLOCK_W", 64), ("ROWS", 1024), ("HASHES", 6), ("GROUP", 2), ("KEY_W", 64)],
    },
    Preset {
        name: "bloom-g3-parts",
        about: "Bloom-3: three 64-bit words of a key, 4 parts in each",
        values: &[
            ("BLOCK_W", 64),
            ("ROWS", 1000),
            ("HASHES", 12),
            ("GROUP", 3),
            ("IN_BLOCK", 1),
            ("KEY_W", 64),
        ],
    },
    Preset {
        name: "masked256",
        about: "256-bit blocks on a memory with a write mask, for ASIC macros: an insert is one write",
        values: &[("BLOCK_W", 256), ("ROWS", 1024), ("HASHES", 8), ("MASKED", 1), ("KEY_W", 64)],
    },
    Preset {
        name: "masked-g2",
        about: "Bloom-2 on a memory with a write mask",
        values: &[("BLOCK_W", 64), ("ROWS", 500), ("HASHES", 6), ("GROUP", 2), ("MASKED", 1), ("KEY_W", 40)],
    },
    Preset {
        name: "mixed512",
        about: "512-bit blocks, 105-bit keys that are mixed before they are hashed",
        values: &[("BLOCK_W", 512), ("ROWS", 300), ("HASHES", 8), ("KEY_W", 105), ("MIX", 5)],
    },
    Preset {
        name: "tiny",
        about: "4 blocks of 8 bits, k = 2: small enough to follow by hand",
        values: &[("BLOCK_W", 8), ("ROWS", 4), ("HASHES", 2), ("KEY_W", 8), ("TAG_W", 4)],
    },
    Preset {
        name: "tiny-g2",
        about: "Bloom-2 in 12 words of 16 bits: words of a key that meet, and filters that fill up",
        values: &[("BLOCK_W", 16), ("ROWS", 12), ("HASHES", 4), ("GROUP", 2), ("KEY_W", 16), ("TAG_W", 4)],
    },
    Preset {
        name: "parity64",
        about: "64-bit blocks with a parity bit: soft errors raise a pin",
        values: &[("BLOCK_W", 64), ("ROWS", 60), ("HASHES", 5), ("KEY_W", 32), ("PARITY", 1)],
    },
];

/// One row per key and no size: a start for `..Config::default()`, refused as it
/// stands because sizes have no default.
impl Default for Config {
    fn default() -> Self {
        Self {
            block_w: 0,
            rows: 0,
            hashes: 0,
            group: 1,
            in_block: InBlock::Standard,
            masked: false,
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
            block_w: params.at("BLOCK_W") as u32,
            rows: params.at("ROWS"),
            hashes: params.at("HASHES") as u32,
            group: params.at("GROUP") as u32,
            in_block: if params.at("IN_BLOCK") == 0 { InBlock::Standard } else { InBlock::Partitioned },
            masked: params.at("MASKED") != 0,
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
            .with("BLOCK_W", self.block_w.into())
            .with("ROWS", self.rows)
            .with("HASHES", self.hashes.into())
            .with("GROUP", self.group.into())
            .with("IN_BLOCK", self.in_block as u64)
            .with("MASKED", self.masked.into())
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

    /// Bits of a key in each of its rows.
    pub fn bits_per_row(&self) -> u32 {
        self.hashes / self.group
    }

    /// What one index selects from: the row, or a part of it.
    pub fn part_w(&self) -> u32 {
        match self.in_block {
            InBlock::Standard => self.block_w,
            InBlock::Partitioned => self.block_w / self.bits_per_row(),
        }
    }

    /// First bit of what index `i` of a row selects from.
    pub fn part_lsb(&self, i: u32) -> u32 {
        match self.in_block {
            InBlock::Standard => 0,
            InBlock::Partitioned => i * self.part_w(),
        }
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
        let base = Config { block_w: 64, rows: 1024, hashes: 6, key_w: 64, ..Config::default() };
        base.validate().unwrap();
        let refused = |config: Config| config.validate().unwrap_err().to_string();
        assert_eq!(
            refused(Config { block_w: 513, ..base.clone() }),
            "BLOCK_W must be 8 to 512 (got 513): lower it to 512 or less"
        );
        assert_eq!(
            refused(Config { group: 4, ..base.clone() }),
            "GROUP must divide HASHES (got HASHES=6, GROUP=4): \
             every row of a key gets the same number of bits: change one of them"
        );
        assert!(refused(Config { group: 12, ..base.clone() }).starts_with("GROUP must divide HASHES"));
        let parts = Config { in_block: InBlock::Partitioned, ..base };
        Config { hashes: 32, ..parts.clone() }.validate().unwrap();
        assert!(refused(Config { hashes: 33, ..parts.clone() }).starts_with("IN_BLOCK partitioned needs"));
        Config { hashes: 64, group: 2, ..parts }.validate().unwrap();
    }

    #[test]
    fn parts_are_rounded_down() {
        let config = Config { block_w: 256, hashes: 7, in_block: InBlock::Partitioned, ..Config::default() };
        assert_eq!((config.part_w(), config.part_lsb(6)), (36, 216));
        let bloom_2 = Config { hashes: 6, group: 2, ..config };
        assert_eq!((bloom_2.bits_per_row(), bloom_2.part_w(), bloom_2.part_lsb(2)), (3, 85, 170));
    }
}

//! Bloom-g, section D of the survey.

use super::{
    Claim, Figure, Item,
    measure::{KEY_W, rate},
};
use crate::{
    analysis::{AnalysisError, BloomG, InBlock, Standard},
    blocked::{Blocked, Config},
};

type Result<T> = std::result::Result<T, AnalysisError>;

/// 16 bits per key, in words of 64 bits, k = 8.
const FILTER: BloomG =
    BloomG { keys: 4096, words: 1024, group: 1, hashes: 8, in_word: InBlock::Standard { bits: 64 } };

pub(super) fn items() -> Result<Vec<Item>> {
    let mut figures = Vec::new();
    let groups = [1, 2, 4];
    for group in groups {
        let filter = BloomG { group, ..FILTER };
        figures.push(
            Figure::new(format!("g = {group}"), filter.false_positive_rate()?).reading(filter.survey_rate()?),
        );
    }
    let spread = BloomG { group: 8, ..FILTER };
    let standard = Standard { keys: FILTER.keys, bits: 64 * FILTER.words, hashes: FILTER.hashes };
    let (spread, standard) = (spread.independent_rate()?, standard.false_positive_rate()?);
    let (one, two) = (FILTER.false_positive_rate()?, BloomG { group: 2, ..FILTER }.false_positive_rate()?);
    // The formula as it is printed: no outer exponent, and c to the k/g inside.
    let without = BloomG { group: 2, ..FILTER }.survey_rate()?.sqrt();
    let claims = vec![
        Claim::new(
            "with one bit per word (g = k) it behaves exactly as the Bloom filter",
            format!("g = 8: {spread:.3e}, standard {standard:.3e}"),
            (spread / standard - 1.0).abs() < 0.02,
        ),
        Claim {
            erratum: true,
            ..Claim::new(
                "bounding the words that are fetched comes at no cost in additional error",
                format!(
                    "g = 1 has {:.1} times the standard rate, g = 2 {:.1} times",
                    one / standard,
                    two / standard
                ),
                one / standard < 1.05,
            )
        },
        Claim {
            erratum: true,
            ..Claim::new(
                "the printed rate, which lacks its outer exponent g",
                format!("would be {without:.2e} at g = 2, where {two:.2e} is right"),
                (without / two - 1.0).abs() < 0.5,
            )
        },
    ];
    let place = "Bloom-g, 64-bit words, 16 bits per key, k=8, 4,096 keys";
    Ok(vec![
        Item::new(place, figures)
            .claims(claims)
            .note(
                "The survey prints a formula and no figures. Its formula, with the outer exponent g and c*k/g inside, \
                 treats bits and words as independent.",
            )
            .measured(move |effort| {
                let one = |group| {
                    let config = Config { block_w: 64, rows: 1024, hashes: 8, group, key_w: KEY_W, ..Config::default() };
                    let mut filter = Blocked::new(&config).expect("legal parameters");
                    rate(&mut filter, FILTER.keys, effort.pick(100, 1_000), 10_000, 20)
                };
                groups.into_iter().map(one).collect()
            }),
    ])
}

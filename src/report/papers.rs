//! The papers' figures beside ours.

use std::collections::BTreeMap;

use super::{
    Claim, Paper, PaperRow, PaperSection, Repro, Tolerance,
    html::{Cell, heading, paragraph, table},
};

/// A table of figures and one of statements for every paper.
pub fn papers(repro: &Repro) -> String {
    let mut html = paragraph(&format!(
        "Effort: {}. \u{201c}Paper\u{201d} is the printed figure, \u{201c}its formula\u{201d} what the paper's own \
         formula gives where that is not ours. \u{201c}Corrected\u{201d}: the print is wrong, because its formula is \
         or for the reason given, and ours is right.",
        repro.effort
    ));
    html += &paragraph(&format!("Figures and statements: {}.", summary(repro)));
    for paper in &repro.papers {
        html += &heading(&paper.title);
        html += &figures(paper);
        html += &statements(paper);
        let note = |section: &PaperSection| {
            section.note.as_ref().map(|note| paragraph(&format!("{}: {note}", section.place)))
        };
        html.extend(paper.sections.iter().filter_map(note));
    }
    html
}

/// How many figures and statements came out how.
fn summary(repro: &Repro) -> String {
    let sections = repro.papers.iter().flat_map(|paper| &paper.sections);
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for section in sections {
        let figures = section.rows.iter().map(|row| row.verdict.as_str());
        let statements = section.claims.iter().map(|claim| outcome(claim));
        for verdict in figures.chain(statements) {
            *counts.entry(verdict).or_default() += 1;
        }
    }
    let counts: Vec<_> = counts.into_iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    counts.join(", ")
}

fn outcome(claim: &Claim) -> &'static str {
    match (claim.holds, claim.erratum) {
        (true, false) => "agrees",
        (false, true) => "corrected",
        _ => "fails",
    }
}

fn figures(paper: &Paper) -> String {
    let cells = |section: &PaperSection, row: &PaperRow| {
        let value = |value| Cell::number(value, number(value));
        vec![
            Cell::text(&section.place).class("place"),
            Cell::text(&row.what).class("what"),
            verdict(&row.verdict),
            Cell::or_none(row.paper, value),
            Cell::or_none(row.reading, value),
            Cell::or_none(row.formula, value),
            Cell::or_none(row.measured, |sample| {
                Cell::number(sample.mean, format!("{} \u{b1} {:.1e}", number(sample.mean), sample.error))
            }),
            Cell::or_none(row.difference, |share| Cell::number(share, format!("{:+.2} %", 100.0 * share))),
            Cell::text(row.tolerance.map(tolerance).unwrap_or_default()).class("name"),
            Cell::text(row.erratum.clone().unwrap_or_default()).class("long fine"),
        ]
    };
    let sections = paper.sections.iter();
    let rows: Vec<_> =
        sections.flat_map(|section| section.rows.iter().map(|row| cells(section, row))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "place",
        "figure",
        "verdict",
        "paper",
        "its formula",
        "our formula",
        "measured",
        "difference",
        "tolerance",
        "why it is wrong",
    ];
    table("Figures", &head, &rows)
}

fn statements(paper: &Paper) -> String {
    let cells = |section: &PaperSection, claim: &Claim| {
        vec![
            Cell::text(&section.place).class("place"),
            verdict(outcome(claim)),
            Cell::text(&claim.statement).class("long"),
            Cell::text(&claim.found).class("long"),
        ]
    };
    let sections = paper.sections.iter();
    let rows: Vec<_> =
        sections.flat_map(|section| section.claims.iter().map(|claim| cells(section, claim))).collect();
    if rows.is_empty() {
        return String::new();
    }
    table("Statements", &["place", "verdict", "statement", "found"], &rows)
}

fn tolerance(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Decimals(places) => format!("{places} decimals"),
        Tolerance::Relative(share) => format!("{} %", number(100.0 * share)),
        Tolerance::Absolute(most) => format!("\u{b1} {}", number(most)),
        Tolerance::AtMost => "at most".into(),
        Tolerance::Between(most) => format!("between, \u{b1} {}", number(most)),
    }
}

fn verdict(word: &str) -> Cell {
    Cell::text(word).class(match word {
        "agrees" => "",
        "corrected" => "note",
        _ => "bad",
    })
}

/// Seven digits, which is what the papers print at most.
fn number(value: f64) -> String {
    let trimmed = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    match value.abs() {
        0.0 => "0".into(),
        size if !(1e-3..1e6).contains(&size) => {
            let text = format!("{value:.6e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{exponent}", trimmed(digits))
        }
        size => trimmed(&format!("{value:.0$}", (6.0 - size.log10().floor()) as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_digits_at_most() {
        let texts = [0.0, 0.064_231_92, 1.5e-5, 804.25, 1_234_567.0, 100.0, 999_999.96, -0.5].map(number);
        assert_eq!(texts, ["0", "0.06423192", "1.5e-5", "804.25", "1.234567e6", "100", "1000000", "-0.5"]);
    }
}

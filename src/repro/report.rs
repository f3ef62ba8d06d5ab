//! Text and Markdown.

use std::fmt::Write as _;

use super::{Chapter, Claim, Effort, Row, Sample, Section, Tolerance, Verdict, count};

fn tolerance(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Decimals(places) => format!("{places} decimals"),
        Tolerance::Relative(share) => format!("{} %", number(100.0 * share)),
        Tolerance::Absolute(most) => format!("+-{}", number(most)),
        Tolerance::AtMost => "at most".into(),
        Tolerance::Between(slack) => format!("between, +-{}", number(slack)),
    }
}

/// Some digits: 0.064232, 1.513e-5, 804.25.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let size = value.abs().log10().floor();
    if size < -3.0 {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", (4.0 - size).max(0.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// In percent.
fn difference(share: f64) -> String {
    match share.abs() {
        0.0 => "0 %".into(),
        tiny if tiny < 5e-5 => format!("{:+.0e} %", 100.0 * share),
        _ => format!("{:+.2} %", 100.0 * share),
    }
}

/// A figure beside a printed one: as many decimals as that has, where they are what counts.
fn beside(value: f64, printed: Option<Tolerance>) -> String {
    match printed {
        Some(Tolerance::Decimals(places)) => format!("{value:.*}", places as usize),
        _ => number(value),
    }
}

fn sample(sample: Sample) -> String {
    format!("{} +- {:.1e}", number(sample.mean), sample.error)
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "agrees",
        Verdict::Corrected => "corrected",
        Verdict::Fails => "FAILS",
    }
}

/// What the columns are.
pub const HEAD: [&str; 8] =
    ["figure", "paper", "its formula", "our formula", "measured", "difference", "tolerance", "verdict"];

/// The cells of a row, in the order of [`HEAD`].
pub fn cells(row: &Row) -> Vec<String> {
    let exact = |value| beside(value, row.tolerance);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    vec![
        row.what.clone(),
        or_dash(row.paper.map(exact)),
        or_dash(row.reading.map(exact)),
        or_dash(row.formula.map(exact)),
        or_dash(row.measured.map(sample)),
        or_dash(row.difference.map(difference)),
        or_dash(row.tolerance.map(tolerance)),
        word(row.verdict).into(),
    ]
}

/// A claim in one line.
pub fn claim(claim: &Claim) -> String {
    format!("{}: {} ({})", word(claim.verdict()), claim.statement, claim.found)
}

/// Remarks on a section: its note, and why prints are wrong.
pub fn remarks(section: &Section) -> Vec<String> {
    let errata = section.rows.iter().filter_map(|row| Some(format!("{}: {}", row.what, row.erratum?)));
    section.note.map(str::to_owned).into_iter().chain(errata).collect()
}

/// The last line: how many came out how.
pub fn summary(chapters: &[Chapter]) -> String {
    let [agree, corrected, fail] =
        [Verdict::Agrees, Verdict::Corrected, Verdict::Fails].map(|verdict| count(chapters, verdict));
    format!("{agree} agree, {corrected} corrected, {fail} fail")
}

/// A page for docs/.
pub fn markdown(chapters: &[Chapter], effort: Effort, command: &str) -> String {
    let mut page = String::from("# The papers, reproduced\n\n");
    let _ = writeln!(
        page,
        "Written by `{command}`: {}. Seeds are fixed; the same command writes the same page.\n",
        summary(chapters)
    );
    page.push_str(
        "- **paper**: the printed figure; **its formula**: what the paper's own formula gives, where that is not \
         ours; **our formula**: `membrane::analysis`; **measured**: the functional models, with the standard error.\n\
         - **difference**: ours against the printed figure. **tolerance**: how near it must come to the print; the \
         measurement must lie within four standard errors of our formula.\n\
         - **corrected**: the paper's figure is wrong, by its own formula's error or for the reason given; our \
         formula is right, and measured to be where the event is not too rare.\n\
         - Plots are held to the values that the text states, and to claims on their shape.\n",
    );
    if effort == Effort::Quick {
        page.push_str("- Quick run: long measurements are left out.\n");
    }
    for chapter in chapters {
        let _ = writeln!(page, "\n## {}", chapter.title);
        for section in &chapter.sections {
            let _ = writeln!(page, "\n### {}\n", section.place);
            if !section.rows.is_empty() {
                let _ = writeln!(page, "| {} |\n|{}", HEAD.join(" | "), "---|".repeat(HEAD.len()));
                for row in &section.rows {
                    let _ = writeln!(page, "| {} |", cells(row).join(" | "));
                }
            }
            let gap = if section.rows.is_empty() { "" } else { "\n" };
            let lines: Vec<_> =
                section.claims.iter().map(|c| format!("- {}", claim(c))).chain(remarks(section)).collect();
            if !lines.is_empty() {
                let _ = writeln!(page, "{gap}{}", lines.join("\n"));
            }
        }
    }
    page
}

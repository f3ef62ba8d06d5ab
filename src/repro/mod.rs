//! The papers' tables and figures, computed and measured again.
//!
//! One module per paper lists what it prints as [`Item`]s: where it stands, the printed
//! figures, our formula, how the paper's own reading differs where it does, how the real
//! models measure it, and the tolerance. One runner ([`run`]) computes and judges them, one
//! printer ([`report`]) shows them.
//!
//! A [`Figure`] passes when
//!
//! - what is printed agrees with our formula, or with the paper's reading of it; where only
//!   the reading agrees, or the figure is known to be an error, the verdict is `corrected`;
//! - what is measured agrees with our formula, to four standard errors.
//!
//! Plots are checked where the text states values, and by their shape otherwise: a [`Claim`]
//! says what exactly.
//!
//! Everything is seeded: two runs give the same figures.

mod balanced;
mod measure;
mod partitioned;
pub mod report;
mod survey;
mod tinyset;

pub use measure::Sample;

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde::Serialize;

use crate::analysis::AnalysisError;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// All formulas, and the measurements that take a second or two.
    Quick,
    /// All measurements.
    Full,
}

impl Effort {
    /// One of two numbers of trials.
    pub fn pick(self, quick: u64, full: u64) -> u64 {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// How near a computed figure must come to the printed one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// To the digits that are printed: half a unit of the last of so many decimals.
    Decimals(u32),
    /// To this share of it.
    Relative(f64),
    /// To this difference.
    Absolute(f64),
    /// At or below it.
    AtMost,
    /// Between our formula and the paper's reading, or outside by this difference.
    Between(f64),
}

impl Tolerance {
    /// Whether `ours` is near enough. Of [`Tolerance::Between`] it is one end.
    pub fn allows(self, printed: f64, ours: f64) -> bool {
        let difference = (ours - printed).abs();
        match self {
            // A little more than half, for figures that end in 5.
            Self::Decimals(places) => difference <= 0.500_001 * 0.1f64.powi(places.cast_signed()),
            Self::Relative(share) => difference <= share * printed.abs(),
            Self::Absolute(most) | Self::Between(most) => difference <= most,
            Self::AtMost => ours <= printed,
        }
    }
}

/// A figure that a paper prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// Its value.
    pub value: f64,
    /// How near we must come to it.
    pub tolerance: Tolerance,
}

impl Printed {
    /// A value, and how near we must come to it.
    pub fn new(value: f64, tolerance: Tolerance) -> Self {
        Self { value, tolerance }
    }

    /// The text of a table's cell, to the digits that it has.
    ///
    /// # Panics
    /// If it is not a number: a mistake in the list of items.
    pub fn cell(text: &str) -> Self {
        let value = text.parse().expect("a printed number");
        let places = text.split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32);
        Self { value, tolerance: Tolerance::Decimals(places) }
    }

    fn agrees(&self, ours: f64) -> bool {
        self.tolerance.allows(self.value, ours)
    }
}

/// One figure of an item.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// What it is: `F_s`.
    pub what: String,
    /// What the paper prints, if it prints a number.
    pub printed: Option<Printed>,
    /// What its own formula gives, where that is not ours.
    pub reading: Option<f64>,
    /// What our formula gives, if there is one.
    pub formula: Option<f64>,
    /// The print is an error that its own formula does not explain: why we think so.
    pub erratum: Option<&'static str>,
}

impl Figure {
    /// A figure for which we have a formula.
    pub fn new(what: impl Into<String>, formula: f64) -> Self {
        Self { what: what.into(), formula: Some(formula), ..Self::default() }
    }

    /// With what the paper prints.
    #[must_use]
    pub fn printed(self, printed: Printed) -> Self {
        Self { printed: Some(printed), ..self }
    }

    /// With what the paper's own formula gives.
    #[must_use]
    pub fn reading(self, reading: f64) -> Self {
        Self { reading: Some(reading), ..self }
    }
}

/// Measures every figure of an item; `None` for what is too rare.
pub type Measure = Box<dyn Fn(Effort) -> Vec<Option<Sample>> + Send + Sync>;

/// A statement without a number, or about the shape of a plot.
#[derive(Clone, Debug, Serialize)]
pub struct Claim {
    /// What the paper says, and what we check of it.
    pub statement: String,
    /// What we found.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
    /// The paper is wrong here: it must not hold, and `found` says what does.
    pub erratum: bool,
}

impl Claim {
    /// A claim.
    pub fn new(statement: impl Into<String>, found: impl Into<String>, holds: bool) -> Self {
        Self { statement: statement.into(), found: found.into(), holds, erratum: false }
    }
}

/// One line of a table, one plot, or one statement of a paper.
#[derive(Default)]
pub struct Item {
    /// Where: `table 1, m=64, k=4`.
    pub place: String,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// How they are measured, if they are.
    pub measure: Option<Measure>,
    /// Its statements.
    pub claims: Vec<Claim>,
    /// What a reader should know.
    pub note: Option<&'static str>,
}

impl Item {
    /// An item of formulas.
    pub fn new(place: impl Into<String>, figures: Vec<Figure>) -> Self {
        Self { place: place.into(), figures, ..Self::default() }
    }

    /// With a measurement.
    #[must_use]
    pub fn measured(self, measure: impl Fn(Effort) -> Vec<Option<Sample>> + Send + Sync + 'static) -> Self {
        Self { measure: Some(Box::new(measure)), ..self }
    }

    /// With statements.
    #[must_use]
    pub fn claims(self, claims: Vec<Claim>) -> Self {
        Self { claims, ..self }
    }

    /// With a remark.
    #[must_use]
    pub fn note(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }
}

/// What is reproduced of one paper.
pub struct Paper {
    /// Its name.
    pub title: &'static str,
    /// What of it.
    pub items: Vec<Item>,
}

/// How a figure or claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within all tolerances.
    Agrees,
    /// The paper's figure is wrong, for the reason given, and ours is right.
    Corrected,
    /// Outside of a tolerance.
    Fails,
}

/// A figure, judged.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is.
    pub what: String,
    /// What the paper prints.
    pub paper: Option<f64>,
    /// What the paper's own formula gives, where that is not ours.
    pub reading: Option<f64>,
    /// What ours gives.
    pub formula: Option<f64>,
    /// What the models did.
    pub measured: Option<Sample>,
    /// Ours (by formula, or else measured) against the printed one.
    pub difference: Option<f64>,
    /// The tolerance of the printed figure.
    pub tolerance: Option<Tolerance>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why the print is wrong, where its own formula does not say so.
    pub erratum: Option<&'static str>,
}

/// An item, judged.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Where in the paper.
    pub place: String,
    /// Its figures.
    pub rows: Vec<Row>,
    /// Its statements.
    pub claims: Vec<Claim>,
    /// What a reader should know.
    pub note: Option<&'static str>,
}

/// A paper, judged.
#[derive(Clone, Debug, Serialize)]
pub struct Chapter {
    /// The paper.
    pub title: &'static str,
    /// What was looked at.
    pub sections: Vec<Section>,
}

/// All papers.
pub fn papers() -> Result<Vec<Paper>, AnalysisError> {
    Ok(vec![
        Paper { title: "A Case for Partitioned Bloom Filters (Almeida)", items: partitioned::items()? },
        Paper {
            title: "Access-Efficient Balanced Bloom Filters (Kanizo, Hay, Keslassy)",
            items: balanced::items()?,
        },
        Paper { title: "TinySet (Einziger, Friedman)", items: tinyset::items()? },
        Paper { title: "Survey of approximate membership: Bloom-g", items: survey::items()? },
    ])
}

/// Standard errors by which a measurement may be off.
const LIMIT: f64 = 4.0;

fn judge(figure: &Figure, measured: Option<Sample>) -> Row {
    let ours = figure.formula.or(measured.map(|sample| sample.mean));
    let near = figure.formula.is_none_or(|formula| {
        measured.is_none_or(|sample| (sample.mean - formula).abs() <= LIMIT * sample.error)
    });
    let between = |printed: Printed, ours: f64| match (printed.tolerance, figure.reading) {
        (Tolerance::Between(slack), Some(reading)) => {
            (ours.min(reading) - slack..=ours.max(reading) + slack).contains(&printed.value)
        }
        _ => false,
    };
    let print = match (figure.printed, ours) {
        (Some(printed), Some(ours)) if printed.agrees(ours) || between(printed, ours) => {
            // An error that is none is a mistake of ours.
            if figure.erratum.is_some() { Verdict::Fails } else { Verdict::Agrees }
        }
        (Some(printed), Some(_)) => {
            let explained = figure.reading.is_some_and(|reading| printed.agrees(reading));
            if explained || figure.erratum.is_some() { Verdict::Corrected } else { Verdict::Fails }
        }
        _ => Verdict::Agrees,
    };
    let difference = figure.printed.zip(ours).map(|(printed, ours)| ours / printed.value - 1.0);
    Row {
        what: figure.what.clone(),
        paper: figure.printed.map(|printed| printed.value),
        reading: figure.reading,
        formula: figure.formula,
        measured,
        difference: difference.filter(|difference| difference.is_finite()),
        tolerance: figure.printed.map(|printed| printed.tolerance),
        verdict: if near { print } else { Verdict::Fails },
        erratum: figure.erratum,
    }
}

fn section(item: &Item, effort: Effort) -> Section {
    let mut measured = item.measure.as_ref().map_or_else(Vec::new, |measure| measure(effort));
    measured.resize(item.figures.len(), None);
    let rows = item.figures.iter().zip(measured).map(|(figure, sample)| judge(figure, sample)).collect();
    Section { place: item.place.clone(), rows, claims: item.claims.clone(), note: item.note }
}

/// Computes, measures and judges. `progress` is called after every item.
pub fn run(papers: &[Paper], effort: Effort, progress: &(dyn Fn() + Sync)) -> Vec<Chapter> {
    let jobs: Vec<&Item> = papers.iter().flat_map(|paper| &paper.items).collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Section)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = jobs.get(index) else { break };
                    let judged = section(item, effort);
                    done.lock().expect("no panic").push((index, judged));
                    progress();
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic");
    done.sort_by_key(|(index, _)| *index);
    let mut sections = done.into_iter().map(|(_, section)| section);
    let chapter = |paper: &Paper| Chapter {
        title: paper.title,
        sections: sections.by_ref().take(paper.items.len()).collect(),
    };
    papers.iter().map(chapter).collect()
}

impl Claim {
    /// How it came out.
    pub fn verdict(&self) -> Verdict {
        match (self.holds, self.erratum) {
            (true, false) => Verdict::Agrees,
            (false, true) => Verdict::Corrected,
            _ => Verdict::Fails,
        }
    }
}

impl Section {
    /// All verdicts of it.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        let rows = self.rows.iter().map(|row| row.verdict);
        rows.chain(self.claims.iter().map(Claim::verdict))
    }
}

/// How many figures and claims came out in this way.
pub fn count(chapters: &[Chapter], verdict: Verdict) -> usize {
    let sections = chapters.iter().flat_map(|chapter| &chapter.sections);
    sections.flat_map(Section::verdicts).filter(|found| *found == verdict).count()
}

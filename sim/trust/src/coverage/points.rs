//! Coverage files of Verilator, merged.

use std::{collections::BTreeMap, fmt};

use anyhow::{Context, Result, bail};

/// What a point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A block of lines that runs.
    Line,
    /// A side of a decision.
    Branch,
    /// A bit that rises or falls.
    Toggle,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Line, Kind::Branch, Kind::Toggle];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Line => "line",
            Kind::Branch => "branch",
            Kind::Toggle => "toggle",
        })
    }
}

/// A place in the source; the same for all instances and parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// The rtl file.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// And column.
    pub column: u32,
    /// What is counted.
    pub kind: Kind,
    /// `if`, `else`, `block`, or the bit with its direction.
    pub what: String,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {} {}", self.file, self.line, self.kind, self.what)
    }
}

/// Reached and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reached at least once.
    pub reached: usize,
    /// All that can be reached.
    pub all: usize,
}

impl Tally {
    /// Per cent; of nothing, all is reached.
    pub fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { 100.0 * self.reached as f64 / self.all as f64 }
    }

    /// Counts one more.
    pub fn add(&mut self, reached: bool) {
        self.all += 1;
        self.reached += usize::from(reached);
    }
}

/// Points and how often each was reached.
#[derive(Clone, Debug, Default)]
pub struct Points(BTreeMap<Point, u64>);

impl Points {
    /// Adds the counts of a file that Verilator wrote.
    pub fn merge(&mut self, text: &str) -> Result<()> {
        for line in text.lines() {
            let Some(line) = line.strip_prefix("C '") else { continue };
            let (fields, count) = line.rsplit_once("' ").with_context(|| format!("no count in {line:?}"))?;
            let field = |name: &str| {
                let mut all = fields.split('\u{1}').filter_map(|field| field.split_once('\u{2}'));
                all.find(|(key, _)| *key == name).map_or("", |(_, value)| value)
            };
            let kind = match field("page").split('/').next() {
                Some("v_line") => Kind::Line,
                Some("v_branch") => Kind::Branch,
                Some("v_toggle") => Kind::Toggle,
                page => bail!("coverage of an unknown kind: {page:?}"),
            };
            let number = |name: &str| {
                field(name).parse().with_context(|| format!("field {name} of {fields:?} is no number"))
            };
            let point = Point {
                file: field("f").to_owned(),
                line: number("l")?,
                column: number("n")?,
                kind,
                what: field("o").to_owned(),
            };
            let count: u64 = count.trim().parse().with_context(|| format!("count of {point}"))?;
            *self.0.entry(point).or_default() += count;
        }
        Ok(())
    }

    /// All points with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&Point, u64)> {
        self.0.iter().map(|(point, count)| (point, *count))
    }

    /// Those that were never reached.
    pub fn missed(&self) -> impl Iterator<Item = &Point> {
        self.iter().filter(|(_, count)| *count == 0).map(|(point, _)| point)
    }

    /// Takes points out that need not be reached.
    pub fn remove(&mut self, waived: &[Point]) {
        for point in waived {
            self.0.remove(point);
        }
    }

    /// Counts by file and kind.
    pub fn tally(&self) -> BTreeMap<String, [Tally; 3]> {
        let mut files: BTreeMap<String, [Tally; 3]> = BTreeMap::new();
        for (point, count) in self.iter() {
            files.entry(point.file.clone()).or_default()[point.kind as usize].add(count > 0);
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAT: &str = "# SystemC::Coverage-3\n\
        C '\u{1}f\u{2}a.v\u{1}l\u{2}3\u{1}n\u{2}5\u{1}page\u{2}v_branch/a\u{1}o\u{2}if\u{1}h\u{2}TOP.x' 0\n\
        C '\u{1}f\u{2}a.v\u{1}l\u{2}3\u{1}n\u{2}5\u{1}page\u{2}v_branch/a\u{1}o\u{2}if\u{1}h\u{2}TOP.y' 2\n\
        C '\u{1}f\u{2}a.v\u{1}l\u{2}2\u{1}n\u{2}9\u{1}page\u{2}v_toggle/a\u{1}o\u{2}n[1]\u{1}h\u{2}TOP.y' 0\n";

    #[test]
    fn instances_are_merged_and_misses_stay() {
        let mut points = Points::default();
        points.merge(DAT).unwrap();
        assert_eq!(points.missed().map(ToString::to_string).collect::<Vec<_>>(), ["a.v:2 toggle n[1]"]);
        let [line, branch, toggle] = points.tally()["a.v"];
        assert_eq!(line, Tally { reached: 0, all: 0 });
        assert_eq!(branch, Tally { reached: 1, all: 1 });
        assert_eq!(toggle, Tally { reached: 0, all: 1 });
        assert!(points.merge("C 'page\u{2}v_line/a' x").is_err());
    }
}

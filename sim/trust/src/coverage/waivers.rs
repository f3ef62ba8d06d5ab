//! Points that need not be reached: `file | kind | match | reason`, one a line.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::{Kind, Point, Points};

/// A line of the waiver file.
#[derive(Clone, Debug)]
pub struct Waiver {
    file: String,
    kind: Kind,
    /// Toggle: the signal, with or without its generate block, or one bit of it. Else: what the source line contains, `else: ` in
    /// front of it for that side of the decision only.
    pattern: String,
    /// Why it cannot be reached.
    pub reason: String,
    /// Where it stands in the waiver file.
    number: usize,
}

impl Waiver {
    fn matches(&self, point: &Point, source: &str) -> bool {
        if point.kind != self.kind || point.file != self.file {
            return false;
        }
        if self.kind == Kind::Toggle {
            let bit = point.what.split(':').next().unwrap_or("");
            let signal = bit.split('[').next().unwrap_or("");
            let name = signal.rsplit('.').next().unwrap_or("");
            return [bit, signal, name].contains(&self.pattern.as_str());
        }
        match self.pattern.split_once(": ") {
            Some((side, text)) if ["if", "else", "cond_then", "cond_else"].contains(&side) => {
                point.what == side && source.contains(text)
            }
            _ => source.contains(&self.pattern),
        }
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Waivers(Vec<Waiver>);

impl Waivers {
    /// Reads the file.
    pub fn parse(text: &str) -> Result<Self> {
        let mut waivers = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<_> = line.split('|').map(str::trim).collect();
            let &[file, kind, pattern, reason] = fields.as_slice() else {
                bail!("line {number} of the waivers is not `file | kind | match | reason`");
            };
            let Some(kind) = Kind::ALL.into_iter().find(|known| known.to_string() == kind) else {
                bail!("line {number} of the waivers: {kind} is not line, branch or toggle");
            };
            if pattern.is_empty() || reason.is_empty() {
                bail!("line {number} of the waivers: there is no match or no reason");
            }
            let [file, pattern, reason] = [file, pattern, reason].map(str::to_owned);
            waivers.push(Waiver { file, kind, pattern, reason, number });
        }
        Ok(Self(waivers))
    }

    /// The missed points that are waived. `sources` is the text of each rtl file. With `all`, a
    /// waiver for which there is no missed point is an error: it would hide the next one.
    pub fn apply(&self, points: &Points, sources: &BTreeMap<&str, &str>, all: bool) -> Result<Vec<Point>> {
        let mut waived = Vec::new();
        let mut used = vec![false; self.0.len()];
        for point in points.missed() {
            let text = sources.get(point.file.as_str()).copied().unwrap_or("");
            let source = text.lines().nth(point.line as usize - 1).unwrap_or("");
            for (waiver, used) in self.0.iter().zip(&mut used) {
                if waiver.matches(point, source) {
                    *used = true;
                    waived.push(point.clone());
                }
            }
        }
        let stale: Vec<_> = self.0.iter().zip(used).filter(|(_, used)| !used).collect();
        if all && !stale.is_empty() {
            let lines: Vec<_> =
                stale.iter().map(|(w, _)| format!("line {}: {}", w.number, w.pattern)).collect();
            bail!("waivers that match no missed point, to be deleted: {}", lines.join("; "));
        }
        Ok(waived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Points {
        let mut points = Points::default();
        let point = |page: &str, line: u32, what: &str, count: u32| {
            format!(
                "C '\u{1}f\u{2}a.v\u{1}l\u{2}{line}\u{1}n\u{2}1\u{1}page\u{2}{page}/a\u{1}o\u{2}{what}' {count}\n"
            )
        };
        let text = point("v_toggle", 1, "n[1]:0->1", 0) + &point("v_branch", 2, "else", 0);
        points.merge(&text).unwrap();
        points
    }

    #[test]
    fn waivers_match_by_signal_or_source_and_must_match() {
        let sources = BTreeMap::from([("a.v", "reg [1:0] n;\nif (x) y = 1;\n")]);
        let apply = |text: &str| Waivers::parse(text).unwrap().apply(&points(), &sources, true);
        assert_eq!(apply("a.v | toggle | n | constant\n").unwrap().len(), 1);
        assert_eq!(apply("a.v | toggle | n[1] | constant\n").unwrap().len(), 1);
        assert_eq!(apply("a.v | branch | else: if (x) | never low\n").unwrap().len(), 1);
        for stale in
            ["a.v | toggle | m | gone", "a.v | branch | if: if (x) | was reached", "b.v | toggle | n | -"]
        {
            let error = apply(stale).unwrap_err().to_string();
            assert!(error.contains("line 1"), "{error}");
        }
        for bad in ["a.v | toggle | n", "a.v | state | n | why", "a.v | toggle | n |"] {
            assert!(Waivers::parse(bad).is_err(), "{bad}");
        }
    }
}

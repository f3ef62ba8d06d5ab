//! Where a source file can be wrong. The text is taken as rustfmt leaves it: binary operators have
//! a space on both sides, and type parameters have none.

use std::{fmt, ops::Range};

use membrane::hash::SplitMix64;

/// One edit of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Below `src`.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Which sort of fault.
    pub kind: &'static str,
    /// Bytes of the file that are replaced.
    pub range: Range<usize>,
    /// What they are.
    pub old: String,
    /// What they become.
    pub new: String,
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let new = if self.new.is_empty() { "nothing" } else { self.new.trim() };
        write!(f, "src/{}:{} {}: `{}` -> `{new}`", self.file, self.line, self.kind, self.old.trim())
    }
}

impl Edit {
    /// The text of the file with the edit in it.
    pub fn apply(&self, text: &str) -> String {
        text[..self.range.start].to_owned() + &self.new + &text[self.range.end..]
    }
}

/// What an operator is mistaken for.
const SWAPS: [(&str, &str, &str); 31] = [
    ("comparison", " == ", " != "),
    ("comparison", " != ", " == "),
    ("comparison", " < ", " <= "),
    ("comparison", " <= ", " < "),
    ("comparison", " > ", " >= "),
    ("comparison", " >= ", " > "),
    ("logic", " && ", " || "),
    ("logic", " || ", " && "),
    ("arithmetic", " + ", " - "),
    ("arithmetic", " - ", " + "),
    ("arithmetic", " * ", " + "),
    ("arithmetic", " / ", " * "),
    ("arithmetic", " % ", " / "),
    ("arithmetic", " += ", " -= "),
    ("arithmetic", " -= ", " += "),
    ("arithmetic", ".min(", ".max("),
    ("arithmetic", ".max(", ".min("),
    ("bits", " & ", " | "),
    ("bits", " | ", " & "),
    ("bits", " ^ ", " | "),
    ("bits", " << ", " >> "),
    ("bits", " >> ", " << "),
    ("bits", " &= ", " |= "),
    ("bits", " |= ", " &= "),
    ("bits", " ^= ", " |= "),
    ("bits", "trailing_zeros(", "leading_zeros("),
    ("bits", "count_ones(", "count_zeros("),
    ("constant", "..=", ".."),
    ("constant", "(true", "(false"),
    ("constant", " false", " true"),
    ("constant", " true", " false"),
];

/// Lines that no answer depends on: checks, and hints for speed.
const NO_ANSWER: [&str; 4] = ["assert", "with_capacity", "prefetch", "unreachable!"];

/// All edits of a file, tests left out.
pub fn edits(file: &str, text: &str) -> Vec<Edit> {
    let code = mask(text);
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in (1..).zip(code.split_inclusive('\n')) {
        let words = line.trim();
        let skipped = words.starts_with("use ")
            || words.starts_with('#')
            || words.starts_with("impl")
            || NO_ANSWER.iter().any(|word| words.contains(word));
        if !skipped {
            let mut add = |kind, range: Range<usize>, new: String| {
                let range = start + range.start..start + range.end;
                let old = text[range.clone()].to_owned();
                found.push(Edit { file: file.to_owned(), line: number, kind, range, old, new });
            };
            swaps(line, &mut add);
            numbers(line, &mut add);
            conditions(line, &mut add);
            statements(line, &mut add);
        }
        start += line.len();
    }
    found
}

fn swaps(line: &str, add: &mut impl FnMut(&'static str, Range<usize>, String)) {
    for (kind, old, new) in SWAPS {
        for (at, _) in line.match_indices(old) {
            // `|` also begins and ends the arguments of a closure, `..=` is not `..`.
            add(kind, at..at + old.len(), new.to_owned());
        }
    }
}

/// Decimal integers, one more and one less; not `x.0`, `1.5` or `u64`.
fn numbers(line: &str, add: &mut impl FnMut(&'static str, Range<usize>, String)) {
    let bytes = line.as_bytes();
    let is_word = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let is_dot = |at: usize| bytes.get(at) == Some(&b'.');
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(at) {
            at += 1;
            continue;
        }
        let end = (at..bytes.len()).find(|&end| !is_word(end)).unwrap_or(bytes.len());
        let field = at > 0 && is_dot(at - 1) && !(at > 1 && is_dot(at - 2));
        let float = is_dot(end) && !is_dot(end + 1);
        if let Ok(number) = line[at..end].replace('_', "").parse::<u64>()
            && !field
            && !float
            && number < u64::MAX
        {
            add("constant", at..end, (number + 1).to_string());
            if number > 0 {
                add("constant", at..end, (number - 1).to_string());
            }
        }
        at = end;
    }
}

/// `if` on one line.
fn conditions(line: &str, add: &mut impl FnMut(&'static str, Range<usize>, String)) {
    let indent = line.len() - line.trim_start().len();
    let from =
        if line[indent..].starts_with("if ") { Some(indent) } else { line.find(" if ").map(|at| at + 1) };
    if let Some(from) = from.map(|at| at + 3)
        && let Some(length) = line[from..].find(" {")
        && !line[from..from + length].contains("let ")
    {
        let condition = &line[from..from + length];
        add("condition", from..from + length, format!("!({condition})"));
    }
}

/// A statement on one line that is there for what it does.
fn statements(line: &str, add: &mut impl FnMut(&'static str, Range<usize>, String)) {
    const OTHERS: [&str; 13] = [
        "let ", "return", "const ", "pub ", "type ", "static ", "break", "continue", "mod ", "fn ",
        "struct ", "}", ".",
    ];
    let words = line.trim();
    let count = |c: char| words.matches(c).count();
    let whole = words.ends_with(';')
        && count('(') == count(')')
        && count('[') == count(']')
        && count('{') == count('}');
    let acts = words.contains(" = ") || words.contains("= ") || words.contains('(');
    if whole && acts && !OTHERS.iter().any(|other| words.starts_with(other)) {
        let indent = line.len() - line.trim_start().len();
        add("statement", indent..indent + words.len(), String::new());
    }
}

/// The code alone, each byte in its place: comments and what is in quotes become blanks, and the
/// tests at the end are cut off.
fn mask(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let length = if rest.starts_with(b"//") {
            rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
        } else if rest[0] == b'"' {
            quoted(rest, b'"')
        } else if rest[0] == b'\'' && (rest.get(1) == Some(&b'\\') || rest.get(2) == Some(&b'\'')) {
            quoted(rest, b'\'')
        } else {
            at += 1;
            continue;
        };
        for byte in &mut code[at..at + length] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += length;
    }
    // What was not ASCII stood in comments and strings.
    String::from_utf8_lossy(&code).into_owned()
}

/// Length of what is in quotes, these included.
fn quoted(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += 1 + usize::from(text[at] == b'\\');
    }
    (at + 1).min(text.len())
}

/// Edits in random order, but of every kind as often as of the others while there are any.
pub fn choose(mut edits: Vec<Edit>, seed: u64) -> Vec<Edit> {
    let mut rng = SplitMix64::new(seed);
    for i in (1..edits.len()).rev() {
        edits.swap(i, rng.below(i as u64 + 1) as usize);
    }
    let mut kinds: Vec<_> = edits.iter().map(|edit| edit.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let turn = |n: usize, edit: &Edit| edits[..n].iter().filter(|before| before.kind == edit.kind).count();
    let mut order: Vec<_> = (0..edits.len()).collect();
    order.sort_by_key(|&n| {
        let edit = &edits[n];
        (turn(n, edit), kinds.iter().position(|kind| *kind == edit.kind))
    });
    order.into_iter().map(|n| edits[n].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "use a::b;\n\
        // if 1 < 2 { — }\n\
        fn f(x: &mut [u64; 4]) -> bool {\n\
        \x20   let s = \"a + 1\";\n\
        \x20   if x[0] < 7 {\n\
        \x20       x.swap(1, 2);\n\
        \x20   }\n\
        \x20   debug_assert!(x[1] == 1);\n\
        \x20   x.0 == 1.5\n\
        }\n\
        #[cfg(test)]\n\
        mod tests { fn g() { 3 + 4 } }\n";

    #[test]
    fn edits_are_in_code_only_and_apply_where_they_say() {
        let all = edits("f.rs", TEXT);
        let shown: Vec<_> = all.iter().map(ToString::to_string).collect();
        let expected = [
            "src/f.rs:3 constant: `4` -> `5`",
            "src/f.rs:3 constant: `4` -> `3`",
            "src/f.rs:5 comparison: `<` -> `<=`",
            "src/f.rs:5 constant: `0` -> `1`",
            "src/f.rs:5 constant: `7` -> `8`",
            "src/f.rs:5 constant: `7` -> `6`",
            "src/f.rs:5 condition: `x[0] < 7` -> `!(x[0] < 7)`",
            "src/f.rs:6 constant: `1` -> `2`",
            "src/f.rs:6 constant: `1` -> `0`",
            "src/f.rs:6 constant: `2` -> `3`",
            "src/f.rs:6 constant: `2` -> `1`",
            "src/f.rs:6 statement: `x.swap(1, 2);` -> `nothing`",
            "src/f.rs:9 comparison: `==` -> `!=`",
        ];
        assert_eq!(shown, expected);
        for edit in &all {
            let edited = edit.apply(TEXT);
            assert_ne!(edited, TEXT);
            let changed = edited.lines().zip(TEXT.lines()).position(|(new, old)| new != old);
            assert_eq!(changed, Some(edit.line - 1), "{edit}");
        }
    }

    #[test]
    fn the_choice_is_of_all_kinds_and_depends_on_the_seed() {
        let all = edits("f.rs", TEXT);
        let chosen = choose(all.clone(), 1);
        assert_eq!(chosen.len(), all.len());
        let mut first: Vec<_> = chosen[..4].iter().map(|edit| edit.kind).collect();
        first.dedup();
        assert_eq!(first, ["comparison", "condition", "constant", "statement"]);
        assert_eq!(chosen, choose(all.clone(), 1));
        assert!((2..10).any(|seed| choose(all.clone(), seed) != chosen));
    }
}

//! Stages, one below the other, beside the memories that some of them access.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{COLOURS, WIDTH, escape, open};

/// A stage of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// What happens in it.
    pub does: String,
    /// What it does with the memories, if anything.
    pub memory: Option<String>,
}

const TOP: f64 = 44.0;
/// Of a stage, with the arrow to the next one.
const STEP: f64 = 54.0;
const BOX: f64 = 34.0;
const MEMORY: (f64, f64) = (12.0, 92.0);
const STAGE: (f64, f64) = (250.0, 310.0);
const TEXT: f64 = 326.0;
/// Characters of a line of text.
const LINE: usize = 58;

/// The stages between request and response, as an SVG image.
pub fn pipeline(title: &str, stages: &[Stage]) -> String {
    let top = |stage: usize| TOP + 30.0 + STEP * stage as f64;
    let height = top(stages.len()) + 20.0;
    let mut svg = open(WIDTH, height, title, MEMORY.0);
    let middle = f64::midpoint(STAGE.0, STAGE.1);
    let blue = COLOURS[0];
    for (text, y) in [("request", TOP + 6.0), ("response", top(stages.len()) + 12.0)] {
        let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>");
    }
    for (i, stage) in stages.iter().enumerate() {
        let (y, centre) = (top(i), top(i) + BOX / 2.0);
        arrow(&mut svg, middle, y - if i == 0 { 18.0 } else { STEP - BOX }, y);
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{BOX}\" rx=\"4\" fill=\"{blue}\" fill-opacity=\"0.12\" \
             stroke=\"{blue}\" stroke-width=\"1.6\"/>\
             <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"600\">{}</text>",
            STAGE.0,
            STAGE.1 - STAGE.0,
            centre + 5.0,
            escape(&stage.name)
        );
        let lines = wrap(&stage.does, LINE);
        for (n, line) in lines.iter().enumerate() {
            let y = centre + 4.5 + 16.0 * (n as f64 - (lines.len() - 1) as f64 / 2.0);
            let _ = writeln!(svg, "<text x=\"{TEXT}\" y=\"{y}\">{}</text>", escape(line));
        }
        if let Some(memory) = &stage.memory {
            let _ = writeln!(
                svg,
                "<path d=\"M{} {centre}H{}\" stroke=\"{}\" stroke-width=\"1.6\"/>\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"12\">{}</text>",
                MEMORY.1,
                STAGE.0,
                COLOURS[1],
                f64::midpoint(MEMORY.1, STAGE.0),
                centre - 6.0,
                escape(memory)
            );
        }
    }
    arrow(&mut svg, middle, top(stages.len()) - (STEP - BOX), top(stages.len()));
    let used = |stage: &Stage| stage.memory.is_some();
    if let (Some(first), Some(last)) = (stages.iter().position(used), stages.iter().rposition(used)) {
        let (from, to) = (top(first) - 4.0, top(last) + BOX + 4.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{}\" y=\"{from}\" width=\"{}\" height=\"{}\" fill=\"{colour}\" fill-opacity=\"0.12\" \
             stroke=\"{colour}\" stroke-width=\"1.6\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">memory</text>",
            MEMORY.0,
            MEMORY.1 - MEMORY.0,
            to - from,
            f64::midpoint(MEMORY.0, MEMORY.1),
            f64::midpoint(from, to) + 4.0,
            colour = COLOURS[1]
        );
    }
    svg + "</svg>\n"
}

fn arrow(svg: &mut String, x: f64, from: f64, to: f64) {
    let _ = writeln!(
        svg,
        "<path d=\"M{x} {from}V{to}m-4 -6l4 6l4 -6\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.4\"/>"
    );
}

/// Lines of at most so many characters, or of one word.
fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("one line at least");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= most {
            *line += " ";
            *line += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("aaaaaaa b", 3), ["aaaaaaa", "b"]);
        assert_eq!(wrap("", 3), [""]);
    }

    #[test]
    fn the_memory_is_drawn_where_a_stage_uses_it() {
        let stage = |memory: Option<&str>| Stage {
            name: "s<1".into(),
            does: "something".into(),
            memory: memory.map(str::to_owned),
        };
        let svg = pipeline("p", &[stage(None), stage(Some("reads")), stage(None)]);
        assert_eq!((svg.matches("<rect").count(), svg.matches(">reads<").count()), (4, 1));
        assert_eq!(svg.matches(">s&lt;1<").count(), 3);
        assert!(!pipeline("p", &[stage(None)]).contains(">memory<"));
    }
}

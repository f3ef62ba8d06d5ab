//! Pins over time.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{COLOURS, escape, open};

/// A pin, one value per cycle: 0 or 1, a word, or nothing where the pin says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// Its name.
    pub name: String,
    /// What it shows in each cycle.
    pub values: Vec<Option<String>>,
}

const NAMES: f64 = 92.0;
const CYCLE: f64 = 46.0;
const ROW: f64 = 26.0;
/// Height of a high pin above a low one.
const SWING: f64 = 16.0;
const TOP: f64 = 64.0;
/// Half of the slope between two values.
const SLOPE: f64 = 3.0;

/// A waveform with a clock above the signals, as an SVG image.
pub fn waveform(title: &str, signals: &[Signal]) -> String {
    let cycles = signals.iter().map(|signal| signal.values.len()).max().unwrap_or(0);
    let (width, height) = (NAMES + CYCLE * cycles as f64 + 12.0, TOP + ROW * (signals.len() + 1) as f64);
    // As wide as it has cycles, not as wide as the page.
    let mut svg = open(width, height, title, 0.0).replacen("<svg", &format!("<svg width=\"{width}\""), 1);
    for cycle in 0..cycles {
        let left = NAMES + CYCLE * cycle as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {}V{height}\" stroke=\"currentColor\" stroke-opacity=\"0.15\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" opacity=\"0.7\">{cycle}</text>",
            TOP - 22.0,
            left + CYCLE / 2.0,
            TOP - 10.0
        );
    }
    let mut clock = format!("M{NAMES} {}", TOP + SWING);
    for _ in 0..cycles {
        let half = CYCLE / 2.0;
        let _ = write!(clock, "v{:.1}h{half}v{SWING}h{half}", -SWING);
    }
    name(&mut svg, "clk", TOP);
    line(&mut svg, &clock, COLOURS[0]);
    for (i, signal) in signals.iter().enumerate() {
        let top = TOP + ROW * (i + 1) as f64;
        name(&mut svg, &signal.name, top);
        let is_bit = |value: &Option<String>| value.as_ref().is_some_and(|text| text == "0" || text == "1");
        if signal.values.iter().all(is_bit) {
            line(&mut svg, &bit(&signal.values, top), COLOURS[0]);
        } else {
            bus(&mut svg, &signal.values, top);
        }
    }
    svg + "</svg>\n"
}

fn name(svg: &mut String, name: &str, top: f64) {
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-family=\"ui-monospace, monospace\">{}</text>",
        NAMES - 10.0,
        top + SWING - 3.0,
        escape(name)
    );
}

fn line(svg: &mut String, path: &str, colour: &str) {
    let _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>");
}

/// High or low.
fn bit(values: &[Option<String>], top: f64) -> String {
    let level = |value: &Option<String>| if value.as_deref() == Some("1") { top } else { top + SWING };
    let mut path = String::new();
    for (cycle, value) in values.iter().enumerate() {
        let left = NAMES + CYCLE * cycle as f64;
        let start = if cycle == 0 { 'M' } else { 'L' };
        let lead = if cycle == 0 { 0.0 } else { SLOPE };
        let _ = write!(path, "{start}{} {}H{}", left + lead, level(value), left + CYCLE - SLOPE);
    }
    path
}

/// A box for as long as a value stays.
fn bus(svg: &mut String, values: &[Option<String>], top: f64) {
    let mut cycle = 0;
    for run in values.chunk_by(|a, b| a == b) {
        let (left, right) = (NAMES + CYCLE * cycle as f64, NAMES + CYCLE * (cycle + run.len()) as f64);
        cycle += run.len();
        let (middle, bottom) = (top + SWING / 2.0, top + SWING);
        let Some(text) = &run[0] else {
            let path = format!("M{left} {middle}H{right}");
            let _ = writeln!(svg, "<path d=\"{path}\" stroke=\"currentColor\" stroke-opacity=\"0.35\"/>");
            continue;
        };
        let (from, to) = (left + SLOPE, right - SLOPE);
        let path = format!("M{left} {middle}L{from} {top}H{to}L{right} {middle}L{to} {bottom}H{from}Z");
        line(svg, &path, COLOURS[1]);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\">{}</text>",
            f64::midpoint(left, right),
            bottom - 4.0,
            escape(text)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(name: &str, values: &[&str]) -> Signal {
        let value = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
        Signal { name: name.into(), values: values.iter().map(value).collect() }
    }

    #[test]
    fn a_value_that_stays_is_one_box_and_a_bit_is_a_line() {
        let signals = [signal("a<b", &["0", "1", "1"]), signal("bus", &["", "x&y", "x&y"])];
        let svg = waveform("t", &signals);
        assert!(svg.contains(">a&lt;b</text>"));
        assert_eq!(svg.matches(">x&amp;y</text>").count(), 1);
        assert!(
            svg.contains(">0</text>") && svg.contains(">2</text>") && !svg.contains(">3</text>"),
            "cycles"
        );
        // The bit is low, then high.
        let (low, high) = (TOP + ROW + SWING, TOP + ROW);
        assert!(svg.contains(&format!("M{NAMES} {low}H")) && svg.contains(&format!(" {high}H")));
    }

    #[test]
    fn nothing_is_a_waveform_too() {
        assert!(waveform("t", &[]).ends_with("</svg>\n"));
    }
}

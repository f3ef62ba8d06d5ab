//! Rates, loads, pipelines and waveforms.

use std::collections::BTreeMap;

use super::html::{Cell, figure, grouped, heading, paragraph, table};
use crate::{
    curves::{CoreCurves, Curves, Measured, Point},
    plot::{Axis, Chart, Mark, Series, pipeline, waveform},
};

/// Charts of false positive rates against bits per key, and the points as a table.
pub fn rates(curves: &Curves) -> String {
    let mut html = paragraph(&format!(
        "Every filter holds {} keys; at each number of bits per key it has the parameters of its kind with \
         the lowest rate by theory. The functional models, which have the hardware's hash and bits, were asked for \
         keys that are not there.",
        grouped(curves.keys)
    ));
    let best: Vec<_> = curves.cores.iter().map(|core| (core.core.as_str(), lowest(core))).collect();
    let pairs = best.iter().flat_map(|(name, points)| series(name, points));
    let caption = "Lines: theory. Points: measured, where at least ten false positives were seen.";
    html += &figure(&rate_chart("The best of every core".into(), pairs.collect()).svg(), caption);
    for core in &curves.cores {
        html += &heading(&core.core);
        html += &paragraph(&format!("{}.", core.about));
        let pairs = core.curves.iter().flat_map(|curve| {
            let points: Vec<_> = curve.points.iter().collect();
            series(&curve.variant, &points)
        });
        html += &figure(&rate_chart(format!("Kinds of {}", core.core), pairs.collect()).svg(), caption);
    }
    let rows: Vec<_> = curves.cores.iter().flat_map(rows).collect();
    let caption = "All measured points; the standard error is from how much fillings with other keys differ.";
    let head = [
        "core",
        "kind",
        "bits/key",
        "theory",
        "measured",
        "standard error",
        "measured / theory",
        "parameters",
    ];
    html + &table(caption, &head, &rows)
}

/// At each number of bits per key the point with the lowest rate.
fn lowest(core: &CoreCurves) -> Vec<&Point> {
    let mut lowest: BTreeMap<u64, &Point> = BTreeMap::new();
    for point in core.curves.iter().flat_map(|curve| &curve.points) {
        let old = lowest.entry(point.bits_per_key.round() as u64).or_insert(point);
        if point.theory < old.theory {
            *old = point;
        }
    }
    lowest.into_values().collect()
}

fn rate_chart(title: String, series: Vec<Series>) -> Chart {
    Chart {
        title,
        x: Axis::linear("memory (bits per key)"),
        y: Axis::logarithmic("false positive rate (share of queries)"),
        series,
    }
}

/// Theory as a line, and measurements as points on it.
fn series(name: &str, points: &[&Point]) -> [Series; 2] {
    let theory = points.iter().map(|point| (point.bits_per_key, point.theory)).collect();
    let rate = |point: &&Point| Some((point.bits_per_key, point.measured?.rate()?));
    let measured = points.iter().filter_map(rate).collect();
    [(theory, Mark::Line), (measured, Mark::Points)].map(|(points, mark)| Series {
        name: name.to_owned(),
        points,
        mark,
    })
}

/// A row per measured point.
fn rows(core: &CoreCurves) -> Vec<Vec<Cell>> {
    let scientific = |value: f64| Cell::number(value, format!("{value:.2e}"));
    let mut rows = Vec::new();
    for curve in &core.curves {
        for point in &curve.points {
            let Some(measured) = point.measured else { continue };
            let Measured { error, hits, queries, .. } = measured;
            let rate = measured.rate();
            rows.push(vec![
                Cell::text(&core.core),
                Cell::text(&curve.variant).class("name"),
                Cell::number(point.bits_per_key, format!("{:.2}", point.bits_per_key)),
                scientific(point.theory),
                match rate {
                    Some(rate) => scientific(rate),
                    None => Cell::text(format!("{hits} of {queries}")).class("n fine"),
                },
                Cell::or_none(rate, |_| scientific(error)),
                Cell::or_none(rate, |rate| {
                    let ratio = rate / point.theory;
                    Cell::number(ratio, format!("{ratio:.3}"))
                }),
                Cell::text(point.parameters.to_string()).class("name fine"),
            ]);
        }
    }
    rows
}

/// A chart of loads for every core with blocks.
pub fn loads(curves: &Curves) -> String {
    let mut html = paragraph(
        "Where the hash alone decides, loads are binomial; a filter that balances sends the keys of full blocks \
         elsewhere. Blocks are the rows of the first memory.",
    );
    for core in curves.cores.iter().filter(|core| !core.loads.is_empty()) {
        let pairs = core.loads.iter().flat_map(|loads| {
            let all: u64 = loads.blocks.iter().sum();
            let share = |blocks: &u64| *blocks as f64 / all.max(1) as f64;
            let place = |(keys, share): (usize, f64)| (keys as f64, share);
            let theory = loads.theory.iter().copied().enumerate().map(place).collect();
            let measured = loads.blocks.iter().map(share).enumerate().map(place).collect();
            [(theory, Mark::Line), (measured, Mark::Points)].map(|(points, mark)| Series {
                name: loads.variant.clone(),
                points,
                mark,
            })
        });
        let chart = Chart {
            title: format!("Blocks of {}", core.core),
            x: Axis::linear("keys in a block (number)"),
            y: Axis::linear("share of blocks"),
            series: pairs.collect(),
        };
        let bits = core.loads[0].bits_per_key;
        html += &figure(&chart.svg(), &format!("Lines: theory. Points: counted, at {bits:.0} bits per key."));
    }
    html
}

/// A pipeline and a waveform for every core.
pub fn pipelines(curves: &Curves) -> String {
    let mut html = paragraph(
        "The stages are those of clocked model and Verilog. The waveforms were recorded from the clocked models.",
    );
    for core in &curves.cores {
        html += &heading(&core.core);
        let title = format!("Stages of {}", core.core);
        html +=
            &figure(&pipeline(&title, &core.pipeline), "From request to response; what uses the memories.");
        let wave = &core.wave;
        let title = format!("{}, preset {}", core.core, wave.preset);
        html += &figure(&waveform(&title, &wave.signals), &format!("Cycle by cycle: {}.", wave.script));
    }
    html
}

//! Charts, waveforms and pipelines: SVG for people and papers, a line of blocks for the terminal.
//!
//! Colours follow the page's: dark on light, or light on dark where the reader prefers it.

mod pipeline;
mod scale;
mod wave;

pub use pipeline::{Stage, pipeline};
pub use wave::{Signal, waveform};

use std::fmt::Write as _;

use scale::{Scale, label};

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Theory: a line.
    Line,
    /// Measurements: points.
    Points,
    /// Measurements in order: points and the line through them.
    Both,
}

/// Points that belong together.
#[derive(Clone, Debug)]
pub struct Series {
    /// For the legend; the same name has the same colour in a chart.
    pub name: String,
    /// x and y; what is not finite, or not above 0 on a logarithmic axis, is left out.
    pub points: Vec<(f64, f64)>,
    /// How to draw it.
    pub mark: Mark,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Whether equal steps are equal factors.
    pub logarithmic: bool,
}

impl Axis {
    /// Equal steps.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: false }
    }

    /// Equal factors.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { label: label.into(), logarithmic: true }
    }
}

/// A chart of some series over one pair of axes.
///
/// ```
/// use membrane::plot::{Axis, Chart, Mark, Series};
/// let points = (1..=10).map(|x| (f64::from(x), 0.5f64.powi(x))).collect();
/// let chart = Chart {
///     title: "Halving".into(),
///     x: Axis::linear("steps"),
///     y: Axis::logarithmic("what is left"),
///     series: vec![Series { name: "theory".into(), points, mark: Mark::Line }],
/// };
/// assert!(chart.svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Below it.
    pub x: Axis,
    /// Left of it.
    pub y: Axis,
    /// What it shows.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;
/// Between axis and legend.
const GAP: f64 = 8.0;
/// Height of a line of the legend.
const LINE: f64 = 18.0;

/// Distinguishable with any colour vision: the palette of Okabe and Ito, without its black
/// and its yellow, which a page may have as its own.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

impl Chart {
    /// The chart as an SVG image that stands alone or inside a page.
    pub fn svg(&self) -> String {
        let shown = |(x, y): &&(f64, f64)| {
            let fits = |axis: &Axis, v: f64| v.is_finite() && (!axis.logarithmic || v > 0.0);
            fits(&self.x, *x) && fits(&self.y, *y)
        };
        let points: Vec<_> = self.series.iter().flat_map(|s| &s.points).filter(shown).collect();
        let names = self.names();
        let x = Scale::new(points.iter().map(|p| p.0), self.x.logarithmic, LEFT, WIDTH - RIGHT);
        let y = Scale::new(points.iter().map(|p| p.1), self.y.logarithmic, HEIGHT - BOTTOM, TOP);
        let mut svg = open(WIDTH, self.height(), &self.title, LEFT);
        self.axes(&mut svg, &x, &y);
        for series in &self.series {
            let colour = names.iter().position(|name| *name == series.name).unwrap_or(0) % COLOURS.len();
            let colour = COLOURS[colour];
            let places = series.points.iter().filter(shown).map(|p| (x.place(p.0), y.place(p.1)));
            let places: Vec<_> = places.collect();
            if series.mark != Mark::Points {
                let line: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let line = line.join(" ");
                let _ = writeln!(
                    svg,
                    "<polyline points=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
                );
            }
            if series.mark != Mark::Line {
                for (x, y) in &places {
                    let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
                }
            }
        }
        for (i, name) in names.iter().enumerate() {
            let top = HEIGHT + GAP + i as f64 * LINE;
            let colour = COLOURS[i % COLOURS.len()];
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"16\" height=\"4\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"{top:.1}\">{}</text>",
                top - 6.0,
                LEFT + 24.0,
                escape(name)
            );
        }
        svg + "</svg>\n"
    }

    fn height(&self) -> f64 {
        HEIGHT + GAP + self.names().len() as f64 * LINE
    }

    /// The series' names, each once.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in &self.series {
            if !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    fn axes(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let grid = "stroke=\"currentColor\" stroke-opacity=\"0.15\"";
        for tick in x.ticks() {
            let at = x.place(tick);
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" {grid}/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                label(tick)
            );
        }
        for tick in y.ticks() {
            let at = y.place(tick);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{right}\" {grid}/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                at + 4.0,
                label(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"currentColor\"/>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            f64::midpoint(LEFT, right),
            bottom + 40.0,
            escape(&self.x.label),
            f64::midpoint(TOP, bottom),
            escape(&self.y.label)
        );
    }
}

/// The beginning of an image, with its title from `left` on.
fn open(width: f64, height: f64, title: &str, left: f64) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"currentColor\">\n\
         <title>{title}</title>\n<text x=\"{left}\" y=\"22\" font-size=\"15\" font-weight=\"600\">{title}</text>\n"
    )
}

/// Charts one below the other in one image.
pub fn stack(charts: &[Chart]) -> String {
    let heights = charts.iter().map(Chart::height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\">\n\
         <style>svg {{ color: #222 }} @media (prefers-color-scheme: dark) {{ svg {{ color: #ddd }} }}</style>\n",
        heights.sum::<f64>().max(1.0)
    );
    let mut top = 0.0;
    for chart in charts {
        let inner = format!("<svg y=\"{top}\" width=\"{WIDTH}\" height=\"{}\"", chart.height());
        svg += &chart.svg().replacen("<svg", &inner, 1);
        top += chart.height();
    }
    svg + "</svg>\n"
}

/// Text inside XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Values from 0 to their largest as a line of blocks, a space where there is none.
pub fn spark(values: &[Option<f64>]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let block = |value: f64| {
        let eighths = if most > 0.0 { (value / most * 7.0).round() } else { 0.0 };
        BLOCKS[(eighths as usize).min(7)]
    };
    values.iter().map(|value| value.map_or(' ', block)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>, mark: Mark) -> Chart {
        Chart {
            title: "a < b".into(),
            x: Axis::linear("x"),
            y: Axis::logarithmic("y & z"),
            series: vec![Series { name: "s".into(), points, mark }],
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let points = vec![(1.0, 1e-3), (2.0, 0.0), (3.0, f64::NAN), (4.0, 1e-1)];
        let svg = chart(points, Mark::Both).svg();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains("y &amp; z"));
        // The ends of the range are decades, and both are labelled.
        assert!(svg.contains(">0.001<") && svg.contains(">0.1<"));
    }

    #[test]
    fn nothing_is_a_chart_too() {
        let svg = chart(vec![], Mark::Points).svg();
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    }

    #[test]
    fn the_same_name_has_the_same_colour_and_one_line_in_the_legend() {
        let mut chart = chart(vec![(1.0, 1.0)], Mark::Points);
        chart.series.push(Series { mark: Mark::Line, ..chart.series[0].clone() });
        let svg = chart.svg();
        assert_eq!(svg.matches(">s</text>").count(), 1);
        assert_eq!(svg.matches(COLOURS[0]).count(), 3);
    }

    #[test]
    fn stacked_charts_do_not_overlap() {
        let one = chart(vec![(1.0, 1.0)], Mark::Line);
        let svg = stack(&[one.clone(), one.clone()]);
        assert_eq!(svg.matches("<svg").count(), 3);
        assert!(svg.contains(&format!("<svg y=\"{}\"", one.height())));
        assert!(svg.contains(&format!("viewBox=\"0 0 {WIDTH} {}\"", 2.0 * one.height())));
    }

    #[test]
    fn blocks_follow_the_values() {
        assert_eq!(spark(&[Some(0.0), Some(0.5), None, Some(1.0)]), "▁▅ █");
        assert_eq!(spark(&[Some(0.0)]), "▁");
    }
}

//! One page of HTML with what the other commands found: no network, no date, nothing that is
//! not in one of their files.
//!
//! ```
//! use membrane::report::{Files, page};
//!
//! let html = page(&Files::default());
//! assert!(html.contains("membrane curves --json"), "what is not there says how to make it");
//! ```

mod cosim;
mod curves;
mod html;
mod input;
mod papers;

pub use input::{
    Area, AreaRow, Claim, Cosim, CosimRun, Input, Paper, PaperRow, PaperSection, ReportError, Repro, Sample,
    Tolerance,
};

use std::fmt::Write as _;

use crate::curves::Curves;
use html::{escape, paragraph};

/// The files, as far as there are any.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Rates, loads, pipelines, waveforms.
    pub curves: Option<Curves>,
    /// Co-simulations.
    pub cosim: Option<Cosim>,
    /// The papers' figures.
    pub repro: Option<Repro>,
    /// Areas.
    pub area: Option<Area>,
}

/// A part of the page.
struct Section {
    id: &'static str,
    title: &'static str,
    /// The command whose file it is made from.
    command: String,
    /// `None` without that file.
    body: Option<String>,
}

impl Section {
    fn new<T: Input>(
        id: &'static str,
        title: &'static str,
        file: Option<&T>,
        body: impl Fn(&T) -> String,
    ) -> Self {
        Self { id, title, command: T::COMMAND.into(), body: file.map(body) }
    }

    /// With the very command that wrote its file, where the file says it.
    fn by(self, command: Option<&str>) -> Self {
        Self { command: command.map_or(self.command, str::to_owned), ..self }
    }
}

/// The page. The same files give the same bytes.
pub fn page(files: &Files) -> String {
    let curves = files.curves.as_ref();
    let command = curves.map(|curves| curves.command.as_str());
    let sections = [
        Section::new("rates", "False positive rates", curves, curves::rates).by(command),
        Section::new("loads", "Keys per block", curves, curves::loads).by(command),
        Section::new("ports", "Co-simulation and memory ports", files.cosim.as_ref(), cosim::runs),
        Section::new("pipelines", "Pipelines and waveforms", curves, curves::pipelines).by(command),
        Section::new("papers", "The papers, reproduced", files.repro.as_ref(), papers::papers),
        Section::new("area", "Area", files.area.as_ref(), cosim::area),
    ];
    let (mut contents, mut body, mut missing) = (String::new(), String::new(), String::new());
    let mut commands: Vec<&str> = Vec::new();
    for Section { id, title, command, body: text } in &sections {
        let Some(text) = text else {
            let _ = writeln!(missing, "<li>{title}: <code>{}</code></li>", escape(command));
            continue;
        };
        let _ = writeln!(contents, "<li><a href=\"#{id}\">{title}</a></li>");
        let _ = writeln!(body, "<section id=\"{id}\">\n<h2>{title}</h2>\n{text}</section>");
        if !commands.contains(&command.as_str()) {
            commands.push(command);
        }
    }
    if !missing.is_empty() {
        contents += "<li><a href=\"#missing\">Not in this report</a></li>\n";
        let what = paragraph("For these parts no file was given. The command beside each writes it.");
        let _ = writeln!(
            body,
            "<section id=\"missing\">\n<h2>Not in this report</h2>\n{what}<ul>\n{missing}</ul>\n</section>"
        );
    }
    let mut made = String::new();
    for command in commands {
        let _ = write!(made, ", <code>{}</code>", escape(command));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Membrane: report</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n\
         <header>\n<h1>Membrane</h1>\n\
         <p>Membership filters for hardware: what was measured, co-simulated, reproduced and synthesized.</p>\n\
         <nav aria-label=\"Contents\"><ul>\n{contents}</ul></nav>\n</header>\n<main>\n{body}</main>\n\
         <footer><p>Made by <code>membrane report</code> {}{made}. Click the head of a table to sort by it.</p></footer>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        include_str!("page.css"),
        env!("CARGO_PKG_VERSION"),
        include_str!("sort.js"),
    )
}

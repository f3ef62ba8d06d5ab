//! `membrane curves` and `membrane report`: what is measured, and the page that shows it.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use membrane::{
    curves::{self, Curves, Effort},
    registry,
    report::{Files, Input, page},
    repro::{self, Chapter, Claim, Row, Sample, Section, Tolerance, Verdict},
};
use serde_json::{Value, json};

/// All cores, measured for two seconds or so.
fn small() -> &'static Curves {
    static CURVES: OnceLock<Curves> = OnceLock::new();
    let effort = Effort {
        keys: 10_000,
        theory: vec![8, 10, 12],
        measured: vec![8, 12],
        loads: 12,
        fillings: 16,
        hits: 100,
        queries: 1 << 14,
    };
    let run = || curves::run("membrane curves --quick --json", &effort, &|_, _| ());
    CURVES.get_or_init(|| run().expect("curves"))
}

fn cosim() -> Value {
    let run = |preset: &str| {
        json!({
            "core": "partitioned", "preset": preset, "parameters": {"BANKS": 7}, "seed": 1, "cycles": 200_000,
            "requests": 88_294, "responses": 88_290, "mismatches": 0, "port_utilization": 0.68,
            "port_utilization_saturated": 0.999, "cycles_per_second": 4_061_737.0,
        })
    };
    let stopped = json!({
        "core": "blocked", "preset": "tiny", "parameters": {}, "seed": 1, "cycles": 1000, "mismatches": 1,
        "first": "cycle 7", "reproduce": "membrane cosim", "folder": null,
    });
    json!({"tools": "Verilator 5.048", "results": [run("k7"), run("<b>k8 & more</b>"), stopped]})
}

/// What `membrane repro` would say of one table, in its own types.
fn repro() -> Value {
    let row = |what: &str, tolerance, verdict| Row {
        what: what.into(),
        paper: Some(0.0642),
        reading: None,
        formula: Some(0.06423),
        measured: Some(Sample { mean: 0.064, error: 1e-4 }),
        difference: Some(0.0005),
        tolerance: Some(tolerance),
        verdict,
        erratum: None,
    };
    let rows = vec![
        row("F_s", Tolerance::Decimals(4), Verdict::Agrees),
        row("F_p", Tolerance::AtMost, Verdict::Corrected),
        row("F_a", Tolerance::Relative(0.01), Verdict::Fails),
        row("k", Tolerance::Absolute(0.5), Verdict::Agrees),
        row("r", Tolerance::Between(0.05), Verdict::Agrees),
    ];
    let claims = vec![Claim::new("it falls", "it does", true)];
    let section = Section { place: "table 1".into(), rows, claims, note: Some("a remark") };
    json!({"effort": repro::Effort::Quick, "papers": [Chapter { title: "A paper", sections: vec![section] }]})
}

fn area() -> Value {
    let row = json!({
        "core": "cam", "preset": "32x32", "LUT4": 1300, "CCU2C": 2, "TRELLIS_FF": 1056, "DP16KD": 0,
    });
    json!({"target": "ECP5", "rows": [row]})
}

/// A folder with a file of each kind.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        folder.write("curves", &json!(small()));
        folder.write("cosim", &cosim());
        folder.write("repro", &repro());
        folder.write("area", &area());
        folder
    }

    fn write(&self, name: &str, value: &Value) {
        fs::write(self.file(name), value.to_string()).expect("written");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("{name}.json"))
    }

    fn page(&self) -> PathBuf {
        self.0.path().join("report.html")
    }

    /// `membrane report` of the files with these names.
    fn report(&self, names: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_membrane"));
        command.arg("report").arg("--out").arg(self.page());
        for name in names {
            command.arg(format!("--{name}")).arg(self.file(name));
        }
        command.output().expect("runs")
    }

    fn html(&self, names: &[&str]) -> String {
        let output = self.report(names);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(self.page()).expect("a page")
    }
}

const ALL: [&str; 4] = ["curves", "cosim", "repro", "area"];

/// Every tag is closed, in the right order.
fn assert_balanced(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find('>').expect("the end of a tag");
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "before {}", &rest[..rest.len().min(80)]);
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta", "link"].contains(&name) {
            open.push(name);
        }
        // Scripts have their own '<'.
        if tag == "script" || tag == "style" {
            rest = &rest[rest.find(&format!("</{tag}>")).expect("its end")..];
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
}

#[test]
fn measured_rates_and_loads_are_those_of_the_theory() {
    let curves = small();
    assert_eq!(curves.cores.len(), registry::CORES.len());
    for core in &curves.cores {
        assert!(!core.curves.is_empty(), "{}", core.core);
        for curve in &core.curves {
            let measured: Vec<_> = curve.points.iter().filter(|point| point.measured.is_some()).collect();
            assert_eq!(measured.len(), 2, "{}: {}", core.core, curve.variant);
            for point in measured {
                let found = point.measured.expect("filtered");
                let rate = found.rate().expect("frequent enough");
                let off = (rate - point.theory) / found.error;
                // Sixteen fillings say little of the error itself.
                assert!(off.abs() < 5.0, "{} {} {}: {off}", core.core, curve.variant, point.bits_per_key);
            }
        }
        for loads in &core.loads {
            let blocks: u64 = loads.blocks.iter().sum();
            let (chi, cells) =
                loads.theory.iter().zip(&loads.blocks).fold((0.0, 0), |(sum, n), (share, found)| {
                    let expected = share * blocks as f64;
                    let term = (*found as f64 - expected).powi(2) / expected;
                    if expected < 5.0 { (sum, n) } else { (sum + term, n + 1) }
                });
            let spread = f64::sqrt(2.0 * f64::from(cells));
            assert!(
                cells > 3 && chi < f64::from(cells) + 5.0 * spread,
                "{}: {chi} of {cells}",
                loads.variant
            );
        }
        assert_eq!(core.loads.is_empty(), core.core == "partitioned");
    }
}

#[test]
fn waveforms_show_the_answers_in_order() {
    for core in &small().cores {
        let signal = |name: &str| {
            let found = core.wave.signals.iter().find(|signal| signal.name == name);
            found.expect(name).values.clone()
        };
        let (valid, ready) = (signal("rsp_valid"), signal("rsp_ready"));
        let one = Some("1".to_owned());
        let taken: Vec<_> = (0..valid.len()).filter(|i| valid[*i] == one && ready[*i] == one).collect();
        let at = |name: &str| taken.iter().filter_map(|i| signal(name)[*i].clone()).collect::<String>();
        assert_eq!((at("rsp_tag").as_str(), at("rsp_hit").as_str()), ("0123", "0010"), "{}", core.core);
        assert_eq!(valid.iter().filter(|value| **value == one).count(), 6, "the first one waits two cycles");
    }
}

#[test]
fn pipelines_are_those_of_the_docs() {
    for core in registry::CORES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{}.md", core.name()));
        let text = fs::read_to_string(&path).expect("a page of docs/").replace('`', "");
        let (_, text) = text.split_once("## Pipeline").expect("its pipeline");
        let mut lines = text.lines().skip_while(|line| !line.starts_with("| stage"));
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let head = cells(lines.next().expect("a table"));
        let does = head.iter().position(|name| name == "does").expect("what each stage does");
        let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(|line| {
            let row = cells(line);
            (row[1].clone(), row[does].clone())
        });
        let stages = core.facts().pipeline.iter().map(|stage| (stage.name.to_owned(), stage.does.to_owned()));
        assert_eq!(rows.collect::<Vec<_>>(), stages.collect::<Vec<_>>(), "{}", path.display());
    }
}

#[test]
fn a_page_has_all_parts_and_the_same_bytes_every_time() {
    let folder = Folder::new();
    let html = folder.html(&ALL);
    assert_balanced(&html);
    for id in ["rates", "loads", "ports", "pipelines", "papers", "area"] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}");
        assert!(html.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
    assert!(!html.contains("Not in this report"));
    // One rate of all cores; of each one a rate, a pipeline, a waveform; loads of those with blocks.
    assert_eq!(html.matches("<svg").count(), 1 + 3 * registry::CORES.len() + 3);
    assert_eq!(html, folder.html(&ALL));
    // A mismatch is shown as one, and what was not counted is not 0.
    assert!(html.contains("<td class=\"n bad\" data-v=\"1\">1</td><td class=\"n\">\u{2013}</td>"));
    assert!(html.contains("<td class=\"bad\">fails</td>") && html.contains("4 agrees, 1 corrected, 1 fails"));
}

#[test]
fn text_from_files_is_escaped() {
    let html = Folder::new().html(&["cosim"]);
    assert!(html.contains("&lt;b&gt;k8 &amp; more&lt;/b&gt;") && !html.contains("<b>"));
}

#[test]
fn what_is_not_given_is_named_with_its_command() {
    let folder = Folder::new();
    let html = folder.html(&["cosim"]);
    assert_balanced(&html);
    let (_, missing) = html.split_once("<section id=\"missing\">").expect("what is missing");
    for command in
        ["membrane curves --json", "membrane repro --json", "scripts/area_table.py --json area.json"]
    {
        assert!(missing.contains(&format!("<code>{command}</code>")), "{command}");
    }
    assert!(!html.contains("<section id=\"rates\">") && html.contains("<section id=\"ports\">"));
    assert_eq!(page(&Files::default()).matches("<section").count(), 1);
}

#[test]
fn a_damaged_file_is_refused_with_file_and_field() {
    let folder = Folder::new();
    let refused = |name: &str, value: &Value| {
        folder.write(name, value);
        let output = folder.report(&[name]);
        assert_eq!(output.status.code(), Some(2));
        assert!(!folder.page().exists(), "no page of a damaged file");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(&folder.file(name).display().to_string()), "{text}");
        text
    };
    let mut value = cosim();
    value["results"][1]["cycles"] = json!("many");
    assert!(
        refused("cosim", &value).contains("results[1].cycles: invalid type: string \"many\", expected u64")
    );
    let mut value = repro();
    value["papers"][0]["sections"][0]["rows"][2]["tolerance"] = json!({"roughly": 1});
    assert!(refused("repro", &value).contains("papers[0].sections[0].rows[2].tolerance"));
    let mut value = json!(small());
    value["cores"][1]["wave"]["signals"][0].as_object_mut().expect("an object").remove("values");
    let text = refused("curves", &value);
    assert!(text.contains("cores[1].wave.signals[0]") && text.contains("missing field `values`"), "{text}");
    let mut value = area();
    value["rows"][0]["LUT4"] = json!(-1);
    assert!(refused("area", &value).contains("rows[0].LUT4"));

    fs::write(folder.file("area"), "{\"target\": \"ECP5\", \"rows\": []} more").expect("written");
    let error = membrane::report::Area::read(&folder.file("area")).expect_err("something after the end");
    assert!(error.to_string().contains("trailing characters"), "{error}");
    fs::remove_file(folder.file("area")).expect("removed");
    let text = String::from_utf8_lossy(&folder.report(&["area"]).stderr).into_owned();
    assert!(text.contains("area.json") && text.contains("No such file"), "{text}");
}

/// Whether `scripts/report_check.py` finds nothing wrong, and what it says; `None` without Chromium.
fn browse(path: &Path) -> Option<(bool, String)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/report_check.py");
    let output = Command::new("python3").arg(script).arg(path).output().expect("Python 3");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if text.contains("error: no Chromium") {
        // Not by a macro, whose output the test runner keeps to itself.
        let _ = writeln!(io::stderr(), "SKIPPED: the page was not opened in a browser: {text}");
        return None;
    }
    Some((output.status.success(), text))
}

#[test]
fn a_browser_shows_all_pictures_without_a_message() {
    let folder = Folder::new();
    let html = folder.html(&ALL);
    let Some((fine, text)) = browse(&folder.page()) else { return };
    assert!(fine, "{text}");
    assert!(text.contains(&format!("{} pictures", html.matches("<svg").count())), "{text}");

    // The check finds what it is there for.
    let broken = |from: &str, to: &str, expected: &str| {
        assert!(html.contains(from), "{from}");
        fs::write(folder.page(), html.replacen(from, to, 1)).expect("written");
        let (fine, text) = browse(&folder.page()).expect("it was there before");
        assert!(!fine && text.contains(expected), "{from}: {text}");
    };
    broken("\"use strict\";", "missing();", "console");
    broken("figure svg { display: block;", "figure svg { display: none;", "picture without content");
    broken("descending ? -before : before", "before", "not sorted");
    broken("href=\"data:,\"", "href=\"icon.png\"", "outside of the page");
    broken("max-width: 62rem;", "width: 90rem;", "stick out");
}

//! Coverage files.

mod common;

use std::path::Path;

use common::{design, temp_dir, tools};
use verilated::{Builder, Error, Init, Source};

const TEXT: &str = "module cov (input clk, input a, output reg [3:0] n);
    initial n = 0;
    always @(posedge clk)
        if (a)
            n <= n + 1;
        else
            n <= 0;
endmodule";

/// The counted points: the text that describes one, and its count.
fn counts(path: &Path) -> Vec<(String, u64)> {
    let content = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let points = content.lines().filter_map(|line| line.strip_prefix("C '"));
    points
        .map(|line| {
            let (point, count) = line.rsplit_once("' ").unwrap();
            (point.to_owned(), count.parse().unwrap())
        })
        .collect()
}

#[test]
fn lines_and_toggles_are_counted() {
    let dir = temp_dir();
    let file = dir.path().join("cov.dat");
    let library = design("cov", TEXT).coverage(true).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.run(7, &[1, 1, 1, 0, 1, 0, 1], &mut [0; 7]).unwrap();
    model.write_coverage(&file).unwrap();
    let points = counts(&file);
    assert!(
        points.iter().all(|(point, _)| point.contains("\u{1}f\u{2}cov.v\u{1}")),
        "the source by its name: {points:?}"
    );
    // The two branches of the `if`, which starts at line 4.
    let mut branches: Vec<u64> = points
        .iter()
        .filter(|(p, _)| {
            (p.contains("v_line/") || p.contains("v_branch/")) && p.contains("\u{1}l\u{2}4\u{1}")
        })
        .map(|(_, count)| *count)
        .collect();
    branches.sort_unstable();
    assert_eq!(branches, [2, 5], "{points:?}");
    // n counts 1 2 3 0 1 0 1: bit 1 goes up once and down once, bit 3 never moves.
    let toggles = |bit: &str| -> u64 {
        let hits = points.iter().filter(|(p, _)| p.contains("v_toggle/") && p.contains(bit));
        hits.map(|(_, count)| count).sum()
    };
    assert_eq!((toggles("n[1]"), toggles("n[3]")), (2, 0), "{points:?}");

    // Counts go on, and the file is replaced.
    model.run(3, &[0; 3], &mut [0; 3]).unwrap();
    model.write_coverage(&file).unwrap();
    assert!(counts(&file).iter().any(|(p, count)| p.contains("v_") && *count == 5));
}

#[test]
fn instances_count_for_themselves() {
    let dir = temp_dir();
    let [a, b] = ["a.dat", "b.dat"].map(|name| dir.path().join(name));
    let library = design("cov", TEXT).coverage(true).build(&tools()).unwrap();
    let mut busy = library.instantiate(Init::Zero).unwrap();
    let mut idle = library.instantiate(Init::Zero).unwrap();
    busy.run(100, &[1; 100], &mut [0; 100]).unwrap();
    busy.write_coverage(&a).unwrap();
    idle.write_coverage(&b).unwrap();
    assert!(counts(&a).iter().any(|(_, count)| *count == 100));
    assert!(counts(&b).iter().all(|(_, count)| *count < 100));
}

#[test]
fn cover_statements_of_the_design() {
    let dir = temp_dir();
    let file = dir.path().join("cover.dat");
    let text = "module c (input clk, input a, output y); assign y = a; seen: cover property (@(posedge clk) a); endmodule";
    let library = Builder::new("c")
        .source(Source::new("c.sv", text))
        .coverage_user(true)
        .cache_dir(common::cache_dir())
        .build(&tools())
        .unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.run(5, &[0, 1, 1, 0, 1], &mut [0; 5]).unwrap();
    model.write_coverage(&file).unwrap();
    let points = counts(&file);
    assert_eq!(points.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [3], "{points:?}");
}

#[test]
fn coverage_must_be_built_in() {
    let library = design("cov", TEXT).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    assert!(matches!(model.write_coverage(Path::new("x.dat")), Err(Error::NotBuilt("coverage"))));
    let library = design("cov", TEXT).coverage(true).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let error = model.write_coverage(Path::new("/nonexistent/folder/x.dat")).unwrap_err();
    assert!(error.to_string().contains("/nonexistent/folder"), "{error}");
}

//! `make bench-docs`: what was measured gets into the page, and nothing else of the page changes.

use std::{fs, path::Path, process::Command};

use serde_json::json;

const PAGE: &str = "Before.
<!-- times: measured -->
<!-- end -->
<!-- shares: measured -->

| old |

<!-- end -->
Between.
<!-- growth: measured -->
<!-- end -->
<!-- clocked: measured -->
<!-- end -->
After.
";

/// Runs the script in a folder as if that were the project. What it says when it refuses.
fn run(folder: &Path) -> Result<String, String> {
    let output =
        Command::new("python3").arg(folder.join("scripts/speed_docs.py")).output().expect("Python 3");
    if output.status.success() {
        Ok(fs::read_to_string(folder.join("docs/speed.md")).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn tables_are_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for inner in ["scripts", "docs", "target/bench"] {
        fs::create_dir_all(folder.join(inner)).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/speed_docs.py");
    fs::copy(script, folder.join("scripts/speed_docs.py")).unwrap();
    let put = |path: &str, text: &str| fs::write(folder.join(path), text).unwrap();
    put("docs/speed.md", PAGE);
    assert!(run(folder).unwrap_err().contains("filters.json"));

    let row = |name: &str, keys: u64, [insert, miss, hit]: [f64; 3]| {
        json!({"name": name, "keys": keys, "bits_per_key": keys as f64 / 1e5, "false_positives": 0.01, "lost": 0,
            "insert_ns": insert, "miss_ns": miss, "hit_ns": hit})
    };
    let filters = |rows: &[serde_json::Value]| {
        let run = json!({"limit": "read", "limit_in_turn": "turn", "compared": [["ours, batched", "peer"]], "measured": rows});
        put("target/bench/filters.json", &run.to_string());
    };
    let whole = [
        row("read", 100_000, [1.0, 2.0, 4.0]),
        row("turn", 100_000, [1.0, 2.0, 4.0]),
        row("ours, batched", 100_000, [2.0, 4.0, 8.5]),
        row("peer", 100_000, [5.0, 20.0, 10.0]),
        row("read", 1_000_000, [3.0, 6.0, 5.0]),
        row("turn", 1_000_000, [8.0, 24.0, 9.0]),
        row("ours, batched", 1_000_000, [12.0, 24.0, 40.0]),
        row("peer", 1_000_000, [6.0, 30.0, 80.0]),
    ];
    filters(&whole);
    assert!(run(folder).unwrap_err().contains("cosim.json"));

    let rates = json!([{"name": "core preset", "clocked_model": 60e6, "verilated": 10e6,
        "verilated_on_stimulus": 12e6, "cosim": 9e6}]);
    put("target/bench/cosim.json", &rates.to_string());
    assert!(run(folder).unwrap_err().contains("filters.svg"));
    put("target/bench/filters.svg", "<svg/>");
    let page = run(folder).unwrap();
    for line in [
        "| filter | bits per key (1e6) | false positives | 1e5: insert / miss / hit | 1e6: insert / miss / hit |",
        "| ours, batched | 10.0 | 1.00e-02 | 2.0 / 4.0 / 8.5 | 12 / 24 / 40 |",
        "| ours, batched | peer | 0.40, 2.00 | 0.20, 0.80 | 0.85, 0.50 |",
        "| ours, batched | read | 2.00, 4.00 | 2.00, 4.00 | 2.12, 8.00 |",
        "| read | 3.0 | 1.00 | 0.25 |",
        "| ours, batched | 6.0 | 2.00 | 0.50 |",
        "| core preset | 60.0 | 10.0 | 6.0 | 12.0 | 9.0 | 0.75 |",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}\n{page}");
    }
    let text = |page: &str| page.lines().filter(|line| line.ends_with('.')).collect::<String>();
    assert_eq!(text(&page), text(PAGE));
    assert!(!page.contains("old"));
    assert_eq!(run(folder).unwrap(), page, "the same again");
    assert_eq!(fs::read_to_string(folder.join("docs/speed.svg")).unwrap(), "<svg/>");

    filters(&whole[..3]);
    assert!(run(folder).unwrap_err().contains("not of a whole run"));
    filters(&whole);
    put("docs/speed.md", &PAGE.replace("growth", "growing"));
    assert!(run(folder).unwrap_err().contains("growth: measured"));
}

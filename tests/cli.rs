//! The command line as a user or a script meets it.

mod common;

use std::{
    fs,
    io::Write,
    process::{Command, Output, Stdio},
};

fn membrane(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_membrane")).args(args).output().expect("runs")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Exit code 2, nothing on standard output, and what is on standard error.
fn refused(args: &[&str]) -> String {
    let output = membrane(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn list_shows_cores_parameters_and_presets() {
    let text = stdout(&membrane(&["list"]));
    for part in [
        "partitioned",
        "membrane_partitioned",
        "BANKS",
        "1 to 64",
        "must be given",
        "k7",
        "0 independent, 1 double",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&membrane(&["list", "--json"]))).expect("JSON");
    assert_eq!(json[0]["parameters"][0]["name"], "BANKS");
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let set = |set: &'static str| refused(&["cosim", "partitioned", "--preset", "k7", "--set", set]);
    assert_eq!(set("BANKS=65"), "error: BANKS must be 1 to 64 (got 65): lower it to 64 or less\n");
    assert!(set("WIDTH=3").starts_with("error: WIDTH must be a power of two (got WIDTH=3): use 1"));
    assert!(set("BANK=5").starts_with("error: partitioned has no parameter BANK: it has BANKS, HASHES"));
    assert!(set("INDEXING=triple").contains("give independent (0) or double (1)"));
    assert!(
        refused(&["cosim", "partitioned", "--set", "BANKS=5"]).contains("ROWS is not set (rows per memory)")
    );
    assert!(refused(&["cosim", "cuckoo"]).contains("there is no core cuckoo: there is partitioned"));
    assert!(refused(&["vectors", "partitioned", "--preset", "k9", "--out", "x"]).contains("it has k7"));
    assert!(
        refused(&["emulate", "partitioned", "--preset", "k7", "--insert", "/no/such/file"])
            .contains("/no/such/file")
    );
    assert!(refused(&["verify", "/no/such/case"]).contains("/no/such/case"));
}

#[test]
fn vectors_are_written_and_verified() {
    let scratch = common::scratch();
    let case = scratch.path().join("case");
    let case = case.to_str().expect("path");
    let made = membrane(&["vectors", "partitioned", "--preset", "tiny", "--cycles", "300", "--out", case]);
    assert!(stdout(&made).contains("300 cycles of membrane_partitioned"));
    assert!(stdout(&membrane(&["verify", "--rtl", case])).contains("same by model and RTL, 300 cycles"));

    let inline =
        stdout(&membrane(&["vectors", "partitioned", "--preset", "tiny", "--cycles", "300", "--inline"]));
    let file = scratch.path().join("inline.json");
    // The outputs of another core's hash: a case that is in order, and not this core's.
    fs::write(&file, inline.replace("\"SEED\": \"0x6d", "\"SEED\": \"0x6e")).expect("written");
    let output = membrane(&["verify", file.to_str().expect("path")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("DIFFERENT by model"));
}

#[test]
fn parameters_never_tried_before_are_co_verified() {
    let scratch = common::scratch();
    let wave = scratch.path().join("wave.fst");
    let args = [
        "cosim",
        "partitioned",
        "--set",
        "BANKS=5",
        "--set",
        "ROWS=777",
        "--set",
        "KEY_W=33",
        "--set",
        "SEED=0xfeed",
        "--cycles",
        "20000",
        "--seed",
        "7",
        "--json",
        "--wave",
        wave.to_str().expect("path"),
        "--wave-cycles",
        "1500",
    ];
    let json: serde_json::Value = serde_json::from_str(&stdout(&membrane(&args))).expect("JSON");
    let result = &json["results"][0];
    assert_eq!(result["mismatches"], 0);
    assert_eq!(result["parameters"]["BANKS"], 5);
    assert!(result["requests"].as_u64().expect("count") > 1000);
    assert!(json["tools"].as_str().expect("text").starts_with("Verilator 5."));
    assert!(fs::metadata(&wave).expect("waveform").len() > 1000);
}

#[test]
fn emulate_counts_hits_and_false_positives() {
    let scratch = common::scratch();
    let members = scratch.path().join("members");
    let trace = scratch.path().join("trace");
    // Scattered keys: on a run of consecutive numbers H3, being linear, does better
    // or worse than theory by far, depending on its seed.
    let scatter = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n << 40);
    let lines =
        |range: std::ops::Range<u64>| range.map(|n| scatter(n).to_string()).collect::<Vec<_>>().join("\n");
    fs::write(&members, lines(0..3000)).expect("written");
    fs::write(&trace, lines(2000..20_000)).expect("written");
    let args = |query: &'static str| {
        [
            "emulate",
            "partitioned",
            "--preset",
            "k7",
            "--insert",
            members.to_str().expect("path"),
            "--json",
            "--query",
            query,
        ]
        .map(str::to_owned)
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_membrane"))
        .args(args("-"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    child.stdin.take().expect("pipe").write_all(&fs::read(&trace).expect("file")).expect("written");
    let json: serde_json::Value =
        serde_json::from_slice(&child.wait_with_output().expect("ends").stdout).expect("JSON");
    assert_eq!(json["inserted"], 3000);
    assert_eq!(json["queries"], 18_000);
    assert_eq!(json["absent"], 17_000);
    assert_eq!(json["false_negatives"], 0);
    let (hits, wrong) = (json["hits"].as_u64().expect("n"), json["false_positives"].as_u64().expect("n"));
    assert_eq!(hits - wrong, 1000);
    // 3000 keys in 7 parts of 4096: (1 - (1 - 1/4096)^3000)^7 = 0.99 %.
    assert!((100..250).contains(&wrong), "{wrong}");
    fs::write(&members, "0x3ff\n1024\n").expect("written");
    let text = refused(&[
        "emulate",
        "partitioned",
        "--preset",
        "k7",
        "--set",
        "KEY_W=10",
        "--insert",
        members.to_str().expect("path"),
    ]);
    assert!(text.contains("members:2: \"1024\" needs more than the 10 bits of KEY_W"), "{text}");
}

/// A trace with every key twice, clocked: the filter meets each once, and the picture is
/// written.
#[test]
fn emulate_meets_a_trace() {
    let scratch = common::scratch();
    let (trace, svg) = (scratch.path().join("trace.bin"), scratch.path().join("course.svg"));
    let keys = (0..4000u64).map(|i| membrane::hash::splitmix64(1, i / 2));
    fs::write(&trace, keys.flat_map(u64::to_le_bytes).collect::<Vec<_>>()).expect("written");
    let run = |more: &[&str]| {
        let files = ["--trace", trace.to_str().expect("path"), "--svg", svg.to_str().expect("path")];
        let core = ["emulate", "partitioned", "--preset", "k7", "--format", "binary", "--clocked"];
        stdout(&membrane(&[&core[..], &files, more].concat()))
    };
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"])).expect("JSON");
    let wrong = json["false_positives"].as_u64().expect("n");
    assert_eq!(json["queries"], 4000);
    assert_eq!(json["inserted"].as_u64().expect("n"), 2000 - wrong / 2);
    assert_eq!(json["clocked"]["stalls"], 0);
    assert!(json["windows"].as_array().expect("windows").len() > 10);
    let text = run(&[]);
    assert!(text.contains("0 with a request waiting; 7.000 memory accesses per request"), "{text}");
    assert!(text.contains('\u{2588}'), "no blocks in {text}");
    let picture = fs::read_to_string(&svg).expect("SVG");
    assert!(picture.starts_with("<svg") && picture.contains("accesses (per request)"));
    fs::write(&trace, [0; 12]).expect("written");
    let file = trace.to_str().expect("path");
    let core = ["emulate", "partitioned", "--preset", "k7"];
    let text = refused(&[&core[..], &["--format", "binary", "--trace", file]].concat());
    assert!(text.contains("trace.bin:byte 8: 4 bytes are left"), "{text}");
    let text = refused(&[&core[..], &["--format", "pcap", "--trace", file]].concat());
    assert!(text.contains("is neither pcap nor pcapng"), "{text}");
}

#[test]
fn export_writes_a_folder_and_replaces_only_its_own() {
    let scratch = common::scratch();
    let folder = scratch.path().join("case");
    let out = folder.to_str().expect("path");
    let args = ["export", "partitioned", "--preset", "tiny", "--cycles", "300", "--out", out];
    assert!(stdout(&membrane(&args)).contains("play it: make -C"));
    let files = || {
        let mut names = Vec::new();
        let mut folders = vec![folder.clone()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    names.push((path.clone(), fs::read(path).expect("read")));
                }
            }
        }
        names.sort();
        names
    };
    let first = files();
    assert!(first.len() > 15);
    // The same command gives the same bytes, and takes away what was there before.
    fs::write(folder.join("left.txt"), "").expect("written");
    stdout(&membrane(&args));
    assert_eq!(files(), first);
    assert!(stdout(&membrane(&["verify", out])).contains("same by model"));

    fs::remove_file(folder.join("case.json")).expect("removed");
    assert!(refused(&args).contains("exists and has no case.json"));
}

#[test]
fn image_answers_as_the_filter_it_was_built_from() {
    let scratch = common::scratch();
    let path = |name: &str| scratch.path().join(name).to_str().expect("path").to_owned();
    let lines = |range: std::ops::Range<u32>| range.map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    fs::write(path("members"), lines(0..20)).expect("written");
    fs::write(path("trace"), lines(10..250)).expect("written");
    let (members, trace, image, dumped) = (path("members"), path("trace"), path("image"), path("dumped"));
    let tiny = ["partitioned", "--preset", "tiny"];
    let build = |tail: &[&str]| stdout(&membrane(&[&["image", "build"], &tiny[..], tail].concat()));
    build(&["--insert", &members, "--out", &image]);
    let query = |image: &str| stdout(&membrane(&["image", "query", image, "--query", &trace, "--answers"]));
    let answers = query(&image);
    assert_eq!(answers.lines().count(), 240);
    assert!(answers.starts_with(&"1\n".repeat(10)) && answers.contains('0'));

    let emulated = [&["emulate"], &tiny[..], &["--insert", &members, "--query", &trace, "--json"]].concat();
    let json: serde_json::Value = serde_json::from_str(&stdout(&membrane(&emulated))).expect("JSON");
    assert_eq!(json["hits"], answers.matches('1').count());

    let dumps: Vec<_> = (0..3).map(|i| format!("{image}/memory{i}.hex")).collect();
    let tail: Vec<_> = dumps.iter().flat_map(|dump| ["--dump", dump]).chain(["--out", &dumped]).collect();
    build(&tail);
    assert_eq!(query(&dumped), answers);
}

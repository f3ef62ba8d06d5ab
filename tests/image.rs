//! Memory images: what software built, the RTL answers with, and back again.
#![cfg(feature = "cosim")]

mod common;

use std::{fs, path::Path, process::Command};

use membrane::{
    Core, Filter, Op, Params,
    clocked::Clocked,
    cosim::{Design, Init, Opt, Rtl},
    hash::splitmix64,
    image::{Image, ImageError},
    parity,
    pins::{FilterPins, Inputs},
    registry,
    sram::Memory,
};

fn key(seed: u64, n: u64, key_w: u32) -> Vec<u64> {
    let mut key: Vec<u64> =
        (0..u64::from(key_w.div_ceil(64))).map(|word| splitmix64(seed + word, n)).collect();
    if !key_w.is_multiple_of(64) {
        *key.last_mut().expect("a word") &= (1 << (key_w % 64)) - 1;
    }
    key
}

fn built(core: &dyn Core, params: &Params, keys: u64) -> Box<dyn Filter> {
    let mut filter = core.filter(params).expect("legal");
    let key_w = params.at("KEY_W") as u32;
    for n in 0..keys {
        filter.insert(&key(1, n, key_w));
    }
    filter
}

/// A core that started from an image, and the emulator that it must answer like.
struct Loaded {
    rtl: Rtl,
    pins: FilterPins,
    filter: Box<dyn Filter>,
    /// Its memories have parity bits.
    parity: bool,
}

impl Loaded {
    /// The image of a filter with these members, in the RTL. Whatever state the registers
    /// powered up in, the first reset leaves the image as it is.
    fn new(core: &'static dyn Core, params: &Params, members: u64) -> Self {
        let params = core.check(params).expect("legal");
        let filter = built(core, &params, members);
        let scratch = common::scratch();
        let folder = scratch.path().join("image");
        Image::of(core, &params, filter.as_ref()).expect("an image").write(&folder).expect("written");

        let model = core.clocked(&params).expect("legal");
        let pins = FilterPins::of(model.pins()).expect("the pins of a filter");
        let prefix = folder.join("memory");
        let design = Design::new(core, &params, model.pins()).with_images(prefix.to_str().expect("text"));
        let library = design.build(&common::tools(), Opt::Quick, false).expect("builds");
        let start = |seed| library.power_up(Init::Random(seed)).expect("starts");
        let mut loaded = Self { rtl: start(0), pins, filter, parity: parity::is_on(&params) };
        for seed in 1..20 {
            loaded.same_memories();
            loaded.rtl = start(seed);
        }
        loaded
    }

    fn same_memories(&mut self) {
        // The simulator lists them in an order of its own.
        let by_path = |mut memories: Vec<Memory>| {
            memories.sort_by(|a, b| a.path().cmp(b.path()));
            memories
        };
        let expected = self
            .filter
            .memories()
            .into_iter()
            .map(|m| if self.parity { parity::stored(m) } else { m.clone() });
        let expected = expected.collect();
        assert_eq!(by_path(self.rtl.memories().expect("memories")), by_path(expected));
    }

    /// Plays requests, the first of them in the first cycle, until all are answered as
    /// by the emulator. Returns how many were hits.
    fn play(&mut self, requests: u64, request: impl Fn(u64) -> (Op, Vec<u64>)) -> u64 {
        let map = self.pins.map();
        let (mut input, mut output) = (vec![0; map.input_words()], vec![0; map.output_words()]);
        let (mut sent, mut answered, mut hits) = (0, 0, 0);
        for cycle in 0.. {
            assert!(cycle < 100 * (requests + 1000), "no answers");
            let (op, key) = request(sent);
            let req_valid = sent < requests;
            let inputs = Inputs { req_valid, op, rsp_ready: true, tag: sent, ..Inputs::default() };
            self.pins.write_inputs(&inputs, &key, &mut input);
            self.rtl.clock(&input, &mut output).expect("runs");
            let seen = self.pins.read_outputs(&output);
            assert!(cycle > 0 || seen.req_ready && !seen.busy, "a sweep, in spite of the image");
            if seen.rsp_valid {
                let (op, key) = request(answered);
                let expected = self.filter.apply(op, &key);
                assert_eq!(
                    (seen.hit, seen.status),
                    (expected.hit, expected.status as u8),
                    "request {answered}: {op:?} {key:x?}"
                );
                hits += u64::from(seen.hit);
                answered += 1;
            }
            sent += u64::from(req_valid && seen.req_ready);
            if answered == requests && !seen.busy {
                break;
            }
        }
        hits
    }

    /// A reset edge while nothing is under way.
    fn reset(&mut self) {
        let map = self.pins.map();
        let (mut input, mut output) = (vec![0; map.input_words()], vec![0; map.output_words()]);
        let inputs = Inputs { rst: true, ..Inputs::default() };
        self.pins.write_inputs(&inputs, &vec![0; self.pins.key_words()], &mut input);
        self.rtl.clock(&input, &mut output).expect("runs");
    }
}

/// The RTL with an image takes requests from the first cycle on and answers as the
/// emulator does: queries, inserts, after a reset, and after CLEAR.
fn rtl_answers_as_the_emulator(core: &'static dyn Core, params: &Params, members: u64, queries: u64) {
    let key_w = params.at("KEY_W") as u32;
    let mut loaded = Loaded::new(core, params, members);
    let member_or_not = |n: u64| key(1 + n % 2 * 1000, n / 2, key_w);
    let hits = loaded.play(queries, |n| (Op::Query, member_or_not(n)));
    // Half of the queries are members while there are any; not everything may be a hit.
    assert!(hits >= members.min(queries / 2) && hits < queries, "{hits} hits");
    loaded.same_memories();

    let some = members / 4;
    loaded.play(2 * some, |n| (if n % 2 == 0 { Op::Insert } else { Op::Query }, key(5000, n / 2, key_w)));
    assert_eq!(loaded.filter.level(), 0, "a reset would empty the list");
    loaded.same_memories();
    loaded.reset();
    let hits = loaded.play(some, |n| (Op::Query, key(5000, n, key_w)));
    assert_eq!(hits, some, "a reset lost keys");
    loaded.same_memories();

    loaded.play(1, |_| (Op::Clear, key(1, 0, key_w)));
    assert_eq!(loaded.play(members, |n| (Op::Query, key(1, n, key_w))), 0);
    loaded.same_memories();
}

fn preset(core: &str, preset: &str) -> (&'static dyn Core, Params) {
    let core = registry::find(core).expect("a core");
    let preset = core.presets().iter().find(|candidate| candidate.name == preset).expect("a preset");
    (core, core.check(&preset.params()).expect("legal"))
}

/// Every core with its first preset.
fn cores() -> impl Iterator<Item = (&'static dyn Core, Params)> {
    registry::CORES.iter().map(|core| preset(core.name(), core.presets()[0].name))
}

#[test]
fn rtl_with_an_image_answers_100_000_queries_as_the_emulator() {
    for (core, params) in cores() {
        rtl_answers_as_the_emulator(core, &params, 1000, 100_000);
    }
}

/// Memories of several sizes with counts; slot counts; masked memories; parity bits.
#[test]
fn images_of_other_shapes() {
    for (core, name, members) in [
        ("balanced", "multilevel-2", 500),
        ("tinyset", "tiny-list", 20),
        ("blocked", "masked-g2", 300),
        ("blocked", "parity64", 150),
    ] {
        let (core, params) = preset(core, name);
        rtl_answers_as_the_emulator(core, &params, members, 2000);
    }
}

/// The module in the image's folder, without Rust: Icarus loads the memories without a
/// word, and Yosys has their content.
#[test]
fn the_loaded_module_in_other_tools() {
    for core in registry::CORES {
        let (core, params) = preset(core.name(), "tiny");
        let filter = built(core, &params, 1);
        let scratch = common::scratch();
        let folder = scratch.path().join("image");
        Image::of(core, &params, filter.as_ref()).expect("an image").write(&folder).expect("written");
        for file in core.rtl() {
            fs::write(folder.join(file.name), file.text).expect("written");
        }
        let mut files: Vec<_> = core.rtl().iter().map(|file| file.name.to_owned()).collect();
        let top = format!("{}_loaded", core.module());
        files.push(format!("{top}.v"));
        let silent = |command: &mut Command| {
            let output = command.current_dir(&folder).output().expect("runs");
            let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{top}: {command:?}\n{said}");
        };
        silent(common::tool("iverilog").args(["-g2005", "-Wall", "-s", &top, "-o", "sim"]).args(&files));
        silent(common::tool("vvp").args(["-n", "sim"]));
        let script = format!(
            "read_verilog -defer {}; hierarchy -check -top {top}; proc; check -assert; \
             select -assert-count {} */t:$meminit*",
            files.join(" "),
            filter.memories().len()
        );
        silent(common::tool("yosys").args(["-q", "-p", &script]));
    }
}

/// Numbers of two digits, and rows of more than one bit.
#[test]
fn images_of_twelve_banks() {
    let params = Params::new().with("BANKS", 12).with("ROWS", 64).with("WIDTH", 8).with("KEY_W", 70);
    let core = registry::find("partitioned").expect("a core");
    rtl_answers_as_the_emulator(core, &params, 150, 2000);
}

#[test]
fn round_trips_are_exact() {
    for (core, params) in cores().chain([
        preset("balanced", "multilevel-2"),
        preset("tinyset", "32b-removals"),
        preset("blocked", "parity64"),
    ]) {
        let filter = built(core, &params, 500);
        let image = Image::of(core, &params, filter.as_ref()).expect("an image");
        let scratch = common::scratch();
        let folder = scratch.path().join("image");
        image.write(&folder).expect("written");
        assert_eq!(Image::read(&folder).expect("read"), image);
        let back = image.filter().expect("a filter");
        assert_eq!(back.memories(), filter.memories());
        assert!((0..500).all(|n| back.contains(&key(1, n, params.at("KEY_W") as u32))));

        // What $writememh makes of the same rows.
        let dumps: Vec<_> = (0..image.memories().len())
            .map(|i| {
                let path = folder.join(format!("memory{i}.hex"));
                let text = fs::read_to_string(&path).expect("read");
                let dump = scratch.path().join(format!("dump{i}"));
                fs::write(&dump, format!("// 0x00000000\n{text}")).expect("written");
                dump
            })
            .collect();
        assert_eq!(Image::from_dumps(core, &params, &dumps, Some(0)).expect("read"), image);
        let error = Image::from_dumps(core, &params, &dumps[1..], Some(0)).expect_err("one is missing");
        assert!(matches!(error, ImageError::Shape { .. }), "{error}");
        let error = Image::from_dumps(core, &params, &dumps, Some(3)).expect_err("keys are missing");
        assert!(matches!(error, ImageError::Overflow { level: 3 }), "{error}");
        let listed = params.get("CAM_DEPTH").is_some_and(|depth| depth > 0);
        match Image::from_dumps(core, &params, &dumps, None) {
            Ok(read) => assert!(!listed && read == image),
            Err(error) => assert!(listed && matches!(error, ImageError::Level { .. }), "{error}"),
        }
    }
}

/// A key in the overflow list is in no memory: an image without it would deny it.
#[test]
fn filters_with_listed_keys_have_no_image() {
    for (core, params) in [preset("balanced", "tiny"), preset("tinyset", "tiny-list")] {
        let mut filter = core.filter(&params).expect("legal");
        let key_w = params.at("KEY_W") as u32;
        let listed = (0..1000).find(|n| {
            filter.insert(&key(1, *n, key_w));
            filter.level() > 0
        });
        let error = Image::of(core, &params, filter.as_ref()).expect_err("a key would be lost").to_string();
        assert!(
            error.starts_with("1 keys are in the overflow list") && error.contains("raise ROWS"),
            "{error}"
        );

        // The memories alone do not know it: the list is what answers.
        filter.clear();
        let listed = listed.expect("a key");
        for n in 0..listed {
            filter.insert(&key(1, n, key_w));
        }
        let image = Image::of(core, &params, filter.as_ref()).expect("all keys are in blocks");
        assert!((0..listed).all(|n| image.filter().expect("legal").contains(&key(1, n, key_w))));
    }
}

/// Rows that no sequence of requests makes: other methods rely on there being none.
#[test]
fn impossible_counts_are_refused() {
    // Two bits hold no count above H + 1 = 3, three bits above H + 1 = 4 they do.
    let (core, params) = preset("balanced", "tiny");
    let balanced = (core, params.with("H", 3));
    let (implicit, counted) = (preset("tinyset", "tiny"), preset("tinyset", "tiny-list"));
    let parity = preset("blocked", "parity64");
    for ((core, params), row, reason) in [
        (&balanced, "14000", "a count of 5, 4 is the most"),
        (&implicit, "00000003", "2 chains, but 0 last bits"),
        (&counted, "e0000000", "a count of 7 slots, 0 to 6 expected"),
        (&counted, "20000201", "a count of 1 slots, 2 to 6 expected"),
        (&parity, "10000000000000000", "its parity is wrong"),
    ] {
        let scratch = common::scratch();
        let dump = scratch.path().join("dump");
        let rows = core.filter(params).expect("legal").memories()[0].rows();
        fs::write(&dump, format!("@0 {}\n@2 {row}\n@3 {}", "0 0", "0 ".repeat(rows - 3))).expect("written");
        let error = Image::from_dumps(*core, params, &[dump], Some(0)).expect_err("impossible").to_string();
        assert!(error.contains("row 2: ") && error.ends_with(reason), "{error}");
    }
}

#[test]
fn damaged_images_are_refused_with_the_reason() {
    let (core, params) = cores().next().expect("a core");
    let filter = built(core, &params, 50);
    let image = Image::of(core, &params, filter.as_ref()).expect("an image");
    let refusal = |damage: &dyn Fn(&Path)| {
        let scratch = common::scratch();
        let folder = scratch.path().join("image");
        image.write(&folder).expect("written");
        damage(&folder);
        Image::read(&folder).expect_err("damaged").to_string()
    };
    let edit = |folder: &Path, file: &str, change: &dyn Fn(String) -> String| {
        let path = folder.join(file);
        fs::write(&path, change(fs::read_to_string(&path).expect("read"))).expect("written");
    };
    let cut = refusal(&|f| edit(f, "memory0.hex", &|text| text[..text.len() - 2].to_owned()));
    assert!(cut.contains("memory0.hex") && cut.contains("the file was cut or edited"), "{cut}");
    let first = |text: String| {
        if text.starts_with('0') { text.replacen('0', "1", 1) } else { text.replacen('1', "0", 1) }
    };
    let edited = refusal(&|f| edit(f, "memory1.hex", &first));
    assert!(edited.contains("memory1.hex: SHA-256 is"), "{edited}");
    let wide = refusal(&|f| edit(f, "memory0.hex", &|text| format!("0{text}")));
    assert!(wide.contains("memory0.hex:1: the line has"), "{wide}");
    let newer =
        refusal(&|f| edit(f, "image.json", &|text| text.replacen("\"version\": 1", "\"version\": 2", 1)));
    assert!(newer.contains("format version 2"), "{newer}");
    let other = refusal(&|f| edit(f, "image.json", &|text| text.replacen("\"width\": 1", "\"width\": 2", 1)));
    assert!(other.contains("with these parameters has"), "{other}");
    let scratch = common::scratch();
    image.write(&scratch.path().join("image")).expect("written");
    let check = || {
        let mut command = Command::new("sha256sum");
        command.args(["-c", "SHA256SUMS"]).current_dir(scratch.path().join("image")).output().expect("runs")
    };
    assert!(check().status.success());
    edit(&scratch.path().join("image"), "memory0.hex", &first);
    assert!(!check().status.success());
    let gone = refusal(&|f| fs::remove_file(f.join("memory0.hex")).expect("removed"));
    assert!(gone.contains("memory0.hex"), "{gone}");
}

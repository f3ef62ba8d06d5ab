//! Memory images: what software built, the RTL answers with, and back again.
#![cfg(feature = "cosim")]

mod common;

use std::{fs, path::Path};

use membrane::{
    Core, Filter, Op, Params,
    clocked::Clocked,
    cosim::{Design, Init, Opt},
    hash::splitmix64,
    image::{Image, ImageError},
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

/// The RTL with an image takes requests from the first cycle on, answers every query
/// as the emulator does, and holds the same bits in the end.
fn rtl_answers_as_the_emulator(core: &'static dyn Core, params: &Params, members: u64, queries: u64) {
    let params = core.check(params).expect("legal");
    let mut filter = built(core, &params, members);
    let scratch = common::scratch();
    let folder = scratch.path().join("image");
    Image::of(core, &params, filter.as_mut()).expect("an image").write(core, &folder).expect("written");

    let model = core.clocked(&params).expect("legal");
    let pins = FilterPins::of(model.pins()).expect("the pins of a filter");
    let prefix = folder.join("memory");
    let design = Design::new(core, &params, model.pins()).with_images(prefix.to_str().expect("text"));
    let library = design.build(&common::tools(), Opt::Quick, false).expect("builds");
    let mut rtl = library.power_up(Init::Random(3)).expect("starts");

    let (mut input, mut output) = (vec![0; pins.map().input_words()], vec![0; pins.map().output_words()]);
    let key_of = |n: u64| key(1 + n % 2 * 1000, n / 2, pins.key_w());
    let (mut sent, mut answered, mut hits) = (0, 0, 0);
    let mut cycle = 0;
    while answered < queries {
        let inputs = Inputs {
            req_valid: sent < queries,
            op: Op::Query,
            rsp_ready: true,
            tag: sent,
            ..Inputs::default()
        };
        pins.write_inputs(&inputs, &key_of(sent), &mut input);
        rtl.clock(&input, &mut output).expect("runs");
        let seen = pins.read_outputs(&output);
        if cycle == 0 {
            assert!(seen.req_ready && !seen.busy, "a sweep, in spite of the image");
        }
        if seen.rsp_valid {
            let key = key_of(answered);
            assert_eq!(seen.hit, filter.contains(&key), "query {answered}, key {key:x?}");
            hits += u64::from(seen.hit);
            answered += 1;
        }
        sent += u64::from(inputs.req_valid && seen.req_ready);
        cycle += 1;
        assert!(cycle < 1000 * queries, "no answers");
    }
    // Half of the queries are members while there are any; not everything may be a hit.
    assert!(hits >= members.min(queries / 2) && hits < queries, "{hits} hits");
    // The simulator lists them in an order of its own.
    let by_path = |mut memories: Vec<Memory>| {
        memories.sort_by(|a, b| a.path().cmp(b.path()));
        memories
    };
    let expected = filter.memories().into_iter().cloned().collect();
    assert_eq!(by_path(rtl.memories().expect("memories")), by_path(expected));
}

/// Cores that can start from an image.
fn cores() -> impl Iterator<Item = (&'static dyn Core, Params)> {
    registry::CORES.iter().filter_map(|core| {
        let params = core.check(&core.presets()[0].params()).expect("legal");
        core.filter(&params).expect("legal").memories_mut().is_some().then_some((*core, params))
    })
}

#[test]
fn rtl_with_an_image_answers_100_000_queries_as_the_emulator() {
    assert!(cores().count() > 0);
    for (core, params) in cores() {
        rtl_answers_as_the_emulator(core, &params, 1000, 100_000);
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
    for (core, params) in cores() {
        let mut filter = built(core, &params, 500);
        let image = Image::of(core, &params, filter.as_mut()).expect("an image");
        let scratch = common::scratch();
        let folder = scratch.path().join("image");
        image.write(core, &folder).expect("written");
        assert_eq!(Image::read(&folder).expect("read"), image);
        let (_, back) = image.filter().expect("a filter");
        assert_eq!(back.memories(), filter.memories());

        // What $writememh makes of the same rows.
        let dumps: Vec<_> = (0..image.memories.len())
            .map(|i| {
                let path = folder.join(format!("memory{i}.hex"));
                let text = fs::read_to_string(&path).expect("read");
                let dump = scratch.path().join(format!("dump{i}"));
                fs::write(&dump, format!("// 0x00000000\n{text}")).expect("written");
                dump
            })
            .collect();
        assert_eq!(Image::from_dumps(core, &params, &dumps).expect("read"), image);
        let error = Image::from_dumps(core, &params, &dumps[1..]).expect_err("one is missing");
        assert!(matches!(error, ImageError::Shape { .. }), "{error}");
    }
}

#[test]
fn damaged_images_are_refused_with_the_reason() {
    let (core, params) = cores().next().expect("a core");
    let mut filter = built(core, &params, 50);
    let image = Image::of(core, &params, filter.as_mut()).expect("an image");
    let refusal = |damage: &dyn Fn(&Path)| {
        let scratch = common::scratch();
        let folder = scratch.path().join("image");
        image.write(core, &folder).expect("written");
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
    let gone = refusal(&|f| fs::remove_file(f.join("memory0.hex")).expect("removed"));
    assert!(gone.contains("memory0.hex"), "{gone}");
}

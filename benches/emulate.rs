//! Emulation of keys from a file beside the functional model on keys in memory: what reading,
//! counting and telling false positives cost.
//!
//!     cargo bench --bench emulate -- [KEYS]

use std::{error::Error, fs::File, io::Write, time::Instant};

use membrane::{
    Core, Params,
    emulate::Emulation,
    filter::Answer,
    hash::splitmix64,
    keys::{KeyFormat, KeyReader},
    registry,
};

/// Inserts and queries, batched, of keys that are in memory: millions per second.
fn bare(core: &dyn Core, params: &Params, members: &[u64], others: &[u64]) -> f64 {
    let mut filter = core.filter(params).expect("legal");
    let mut answers = vec![Answer::default(); 4096];
    let mut hits = vec![false; 4096];
    let start = Instant::now();
    for keys in members.chunks(4096) {
        filter.insert_all(keys, &mut answers[..keys.len()]);
    }
    for keys in others.chunks(4096) {
        filter.contains_all(keys, &mut hits[..keys.len()]);
    }
    speed(members, others, start)
}

/// The same from files, with the false positives counted.
fn emulated(core: &dyn Core, params: &Params, files: [(&File, &[u64]); 2], format: KeyFormat) -> f64 {
    let mut emulation = Emulation::new(core, params, false).expect("legal");
    let [(members, inserted), (others, queried)] = files;
    let start = Instant::now();
    let mut reader = KeyReader::new(members, "members", format, 64);
    let read = reader.for_each_batch(|keys| Ok::<_, Box<dyn Error>>(emulation.insert(keys)?));
    read.expect("keys");
    let mut reader = KeyReader::new(others, "others", format, 64);
    let read = reader.for_each_batch(|keys| Ok::<_, Box<dyn Error>>(emulation.query(keys)?));
    read.expect("keys");
    let speed = speed(inserted, queried, start);
    let total = emulation.windows().total();
    assert_eq!((total.inserts, total.absent), (inserted.len() as u64, queried.len() as u64));
    speed
}

fn speed(members: &[u64], others: &[u64], start: Instant) -> f64 {
    (members.len() + others.len()) as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn file(keys: &[u64], format: KeyFormat) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let bytes: Vec<u8> = match format {
        KeyFormat::Binary => keys.iter().flat_map(|key| key.to_le_bytes()).collect(),
        _ => keys.iter().flat_map(|key| format!("{key}\n").into_bytes()).collect(),
    };
    file.write_all(&bytes).expect("written");
    file
}

fn main() {
    let number = std::env::args().skip(1).find_map(|arg| arg.parse::<f64>().ok());
    let n = number.unwrap_or(1e7) as u64;
    let members: Vec<u64> = (0..n).map(|i| splitmix64(1, i)).collect();
    let others: Vec<u64> = (0..n).map(|i| splitmix64(2, i)).collect();
    let formats = [KeyFormat::Binary, KeyFormat::Decimal];
    let files = formats.map(|format| [file(&members, format), file(&others, format)]);
    println!("{n} inserts and {n} queries, millions per second, best of 3\n");
    println!(
        "{:12} {:>8} {:>12} {:>8} {:>12} {:>8}",
        "core", "bare", "binary file", "share", "text file", "share"
    );
    for core in registry::CORES {
        // As many bits as 12 per key.
        let (name, of) = match core.name() {
            "partitioned" => ("k7", ("ROWS", n * 12 / 7)),
            "blocked" => ("block512", ("ROWS", n * 12 / 512)),
            "balanced" => ("single-512", ("ROWS", n * 12 / 512)),
            _ => (core.presets()[0].name, ("BLOCKS", n * 12 / 512)),
        };
        let preset = core.presets().iter().find(|preset| preset.name == name).expect("a preset");
        let params = preset.params().with(of.0, of.1).with("KEY_W", 64);
        let params = core.check(&params).expect("legal");
        let best = |run: &dyn Fn() -> f64| (0..3).map(|_| run()).fold(0.0, f64::max);
        let bare = best(&|| bare(*core, &params, &members, &others));
        print!("{:12} {bare:>8.1}", core.name());
        for (format, [inserted, queried]) in formats.into_iter().zip(&files) {
            let open = |file: &tempfile::NamedTempFile| file.reopen().expect("opens");
            let emulated = best(&|| {
                let (inserted, queried) = (open(inserted), open(queried));
                emulated(*core, &params, [(&inserted, &members), (&queried, &others)], format)
            });
            print!(" {emulated:>12.1} {:>7.2}x", emulated / bare);
        }
        println!();
    }
}

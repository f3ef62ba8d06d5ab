//! Nanoseconds per insert and query of the functional models beside filters that people use
//! today, and beside the limit, one random read of 64 bytes per key.
//!
//! All get the same keys, and are measured in turn in every round. Time is taken for every slice
//! of the keys, the median over the rounds for each slice, and the mean over the slices: what
//! else the machine does in some rounds does not count. Up to fifteen times as many rounds are made where keys
//! are few. Needs no Verilator.
//!
//!     cargo bench --bench filters -- [--keys 1e5,1e6,1e7,1e8] [--rounds 3] [--only NAME]...
//!         [--json FILE] [--svg FILE] [--level 0]
//!
//! `--level` holds our filters to less than the processor has: 0 is what every one has, 1 AVX2 and BMI, 2 AVX-512, 3 that
//! and GFNI.

mod peers;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    time::Instant,
};

use membrane::{
    cpu::Cpu,
    hash::splitmix64,
    plot::{Axis, Chart, Mark, Series},
    whole,
};
use peers::{ALL, LEVEL, LIMITS, Make};

/// Queries of a kind in a round, at most.
const QUERIES: usize = 2_000_000;

/// Times the rounds asked for, at most, where keys are few: a minute then, since what else a machine does may take half of one.
const MORE: usize = 15;

struct Options {
    keys: Vec<usize>,
    rounds: usize,
    /// Parts of names; all filters where there are none.
    only: Vec<String>,
    json: Option<String>,
    svg: Option<String>,
}

impl Options {
    fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let keys = vec![100_000, 1_000_000, 10_000_000, 100_000_000];
        let mut options = Self { keys, rounds: 3, only: Vec::new(), json: None, svg: None };
        // Cargo says `--bench` to every benchmark.
        let mut args = args.filter(|arg| arg != "--bench");
        while let Some(flag) = args.next() {
            let value = args.next().ok_or(format!("{flag} needs a value"))?;
            let number = |text: &str| match text.parse::<f64>() {
                Ok(n) if n >= 1.0 => Ok(n as usize),
                _ => Err(format!("{flag} {text}: give a number such as 5 or 1e6")),
            };
            match flag.as_str() {
                "--keys" => options.keys = value.split(',').map(number).collect::<Result<_, _>>()?,
                "--rounds" => options.rounds = number(&value)?,
                "--only" => options.only.push(value),
                "--json" => options.json = Some(value),
                "--svg" => options.svg = Some(value),
                "--level" => {
                    let level = value.parse().ok().and_then(|n: usize| Cpu::levels().get(n).copied());
                    let level = level.ok_or(format!("{flag} {value}: this processor does not have it"))?;
                    LEVEL.get_or_init(|| level);
                }
                _ => {
                    return Err(format!(
                        "no option {flag}: there is --keys, --rounds, --only, --json, --svg, --level"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Operations that are timed together.
const SLICE: usize = 1 << 13;

/// Nanoseconds per operation.
struct Times {
    insert: f64,
    miss: f64,
    hit: f64,
}

/// Nanoseconds of every slice, one list per round.
#[derive(Default)]
struct Slices(Vec<Vec<f64>>);

impl Slices {
    fn new_round(&mut self) {
        self.0.push(Vec::new());
    }

    /// Times one slice of this round.
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9;
        self.0.last_mut().expect("a round").push(nanoseconds);
        result
    }

    /// The median over the rounds of each slice, added up, per operation.
    fn median(&self, operations: usize) -> f64 {
        let slices = 0..self.0[0].len();
        let median = |slice: usize| {
            let mut times: Vec<f64> = self.0.iter().map(|round| round[slice]).collect();
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        slices.map(median).sum::<f64>() / operations as f64
    }
}

/// What was measured of one filter.
struct Measured {
    name: &'static str,
    make: Make,
    times: Times,
    bits_per_key: f64,
    /// Share of keys that are not there and hit.
    false_positives: f64,
    /// Keys that are there and do not hit.
    lost: usize,
    insert: Slices,
    miss: Slices,
    hit: Slices,
}

impl Measured {
    fn new(name: &'static str, make: Make) -> Self {
        let (insert, miss, hit) = Default::default();
        let times = Times { insert: 0.0, miss: 0.0, hit: 0.0 };
        Self { name, make, times, bits_per_key: 0.0, false_positives: 0.0, lost: 0, insert, miss, hit }
    }

    fn round(&mut self, keys: &[u64], others: &[u64]) {
        let mut filter = (self.make)(keys.len());
        let present = &keys[..others.len()];
        for slices in [&mut self.insert, &mut self.miss, &mut self.hit] {
            slices.new_round();
        }
        let slice = if filter.is_static() { keys.len() } else { SLICE };
        for keys in keys.chunks(slice) {
            self.insert.time(|| filter.insert(keys));
        }
        let count = |slices: &mut Slices, keys: &[u64]| -> usize {
            keys.chunks(SLICE).map(|keys| slices.time(|| filter.count(keys))).sum()
        };
        let false_positives = count(&mut self.miss, others);
        let hits = count(&mut self.hit, present);
        self.lost = if filter.answers() { present.len() - hits } else { 0 };
        self.bits_per_key = filter.bits() as f64 / keys.len() as f64;
        self.false_positives = false_positives as f64 / others.len() as f64;
        self.times = Times {
            insert: self.insert.median(keys.len()),
            miss: self.miss.median(others.len()),
            hit: self.hit.median(present.len()),
        };
    }
}

fn measure(n: usize, options: &Options) -> Vec<Measured> {
    let keys: Vec<u64> = (0..n as u64).map(|i| splitmix64(1, i)).collect();
    let others: Vec<u64> = (0..n.min(QUERIES) as u64).map(|i| splitmix64(2, i)).collect();
    let named = |name: &str| options.only.is_empty() || options.only.iter().any(|part| name.contains(part));
    let chosen = ALL.iter().filter(|(name, _)| LIMITS.contains(name) || named(name));
    let mut all: Vec<_> = chosen.map(|(name, make)| Measured::new(name, *make)).collect();
    // Small filters take no time, and their times differ most.
    let rounds = options.rounds * (30_000_000 / n).clamp(1, MORE);
    for round in 1..=rounds {
        for measured in &mut all {
            if std::io::stderr().is_terminal() {
                eprint!("\r{n} keys, round {round} of {rounds}: {:30}", measured.name);
                let _ = std::io::stderr().flush();
            }
            measured.round(&keys, &others);
        }
    }
    all
}

fn print(n: usize, all: &[Measured]) {
    let rounds = all[0].miss.0.len();
    println!("\n{n} keys, medians of {rounds} rounds: ns per operation, and as a multiple of the limit\n");
    println!(
        "{:28} {:>8} {:>9} {:>7} {:>7} {:>7} {:>9} {:>7} {:>7}",
        "filter", "bits/key", "false +", "insert", "miss", "hit", "insert x", "miss x", "hit x"
    );
    let limit = &all[0].times;
    for measured in all {
        let t = &measured.times;
        let lost = if measured.lost > 0 { format!("  lost {}", measured.lost) } else { String::new() };
        println!(
            "{:28} {:>8.2} {:>9.2e} {:>7.2} {:>7.2} {:>7.2} {:>9.2} {:>7.2} {:>7.2}{lost}",
            measured.name,
            measured.bits_per_key,
            measured.false_positives,
            t.insert,
            t.miss,
            t.hit,
            t.insert / limit.insert,
            t.miss / limit.miss,
            t.hit / limit.hit
        );
    }
}

/// Ours, and a peer that answers the same question.
const COMPARED: [(&str, &str); 11] = [
    ("blocked 256 in parts, batched", "sbbf-rs-safe"),
    ("blocked 512 in parts, batched", "sbbf-rs-safe"),
    ("blocked 256, batched", "sbbf-rs-safe"),
    ("blocked 512, batched", "sbbf-rs-safe"),
    ("blocked 256 in parts", "sbbf-rs-safe"),
    ("blocked 512 in parts", "sbbf-rs-safe"),
    ("blocked 256", "sbbf-rs-safe"),
    ("blocked 512", "sbbf-rs-safe"),
    ("partitioned k7, batched", "fastbloom, 1 %"),
    ("tinyset 64b, 0.1 %, batched", "fastbloom, 0.1 %"),
    ("tinyset 64b, 0.1 %, batched", "qfilter, 0.1 %"),
];

fn print_ratios(all: &[Measured]) {
    println!("\n{:28} {:28} {:>9} {:>9} {:>9}", "our time as a share of", "", "insert", "miss", "hit");
    let named = |name: &str| all.iter().find(|measured| measured.name == name);
    for (ours, peer) in COMPARED {
        if let (Some(a), Some(b)) = (named(ours), named(peer)) {
            let (a, b) = (&a.times, &b.times);
            let (insert, miss, hit) = (a.insert / b.insert, a.miss / b.miss, a.hit / b.hit);
            println!("{ours:28} {peer:28} {insert:>9.2} {miss:>9.2} {hit:>9.2}");
        }
    }
}

/// How much longer a query takes with the most keys than with the fewest.
fn print_growth(misses: &[(usize, &'static str, f64)], fewest: usize, most: usize) {
    let time =
        |keys: usize, name: &str| misses.iter().find(|row| (row.0, row.1) == (keys, name)).map(|row| row.2);
    let growth = |name: &str| Some(time(most, name)? / time(fewest, name)?);
    let [limit, in_turn] = LIMITS.map(growth);
    println!(
        "\nmiss with {most} keys / with {fewest} keys, as a multiple of the limit's, and of a read's in turn\n"
    );
    for (_, name, _) in misses.iter().filter(|row| row.0 == fewest) {
        if let (Some(own), Some(limit), Some(in_turn)) = (growth(name), limit, in_turn) {
            println!("{name:28} {own:>8.2} {:>8.2} {:>8.2}", own / limit, own / in_turn);
        }
    }
}

fn as_json(n: usize, all: &[Measured]) -> Vec<serde_json::Value> {
    let row = |measured: &Measured| {
        let t = &measured.times;
        serde_json::json!({
            "keys": n, "name": measured.name, "bits_per_key": measured.bits_per_key,
            "false_positives": measured.false_positives, "lost": measured.lost,
            "insert_ns": t.insert, "miss_ns": t.miss, "hit_ns": t.hit,
        })
    };
    all.iter().map(row).collect()
}

/// Filters of the chart: more lines than that nobody can tell apart.
const CHARTED: [&str; 6] = [
    "64-byte random read",
    "blocked 256 in parts, batched",
    "tinyset 64b, 0.1 %, batched",
    "sbbf-rs-safe",
    "fastbloom, 0.1 %",
    "qfilter, 0.1 %",
];

/// Time of a query for a key that is not there, by number of keys.
fn chart(rows: &[(usize, &'static str, f64)]) -> String {
    let series = CHARTED.map(|name| Series {
        name: name.into(),
        points: rows.iter().filter(|row| row.1 == name).map(|row| (row.0 as f64, row.2)).collect(),
        mark: Mark::Both,
    });
    let chart = Chart {
        title: "Nanoseconds per query of an absent key".into(),
        x: Axis::logarithmic("keys in the filter"),
        y: Axis::logarithmic("ns"),
        series: series.into(),
    };
    chart.svg()
}

fn write(path: &str, text: &str) -> Result<(), String> {
    whole::write_file(path.as_ref(), text.as_bytes()).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    let (mut rows, mut misses) = (Vec::new(), Vec::new());
    for n in &options.keys {
        let all = measure(*n, &options);
        print(*n, &all);
        print_ratios(&all);
        rows.extend(as_json(*n, &all));
        misses.extend(all.iter().map(|measured| (*n, measured.name, measured.times.miss)));
    }
    if let (Some(fewest), Some(most)) = (options.keys.iter().min(), options.keys.iter().max())
        && fewest < most
    {
        print_growth(&misses, *fewest, *most);
    }
    let json = || {
        let all = serde_json::json!({"limit": LIMITS[0], "limit_in_turn": LIMITS[1], "compared": COMPARED, "measured": rows});
        serde_json::to_string_pretty(&all).expect("JSON") + "\n"
    };
    let written = options.json.map_or(Ok(()), |path| write(&path, &json()));
    let drawn = options.svg.map_or(Ok(()), |path| write(&path, &chart(&misses)));
    for result in [written, drawn] {
        if let Err(message) = result {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

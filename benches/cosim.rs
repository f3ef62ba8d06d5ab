//! Cycles per second of clocked model, bare Verilated core and co-simulation, in
//! one run: several rounds, interleaved, medians and their ratios.
//!
//! Model and core play requests in every cycle, where they have most to do. Co-simulation plays its own stimulus,
//! which has gaps, stalls and sweeps; beside it stands the core alone on the same cycles.
//! `--json FILE` for machines, `--quick` for a look; other words pick the cores and presets whose
//! names have one of them.

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use membrane::{
    Clocked, Core, Params,
    cosim::{Init, Job, Opt, find_tools, lockstep},
    filter::Op,
    hash::SplitMix64,
    pins::{FilterPins, Inputs},
    registry,
    stimulus::{self, Stimulus},
    vectors::Case,
    whole,
};

struct Rates {
    name: String,
    model: f64,
    bare: f64,
    /// On the stimulus of co-simulation.
    alone: f64,
    cosim: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Rows that offer a random request in every cycle, half queries, half inserts.
fn saturating(pins: &FilterPins, cycles: usize) -> Vec<u64> {
    let mut rng = SplitMix64::new(1);
    let words = pins.map().input_words();
    let mut rows = vec![0; cycles * words];
    for row in rows.chunks_exact_mut(words) {
        let mut key: Vec<u64> = (0..pins.key_words()).map(|_| rng.next_u64()).collect();
        *key.last_mut().expect("a word") &= pins.key_top();
        let op = if rng.chance(500) { Op::Query } else { Op::Insert };
        let inputs = Inputs { req_valid: true, rsp_ready: true, op, tag: rng.next_u64(), rst: false };
        pins.write_inputs(&inputs, &key, row);
    }
    rows
}

/// Cycles per second of a device on rows that stay in the cache: the median over as many
/// passes as fit into `time`, so that what else the machine does counts little.
fn speed(device: &mut dyn Clocked, rows: &[u64], time: Duration) -> f64 {
    let chunk = rows.len() / device.pins().input_words();
    let mut outputs = vec![0; chunk * device.pins().output_words()];
    let mut passes = Vec::new();
    let start = Instant::now();
    while start.elapsed() < time || passes.len() < 5 {
        let pass = Instant::now();
        device.run(rows, &mut outputs).expect("runs");
        passes.push(chunk as f64 / pass.elapsed().as_secs_f64());
    }
    median(passes)
}

/// Seconds for each part of a recorded case, which is played once.
fn times(device: &mut dyn Clocked, case: &Case) -> Vec<f64> {
    let (input, output) = (case.pins.input_words(), case.pins.output_words());
    let mut outputs = vec![0; PART * output];
    let mut time = |(rows, expected): (&[u64], &[u64])| {
        let outputs = &mut outputs[..expected.len()];
        let part = Instant::now();
        device.run(rows, outputs).expect("runs");
        let time = part.elapsed().as_secs_f64();
        assert_eq!(outputs, expected, "not the cycles that were recorded");
        time
    };
    case.stimulus.chunks(PART * input).zip(case.expected.chunks(PART * output)).map(&mut time).collect()
}

/// Cycles of a part.
const PART: usize = 1024;

/// Of rounds that play the same cycles: of each part the median, and the sum of those.
fn total(rounds: &[Vec<f64>]) -> f64 {
    (0..rounds[0].len()).map(|i| median(rounds.iter().map(|times| times[i]).collect())).sum()
}

fn measure(core: &'static dyn Core, name: &str, params: &Params, rounds: usize, time: Duration) -> Rates {
    let job = Job::new(core, params, 1, 0).expect("legal parameters");
    let tools = find_tools().expect("tools: run `make setup`");
    let library = job.design().expect("legal").build(&tools, Opt::Fast, false).expect("builds");
    let pins = FilterPins::of(job.core.clocked(&job.params).expect("legal").pins()).expect("filter pins");
    let rows = saturating(&pins, 2048);
    let (mut model, mut bare, mut alone, mut cosim) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut cycles, mut recorded) = (0, None);
    for round in 0..rounds {
        let mut clocked = core.clocked(&job.params).expect("legal");
        let mut rtl = library.power_up(Init::Random(1)).expect("instance");
        model.push(speed(clocked.as_mut(), &rows, time));
        bare.push(speed(&mut rtl, &rows, time));
        if round == 0 {
            // As many cycles as the bare core does in the time; never too few for the
            // start-up sweep.
            cycles = 20_000 + (time.as_secs_f64() * bare[0]) as u64;
            recorded = Some(stimulus::record(core, &job.params, 1, cycles).expect("a case"));
        }
        let mut rtl = library.power_up(Init::Random(1)).expect("instance");
        alone.extend(recorded.as_ref().map(|case| times(&mut rtl, case)));
        let mut clocked = core.clocked(&job.params).expect("legal");
        let mut rtl = library.power_up(Init::Random(1)).expect("instance");
        let mut stimulus = Stimulus::new(core, &job.params, 1, cycles).expect("stimulus");
        let mut times = Vec::new();
        let mut last = Instant::now();
        let mut progress =
            |_| times.push(std::mem::replace(&mut last, Instant::now()).elapsed().as_secs_f64());
        let mismatch =
            lockstep(&mut stimulus, clocked.as_mut(), &mut rtl, cycles, &mut progress).expect("runs");
        assert_eq!(mismatch, None, "{}", job.command());
        cosim.push(times);
    }
    Rates {
        name: format!("{} {name}", core.name()),
        model: median(model),
        bare: median(bare),
        alone: cycles as f64 / total(&alone),
        cosim: cycles as f64 / total(&cosim),
    }
}

fn main() -> ExitCode {
    let (mut quick, mut json, mut words) = (false, None, Vec::new());
    // Cargo says `--bench` to every benchmark.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => quick = true,
            "--json" => {
                json = args.next();
                if json.is_none() {
                    eprintln!("error: --json needs a file");
                    return ExitCode::from(2);
                }
            }
            flag if flag.starts_with('-') => {
                eprintln!("error: no option {flag}: there is --quick, --json FILE");
                return ExitCode::from(2);
            }
            _ => words.push(arg),
        }
    }
    let (rounds, time) = if quick { (3, Duration::from_millis(30)) } else { (7, Duration::from_millis(150)) };
    let mut all = Vec::new();
    for core in registry::CORES {
        for preset in core.presets() {
            let name = format!("{} {}", core.name(), preset.name);
            if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
                continue;
            }
            if std::io::stderr().is_terminal() {
                eprint!("\r{name} ...          ");
                let _ = std::io::stderr().flush();
            }
            all.push(measure(*core, preset.name, &preset.params(), rounds, time));
        }
    }
    print(&all, rounds);
    if let Some(path) = json
        && let Err(error) = whole::write_file(path.as_ref(), as_json(&all).as_bytes())
    {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn as_json(all: &[Rates]) -> String {
    let row = |r: &Rates| {
        serde_json::json!({"name": r.name, "clocked_model": r.model, "verilated": r.bare,
            "verilated_on_stimulus": r.alone, "cosim": r.cosim})
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    serde_json::to_string_pretty(&rows).expect("JSON") + "\n"
}

fn print(all: &[Rates], rounds: usize) {
    println!("million cycles per second, medians of {rounds} rounds\n");
    println!("{:28} {:^44} {:^44}", "", "a request in every cycle", "stimulus of co-simulation");
    println!(
        "{:28} {:>14} {:>14} {:>14} {:>14} {:>14} {:>14}",
        "core and preset",
        "clocked model",
        "Verilated",
        "model/core",
        "Verilated",
        "co-simulation",
        "cosim/core"
    );
    for r in all {
        let m = 1e6;
        println!(
            "{:28} {:>14.1} {:>14.1} {:>13.1}x {:>14.1} {:>14.1} {:>13.2}x",
            r.name,
            r.model / m,
            r.bare / m,
            r.model / r.bare,
            r.alone / m,
            r.cosim / m,
            r.cosim / r.alone
        );
    }
}

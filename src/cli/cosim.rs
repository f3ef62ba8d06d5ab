use std::{path::PathBuf, sync::Mutex};

use anyhow::{Context, Result, bail};
use clap::Args;
use membrane::{
    cosim::{Job, Opt, Outcome, Report, Toolchain, find_tools},
    registry,
    sram::PortCounts,
};
use serde_json::json;

use super::{CoreArgs, Verdict, find_core, grouped, progress, table};

#[derive(Args)]
#[command(
    after_help = "Without --preset and --set, all presets of the core are compared; without a core, all cores.

Examples:
  membrane cosim
  membrane cosim partitioned --preset k7 --cycles 1000000
  membrane cosim partitioned --set BANKS=5 --set ROWS=4096 --set KEY_W=48 --seed 7
  membrane cosim partitioned --preset tiny --wave tiny.fst --cycles 2000"
)]
pub struct CosimArgs {
    /// The core: see `membrane list`
    core: Option<String>,
    /// Starts from the parameters of a preset
    #[arg(long, value_name = "NAME", requires = "core")]
    preset: Option<String>,
    /// Sets a parameter: decimal, 0x hexadecimal, or the name of a choice
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "core")]
    sets: Vec<String>,
    /// Seed of the stimulus and of the power-up state
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of cycles
    #[arg(long, default_value_t = 200_000)]
    cycles: u64,
    /// Builds the RTL for speed: pays from some ten million cycles on
    #[arg(long)]
    fast: bool,
    /// Records all signals of the RTL into an FST file
    #[arg(long, value_name = "FILE")]
    wave: Option<PathBuf>,
    /// First cycle of the waveform
    #[arg(long, default_value_t = 0, requires = "wave")]
    wave_from: u64,
    /// Cycles of the waveform
    #[arg(long, default_value_t = 10_000, requires = "wave")]
    wave_cycles: u64,
    /// Where the vector and waveform of a mismatch go
    #[arg(long, value_name = "DIR", default_value = "mismatch")]
    out: PathBuf,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

struct Line {
    preset: String,
    job: Job,
}

pub fn run(args: &CosimArgs) -> Result<Verdict> {
    let lines = lines(args)?;
    let tools = find_tools()?;
    eprintln!("{}", tools.describe());
    let opt = if args.fast { Opt::Fast } else { Opt::Quick };
    build(&lines, &tools, opt)?;

    let mut failures = 0;
    let mut rows = Vec::new();
    let mut results = Vec::new();
    for line in &lines {
        let job = &line.job;
        let design = job.design()?;
        let bar = progress(job.cycles, &format!("{} {}", job.core.name(), line.preset));
        let folder = args.out.join(format!("{}-{}-{}", job.core.name(), line.preset, job.seed));
        let outcome = job.run(&tools, &design, opt, Some(&folder), &mut |done| bar.set_position(done))?;
        bar.finish_and_clear();
        match outcome {
            Outcome::Equal(report) => {
                rows.push(row(line, &report));
                results.push(result(line, &report));
            }
            Outcome::Different(failure) => {
                failures += 1;
                eprintln!("{}", failure.describe(job));
                let dash = || "-".to_owned();
                rows.push(vec![
                    job.core.name().into(),
                    line.preset.clone(),
                    short_params(job),
                    grouped(job.cycles),
                    dash(),
                    "1 (stopped)".into(),
                    dash(),
                    dash(),
                    dash(),
                ]);
                results.push(json!({
                    "core": job.core.name(), "preset": line.preset, "parameters": job.params, "seed": job.seed,
                    "cycles": job.cycles, "mismatches": 1, "first": failure.mismatch.to_string(),
                    "reproduce": job.command(), "folder": failure.folder,
                }));
            }
        }
        if let Some(path) = &args.wave {
            job.record_wave(&tools, &design, args.wave_from, args.wave_cycles, path)?;
            eprintln!("waveform: {}", path.display());
        }
    }
    if args.json {
        let all = json!({"tools": tools.describe(), "results": results});
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        print!("{}", table::render(&HEAD, &rows));
        println!("\nports: share of cycles in which the busiest memory's port is used, over the whole run;");
        println!("saturated: the same while requests are offered and responses taken in every cycle");
    }
    if failures > 0 {
        eprintln!("\n{failures} of {} co-simulations found a mismatch", lines.len());
        return Ok(Verdict::Difference);
    }
    Ok(Verdict::Fine)
}

const HEAD: [&str; 9] =
    ["core", "preset", "parameters", "cycles", "requests", "mismatches", "ports", "saturated", "cycles/s"];

fn lines(args: &CosimArgs) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut add = |preset: &str, core, params: &_| -> Result<()> {
        let job = Job::new(core, params, args.seed, args.cycles)?;
        lines.push(Line { preset: preset.to_owned(), job });
        Ok(())
    };
    match &args.core {
        Some(name) if args.preset.is_some() || !args.sets.is_empty() => {
            let one = CoreArgs { core: name.clone(), preset: args.preset.clone(), sets: args.sets.clone() };
            let (core, params) = one.resolve()?;
            let preset = if args.sets.is_empty() { args.preset.as_deref() } else { None };
            add(preset.unwrap_or("custom"), core, &params)?;
        }
        name => {
            let cores = match name {
                Some(name) => vec![find_core(name)?],
                None => registry::CORES.to_vec(),
            };
            for core in cores {
                for preset in core.presets() {
                    add(preset.name, core, &preset.params())?;
                }
            }
        }
    }
    if args.wave.is_some() && lines.len() > 1 {
        bail!("--wave records one core: give --preset or --set");
    }
    Ok(lines)
}

/// Builds all models first, several at once: that is where the time goes.
fn build(lines: &[Line], tools: &Toolchain, opt: Opt) -> Result<()> {
    let bar = progress(lines.len() as u64, "building");
    let queue = Mutex::new(lines.iter());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || -> Result<()> {
        loop {
            let next = queue.lock().map(|mut queue| queue.next());
            let Ok(Some(line)) = next else { return Ok(()) };
            let design = line.job.design()?;
            design.build(tools, opt, false).with_context(|| line.job.command())?;
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => bail!("a build thread died"),
        })
    })?;
    bar.finish_and_clear();
    Ok(())
}

/// The parameters that are not at their default.
fn short_params(job: &Job) -> String {
    let specs = job.core.params().iter();
    let given = specs.filter(|spec| spec.default != job.params.get(spec.name));
    given.map(|spec| format!("{}={}", spec.name, job.params.at(spec.name))).collect::<Vec<_>>().join(" ")
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.1} %", 100.0 * share))
}

fn row(line: &Line, report: &Report) -> Vec<String> {
    let job = &line.job;
    vec![
        job.core.name().into(),
        line.preset.clone(),
        short_params(job),
        grouped(job.cycles),
        grouped(report.totals.requests),
        "0".into(),
        percent(PortCounts::busiest(&report.totals.ports)),
        percent(PortCounts::busiest(&report.totals.saturated)),
        grouped((job.cycles as f64 / report.time.as_secs_f64()) as u64),
    ]
}

fn result(line: &Line, report: &Report) -> serde_json::Value {
    let job = &line.job;
    json!({
        "core": job.core.name(), "preset": line.preset, "parameters": job.params, "seed": job.seed,
        "cycles": job.cycles, "requests": report.totals.requests, "responses": report.totals.responses,
        "mismatches": 0, "port_utilization": PortCounts::busiest(&report.totals.ports),
        "port_utilization_saturated": PortCounts::busiest(&report.totals.saturated),
        "cycles_per_second": job.cycles as f64 / report.time.as_secs_f64(),
    })
}

//! `make coverage`: what does the stimulus of `make sim` reach?

use std::{collections::BTreeMap, fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Parser;
use membrane::{
    Clocked,
    cosim::{Design, Init, Toolchain, compare_rows, find_tools},
    registry,
    stimulus::record,
};
use membrane_trust::{
    coverage::{Crossings, Kind, Point, Points, Tally, Waivers},
    exit_code,
    sets::{self, Set},
    table,
};
use serde_json::json;

#[derive(Parser)]
#[command(
    about = "Line, branch and toggle coverage of the RTL, and functional coverage of the stimulus",
    after_help = "Exit code 1: lines or branches below 100 %, or toggles below 98 %, of what is not waived; or a
state that no request met, where all sets are played.

Examples:
  coverage
  coverage --only tinyset/tiny --cycles 20000
  coverage --small --json"
)]
struct Args {
    /// Only sets that start with this: CORE, or CORE/PRESET
    #[arg(long, default_value = "")]
    only: String,
    /// Only the small sets that are mutated, not all presets
    #[arg(long)]
    small: bool,
    /// Of the stimulus and the power-up state
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cycles of each set
    #[arg(long, default_value_t = 100_000)]
    cycles: u64,
    /// Further seeds at most for small sets of a core that has states which no request met yet
    #[arg(long, default_value_t = 30)]
    rounds: u64,
    /// Where the counts go
    #[arg(long, value_name = "DIR", default_value = "target/coverage")]
    out: PathBuf,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

fn run(args: &Args) -> Result<bool> {
    let tools = find_tools()?;
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let sets = if args.small { sets::read(sets::MUTANTS, &args.only)? } else { sets::all(&args.only)? };
    let mut points = Points::default();
    let mut crossings: BTreeMap<&str, Crossings> = BTreeMap::new();
    let mut images_done = Vec::new();
    for set in &sets {
        eprintln!("{set}");
        play(args, &tools, set, args.seed, &mut points, crossings.entry(set.core.name()).or_default())?;
        if !images_done.contains(&set.core.name()) {
            images_done.push(set.core.name());
            play_from_images(args, &tools, set, &mut points)?;
        }
    }
    for round in 1..=args.rounds {
        // Small ones, which are quick: a list is rarely just filling, and requests rarely come in idle.
        for set in sets.iter().filter(|set| set.name.starts_with("tiny")) {
            let crossings = crossings.entry(set.core.name()).or_default();
            if !crossings.missed().is_empty() {
                eprintln!("{set}, seed {}", args.seed + round);
                play(args, &tools, set, args.seed + round, &mut points, crossings)?;
            }
        }
    }
    let sources: BTreeMap<&str, &str> =
        registry::CORES.iter().flat_map(|core| core.rtl()).map(|file| (file.name, file.text)).collect();
    let waivers = Waivers::parse(include_str!("../../waivers.txt"))?;
    let waived = waivers.apply(&points, &sources, args.only.is_empty())?;
    points.remove(&waived);
    print(args, &points, &waived, &crossings, &sources)
}

/// Runs the stimulus of a set on the RTL that counts.
fn play(
    args: &Args,
    tools: &Toolchain,
    set: &Set,
    seed: u64,
    points: &mut Points,
    crossings: &mut Crossings,
) -> Result<()> {
    let case = record(set.core, &set.params, seed, args.cycles)?;
    let library = Design::new(set.core, &set.params, &case.pins).build_coverage(tools)?;
    let mut rtl = library.power_up(Init::Random(seed))?;
    let mut actual = vec![0; case.expected.len()];
    rtl.run(&case.stimulus, &mut actual)?;
    if let Some(mismatch) = compare_rows(&case.pins, 0, &case.expected, &actual) {
        bail!("{set}: {mismatch}");
    }
    if set.params.get("PARITY") == Some(1) {
        // Soft errors for the parity check to find; tests/soft_errors.rs compares what follows.
        for memory in &case.memories {
            for row in 0..memory.rows() {
                rtl.upset(memory.path(), row, memory.width() - 1)?;
            }
        }
        rtl.run(&case.stimulus, &mut actual)?;
    }
    let file = args.out.join(set.slug() + ".dat");
    rtl.write_coverage(&file)?;
    let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
    points.merge(&text).with_context(|| file.display().to_string())?;
    crossings.add(set, &case)
}

/// Starts the RTL from memory images of an empty filter: tests/image.rs compares what it answers,
/// here the lines that load it are counted.
fn play_from_images(args: &Args, tools: &Toolchain, set: &Set, points: &mut Points) -> Result<()> {
    let case = record(set.core, &set.params, args.seed, args.cycles.min(10_000))?;
    let folder = fs::canonicalize(&args.out)?.join(set.slug());
    fs::create_dir_all(&folder)?;
    for (number, memory) in case.memories.iter().enumerate() {
        fs::write(folder.join(format!("{number}.hex")), "0\n".repeat(memory.rows()))?;
    }
    let prefix = format!("{}/", folder.display());
    let design = Design::new(set.core, &set.params, &case.pins).with_images(&prefix);
    let mut rtl = design.build_coverage(tools)?.power_up(Init::Random(args.seed))?;
    rtl.run(&case.stimulus, &mut vec![0; case.expected.len()])?;
    let file = folder.join("images.dat");
    rtl.write_coverage(&file)?;
    points.merge(&String::from_utf8_lossy(&fs::read(&file)?))
}

fn print(
    args: &Args,
    points: &Points,
    waived: &[Point],
    crossings: &BTreeMap<&str, Crossings>,
    sources: &BTreeMap<&str, &str>,
) -> Result<bool> {
    let tally = points.tally();
    let mut totals = [Tally::default(); 3];
    for counts in tally.values() {
        for (total, count) in totals.iter_mut().zip(counts) {
            total.all += count.all;
            total.reached += count.reached;
        }
    }
    let [line, branch, toggle] = totals.map(Tally::percent);
    if args.json {
        let count = |c: &Tally| json!({"reached": c.reached, "all": c.all, "percent": c.percent()});
        let files: BTreeMap<_, _> = tally
            .iter()
            .map(|(file, [l, b, t])| {
                (file, json!({"line": count(l), "branch": count(b), "toggle": count(t)}))
            })
            .collect();
        let missed: Vec<_> = points.missed().map(ToString::to_string).collect();
        let functional: BTreeMap<_, _> = crossings
            .iter()
            .map(|(core, c)| {
                (core, json!({"head": Crossings::head(), "rows": c.rows(), "missed": c.missed()}))
            })
            .collect();
        let all = json!({
            "files": files, "line": line, "branch": branch, "toggle": toggle,
            "missed": missed, "waived": waived.len(), "functional": functional,
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        let cell = |c: &Tally| format!("{:.1}", c.percent());
        let of = |c: &Tally| format!("{}/{}", c.reached, c.all);
        let row = |name: &str, counts: &[Tally; 3]| {
            let mut row = vec![name.to_owned()];
            row.extend(counts.iter().flat_map(|c| [cell(c), of(c)]));
            row
        };
        let mut rows: Vec<_> = tally.iter().map(|(file, counts)| row(file, counts)).collect();
        rows.push(row("all", &totals));
        println!("{}", table::render(&["file", "line %", "", "branch %", "", "toggle %", ""], &rows));
        println!("{} points are waived: sim/trust/waivers.txt", waived.len());
        for point in points.missed() {
            let text = sources.get(point.file.as_str()).copied().unwrap_or("");
            let source = text.lines().nth(point.line as usize - 1).unwrap_or("").trim();
            match point.kind {
                Kind::Toggle => println!("missed: {point}"),
                Kind::Line | Kind::Branch => println!("missed: {point}    {source}"),
            }
        }
        for (core, crossing) in crossings {
            let head = Crossings::head();
            let head: Vec<_> = head.iter().map(String::as_str).collect();
            println!("\n{core}: requests by operation, how they came in, and the state they met (row/list)");
            print!("{}", table::render(&head, &crossing.rows()));
            for missed in crossing.missed() {
                println!("never: {missed}");
            }
        }
    }
    let all = args.only.is_empty() && !args.small;
    let met = !all || crossings.values().all(|crossings| crossings.missed().is_empty());
    Ok(line >= 100.0 && branch >= 100.0 && toggle >= 98.0 && met)
}

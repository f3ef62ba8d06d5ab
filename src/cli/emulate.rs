use std::{path::PathBuf, time::Instant};

use anyhow::{Result, bail};
use clap::Args;
use membrane::{
    emulate::{Emulation, Window, Windows},
    keys::KeyFormat,
    plot::{Axis, Chart, Mark, Series, spark},
    whole::write_file,
};
use serde_json::json;

use super::{CoreArgs, Verdict, grouped, keys, progress};

#[derive(Args)]
#[command(after_help = "\
A false positive is a hit for a key that was not inserted: the inserted keys are kept beside the \
filter to tell. With --trace every key is asked for, and inserted if the filter does not know it: \
\"have I seen this one?\". Binary keys have KEY_W bits rounded up to bytes, lowest byte first. Captures \
give the 5-tuple of every IP packet: whole at KEY_W=104 (IPv4) and 296 (IPv6), folded by XXH3 else.

Examples:
  membrane emulate partitioned --preset k7 --insert members.txt --query trace.txt
  membrane emulate partitioned --preset k7 --set ROWS=1000000 --format text --insert words --query -
  membrane emulate tinyset --preset 64b --set KEY_W=104 --format pcap --trace capture.pcap --clocked
  membrane emulate blocked --preset block512 --trace keys.bin --format binary --svg trace.svg
  seq 1000 | membrane emulate partitioned --preset k7 --insert - --json")]
pub struct EmulateArgs {
    #[command(flatten)]
    core: CoreArgs,
    /// File of keys to insert; - for standard input
    #[arg(long, value_name = "FILE", required_unless_present = "trace")]
    insert: Option<PathBuf>,
    /// File of keys to query then; - for standard input
    #[arg(long, value_name = "FILE", requires = "insert")]
    query: Option<PathBuf>,
    /// File of keys to ask for, and to insert where the filter does not know them
    #[arg(long, value_name = "FILE", conflicts_with = "insert")]
    trace: Option<PathBuf>,
    /// What the files hold
    #[arg(long, value_enum, default_value = "decimal")]
    format: KeyFormat,
    /// Has the clocked model play along, and counts cycles, stalls and memory accesses
    #[arg(long)]
    clocked: bool,
    /// Writes the course of it as an SVG image
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

type Step = fn(&mut Emulation, &[u64]) -> Result<(), membrane::clocked::Fault>;

pub fn run(args: &EmulateArgs) -> Result<Verdict> {
    let (core, params) = args.core.resolve()?;
    if args.query.is_some() && args.query == args.insert && args.insert.as_deref() == Some("-".as_ref()) {
        bail!("--insert and --query cannot both be standard input: put one into a file");
    }
    let key_w = params.at("KEY_W") as u32;
    let mut emulation = Emulation::new(core, &params, args.clocked)?;
    let steps: [(&Option<PathBuf>, &str, Step); 3] = [
        (&args.insert, "inserting", Emulation::insert),
        (&args.query, "querying", Emulation::query),
        (&args.trace, "meeting", Emulation::meet),
    ];
    let start = Instant::now();
    let mut passed_over = 0;
    for (path, what, step) in steps {
        let Some(path) = path else { continue };
        let bar = progress(0, what);
        let mut reader = keys::open(path, args.format, key_w, &bar)?;
        reader.for_each_batch(|keys| anyhow::Ok(step(&mut emulation, keys)?))?;
        passed_over += reader.passed_over();
        bar.finish_and_clear();
    }
    emulation.finish()?;
    let seconds = start.elapsed().as_secs_f64();

    let total = emulation.windows().total();
    let distinct = emulation.distinct();
    let memories = emulation.filter().memories();
    let bits: u64 = memories.iter().map(|m| m.rows() as u64 * u64::from(m.width())).sum();
    let ones: u64 = memories.iter().flat_map(|m| m.words()).map(|w| u64::from(w.count_ones())).sum();
    if let Some(path) = &args.svg {
        write_file(path, course(emulation.windows(), args.clocked, core.name()).as_bytes())?;
    }
    if args.json {
        let report = json!({
            "core": core.name(), "parameters": params, "inserted": total.inserts, "refused": total.refused,
            "distinct": distinct, "memory_bits": bits, "bits_per_key": ratio(bits, distinct),
            "fill": ratio(ones, bits), "overflow": total.level, "queries": total.queries, "hits": total.hits,
            "absent": total.absent, "false_positives": total.false_positives,
            "false_negatives": total.false_negatives, "false_positive_rate": total.false_positive_rate(),
            "packets_without_key": passed_over, "clocked": args.clocked.then_some(total.spent),
            "seconds": seconds, "windows": emulation.windows().all(),
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{} ({params})", core.module());
        let (inserts, refused) = (grouped(total.inserts), grouped(total.refused));
        println!("inserted   {inserts} keys, {} distinct, {refused} refused", grouped(distinct));
        if passed_over > 0 {
            println!("packets    {} without a key of {key_w} bits", grouped(passed_over));
        }
        let per_key = ratio(bits, distinct).map_or("-".into(), |b| format!("{b:.2}"));
        let set = 100.0 * ratio(ones, bits).unwrap_or(0.0);
        println!("memory     {} bits, {per_key} per key, {set:.2} % set", grouped(bits));
        println!("queries    {}, {} hits", grouped(total.queries), grouped(total.hits));
        print_rate(&total);
        if args.clocked {
            print_time(&total);
        }
        println!("speed      {:.1} million requests per second", total.requests() as f64 / seconds / 1e6);
        print_course(emulation.windows(), args.clocked);
    }
    if total.false_negatives > 0 {
        eprintln!("{} inserted keys were not found: this must not happen", total.false_negatives);
        return Ok(Verdict::Difference);
    }
    Ok(Verdict::Fine)
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

fn print_rate(total: &Window) {
    let Some(rate) = total.false_positive_rate() else { return };
    // One standard deviation of the measurement itself.
    let deviation = (rate * (1.0 - rate) / total.absent as f64).sqrt();
    println!(
        "false positives {} of {} absent keys: {:.4} % +- {:.4} %",
        grouped(total.false_positives),
        grouped(total.absent),
        100.0 * rate,
        100.0 * deviation
    );
}

fn print_time(total: &Window) {
    println!(
        "cycles     {}, {} with a request waiting; {:.3} memory accesses per request",
        grouped(total.spent.cycles),
        grouped(total.spent.stalls),
        ratio(total.spent.accesses, total.requests()).unwrap_or(0.0)
    );
}

/// A quantity over the course of a trace, per window.
struct Course {
    name: &'static str,
    unit: &'static str,
    of: fn(&Window) -> Option<f64>,
    /// Only the clocked model knows.
    clocked: bool,
}

const COURSES: [Course; 5] = [
    Course {
        name: "false positives",
        unit: "per absent key",
        of: Window::false_positive_rate,
        clocked: false,
    },
    Course { name: "overflow list", unit: "entries", of: |w| Some(w.level as f64), clocked: false },
    Course { name: "refused", unit: "per insert", of: |w| ratio(w.refused, w.inserts), clocked: false },
    Course {
        name: "accesses",
        unit: "per request",
        of: |w| ratio(w.spent.accesses, w.requests()),
        clocked: true,
    },
    Course {
        name: "stalls",
        unit: "per request",
        of: |w| ratio(w.spent.stalls, w.requests()),
        clocked: true,
    },
];

/// What can be shown of a run: one that never happened is left out.
fn courses(windows: &Windows, clocked: bool) -> Vec<(&'static Course, Vec<Option<f64>>)> {
    let known = COURSES.iter().filter(|course| clocked || !course.clocked);
    let values = known.map(|course| (course, windows.all().iter().map(course.of).collect::<Vec<_>>()));
    values.filter(|(_, values)| values.iter().flatten().any(|value| *value > 0.0)).collect()
}

fn print_course(windows: &Windows, clocked: bool) {
    for (course, values) in courses(windows, clocked) {
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        println!("{:16} {}  up to {most:.3} {}", course.name, spark(&values), course.unit);
    }
}

/// One chart below the other.
fn course(windows: &Windows, clocked: bool, core: &str) -> String {
    let mut done = 0;
    let ends: Vec<f64> = windows
        .all()
        .iter()
        .map(|window| {
            done += window.requests();
            done as f64
        })
        .collect();
    let charts: Vec<_> = courses(windows, clocked)
        .into_iter()
        .map(|(course, values)| Chart {
            title: format!("{core}: {}", course.name),
            x: Axis::linear("requests"),
            y: Axis::linear(format!("{} ({})", course.name, course.unit)),
            series: vec![Series {
                name: course.name.into(),
                points: ends.iter().zip(&values).filter_map(|(x, y)| y.map(|y| (*x, y))).collect(),
                mark: Mark::Both,
            }],
        })
        .collect();
    membrane::plot::stack(&charts)
}

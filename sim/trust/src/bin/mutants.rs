//! `make mutants`: would the co-simulation notice a fault in the RTL?

use std::{
    collections::BTreeMap,
    fs,
    io::{self, IsTerminal},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Parser;
use membrane::cosim::find_tools;
use membrane_trust::{
    exit_code,
    mutants::{Abc, Campaign, Fate, Judged, Verdict, Yosys},
    sets, table,
};
use serde_json::json;

#[derive(Parser)]
#[command(
    about = "Puts single faults into the netlist of every core, and counts what co-simulation notices",
    after_help = "Exit code 1: a core's score is below --least.

Examples:
  mutants
  mutants --only tinyset --mutants 300
  mutants --only blocked/tiny-g2 --cycles 20000 --json"
)]
struct Args {
    /// Only sets that start with this: CORE, or CORE/PRESET (sim/trust/mutants.sets)
    #[arg(long, default_value = "")]
    only: String,
    /// A file of sets, in place of sim/trust/mutants.sets
    #[arg(long, value_name = "FILE")]
    sets: Option<PathBuf>,
    /// Faults in each core, at least: spread evenly over its sets
    #[arg(long, default_value_t = 250)]
    mutants: usize,
    /// Of the choice of faults, the stimulus and the power-up state
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cycles of the co-simulation; ten times as many for what neither that nor a proof decides
    #[arg(long, default_value_t = 200_000)]
    cycles: u64,
    /// Proofs at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Does not ask the solver whether survivors are equivalent
    #[arg(long)]
    no_proof: bool,
    /// The score in per cent that every core must reach
    #[arg(long, default_value_t = 95.0)]
    least: f64,
    /// Where netlists and proofs go
    #[arg(long, value_name = "DIR", default_value = "target/mutants")]
    out: PathBuf,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct Count {
    mutants: usize,
    killed: usize,
    late: usize,
    equivalent: usize,
    bounded: usize,
}

impl Count {
    fn add(&mut self, judged: &Judged) {
        self.mutants += 1;
        match &judged.fate {
            Fate::Killed(_) => self.killed += 1,
            Fate::Late(_) => {
                self.killed += 1;
                self.late += 1;
            }
            Fate::Equivalent(verdict) => {
                self.equivalent += 1;
                self.bounded += usize::from(matches!(verdict, Verdict::Bounded(_)));
            }
            Fate::Survived(_) => {}
        }
    }

    fn survived(&self) -> usize {
        self.mutants - self.killed - self.equivalent
    }

    /// Per cent of those that are not equivalent.
    fn score(&self) -> f64 {
        100.0 * self.killed as f64 / (self.mutants - self.equivalent).max(1) as f64
    }

    /// The same where only what is proven for all time counts as equivalent, and only what was killed
    /// in time as killed.
    fn strict(&self) -> f64 {
        100.0 * (self.killed - self.late) as f64
            / (self.mutants - self.equivalent + self.bounded).max(1) as f64
    }

    fn row(&self, name: &str) -> Vec<String> {
        let counts = [self.mutants, self.killed, self.late, self.equivalent, self.bounded, self.survived()];
        let mut row = vec![name.to_owned()];
        row.extend(counts.map(|n| n.to_string()));
        row.extend([self.score(), self.strict()].map(|score| format!("{score:.1}")));
        row
    }
}

const HEAD: [&str; 9] =
    ["", "mutants", "killed", "(late)", "equivalent", "(bounded)", "surviving", "score %", "strict %"];

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

fn run(args: &Args) -> Result<bool> {
    let (yosys, tools) = (Yosys::find()?, find_tools()?);
    let abc = if args.no_proof { None } else { Some(Abc::find()?) };
    let text = match &args.sets {
        Some(path) => fs::read_to_string(path).with_context(|| path.display().to_string())?,
        None => sets::MUTANTS.to_owned(),
    };
    let sets = sets::read(&text, &args.only)?;
    let mut by_core: BTreeMap<&str, Count> = BTreeMap::new();
    let mut by_file: BTreeMap<String, Count> = BTreeMap::new();
    let mut left = Vec::new();
    for set in &sets {
        let of_core = sets.iter().filter(|other| other.core.name() == set.core.name()).count();
        let campaign = Campaign {
            mutants: args.mutants.div_ceil(of_core),
            seed: args.seed,
            cycles: args.cycles,
            jobs: args.jobs,
        };
        let mut count = Count::default();
        let judged = campaign.run(&yosys, abc.as_ref(), &tools, set, &args.out.join(set.slug()))?;
        for judged in &judged {
            count.add(judged);
            by_core.entry(set.core.name()).or_default().add(judged);
            by_file.entry(judged.mutant.file().to_owned()).or_default().add(judged);
        }
        if io::stderr().is_terminal() {
            let [killed, equivalent, survived] = [count.killed, count.equivalent, count.survived()];
            eprintln!(
                "{set}: {} mutants, {killed} killed, {equivalent} equivalent, {survived} surviving",
                count.mutants
            );
        }
        left.extend(
            judged.into_iter().filter(|j| !matches!(j.fate, Fate::Killed(_))).map(|j| (set.to_string(), j)),
        );
    }
    let describe = |fate: &Fate| match fate {
        Fate::Killed(mismatch) => format!("killed: {mismatch}"),
        Fate::Late(mismatch) => format!("killed by longer play only: {mismatch}"),
        Fate::Equivalent(Verdict::Proven) => "equivalent".to_owned(),
        Fate::Equivalent(Verdict::Bounded(k)) => format!("equivalent in {k} cycles from reset"),
        Fate::Survived(Verdict::Different(k)) => format!("SURVIVES, {k} cycles can tell it"),
        Fate::Survived(Verdict::Unasked) => "SURVIVES".to_owned(),
        Fate::Survived(_) | Fate::Equivalent(_) => "SURVIVES, the solver ran out of time".to_owned(),
    };
    if args.json {
        let counts = |count: &Count| {
            json!({
                "mutants": count.mutants, "killed": count.killed, "late": count.late, "equivalent": count.equivalent,
                "bounded": count.bounded, "surviving": count.survived(), "score": count.score(),
                "strict": count.strict(),
            })
        };
        let left: Vec<_> = left
            .iter()
            .map(|(set, j)| {
                json!({
                    "set": set, "number": j.mutant.number, "source": j.mutant.source, "mode": j.mutant.mode,
                    "place": j.mutant.place, "fate": describe(&j.fate),
                })
            })
            .collect();
        let cores: BTreeMap<_, _> = by_core.iter().map(|(name, count)| (name, counts(count))).collect();
        let files: BTreeMap<_, _> = by_file.iter().map(|(name, count)| (name, counts(count))).collect();
        let all = json!({ "cores": cores, "files": files, "not killed": left });
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        let rows: Vec<_> = by_core.iter().map(|(name, count)| count.row(name)).collect();
        println!("{}", table::render(&HEAD, &rows));
        let rows: Vec<_> = by_file.iter().map(|(name, count)| count.row(name)).collect();
        println!("{}", table::render(&HEAD, &rows));
        for (set, j) in left.iter().filter(|(_, j)| j.fate != Fate::Equivalent(Verdict::Proven)) {
            println!(
                "{} {} of {} [{set} #{}]: {}",
                j.mutant.source,
                j.mutant.mode,
                j.mutant.place,
                j.mutant.number,
                describe(&j.fate)
            );
        }
    }
    Ok(by_core.values().all(|count| count.score() >= args.least))
}

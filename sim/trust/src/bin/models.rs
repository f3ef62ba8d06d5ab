//! `make mutants-models`: would co-simulation or a test notice a fault in the Rust models?

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use clap::Parser;
use membrane_trust::{
    exit_code,
    models::{Bench, Edit, Fate, GROUPS, choose, edits},
    table,
};
use serde_json::json;

#[derive(Parser)]
#[command(
    about = "Puts single faults into the Rust models, and counts what co-simulation and tests notice",
    after_help = "Exit code 1: a fault was not noticed.

Examples:
  models
  models --only tinyset --mutants 50
  models --only blocked --no-tests --json"
)]
struct Args {
    /// Only this core, or `shared` for what all are made of
    #[arg(long, default_value = "")]
    only: String,
    /// Faults that compile, in each of them
    #[arg(long, default_value_t = 20)]
    mutants: usize,
    /// Of the choice of faults, and of the stimulus
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cycles of each set that is recorded
    #[arg(long, default_value_t = 100_000)]
    cycles: u64,
    /// Does not ask the tests where no answer differs
    #[arg(long)]
    no_tests: bool,
    /// Lists the places for faults, and ends
    #[arg(long)]
    list: bool,
    /// The copy of the workspace, and what is built in it
    #[arg(long, value_name = "DIR", default_value = "target/models")]
    out: PathBuf,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

/// What became of the faults of a group.
#[derive(Default)]
struct Count {
    places: usize,
    refused: usize,
    by_answers: usize,
    by_tests: usize,
    survived: Vec<Edit>,
}

impl Count {
    fn mutants(&self) -> usize {
        self.by_answers + self.by_tests + self.survived.len()
    }

    fn add(&mut self, edit: &Edit, fate: &Fate) {
        match fate {
            Fate::Refused => self.refused += 1,
            Fate::Differs(_) => self.by_answers += 1,
            Fate::Fails(_) => self.by_tests += 1,
            Fate::Survived => self.survived.push(edit.clone()),
        }
    }
}

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

fn run(args: &Args) -> Result<bool> {
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../src"));
    let groups: Vec<_> = GROUPS.iter().filter(|(name, _)| name.starts_with(&args.only)).collect();
    if groups.is_empty() {
        bail!("there are no models of {}: a core, or shared", args.only);
    }
    let mut places = Vec::new();
    for (_, files) in &groups {
        let mut all = Vec::new();
        for file in *files {
            let path = source.join(file);
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            all.extend(edits(file, &text));
        }
        places.push(choose(all, args.seed));
    }
    if args.list {
        places.iter().flatten().for_each(|edit| println!("{edit}"));
        return Ok(true);
    }
    let bench = Bench::new(&args.out, args.seed, args.cycles)?;
    let mut counts = Vec::new();
    for ((group, _), places) in groups.iter().zip(places) {
        let mut count = Count { places: places.len(), ..Count::default() };
        for edit in &places {
            if count.mutants() == args.mutants {
                break;
            }
            let fate = bench.judge(group, edit)?;
            match &fate {
                Fate::Refused => {}
                Fate::Differs(by) => eprintln!("{edit}: {by}"),
                _ => eprintln!("{edit}: no answer differs"),
            }
            count.add(edit, &fate);
        }
        counts.push((*group, count));
    }
    // Tests take longer to build, so they get what is left.
    for (group, count) in counts.iter_mut().filter(|_| !args.no_tests) {
        let left = std::mem::take(&mut count.survived);
        if !left.is_empty() {
            bench.check_tests(group)?;
        }
        for edit in &left {
            let fate = bench.judge_by_tests(group, edit)?;
            match &fate {
                Fate::Fails(test) => eprintln!("{edit}: {test}"),
                _ => eprintln!("{edit}: SURVIVES"),
            }
            count.add(edit, &fate);
        }
    }
    print(args, &counts)?;
    Ok(counts.iter().all(|(_, count)| count.survived.is_empty()))
}

fn print(args: &Args, counts: &[(&str, Count)]) -> Result<()> {
    if args.json {
        let groups = counts.iter().map(|(group, count)| {
            let survived: Vec<_> = count.survived.iter().map(ToString::to_string).collect();
            json!({
                "models": group, "places": count.places, "refused": count.refused, "mutants": count.mutants(),
                "answers": count.by_answers, "tests": count.by_tests, "survived": survived,
            })
        });
        println!("{}", serde_json::to_string_pretty(&groups.collect::<Vec<_>>())?);
        return Ok(());
    }
    let rows = counts.iter().map(|(group, count)| {
        let numbers = [
            count.places,
            count.refused,
            count.mutants(),
            count.by_answers,
            count.by_tests,
            count.survived.len(),
        ];
        let mut row = vec![(*group).to_owned()];
        row.extend(numbers.map(|number| number.to_string()));
        row
    });
    let head = ["models", "places", "no Rust", "mutants", "answers differ", "test fails", "surviving"];
    println!("{}", table::render(&head, &rows.collect::<Vec<_>>()));
    for edit in counts.iter().flat_map(|(_, count)| &count.survived) {
        println!("SURVIVES: {edit}");
    }
    Ok(())
}

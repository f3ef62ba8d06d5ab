//! What the models answer to the stimulus of `make sim`, as digests. `models` runs it on models with faults.

use std::{collections::BTreeSet, fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result};
use clap::Parser;
use membrane_trust::{exit_code, models::recordings, sets};

#[derive(Parser)]
#[command(about = "Digests of what the models answer", after_help = "Exit code 1: not as expected.")]
struct Args {
    /// Only sets that start with this: CORE, or CORE/PRESET
    #[arg(long, default_value = "")]
    only: String,
    /// Of the stimulus
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cycles of each set
    #[arg(long, default_value_t = 100_000)]
    cycles: u64,
    /// Ends at the first line that is not in this file
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
}

fn main() -> ExitCode {
    exit_code(run(&Args::parse()))
}

fn run(args: &Args) -> Result<bool> {
    let expected = match &args.expect {
        Some(path) => Some(fs::read_to_string(path).with_context(|| path.display().to_string())?),
        None => None,
    };
    let expected: Option<BTreeSet<&str>> = expected.as_ref().map(|text| text.lines().collect());
    let mut good = true;
    recordings(&sets::all(&args.only)?, args.seed, args.cycles, |line| {
        good = expected.as_ref().is_none_or(|expected| expected.contains(line));
        if good {
            println!("{line}");
        } else {
            eprintln!("{} differs", line.rsplit_once(": ").map_or(line, |(set, _)| set));
        }
        good
    })?;
    Ok(good)
}

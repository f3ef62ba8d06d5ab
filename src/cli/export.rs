use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use membrane::{export, stimulus::record};
use serde_json::json;

use super::{CoreArgs, Verdict, grouped};

#[derive(Args)]
#[command(after_help = "The folder needs nothing but a simulator: run `make` in it, or read its README.md.

Examples:
  membrane export partitioned --preset tiny --cycles 500 --out case && make -C case
  membrane export partitioned --set BANKS=5 --set ROWS=1024 --set KEY_W=32 --out case
  make -C case SIM=verilator")]
pub struct ExportArgs {
    #[command(flatten)]
    core: CoreArgs,
    /// Seed of the stimulus
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of cycles
    #[arg(long, default_value_t = 20_000)]
    cycles: u64,
    /// The folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Prints a summary as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ExportArgs) -> Result<Verdict> {
    let (core, params) = args.core.resolve()?;
    let case = record(core, &params, args.seed, args.cycles)?;
    export::write(core, &case, &args.out)?;
    if args.json {
        let summary = json!({
            "folder": args.out, "core": case.core, "parameters": case.params, "seed": case.seed,
            "cycles": case.cycles,
        });
        println!("{}", serde_json::to_string_pretty(&summary)?);
    } else {
        println!(
            "{}: {} cycles of {} ({})",
            args.out.display(),
            grouped(case.cycles),
            case.module,
            case.params
        );
        println!("play it: make -C {}", args.out.display());
    }
    Ok(Verdict::Fine)
}

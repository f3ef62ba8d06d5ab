use anyhow::Result;
use clap::Args;
use membrane::curves::{self, CoreCurves, Effort};

use super::{Verdict, progress, table};

#[derive(Args)]
#[command(
    after_help = "Each kind of filter is measured with the parameters that have the lowest rate by theory \
at that number of bits per key. The JSON also holds loads of blocks, pipelines and waveforms: see `membrane report`.

Examples:
  membrane curves
  membrane curves --full --json > curves.json"
)]
pub struct CurvesArgs {
    /// A rough measurement, in less than a minute: the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// More keys, and enough queries for rates of one in a million
    #[arg(long)]
    full: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CurvesArgs) -> Result<Verdict> {
    let (effort, option) = if args.full { (Effort::full(), "--full") } else { (Effort::quick(), "--quick") };
    let bar = progress(0, "measuring");
    let step = |wanted, made| {
        bar.inc_length(wanted);
        bar.inc(made);
    };
    let curves = curves::run(&format!("membrane curves {option} --json"), &effort, &step)?;
    bar.finish_and_clear();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&curves)?);
    } else {
        let rows: Vec<_> = curves.cores.iter().flat_map(rows).collect();
        print!("{}", table::render(&["core", "variant", "bits/key", "theory", "measured", "hits"], &rows));
    }
    Ok(Verdict::Fine)
}

/// A row per measured point.
fn rows(core: &CoreCurves) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for curve in &core.curves {
        for point in &curve.points {
            let Some(measured) = point.measured else { continue };
            rows.push(vec![
                core.core.clone(),
                curve.variant.clone(),
                format!("{:.2}", point.bits_per_key),
                format!("{:.2e}", point.theory),
                measured.rate().map_or_else(
                    || "- (too rare)".into(),
                    |rate| format!("{rate:.2e} +- {:.0e}", measured.error),
                ),
                measured.hits.to_string(),
            ]);
        }
    }
    rows
}

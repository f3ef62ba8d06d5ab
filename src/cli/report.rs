use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use membrane::{
    report::{Files, Input, page},
    whole::write_file,
};

use super::Verdict;

#[derive(Args)]
#[command(
    after_help = "The page needs no network. A part whose file is not given is left out, and the page says \
which command writes it. `make report` runs them all.

Example:
  membrane curves --json > curves.json
  membrane cosim --json > cosim.json
  membrane report --curves curves.json --cosim cosim.json --out report.html"
)]
pub struct ReportArgs {
    /// Where the page goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Rates, loads, pipelines and waveforms: what `membrane curves --json` printed
    #[arg(long, value_name = "FILE")]
    curves: Option<PathBuf>,
    /// What `membrane cosim --json` printed
    #[arg(long, value_name = "FILE")]
    cosim: Option<PathBuf>,
    /// What `membrane repro --json` printed
    #[arg(long, value_name = "FILE")]
    repro: Option<PathBuf>,
    /// What `scripts/area_table.py --json FILE` wrote
    #[arg(long, value_name = "FILE")]
    area: Option<PathBuf>,
}

fn read<T: Input>(path: Option<&PathBuf>) -> Result<Option<T>> {
    Ok(path.map(|path| T::read(path)).transpose()?)
}

pub fn run(args: &ReportArgs) -> Result<Verdict> {
    let files = Files {
        curves: read(args.curves.as_ref())?,
        cosim: read(args.cosim.as_ref())?,
        repro: read(args.repro.as_ref())?,
        area: read(args.area.as_ref())?,
    };
    write_file(&args.out, page(&files).as_bytes())?;
    println!("{}", args.out.display());
    Ok(Verdict::Fine)
}

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use membrane::{stimulus::record, vectors::Case};
use serde_json::json;

use super::{CoreArgs, Verdict, find_core, grouped};

#[derive(Args)]
#[command(after_help = "Examples:
  membrane vectors partitioned --preset tiny --seed 7 --cycles 500 --out case
  membrane vectors partitioned --set BANKS=5 --set ROWS=1024 --set KEY_W=32 --out case
  membrane vectors partitioned --preset tiny --cycles 200 --inline > case.json")]
pub struct VectorsArgs {
    #[command(flatten)]
    core: CoreArgs,
    /// Seed of the stimulus
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of cycles
    #[arg(long, default_value_t = 20_000)]
    cycles: u64,
    /// The folder to write
    #[arg(long, value_name = "DIR", required_unless_present = "inline")]
    out: Option<PathBuf>,
    /// Prints the case as one JSON text instead
    #[arg(long, conflicts_with = "out")]
    inline: bool,
    /// Prints a summary as JSON
    #[arg(long)]
    json: bool,
}

pub fn generate(args: &VectorsArgs) -> Result<Verdict> {
    let (core, params) = args.core.resolve()?;
    let case = record(core, &params, args.seed, args.cycles)?;
    let Some(out) = &args.out else {
        println!("{}", case.to_json());
        return Ok(Verdict::Fine);
    };
    case.write(out)?;
    if args.json {
        let summary = json!({
            "folder": out, "core": case.core, "parameters": case.params, "seed": case.seed, "cycles": case.cycles,
        });
        println!("{}", serde_json::to_string_pretty(&summary)?);
    } else {
        println!("{}: {} cycles of {} ({})", out.display(), grouped(case.cycles), case.module, case.params);
    }
    Ok(Verdict::Fine)
}

#[derive(Args)]
#[command(after_help = "Examples:
  membrane verify vectors/*
  membrane verify --rtl case
  membrane verify --update vectors/*")]
pub struct VerifyArgs {
    /// Case folders, or case.json files with the lines inside
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    /// Plays the cases on the Verilated RTL, too
    #[arg(long)]
    #[cfg(feature = "cosim")]
    rtl: bool,
    /// Generates each case again from its own description
    #[arg(long)]
    update: bool,
}

pub fn verify(args: &VerifyArgs) -> Result<Verdict> {
    let mut verdict = Verdict::Fine;
    for path in &args.cases {
        let case = Case::read(path)?;
        let core = find_core(&case.core).with_context(|| path.display().to_string())?;
        let params = core.check(&case.params).with_context(|| path.display().to_string())?;
        if args.update {
            record(core, &params, case.seed, case.cycles)?.write(path)?;
            println!("{}: written again", path.display());
            continue;
        }
        let mut model = core.clocked(&params)?;
        if *model.pins() != case.pins {
            bail!("{}: field pins: not the pins of {} with these parameters", path.display(), case.core);
        }
        let mut outputs = vec![0; case.expected.len()];
        model.run(&case.stimulus, &mut outputs)?;
        let mut same = outputs == case.expected && model.memories()? == case.memories;
        let mut by = "model";
        #[cfg(feature = "cosim")]
        if args.rtl {
            use membrane::{
                cosim::{Design, Init, Opt, find_tools, replay},
                vectors::Recorded,
            };
            let design = Design::new(core, &params, &case.pins);
            let library = design.build(&find_tools()?, Opt::Quick, false)?;
            let mut rtl = library.power_up(Init::Random(case.seed))?;
            let mut recorded = Recorded::new(case.clone());
            if let Some(mismatch) = replay(&mut recorded, &mut rtl, &case.stimulus)? {
                println!("{}: RTL: {mismatch}", path.display());
                same = false;
            }
            by = "model and RTL";
        }
        let word = if same { "same" } else { "DIFFERENT" };
        println!("{}: {word} by {by}, {} cycles", path.display(), grouped(case.cycles));
        if !same {
            verdict = Verdict::Difference;
        }
    }
    Ok(verdict)
}

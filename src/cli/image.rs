use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use membrane::{filter::Status, image::Image, keys::KeyFormat};
use serde_json::json;

use super::{CoreArgs, Verdict, grouped, keys, progress};

#[derive(Subcommand)]
pub enum ImageCommand {
    /// Writes the memories of a filter, built from keys or dumped from hardware
    Build(BuildArgs),
    /// Queries a filter that was read back from an image
    Query(QueryArgs),
}

#[derive(Args)]
#[command(after_help = "The folder holds one $readmemh file per memory, and a Verilog module that
instantiates the core with them: it starts full, without a clearing sweep.

Examples:
  membrane image build partitioned --preset k7 --insert members.txt --out image
  membrane image build partitioned --preset tiny --dump 0.hex --dump 1.hex --dump 2.hex --out image
  membrane image build balanced --preset single-256 --dump blocks.hex --level 0 --out image

A filter with keys in its overflow list has no image: the list is no memory.")]
pub struct BuildArgs {
    #[command(flatten)]
    core: CoreArgs,
    /// File of keys to insert; - for standard input
    #[arg(long, value_name = "FILE", required_unless_present = "dumps")]
    insert: Option<PathBuf>,
    /// Dump of a memory as $writememh writes it; once per memory, in their order
    #[arg(long = "dump", value_name = "FILE", conflicts_with = "insert")]
    dumps: Vec<PathBuf>,
    /// With --dump: what the pin level showed, for a core with an overflow list
    #[arg(long, value_name = "N", conflicts_with = "insert")]
    level: Option<u64>,
    /// What the file of keys holds
    #[arg(long, value_enum, default_value = "decimal")]
    format: KeyFormat,
    /// The folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:
  membrane image query image --query trace.txt
  membrane image query image --query - --json < trace.txt")]
pub struct QueryArgs {
    /// The image's folder
    image: PathBuf,
    /// File of keys to query; - for standard input
    #[arg(long, value_name = "FILE")]
    query: PathBuf,
    /// What the file of keys holds
    #[arg(long, value_enum, default_value = "decimal")]
    format: KeyFormat,
    /// Prints 0 or 1 for every key instead of a summary
    #[arg(long, conflicts_with = "json")]
    answers: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

pub fn run(command: &ImageCommand) -> Result<Verdict> {
    match command {
        ImageCommand::Build(args) => build(args),
        ImageCommand::Query(args) => query(args),
    }
}

fn build(args: &BuildArgs) -> Result<Verdict> {
    let (core, params) = args.core.resolve()?;
    let image = if let Some(path) = &args.insert {
        let mut filter = core.filter(&params)?;
        let mut refused = 0u64;
        let bar = progress(0, "inserting");
        let key_w = params.at("KEY_W") as u32;
        keys::open(path, args.format, key_w, &bar)?.for_each(|key| {
            refused += u64::from(filter.insert(key).status == Status::Full);
        })?;
        bar.finish_and_clear();
        if refused > 0 {
            bail!("the filter refused {} keys: it is too small for them", grouped(refused));
        }
        Image::of(core, &params, filter.as_ref())?
    } else {
        Image::from_dumps(core, &params, &args.dumps, args.level)?
    };
    image.write(&args.out)?;
    println!("{}: {} memories of {} ({params})", args.out.display(), image.memories().len(), core.module());
    Ok(Verdict::Fine)
}

fn query(args: &QueryArgs) -> Result<Verdict> {
    let image = Image::read(&args.image)?;
    let filter = image.filter()?;
    let key_w = image.params().at("KEY_W") as u32;
    let mut hits = 0u64;
    let mut answers = String::new();
    let bar = progress(0, "querying");
    let queries = keys::open(&args.query, args.format, key_w, &bar)?.for_each(|key| {
        let hit = filter.contains(key);
        hits += u64::from(hit);
        if args.answers {
            answers += if hit { "1\n" } else { "0\n" };
        }
    })?;
    bar.finish_and_clear();
    if args.answers {
        print!("{answers}");
    } else if args.json {
        let report = json!({
            "core": image.core().name(), "parameters": image.params(), "queries": queries, "hits": hits,
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}: {} queries, {} hits", args.image.display(), grouped(queries), grouped(hits));
    }
    Ok(Verdict::Fine)
}

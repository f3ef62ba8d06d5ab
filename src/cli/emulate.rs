use std::{collections::HashSet, path::PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use membrane::{filter::Status, keys::KeyFormat};
use serde_json::json;

use super::{CoreArgs, Verdict, grouped, keys, progress};

#[derive(Args)]
#[command(
    after_help = "A false positive is a hit for a key that was not inserted: the inserted keys are kept \
beside the filter to tell.

Examples:
  membrane emulate partitioned --preset k7 --insert members.txt --query trace.txt
  membrane emulate partitioned --preset k7 --set ROWS=1000000 --format text --insert words --query -
  seq 1000 | membrane emulate partitioned --preset k7 --insert - --json"
)]
pub struct EmulateArgs {
    #[command(flatten)]
    core: CoreArgs,
    /// File of keys to insert, one a line; - for standard input
    #[arg(long, value_name = "FILE")]
    insert: PathBuf,
    /// File of keys to query; - for standard input
    #[arg(long, value_name = "FILE")]
    query: Option<PathBuf>,
    /// What a line holds
    #[arg(long, value_enum, default_value = "decimal")]
    format: KeyFormat,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct Counts {
    queries: u64,
    hits: u64,
    absent: u64,
    false_positives: u64,
    false_negatives: u64,
}

pub fn run(args: &EmulateArgs) -> Result<Verdict> {
    let (core, params) = args.core.resolve()?;
    if args.query.as_ref() == Some(&args.insert) && args.insert.as_os_str() == "-" {
        bail!("--insert and --query cannot both be standard input: put one into a file");
    }
    let key_w = params.at("KEY_W") as u32;
    let mut filter = core.filter(&params)?;

    let mut members = HashSet::new();
    let mut refused = 0u64;
    let bar = progress(0, "inserting");
    let inserted = keys::open(&args.insert, args.format, key_w, &bar)?.for_each(|key| {
        if filter.insert(key).status == Status::Full {
            refused += 1;
        } else {
            members.insert(key.to_vec());
        }
    })?;
    bar.finish_and_clear();

    let mut counts = Counts::default();
    if let Some(path) = &args.query {
        let bar = progress(0, "querying");
        counts.queries = keys::open(path, args.format, key_w, &bar)?.for_each(|key| {
            let hit = filter.contains(key);
            let member = members.contains(key);
            counts.hits += u64::from(hit);
            counts.absent += u64::from(!member);
            counts.false_positives += u64::from(hit && !member);
            counts.false_negatives += u64::from(!hit && member);
        })?;
        bar.finish_and_clear();
    }
    let bits: u64 = filter.memories().iter().map(|m| m.rows() as u64 * u64::from(m.width())).sum();
    let ones: u64 = filter.memories().iter().flat_map(|m| m.words()).map(|w| u64::from(w.count_ones())).sum();
    let distinct = members.len() as u64;
    let ratio = |a: u64, b: u64| if b == 0 { None } else { Some(a as f64 / b as f64) };
    let rate = ratio(counts.false_positives, counts.absent);
    if args.json {
        let report = json!({
            "core": core.name(), "parameters": params, "inserted": inserted, "refused": refused,
            "distinct": distinct, "memory_bits": bits, "bits_per_key": ratio(bits, distinct),
            "fill": ratio(ones, bits), "overflow": filter.level(), "queries": counts.queries, "hits": counts.hits,
            "absent": counts.absent, "false_positives": counts.false_positives,
            "false_negatives": counts.false_negatives, "false_positive_rate": rate,
        });
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{} ({params})", core.module());
        println!(
            "inserted   {} keys, {} distinct, {} refused",
            grouped(inserted),
            grouped(distinct),
            grouped(refused)
        );
        let per_key = ratio(bits, distinct).map_or("-".into(), |b| format!("{b:.2}"));
        println!(
            "memory     {} bits, {per_key} per key, {:.2} % set",
            grouped(bits),
            100.0 * ratio(ones, bits).unwrap_or(0.0)
        );
        println!("queries    {}, {} hits", grouped(counts.queries), grouped(counts.hits));
        if let Some(rate) = rate {
            // One standard deviation of the measurement itself.
            let deviation = (rate * (1.0 - rate) / counts.absent as f64).sqrt();
            println!(
                "false positives {} of {} absent keys: {:.4} % +- {:.4} %",
                grouped(counts.false_positives),
                grouped(counts.absent),
                100.0 * rate,
                100.0 * deviation
            );
        }
    }
    if counts.false_negatives > 0 {
        eprintln!("{} inserted keys were not found: this must not happen", counts.false_negatives);
        return Ok(Verdict::Difference);
    }
    Ok(Verdict::Fine)
}

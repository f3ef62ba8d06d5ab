use std::collections::HashSet;

use anyhow::{Result, ensure};
use clap::Args;
use membrane::size::{Choice, Cost, Need, rank};
use serde_json::json;

use super::{Verdict, grouped, table};

#[derive(Args)]
#[command(
    after_help = "Filters are ranked by bits of memory; the overflow list is not among them. `rows` counts rows \
read or written over all memories, `cycles` is the time from one operation to the next of its kind.

Examples:
  membrane size --keys 1000000 --fpr 0.001
  membrane size --keys 50000 --fpr 0.01 --row 512 --accesses 1
  membrane size --keys 50000 --fpr 0.01 --removals --json"
)]
pub struct SizeArgs {
    /// Keys that the filter will hold
    #[arg(long, value_name = "N")]
    keys: u64,
    /// Highest false positive rate
    #[arg(long, value_name = "P")]
    fpr: f64,
    /// Bits of a key
    #[arg(long, value_name = "BITS", default_value_t = 64)]
    key_width: u32,
    /// Most bits of memory, all banks together
    #[arg(long, value_name = "BITS")]
    memory: Option<u64>,
    /// Bits of a memory row, where the memory decides
    #[arg(long, value_name = "BITS")]
    row: Option<u32>,
    /// Most rows that a query may read, over all memories
    #[arg(long, value_name = "N")]
    accesses: Option<u32>,
    /// Keys will be removed
    #[arg(long)]
    removals: bool,
    /// Most entries of an overflow list
    #[arg(long, value_name = "DEPTH", default_value_t = 64)]
    cam: u32,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &SizeArgs) -> Result<Verdict> {
    ensure!(args.keys > 0, "--keys 0 needs no filter: give the number of keys it will hold");
    ensure!(
        args.fpr > 0.0 && args.fpr < 1.0,
        "--fpr {} is not a rate: give one above 0 and below 1",
        args.fpr
    );
    ensure!(args.row != Some(0), "--row 0 holds no bit: give the bits of a memory row");
    let need = Need {
        keys: args.keys,
        rate: args.fpr,
        key_w: args.key_width,
        memory: args.memory,
        row: args.row,
        accesses: args.accesses,
        removals: args.removals,
        cam: args.cam,
    };
    let ranking = rank(&need);
    if args.json {
        let choices: Vec<_> = ranking.choices.iter().map(as_json).collect();
        let all = json!({"choices": choices, "refusals": ranking.refusals});
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        let rows: Vec<_> = ranking.choices.iter().map(row).collect();
        if !rows.is_empty() {
            print!("{}", table::render(&HEAD, &rows));
        }
        let mut seen = HashSet::new();
        for choice in ranking.choices.iter().filter(|choice| seen.insert(choice.core)) {
            println!("\n{}, {}:", choice.core, choice.about);
            println!("  {}\n  {}", choice.cosim_command(), choice.export_command());
        }
        for refusal in &ranking.refusals {
            println!("\n{} does not do: it {}", refusal.core, refusal.why);
        }
    }
    Ok(if ranking.choices.is_empty() { Verdict::Difference } else { Verdict::Fine })
}

const HEAD: [&str; 8] =
    ["core", "variant", "bits/key", "rate", "query rows, cycles", "insert rows, cycles", "memories", "list"];

fn row(choice: &Choice) -> Vec<String> {
    let forecast = &choice.forecast;
    let cost = |cost: &Cost| format!("{}, {}", short(cost.accesses), short(cost.cycles));
    let memory = forecast.memories.iter().map(|sram| {
        let banks = if sram.banks == 1 { String::new() } else { format!("{} x ", sram.banks) };
        format!("{banks}{} x {}", grouped(sram.rows), sram.width)
    });
    let list = match forecast.cam {
        0 => "none".into(),
        entries => format!("{entries}, enough in {:.3} %", 100.0 * forecast.suffices),
    };
    vec![
        choice.core.into(),
        choice.about.clone(),
        format!("{:.2}", choice.bits_per_key),
        format!("{:.2e}", forecast.rate),
        cost(&forecast.query),
        cost(&forecast.insert),
        memory.collect::<Vec<_>>().join(" + "),
        list,
    ]
}

/// Two decimals, where there are any.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn as_json(choice: &Choice) -> serde_json::Value {
    let mut json = json!(choice);
    json["cosim"] = choice.cosim_command().into();
    json["export"] = choice.export_command().into();
    json
}

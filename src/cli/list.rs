use anyhow::Result;
use clap::Args;
use membrane::{
    Core,
    params::ParamSpec,
    registry::{self, Preset},
};
use serde_json::json;

use super::{Verdict, find_core, table};

#[derive(Args)]
#[command(after_help = "Examples:\n  membrane list\n  membrane list partitioned\n  membrane list --json")]
pub struct ListArgs {
    /// Only this core
    core: Option<String>,
    /// Prints JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ListArgs) -> Result<Verdict> {
    let cores = match &args.core {
        Some(name) => vec![find_core(name)?],
        None => registry::CORES.to_vec(),
    };
    if args.json {
        let cores: Vec<_> = cores.into_iter().map(as_json).collect();
        println!("{}", serde_json::to_string_pretty(&cores)?);
        return Ok(Verdict::Fine);
    }
    for (i, core) in cores.into_iter().enumerate() {
        if i > 0 {
            println!();
        }
        println!("{}: {}", core.name(), core.about());
        println!("module {}\n", core.module());
        let rows: Vec<_> = core.params().iter().map(param_row).collect();
        print!("{}", table::render(&["parameter", "range", "default", "what it sets"], &rows));
        for rule in core.rules() {
            println!("{}", rule.words);
        }
        println!();
        let rows: Vec<_> = core.presets().iter().map(preset_row).collect();
        print!("{}", table::render(&["preset", "what it is", "parameters"], &rows));
    }
    Ok(Verdict::Fine)
}

fn param_row(spec: &ParamSpec) -> Vec<String> {
    let range = match spec.range_rule() {
        _ if !spec.choices.is_empty() => {
            let choices: Vec<_> = spec.choices.iter().map(|(word, n)| format!("{n} {word}")).collect();
            choices.join(", ")
        }
        Some(_) => format!("{} to {}", spec.min, spec.max),
        None => "64 bits".into(),
    };
    let default = match spec.default {
        Some(value) if value > u64::from(u32::MAX) => format!("{value:#x}"),
        Some(value) => value.to_string(),
        None => "must be given".into(),
    };
    vec![spec.name.into(), range, default, spec.about.into()]
}

fn preset_row(preset: &Preset) -> Vec<String> {
    vec![preset.name.into(), preset.about.into(), preset.params().to_string()]
}

fn as_json(core: &dyn Core) -> serde_json::Value {
    let params = core.params().iter().map(|spec| {
        json!({
            "name": spec.name,
            "about": spec.about,
            "min": spec.min,
            "max": spec.max,
            "default": spec.default,
            "choices": spec.choices.iter().map(|(word, n)| json!({"name": word, "value": n})).collect::<Vec<_>>(),
        })
    });
    let presets = core
        .presets()
        .iter()
        .map(|preset| json!({"name": preset.name, "about": preset.about, "parameters": preset.params()}));
    json!({
        "name": core.name(),
        "about": core.about(),
        "module": core.module(),
        "parameters": params.collect::<Vec<_>>(),
        "rules": core.rules().iter().map(|rule| rule.words).collect::<Vec<_>>(),
        "presets": presets.collect::<Vec<_>>(),
    })
}

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use membrane::{
    repro::{Effort, Verdict as Judgement, count, papers, report, run as reproduce},
    whole::write_file,
};
use serde_json::json;

use super::{Verdict, progress, table};

#[derive(Args)]
#[command(after_help = "Exit code 1 if a figure is outside of its tolerance.

Examples:
  membrane repro
  membrane repro --full --markdown docs/repro.md
  membrane repro --json")]
pub struct ReproArgs {
    /// All formulas and short measurements: the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// All measurements
    #[arg(long)]
    full: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Writes a Markdown page
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

pub fn run(args: &ReproArgs) -> Result<Verdict> {
    let effort = if args.full { Effort::Full } else { Effort::Quick };
    let papers = papers()?;
    let bar = progress(papers.iter().map(|paper| paper.items.len() as u64).sum(), "reproducing");
    let chapters = reproduce(&papers, effort, &|| bar.inc(1));
    bar.finish_and_clear();
    if let Some(path) = &args.markdown {
        let speed = if args.full { "--full" } else { "--quick" };
        let command = format!("membrane repro {speed} --markdown {}", path.display());
        let page = report::markdown(&chapters, effort, &command);
        write_file(path, page.as_bytes())?;
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&json!({"effort": effort, "papers": chapters}))?);
    } else {
        for chapter in &chapters {
            println!("{}", chapter.title);
            for section in &chapter.sections {
                println!("\n{}", section.place);
                if !section.rows.is_empty() {
                    let rows: Vec<_> = section.rows.iter().map(report::cells).collect();
                    print!("{}", table::render(&report::HEAD, &rows));
                }
                for line in section.claims.iter().map(report::claim).chain(report::remarks(section)) {
                    println!("{line}");
                }
            }
            println!();
        }
        println!("{}", report::summary(&chapters));
    }
    let failed = count(&chapters, Judgement::Fails) > 0;
    Ok(if failed { Verdict::Difference } else { Verdict::Fine })
}

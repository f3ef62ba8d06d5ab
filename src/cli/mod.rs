//! The command line. Exit codes: 0 done, 1 a comparison found a difference, 2 bad
//! input or a failing tool.

/// As in the standard library, but for an end with a message where that panics: standard output
/// may be a file on a full disk.
macro_rules! println {
    () => { $crate::cli::say(format_args!("\n")) };
    ($($words:tt)*) => { $crate::cli::say(format_args!("{}\n", format_args!($($words)*))) };
}

/// See `println`.
macro_rules! print {
    ($($words:tt)*) => { $crate::cli::say(format_args!($($words)*)) };
}

#[cfg(feature = "cosim")]
mod cosim;
mod curves;
mod emulate;
mod export;
mod image;
mod keys;
mod list;
mod report;
mod repro;
mod size;
mod table;
mod vectors;

use std::{
    fmt,
    io::{self, Write as _},
    process::ExitCode,
};

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use membrane::{Core, Params, registry, whole};

#[derive(Parser)]
#[command(
    version,
    about,
    long_about = "Membership filters for hardware: models exact to the bit and to the \
    cycle, golden vectors, and co-simulation with the Verilog cores."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists cores, their parameters with ranges, and their presets
    List(list::ListArgs),
    /// Generates a golden vector case
    Vectors(vectors::VectorsArgs),
    /// Writes a folder that plays a case in other simulators, cocotb, and on a board
    Export(export::ExportArgs),
    /// Builds memory images that a core starts with, or queries a filter from them
    #[command(subcommand)]
    Image(image::ImageCommand),
    /// Checks cases: files, checksums, and the model's answers (with --rtl, the RTL's)
    Verify(vectors::VerifyArgs),
    /// Compares model and RTL in lock-step: every output pin in every cycle
    #[cfg(feature = "cosim")]
    Cosim(cosim::CosimArgs),
    /// Builds a filter from a file of keys and queries it with another
    Emulate(emulate::EmulateArgs),
    /// Measures false positive rates and loads of every core beside the theory
    Curves(curves::CurvesArgs),
    /// Makes one HTML page of what other commands found
    Report(report::ReportArgs),
    /// Finds cores and parameters for a number of keys and a false positive rate
    Size(size::SizeArgs),
    /// Computes and measures the papers' tables and figures again
    Repro(repro::ReproArgs),
}

/// How a command ended that did not fail.
enum Verdict {
    Fine,
    Difference,
}

pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::List(args) => list::run(&args),
        Command::Vectors(args) => vectors::generate(&args),
        Command::Export(args) => export::run(&args),
        Command::Image(command) => image::run(&command),
        Command::Verify(args) => vectors::verify(&args),
        #[cfg(feature = "cosim")]
        Command::Cosim(args) => cosim::run(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::Curves(args) => curves::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Size(args) => size::run(&args),
        Command::Repro(args) => repro::run(&args),
    };
    match result {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Difference) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The core and parameters that a command works on.
#[derive(Args, Clone)]
struct CoreArgs {
    /// The core: see `membrane list`
    core: String,
    /// Starts from the parameters of a preset
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Sets a parameter: decimal, 0x hexadecimal, or the name of a choice
    #[arg(long = "set", value_name = "NAME=VALUE")]
    sets: Vec<String>,
}

fn find_core(name: &str) -> Result<&'static dyn Core> {
    let Some(core) = registry::find(name) else {
        let known: Vec<_> = registry::CORES.iter().map(|core| core.name()).collect();
        bail!("there is no core {name}: there is {}", known.join(", "));
    };
    Ok(core)
}

impl CoreArgs {
    /// The core and its checked parameters.
    fn resolve(&self) -> Result<(&'static dyn Core, Params)> {
        let core = find_core(&self.core)?;
        let mut params = Params::new();
        if let Some(name) = &self.preset {
            let Some(preset) = core.presets().iter().find(|preset| preset.name == name) else {
                let known: Vec<_> = core.presets().iter().map(|preset| preset.name).collect();
                bail!("{} has no preset {name}: it has {}", core.name(), known.join(", "));
            };
            params = preset.params();
        }
        for text in &self.sets {
            params.parse_set(core.params(), core.name(), text)?;
        }
        Ok((core, core.check(&params)?))
    }
}

/// Prints on standard output, or ends the program with the reason why it cannot.
fn say(text: fmt::Arguments<'_>) {
    if let Err(error) = io::stdout().lock().write_fmt(text) {
        eprintln!("error: standard output: {error}: {}", whole::remedy(&error));
        std::process::exit(2);
    }
}

/// A bar on standard error; silent when that is not a terminal.
fn progress(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let style = ProgressStyle::with_template("{msg:32} {wide_bar} {human_pos}/{human_len} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what.to_owned());
    bar
}

/// A number with thousands apart.
fn grouped(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}

//! One co-simulation from parameters to verdict.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use thiserror::Error;
use verilated::{Error as RtlError, Init, Opt, Toolchain};

use crate::{
    clocked::{Clocked, Fault},
    params::{ConfigError, Params},
    pins::FilterPins,
    registry::Core,
    stimulus::{DriveError, Stimulus, Totals},
    vectors::{Case, Event, VectorError, transcript},
};

use super::{
    Design, Mismatch, RtlLibrary,
    lockstep::{hex, lockstep, replay},
    shrink::shrink,
};

/// A co-simulation that could not be carried out.
#[derive(Debug, Error)]
pub enum CosimError {
    /// The core refuses the parameters.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Verilator, the compiler or the built model failed.
    #[error(transparent)]
    Rtl(#[from] RtlError),
    /// The stimulus or a device failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The failing vector could not be written.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// A folder could not be made.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl From<Fault> for CosimError {
    fn from(fault: Fault) -> Self {
        Self::Drive(fault.into())
    }
}

/// A core, its parameters, and how long to compare.
#[derive(Clone, Debug)]
pub struct Job {
    /// The core.
    pub core: &'static dyn Core,
    /// All its parameters.
    pub params: Params,
    /// Of the stimulus, and of the power-up state.
    pub seed: u64,
    /// How many.
    pub cycles: u64,
}

/// What a job without mismatch measured.
#[derive(Clone, Debug)]
pub struct Report {
    /// Requests, responses, port use.
    pub totals: Totals,
    /// Time of model, stimulus, RTL and comparison, without building.
    pub time: Duration,
}

/// How a job ended.
#[derive(Debug)]
pub enum Outcome {
    /// No difference in any pin in any cycle, nor in any memory row.
    Equal(Report),
    /// A difference.
    Different(Box<Failure>),
}

/// A difference, with all that helps to find its cause.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Where the run found it.
    pub mismatch: Mismatch,
    /// Where the shortened vector shows it.
    pub short: Mismatch,
    /// Rows of the shortened vector.
    pub short_cycles: u64,
    /// Requests without a response at that moment, oldest first.
    pub in_flight: Vec<Event>,
    /// The folder with the shortened case and the waveform, if it was asked for.
    pub folder: Option<PathBuf>,
}

/// For the search for a short vector. Most bugs need less than a second.
const SHRINK: Duration = Duration::from_secs(10);
/// Cycles in the waveform of a mismatch.
const WAVE_CYCLES: usize = 400;

impl Job {
    /// Checks the parameters.
    pub fn new(
        core: &'static dyn Core,
        params: &Params,
        seed: u64,
        cycles: u64,
    ) -> Result<Self, ConfigError> {
        Ok(Self { core, params: core.check(params)?, seed, cycles })
    }

    /// The command that runs this job again.
    pub fn command(&self) -> String {
        let options = self.core.options(&self.params);
        format!("membrane cosim {}{options} --seed {} --cycles {}", self.core.name(), self.seed, self.cycles)
    }

    /// The RTL of the core as it is in `rtl/`.
    pub fn design(&self) -> Result<Design, ConfigError> {
        let model = self.core.clocked(&self.params)?;
        Ok(Design::new(self.core, &self.params, model.pins()))
    }

    /// Power-up state of the RTL: random, so that nothing can rely on it.
    pub fn init(&self) -> Init {
        Init::Random(self.seed)
    }

    /// Compares the clocked model with a built design. On a mismatch, looks for a
    /// short failing vector, and writes it with a waveform of its last cycles to
    /// `folder`, if given.
    pub fn run(
        &self,
        tools: &Toolchain,
        design: &Design,
        opt: Opt,
        folder: Option<&Path>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome, CosimError> {
        let library = design.build(tools, opt, false)?;
        let mut model = self.core.clocked(&self.params)?;
        let mut rtl = library.power_up(self.init())?;
        let mut stimulus = Stimulus::new(self.core, &self.params, self.seed, self.cycles)?;
        let start = Instant::now();
        let mismatch = lockstep(&mut stimulus, model.as_mut(), &mut rtl, self.cycles, progress)?;
        let time = start.elapsed();
        match mismatch {
            None => Ok(Outcome::Equal(Report { totals: stimulus.totals().clone(), time })),
            Some(mismatch) => self.explain(tools, design, &library, mismatch, folder),
        }
    }

    fn explain(
        &self,
        tools: &Toolchain,
        design: &Design,
        library: &RtlLibrary,
        mismatch: Mismatch,
        folder: Option<&Path>,
    ) -> Result<Outcome, CosimError> {
        // The seed gives the same rows again, so the run itself keeps none.
        let mut model = self.core.clocked(&self.params)?;
        let pins = model.pins().clone();
        let mut stimulus = Stimulus::new(self.core, &self.params, self.seed, self.cycles)?;
        let rows = mismatch.cycles() as usize;
        let mut inputs = vec![0; rows * pins.input_words()];
        let mut outputs = vec![0; rows * pins.output_words()];
        stimulus.drive(model.as_mut(), &mut inputs, &mut outputs)?;

        // Memories are defined only after the first sweep: a vector that shows a
        // difference in them must keep it.
        let keep = match mismatch {
            Mismatch::Memory { .. } => {
                let ready = pins.outputs().iter().find(|pin| pin.name == "req_ready");
                let mut rows = outputs.chunks_exact(pins.output_words());
                rows.position(|row| ready.is_some_and(|pin| pin.get(row) != 0)).map_or(0, |row| row + 1)
            }
            _ => 0,
        };
        let find = |rows: &[u64]| -> Result<Option<Mismatch>, CosimError> {
            let mut model = self.core.clocked(&self.params)?;
            let mut rtl = library.power_up(self.init())?;
            Ok(replay(model.as_mut(), &mut rtl, rows)?)
        };
        let same_kind = |found: &Mismatch| std::mem::discriminant(found) == std::mem::discriminant(&mismatch);
        let fails = |rows: &[u64]| find(rows).is_ok_and(|found| found.as_ref().is_some_and(same_kind));
        let mut short_rows = shrink(inputs, pins.input_words(), keep, SHRINK, fails);
        let short = find(&short_rows)?.unwrap_or_else(|| mismatch.clone());
        short_rows.truncate(short.cycles() as usize * pins.input_words());

        let mut model = self.core.clocked(&self.params)?;
        let mut expected = vec![0; short_rows.len() / pins.input_words() * pins.output_words()];
        model.run(&short_rows, &mut expected)?;
        let in_flight = FilterPins::of(&pins).map(|p| in_flight(&transcript(&p, &short_rows, &expected)));
        let short_cycles = (short_rows.len() / pins.input_words()) as u64;
        if let Some(folder) = folder {
            let case = Case {
                core: self.core.name().to_owned(),
                module: self.core.module().to_owned(),
                params: self.params.clone(),
                seed: self.seed,
                cycles: short_cycles,
                memories: model.memories()?,
                pins: pins.clone(),
                stimulus: short_rows.clone(),
                expected,
            };
            fs::create_dir_all(folder).map_err(|source| CosimError::Io { path: folder.into(), source })?;
            case.write(&folder.join("case"))?;
            let first = (short_cycles as usize).saturating_sub(WAVE_CYCLES);
            wave(
                &design.build(tools, Opt::Quick, true)?,
                self.init(),
                &short_rows,
                first,
                &folder.join("wave.fst"),
            )?;
        }
        Ok(Outcome::Different(Box::new(Failure {
            mismatch,
            short,
            short_cycles,
            in_flight: in_flight.unwrap_or_default(),
            folder: folder.map(Path::to_owned),
        })))
    }

    /// Plays the job's stimulus on the RTL alone and records the signals of
    /// `cycles` cycles from cycle `first` on.
    pub fn record_wave(
        &self,
        tools: &Toolchain,
        design: &Design,
        first: u64,
        cycles: u64,
        path: &Path,
    ) -> Result<(), CosimError> {
        let case = crate::stimulus::record(self.core, &self.params, self.seed, self.cycles)?;
        let rows = (first + cycles).min(self.cycles) as usize * case.pins.input_words();
        let library = design.build(tools, Opt::Quick, true)?;
        wave(&library, self.init(), &case.stimulus[..rows], first as usize, path)
    }
}

/// Plays rows and records the signals from row `first` on.
fn wave(library: &RtlLibrary, init: Init, rows: &[u64], first: usize, path: &Path) -> Result<(), CosimError> {
    let mut rtl = library.power_up(init)?;
    let (input, output) = (rtl.pins().input_words(), rtl.pins().output_words());
    let (before, after) = rows.split_at((first * input).min(rows.len()));
    rtl.run(before, &mut vec![0; before.len() / input * output])?;
    rtl.start_wave(path)?;
    rtl.run(after, &mut vec![0; after.len() / input * output])?;
    Ok(rtl.stop_wave()?)
}

/// Requests that have no response yet, oldest first.
fn in_flight(events: &[Event]) -> Vec<Event> {
    let mut waiting = std::collections::VecDeque::new();
    for event in events {
        match event {
            Event::Reset => waiting.clear(),
            Event::Request { .. } => waiting.push_back(event.clone()),
            Event::Response { .. } => {
                waiting.pop_front();
            }
        }
    }
    waiting.into()
}

impl Failure {
    /// The report for people: what differs, for which run, and how to see it again.
    pub fn describe(&self, job: &Job) -> String {
        let mut text = format!("MISMATCH in {} ({})\n", job.core.module(), job.params);
        let _ = writeln!(text, "  seed {}, {}", job.seed, self.mismatch);
        let _ =
            writeln!(text, "  shortest failing vector found: {} cycles; {}", self.short_cycles, self.short);
        if self.in_flight.is_empty() {
            let _ = writeln!(text, "  no request was in flight then");
        } else {
            let _ = writeln!(text, "  requests in flight then, oldest first:");
        }
        for event in &self.in_flight {
            if let Event::Request { cycle, op, key, tag } = event {
                let _ = writeln!(text, "    cycle {cycle}: {op:?} key {} tag {tag:#x}", hex(key));
            }
        }
        if let Some(folder) = &self.folder {
            let _ = writeln!(text, "  vector:    {}", folder.join("case").display());
            let _ = writeln!(text, "  waveform:  {}", folder.join("wave.fst").display());
        }
        let _ = writeln!(text, "  reproduce: {}", job.command());
        text
    }
}

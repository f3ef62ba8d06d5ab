//! What to build.

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use crate::build::Build;
use crate::cache::{self, Cache};
use crate::{Error, Library, Param, Source, Toolchain, shim};

/// How much work goes into the model's speed.
///
/// Measured with g++ 12 and Verilator 5.049 on one small pipelined core with
/// four memories: [`Opt::Fast`] runs 1.5 times as fast as [`Opt::Quick`] and
/// takes 1.2 times as long to build (1.3 s against 1.1 s). Against `-O3`, `-O2`
/// is 7 % slower and `-Os` a third. Tried and left out: `-march=native`, worth
/// 3 to 5 %, which would tie the cache to one kind of processor; Verilator's
/// `--x-assign fast` or `0`, `-fno-table` and `--inline-mult`, which made no
/// difference beyond the noise. What made by far the most is not an option:
/// going around the bookkeeping in Verilator's `eval()` is worth a factor of 2.7
/// here, and of 5 for a mere counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Opt {
    /// Builds fast: `-O1`. For runs of up to some millions of cycles.
    #[default]
    Quick,
    /// Runs fast: `-O3`. For long runs.
    Fast,
}

/// Describes a model and builds it, or takes it from the cache.
///
/// ```no_run
/// use verilated::{Builder, Opt, Source, Toolchain};
///
/// let library = Builder::new("fifo")
///     .source(Source::read("rtl/fifo.v")?)
///     .source(Source::read("rtl/ram.v")?)
///     .param("DEPTH", 1024)
///     .memory("ram", "mem")
///     .input_order(["rst", "push", "pop", "data"])
///     .optimize(Opt::Fast)
///     .build(&Toolchain::find(&[])?)?;
/// println!("{} bits in, {} bits out", library.inputs().bits(), library.outputs().bits());
/// # Ok::<(), verilated::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[must_use = "nothing happens until build is called"]
#[allow(clippy::struct_excessive_bools)] // each is an option of its own
pub struct Builder {
    pub(crate) top: String,
    pub(crate) sources: Vec<Source>,
    pub(crate) params: Vec<(String, Param)>,
    pub(crate) defines: Vec<(String, String)>,
    pub(crate) clock: Option<String>,
    pub(crate) input_order: Option<Vec<String>>,
    pub(crate) output_order: Option<Vec<String>>,
    pub(crate) memories: Vec<(String, String)>,
    pub(crate) trace: bool,
    pub(crate) coverage: bool,
    pub(crate) coverage_user: bool,
    pub(crate) assertions: bool,
    pub(crate) opt: Opt,
    pub(crate) warnings_fatal: bool,
    // Where the outcome lies does not change it.
    #[serde(skip)]
    cache_dir: Option<PathBuf>,
}

impl Builder {
    /// A model of the module `top`, with the clock `clk`.
    pub fn new(top: impl Into<String>) -> Self {
        Self {
            top: top.into(),
            sources: Vec::new(),
            params: Vec::new(),
            defines: Vec::new(),
            clock: Some("clk".to_owned()),
            input_order: None,
            output_order: None,
            memories: Vec::new(),
            trace: false,
            coverage: false,
            coverage_user: false,
            assertions: true,
            opt: Opt::default(),
            warnings_fatal: false,
            cache_dir: None,
        }
    }

    /// Adds a file of the design.
    pub fn source(mut self, source: Source) -> Self {
        self.sources.push(source);
        self
    }

    /// Adds files of the design. They are compiled in this order.
    pub fn sources(mut self, sources: impl IntoIterator<Item = Source>) -> Self {
        self.sources.extend(sources);
        self
    }

    /// Sets a parameter of the top module. One that the module does not have is
    /// an error.
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Param>) -> Self {
        self.params.push((name.into(), value.into()));
        self
    }

    /// Defines a macro of the preprocessor; the value may be empty.
    pub fn define(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.defines.push((name.into(), value.into()));
        self
    }

    /// Names the clock; it is driven by [`Model::run`](crate::Model::run) and
    /// not among the inputs. The default is `clk`.
    pub fn clock(mut self, name: impl Into<String>) -> Self {
        self.clock = Some(name.into());
        self
    }

    /// Says that there is no clock: each row is applied, settles and is sampled.
    pub fn combinational(mut self) -> Self {
        self.clock = None;
        self
    }

    /// Packs the inputs in this order, the first at bit 0, instead of the order
    /// of their declaration. Every input but the clock must be listed once.
    pub fn input_order<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.input_order = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Packs the outputs in this order, the first at bit 0, instead of the order
    /// of their declaration. Every output must be listed once.
    pub fn output_order<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.output_order = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Exposes the array `variable` in every instance of `module` to
    /// [`Model::read_memory`](crate::Model::read_memory) and
    /// [`Model::write_memory_row`](crate::Model::write_memory_row). The Verilog
    /// needs no mark for this.
    pub fn memory(mut self, module: impl Into<String>, variable: impl Into<String>) -> Self {
        self.memories.push((module.into(), variable.into()));
        self
    }

    /// Allows waveforms. Costs next to nothing while none is written, and a longer
    /// build.
    pub fn trace(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }

    /// Counts which lines run and which bits toggle. The same small core
    /// as for [`Opt`] then runs some 25 times slower.
    pub fn coverage(mut self, on: bool) -> Self {
        self.coverage = on;
        self
    }

    /// Counts the design's own `cover property` statements.
    pub fn coverage_user(mut self, on: bool) -> Self {
        self.coverage_user = on;
        self
    }

    /// Whether assertions in the design are checked; on by default.
    pub fn assertions(mut self, on: bool) -> Self {
        self.assertions = on;
        self
    }

    /// Chooses between a quick build and a fast model.
    pub fn optimize(mut self, opt: Opt) -> Self {
        self.opt = opt;
        self
    }

    /// Turns on all of Verilator's warnings and fails on any. By default they
    /// are silent.
    pub fn warnings_fatal(mut self, on: bool) -> Self {
        self.warnings_fatal = on;
        self
    }

    /// Where built models are kept. The default is `$VERILATED_CACHE`, else
    /// `$XDG_CACHE_HOME/verilated`, else `~/.cache/verilated`.
    pub fn cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(dir.into());
        self
    }

    /// Takes the model from the cache, or builds it and puts it there.
    ///
    /// Safe to call from several threads and processes at once: one builds, the
    /// others wait for it.
    pub fn build(&self, tools: &Toolchain) -> Result<Library, Error> {
        let start = Instant::now();
        let cache_dir = self.cache_dir.clone().map_or_else(Cache::default_dir, Ok)?;
        let cache = Cache::open(&cache_dir)?;
        let key = self.key(tools);
        if let Some(entry) = cache.lookup(&key) {
            return Library::load(entry, true, start);
        }
        let _lock = cache.lock(&key)?;
        // Another may have built it while this one waited.
        if let Some(entry) = cache.lookup(&key) {
            return Library::load(entry, true, start);
        }
        cache.sweep();
        let entry = Build { spec: self, tools, cache: &cache }.run(&key)?;
        Library::load(entry, false, start)
    }

    /// Everything that decides over the outcome of a build.
    fn key(&self, tools: &Toolchain) -> String {
        #[derive(Serialize)]
        struct Key<'a> {
            generator: &'a str,
            target: [&'a str; 2],
            tools: [&'a str; 3],
            spec: &'a Builder,
        }
        let key = Key {
            generator: shim::GENERATOR,
            target: [std::env::consts::ARCH, std::env::consts::OS],
            tools: tools.fingerprint(),
            spec: self,
        };
        cache::sha256(&serde_json::to_vec(&key).expect("plain data"))
    }
}

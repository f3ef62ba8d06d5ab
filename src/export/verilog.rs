//! The parts of the Verilog templates that depend on pins, parameters and memories.

use crate::{
    params::Params,
    pins::{Pin, PinMap},
    registry::Core,
    sram::Memory,
    vectors::Case,
};

use super::fill::fill;

/// A Verilog module `<module><suffix>` with the core's pins and its parameters
/// fixed; `init` is the prefix of the memory images that it starts from.
pub fn wrapper(core: &dyn Core, params: &Params, pins: &PinMap, suffix: &str, init: Option<&str>) -> String {
    let all = || pins.inputs().iter().chain(pins.outputs());
    let ports = all().map(|pin| {
        let direction = if is_input(pin) { "input  wire" } else { "output wire" };
        if pin.width == 1 && pin.name != "level" {
            format!("    {direction} {}", pin.name)
        } else {
            format!("    {direction} [{}:0] {}", pin.width - 1, pin.name)
        }
    });
    let mut values: Vec<_> = core
        .params()
        .iter()
        .filter_map(|spec| Some((spec, params.get(spec.name)?)))
        .map(|(spec, value)| {
            // Beyond an integer's range a number needs a size.
            let wide = spec.max > u64::from(u32::MAX);
            let literal = if wide { format!("64'h{value:016x}") } else { value.to_string() };
            format!("      .{}({literal})", spec.name)
        })
        .collect();
    values.extend(init.map(|prefix| format!("      .INIT(\"{prefix}\")")));
    let connections: Vec<_> = all().map(|pin| format!("      .{0}({0})", pin.name)).collect();
    let text = fill(
        include_str!("templates/fixed.v"),
        &[
            ("MODULE", core.module().to_owned()),
            ("PORTS", ports.collect::<Vec<_>>().join(",\n")),
            ("PARAMETERS", values.join(",\n")),
            ("CONNECTIONS", connections.join(",\n")),
        ],
    );
    text.replace(&format!("module {}_fixed", core.module()), &format!("module {}{suffix}", core.module()))
}

fn is_input(pin: &Pin) -> bool {
    pin.direction == crate::pins::Direction::Input
}

/// The rows of the table of pins.
pub fn pin_table(pins: &PinMap) -> String {
    let row = |pin: &Pin| {
        let direction = if is_input(pin) { "input" } else { "output" };
        let last = pin.lsb + pin.width - 1;
        if last == pin.lsb {
            format!("| `{}` | {direction} | {last} |", pin.name)
        } else {
            format!("| `{}` | {direction} | {last} to {} |", pin.name, pin.lsb)
        }
    };
    pins.inputs().iter().chain(pins.outputs()).map(row).collect::<Vec<_>>().join("\n")
}

/// The words of the test benches.
pub struct Bench {
    words: Vec<(&'static str, String)>,
}

impl Bench {
    /// For a case whose reset pin is at bit `reset` of an input row.
    pub fn new(case: &Case, reset: u32) -> Self {
        let pins = &case.pins;
        let lines = |lines: Vec<String>| lines.join("\n");
        let widths = case.memories.iter().map(Memory::width);
        let widest = widths.chain([pins.input_bits(), pins.output_bits()]).max().unwrap_or(1);
        let word_bits = widest.next_multiple_of(32);
        let slices = word_bits / 32;

        let wire = |pin: &Pin| format!("  wire [{}:0] {};", pin.width - 1, pin.name);
        let input = |pin: &Pin| format!("      .{}(inputs[{}+:{}])", pin.name, pin.lsb, pin.width);
        let output = |pin: &Pin| format!("      .{0}({0})", pin.name);
        let check = |pin: &Pin| {
            format!("        `MEMBRANE_PIN({0}, \"{0}\", {1}, {2})", pin.name, pin.lsb, pin.width)
        };
        let connections: Vec<_> =
            pins.inputs().iter().map(input).chain(pins.outputs().iter().map(output)).collect();
        let high_first: Vec<_> = pins.outputs().iter().rev().map(|pin| pin.name.as_str()).collect();

        let memories = || (0..).zip(&case.memories).map(|(i, memory): (u32, _)| (i, memory));
        let arrays = memories().map(|(i, memory)| {
            format!("  reg [{}:0] memory{i}[0:{}];", memory.width() - 1, memory.rows() - 1)
        });
        let loads = memories().map(|(i, memory)| {
            let sum = checksum(slices, (0..memory.rows()).map(|row| memory.row(row)));
            format!(
                "    `MEMBRANE_LOAD(memory{i}, \"memory{i}.hex\", {}, {}, 32'h{sum:08x})",
                memory.rows(),
                memory.width().div_ceil(4)
            )
        });
        let checks = memories().map(|(i, memory)| {
            let (path, rows) = (memory.path(), memory.rows());
            format!("      `MEMBRANE_MEMORY(memory{i}, dut.core.{path}, \"{path}\", {rows})")
        });
        let stimulus = checksum(slices, case.stimulus.chunks_exact(pins.input_words()));
        let expected = checksum(slices, case.expected.chunks_exact(pins.output_words()));

        let words = vec![
            ("MODULE", case.module.clone()),
            ("CYCLES", case.cycles.to_string()),
            ("INPUT_BITS", pins.input_bits().to_string()),
            ("OUTPUT_BITS", pins.output_bits().to_string()),
            ("WORD_BITS", word_bits.to_string()),
            ("LINE_BYTES", (widest.div_ceil(4) + 8).to_string()),
            ("INPUT_DIGITS", pins.input_bits().div_ceil(4).to_string()),
            ("OUTPUT_DIGITS", pins.output_bits().div_ceil(4).to_string()),
            ("STIMULUS_SUM", format!("{stimulus:08x}")),
            ("EXPECTED_SUM", format!("{expected:08x}")),
            ("RST", reset.to_string()),
            ("MEMORY_ARRAYS", lines(arrays.collect())),
            ("MEMORY_LOADS", lines(loads.collect())),
            ("MEMORY_CHECKS", lines(checks.collect())),
            ("OUTPUT_WIRES", lines(pins.outputs().iter().map(wire).collect())),
            ("CONNECTIONS", connections.join(",\n")),
            ("PIN_CHECKS", lines(pins.outputs().iter().map(check).collect())),
            ("OUTPUTS_HIGH_FIRST", high_first.join(", ")),
            ("OUTPUT_COUNT", pins.outputs().len().to_string()),
            ("MEMORY_COUNT", case.memories.len().to_string()),
        ];
        Self { words }
    }

    /// Every word that a bench template may have.
    pub fn words(&self) -> &[(&'static str, String)] {
        &self.words
    }
}

/// What the test bench computes over the rows that it loaded: for every 32 bits of
/// every row, low ones first, rotate and exclusive-or. Any one bit changes it.
fn checksum(slices: u32, rows: impl Iterator<Item = impl AsRef<[u64]>>) -> u32 {
    let mut sum = 0u32;
    for row in rows {
        for slice in 0..slices {
            let word = row.as_ref().get((slice / 2) as usize).copied().unwrap_or(0);
            sum = sum.rotate_left(1) ^ (word >> (slice % 2 * 32)) as u32;
        }
    }
    sum
}

//! Writes the C++ between the generated model and Rust: packing with constant
//! shifts, so that a cycle costs little beyond the design's own evaluation.

use std::fmt::Write;

use crate::layout::{Layout, PinSlot, mask};
use crate::memories::Variable;
use crate::ports::Port;

/// Raised with any change to the interface between the shim and Rust; checked
/// when a library is loaded.
pub(crate) const ABI: u64 = 1;

const TEMPLATE: &str = include_str!("shim.cpp");

/// Everything in this crate that decides over what is built. Part of every
/// cache key, so that no model of an older generator is ever taken: a number
/// raised by hand would be forgotten sooner or later.
pub(crate) const GENERATOR: &str = concat!(
    include_str!("shim.cpp"),
    include_str!("shim.rs"),
    include_str!("build.rs"),
    include_str!("layout.rs"),
    include_str!("memories.rs"),
    include_str!("ports.rs"),
    include_str!("source.rs"),
);

/// What the shim is written for.
pub(crate) struct Shim<'a> {
    pub ports: &'a [Port],
    pub inputs: &'a Layout,
    pub outputs: &'a Layout,
    /// Member of the generated class, if there is a clock.
    pub clock: Option<&'a str>,
    pub memories: &'a [Variable],
    /// The generated C++ files, included in this order.
    pub sources: &'a [String],
}

impl Shim<'_> {
    /// The whole translation unit.
    pub(crate) fn text(&self) -> String {
        let mut includes = format!("#define SHIM_CLOCKED {}\n", u8::from(self.clock.is_some()));
        for source in self.sources {
            let _ = writeln!(includes, "#include \"{source}\"");
        }
        TEMPLATE
            .replace("@SOURCES@", &includes)
            .replace("@APPLY@", &self.apply())
            .replace("@SAMPLE@", &self.sample())
            .replace("@MEMORIES@", &self.add_memories())
            .replace("@CLOCK@", self.clock.unwrap_or("clk"))
            .replace("@IN_WORDS@", &self.inputs.words().to_string())
            .replace("@OUT_WORDS@", &self.outputs.words().to_string())
            .replace("@ABI@", &ABI.to_string())
    }

    fn member(&self, pin: &PinSlot) -> &str {
        let port = self.ports.iter().find(|p| p.name == pin.name);
        &port.expect("layouts are made from these ports").member
    }

    fn add_memories(&self) -> String {
        let mut text = String::new();
        for Variable { path, place, bits, .. } in self.memories {
            let path = path.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(text, "    add_memory(m, \"{path}\", symbols.{place}, {bits});");
        }
        text
    }

    /// One assignment for each input, or for each 32 bits of a wide one.
    fn apply(&self) -> String {
        let mut text = String::new();
        for pin in &self.inputs.pins {
            for part in parts(pin) {
                let (word, shift) = (part.at / 64, part.at % 64);
                let mut value = format!("in[{word}] >> {shift}");
                if shift + part.bits > 64 {
                    value = format!("({value} | in[{}] << {})", word + 1, 64 - shift);
                }
                let _ = writeln!(
                    text,
                    "    root.{}{} = ({value}) & {:#x}ULL;",
                    self.member(pin),
                    part.index,
                    mask(part.bits)
                );
            }
        }
        text
    }

    /// One assignment for each word, which ors all that lies in it.
    fn sample(&self) -> String {
        let mut words = vec![Vec::new(); self.outputs.words()];
        for pin in &self.outputs.pins {
            for part in parts(pin) {
                let (word, shift) = (part.at / 64, part.at % 64);
                let value = format!(
                    "(uint64_t{{root.{}{}}} & {:#x}ULL)",
                    self.member(pin),
                    part.index,
                    mask(part.bits)
                );
                words[word].push(format!("{value} << {shift}"));
                if shift + part.bits > 64 {
                    words[word + 1].push(format!("{value} >> {}", 64 - shift));
                }
            }
        }
        let mut text = String::new();
        for (index, terms) in words.iter().enumerate() {
            let _ = writeln!(text, "    out[{index}] = {};", terms.join("\n        | "));
        }
        text
    }
}

/// A piece of a pin that is one C++ number.
struct Part {
    /// `[i]` into a wide pin's words, or nothing.
    index: String,
    /// Position in the row.
    at: usize,
    bits: usize,
}

/// Verilator keeps up to 64 bits in one number, and more in an array of 32 each.
fn parts(pin: &PinSlot) -> Vec<Part> {
    if pin.width <= 64 {
        return vec![Part { index: String::new(), at: pin.lsb, bits: pin.width }];
    }
    (0..pin.width.div_ceil(32))
        .map(|i| Part { index: format!("[{i}]"), at: pin.lsb + 32 * i, bits: (pin.width - 32 * i).min(32) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Direction;

    #[test]
    fn packing_expressions() {
        let port = |name: &str, direction, width| Port {
            name: name.into(),
            member: format!("m_{name}"),
            direction,
            width,
        };
        let ports = [
            port("a", Direction::Input, 60),
            port("b", Direction::Input, 8),
            port("q", Direction::Output, 70),
        ];
        let inputs = Layout::pack([("a", 60), ("b", 8)]);
        let outputs = Layout::pack([("q", 70)]);
        let shim = Shim {
            ports: &ports,
            inputs: &inputs,
            outputs: &outputs,
            clock: None,
            memories: &[],
            sources: &[],
        };
        assert_eq!(
            shim.apply(),
            "    root.m_a = (in[0] >> 0) & 0xfffffffffffffffULL;\n    \
             root.m_b = ((in[0] >> 60 | in[1] << 4)) & 0xffULL;\n"
        );
        assert_eq!(
            shim.sample(),
            "    out[0] = (uint64_t{root.m_q[0]} & 0xffffffffULL) << 0\n        \
             | (uint64_t{root.m_q[1]} & 0xffffffffULL) << 32;\n    \
             out[1] = (uint64_t{root.m_q[2]} & 0x3fULL) << 0;\n"
        );
        assert!(!shim.text().contains('@'), "every placeholder is filled");
    }
}

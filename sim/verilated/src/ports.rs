//! The top module's ports, read from what Verilator generates.

use std::collections::HashMap;

use crate::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Input,
    Output,
}

/// One port of the top module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    /// Name in the Verilog source.
    pub name: String,
    /// Name of the member in the generated C++ class.
    pub member: String,
    pub direction: Direction,
    pub width: usize,
}

/// Reads the ports from the generated model's header.
pub(crate) fn parse_header(header: &str) -> Result<Vec<Port>, Error> {
    let body = header.lines().map(str::trim).skip_while(|l| *l != "// PORTS").skip(1);
    let body = body.take_while(|l| *l != "// CELLS").filter(|l| !l.is_empty());
    body.filter(|l| !l.starts_with("//")).map(parse_port).collect()
}

/// `VL_IN8(&name,msb,lsb);`, `VL_OUTW(&name,msb,lsb,words);` and so on.
fn parse_port(line: &str) -> Result<Port, Error> {
    let port = || -> Option<Port> {
        let (kind, rest) = line.split_once('(')?;
        let direction = match kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'W') {
            "VL_IN" => Direction::Input,
            "VL_OUT" => Direction::Output,
            _ => return None,
        };
        let mut fields = rest.strip_suffix(");")?.strip_prefix('&')?.split(',');
        let member = fields.next()?.to_owned();
        let (msb, lsb): (i64, i64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let width = usize::try_from((msb - lsb).abs() + 1).ok()?;
        Some(Port { name: verilog_name(&member), member, direction, width })
    };
    port().ok_or_else(|| {
        Error::Port(format!(
            "a port of the top module cannot be packed (only plain inputs and outputs can; no \
             inouts, arrays, reals or interfaces): {line}"
        ))
    })
}

/// Undoes Verilator's encoding: `__SYM__` before C++ keywords, `__0hh` for
/// characters that C++ does not allow in names.
fn verilog_name(member: &str) -> String {
    let member = member.strip_prefix("__SYM__").unwrap_or(member);
    let mut parts = member.split("__0");
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(byte) = part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            name.push(byte.into());
            name.push_str(&part[2..]);
        } else {
            name.push_str("__0");
            name.push_str(part);
        }
    }
    name
}

/// Sorts `ports` as the top module declares them: Verilator's header has them
/// by size. `text` is the preprocessed design.
///
/// No parser of Verilog is needed, since the names are known: what counts is
/// where each first appears in the module's port list.
pub(crate) fn sort_by_declaration(ports: &mut [Port], text: &str, top: &str) {
    let mut place = HashMap::new();
    for (index, name) in port_list(text, top).into_iter().enumerate() {
        place.entry(name).or_insert(index);
    }
    // Stable: a port that is not found keeps its place among its like, at the end.
    ports.sort_by_key(|p| place.get(p.name.as_str()).copied().unwrap_or(usize::MAX));
}

/// All identifiers between the parentheses of `module TOP #(...) (...)`.
fn port_list<'a>(text: &'a str, top: &str) -> Vec<&'a str> {
    let mut tokens = Tokens { rest: text };
    while let Some(token) = tokens.next() {
        let is_module = matches!(token, "module" | "macromodule");
        if !is_module || tokens.find(|t| !matches!(*t, "automatic" | "static")) != Some(top) {
            continue;
        }
        let mut depth = 0;
        let (mut in_parameters, mut in_import) = (false, false);
        let mut names = Vec::new();
        for token in tokens.by_ref() {
            match token {
                "import" if depth == 0 => in_import = true,
                ";" if depth == 0 && in_import => in_import = false,
                ";" if depth == 0 => break,
                "#" if depth == 0 => in_parameters = true,
                "(" => depth += 1,
                ")" => {
                    depth -= 1;
                    in_parameters &= depth > 0;
                }
                _ if depth > 0 && !in_parameters => names.push(token),
                _ => {}
            }
        }
        return names;
    }
    Vec::new()
}

/// Identifiers (escaped ones without their backslash), strings, and all else by
/// the character. Comments are already gone.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let first = text.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end_of = |c: fn(char) -> bool, from: usize| text[from..].find(c).map_or(text.len(), |i| from + i);
        let (token, end) = match first {
            '\\' => {
                let end = end_of(char::is_whitespace, 1);
                (&text[1..end], end)
            }
            '"' => {
                let mut escaped = false;
                let end = text[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let end = end.map_or(text.len(), |i| i + 2);
                (&text[..end], end)
            }
            c if is_word(c) => {
                let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
                (&text[..end], end)
            }
            c => (&text[..c.len_utf8()], c.len_utf8()),
        };
        self.rest = &text[end..];
        Some(token)
    }
}

/// The run-time library's sources that the model needs, from the generated
/// `_classes.mk`: `verilated`, `verilated_threads` and so on.
pub(crate) fn runtime_units(classes_mk: &str) -> Vec<String> {
    let mut units = Vec::new();
    let mut listing = false;
    for line in classes_mk.lines().map(str::trim) {
        if listing && !line.is_empty() {
            units.push(line.trim_end_matches('\\').trim().to_owned());
        }
        listing = line.ends_with('\\') && (listing || line.starts_with("VM_GLOBAL_"));
    }
    units.retain(|unit| !unit.is_empty());
    units
}

#[cfg(test)]
mod tests {
    use super::Direction::{Input, Output};
    use super::*;

    #[test]
    fn header() {
        let header = "\
            // PORTS\n// The application code writes\n    VL_IN8(&clk,0,0);\n    VL_OUT16(&odd__02ename,15,0);\n\
            VL_INW(&d,99,0,4);\n    VL_OUT64(&___05Fn,39,0);\n    VL_IN(&__SYM__new,0,19);\n\n    // CELLS\n    int x;\n";
        let ports = parse_header(header).unwrap();
        let seen: Vec<_> = ports.iter().map(|p| (p.name.as_str(), p.direction, p.width)).collect();
        assert_eq!(
            seen,
            [
                ("clk", Input, 1),
                ("odd.name", Output, 16),
                ("d", Input, 100),
                ("__n", Output, 40),
                ("new", Input, 20)
            ]
        );
        assert_eq!(ports[4].member, "__SYM__new");
    }

    #[test]
    fn unsupported_ports_are_named() {
        for line in ["VL_INOUT8(&pad,0,0);", "VL_IN8((&arr)[4],7,0);", "double &r;"] {
            let error = parse_header(&format!("// PORTS\n{line}\n// CELLS\n")).unwrap_err();
            assert!(error.to_string().contains(line), "{error}");
        }
    }

    #[test]
    fn declaration_order() {
        let text = "module sub (input z, input a); endmodule\n\
            module top import p::*; #(parameter a = 1, parameter S = \")(\", parameter [3:0] T = f(2)) (\n\
              input clk, input [W(b)-1:0] d, output reg \\odd.name , output a); wire c; endmodule";
        assert_eq!(
            port_list(text, "top"),
            [
                "input", "clk", ",", "input", "[", "W", "b", "-", "1", ":", "0", "]", "d", ",", "output",
                "reg", "odd.name", ",", "output", "a"
            ]
        );
        let port = |name: &str| Port {
            name: name.into(),
            member: name.into(),
            direction: Direction::Input,
            width: 1,
        };
        let mut ports = vec![port("a"), port("unknown"), port("odd.name"), port("d"), port("clk")];
        sort_by_declaration(&mut ports, text, "top");
        let names: Vec<_> = ports.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["clk", "d", "odd.name", "a", "unknown"]);
    }

    #[test]
    fn runtime() {
        let mk = "VM_SUPPORT_SLOW += \\\n\tVmodel__Syms \\\n\nVM_GLOBAL_FAST += \\\n\tverilated \\\n\tverilated_threads \\\n\nVM_GLOBAL_SLOW += \\\n\n# end\n";
        assert_eq!(runtime_units(mk), ["verilated", "verilated_threads"]);
    }
}

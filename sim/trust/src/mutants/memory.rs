//! What stands for the memories of core and mutant in a proof.

use std::fmt::Write as _;

use super::netlist::MEMORY;
use crate::sets::Set;

/// The memories of a proof, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memories {
    /// Every read gives anything at all, the same to both; what both do at the ports of their
    /// memories is compared like pins. Who cannot be told apart so cannot with real memories.
    Any,
    /// The same with rows that keep the rule of the core: the others read as zeros. Right where
    /// the core itself writes no row that breaks it, which is a proof of its own.
    Ruled,
    /// The real ones, as registers.
    Real,
}

/// A memory that remembers nothing. A read takes `cut_any`, an input of the proof; the other
/// `cut_` wires are what it shows of the port.
const CUT: &str = "
module membrane_sram_1p #(
    parameter DEPTH  = 0,
    parameter WIDTH  = 0,
    parameter MASKED = 0,
    parameter INIT   = \"\",
    parameter INDEX  = 0,
    parameter ADDR_W = $clog2(DEPTH)
) (
    input  wire              clk,
    input  wire              en,
    input  wire              we,
    input  wire [ADDR_W-1:0] addr,
    input  wire [ WIDTH-1:0] wdata,
    input  wire [ WIDTH-1:0] wmask,
    output reg  [ WIDTH-1:0] rdata
);
  wire [WIDTH-1:0] cut_any;
  wire legal, write_legal;
  RULE
  wire [WIDTH-1:0] written = (MASKED != 0) ? wmask : {WIDTH{1'b1}};
  wire cut_en = en;
  wire cut_we = en && we;
  wire [ADDR_W-1:0] cut_addr = en ? addr : {ADDR_W{1'b0}};
  wire [WIDTH-1:0] cut_wmask = cut_we ? written : {WIDTH{1'b0}};
  wire [WIDTH-1:0] cut_wdata = wdata & cut_wmask;
  wire cut_illegal = cut_we && !write_legal;
  always @(posedge clk) if (en && !we) rdata <= legal ? cut_any : {WIDTH{1'b0}};
endmodule
";

/// The rules that rows keep, by core: a module `row_rule` with parameters of the core, a `row`
/// and whether it is `legal`.
const RULES: [(&str, &str); 1] = [("tinyset", include_str!("../../rows/tinyset.v"))];

/// The rule of a set's core, if it has one.
fn rule(set: &Set) -> Option<&'static str> {
    RULES.iter().find(|(core, _)| *core == set.core.name()).map(|(_, text)| *text)
}

impl Memories {
    /// Those that make sense for a set, in the order in which they are tried.
    pub fn of(set: &Set) -> Vec<Self> {
        let ruled = rule(set).map(|_| Self::Ruled);
        [Some(Self::Any), ruled, Some(Self::Real)].into_iter().flatten().collect()
    }

    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Ruled => "ruled",
            Self::Real => "real",
        }
    }

    /// The file with the module.
    pub fn file(self) -> String {
        match self {
            Self::Real => MEMORY.to_owned(),
            other => format!("memory-{}.v", other.name()),
        }
    }

    /// Its text; of the real one it lies there already.
    pub fn text(self, set: &Set) -> Option<String> {
        match self {
            Self::Real => None,
            Self::Any => Some(CUT.replace("RULE", "assign {legal, write_legal} = 2'b11;")),
            Self::Ruled => {
                let module = rule(set)?;
                let mut params = String::new();
                for (name, value) in set.params.iter() {
                    if module.contains(&format!("parameter {name} ")) {
                        let _ = write!(params, ".{name}({value}), ");
                    }
                }
                let instance = |name: &str, row: &str, legal: &str| {
                    format!("row_rule #({params}.WIDTH(WIDTH)) {name} (.row({row}), .legal({legal}));\n  ")
                };
                let both =
                    instance("of_read", "cut_any", "legal") + &instance("of_write", "wdata", "write_legal");
                Some(CUT.replace("RULE", &both) + module)
            }
        }
    }

    /// Makes pins of what it shows, and of what it is given.
    pub fn expose(self) -> &'static str {
        match self {
            Self::Real => "",
            Self::Any | Self::Ruled => {
                "expose -input w:*.cut_any\n\
                 expose w:*.cut_en w:*.cut_we w:*.cut_addr w:*.cut_wmask w:*.cut_wdata\n"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_gets_the_parameters_of_the_set() {
        let set = Set::parse("tinyset tiny ARRAY=12").unwrap();
        let text = Memories::Ruled.text(&set).unwrap();
        for wanted in [".ARRAY(12),", ".REMOVALS(0),", ".C_MAX(", ".F_MAX(", ".CHAINS("] {
            assert!(text.contains(wanted), "{wanted}");
        }
        assert!(!text.contains("RULE\n") && !text.contains(".KEY_W("));
        let set = Set::parse("blocked tiny").unwrap();
        assert_eq!(Memories::of(&set), [Memories::Any, Memories::Real]);
    }
}

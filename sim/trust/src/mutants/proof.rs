//! Whether a mutant can be told from the core at all.
//!
//! Core and mutant, each with its real memories as registers, get the same inputs; a wire is
//! high when an output pin differs after the first reset. ABC merges what is equal in both
//! for all time (signal correspondence), and what is left goes to its model checker (property
//! directed reachability), which ends with a proof for all time or with the length of an
//! input sequence that shows a difference. When it runs out of time, a bounded check says for how many
//! cycles there is none.
//!
//! Both start from registers and memories of zeros. Resets may come at any time, so that one meets every
//! state that can be reached.

use std::{fmt::Write as _, fs, path::Path, thread, time::Duration};

use anyhow::{Context, Result};
use membrane::pins::PinMap;

use super::{Abc, Mutant, Verdict, Yosys, netlist::MEMORY};
use crate::sets::Set;

/// Seconds for the model checker, and for the bounded check after it.
const SECONDS: [u32; 2] = [20, 20];
/// For ABC as a whole: its own limit is not looked at in all places.
const LIMIT: Duration = Duration::from_secs(60);
/// From words to gates.
const GATES: &str =
    "memory -nomap\nmemory_map\nopt -full\ntechmap\ndffunmap\nsetundef -undriven -zero\nopt -fast\n";

/// Asks the solver.
#[derive(Debug)]
pub struct Prover<'a> {
    /// Makes the gates.
    pub yosys: &'a Yosys,
    /// Proves.
    pub abc: &'a Abc,
    /// Whose mutants these are.
    pub set: &'a Set,
    /// Where the netlist lies.
    pub folder: &'a Path,
    /// Of the core.
    pub pins: &'a PinMap,
}

impl Prover<'_> {
    /// A verdict for each.
    pub fn judge(&self, mutants: &[Mutant]) -> Result<Vec<Verdict>> {
        if mutants.is_empty() {
            return Ok(Vec::new());
        }
        let top = self.folder.join("top.v");
        fs::write(&top, self.top()).with_context(|| top.display().to_string())?;
        let mut script = self.side("gold", "");
        for mutant in mutants {
            script += &self.side("gate", &format!("mutate {}\n", mutant.command));
            let _ = write!(
                script,
                "design -reset\ndesign -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n\
                 miter -equiv -flatten gold gate miter\nread_verilog top.v\nhierarchy -check -top top\nproc\n\
                 flatten\nopt -fast\ndffunmap\nsetundef -init -zero\ntechmap\naigmap\nopt_clean\n\
                 write_aiger -zinit proof-{}.aig\n",
                mutant.number
            );
        }
        self.yosys.run(self.folder, "proof", &script)?;
        // Two at a time.
        let (first, second) = mutants.split_at(mutants.len() / 2);
        let ask = |mutants: &[Mutant]| mutants.iter().map(|m| self.ask(m.number)).collect::<Result<Vec<_>>>();
        thread::scope(|scope| {
            let other = scope.spawn(|| ask(second));
            let mut verdicts = ask(first)?;
            verdicts.extend(other.join().expect("no panic")?);
            Ok(verdicts)
        })
    }

    /// Makes and stashes the core with or without a fault.
    fn side(&self, name: &str, fault: &str) -> String {
        let module = self.set.core.module();
        format!(
            "design -reset\nread_rtlil prepared.il\n{fault}delete =membrane_sram_1p\n\
             read_verilog -defer {MEMORY}\nhierarchy -check -top {module}\nproc\nflatten\n{GATES}\
             rename -top {name}\ndesign -stash {name}\n"
        )
    }

    /// A module around core and mutant: `bad` when they differ after the first reset.
    fn top(&self) -> String {
        let (mut ports, mut connections) = (String::new(), String::new());
        for pin in self.pins.inputs() {
            let _ = write!(ports, ", input wire [{}:0] {}", pin.width - 1, pin.name);
            let _ = write!(connections, ", .in_{0}({0})", pin.name);
        }
        format!(
            "module top (input wire clk{ports}, output wire bad);\n  wire trigger;\n  \
             miter miter (.in_clk(clk){connections}, .trigger(trigger));\n  \
             reg started = 1'b0;\n  always @(posedge clk) if (rst) started <= 1'b1;\n  \
             assign bad = started && trigger;\nendmodule\n"
        )
    }

    fn ask(&self, number: u32) -> Result<Verdict> {
        let name = format!("proof-{number}");
        let [prove, bound] = SECONDS;
        let read = format!("&read {name}.aig; &put; scorr; scorr -F 3; ");
        let log = self.abc.run(self.folder, &name, &format!("{read}pdr -T {prove}"), LIMIT)?;
        match verdict(&log) {
            Verdict::Unknown => {}
            verdict => return Ok(verdict),
        }
        let log =
            self.abc.run(self.folder, &(name + "-bounded"), &format!("{read}bmc3 -T {bound}"), LIMIT)?;
        Ok(verdict(&log))
    }
}

/// What a log of ABC says.
fn verdict(log: &str) -> Verdict {
    let number = |before: &str, after: &str| {
        let rest = &log[log.rfind(before)? + before.len()..];
        rest[..rest.find(after)?].trim().parse().ok()
    };
    if log.contains("Property proved") {
        Verdict::Proven
    } else if let Some(frame) = number("was asserted in frame ", ".") {
        let _: u32 = frame;
        Verdict::Different(frame + 1)
    } else if let Some(frames) = number("No output asserted in ", " frames") {
        Verdict::Bounded(frames)
    } else {
        Verdict::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_read() {
        assert_eq!(verdict("Property proved.  Time =     0.01 sec\n"), Verdict::Proven);
        let log = "Output 0 of miter \"m2\" was asserted in frame 8.  Time =     0.05 sec\n";
        assert_eq!(verdict(log), Verdict::Different(9));
        let log = "No output asserted in 31 frames. Resource limit reached (timeout 3 sec). Time = 3 sec\n";
        assert_eq!(verdict(log), Verdict::Bounded(31));
        assert_eq!(verdict("Reached timeout (3 seconds) in frame 7.\n"), Verdict::Unknown);
    }
}

//! Whether a mutant can be told from the core at all.
//!
//! Core and mutant get the same inputs, and the SAT solver inside Yosys looks for a difference.
//!
//! 1. Induction, which holds for all time. Compared are all output pins, all registers, and
//!    what the memories see; what they return is any value. Base: from equal registers and a
//!    reset, no difference in the first k - 1 cycles. Step: from any state, k - 1 cycles without
//!    a difference are followed by one without.
//! 2. Where that does not close, because the mutant differs in what nobody looks at or in
//!    states that are never reached: the core with its real memories, from any power-up state and
//!    a reset, and only the output pins. This holds for the number of cycles that it was asked for.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use anyhow::{Context, Result};

use super::{Mutant, Verdict, Yosys, netlist::MEMORY};
use crate::sets::Set;

/// Lengths of the induction that are tried.
const INDUCTION: [u32; 2] = [2, 6];
/// Cycles behind the start-up sweep that are tried.
const BOUNDED: [u32; 3] = [8, 14, 22];
/// For the solver, each time.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Asks the solver.
#[derive(Debug)]
pub struct Prover<'a> {
    yosys: &'a Yosys,
    set: &'a Set,
    folder: &'a Path,
}

enum Answer {
    Proven,
    Refuted,
    Timeout,
}

impl<'a> Prover<'a> {
    /// For the netlist that lies in `folder`.
    pub fn new(yosys: &'a Yosys, set: &'a Set, folder: &'a Path) -> Self {
        Self { yosys, set, folder }
    }

    /// The verdict.
    pub fn judge(&self, mutant: &Mutant) -> Result<Verdict> {
        if let Some(cycles) = self.induction(mutant)? {
            return Ok(Verdict::Induction(cycles));
        }
        self.bounded(mutant)
    }

    /// The length of an induction that proves it equal, if any does.
    pub fn induction(&self, mutant: &Mutant) -> Result<Option<u32>> {
        let memory = self.folder.join("proof_memory.v");
        fs::write(&memory, include_str!("proof_memory.v")).with_context(|| memory.display().to_string())?;
        let name = format!("induct-{}", mutant.number);
        let log = self.yosys.run(
            self.folder,
            &name,
            &self.both(
                mutant,
                "proof_memory.v",
                "expose -evert t:*proof_memory a:membrane_register\n",
                &name,
            ),
        )?;
        let registers: Vec<_> = log
            .lines()
            .filter_map(|line| line.strip_prefix("New module port: ")?.split_once('/'))
            .map(|(_, wire)| wire)
            .filter(|wire| !wire.contains("proof_memory"))
            .collect();
        for cycles in INDUCTION {
            let mut base = format!("sat -seq {} -set-at 1 in_rst 1 -prove trigger 0", cycles - 1);
            for register in &registers {
                let _ = write!(base, " -set-at 1 \\cmp_{register} 1");
            }
            let mut step = format!("sat -seq {cycles} -prove trigger 0 -prove-skip {}", cycles - 1);
            for cycle in 1..cycles {
                let _ = write!(step, " -set-at {cycle} trigger 0");
            }
            // The step is the one that fails, if any.
            if matches!(self.ask(&name, "step", &step)?, Answer::Proven) {
                return Ok(match self.ask(&name, "base", &base)? {
                    Answer::Proven => Some(cycles),
                    _ => None,
                });
            }
        }
        Ok(None)
    }

    fn bounded(&self, mutant: &Mutant) -> Result<Verdict> {
        let name = format!("bounded-{}", mutant.number);
        let script = self.both(mutant, MEMORY, "memory -nomap\nmemory_map\nopt -full\n", &name);
        self.yosys.run(self.folder, &name, &script)?;
        let rows = ["ROWS", "BLOCKS"].into_iter().find_map(|name| self.set.params.get(name)).unwrap_or(0);
        let mut verdict = Verdict::Unknown;
        for beyond in BOUNDED {
            let cycles = rows as u32 + beyond;
            let ask = format!(
                "sat -seq {cycles} -set-at 1 in_rst 1 -prove trigger 0 -prove-skip 1 \
                 -show-inputs -dump_vcd {name}.vcd"
            );
            match self.ask(&name, &format!("{cycles}"), &ask)? {
                Answer::Proven => verdict = Verdict::Bounded(cycles),
                Answer::Refuted => return Ok(Verdict::Different(cycles)),
                Answer::Timeout => break,
            }
        }
        Ok(verdict)
    }

    /// A script that writes the core and the mutant side by side to `<name>.il`.
    fn both(&self, mutant: &Mutant, memory: &str, prepare: &str, name: &str) -> String {
        let module = self.set.core.module();
        let side = |side: &str, fault: &str| {
            format!(
                "design -reset\nread_rtlil prepared.il\n{fault}delete =membrane_sram_1p\n\
                 read_verilog -defer {memory}\nhierarchy -check -top {module}\nproc\nflatten\n{prepare}\
                 rename -top {side}\nopt_clean\ndesign -stash {side}\n"
            )
        };
        side("gold", "")
            + &side("gate", &format!("mutate {}\n", mutant.command))
            + "design -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n"
            + "miter -equiv -flatten -make_outputs -make_outcmp gold gate miter\n"
            + &format!("hierarchy -top miter\nopt_clean\nwrite_rtlil {name}.il\n")
    }

    fn ask(&self, name: &str, question: &str, sat: &str) -> Result<Answer> {
        let script = format!("read_rtlil {name}.il\n{sat} miter\n");
        let name = format!("{name}-{question}");
        let Some(log) = self.yosys.run_within(self.folder, &name, &script, TIMEOUT)? else {
            return Ok(Answer::Timeout);
        };
        Ok(if log.contains("no model found: SUCCESS") {
            Answer::Proven
        } else if log.contains("model found: FAIL") {
            Answer::Refuted
        } else {
            Answer::Timeout
        })
    }
}

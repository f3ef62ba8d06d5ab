//! Whether a mutant can be told from the core at all.
//!
//! Core and mutant get the same inputs; a wire is high when an output pin differs after the first
//! reset. ABC merges what is equal in both for all time (signal correspondence), and what is left
//! goes to its model checker (property directed reachability), which ends with a proof for all time
//! or with the length of an input sequence that shows a difference.
//!
//! The memories are first cut off, which leaves a pipeline without a way back and most proofs
//! to a second; see [`Memories`]. A difference found so may need rows that are never there, and means
//! nothing. Then the real memories are registers; when time runs out there, a bounded check says for
//! how many cycles there is no difference.
//!
//! Both start from registers and memories of zeros. Resets may come at any time, so that one meets every
//! state that can be reached.

use std::{fmt::Write as _, fs, path::Path, thread, time::Duration};

use anyhow::{Context, Result};
use membrane::pins::PinMap;

use super::{Abc, Mutant, Verdict, Yosys, memory::Memories};
use crate::sets::Set;

/// Seconds for the model checker, with memories cut off and with real ones, and for the bounded check.
const SECONDS: [u32; 3] = [10, 20, 20];
/// For ABC as a whole: its own limit is not looked at in all places.
const LIMIT: Duration = Duration::from_secs(60);
/// Seconds for the rule of the rows, once in a set, and for ABC as a whole.
const RULE_SECONDS: (u32, Duration) = (150, Duration::from_secs(400));
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
    /// Proofs at a time.
    pub jobs: usize,
}

impl Prover<'_> {
    /// A verdict for each.
    pub fn judge(&self, mutants: &[Mutant]) -> Result<Vec<Verdict>> {
        let mut verdicts = vec![Verdict::Unknown; mutants.len()];
        for memories in Memories::of(self.set) {
            let open: Vec<_> = (0..mutants.len()).filter(|&i| verdicts[i] == Verdict::Unknown).collect();
            if open.is_empty() || (memories == Memories::Ruled && !self.rule_holds()?) {
                continue;
            }
            let asked: Vec<_> = open.iter().map(|&i| &mutants[i]).collect();
            for (i, verdict) in open.into_iter().zip(self.judge_with(memories, &asked)?) {
                verdicts[i] = verdict;
            }
        }
        Ok(verdicts)
    }

    /// Whether a proof with memories cut off would excuse a mutant: of one that was killed it must not.
    pub fn excuses(&self, mutant: &Mutant) -> Result<bool> {
        for memories in Memories::of(self.set) {
            if memories != Memories::Real && self.judge_with(memories, &[mutant])? == [Verdict::Proven] {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Verdicts with these memories, several mutants at a time.
    fn judge_with(&self, memories: Memories, mutants: &[&Mutant]) -> Result<Vec<Verdict>> {
        self.write("top.v", &self.top())?;
        self.write_memory(memories)?;
        // Each job takes every so-many-th, since neighbours are alike.
        let jobs = self.jobs.clamp(1, mutants.len());
        let share = |job: usize| -> Result<Vec<Verdict>> {
            let share: Vec<_> = mutants.iter().skip(job).step_by(jobs).copied().collect();
            let name = format!("proof-{}-job{job}", memories.name());
            self.yosys.run(self.folder, &name, &self.script(memories, &share))?;
            share.iter().map(|mutant| self.ask(memories, mutant.number)).collect()
        };
        let share = &share;
        let mut shares = thread::scope(|scope| {
            let started: Vec<_> = (0..jobs).map(|job| scope.spawn(move || share(job))).collect();
            let ended = started.into_iter().map(|job| job.join().expect("no panic").map(Vec::into_iter));
            ended.collect::<Result<Vec<_>>>()
        })?;
        Ok((0..mutants.len()).map(|i| shares[i % jobs].next().expect("one each")).collect())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())
    }

    fn write_memory(&self, memories: Memories) -> Result<()> {
        memories.text(self.set).map_or(Ok(()), |text| self.write(&memories.file(), &text))
    }

    /// Whether the core without fault is proven to write only rows that keep the rule, as long as
    /// it reads such rows.
    fn rule_holds(&self) -> Result<bool> {
        let memories = Memories::Ruled;
        self.write_memory(memories)?;
        let core = self.core("", memories);
        let script = format!(
            "{core}delete -output o:*\nexpose -input w:*.cut_any\nexpose w:*.cut_illegal\n{GATES}\
             dffunmap\nopt_clean -purge\nsetundef -init -zero\naigmap\nopt_clean\nwrite_aiger -zinit rule.aig\n"
        );
        self.yosys.run(self.folder, "rule-gates", &script)?;
        let (seconds, limit) = RULE_SECONDS;
        let commands = format!("&read rule.aig; &put; scorr; pdr -T {seconds}");
        Ok(verdict(&self.abc.run(self.folder, "rule", &commands, limit)?) == Verdict::Proven)
    }

    /// Makes one file of gates for each mutant.
    fn script(&self, memories: Memories, mutants: &[&Mutant]) -> String {
        let mut script = self.side("gold", "", memories);
        for mutant in mutants {
            script += &self.side("gate", &format!("mutate {}\n", mutant.command), memories);
            let _ = write!(
                script,
                "design -reset\ndesign -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n\
                 miter -equiv -flatten gold gate miter\nread_verilog top.v\nhierarchy -check -top top\nproc\n\
                 flatten\nopt -fast\ndffunmap\nsetundef -init -zero\ntechmap\naigmap\nopt_clean\n\
                 write_aiger -zinit proof-{}-{}.aig\n",
                memories.name(),
                mutant.number
            );
        }
        script
    }

    /// Reads the core with or without a fault.
    fn core(&self, fault: &str, memories: Memories) -> String {
        let (module, memory) = (self.set.core.module(), memories.file());
        format!(
            "design -reset\nread_rtlil prepared.il\n{fault}delete =membrane_sram_1p\n\
             read_verilog -defer {memory}\nhierarchy -check -top {module}\nproc\nflatten\n"
        )
    }

    /// Makes and stashes it.
    fn side(&self, name: &str, fault: &str, memories: Memories) -> String {
        let (core, expose) = (self.core(fault, memories), memories.expose());
        format!("{core}{expose}{GATES}rename -top {name}\ndesign -stash {name}\n")
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

    fn ask(&self, memories: Memories, number: u32) -> Result<Verdict> {
        let name = format!("proof-{}-{number}", memories.name());
        let [cut, real, bound] = SECONDS;
        let seconds = if memories == Memories::Real { real } else { cut };
        let read = format!("&read {name}.aig; &put; scorr; scorr -F 3; ");
        let log = self.abc.run(self.folder, &name, &format!("{read}pdr -T {seconds}"), LIMIT)?;
        match (memories, verdict(&log)) {
            (_, Verdict::Proven) => return Ok(Verdict::Proven),
            (Memories::Real, Verdict::Unknown) => {}
            (Memories::Real, verdict) => return Ok(verdict),
            // What tells them may be a row that is never there.
            _ => return Ok(Verdict::Unknown),
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

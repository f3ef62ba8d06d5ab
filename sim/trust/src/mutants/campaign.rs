//! All mutants of a set, judged.

use std::path::Path;

use anyhow::{Result, bail};
use membrane::{
    cosim::{Init, Mismatch, RtlLibrary, Toolchain, lockstep},
    stimulus::Stimulus,
};

use super::{Mutant, MutantDevice, Netlist, Prover, Yosys};
use crate::sets::Set;

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The co-simulation stopped.
    Killed(Mismatch),
    /// It did not, but a proof says that no pin can ever differ.
    Equivalent(Verdict),
    /// It did not, and no proof was found.
    Survived(Verdict),
}

/// What the solver says of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Proven for all time, by induction over this many cycles.
    Induction(u32),
    /// No input sequence of this many cycles from reset shows a difference.
    Bounded(u32),
    /// An input sequence of this many cycles shows a difference in the pins.
    Different(u32),
    /// Out of time.
    Unknown,
    /// Nobody asked.
    Unasked,
}

/// A mutant and its fate.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Which.
    pub mutant: Mutant,
    /// What became of it.
    pub fate: Fate,
}

/// How to judge.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Faults per set.
    pub mutants: usize,
    /// Of the choice of faults, of the stimulus and of the power-up state.
    pub seed: u64,
    /// Of the co-simulation.
    pub cycles: u64,
    /// Whether survivors are given to the solver.
    pub prove: bool,
}

impl Campaign {
    /// Makes the mutants of a set and judges each; files go to `folder`.
    pub fn run(
        &self,
        yosys: &Yosys,
        tools: &Toolchain,
        set: &Set,
        folder: &Path,
        progress: &mut dyn FnMut(&Judged),
    ) -> Result<Vec<Judged>> {
        let netlist = Netlist::new(yosys, set, self.mutants, self.seed, folder)?;
        let library = netlist.build(tools)?;
        // A netlist that differs by itself would kill every mutant.
        if let Some(mismatch) = self.play(set, &netlist, &library, 0)? {
            bail!("{set}: the netlist without fault differs from the model: {mismatch}");
        }
        let prover = Prover::new(yosys, set, folder);
        let mut judged = Vec::new();
        for mutant in &netlist.mutants {
            let fate = match self.play(set, &netlist, &library, mutant.number)? {
                Some(mismatch) => Fate::Killed(mismatch),
                None if self.prove => match prover.judge(mutant)? {
                    verdict @ (Verdict::Induction(_) | Verdict::Bounded(_)) => Fate::Equivalent(verdict),
                    verdict => Fate::Survived(verdict),
                },
                None => Fate::Survived(Verdict::Unasked),
            };
            judged.push(Judged { mutant: mutant.clone(), fate });
            progress(judged.last().expect("just pushed"));
        }
        Ok(judged)
    }

    /// The co-simulation of `make sim` with a mutant in place of the RTL.
    fn play(
        &self,
        set: &Set,
        netlist: &Netlist,
        library: &RtlLibrary,
        number: u32,
    ) -> Result<Option<Mismatch>> {
        let mut model = set.core.clocked(&set.params)?;
        let mut stimulus = Stimulus::new(set.core, &set.params, self.seed, self.cycles)?;
        let mut device = MutantDevice::new(netlist, library, number, Init::Random(self.seed))?;
        Ok(lockstep(&mut stimulus, model.as_mut(), &mut device, self.cycles, &mut |_| {})?)
    }
}

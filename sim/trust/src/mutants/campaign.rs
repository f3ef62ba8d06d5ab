//! All mutants of a set, judged.

use std::path::Path;

use anyhow::{Result, bail};
use membrane::{
    cosim::{Init, Mismatch, RtlLibrary, Toolchain, lockstep},
    stimulus::Stimulus,
};

use super::{Abc, Mutant, MutantDevice, Netlist, Prover, Yosys};
use crate::sets::Set;

/// Cycles without a difference in any input sequence that count as equivalent, where there is no
/// proof for all time.
const ENOUGH: u32 = 30;

/// As many times longer than others a mutant is played of which no proof says that it is equivalent.
const LONGER: u64 = 10;

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The co-simulation stopped.
    Killed(Mismatch),
    /// It did, but only when played longer than others: see [`Campaign::cycles`].
    Late(Mismatch),
    /// It did not, but a proof says that no pin can ever differ.
    Equivalent(Verdict),
    /// It did not, and no proof was found.
    Survived(Verdict),
}

/// What the solver says of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No input sequence shows a difference in the pins.
    Proven,
    /// No input sequence of this many cycles does; of longer ones nothing is known.
    Bounded(u32),
    /// One of this many cycles does.
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
    /// Of the co-simulation; ten times as many for what neither that nor a proof decides.
    pub cycles: u64,
    /// Proofs at a time.
    pub jobs: usize,
}

impl Campaign {
    /// Makes the mutants of a set and judges each, survivors by `abc` if there is one; files go
    /// to `folder`.
    pub fn run(
        &self,
        yosys: &Yosys,
        abc: Option<&Abc>,
        tools: &Toolchain,
        set: &Set,
        folder: &Path,
    ) -> Result<Vec<Judged>> {
        let netlist = Netlist::new(yosys, set, self.mutants, self.seed, folder)?;
        let library = netlist.build(tools)?;
        // A netlist that differs by itself would kill every mutant.
        let play = |number: u32, cycles: u64| self.play(set, &netlist, &library, number, cycles);
        if let Some(mismatch) = play(0, self.cycles)? {
            bail!("{set}: the netlist without fault differs from the model: {mismatch}");
        }
        let mut fates = Vec::new();
        for mutant in &netlist.mutants {
            fates.push(play(mutant.number, self.cycles)?.map(Fate::Killed));
        }
        let pairs = netlist.mutants.iter().zip(&fates);
        let left: Vec<_> =
            pairs.filter(|(_, fate)| fate.is_none()).map(|(mutant, _)| mutant.clone()).collect();
        let verdicts = match abc {
            Some(abc) => {
                let prover = Prover { yosys, abc, set, folder, pins: netlist.pins(), jobs: self.jobs };
                // A proof of something empty would excuse every mutant.
                let killed = netlist.mutants.iter().zip(&fates).find(|(_, fate)| fate.is_some());
                if let Some((mutant, _)) = killed
                    && prover.excuses(mutant)?
                {
                    bail!(
                        "{set}: mutant {} was killed, but there is a proof that it cannot be",
                        mutant.number
                    );
                }
                prover.judge(&left)?
            }
            None => vec![Verdict::Unasked; left.len()],
        };
        let mut verdicts = verdicts.into_iter();
        let mut all = Vec::new();
        for (mutant, fate) in netlist.mutants.iter().zip(fates) {
            let fate = match fate {
                Some(fate) => fate,
                None => match verdicts.next().expect("one for each survivor") {
                    verdict @ Verdict::Proven => Fate::Equivalent(verdict),
                    // A bound on cycles from reset excuses nothing that longer play can tell.
                    verdict => match play(mutant.number, LONGER * self.cycles)? {
                        Some(mismatch) => Fate::Late(mismatch),
                        None if matches!(verdict, Verdict::Bounded(ENOUGH..)) => Fate::Equivalent(verdict),
                        None => Fate::Survived(verdict),
                    },
                },
            };
            all.push(Judged { mutant: mutant.clone(), fate });
        }
        Ok(all)
    }

    /// The co-simulation of `make sim` with a mutant in place of the RTL.
    fn play(
        &self,
        set: &Set,
        netlist: &Netlist,
        library: &RtlLibrary,
        number: u32,
        cycles: u64,
    ) -> Result<Option<Mismatch>> {
        let mut model = set.core.clocked(&set.params)?;
        let mut stimulus = Stimulus::new(set.core, &set.params, self.seed, cycles)?;
        let mut device = MutantDevice::new(netlist, library, number, Init::Random(self.seed))?;
        Ok(lockstep(&mut stimulus, model.as_mut(), &mut device, cycles, &mut |_| {})?)
    }
}

use crate::{
    clocked::{Clocked, Fault},
    pins::PinMap,
    sram::Memory,
};

use super::Case;

/// Plays back the outputs of a recorded case, for the inputs that were recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    case: Case,
    cycle: usize,
}

impl Recorded {
    /// A player at the first cycle.
    pub fn new(case: Case) -> Self {
        Self { case, cycle: 0 }
    }
}

impl Clocked for Recorded {
    fn pins(&self) -> &PinMap {
        &self.case.pins
    }

    fn clock(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        let (input, output) = (self.case.pins.input_words(), self.case.pins.output_words());
        let recorded = self.case.stimulus.chunks_exact(input).nth(self.cycle);
        if recorded != Some(inputs) {
            return Err(Fault::NotRecorded { cycle: self.cycle as u64 });
        }
        outputs.copy_from_slice(&self.case.expected[self.cycle * output..][..output]);
        self.cycle += 1;
        Ok(())
    }

    /// The content at the end of the case, whenever asked: nothing else is recorded.
    fn memories(&mut self) -> Result<Vec<Memory>, Fault> {
        Ok(self.case.memories.clone())
    }
}

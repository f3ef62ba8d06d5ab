//! The clocked model, with a request in every cycle that takes one.

use std::collections::VecDeque;

use super::windows::Spent;
use crate::{
    clocked::{Clocked, Fault},
    filter::{Answer, Op},
    pins::{FilterPins, Inputs, Outputs},
    sram::PortCounts,
};

pub struct Timing {
    model: Box<dyn Clocked>,
    pins: FilterPins,
    row: Vec<u64>,
    /// What requests in flight will be answered, as the functional model says.
    owed: VecDeque<Answer>,
    spent: Spent,
    /// When it was asked for last.
    asked: Spent,
}

impl Timing {
    /// After the start-up sweep, which is not the requests' doing.
    pub fn new(model: Box<dyn Clocked>) -> Result<Self, Fault> {
        let pins = FilterPins::of(model.pins()).expect("the model of a filter core");
        let row = vec![0; pins.map().input_words()];
        let owed = VecDeque::new();
        let mut timing = Self { model, pins, row, owed, spent: Spent::default(), asked: Spent::default() };
        while !timing.clock()?.req_ready {}
        timing.spent_since();
        Ok(timing)
    }

    /// Offers a request until it is taken.
    pub fn request(&mut self, op: Op, key: &[u64], expected: Answer) -> Result<(), Fault> {
        let inputs = Inputs { req_valid: true, op, rsp_ready: true, ..Inputs::default() };
        self.pins.write_inputs(&inputs, key, &mut self.row);
        while !self.clock()?.req_ready {
            self.spent.stalls += 1;
        }
        self.owed.push_back(expected);
        Ok(())
    }

    /// Until nothing is in flight.
    pub fn drain(&mut self) -> Result<(), Fault> {
        let inputs = Inputs { rsp_ready: true, ..Inputs::default() };
        self.pins.write_inputs(&inputs, &vec![0; self.pins.key_words()], &mut self.row);
        while !self.owed.is_empty() {
            self.clock()?;
        }
        Ok(())
    }

    fn clock(&mut self) -> Result<Outputs, Fault> {
        let mut output = [0];
        self.model.clock(&self.row, &mut output)?;
        let outputs = self.pins.read_outputs(&output);
        self.spent.cycles += 1;
        if outputs.rsp_valid {
            let expected = self.owed.pop_front().expect("a response without a request");
            let actual = (outputs.hit, outputs.status);
            assert_eq!(
                actual,
                (expected.hit, expected.status as u8),
                "clocked and functional model disagree"
            );
        }
        Ok(outputs)
    }

    /// What was spent since this was asked last.
    pub fn spent_since(&mut self) -> Spent {
        let accesses = |port: &PortCounts| port.reads + port.writes;
        self.spent.accesses = self.model.ports().iter().map(accesses).sum();
        let before = std::mem::replace(&mut self.asked, self.spent);
        Spent {
            cycles: self.spent.cycles - before.cycles,
            stalls: self.spent.stalls - before.stalls,
            accesses: self.spent.accesses - before.accesses,
        }
    }
}

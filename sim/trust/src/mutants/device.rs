//! One mutant as a device with the pins of the core.

use anyhow::Result;
use membrane::{
    Clocked,
    clocked::Fault,
    cosim::{Init, Rtl, RtlLibrary},
    pins::{Pin, PinMap},
    sram::Memory,
};

use super::netlist::{Netlist, SELECT};

/// A netlist with one of its faults switched on for good.
#[derive(Debug)]
pub struct MutantDevice {
    rtl: Rtl,
    pins: PinMap,
    select: Pin,
    number: u32,
    rows: Vec<u64>,
}

impl MutantDevice {
    /// The mutant after power-up and a reset; number 0 has no fault.
    pub fn new(netlist: &Netlist, library: &RtlLibrary, number: u32, init: Init) -> Result<Self> {
        let rtl = library.power_up(init)?;
        let select = rtl.pins().inputs().iter().find(|pin| pin.name == SELECT.0).cloned();
        let mut device = Self {
            pins: netlist.pins().clone(),
            select: select.expect("the netlist was built with it"),
            rtl,
            number,
            rows: Vec::new(),
        };
        // The reset of power_up was without the fault: once more with it.
        let mut inputs = vec![0; device.pins.input_words()];
        if let Some(rst) = device.pins.inputs().iter().find(|pin| pin.name == "rst") {
            rst.put(&mut inputs, 1);
        }
        device.run(&inputs, &mut vec![0; netlist.pins().output_words()])?;
        Ok(device)
    }
}

impl Clocked for MutantDevice {
    fn pins(&self) -> &PinMap {
        &self.pins
    }

    fn clock(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        self.run(inputs, outputs)
    }

    fn run(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        let (narrow, wide) = (self.pins.input_words(), self.rtl.pins().input_words());
        self.rows.clear();
        for row in inputs.chunks_exact(narrow) {
            let start = self.rows.len();
            self.rows.extend_from_slice(row);
            self.rows.resize(start + wide, 0);
            self.select.put(&mut self.rows[start..], self.number.into());
        }
        self.rtl.run(&self.rows, outputs)
    }

    fn memories(&mut self) -> Result<Vec<Memory>, Fault> {
        self.rtl.memories()
    }
}

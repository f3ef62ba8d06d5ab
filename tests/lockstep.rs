//! Lock-step of two models: what the second one is given, and what is reported first.

use membrane::{
    Clocked, Core, Params,
    clocked::Fault,
    cosim::{Mismatch, lockstep},
    pins::PinMap,
    registry,
    sram::Memory,
    stimulus::{self, DriveError, Stimulus},
};

/// Several chunks and a part of one, more than are ever under way.
const CYCLES: u64 = 20_500;

/// A model that keeps what it is given, and goes wrong in one cycle.
struct Wrong {
    model: Box<dyn Clocked>,
    cycle: u64,
    /// An output pin differs.
    differs: Option<u64>,
    /// It cannot be clocked any further.
    fails: Option<u64>,
    given: Vec<u64>,
}

impl Clocked for Wrong {
    fn pins(&self) -> &PinMap {
        self.model.pins()
    }

    fn clock(&mut self, inputs: &[u64], outputs: &mut [u64]) -> Result<(), Fault> {
        if self.fails == Some(self.cycle) {
            return Err(Fault::NotRecorded { cycle: self.cycle });
        }
        self.given.extend_from_slice(inputs);
        self.model.clock(inputs, outputs)?;
        outputs[0] ^= u64::from(self.differs == Some(self.cycle));
        self.cycle += 1;
        Ok(())
    }

    fn memories(&mut self) -> Result<Vec<Memory>, Fault> {
        self.model.memories()
    }
}

fn wrong(core: &dyn Core, params: &Params, differs: Option<u64>, fails: Option<u64>) -> Wrong {
    let model = core.clocked(params).expect("legal");
    Wrong { model, cycle: 0, differs, fails, given: Vec::new() }
}

/// Of each core a small preset, with memories that are compared several times in the run, but not in every chunk.
fn small() -> impl Iterator<Item = (&'static dyn Core, Params)> {
    let rows = |core: &dyn Core, params: &Params| -> usize {
        let memories = core.clocked(params).expect("legal").memories().expect("memories");
        memories.iter().map(Memory::rows).sum()
    };
    registry::CORES.iter().map(move |core| {
        let presets = core.presets().iter().map(|preset| core.check(&preset.params()).expect("legal"));
        let presets = presets.filter(|params| rows(*core, params) > 64);
        let small = presets.min_by_key(|params| rows(*core, params)).expect("a preset");
        (*core, small)
    })
}

fn run(
    core: &dyn Core,
    params: &Params,
    reference: &mut Wrong,
    device: &mut Wrong,
) -> Result<Option<Mismatch>, DriveError> {
    let mut stimulus = Stimulus::new(core, params, 3, CYCLES).expect("stimulus");
    lockstep(&mut stimulus, reference, device, CYCLES, &mut |_| {})
}

#[test]
fn the_device_is_given_what_a_recorded_case_holds() {
    for (core, params) in small() {
        let mut devices = [(); 2].map(|()| wrong(core, &params, None, None));
        let [reference, device] = &mut devices;
        assert_eq!(run(core, &params, reference, device).expect("runs"), None, "{}", core.name());
        let case = stimulus::record(core, &params, 3, CYCLES).expect("a case");
        assert_eq!(reference.given, case.stimulus, "{}", core.name());
        assert_eq!(device.given, case.stimulus, "{}", core.name());
    }
}

/// At both ends of a chunk, in the first, in a later one, and in the last, which is shorter.
#[test]
fn the_first_difference_is_reported() {
    for (core, params) in small() {
        for at in [0, 1, 1023, 1024, 9 * 1024 - 1, 9 * 1024, 15_000, CYCLES - 1] {
            let mut device = wrong(core, &params, Some(at), None);
            // A reference that fails later changes nothing.
            let mut reference = wrong(core, &params, None, Some(at + 1));
            match run(core, &params, &mut reference, &mut device) {
                Ok(Some(Mismatch::Pins { cycle, pins })) => {
                    assert_eq!((cycle, pins.len()), (at, 1), "{}", core.name());
                    assert_eq!(pins[0].pin, "rsp_tag");
                }
                // In the same chunk, cycles that the reference has not finished are not compared.
                Err(DriveError::Fault(Fault::NotRecorded { cycle })) => {
                    assert_eq!((cycle, (at + 1) / 1024), (at + 1, at / 1024), "{}", core.name());
                }
                other => panic!("{} cycle {at}: {other:?}", core.name()),
            }
            let mut reference = wrong(core, &params, None, None);
            let mut device = wrong(core, &params, Some(at), None);
            let found = run(core, &params, &mut reference, &mut device).expect("runs").expect("differs");
            assert!(matches!(found, Mismatch::Pins { cycle, .. } if cycle == at), "{found}");
        }
    }
}

#[test]
fn a_fault_of_either_side_is_reported_with_its_cycle() {
    for (core, params) in small() {
        for at in [0, 1023, 1024, 12_345, CYCLES - 1] {
            for fails in [[Some(at), None], [None, Some(at)]] {
                let [mut reference, mut device] = fails.map(|fails| wrong(core, &params, None, fails));
                let result = run(core, &params, &mut reference, &mut device);
                let Err(DriveError::Fault(Fault::NotRecorded { cycle })) = result else {
                    panic!("{} cycle {at}: {result:?}", core.name())
                };
                assert_eq!(cycle, at, "{}", core.name());
            }
        }
    }
}

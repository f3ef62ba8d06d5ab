//! Waveforms, read back.

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use common::{design, temp_dir, tools};
use fst_reader::{FstFilter, FstHierarchyEntry, FstReader, FstSignalValue};
use verilated::{Error, Init};

/// For each signal, by its path, its changes in time.
struct Wave {
    signals: BTreeMap<String, Vec<(u64, String)>>,
    exponent: i8,
    end: u64,
}

impl Wave {
    fn read(path: &Path) -> Self {
        let mut reader = FstReader::open(BufReader::new(File::open(path).unwrap())).unwrap();
        let header = reader.get_header();
        let (mut names, mut scopes) = (Vec::new(), Vec::new());
        reader
            .read_hierarchy(|entry| match entry {
                FstHierarchyEntry::Scope { name, .. } => scopes.push(name),
                FstHierarchyEntry::UpScope => drop(scopes.pop()),
                FstHierarchyEntry::Var { name, handle, .. } => {
                    let name = name.split(' ').next().unwrap();
                    names.push((format!("{}.{name}", scopes.join(".")), handle.get_index()));
                }
                _ => {}
            })
            .unwrap();
        let mut changes: BTreeMap<usize, Vec<(u64, String)>> = BTreeMap::new();
        reader
            .read_signals::<()>(&FstFilter::all(), |time, handle, value| {
                let FstSignalValue::String(digits) = value else { panic!("no reals here") };
                let digits = String::from_utf8(digits.to_vec()).unwrap();
                changes.entry(handle.get_index()).or_default().push((time, digits));
                Ok(())
            })
            .unwrap();
        let signals = names.into_iter().map(|(name, handle)| (name, changes[&handle].clone())).collect();
        Self { signals, exponent: header.timescale_exponent, end: header.end_time }
    }

    fn changes(&self, ending: &str) -> &[(u64, String)] {
        match self.signals.iter().find(|(path, _)| path.ends_with(ending)) {
            Some((_, changes)) => changes,
            None => panic!("no {ending} in {:?}", self.signals.keys()),
        }
    }

    fn at(&self, ending: &str, time: u64) -> &str {
        &self.changes(ending).iter().rfind(|(t, _)| *t <= time).unwrap().1
    }
}

const COUNT: &str = "module count (input clk, input en, output reg [7:0] n, output [99:0] wide);
    initial n = 5; always @(posedge clk) if (en) n <= n + 1;
    assign wide = {n, 84'd0, n}; wire unused_in_outputs = ^n;
endmodule";

#[test]
fn values_at_their_times() {
    let dir = temp_dir();
    let fst = dir.path().join("count.fst");
    let library = design("count", COUNT).trace(true).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.trace_start(&fst).unwrap();
    assert!(matches!(model.trace_start(&fst), Err(Error::Trace(_))));
    let inputs = [0, 1, 1, 0, 1];
    let mut outputs = vec![0; 5 * library.outputs().words()];
    model.run(5, &inputs, &mut outputs).unwrap();
    assert!(!fst.exists(), "it appears only when it is whole");
    model.trace_stop().unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left behind");

    let wave = Wave::read(&fst);
    assert_eq!((wave.exponent, wave.end), (-9, 50));
    let bits = |n: u8| format!("{n:08b}");
    assert_eq!(wave.changes("count.n"), [(0, bits(5)), (15, bits(6)), (25, bits(7)), (45, bits(8))]);
    let clock: Vec<_> = (0..10).map(|i| (5 * i, (i % 2).to_string())).collect();
    assert_eq!(wave.changes("count.clk"), clock);
    assert_eq!(
        wave.changes("count.en"),
        [(0, "0".into()), (10, "1".into()), (30, "0".into()), (40, "1".into())]
    );
    assert_eq!(wave.at("count.wide", 30), format!("{}{}{}", bits(7), "0".repeat(84), bits(7)));
    assert_eq!(wave.at("count.unused_in_outputs", 0), "0");
    assert_eq!(wave.at("count.unused_in_outputs", 30), "1");
}

#[test]
fn recording_can_start_late_and_again() {
    let dir = temp_dir();
    let library = design("count", COUNT).trace(true).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let mut outputs = vec![0; 100 * library.outputs().words()];
    let mut step = |model: &mut verilated::Model, cycles: usize| {
        model.run(cycles, &vec![1; cycles], &mut outputs[..cycles * library.outputs().words()]).unwrap();
    };
    for (i, start) in [100, 210].into_iter().enumerate() {
        step(&mut model, 100);
        assert_eq!(model.cycle(), start);
        let fst = dir.path().join(format!("{i}.fst"));
        model.trace_start(&fst).unwrap();
        step(&mut model, 10);
        model.trace_stop().unwrap();
        let wave = Wave::read(&fst);
        let n = |t: u64| format!("{:08b}", (5 + t) % 256);
        let mut expected = vec![(0, "x".repeat(8)), (10 * start, n(start))];
        expected.extend((0..10).map(|k| (10 * (start + k) + 5, n(start + k + 1))));
        assert_eq!(wave.changes("count.n"), expected);
        assert_eq!(wave.end, 10 * (start + 10));
    }
    assert!(matches!(model.trace_stop(), Err(Error::Trace(_))));
}

#[test]
fn memories_and_writes_from_outside_are_recorded() {
    let dir = temp_dir();
    let text = "module m (input clk, input we, input [7:0] d, output [7:0] y);
        reg [7:0] mem [0:3]; always @(posedge clk) if (we) mem[2] <= d; assign y = mem[2];
    endmodule";
    let library = design("m", text).trace(true).memory("m", "mem").build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let fst = dir.path().join("m.fst");
    model.trace_start(&fst).unwrap();
    model.run(2, &[0, 1 | 9 << 1], &mut [0; 2]).unwrap();
    model.write_memory_row("m.mem", 2, &[0xa5]).unwrap();
    model.run(2, &[0, 0], &mut [0; 2]).unwrap();
    // Dropping the model ends the recording, too.
    drop(model);
    let wave = Wave::read(&fst);
    let expected = [(0, "00000000".into()), (15, "00001001".into()), (20, "10100101".into())];
    assert_eq!(wave.changes("m.y"), expected);
    assert_eq!(wave.changes("mem[2]"), expected);
}

#[test]
fn combinational_designs() {
    let dir = temp_dir();
    let fst = dir.path().join("inv.fst");
    let text = "module inv (input a, output y); assign y = ~a; endmodule";
    let library = design("inv", text).combinational().trace(true).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.trace_start(&fst).unwrap();
    model.run(3, &[0, 1, 1], &mut [0; 3]).unwrap();
    model.trace_stop().unwrap();
    assert_eq!(Wave::read(&fst).changes("inv.y"), [(0, "1".into()), (10, "0".into())]);
}

#[test]
fn recording_must_be_built_in() {
    let library = design("count", COUNT).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let error = model.trace_start(Path::new("x.fst")).unwrap_err();
    assert_eq!(error.to_string(), "the model was built without trace: set Builder::trace(true)");
    let library = design("count", COUNT).trace(true).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let error = model.trace_start(Path::new("/nonexistent/folder/x.fst")).unwrap_err();
    assert!(error.to_string().contains("/nonexistent/folder"), "{error}");
}

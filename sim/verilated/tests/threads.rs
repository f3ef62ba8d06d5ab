//! Several models and libraries at once.

mod common;

use common::{design, tools};
use verilated::{Init, Library, Model};

fn assert_send<T: Send>() {}
fn assert_send_sync<T: Send + Sync>() {}

#[test]
fn what_may_cross_threads() {
    assert_send::<Model>();
    assert_send_sync::<Library>();
    assert_send_sync::<verilated::Error>();
}

fn adder(step: u32) -> Library {
    let text = "module step #(parameter STEP = 1) (input clk, input rst, output reg [31:0] n);
        always @(posedge clk) n <= rst ? 0 : n + STEP;
    endmodule";
    design("step", text).param("STEP", step).build(&tools()).unwrap()
}

fn run(model: &mut Model, cycles: usize, reset: bool) -> u64 {
    let mut inputs = vec![0; cycles];
    inputs[0] = u64::from(reset);
    let mut outputs = vec![0; cycles];
    model.run(cycles, &inputs, &mut outputs).unwrap();
    outputs[cycles - 1]
}

#[test]
fn libraries_of_the_same_module_do_not_mix() {
    let libraries: Vec<Library> = (1..=3).map(adder).collect();
    let mut models: Vec<Model> = libraries
        .iter()
        .flat_map(|l| [0, 1].map(|seed| l.instantiate(Init::Random(seed)).unwrap()))
        .collect();
    for model in &mut models {
        run(model, 1, true);
    }
    // Interleaved, cycle by cycle.
    for t in 0..50 {
        for (i, model) in models.iter_mut().enumerate() {
            assert_eq!(run(model, 1, false), t * (i as u64 / 2 + 1));
        }
    }
}

#[test]
fn models_run_in_parallel_and_move_between_threads() {
    let libraries = [adder(1), adder(2)];
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let library = libraries[i % 2].clone();
            std::thread::spawn(move || {
                let mut model = library.instantiate(Init::Random(i as u64)).unwrap();
                assert_eq!(run(&mut model, 50_002, true), 50_000 * (i as u64 % 2 + 1));
                model
            })
        })
        .collect();
    let models: Vec<Model> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    drop(libraries);
    for (i, mut model) in models.into_iter().enumerate() {
        let step = i as u64 % 2 + 1;
        std::thread::spawn(move || assert_eq!(run(&mut model, 10, false), (50_001 + 9) * step))
            .join()
            .unwrap();
    }
}

#[test]
fn a_library_may_be_unloaded_and_loaded_again() {
    for _ in 0..20 {
        let library = adder(7);
        let mut model = library.instantiate(Init::Zero).unwrap();
        drop(library);
        assert_eq!(run(&mut model, 12, true), 70);
    }
}

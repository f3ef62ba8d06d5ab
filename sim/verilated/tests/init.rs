//! The state in which a model starts, and how it ends.

mod common;

use common::{design, tools};
use verilated::{Builder, Error, Init, Library};

/// Registers, memories of all kinds of elements, and an explicit X.
fn state() -> Builder {
    let text = "module state (input clk, input [1:0] s, output reg [63:0] r, output reg [99:0] w, output [99:0] m, output [7:0] n, output reg [7:0] x);
        reg [99:0] wide [0:7]; reg [7:0] narrow [0:63]; reg set; initial set = 1;
        always @(posedge clk) begin r <= r; w <= w; end
        assign m = wide[3]; assign n = narrow[5];
        always @* case (s) 0: x = {7'd0, set}; 1: x = 8'd2; default: x = 8'bx; endcase
    endmodule";
    design("state", text).memory("state", "wide").memory("state", "narrow")
}

/// Outputs of two cycles (the second with X selected), and both memories.
fn observe(library: &Library, init: Init) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let mut model = library.instantiate(init).unwrap();
    let mut outputs = vec![0; 2 * library.outputs().words()];
    model.run(2, &[0, 2], &mut outputs).unwrap();
    let memory = |path| model.read_memory(path).unwrap();
    (outputs, memory("state.wide"), memory("state.narrow"))
}

#[test]
fn zeros_and_ones() {
    let library = state().build(&tools()).unwrap();
    let (out, wide, narrow) = observe(&library, Init::Zero);
    let words = library.outputs().words();
    assert!(wide.iter().chain(&narrow).all(|w| *w == 0));
    let x = library.outputs().pin("x").unwrap();
    assert_eq!(verilated::Layout::get(&out[..words], x), [1], "initial blocks come after");
    assert!(out[words..].iter().all(|w| *w == 0), "{out:x?}");

    let (out, wide, narrow) = observe(&library, Init::Ones);
    assert_eq!(wide, [u64::MAX, u64::MAX >> 28].repeat(8));
    assert_eq!(narrow, [0xff; 64]);
    let bits = library.outputs().bits();
    assert_eq!(out[words..].iter().map(|w| w.count_ones() as usize).sum::<usize>(), bits, "{out:x?}");
}

#[test]
fn random_is_repeatable_by_seed() {
    let library = state().build(&tools()).unwrap();
    let first = observe(&library, Init::Random(7));
    // A model of another seed in between must not matter, nor another thread.
    let other = observe(&library, Init::Random(8));
    assert_eq!(first, observe(&library, Init::Random(7)));
    let elsewhere = std::thread::scope(|s| s.spawn(|| observe(&library, Init::Random(7))).join().unwrap());
    assert_eq!(first, elsewhere);
    assert_ne!(first.0, other.0);
    assert_ne!(first.1, other.1);
    assert_ne!(first.2, other.2);
    assert_ne!(first, observe(&library, Init::Random(7 | 1 << 40)), "all bits of the seed count");
    assert_ne!(first, observe(&library, Init::Random(0)));

    let distinct = |words: &[u64]| words.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(distinct(&first.2) > 40, "rows differ from each other: {:x?}", first.2);
    assert_eq!(distinct(&first.1), 16);
}

#[test]
fn concurrent_models_do_not_disturb_each_other() {
    let library = state().build(&tools()).unwrap();
    let expected: Vec<_> = (0..4).map(|seed| observe(&library, Init::Random(seed))).collect();
    std::thread::scope(|scope| {
        for (seed, expected) in expected.iter().enumerate() {
            let library = &library;
            scope.spawn(move || {
                for _ in 0..200 {
                    assert_eq!(&observe(library, Init::Random(seed as u64)), expected);
                }
            });
        }
    });
}

#[test]
fn stop_and_fatal_end_the_model_but_not_the_process() {
    let text = "module stops (input clk, input [1:0] how, output reg [7:0] n);
        initial n = 0;
        always @(posedge clk) begin
            n <= n + 1;
            if (how == 1) $stop;
            if (how == 2) $fatal(1, \"gave up\");
            if (how == 3) $finish;
        end
    endmodule";
    let library = design("stops", text).build(&tools()).unwrap();
    for how in [1, 2] {
        let mut model = library.instantiate(Init::Zero).unwrap();
        let error = model.run(3, &[0, how, 0], &mut [0; 3]).unwrap_err();
        assert!(matches!(&error, Error::Simulation(why) if why.contains("stops.v")), "{error}");
        assert_eq!(model.cycle(), 1, "cycles that were completed");
        assert!(matches!(model.run(1, &[0], &mut [0]), Err(Error::Simulation(_))), "and stays so");
    }
    let mut model = library.instantiate(Init::Zero).unwrap();
    let mut outputs = [0; 4];
    model.run(4, &[0, 3, 3, 0], &mut outputs).unwrap();
    assert!(model.finished());
    assert_eq!(outputs, [0, 1, 2, 3], "$finish is only noted");
}

#[test]
fn assertions_are_checked_unless_turned_off() {
    let text = "module checks (input clk, input bad, output y);
        assign y = bad;
        always @(posedge clk) assert (!bad) else $error(\"bad input\");
    endmodule";
    let sources = |on| {
        verilated::Builder::new("checks")
            .source(verilated::Source::new("checks.sv", text))
            .cache_dir(common::cache_dir())
            .assertions(on)
            .build(&tools())
            .unwrap()
    };
    let run = |library: &Library| library.instantiate(Init::Zero).unwrap().run(2, &[0, 1], &mut [0; 2]);
    assert!(matches!(run(&sources(true)), Err(Error::Simulation(_))));
    run(&sources(false)).unwrap();
}

#[test]
fn logic_that_never_settles_is_an_error() {
    let text = "module ring (input clk, input en, output y); assign y = en & ~y; endmodule";
    let library = design("ring", text).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.run(1, &[0], &mut [0]).unwrap();
    let error = model.run(1, &[1], &mut [0]).unwrap_err();
    assert!(matches!(&error, Error::Simulation(why) if why.contains("converge")), "{error}");
}

//! Moving pins in and out.

mod common;

use std::fmt::Write;

use common::{Random, design, pin, row, tools};
use verilated::{Builder, Error, Init, Layout, Opt, Source};

const COUNTER: &str = "module counter (input clk, input rst, input en, output reg [31:0] n, output odd);
    always @(posedge clk) if (rst) n <= 0; else if (en) n <= n + 1;
    assign odd = n[0] ^ en;
endmodule";

#[test]
fn counter_counts_enabled_cycles() {
    let library = design("counter", COUNTER).build(&tools()).unwrap();
    assert_eq!((library.inputs().bits(), library.outputs().bits()), (2, 33));
    let mut model = library.instantiate(Init::Random(5)).unwrap();
    // More cycles than any 15- or 16-bit count holds, in one call.
    let cycles = 100_000;
    let mut random = Random(1);
    let inputs: Vec<u64> = (0..cycles).map(|t| u64::from(t == 0) | (random.next() & 2)).collect();
    let mut outputs = vec![0; cycles];
    model.run(cycles, &inputs, &mut outputs).unwrap();
    assert_eq!(model.cycle(), cycles as u64);
    let mut expected = 0;
    for t in 1..cycles {
        let en = inputs[t] >> 1;
        assert_eq!(outputs[t], expected | ((expected ^ en) & 1) << 32, "cycle {t}");
        expected += en;
    }
    assert!(expected > 40_000);

    // The state carries over to the next call.
    let mut more = [0];
    model.run(1, &[0], &mut more).unwrap();
    assert_eq!(more[0] & 0xffff_ffff, expected);
    assert_eq!(model.cycle(), cycles as u64 + 1);
    assert!(!model.finished());
}

#[test]
fn both_optimizations_agree() {
    let run = |opt| {
        let library = design("counter", COUNTER).optimize(opt).build(&tools()).unwrap();
        let mut outputs = vec![0; 1000];
        let inputs: Vec<u64> = (0..1000).map(|t| u64::from(t == 3) | (t & 1) << 1).collect();
        library.instantiate(Init::Random(9)).unwrap().run(1000, &inputs, &mut outputs).unwrap();
        outputs
    };
    let quick = run(Opt::Quick);
    assert_eq!(quick, run(Opt::Fast));
    assert_eq!(quick[999] & 0xffff_ffff, 498 - 3 + 2);
}

#[test]
fn combinational_adder() {
    let text = "module adder (input [39:0] a, input [39:0] b, input c, output [40:0] sum);
        assign sum = {1'b0, a} + {1'b0, b} + {40'd0, c};
    endmodule";
    let library = design("adder", text).combinational().build(&tools()).unwrap();
    let inputs = library.inputs().clone();
    assert_eq!((inputs.bits(), inputs.words()), (81, 2));
    let mut random = Random(2);
    let cases: Vec<[u64; 3]> =
        (0..500).map(|_| [random.next() >> 24, random.next() >> 24, random.next() >> 63]).collect();
    let packed: Vec<u64> =
        cases.iter().flat_map(|[a, b, c]| row(&inputs, &[("a", *a), ("b", *b), ("c", *c)])).collect();
    let mut sums = vec![0; cases.len()];
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.run(cases.len(), &packed, &mut sums).unwrap();
    for ([a, b, c], sum) in cases.into_iter().zip(sums) {
        assert_eq!(sum, a + b + c);
    }
}

#[test]
fn pins_of_many_widths_pass_a_register() {
    const WIDTHS: [usize; 16] = [1, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65, 127, 128, 200, 513, 4000];
    let mut text = String::from("module regs (input clk");
    for w in WIDTHS {
        let _ = write!(text, ", input [{0}:0] d{w}, output reg [{0}:0] q{w}", w - 1);
    }
    text += ");\n";
    for w in WIDTHS {
        let _ = writeln!(text, "always @(posedge clk) q{w} <= d{w};");
    }
    text += "endmodule";
    // The other way round on the output side, so that no pin lies alike on both.
    let outputs: Vec<String> = WIDTHS.iter().rev().map(|w| format!("q{w}")).collect();
    let library = design("regs", &text).output_order(outputs).build(&tools()).unwrap();
    let (ins, outs) = (library.inputs().clone(), library.outputs().clone());
    let total: usize = WIDTHS.iter().sum();
    assert_eq!((ins.bits(), outs.bits(), ins.words()), (total, total, total.div_ceil(64)));
    assert_eq!(outs.pins[0].name, "q4000");
    assert_eq!(ins.pins[0].name, "d1");

    let cycles = 200;
    let mut random = Random(3);
    let mut inputs = Vec::new();
    for _ in 0..cycles {
        let mut row = vec![0; ins.words()];
        for pin in &ins.pins {
            Layout::set(&mut row, pin, &random.bits(pin.width));
        }
        inputs.extend(row);
    }
    // Bits that belong to no pin must not matter.
    for row in inputs.chunks_mut(ins.words()) {
        *row.last_mut().unwrap() |= u64::MAX << (total % 64);
    }
    let mut outputs = vec![u64::MAX; cycles * outs.words()];
    let mut model = library.instantiate(Init::Ones).unwrap();
    model.run(cycles, &inputs, &mut outputs).unwrap();
    for (t, out) in outputs.chunks(outs.words()).enumerate() {
        for w in WIDTHS {
            let q = Layout::get(out, outs.pin(&format!("q{w}")).unwrap());
            let d = if t == 0 {
                let mut ones = vec![u64::MAX; w.div_ceil(64)];
                *ones.last_mut().unwrap() >>= (64 - w % 64) % 64;
                ones
            } else {
                let before = &inputs[(t - 1) * ins.words()..][..ins.words()];
                Layout::get(before, ins.pin(&format!("d{w}")).unwrap())
            };
            assert_eq!(q, d, "width {w}, cycle {t}");
        }
        assert_eq!(out.last().unwrap() >> (total % 64), 0, "no stray bits");
    }
}

#[test]
fn default_order_is_that_of_the_declaration() {
    // Verilator's own order is by size; comments, macros and the parameter list
    // must not confuse.
    let text = "`define PORT(n) input [7:0] n
        module other (input d, input c, input b, input a); endmodule
        // module ports (input d);
        module ports #(parameter b = 3, parameter S = \") (\") (
            input [99:0] wide, /* input a, */ `PORT(z), input a, input [63:0] \\odd.name ,
            input clk, input namespace, output [1:0] y2, output [99:0] y1, output y0);
            assign y0 = a; assign y1 = wide; assign y2 = {namespace, z[0] ^ clk ^ (^\\odd.name )};
        endmodule";
    let library = design("ports", text).build(&tools()).unwrap();
    let names = |layout: &Layout| layout.pins.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(library.inputs()), ["wide", "z", "a", "odd.name", "namespace"]);
    assert_eq!(names(library.outputs()), ["y2", "y1", "y0"]);

    let mut model = library.instantiate(Init::Zero).unwrap();
    let input = row(library.inputs(), &[("namespace", 1), ("odd.name", 1 << 63), ("a", 1)]);
    let mut output = vec![0; library.outputs().words()];
    model.run(1, &input, &mut output).unwrap();
    assert_eq!(pin(library.outputs(), &output, "y2"), 0b11);
    assert_eq!(pin(library.outputs(), &output, "y0"), 1);
}

#[test]
fn ports_declared_in_the_old_style() {
    let text = "module old (clk, b, a, y);
        input a; input [8:0] b; input clk; output y; assign y = a ^ ^b;
    endmodule";
    let library = design("old", text).build(&tools()).unwrap();
    let names: Vec<_> = library.inputs().pins.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn orders_must_list_every_pin_once() {
    let base = design("counter", COUNTER);
    let problem = |builder: &Builder| match builder.build(&tools()).unwrap_err() {
        Error::Order { side, problem } => format!("{side}: {problem}"),
        other => panic!("{other}"),
    };
    assert_eq!(problem(&base.clone().input_order(["en"])), "input: rst is not listed");
    assert_eq!(problem(&base.clone().input_order(["en", "rst", "en"])), "input: en is listed twice");
    assert_eq!(problem(&base.clone().input_order(["en", "rst", "clk"])), "input: there is no input clk");
    assert_eq!(problem(&base.clone().output_order(["n", "odd", "en"])), "output: there is no output en");
    let library = base.input_order(["en", "rst"]).output_order(["odd", "n"]).build(&tools()).unwrap();
    assert_eq!(library.inputs().pin("rst").unwrap().lsb, 1);
    assert_eq!(library.outputs().pin("n").unwrap().lsb, 1);
}

#[test]
fn slices_must_have_the_right_length() {
    let library = design("counter", COUNTER).build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let error = model.run(3, &[0; 2], &mut [0; 3]).unwrap_err();
    assert_eq!(error.to_string(), "inputs: 3 words needed, 2 given");
    let error = model.run(3, &[0; 3], &mut [0; 4]).unwrap_err();
    assert!(matches!(error, Error::Length { what: "outputs", expected: 3, got: 4 }), "{error}");
    assert!(matches!(model.run(usize::MAX, &[0], &mut [0]), Err(Error::Length { .. })));
    assert_eq!(model.cycle(), 0, "nothing was run");
    model.run(0, &[], &mut []).unwrap();
}

#[test]
fn a_design_without_inputs_or_outputs() {
    let text = "module quiet (input tick); reg r; always @(posedge tick) r <= ~r; endmodule";
    let library = design("quiet", text).clock("tick").build(&tools()).unwrap();
    assert_eq!((library.inputs().words(), library.outputs().words()), (0, 0));
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.run(50, &[], &mut []).unwrap();
    assert_eq!(model.cycle(), 50);
}

#[test]
fn includes_defines_and_control_files() {
    let tools = tools();
    let build = |define: bool| {
        let mut builder = Builder::new("inc")
            .cache_dir(common::cache_dir())
            .source(Source::new("rtl/inc.v", "`include \"width.vh\"\nmodule inc (input clk, output [`WIDTH-1:0] y);\nassign y = ~`WIDTH'd0; wire unused; endmodule\n"))
            .source(Source::new("rtl/width.vh", "`ifdef WIDE\n`define WIDTH `WIDE\n`else\n`define WIDTH 4\n`endif\n"))
            .source(Source::new("waive.vlt", "`verilator_config\nlint_off -rule UNUSEDSIGNAL -file \"*inc.v\"\nlint_off -rule DECLFILENAME -file \"*\"\n"))
            .warnings_fatal(true);
        if define {
            builder = builder.define("WIDE", "12");
        }
        builder.build(&tools).unwrap()
    };
    assert_eq!(build(false).outputs().bits(), 4);
    assert_eq!(build(true).outputs().bits(), 12);
}

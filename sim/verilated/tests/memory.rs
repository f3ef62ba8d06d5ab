//! Reading and writing memories.

mod common;

use common::{Random, design, pin, row, tools};
use verilated::{Builder, Error, Init, Layout, MemoryInfo};

/// Memories of several widths, and three instances of one in a generate loop.
fn banks() -> Builder {
    let text = "module ram #(parameter W = 8, parameter D = 16) (
            input clk, input we, input [3:0] a, input [W-1:0] d, output reg [W-1:0] q);
            reg [W-1:0] mem [0:D-1];
            always @(posedge clk) begin if (we) mem[a] <= d; q <= mem[a]; end
        endmodule
        module banks (input clk, input [7:0] we, input [3:0] a, input [99:0] d, output [7:0] parity);
            wire [0:0] q1; wire [7:0] q8; wire [32:0] q33; wire [63:0] q64; wire [99:0] q100;
            ram #(1) w1 (clk, we[0], a, d[0:0], q1);
            ram #(8) w8 (clk, we[1], a, d[7:0], q8);
            ram #(33) w33 (clk, we[2], a, d[32:0], q33);
            ram #(64) w64 (clk, we[3], a, d[63:0], q64);
            ram #(100, 10) w100 (clk, we[4], a, d, q100);
            genvar i;
            generate for (i = 0; i < 3; i = i + 1) begin : g_bank
                wire [19:0] q;
                ram #(20) bank (clk, we[5 + i], a, d[19:0] ^ i, q);
                assign parity[5 + i] = ^q;
            end endgenerate
            assign parity[4:0] = {^q100, ^q64, ^q33, ^q8, ^q1};
        endmodule";
    design("banks", text).memory("ram", "mem")
}

#[test]
fn memories_of_many_widths_read_back() {
    let library = banks().build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let info = |path: &str, rows, width| MemoryInfo { path: path.into(), rows, width };
    assert_eq!(
        model.memories(),
        [
            info("banks.g_bank[0].bank.mem", 16, 20),
            info("banks.g_bank[1].bank.mem", 16, 20),
            info("banks.g_bank[2].bank.mem", 16, 20),
            info("banks.w1.mem", 16, 1),
            info("banks.w100.mem", 10, 100),
            info("banks.w33.mem", 16, 33),
            info("banks.w64.mem", 16, 64),
            info("banks.w8.mem", 16, 8),
        ]
    );
    let inputs = library.inputs().clone();
    let (d, mut random, mut output) = (inputs.pin("d").unwrap(), Random(4), [0]);
    let mut written = vec![vec![0; 2]; 16];
    for address in [3, 0, 9, 7, 3, 5] {
        let data = random.bits(100);
        let mut input = row(&inputs, &[("we", 0xff), ("a", address)]);
        Layout::set(&mut input, d, &data);
        model.run(1, &input, &mut output).unwrap();
        written[address as usize] = data;
    }
    let low = |row: &Vec<u64>, width: usize| row[0] & (u64::MAX >> (64 - width));
    for (name, width) in [("w1", 1), ("w8", 8), ("w33", 33), ("w64", 64)] {
        let expected: Vec<u64> = written.iter().map(|row| low(row, width)).collect();
        assert_eq!(model.read_memory(&format!("banks.{name}.mem")).unwrap(), expected, "{name}");
    }
    assert_eq!(model.read_memory("banks.w100.mem").unwrap(), written[..10].concat());
    for i in 0..3 {
        let expected: Vec<u64> =
            written.iter().map(|row| if *row == [0, 0] { 0 } else { low(row, 20) ^ i }).collect();
        assert_eq!(model.read_memory(&format!("banks.g_bank[{i}].bank.mem")).unwrap(), expected);
    }
}

#[test]
fn written_rows_are_seen() {
    let library = banks().build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let mut random = Random(5);
    for memory in model.memories() {
        let (mut all, path) = (vec![0; memory.rows * memory.words()], memory.path.as_str());
        for r in [0, memory.rows - 1, 4] {
            let value = random.bits(memory.width);
            model.write_memory_row(path, r, &value).unwrap();
            all[r * memory.words()..][..memory.words()].copy_from_slice(&value);
        }
        assert_eq!(model.read_memory(path).unwrap(), all, "{path}: neighbours are left alone");
    }
    // Excess bits are dropped, not kept where Verilator relies on zeros.
    model.write_memory_row("banks.w33.mem", 2, &[u64::MAX]).unwrap();
    assert_eq!(model.read_memory("banks.w33.mem").unwrap()[2], (1 << 33) - 1);

    // And the design's own read port shows it: 33 ones have odd parity.
    let input = row(library.inputs(), &[("a", 2)]);
    let mut outputs = [0; 2];
    model.run(2, &[input.clone(), input].concat(), &mut outputs).unwrap();
    assert_eq!(outputs[1] >> 2 & 1, 1);
}

#[test]
fn a_written_row_reaches_combinational_logic_at_once() {
    // The read path depends on no input, so nothing but the write could make
    // Verilator evaluate it anew.
    let text = "module rom (input clk, input we, input [7:0] d, output [7:0] y, output [7:0] sum);
        reg [7:0] mem [0:3]; reg [1:0] at;
        initial begin mem[0] = 10; mem[1] = 20; mem[2] = 30; mem[3] = 40; at = 1; end
        always @(posedge clk) if (we) begin mem[at] <= d; at <= at + 1; end
        assign y = mem[at]; assign sum = mem[0] + mem[1] + mem[2] + mem[3];
    endmodule";
    let library = design("rom", text).memory("rom", "mem").build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Random(1)).unwrap();
    assert_eq!(model.read_memory("rom.mem").unwrap(), [10, 20, 30, 40], "initial blocks have run");
    let step = |model: &mut verilated::Model, pins: &[(&str, u64)]| {
        let mut output = [0];
        model.run(1, &row(library.inputs(), pins), &mut output).unwrap();
        ["y", "sum"].map(|name| pin(library.outputs(), &output, name))
    };
    // Before the first cycle, too.
    model.write_memory_row("rom.mem", 0, &[15]).unwrap();
    assert_eq!(step(&mut model, &[]), [20, 105]);
    model.write_memory_row("rom.mem", 1, &[21]).unwrap();
    assert_eq!(step(&mut model, &[]), [21, 106]);
    assert_eq!(step(&mut model, &[("we", 1), ("d", 0)]), [21, 106]);
    assert_eq!(step(&mut model, &[]), [30, 85]);
}

#[test]
fn other_shapes_of_arrays() {
    let text = "module shapes (input clk, input [1:0] a, input b, input [15:0] d);
        reg [15:0] down [7:4]; reg [15:0] grid [0:1][0:3]; reg [1:8] rising [0:3];
        reg [1:0][4:0] packed2 [0:3]; reg single [0:3]; reg [66:0] plain;
        always @(posedge clk) begin
            down[{1'b1, a}] <= d; grid[b][a] <= d; rising[a] <= d[7:0];
            packed2[a] <= d[9:0]; single[a] <= d[0]; plain <= {d, 51'd0};
        end
    endmodule";
    let names = ["down", "grid", "rising", "packed2", "single", "plain"];
    let library = names
        .into_iter()
        .fold(design("shapes", text), |builder, name| builder.memory("shapes", name))
        .build(&tools())
        .unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let inputs = library.inputs();
    let rows: Vec<u64> =
        (0..8).flat_map(|i| row(inputs, &[("a", i % 4), ("b", i / 4), ("d", 100 + i)])).collect();
    model.run(8, &rows, &mut []).unwrap();
    assert_eq!(model.read_memory("shapes.down").unwrap(), [104, 105, 106, 107]);
    assert_eq!(model.read_memory("shapes.grid").unwrap(), [100, 101, 102, 103, 104, 105, 106, 107]);
    assert_eq!(model.read_memory("shapes.rising").unwrap(), [104, 105, 106, 107]);
    assert_eq!(model.read_memory("shapes.packed2").unwrap(), [104, 105, 106, 107]);
    assert_eq!(model.read_memory("shapes.single").unwrap(), [0, 1, 0, 1]);
    assert_eq!(model.read_memory("shapes.plain").unwrap(), [107 << 51, 107 >> 13]);
    let mut shapes = Vec::new();
    for name in names {
        let all = model.memories();
        let memory = all.iter().find(|m| m.path == format!("shapes.{name}")).unwrap();
        shapes.push((memory.rows, memory.width));
    }
    assert_eq!(shapes, [(4, 16), (8, 16), (4, 8), (4, 10), (4, 1), (1, 67)]);
}

#[test]
fn modules_that_are_not_inlined() {
    let text = "module leaf (input clk, input [3:0] d); /* verilator no_inline_module */
            reg [3:0] mem [0:1]; always @(posedge clk) begin mem[0] <= d; mem[1] <= mem[0]; end
        endmodule
        module tree (input clk, input [3:0] d); leaf a (clk, d); leaf b (clk, ~d); endmodule";
    let library = design("tree", text).memory("leaf", "mem").build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    model.run(2, &[1, 2], &mut []).unwrap();
    assert_eq!(model.read_memory("tree.a.mem").unwrap(), [2, 1]);
    assert_eq!(model.read_memory("tree.b.mem").unwrap(), [13, 14]);
}

#[test]
fn mistakes_are_reported() {
    let error = banks().memory("ram", "missing").build(&tools()).unwrap_err();
    assert_eq!(error.to_string(), "there is no memory missing in any instance of a module ram");
    let library = banks().build(&tools()).unwrap();
    let mut model = library.instantiate(Init::Zero).unwrap();
    let error = model.read_memory("banks.w2.mem").unwrap_err();
    assert!(error.to_string().contains("banks.w33.mem"), "lists what there is: {error}");
    let error = model.write_memory_row("banks.w100.mem", 10, &[0, 0]).unwrap_err();
    assert!(matches!(error, Error::Row { row: 10, rows: 10, .. }), "{error}");
    let error = model.write_memory_row("banks.w100.mem", 0, &[0]).unwrap_err();
    assert!(matches!(error, Error::Length { expected: 2, got: 1, .. }), "{error}");
}

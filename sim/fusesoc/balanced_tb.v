// Written by scripts/packages.py: change the template in src/export instead.
//
// Plays stimulus.hex on membrane_balanced and compares every output pin in every cycle
// with expected.hex, and every memory row at the end with memory<n>.hex.
//
// Ends with one line that begins with PASS or FAIL; after FAIL the exit code is
// not 0 in Icarus and Verilator. Verilog-2005.
//
// Macros
//   MEMBRANE_WAVES        writes waves.vcd
//   MEMBRANE_NO_MEMORIES  leaves the memories out, for a netlist that has others
`default_nettype none
`timescale 1ns / 1ps

// The arguments of the macros occur in no string: some simulators replace them there, too.

// One output pin: its name, first bit in the row, and width.
`define MEMBRANE_PIN(pin, name, lsb, width) \
    if (pin !== expected_row[lsb+:width]) begin \
      differences = differences + 1; \
      if (differences <= SHOWN) \
        $display("cycle %0d: %0s expected %0h actual %0h", cycle, name, expected_row[lsb+:width], pin); \
    end

// One memory: its image, its place in the design, and its name.
`define MEMBRANE_MEMORY(image, place, name, rows) \
    for (row = 0; row < rows; row = row + 1) begin \
      if (place[row] !== image[row]) begin \
        differences = differences + 1; \
        if (differences <= SHOWN) \
          $display("memory %0s row %0d: expected %0h actual %0h", name, row, image[row], place[row]); \
      end \
    end

// Loads a file of rows, and refuses it unless it is the one that was exported.
`define MEMBRANE_LOAD(array, file, rows, digits, sum) \
    check_lines(file, rows, digits); \
    if (!refused) begin \
      $readmemh(file, array, 0, rows - 1); \
      check = 32'd0; \
      for (row = 0; row < rows; row = row + 1) fold(array[row]); \
      if (check !== sum) begin \
        $display("%0s: not the content that was exported: it was edited", file); \
        refused = 1'b1; \
      end \
    end

module membrane_tb;

  localparam CYCLES = 500;
  localparam INPUT_W = 17;
  localparam OUTPUT_W = 13;
  localparam WORD_W = 32;  // the widest row of any file, in whole 32 bits
  localparam LINE = 13;  // more than the longest line of any file
  localparam SHOWN = 10;  // differences to print

  reg [INPUT_W-1:0] stimulus[0:CYCLES-1];
  reg [OUTPUT_W-1:0] expected[0:CYCLES-1];
  reg [15:0] memory0[0:7];

  reg clk;
  reg [INPUT_W-1:0] inputs;
  reg [OUTPUT_W-1:0] expected_row;
  wire [3:0] rsp_tag;
  wire [1:0] level;
  wire [1:0] rsp_status;
  wire [0:0] rsp_hit;
  wire [0:0] rsp_valid;
  wire [0:0] req_ready;
  wire [0:0] busy;
  wire [0:0] parity_error;

  membrane_balanced_fixed dut (
      .clk(clk),
      .req_key(inputs[0+:8]),
      .req_tag(inputs[8+:4]),
      .req_op(inputs[12+:2]),
      .req_valid(inputs[14+:1]),
      .rsp_ready(inputs[15+:1]),
      .rst(inputs[16+:1]),
      .rsp_tag(rsp_tag),
      .level(level),
      .rsp_status(rsp_status),
      .rsp_hit(rsp_hit),
      .rsp_valid(rsp_valid),
      .req_ready(req_ready),
      .busy(busy),
      .parity_error(parity_error)
  );

  integer cycle, row, differences;
  reg refused;
  reg [31:0] check;

  // Checks that a file has `rows` lines of `digits` characters.
  task check_lines(input [8*64-1:0] file, input integer rows, input integer digits);
    integer handle, count, length;
    reg [8*LINE-1:0] line;
    begin
      handle = $fopen(file, "r");
      if (handle == 0) begin
        $display("%0s: cannot be opened", file);
        refused = 1'b1;
      end else begin
        count  = 0;
        length = $fgets(line, handle);
        while (length != 0) begin
          count = count + 1;
          if (length != digits + 1 && !refused) begin
            $display("%0s:%0d: the line has %0d characters, %0d expected", file, count, length - 1, digits);
            refused = 1'b1;
          end
          length = $fgets(line, handle);
        end
        if (count != rows && !refused) begin
          $display("%0s: %0d lines, %0d expected: the file was cut or edited", file, count, rows);
          refused = 1'b1;
        end
        $fclose(handle);
      end
    end
  endtask

  // Takes one row into the checksum.
  task fold(input [WORD_W-1:0] word);
    integer slice;
    begin
      for (slice = 0; slice < WORD_W; slice = slice + 32) begin
        check = {check[30:0], check[31]} ^ word[slice+:32];
      end
    end
  endtask

  task finish_with_failure;
    begin
`ifdef __ICARUS__
      $finish_and_return(1);
`else
`ifdef VERILATOR
      $fatal(1);
`else
      $finish;
`endif
`endif
    end
  endtask

  initial begin
`ifdef MEMBRANE_WAVES
    $dumpfile("waves.vcd");
    $dumpvars(0, membrane_tb);
`endif
    clk         = 1'b0;
    inputs      = {INPUT_W{1'b0}};
    differences = 0;
    refused     = 1'b0;
    `MEMBRANE_LOAD(stimulus, "stimulus.hex", CYCLES, 5, 32'hde2629e0)
    `MEMBRANE_LOAD(expected, "expected.hex", CYCLES, 4, 32'hbd271112)
    `MEMBRANE_LOAD(memory0, "memory0.hex", 8, 4, 32'h00718cb5)
    if (refused) begin
      $display("FAIL membrane_balanced: the files are not those that were exported");
      finish_with_failure;
    end else begin
      // One edge with rst high and all other inputs low before the first row.
      inputs[16] = 1'b1;
      #5 clk = 1'b1;
      #5 clk = 1'b0;
      for (cycle = 0; cycle < CYCLES; cycle = cycle + 1) begin
        inputs       = stimulus[cycle];
        expected_row = expected[cycle];
        #5;
        `MEMBRANE_PIN(rsp_tag, "rsp_tag", 0, 4)
        `MEMBRANE_PIN(level, "level", 4, 2)
        `MEMBRANE_PIN(rsp_status, "rsp_status", 6, 2)
        `MEMBRANE_PIN(rsp_hit, "rsp_hit", 8, 1)
        `MEMBRANE_PIN(rsp_valid, "rsp_valid", 9, 1)
        `MEMBRANE_PIN(req_ready, "req_ready", 10, 1)
        `MEMBRANE_PIN(busy, "busy", 11, 1)
        `MEMBRANE_PIN(parity_error, "parity_error", 12, 1)
        clk = 1'b1;
        #5 clk = 1'b0;
      end
`ifndef MEMBRANE_NO_MEMORIES
      #1;
      `MEMBRANE_MEMORY(memory0, dut.core.g_level[0].blocks.memory.mem, "g_level[0].blocks.memory.mem", 8)
`endif
      if (differences == 0) begin
        $display("PASS membrane_balanced: %0d cycles, 8 output pins, 1 memories", CYCLES);
        $finish;
      end else begin
        $display("FAIL membrane_balanced: %0d differences in %0d cycles", differences, CYCLES);
        finish_with_failure;
      end
    end
  end

endmodule

`default_nettype wire

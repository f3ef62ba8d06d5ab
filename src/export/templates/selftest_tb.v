// Runs membrane_selftest in a simulator until it is done. Verilog-2005.
`default_nettype none
`timescale 1ns / 1ps

module membrane_selftest_tb;

  localparam LIMIT = @CYCLES@ + 100;

  reg clk, rst;
  wire done, pass;
  wire [15:0] mismatches;
  wire [31:0] first;
  integer cycle;

  membrane_selftest selftest (
      .clk(clk),
      .rst(rst),
      .done(done),
      .pass(pass),
      .mismatches(mismatches),
      .first(first)
  );

  initial begin
`ifdef MEMBRANE_WAVES
    $dumpfile("waves.vcd");
    $dumpvars(0, membrane_selftest_tb);
`endif
    clk = 1'b0;
    rst = 1'b1;
    #5 clk = 1'b1;
    #5 clk = 1'b0;
    #5 clk = 1'b1;
    #5 clk = 1'b0;
    rst   = 1'b0;
    cycle = 0;
    #5;
    while (done !== 1'b1 && cycle < LIMIT) begin
      clk = 1'b1;
      #5 clk = 1'b0;
      #5 cycle = cycle + 1;
    end
    if (pass === 1'b1) begin
      $display("PASS self-test of @MODULE@: done after %0d cycles", cycle);
      $finish;
    end else begin
      if (done === 1'b1) $display("%0d cycles differ, the first is cycle %0d", mismatches, first);
      else $display("not done after %0d cycles", cycle);
      $display("FAIL self-test of @MODULE@");
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
  end

endmodule

`default_nettype wire

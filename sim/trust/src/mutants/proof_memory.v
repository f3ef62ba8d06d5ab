// membrane_sram_1p as the equivalence proof sees it: its ports, zero where the memory does not
// look at them, on a black box whose ports the proof compares. What is read is any value, the
// same for core and mutant.
module membrane_sram_1p #(
    parameter DEPTH  = 0,
    parameter WIDTH  = 0,
    parameter MASKED = 0,
    parameter INIT   = "",
    parameter INDEX  = 0,
    parameter ADDR_W = $clog2(DEPTH)
) (
    input  wire              clk,
    input  wire              en,
    input  wire              we,
    input  wire [ADDR_W-1:0] addr,
    input  wire [ WIDTH-1:0] wdata,
    input  wire [ WIDTH-1:0] wmask,
    output wire [ WIDTH-1:0] rdata
);

  wire write = en && we;
  wire [WIDTH-1:0] mask = {WIDTH{write}} & ((MASKED != 0) ? wmask : {WIDTH{1'b1}});

  proof_memory #(
      .WIDTH (WIDTH),
      .ADDR_W(ADDR_W)
  ) memory (
      .en   (en),
      .write(write),
      .addr (addr & {ADDR_W{en}}),
      .wdata(wdata & mask),
      .wmask(mask),
      .rdata(rdata)
  );

endmodule

(* blackbox *)
module proof_memory #(
    parameter WIDTH  = 0,
    parameter ADDR_W = 0
) (
    input  wire              en,
    input  wire              write,
    input  wire [ADDR_W-1:0] addr,
    input  wire [ WIDTH-1:0] wdata,
    input  wire [ WIDTH-1:0] wmask,
    output wire [ WIDTH-1:0] rdata
);
endmodule

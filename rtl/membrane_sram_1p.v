// Single-port SRAM: the only memory of all cores. To use a memory macro, replace
// this file.
//
// Parameters
//   DEPTH      rows
//   WIDTH      bits of a row
//   MASKED     0: whole rows are written, which infers block RAM.
//              1: wmask chooses the bits that are written, for macros that can
//              do so; few FPGA block RAMs can.
//   INIT_FILE  "" or a $readmemh image that the memory starts from
//
// Ports
//   en, we     one access a cycle: a write if we is high, else a read
//   addr       row; must be below DEPTH
//   wdata      row to write
//   wmask      MASKED=1: bits to write; MASKED=0: ignored
//   rdata      row read
//
// Behaviour
//   Read:      rdata shows the row in the next cycle and holds it until the
//              cycle after the next read; a write does not disturb it.
//   Idle:      nothing changes.
//   Power-up:  content and rdata are unknown, unless INIT_FILE gives the content.
`default_nettype none

module membrane_sram_1p #(
    parameter DEPTH     = 0,
    parameter WIDTH     = 0,
    parameter MASKED    = 0,
    parameter INIT_FILE = "",
    parameter ADDR_W    = $clog2(DEPTH)  // derived: leave it
) (
    input  wire              clk,
    input  wire              en,
    input  wire              we,
    input  wire [ADDR_W-1:0] addr,
    input  wire [ WIDTH-1:0] wdata,
    input  wire [ WIDTH-1:0] wmask,
    output reg  [ WIDTH-1:0] rdata
);

  reg [WIDTH-1:0] mem[0:DEPTH-1];

  generate
    if (INIT_FILE != "") begin : g_init
      initial $readmemh(INIT_FILE, mem);
    end

    if (MASKED != 0) begin : g_masked
      always @(posedge clk) begin : access
        integer i;
        if (en) begin
          if (we) begin
            for (i = 0; i < WIDTH; i = i + 1) if (wmask[i]) mem[addr][i] <= wdata[i];
          end else rdata <= mem[addr];
        end
      end
    end else begin : g_whole
      always @(posedge clk) begin
        if (en) begin
          if (we) mem[addr] <= wdata;
          else rdata <= mem[addr];
        end
      end

      wire unused = &{1'b0, wmask};
    end
  endgenerate

endmodule

`default_nettype wire

// Single-port SRAM: the only memory of all cores. To use a memory macro, replace
// this file.
//
// Parameters
//   DEPTH      rows
//   WIDTH      bits of a row
//   MASKED     0: whole rows are written, which infers block RAM.
//              1: wmask chooses the bits that are written, for macros that can
//              do so; few FPGA block RAMs can.
//   INIT       "" or the prefix of the $readmemh images of a core's memories
//   INDEX      which of them this is, 0 to 99: it starts from <INIT><INDEX>.hex
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
//   Power-up:  content and rdata are unknown, unless INIT gives the content.
`default_nettype none

module membrane_sram_1p #(
    parameter DEPTH  = 0,
    parameter WIDTH  = 0,
    parameter MASKED = 0,
    parameter INIT   = "",
    parameter INDEX  = 0,
    parameter ADDR_W = $clog2(DEPTH)  // derived: leave it
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
    if (INIT != "") begin : g_init
      // Its number in decimal digits.
      localparam [31:0] TENS = 48 + INDEX / 10;
      localparam [31:0] ONES = 48 + INDEX % 10;
      if (INDEX < 10) begin : g_one_digit
        initial $readmemh({INIT, ONES[7:0], ".hex"}, mem);
      end else if (INDEX < 100) begin : g_two_digits
        initial $readmemh({INIT, TENS[7:0], ONES[7:0], ".hex"}, mem);
      end else begin : g_rule_index
        membrane_error_INDEX_must_be_0_to_99 error ();
      end
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

// Stands for membrane_sram_1p where a proof is about one block: a read gives anything, and the
// proof says what.
`default_nettype none

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
    output reg  [ WIDTH-1:0] rdata
);

  wire [WIDTH-1:0] anything = $anyseq;

  always @(posedge clk) if (en && !we) rdata <= anything;

endmodule

`default_nettype wire

// TinySet, decode 1: how many chains of a block are not empty, in all and before one.
//
// Parameters
//   CHAINS   chains of a block
//
// Ports
//   index    a bit per chain: it is not empty
//   chain    which chain; must be below CHAINS
//   ones     chains that are not empty
//   rank     those of them before chain
//   present  chain is not empty
//
// Behaviour
//   Combinational.
`default_nettype none

module membrane_tinyset_rank #(
    parameter CHAINS  = 0,
    parameter CHAIN_W = $clog2(CHAINS),     // derived: leave it
    parameter RANK_W  = $clog2(CHAINS + 1)  // derived: leave it
) (
    input  wire [ CHAINS-1:0] index,
    input  wire [CHAIN_W-1:0] chain,
    output wire [ RANK_W-1:0] ones,
    output wire [ RANK_W-1:0] rank,
    output wire               present
);

  function [RANK_W-1:0] count(input [CHAINS-1:0] bits);
    integer i;
    begin
      count = {RANK_W{1'b0}};
      for (i = 0; i < CHAINS; i = i + 1) count = count + {{(RANK_W - 1) {1'b0}}, bits[i]};
    end
  endfunction

  wire [CHAINS-1:0] ahead = ~({CHAINS{1'b1}} << chain);

  assign ones    = count(index);
  assign rank    = count(index & ahead);
  assign present = index[chain];

endmodule

`default_nettype wire

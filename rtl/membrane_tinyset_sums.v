// TinySet, insert 2: how far each bit of the array moves down when bits are dropped.
//
// Parameters
//   ARRAY    bits of the array
//   SUM_W    bits of a distance
//
// Ports
//   drop     the bits that are dropped
//   sums     SUM_W vectors of ARRAY bits: bit k of the number of dropped bits below bit q
//            is sums[k*ARRAY + q], and 0 for a bit that is dropped itself
//
// Behaviour
//   Combinational, in two levels: inside groups of 16 bits, and over the groups. At
//   most 2^SUM_W - 1 bits may be dropped.
`default_nettype none

module membrane_tinyset_sums #(
    parameter ARRAY = 0,
    parameter SUM_W = 0
) (
    input  wire [      ARRAY-1:0] drop,
    output reg  [SUM_W*ARRAY-1:0] sums
);

  localparam GROUP = 16;
  localparam GROUPS = (ARRAY + GROUP - 1) / GROUP;

  // Dropped bits in the groups before each.
  reg [GROUPS*SUM_W-1:0] ahead;

  always @* begin : groups
    integer g, i;
    reg [SUM_W-1:0] all, here;
    ahead = {(GROUPS * SUM_W) {1'b0}};
    all    = {SUM_W{1'b0}};
    for (g = 0; g < GROUPS; g = g + 1) begin
      ahead[g*SUM_W+:SUM_W] = all;
      here = {SUM_W{1'b0}};
      for (i = 0; i < GROUP; i = i + 1) begin
        if (g * GROUP + i < ARRAY) here = here + {{(SUM_W - 1) {1'b0}}, drop[g*GROUP+i]};
      end
      all = all + here;
    end
  end

  always @* begin : bits
    integer q, k;
    reg [SUM_W-1:0] below, sum;
    below = {SUM_W{1'b0}};
    sums   = {(SUM_W * ARRAY) {1'b0}};
    for (q = 0; q < ARRAY; q = q + 1) begin
      if (q % GROUP == 0) below = {SUM_W{1'b0}};
      sum = ahead[(q/GROUP)*SUM_W+:SUM_W] + below;
      for (k = 0; k < SUM_W; k = k + 1) sums[k*ARRAY+q] = sum[k] && !drop[q];
      below = below + {{(SUM_W - 1) {1'b0}}, drop[q]};
    end
  end

endmodule

`default_nettype wire

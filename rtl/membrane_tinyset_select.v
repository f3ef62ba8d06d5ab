// TinySet, decode 2: the position after the n-th set bit.
//
// Parameters
//   WIDTH    bits to search
//   N_W      bits of n
//
// Ports
//   bits     where to search, from bit 0 on
//   n        which set bit, from 1; bits must have that many
//   after    its position plus 1; 0 for n = 0
//
// Behaviour
//   Combinational, in two levels: sums of groups of 16 bits find the group, then the
//   sums inside it the bit. If bits has fewer than n set bits, after is 0.
`default_nettype none

module membrane_tinyset_select #(
    parameter WIDTH = 0,
    parameter N_W   = 0,
    parameter POS_W = $clog2(WIDTH + 1)  // derived: leave it
) (
    input  wire [WIDTH-1:0] bits,
    input  wire [  N_W-1:0] n,
    output wire [POS_W-1:0] after
);

  localparam GROUP = 16;
  localparam GROUPS = (WIDTH + GROUP - 1) / GROUP;
  localparam SUM_W = ((N_W > POS_W) ? N_W : POS_W) + 1;  // holds all sums, and n
  localparam BASE_W = (POS_W > 5) ? POS_W : 5;

  wire [GROUPS*GROUP-1:0] padded;
  wire [SUM_W-1:0] wanted;

  generate
    if (GROUPS * GROUP > WIDTH) begin : g_pad
      assign padded = {{(GROUPS * GROUP - WIDTH) {1'b0}}, bits};
    end else begin : g_whole
      assign padded = bits;
    end
  endgenerate

  assign wanted = {{(SUM_W - N_W) {1'b0}}, n};

  function [SUM_W-1:0] count(input [GROUP-1:0] group);
    integer i;
    begin
      count = {SUM_W{1'b0}};
      for (i = 0; i < GROUP; i = i + 1) count = count + {{(SUM_W - 1) {1'b0}}, group[i]};
    end
  endfunction

  reg [GROUP-1:0] group;
  reg [SUM_W-1:0] rest;  // set bits to go, in the group
  reg [BASE_W-1:0] base;  // position before the group
  reg [BASE_W-1:0] position;

  always @* begin : search
    integer i;
    reg [SUM_W-1:0] sum;  // set bits before the group
    reg [SUM_W-1:0] next;  // and with it
    reg [SUM_W-1:0] seen;
    reg here;
    group = {GROUP{1'b0}};
    rest  = {SUM_W{1'b0}};
    base  = {BASE_W{1'b0}};
    sum   = {SUM_W{1'b0}};
    for (i = 0; i < GROUPS; i = i + 1) begin
      next = sum + count(padded[i*GROUP+:GROUP]);
      here = sum < wanted && wanted <= next;
      group = group | ({GROUP{here}} & padded[i*GROUP+:GROUP]);
      rest  = rest | ({SUM_W{here}} & (wanted - sum));
      if (here) base = i[BASE_W-1:0] << 4;
      sum = next;
    end
    // Every bit that ends before the wanted one is passed over.
    position = base;
    seen     = {SUM_W{1'b0}};
    for (i = 0; i < GROUP; i = i + 1) begin
      if (seen < rest) position = position + 1'b1;
      seen = seen + {{(SUM_W - 1) {1'b0}}, group[i]};
    end
  end

  assign after = position[POS_W-1:0];

  generate
    if (BASE_W > POS_W) begin : g_spare
      wire unused = &{1'b0, position[BASE_W-1:POS_W]};
    end
  endgenerate

endmodule

`default_nettype wire

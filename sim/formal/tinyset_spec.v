// A TinySet block without removals, written down from its definition, slot after slot: no rank,
// no select, no shifts. The content is a list of items in the order of the slots: which chain,
// and the remainder in full; the block keeps as many of its bits as there is room for.
//
// before is the block of the items; after that with one more, in front of its chain; hit says that
// an item of the chain matches in the bits that are kept.
`default_nettype none

module tinyset_spec #(
    parameter CHAINS  = 0,
    parameter ARRAY   = 0,
    parameter F_MAX   = 0,
    parameter C_MAX   = 0,
    parameter CHAIN_W = $clog2(CHAINS),
    parameter SLOT_W  = $clog2(C_MAX + 1)
) (
    input  wire [C_MAX*CHAIN_W-1:0] chains,
    input  wire [  C_MAX*F_MAX-1:0] remainders,
    input  wire [       SLOT_W-1:0] items,
    input  wire [      CHAIN_W-1:0] chain,
    input  wire [        F_MAX-1:0] remainder,
    output wire                     legal,
    output wire [ CHAINS+ARRAY-1:0] before,
    output wire [ CHAINS+ARRAY-1:0] after,
    output wire                     hit
);

  // Bits of the fingerprint in slot i of c.
  function integer bits_of(input integer i, input integer c);
    begin
      bits_of = ARRAY / c - 1;
      if (bits_of >= F_MAX) bits_of = F_MAX;
      else if (i < ARRAY % c) bits_of = bits_of + 1;
    end
  endfunction

  // The block with exactly c items.
  function [CHAINS+ARRAY-1:0] block_of(input integer c, input [C_MAX*CHAIN_W-1:0] in_chains,
                                       input [C_MAX*F_MAX-1:0] in_remainders);
    integer i, b, n, at;
    begin
      block_of = 0;
      at       = CHAINS + c;
      for (i = 0; i < c; i = i + 1) begin
        for (n = 0; n < CHAINS; n = n + 1) if (in_chains[i*CHAIN_W+:CHAIN_W] == n) block_of[n] = 1'b1;
        block_of[CHAINS+i] = (i == c - 1) ||
            in_chains[i*CHAIN_W+:CHAIN_W] != in_chains[((i + 1) % C_MAX)*CHAIN_W+:CHAIN_W];
        for (b = 0; b < F_MAX; b = b + 1) begin
          if (b < bits_of(i, c)) block_of[at+b] = in_remainders[i*F_MAX+b];
        end
        at = at + bits_of(i, c);
      end
    end
  endfunction

  // In the order of chains, and no chain that is not there.
  reg sorted;
  always @* begin : check_order
    integer i;
    sorted = items <= C_MAX;
    for (i = 0; i < C_MAX; i = i + 1) begin
      if (i < items && chains[i*CHAIN_W+:CHAIN_W] >= CHAINS) sorted = 1'b0;
      if (i + 1 < items && chains[i*CHAIN_W+:CHAIN_W] > chains[((i+1)%C_MAX)*CHAIN_W+:CHAIN_W]) sorted = 1'b0;
    end
  end
  assign legal = sorted;

  // With the new item in front of the first one whose chain is not before its own.
  reg [C_MAX*CHAIN_W-1:0] new_chains;
  reg [C_MAX*F_MAX-1:0] new_remainders;
  always @* begin : add
    integer i;
    reg placed;
    placed = 1'b0;
    new_chains = 0;
    new_remainders = 0;
    for (i = 0; i < C_MAX; i = i + 1) begin
      if (!placed && (i == items || chains[i*CHAIN_W+:CHAIN_W] >= chain)) begin
        placed = 1'b1;
        new_chains[i*CHAIN_W+:CHAIN_W] = chain;
        new_remainders[i*F_MAX+:F_MAX] = remainder;
      end else if (placed && i > 0) begin
        new_chains[i*CHAIN_W+:CHAIN_W] = chains[((i+C_MAX-1)%C_MAX)*CHAIN_W+:CHAIN_W];
        new_remainders[i*F_MAX+:F_MAX] = remainders[((i+C_MAX-1)%C_MAX)*F_MAX+:F_MAX];
      end else begin
        new_chains[i*CHAIN_W+:CHAIN_W] = chains[i*CHAIN_W+:CHAIN_W];
        new_remainders[i*F_MAX+:F_MAX] = remainders[i*F_MAX+:F_MAX];
      end
    end
  end

  wire [(C_MAX+1)*(CHAINS+ARRAY)-1:0] blocks, new_blocks;
  wire [C_MAX:0] hits;
  assign blocks[0+:CHAINS+ARRAY] = 0;
  assign hits[0] = 1'b0;

  genvar c, k;
  generate
    for (c = 1; c <= C_MAX; c = c + 1) begin : g_count
      wire [c-1:0] match;
      assign blocks[c*(CHAINS+ARRAY)+:CHAINS+ARRAY] = block_of(c, chains, remainders);
      assign new_blocks[(c-1)*(CHAINS+ARRAY)+:CHAINS+ARRAY] = block_of(c, new_chains, new_remainders);
      for (k = 0; k < c; k = k + 1) begin : g_item
        localparam BITS = bits_of(k, c);
        assign match[k] = chains[k*CHAIN_W+:CHAIN_W] == chain &&
            remainders[k*F_MAX+:BITS] == remainder[BITS-1:0];
      end
      assign hits[c] = |match;
    end
  endgenerate
  assign new_blocks[C_MAX*(CHAINS+ARRAY)+:CHAINS+ARRAY] = 0;  // a full block takes no more

  assign before = blocks >> (items * (CHAINS + ARRAY));
  assign after  = new_blocks >> (items * (CHAINS + ARRAY));
  assign hit    = hits >> items;

endmodule

`default_nettype wire

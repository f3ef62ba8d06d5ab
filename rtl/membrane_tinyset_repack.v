// TinySet, insert 3: closes the gaps of dropped bits and opens those of the new item.
//
// Parameters
//   ARRAY      bits of the array
//   F_MAX      longest fingerprint
//   SUM_W      bits of a distance
//
// Ports
//   array      the array before the insert
//   drop       the bits that are dropped
//   sums       how far each other bit moves down, see membrane_tinyset_sums
//   slot       the new item's slot: where its last bit goes
//   last       its last bit
//   at         where its fingerprint goes, in the new array
//   width      bits of its fingerprint
//   remainder  the fingerprint, first bit lowest; bits from width on are ignored
//   packed_array  the array after the insert
//
// Behaviour
//   Combinational. The gaps are closed by SUM_W levels of shifts by 1, 2, 4, ...: a bit
//   moves at level k if bit k of its distance is set, and its distance moves with it.
//   Since the distance never falls from one kept bit to the next, and grows only over
//   dropped bits, no two bits ever meet.
`default_nettype none

module membrane_tinyset_repack #(
    parameter ARRAY = 0,
    parameter F_MAX = 0,
    parameter SUM_W = 0,
    parameter POS_W = $clog2(ARRAY + 1),  // derived: leave it
    parameter S_W   = $clog2(F_MAX + 1)   // derived: leave it
) (
    input  wire [      ARRAY-1:0] array,
    input  wire [      ARRAY-1:0] drop,
    input  wire [SUM_W*ARRAY-1:0] sums,
    input  wire [      POS_W-1:0] slot,
    input  wire                   last,
    input  wire [      POS_W-1:0] at,
    input  wire [        S_W-1:0] width,
    input  wire [      F_MAX-1:0] remainder,
    output wire [      ARRAY-1:0] packed_array
);

  genvar k, d;
  generate
    for (k = 0; k < SUM_W; k = k + 1) begin : g_level
      localparam SHIFT = 1 << k;
      wire [(SUM_W-k)*ARRAY-1:0] far;  // distances left to go, lowest bit first
      wire [ARRAY-1:0] from;
      wire [ARRAY-1:0] moves = far[0+:ARRAY];
      wire [ARRAY-1:0] moved = (from & ~moves) | ((from & moves) >> SHIFT);

      if (k == 0) begin : g_first
        assign far  = sums;
        assign from = array & ~drop;
      end else begin : g_next
        assign from = g_level[k-1].moved;
        for (d = 0; d < SUM_W - k; d = d + 1) begin : g_bit
          wire [ARRAY-1:0] distance = g_level[k-1].far[(d+1)*ARRAY+:ARRAY];
          assign far[d*ARRAY+:ARRAY] = (distance & ~g_level[k-1].moves) |
              ((distance & g_level[k-1].moves) >> (SHIFT / 2));
        end
      end
    end
  endgenerate

  // The new item: its last bit, then its fingerprint.
  wire [ARRAY-1:0] closed = g_level[SUM_W-1].moved;
  wire [ARRAY-1:0] below_slot = ~({ARRAY{1'b1}} << slot);
  wire [ARRAY-1:0] below_at = ~({ARRAY{1'b1}} << at);
  wire [F_MAX-1:0] kept = remainder & ~({F_MAX{1'b1}} << width);
  wire [ARRAY-1:0] flagged = (closed & below_slot) | ({{(ARRAY - 1) {1'b0}}, last} << slot) |
      ((closed & ~below_slot) << 1);

  assign packed_array = (flagged & below_at) | ({{(ARRAY - F_MAX) {1'b0}}, kept} << at) |
      ((flagged & ~below_at) << width);

endmodule

`default_nettype wire

// TinySet, insert 1: which bits of the array an insert drops.
//
// Parameters
//   ARRAY      bits of the array
//   F_MAX      longest fingerprint
//
// Ports
//   near_*     dropped bits among the extended slots: their number, the position of
//              the first, and they lie s + 1 apart
//   far_*      dropped bits among the others, s apart. far_base is where the first would
//              be if the far ones were counted on from the near ones: position of the
//              first less near_count * s
//   s          bits of a fingerprint before the insert
//   freed      a last bit is dropped, too, for an insert that reuses a freed slot
//   freed_at   its position
//   drop       the bits to drop
//
// Behaviour
//   Combinational. The slots that get shorter lose their highest bit, one each, because
//   F_MAX * F_MAX <= ARRAY; together near_count + far_count <= F_MAX + 1 bits.
`default_nettype none

module membrane_tinyset_drops #(
    parameter ARRAY  = 0,
    parameter F_MAX  = 0,
    parameter POS_W  = $clog2(ARRAY + 1),  // derived: leave it
    parameter S_W    = $clog2(F_MAX + 1),  // derived: leave it
    parameter DROP_W = $clog2(F_MAX + 2)   // derived: leave it
) (
    input  wire [DROP_W-1:0] near_count,
    input  wire [ POS_W-1:0] near_first,
    input  wire [DROP_W-1:0] far_count,
    input  wire [ POS_W-1:0] far_base,
    input  wire [   S_W-1:0] s,
    input  wire              freed,
    input  wire [ POS_W-1:0] freed_at,
    output reg  [ ARRAY-1:0] drop
);

  localparam MOST = F_MAX + 1;

  wire [POS_W-1:0] stride = {{(POS_W - S_W) {1'b0}}, s};
  wire [DROP_W:0] all = {1'b0, near_count} + {1'b0, far_count};

  always @* begin : mark
    integer j;
    reg [POS_W-1:0] near_at;
    reg [POS_W-1:0] far_at;
    near_at = near_first;
    far_at  = far_base;
    drop    = {{(ARRAY - 1) {1'b0}}, freed} << freed_at;
    for (j = 0; j < MOST; j = j + 1) begin
      if (j[DROP_W:0] < {1'b0, near_count}) drop = drop | ({{(ARRAY - 1) {1'b0}}, 1'b1} << near_at);
      else if (j[DROP_W:0] < all) drop = drop | ({{(ARRAY - 1) {1'b0}}, 1'b1} << far_at);
      near_at = near_at + stride + 1'b1;
      far_at  = far_at + stride;
    end
  end

endmodule

`default_nettype wire

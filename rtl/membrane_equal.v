// Compares two words, for little area.
//
// Parameters
//   WIDTH   bits
//
// Ports
//   a, b    the words
//   en      low keeps equal low
//   equal   en, and a is b
//
// Behaviour
//   Combinational. Left to itself, a synthesis that maps for depth spends twice the
//   area on comparisons that all lie on the longest path. Here one LUT4 compares
//   two bits and one collects four of these, in modules whose bounds it keeps.
`default_nettype none

module membrane_equal #(
    parameter WIDTH = 0
) (
    input  wire [WIDTH-1:0] a,
    input  wire [WIDTH-1:0] b,
    input  wire             en,
    output wire             equal
);

  localparam BYTES = (WIDTH + 7) / 8;

  wire [8*BYTES-1:0] whole_a, whole_b;
  wire [4*BYTES-1:0] pairs;
  wire [  BYTES-1:0] fours;

  generate
    if (8 * BYTES == WIDTH) begin : g_whole
      assign whole_a = a;
      assign whole_b = b;
    end else begin : g_part
      assign whole_a = {{(8 * BYTES - WIDTH) {1'b0}}, a};
      assign whole_b = {{(8 * BYTES - WIDTH) {1'b0}}, b};
    end
  endgenerate

  membrane_equal_pairs #(
      .PAIRS(4 * BYTES)
  ) compare (
      .a    (whole_a),
      .b    (whole_b),
      .equal(pairs)
  );

  membrane_equal_fours #(
      .FOURS(BYTES)
  ) collect (
      .pairs(pairs),
      .equal(fours)
  );

  assign equal = en && (&fours);

endmodule

`default_nettype wire

// Compares two words, byte by byte, for little area.
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
//   area on a comparison that is compared with many others: the bytes and pairs of
//   bits are modules whose bounds it keeps, and so one LUT4 compares two bits.
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

  wire [BYTES-1:0] same;
  assign equal = en && (&same);

  genvar i;
  generate
    for (i = 0; i < BYTES; i = i + 1) begin : g_byte
      localparam BITS = (WIDTH - 8 * i < 8) ? WIDTH - 8 * i : 8;
      wire [7:0] byte_a, byte_b;

      if (BITS == 8) begin : g_whole
        assign byte_a = a[8*i+:8];
        assign byte_b = b[8*i+:8];
      end else begin : g_part
        assign byte_a = {{(8 - BITS) {1'b0}}, a[8*i+:BITS]};
        assign byte_b = {{(8 - BITS) {1'b0}}, b[8*i+:BITS]};
      end

      membrane_equal8 equal8 (
          .a    (byte_a),
          .b    (byte_b),
          .equal(same[i])
      );
    end
  endgenerate

endmodule

`default_nettype wire

// Compares two bytes: a part of membrane_equal that synthesis is to keep as it is.
//
// Parameters
//   none
//
// Ports
//   a, b    the bytes
//   equal   a is b
//
// Behaviour
//   Combinational; five LUT4.
`default_nettype none

(* keep_hierarchy *)
module membrane_equal8 (
    input  wire [7:0] a,
    input  wire [7:0] b,
    output wire       equal
);

  wire [3:0] same;
  assign equal = &same;

  genvar i;
  generate
    for (i = 0; i < 4; i = i + 1) begin : g_pair
      membrane_equal2 equal2 (
          .a    (a[2*i+:2]),
          .b    (b[2*i+:2]),
          .equal(same[i])
      );
    end
  endgenerate

endmodule

`default_nettype wire

// Compares two pairs of bits: a part of membrane_equal that synthesis is to keep as
// it is.
//
// Parameters
//   none
//
// Ports
//   a, b    the pairs
//   equal   a is b
//
// Behaviour
//   Combinational; one LUT4.
`default_nettype none

(* keep_hierarchy *)
module membrane_equal2 (
    input  wire [1:0] a,
    input  wire [1:0] b,
    output wire       equal
);

  assign equal = a == b;

endmodule

`default_nettype wire

// Compares two words by pairs of bits: a part of membrane_equal that synthesis is to
// keep as it is.
//
// Parameters
//   PAIRS   pairs of bits
//
// Ports
//   a, b    the words
//   equal   bit i: a and b agree in bits i and PAIRS + i
//
// Behaviour
//   Combinational; one LUT4 per pair.
`default_nettype none

(* keep_hierarchy *)
module membrane_equal_pairs #(
    parameter PAIRS = 0
) (
    input  wire [2*PAIRS-1:0] a,
    input  wire [2*PAIRS-1:0] b,
    output wire [  PAIRS-1:0] equal
);

  wire [2*PAIRS-1:0] differ = a ^ b;
  assign equal = ~(differ[0+:PAIRS] | differ[PAIRS+:PAIRS]);

endmodule

`default_nettype wire

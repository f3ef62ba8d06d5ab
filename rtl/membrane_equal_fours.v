// Collects the pairs of membrane_equal by fours: a part of it that synthesis is to
// keep as it is.
//
// Parameters
//   FOURS   groups of four
//
// Ports
//   pairs   what membrane_equal_pairs found
//   equal   bit i: bits i, FOURS + i, 2 * FOURS + i and 3 * FOURS + i are all set
//
// Behaviour
//   Combinational; one LUT4 per group.
`default_nettype none

(* keep_hierarchy *)
module membrane_equal_fours #(
    parameter FOURS = 0
) (
    input  wire [4*FOURS-1:0] pairs,
    output wire [  FOURS-1:0] equal
);

  assign equal = pairs[0+:FOURS] & pairs[FOURS+:FOURS] & pairs[2*FOURS+:FOURS] & pairs[3*FOURS+:FOURS];

endmodule

`default_nettype wire

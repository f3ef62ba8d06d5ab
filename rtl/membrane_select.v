// Turns a hash field into a number below N, without logic when N is a power of
// two, else by one multiplication: (field * N) >> FIELD_W.
//
// Parameters
//   N        how many there are to select from, at least 2
//
// Ports
//   field    hash bits: clog2(N) of them if N is a power of two, else 8 more, so
//            that no number is more than 1/256 likelier than another
//   index    the selection
//
// Behaviour
//   Combinational.
`default_nettype none

module membrane_select #(
    parameter N       = 0,
    parameter INDEX_W = $clog2(N),                                    // derived
    parameter FIELD_W = INDEX_W + (((1 << INDEX_W) == N) ? 0 : 8)     // derived
) (
    input  wire [FIELD_W-1:0] field,
    output wire [INDEX_W-1:0] index
);

  generate
    if (FIELD_W == INDEX_W) begin : g_power
      assign index = field;
    end else begin : g_product
      localparam [31:0] FACTOR = N;
      wire [FIELD_W+INDEX_W-1:0] product =
          {{INDEX_W{1'b0}}, field} * {{FIELD_W{1'b0}}, FACTOR[INDEX_W-1:0]};
      assign index = product[FIELD_W+:INDEX_W];

      wire unused = &{1'b0, product[FIELD_W-1:0]};
    end
  endgenerate

endmodule

`default_nettype wire

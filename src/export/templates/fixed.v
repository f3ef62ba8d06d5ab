// @MODULE@ with its parameters fixed.
//
// Parameters
//   none: see the instance below
//
// Ports
//   those of @MODULE@
//
// Behaviour
//   that of @MODULE@
`default_nettype none

module @MODULE@_fixed (
    input  wire clk,
@PORTS@
);

  @MODULE@ #(
@PARAMETERS@
  ) core (
      .clk(clk),
@CONNECTIONS@
  );

endmodule

`default_nettype wire

// Written by scripts/packages.py: change the template in src/export instead.
//
// membrane_balanced with its parameters fixed.
//
// Parameters
//   none: see the instance below
//
// Ports
//   those of membrane_balanced
//
// Behaviour
//   that of membrane_balanced
`default_nettype none

module membrane_balanced_fixed (
    input  wire clk,
    input  wire [7:0] req_key,
    input  wire [3:0] req_tag,
    input  wire [1:0] req_op,
    input  wire req_valid,
    input  wire rsp_ready,
    input  wire rst,
    output wire [3:0] rsp_tag,
    output wire [1:0] level,
    output wire [1:0] rsp_status,
    output wire rsp_hit,
    output wire rsp_valid,
    output wire req_ready,
    output wire busy,
    output wire parity_error
);

  membrane_balanced #(
      .SCHEME(1),
      .D(2),
      .ROWS(8),
      .Q(11195),
      .BLOCK_W(14),
      .HASHES(2),
      .H(2),
      .P(32768),
      .ACCESS_BUDGET(0),
      .CAM_DEPTH(2),
      .KEY_W(8),
      .TAG_W(4),
      .SEED(64'h6d656d6272616e65),
      .MIX(0),
      .PARITY(0)
  ) core (
      .clk(clk),
      .req_key(req_key),
      .req_tag(req_tag),
      .req_op(req_op),
      .req_valid(req_valid),
      .rsp_ready(rsp_ready),
      .rst(rst),
      .rsp_tag(rsp_tag),
      .level(level),
      .rsp_status(rsp_status),
      .rsp_hit(rsp_hit),
      .rsp_valid(rsp_valid),
      .req_ready(req_ready),
      .busy(busy),
      .parity_error(parity_error)
  );

endmodule

`default_nettype wire

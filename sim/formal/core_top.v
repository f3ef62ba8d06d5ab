// A filter core and one property of its pins, for all inputs from the first reset on:
//   CORE, PARAMS    the core, and its parameters as in an instance
//   CHECK, OPTIONS  the module that states the property, and its parameters; none where the
//                   property is one of what is inside, and stands there
//   KEY_W, TAG_W    as in PARAMS
`default_nettype none

module core_top (
    input wire              clk,
    input wire              rst,
    input wire              req_valid,
    input wire [       1:0] req_op,
    input wire [`KEY_W-1:0] req_key,
    input wire [`TAG_W-1:0] req_tag,
    input wire              rsp_ready
);

  wire req_ready, rsp_valid, rsp_hit, busy;
  wire [1:0] rsp_status;
  wire [`TAG_W-1:0] rsp_tag;

  `CORE #(
      `PARAMS,
      .KEY_W(`KEY_W),
      .TAG_W(`TAG_W)
  ) core (
      .clk       (clk),
      .rst       (rst),
      .req_valid (req_valid),
      .req_ready (req_ready),
      .req_op    (req_op),
      .req_key   (req_key),
      .req_tag   (req_tag),
      .rsp_valid (rsp_valid),
      .rsp_ready (rsp_ready),
      .rsp_hit   (rsp_hit),
      .rsp_status(rsp_status),
      .rsp_tag   (rsp_tag),
      .busy      (busy),
      .level     ()
  );

`ifdef CHECK
  `CHECK #(
      `OPTIONS
      .KEY_W(`KEY_W),
      .TAG_W(`TAG_W)
  ) check (
      .clk       (clk),
      .rst       (rst),
      .req_valid (req_valid),
      .req_ready (req_ready),
      .req_op    (req_op),
      .req_key   (req_key),
      .req_tag   (req_tag),
      .rsp_valid (rsp_valid),
      .rsp_ready (rsp_ready),
      .rsp_hit   (rsp_hit),
      .rsp_status(rsp_status),
      .rsp_tag   (rsp_tag),
      .busy      (busy)
  );
`endif

  initial assume (rst);

endmodule

`default_nettype wire

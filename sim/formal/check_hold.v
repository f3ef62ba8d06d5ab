// Back-pressure: a response that is not taken stays as it is, to the last bit, until it is
// taken or a reset comes. A reset leaves no response behind.
`default_nettype none

module check_hold #(
    parameter KEY_W = 0,
    parameter TAG_W = 0
) (
    input wire             clk,
    input wire             rst,
    input wire             req_valid,
    input wire             req_ready,
    input wire [      1:0] req_op,
    input wire [KEY_W-1:0] req_key,
    input wire [TAG_W-1:0] req_tag,
    input wire             rsp_valid,
    input wire             rsp_ready,
    input wire             rsp_hit,
    input wire [      1:0] rsp_status,
    input wire [TAG_W-1:0] rsp_tag,
    input wire             busy
);

  reg waits, was_reset;
  reg [TAG_W+2:0] held;

  always @(posedge clk) begin
    waits     <= !rst && rsp_valid && !rsp_ready;
    was_reset <= rst;
    held      <= {rsp_tag, rsp_status, rsp_hit};
  end

  initial {waits, was_reset} = 2'd0;

  always @* begin
    if (waits) assert (rsp_valid && {rsp_tag, rsp_status, rsp_hit} == held);
    if (was_reset) assert (!rsp_valid);
  end

endmodule

`default_nettype wire

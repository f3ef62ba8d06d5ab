// Exactly one response for each request, in order: any one request is followed, the solver
// chooses which, by counting the responses that are due before it. Its own response has its
// tag, and a status that its operation can have. No response comes without a request; the core
// is busy while any is due; and (LIMIT > 0) the one followed is due after at most LIMIT cycles
// with rsp_ready high.
`default_nettype none

module check_order #(
    parameter REMOVALS = 0,
    parameter LIMIT    = 0,
    parameter KEY_W    = 0,
    parameter TAG_W    = 0
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

  localparam [1:0] OP_INSERT = 2'd1;
  localparam [1:0] OP_REMOVE = 2'd2;
  localparam COUNT_W = 4;
  localparam WAIT_W = $clog2(LIMIT + 2);

  wire follow = $anyseq;
  wire take = req_valid && req_ready;
  wire answer = rsp_valid && rsp_ready;

  reg [COUNT_W-1:0] due;  // responses
  reg followed;  // a request is
  reg [COUNT_W-1:0] before;  // responses due before its own
  reg [1:0] op;
  reg [TAG_W-1:0] tag;
  reg [WAIT_W-1:0] waited;

  wire [COUNT_W-1:0] left = due - {{(COUNT_W - 1) {1'b0}}, answer};
  wire start = take && follow && !followed;
  wire mine = followed && before == 0 && rsp_valid;

  always @(posedge clk) begin
    if (rst) {due, followed} <= {(COUNT_W + 1) {1'b0}};
    else begin
      due <= left + {{(COUNT_W - 1) {1'b0}}, take};
      if (start) followed <= 1'b1;
      else if (mine && rsp_ready) followed <= 1'b0;
    end
    if (start) begin
      before <= left;
      op     <= req_op;
      tag    <= req_tag;
      waited <= {WAIT_W{1'b0}};
    end else if (followed) begin
      before <= before - {{(COUNT_W - 1) {1'b0}}, answer};
      if (rsp_ready) waited <= waited + 1'b1;
    end
  end

  always @* begin
    if (!rst) begin
      if (rsp_valid) assert (due != 0);
      if (due != 0) assert (busy);
      assert (due != {COUNT_W{1'b1}});
      if (mine) begin
        assert (rsp_tag == tag);
        case (op)
          OP_INSERT: assert (rsp_status == 2'd0 || rsp_status == 2'd2);
          OP_REMOVE: assert (REMOVALS != 0 ? rsp_status[1] == 1'b0 : rsp_status == 2'd3);
          default: assert (rsp_status == 2'd0);
        endcase
      end
      if (LIMIT > 0 && followed) assert (waited <= LIMIT);
    end
  end

endmodule

`default_nettype wire

// No false negative: a key whose INSERT was answered OK hits in every QUERY after it, until
// a CLEAR, a reset, or (REMOVALS = 1) a REMOVE of the key.
//
// Of any one key, any one INSERT and any one QUERY are followed through the core; the solver
// chooses which. All other requests are arbitrary. What is followed is marked by its tag,
// which comes back with its response (check_order.v) and decides nothing in between.
// CALM = 1 looks further where induction does not close: only QUERY and INSERT, no reset but the
// first, no back-pressure.
`default_nettype none

module check_hits #(
    parameter REMOVALS = 0,
    parameter CALM     = 0,
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

  localparam [1:0] OP_QUERY = 2'd0;
  localparam [1:0] OP_INSERT = 2'd1;
  localparam [1:0] OP_REMOVE = 2'd2;
  localparam [1:0] OP_CLEAR = 2'd3;

  wire [KEY_W-1:0] key = $anyconst;
  // The highest key stands for many (hash_any.v).
  always @* assume (key != {KEY_W{1'b1}});

  wire take = req_valid && req_ready;
  wire is_insert = req_op == OP_INSERT && req_key == key;
  wire is_query = req_op == OP_QUERY && req_key == key;
  wire is_end = req_op == OP_CLEAR || (REMOVALS != 0 && req_op == OP_REMOVE && req_key == key);

  reg insert_taken, inserted, ended, query_taken;

  always @(posedge clk) begin
    if (rst) {insert_taken, inserted, ended, query_taken} <= 4'd0;
    else begin
      if (take && req_tag[0]) insert_taken <= 1'b1;
      if (take && req_tag[1]) query_taken <= 1'b1;
      if (take && is_end && insert_taken) ended <= 1'b1;
      if (rsp_valid && rsp_tag[0] && rsp_status == 2'd0) inserted <= 1'b1;
    end
  end

  reg first = 1'b1;  // cycle
  always @(posedge clk) first <= 1'b0;

  always @* begin
    if (req_tag[0]) assume (is_insert && !insert_taken);
    if (req_tag[1]) assume (is_query && insert_taken && !ended && !query_taken);
    if (CALM != 0) assume (rsp_ready && req_op < OP_REMOVE && (first || !rst));
    if (!rst && rsp_valid && rsp_tag[1] && inserted) assert (rsp_hit);
  end

endmodule

`default_nettype wire

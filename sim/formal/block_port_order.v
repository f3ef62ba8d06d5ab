// What membrane_block_port promises, as assertions on the test's user of it: every
// operation reads what executing all operations before it would have left, in any mix,
// with any stalls; responses come one per operation, in order, STAGES + 1 advancing
// cycles after it was taken.
`default_nettype none

module block_port_order #(
    parameter STAGES = 0,
    parameter MASKED = 0,
    parameter WIDTH  = 2
) (
    input wire             clk,
    input wire             rst,
    input wire             advance,
    input wire             op_valid,
    input wire [      2:0] op_kind,
    input wire             op_row,
    input wire [      1:0] op_tag,
    input wire             op_keep,
    input wire [WIDTH-1:0] op_data,
    input wire [WIDTH-1:0] op_mask
);

  wire op_ready, rsp_valid, sweep, busy, mem_en, mem_we;
  wire [1:0] rsp_tag;
  wire [WIDTH-1:0] rsp_row;

  block_port_user #(
      .ROWS  (2),
      .WIDTH (WIDTH),
      .STAGES(STAGES),
      .MASKED(MASKED),
      .TAG_W (2)
  ) user (
      .clk      (clk),
      .rst      (rst),
      .advance  (advance),
      .op_valid (op_valid),
      .op_ready (op_ready),
      .op_kind  (op_kind),
      .op_row   (op_row),
      .op_tag   (op_tag),
      .op_keep  (op_keep),
      .op_data  (op_data),
      .op_mask  (op_mask),
      .rsp_valid(rsp_valid),
      .rsp_tag  (rsp_tag),
      .rsp_row  (rsp_row),
      .sweep    (sweep),
      .busy     (busy),
      .mem_en   (mem_en),
      .mem_we   (mem_we)
  );

  // The two rows as executing one operation after another leaves them.
  reg [WIDTH-1:0] row0, row1;
  wire take = op_valid && op_ready;
  wire [WIDTH-1:0] old = op_row ? row1 : row0;
  wire [WIDTH-1:0] mask = MASKED ? op_mask : {WIDTH{1'b1}};
  reg [WIDTH-1:0] next;
  always @* begin
    next = old;
    if (op_kind == 3'd2 && !op_keep) next = old + op_data;
    if (op_kind == 3'd3) next = (old & ~mask) | (op_data & mask);
  end

  always @(posedge clk) begin
    if (rst || (take && op_kind == 3'd4)) begin
      row0 <= {WIDTH{1'b0}};
      row1 <= {WIDTH{1'b0}};
    end else if (take) begin
      if (op_row) row1 <= next;
      else row0 <= next;
    end
  end

  // What is due in which stage.
  localparam DUE_W = 1 + 2 + WIDTH;
  reg [(STAGES+1)*DUE_W-1:0] due;
  wire [WIDTH-1:0] answer = (op_kind == 3'd1 || op_kind == 3'd2) ? old : {WIDTH{1'b0}};
  wire [(STAGES+2)*DUE_W-1:0] next_due = {due, take, take ? {op_tag, answer} : {(2 + WIDTH) {1'b0}}};

  always @(posedge clk) begin
    if (rst) due <= {((STAGES + 1) * DUE_W) {1'b0}};
    else if (advance) due <= next_due[(STAGES+1)*DUE_W-1:0];
  end

  // A CLEAR, once offered, stays.
  reg clear_waits = 1'b0;
  always @(posedge clk) clear_waits <= !rst && op_valid && op_kind == 3'd4 && !op_ready;

  reg first = 1'b1;  // cycle, with the first reset: before it nothing is known
  always @(posedge clk) first <= 1'b0;

  always @* begin
    if (first) assume (rst);
    if (clear_waits) assume (op_valid && op_kind == 3'd4);
    if (!first) begin
      assert ({rsp_valid, rsp_tag, rsp_row} == due[STAGES*DUE_W+:DUE_W]);
      if (sweep) assert (!op_ready && busy);
    end
  end

endmodule

`default_nettype wire

// The scheduler of cores that modify what they read: one single-port memory,
// write-backs first, reads in every other cycle, operations in order, and every
// operation sees what all those before it wrote.
//
// Parameters
//   ROWS     rows of the memory
//   WIDTH    bits of a row
//   STAGES   register stages of the user's logic between the row read (rd_data)
//            and the row to write back (wb_data). 0: it is combinational
//   META_W   bits that travel with an operation
//   MASKED   1: the memory has a write mask per bit, for WRITE
//   PARITY   1: the memory has a parity bit on top of each row. MASKED must be 0
//   INIT     "" or a prefix of memory images: the memory starts from <INIT>0.hex, and
//            reset clears nothing
//
// Ports
//   advance  low freezes everything but the clearing of rows: the user can take
//            nothing from the last stage. Must not depend on op_ready.
//   op_*     the next operation; op_kind is
//              0 NONE    no access: keeps its place in the order
//              1 READ    the row
//              2 MODIFY  reads the row, writes it back STAGES + 1 cycles later
//                        if wb_write says so
//              3 WRITE   op_wdata to the row (MASKED: where op_wmask is set)
//              4 CLEAR   zeros to all rows; once offered it must stay
//            op_row, op_wdata, op_wmask matter only to the kinds that use them.
//   op_ready the operation on op_kind and op_row can go in this cycle. Depends on
//            these two, advance, wb_write and registers, never on op_valid.
//   op_take  it goes. A user of one port gives op_valid && op_ready; one of several
//            ports gives the AND over all of them, so that they stay in step.
//   rd_*     stage 0: the operation taken in the last advancing cycle, and for READ
//            and MODIFY its row on rd_data. Other kinds leave rd_data as it was.
//   wb_*     stage STAGES, the last: the operation, and for MODIFY the user's
//            decision wb_write and the new row wb_data, in the same cycle.
//            With STAGES = 0 these are the same operation as rd_*.
//   sweep    clearing after reset: a core keeps req_ready low.
//   busy     sweep, or operations in the stages.
//   parity_error  PARITY=1: a row with wrong parity was read since reset: in cycle t,
//            and the pin is high from t+2 on. Else low.
//
// Behaviour
//   Order:    an operation taken in cycle t is in stage 0 in t+1 and in stage s in
//             t+1+s (counting advancing cycles); a MODIFY writes in t+1+STAGES.
//             Stages never overtake each other and never close up: an empty stage
//             stays empty until it has left.
//   Port:     a write-back takes the port; else READ, MODIFY or WRITE may go; NONE
//             goes beside a write-back.
//   Hazard:   READ, MODIFY or WRITE to a row that a MODIFY in stages 0 to
//             STAGES-1 may still write waits until that has left the last
//             stage: MODIFY at t, the next on the same row at t+2+STAGES. With
//             STAGES = 0 there is no hazard: the write-back itself takes the cycle.
//   CLEAR:    waits until all stages are empty, writes zeros to one row a cycle,
//             is ready in the cycle after the last row, then moves like NONE.
//   Reset:    empties the stages, then writes zeros to one row a cycle for ROWS
//             cycles with op_ready low. An access in the cycle of the reset itself is
//             still made. With INIT no row is written, neither in that cycle nor
//             after it: the memory keeps what it holds.
//   Freeze:   rd_data holds while advance is low, since nothing is read.
`default_nettype none

module membrane_block_port #(
    parameter ROWS   = 0,
    parameter WIDTH  = 0,
    parameter STAGES = 0,
    parameter META_W = 0,
    parameter MASKED = 0,
    parameter PARITY = 0,
    parameter INIT   = "",
    parameter ROW_W  = $clog2(ROWS)  // derived: leave it
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              advance,
    input  wire              op_valid,
    output wire              op_ready,
    input  wire              op_take,
    input  wire [       2:0] op_kind,
    input  wire [ ROW_W-1:0] op_row,
    input  wire [META_W-1:0] op_meta,
    input  wire [ WIDTH-1:0] op_wdata,
    input  wire [ WIDTH-1:0] op_wmask,
    output wire              rd_valid,
    output wire [META_W-1:0] rd_meta,
    output wire [ WIDTH-1:0] rd_data,
    output wire              wb_valid,
    output wire [META_W-1:0] wb_meta,
    input  wire              wb_write,
    input  wire [ WIDTH-1:0] wb_data,
    output reg               sweep,
    output wire              busy,
    output wire              parity_error
);

  generate
    if (ROWS < 2 || ROWS > 1073741824) begin : g_rule_rows
      membrane_error_ROWS_must_be_2_to_1073741824 error ();
    end
    if (WIDTH < 1) begin : g_rule_width
      membrane_error_WIDTH_must_be_at_least_1 error ();
    end
    if (STAGES < 0 || STAGES > 64) begin : g_rule_stages
      membrane_error_STAGES_must_be_0_to_64 error ();
    end
    if (META_W < 1) begin : g_rule_meta_w
      membrane_error_META_W_must_be_at_least_1 error ();
    end
    if (PARITY != 0 && MASKED != 0) begin : g_rule_parity
      membrane_error_PARITY_must_be_0_where_MASKED_is_1 error ();
    end
  endgenerate

  localparam [2:0] KIND_NONE = 3'd0;
  localparam [2:0] KIND_READ = 3'd1;
  localparam [2:0] KIND_MODIFY = 3'd2;
  localparam [2:0] KIND_WRITE = 3'd3;
  localparam [2:0] KIND_CLEAR = 3'd4;
  localparam [31:0] LAST_ROW = ROWS - 1;
  localparam STORED_W = WIDTH + ((PARITY != 0) ? 1 : 0);  // of a row, with its parity bit

  // ---------------------------------------------------------------------------
  // The operations in flight, stage 0 in the low bits.

  reg [STAGES:0] valid;
  reg [STAGES:0] modify;
  reg [(STAGES+1)*ROW_W-1:0] rows;
  reg [(STAGES+1)*META_W-1:0] metas;

  wire [STAGES+1:0] next_valid = {valid, op_take};
  wire [STAGES+1:0] next_modify = {modify, op_kind == KIND_MODIFY};
  wire [(STAGES+2)*ROW_W-1:0] next_rows = {rows, op_row};
  wire [(STAGES+2)*META_W-1:0] next_metas = {metas, op_meta};

  always @(posedge clk) begin
    if (rst) valid <= {(STAGES + 1) {1'b0}};
    else if (advance) valid <= next_valid[STAGES:0];
  end

  always @(posedge clk) begin
    if (advance) begin
      modify <= next_modify[STAGES:0];
      rows   <= next_rows[(STAGES+1)*ROW_W-1:0];
      metas  <= next_metas[(STAGES+1)*META_W-1:0];
    end
  end

  assign rd_valid = valid[0];
  assign rd_meta  = metas[0+:META_W];
  assign wb_valid = valid[STAGES];
  assign wb_meta  = metas[STAGES*META_W+:META_W];

  // ---------------------------------------------------------------------------
  // Clearing: after reset, and by CLEAR when the stages are empty.

  reg cleared;  // the CLEAR that is offered has written all rows
  reg [ROW_W-1:0] row;

  wire row_last = row == LAST_ROW[ROW_W-1:0];
  wire row_step = sweep || (op_valid && op_kind == KIND_CLEAR && !cleared && valid == 0);

  always @(posedge clk) begin
    if (rst) begin
      sweep   <= (INIT == "");
      cleared <= 1'b0;
      row     <= {ROW_W{1'b0}};
    end else begin
      if (row_step) begin
        row <= row_last ? {ROW_W{1'b0}} : row + 1'b1;
        if (row_last) begin
          sweep   <= 1'b0;
          cleared <= !sweep;
        end
      end else if (op_take) cleared <= 1'b0;
    end
  end

  assign busy = sweep || (valid != 0);

  // ---------------------------------------------------------------------------
  // Who gets the port.

  wire write_back = wb_valid && modify[STAGES] && wb_write;

  // In the last stage it is the write-back, if any, that keeps others away.
  wire [STAGES:0] hazards;
  assign hazards[STAGES] = 1'b0;

  genvar s;
  generate
    for (s = 0; s < STAGES; s = s + 1) begin : g_hazard
      assign hazards[s] = valid[s] && modify[s] && rows[s*ROW_W+:ROW_W] == op_row;
    end
  endgenerate

  wire hazard = |hazards;

  wire op_accesses = op_kind == KIND_READ || op_kind == KIND_MODIFY || op_kind == KIND_WRITE;
  wire op_goes = (op_kind == KIND_CLEAR) ? cleared : !(op_accesses && (write_back || hazard));

  assign op_ready = advance && !sweep && op_goes;

  wire op_access = op_take && op_accesses;
  wire hold = (INIT != "") && rst;  // before the first reset nothing is known but the image

  wire en = (row_step || (advance && write_back) || op_access) && !hold;
  wire we = row_step || write_back || op_kind == KIND_WRITE;
  wire [WIDTH-1:0] wdata = row_step ? {WIDTH{1'b0}} : write_back ? wb_data : op_wdata;
  wire [WIDTH-1:0] wmask = (row_step || write_back) ? {WIDTH{1'b1}} : op_wmask;
  wire [STORED_W-1:0] stored, wstored, wstored_mask;

  assign rd_data = stored[WIDTH-1:0];

  generate
    if (PARITY != 0) begin : g_parity
      assign wstored      = {^wdata, wdata};
      assign wstored_mask = {1'b1, wmask};

      membrane_parity parity (
          .clk  (clk),
          .rst  (rst),
          .read (en && !we),
          .bad  (^stored),
          .error(parity_error)
      );
    end else begin : g_no_parity
      assign wstored      = wdata;
      assign wstored_mask = wmask;
      assign parity_error = 1'b0;
    end
  endgenerate

  membrane_sram_1p #(
      .DEPTH (ROWS),
      .WIDTH (STORED_W),
      .MASKED(MASKED),
      .INIT  (INIT)
  ) memory (
      .clk  (clk),
      .en   (en),
      .we   (we),
      .addr (row_step ? row : write_back ? rows[STAGES*ROW_W+:ROW_W] : op_row),
      .wdata(wstored),
      .wmask(wstored_mask),
      .rdata(stored)
  );

  wire unused = &{
    1'b0,
    KIND_NONE,
    next_valid[STAGES+1],
    next_modify[STAGES+1],
    next_rows[(STAGES+2)*ROW_W-1:(STAGES+1)*ROW_W],
    next_metas[(STAGES+2)*META_W-1:(STAGES+1)*META_W]
  };

endmodule

`default_nettype wire

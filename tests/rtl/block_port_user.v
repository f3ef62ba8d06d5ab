// A user of membrane_block_port for its tests: MODIFY adds op_data to the row, and
// writes back unless op_keep; every operation answers with the row it read.
//
// The logic between read and write-back is STAGES registers, the sum in the first.
`default_nettype none

module block_port_user #(
    parameter ROWS   = 0,
    parameter WIDTH  = 0,
    parameter STAGES = 0,
    parameter MASKED = 0,
    parameter TAG_W  = 0,
    parameter ROW_W  = $clog2(ROWS)
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             advance,
    input  wire             op_valid,
    output wire             op_ready,
    input  wire [      2:0] op_kind,
    input  wire [ROW_W-1:0] op_row,
    input  wire [TAG_W-1:0] op_tag,
    input  wire             op_keep,
    input  wire [WIDTH-1:0] op_data,
    input  wire [WIDTH-1:0] op_mask,
    output wire             rsp_valid,
    output wire [TAG_W-1:0] rsp_tag,
    output wire [WIDTH-1:0] rsp_row,   // read by READ and MODIFY, else 0
    output wire             sweep,
    output wire             busy,
    output wire             mem_en,
    output wire             mem_we
);

  localparam META_W = TAG_W + 2 + WIDTH;

  wire rd_valid;
  wire [META_W-1:0] rd_meta, wb_meta;
  wire [WIDTH-1:0] rd_data;
  wire [WIDTH-1:0] wb_old, wb_new;
  wire parity_error;
  wire op_reads = op_kind == 3'd1 || op_kind == 3'd2;

  membrane_block_port #(
      .ROWS  (ROWS),
      .WIDTH (WIDTH),
      .STAGES(STAGES),
      .META_W(META_W),
      .MASKED(MASKED)
  ) port (
      .clk     (clk),
      .rst     (rst),
      .advance (advance),
      .op_valid(op_valid),
      .op_ready(op_ready),
      .op_take (op_valid && op_ready),
      .op_kind (op_kind),
      .op_row  (op_row),
      .op_meta ({op_data, op_reads, op_keep, op_tag}),
      .op_wdata(op_data),
      .op_wmask(op_mask),
      .rd_valid(rd_valid),
      .rd_meta (rd_meta),
      .rd_data (rd_data),
      .wb_valid(rsp_valid),
      .wb_meta (wb_meta),
      .wb_write(!wb_meta[TAG_W]),
      .wb_data (wb_new),
      .sweep   (sweep),
      .busy    (busy),

      .parity_error(parity_error)
  );

  wire [WIDTH-1:0] sum = rd_data + rd_meta[TAG_W+2+:WIDTH];

  generate
    if (STAGES == 0) begin : g_direct
      assign wb_old = rd_data;
      assign wb_new = sum;
    end else begin : g_stages
      reg [STAGES*WIDTH-1:0] old_rows, new_rows;
      wire [(STAGES+1)*WIDTH-1:0] next_old = {old_rows, rd_data};
      wire [(STAGES+1)*WIDTH-1:0] next_new = {new_rows, sum};
      always @(posedge clk) begin
        if (advance) begin
          old_rows <= next_old[STAGES*WIDTH-1:0];
          new_rows <= next_new[STAGES*WIDTH-1:0];
        end
      end
      assign wb_old = old_rows[(STAGES-1)*WIDTH+:WIDTH];
      assign wb_new = new_rows[(STAGES-1)*WIDTH+:WIDTH];
    end
  endgenerate

  assign rsp_tag = rsp_valid ? wb_meta[TAG_W-1:0] : {TAG_W{1'b0}};
  assign rsp_row = (rsp_valid && wb_meta[TAG_W+1]) ? wb_old : {WIDTH{1'b0}};
  assign mem_en  = port.memory.en;
  assign mem_we  = port.memory.we && port.memory.en;

endmodule

`default_nettype wire

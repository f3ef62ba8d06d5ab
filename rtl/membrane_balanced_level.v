// One memory of counted blocks, and a register for the row that changed last.
//
// Parameters
//   ROWS        blocks
//   BLOCK_W     filter bits of a block
//   H           keys that a block takes in any case
//   PARITY      1: the memory has a parity bit on top of each row
//   INIT        "" or the prefix of the memory images of a core
//   INDEX       which of them this is: the memory starts from <INIT><INDEX>.hex
//
// Ports
//   clear       forgets the changed row; clear_en writes zeros to clear_row
//   write       writes the changed row, if it waits
//   read        reads read_row
//   row, mask   the block that was read last, and the bits of a key in it
//   hit         all bits of mask are set in it
//   below_h     it holds fewer than H keys
//   at_h        it holds exactly H keys
//   update      sets the bits of mask in it and counts one key more
//   pending     the changed row waits to be written
//   bad         PARITY=1: the row read last has wrong parity
//
// Behaviour
//   Row:      BLOCK_W filter bits, above them the count of clog2(H + 2) bits.
//   Access:   at most one of clear_en, write and read in a cycle.
//   Newest:   hit, below_h and at_h show row as the last update left it, whether it
//             was written yet or not: if row is the changed row, they look at the
//             register. That stays so after the row was written, because the
//             memory may have been read before that.
//   Update:   takes effect at the clock edge. A row that waits is lost, unless it
//             is written in the same cycle. No read may happen while
//             a row waits that is lost so: write and read exclude each other.
//   Reset:    forgets the changed row. With INIT no row is written in its cycle.
`default_nettype none

module membrane_balanced_level #(
    parameter ROWS    = 0,
    parameter BLOCK_W = 0,
    parameter H       = 0,
    parameter PARITY  = 0,
    parameter INIT    = "",
    parameter INDEX   = 0,
    parameter ROW_W   = $clog2(ROWS)  // derived: leave it
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               clear,
    input  wire               clear_en,
    input  wire [  ROW_W-1:0] clear_row,
    input  wire               write,
    input  wire               read,
    input  wire [  ROW_W-1:0] read_row,
    input  wire [  ROW_W-1:0] row,
    input  wire [BLOCK_W-1:0] mask,
    output wire               hit,
    output wire               below_h,
    output wire               at_h,
    input  wire               update,
    output reg                pending,
    output wire               bad
);

  localparam COUNT_W = $clog2(H + 2);
  localparam WIDTH = BLOCK_W + COUNT_W;
  localparam STORED_W = WIDTH + ((PARITY != 0) ? 1 : 0);  // of a row, with its parity bit
  localparam [31:0] THRESHOLD = H;

  reg known;  // there is a changed row
  reg [ROW_W-1:0] changed_row;
  reg [WIDTH-1:0] changed;
  wire [STORED_W-1:0] stored;
  wire [WIDTH-1:0] rdata = stored[WIDTH-1:0];

  wire [WIDTH-1:0] block = (known && changed_row == row) ? changed : rdata;
  wire [COUNT_W-1:0] count = block[BLOCK_W+:COUNT_W];

  assign hit     = &(block[BLOCK_W-1:0] | ~mask);
  assign below_h = count < THRESHOLD[COUNT_W-1:0];
  assign at_h    = count == THRESHOLD[COUNT_W-1:0];

  always @(posedge clk) begin
    if (rst || clear) begin
      known   <= 1'b0;
      pending <= 1'b0;
    end else if (update) begin
      known   <= 1'b1;
      pending <= 1'b1;
    end else if (write) begin
      pending <= 1'b0;
    end
  end

  always @(posedge clk) begin
    if (update) begin
      changed_row <= row;
      changed     <= {count + 1'b1, block[BLOCK_W-1:0] | mask};
    end
  end

  wire write_back = write && pending;
  wire hold = (INIT != "") && rst;  // before the first reset nothing is known but the image

  wire [WIDTH-1:0] wdata = clear_en ? {WIDTH{1'b0}} : changed;
  wire [STORED_W-1:0] wstored;

  assign bad = (PARITY != 0) && (^stored);

  generate
    if (PARITY != 0) begin : g_parity
      assign wstored = {^wdata, wdata};
    end else begin : g_no_parity
      assign wstored = wdata;
    end
  endgenerate

  membrane_sram_1p #(
      .DEPTH(ROWS),
      .WIDTH(STORED_W),
      .INIT (INIT),
      .INDEX(INDEX)
  ) memory (
      .clk  (clk),
      .en   ((clear_en || write_back || read) && !hold),
      .we   (clear_en || write_back),
      .addr (clear_en ? clear_row : write_back ? changed_row : read_row),
      .wdata(wstored),
      .wmask({STORED_W{1'b1}}),
      .rdata(stored)
  );

endmodule

`default_nettype wire

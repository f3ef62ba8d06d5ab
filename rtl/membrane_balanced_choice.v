// Turns the hash field of one choice into its block, its bits and its coin.
//
// Parameters
//   ROWS     blocks to choose from
//   BLOCK_W  bits of a block
//   HASHES   bits to choose in it
//   P        chance of the coin, times 65536
//
// Ports
//   field    hash bits: the block, the HASHES bits, 16 for the coin, from bit 0 up
//   row      the block
//   index    the bits, the first one lowest
//   coin     the 16 bits are below P
//
// Behaviour
//   Combinational.
`default_nettype none

module membrane_balanced_choice #(
    parameter ROWS    = 0,
    parameter BLOCK_W = 0,
    parameter HASHES  = 0,
    parameter P       = 0,
    parameter ROW_W   = $clog2(ROWS),  // derived, as all below
    parameter BIT_W   = $clog2(BLOCK_W),
    parameter ROW_FW  = ROW_W + (((1 << ROW_W) == ROWS) ? 0 : 8),
    parameter BIT_FW  = BIT_W + (((1 << BIT_W) == BLOCK_W) ? 0 : 8),
    parameter FIELD_W = ROW_FW + HASHES * BIT_FW + 16
) (
    input  wire [     FIELD_W-1:0] field,
    output wire [       ROW_W-1:0] row,
    output wire [HASHES*BIT_W-1:0] index,
    output wire                    coin
);

  localparam [31:0] CHANCE = P;

  membrane_select #(
      .N(ROWS)
  ) select_row (
      .field(field[0+:ROW_FW]),
      .index(row)
  );

  genvar i;
  generate
    for (i = 0; i < HASHES; i = i + 1) begin : g_bit
      membrane_select #(
          .N(BLOCK_W)
      ) select_bit (
          .field(field[ROW_FW+i*BIT_FW+:BIT_FW]),
          .index(index[i*BIT_W+:BIT_W])
      );
    end

    if (P == 0) begin : g_never
      assign coin = 1'b0;

      wire unused = &{1'b0, field[FIELD_W-16+:16], CHANCE};
    end else begin : g_coin
      assign coin = field[FIELD_W-16+:16] < CHANCE[15:0];
    end
  endgenerate

endmodule

`default_nettype wire

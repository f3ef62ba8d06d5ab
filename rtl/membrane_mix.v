// Mixes a key before it is hashed: a Feistel network, combinational.
//
// Parameters
//   KEY_W   bits of a key; at least 20 where there are rounds
//   ROUNDS  rounds; 0 passes the key through
//
// Ports
//   key     the key
//   mixed   the mixed key: different keys stay different
//
// Behaviour
//   The key's halves are low, the wider one where KEY_W is odd, and high. Round
//   i, from 0, does
//     i even:  high = high ^ f(low)    f(x) = (rotl(x, 1) & rotl(x, 8)) ^ rotl(x, 2)
//     i odd:   low  = low  ^ f(high)
//   with f cut or filled up with zeros to the other half's width. A round is one
//   level of 4-input look-up tables.
`default_nettype none

module membrane_mix #(
    parameter KEY_W  = 0,
    parameter ROUNDS = 0
) (
    input  wire [KEY_W-1:0] key,
    output wire [KEY_W-1:0] mixed
);

  localparam HIGH_W = KEY_W / 2;
  localparam LOW_W = KEY_W - HIGH_W;

  genvar i;
  generate
    for (i = 0; i < ROUNDS; i = i + 1) begin : g_round
      wire [KEY_W-1:0] from;
      wire [KEY_W-1:0] to;
      if (i == 0) begin : g_first
        assign from = key;
      end else begin : g_next
        assign from = g_round[i-1].to;
      end

      // f has the width of the half that it is added to; low may have a bit more.
      wire [HIGH_W-1:0] f;
      if (i % 2 == 0) begin : g_even
        wire [LOW_W-1:0] low = from[LOW_W-1:0];
        assign f = ({low[HIGH_W-2:0], low[LOW_W-1]} & {low[HIGH_W-9:0], low[LOW_W-1:LOW_W-8]})
            ^ {low[HIGH_W-3:0], low[LOW_W-1:LOW_W-2]};
        assign to = {from[KEY_W-1:LOW_W] ^ f, low};
      end else begin : g_odd
        wire [HIGH_W-1:0] high = from[KEY_W-1:LOW_W];
        assign f = ({high[HIGH_W-2:0], high[HIGH_W-1]} & {high[HIGH_W-9:0], high[HIGH_W-1:HIGH_W-8]})
            ^ {high[HIGH_W-3:0], high[HIGH_W-1:HIGH_W-2]};
        assign to = {from[KEY_W-1:HIGH_W], from[HIGH_W-1:0] ^ f};
      end
    end
    if (ROUNDS == 0) begin : g_none
      assign mixed = key;
    end else begin : g_mixed
      assign mixed = g_round[ROUNDS-1].to;
    end
  endgenerate

endmodule

`default_nettype wire

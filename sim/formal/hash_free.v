// Stands for membrane_hash_h3 where a proof is about one request: any hash at all.
`default_nettype none

module membrane_hash_h3 #(
    parameter        KEY_W  = 0,
    parameter        HASH_W = 0,
    parameter [63:0] SEED   = 64'd0,
    parameter        MIX    = 0
) (
    input  wire              clk,
    input  wire              en,
    input  wire [ KEY_W-1:0] key,
    output reg  [HASH_W-1:0] hash
);

  wire [HASH_W-1:0] anything = $anyseq;

  always @(posedge clk) if (en) hash <= anything;

endmodule

`default_nettype wire

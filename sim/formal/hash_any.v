// Stands for membrane_hash_h3 in the proofs: any hash there is. Every key but the highest
// has one hash, which is arbitrary and stays; the highest key has another, arbitrary hash
// whenever it is hashed, and so stands for all other keys that a wider KEY_W would have.
//
// Whatever H3 does, with any SEED and any MIX, is among what this does: what is proven with
// it holds for every hash.
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

  localparam KEYS = (1 << KEY_W) - 1;

  wire [KEYS*HASH_W-1:0] fixed = $anyconst;
  wire [HASH_W-1:0] other = $anyseq;
  wire [(KEYS+1)*HASH_W-1:0] hashes = {other, fixed};

  always @(posedge clk) if (en) hash <= hashes[key*HASH_W+:HASH_W];

endmodule

`default_nettype wire

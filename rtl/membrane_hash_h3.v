// H3 hash with a registered output: hash[j] = c_j ^ (^(mixed key & mask_j)).
//
// Parameters
//   KEY_W   bits of a key
//   HASH_W  bits of the hash
//   SEED    seed of SplitMix64, which masks and constants come from
//   MIX     rounds that mix the key first, see membrane_mix
//
// Ports
//   en      loads the hash of key
//   hash    the hash, from the next cycle until the next load
//
// Behaviour
//   With W = ceil(KEY_W / 64) and z(n) output n of SplitMix64:
//     mask_j = words z(j*(W+1)) ... z(j*(W+1)+W-1), word 0 least significant
//     c_j    = bit 0 of z(j*(W+1)+W)
//   The matrix is computed at elaboration. There is no reset: the output is
//   unknown before the first load.
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

  localparam WORDS = (KEY_W + 63) / 64;

  // Output n of SplitMix64: its state advances by a constant, so any output can
  // be had without those before it.
  function [63:0] splitmix64(input [31:0] n);
    reg [63:0] z;
    begin
      z          = SEED + ({32'd0, n} + 64'd1) * 64'h9e3779b97f4a7c15;
      z          = (z ^ (z >> 30)) * 64'hbf58476d1ce4e5b9;
      z          = (z ^ (z >> 27)) * 64'h94d049bb133111eb;
      splitmix64 = z ^ (z >> 31);
    end
  endfunction

  // mask_j, whole words.
  function [WORDS*64-1:0] mask(input [31:0] j);
    reg [WORDS*64-1:0] word;
    integer w;
    begin
      mask = 0;
      for (w = 0; w < WORDS; w = w + 1) begin
        word       = 0;
        word[63:0] = splitmix64(j * (WORDS + 1) + w);
        mask       = mask | (word << (64 * w));
      end
    end
  endfunction

  wire [ KEY_W-1:0] mixed;
  wire [HASH_W-1:0] next;

  membrane_mix #(
      .KEY_W (KEY_W),
      .ROUNDS(MIX)
  ) mix (
      .key  (key),
      .mixed(mixed)
  );

  genvar j;
  generate
    for (j = 0; j < HASH_W; j = j + 1) begin : g_bit
      localparam [WORDS*64-1:0] MASK = mask(j);
      localparam [63:0] CONSTANT = splitmix64(j * (WORDS + 1) + WORDS);
      assign next[j] = CONSTANT[0] ^ (^(mixed & MASK[KEY_W-1:0]));
    end
  endgenerate

  always @(posedge clk) if (en) hash <= next;

endmodule

`default_nettype wire

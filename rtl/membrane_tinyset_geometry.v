// TinySet: how long the fingerprints of a block are, by its number of slots.
//
// Parameters
//   ARRAY     bits of a block for last bits and fingerprints
//   F_MAX     longest fingerprint
//   C_MAX     most slots
//
// Ports
//   slots     number of slots C
//   s         bits of every fingerprint: floor(ARRAY / C) - 1, at most F_MAX
//   extended  slots with one bit more: ARRAY mod C, 0 if s is F_MAX
//
// Behaviour
//   Combinational, by a table that is computed at elaboration: no divider. For 0 slots s
//   is F_MAX. Above C_MAX the outputs mean nothing.
`default_nettype none

module membrane_tinyset_geometry #(
    parameter ARRAY  = 0,
    parameter F_MAX  = 0,
    parameter C_MAX  = 0,
    parameter SLOT_W = $clog2(C_MAX + 1),  // derived: leave it
    parameter S_W    = $clog2(F_MAX + 1)   // derived: leave it
) (
    input  wire [SLOT_W-1:0] slots,
    output wire [   S_W-1:0] s,
    output wire [SLOT_W-1:0] extended
);

  localparam ENTRIES = 1 << SLOT_W;

  // Bit b of s, for every number of slots.
  function [ENTRIES-1:0] s_column(input integer b);
    integer c;
    integer size;
    begin
      s_column = {ENTRIES{1'b0}};
      for (c = 0; c <= C_MAX; c = c + 1) begin
        size = F_MAX;
        if (c > 0) size = ARRAY / c - 1;
        if (size > F_MAX) size = F_MAX;
        s_column[c] = ((size >> b) & 1) != 0;
      end
    end
  endfunction

  // Bit b of extended, for every number of slots.
  function [ENTRIES-1:0] extended_column(input integer b);
    integer c;
    integer rest;
    begin
      extended_column = {ENTRIES{1'b0}};
      for (c = 1; c <= C_MAX; c = c + 1) begin
        rest = ARRAY % c;
        if (ARRAY / c - 1 >= F_MAX) rest = 0;
        extended_column[c] = ((rest >> b) & 1) != 0;
      end
    end
  endfunction

  genvar b;
  generate
    for (b = 0; b < S_W; b = b + 1) begin : g_s
      localparam [ENTRIES-1:0] COLUMN = s_column(b);
      assign s[b] = COLUMN[slots];
    end
    for (b = 0; b < SLOT_W; b = b + 1) begin : g_extended
      localparam [ENTRIES-1:0] COLUMN = extended_column(b);
      assign extended[b] = COLUMN[slots];
    end
  endgenerate

endmodule

`default_nettype wire

// TinySet: compares a remainder with PARALLEL neighbouring slots at once.
//
// Parameters
//   F_MAX      longest fingerprint
//   PARALLEL   slots compared
//   REMOVALS   1: an extension bit of 0 may be padding and matches anything
//
// Ports
//   window     the fingerprints, slot after slot, from bit 0 on
//   s          bits of a fingerprint
//   extended   how many of these slots, from the first, have one bit more
//   used       how many of these slots count
//   remainder  what to look for, first bit lowest
//   hit        one of the slots matches
//   certain     the best match has an extension bit of 1
//   slot       the best match: the lowest with an extension bit of 1, else the lowest
//   start      where it begins in the window
//   length     bits of all PARALLEL slots: the distance to the next window
//
// Behaviour
//   Combinational. Without REMOVALS all bits are compared and certain is low.
//   Without hit, slot and start are 0.
`default_nettype none

module membrane_tinyset_match #(
    parameter F_MAX    = 0,
    parameter PARALLEL = 0,
    parameter REMOVALS = 0,
    parameter S_W      = $clog2(F_MAX + 1),             // derived: leave it
    parameter COUNT_W  = $clog2(PARALLEL + 1),          // derived: leave it
    parameter OFF_W    = $clog2(PARALLEL * F_MAX + 1)   // derived: leave it
) (
    input  wire [PARALLEL*F_MAX-1:0] window,
    input  wire [           S_W-1:0] s,
    input  wire [       COUNT_W-1:0] extended,
    input  wire [       COUNT_W-1:0] used,
    input  wire [         F_MAX-1:0] remainder,
    output wire                      hit,
    output wire                      certain,
    output reg  [       COUNT_W-1:0] slot,
    output reg  [         OFF_W-1:0] start,
    output wire [         OFF_W-1:0] length
);

  reg [(PARALLEL+1)*OFF_W-1:0] starts;
  wire [PARALLEL-1:0] equal;
  wire [PARALLEL-1:0] ones;  // of the matches: by an extension bit of 1

  wire [F_MAX-1:0] plain = ~({F_MAX{1'b1}} << s);  // the bits that every slot has
  wire [OFF_W-1:0] stride = {{(OFF_W - S_W) {1'b0}}, s};

  always @* begin : places
    integer i;
    reg [OFF_W-1:0] place;
    starts = {((PARALLEL + 1) * OFF_W) {1'b0}};
    place  = {OFF_W{1'b0}};
    for (i = 0; i < PARALLEL; i = i + 1) begin
      place = place + stride + {{(OFF_W - 1) {1'b0}}, i[COUNT_W-1:0] < extended};
      starts[(i+1)*OFF_W+:OFF_W] = place;
    end
  end

  genvar j;
  generate
    for (j = 0; j < PARALLEL; j = j + 1) begin : g_slot
      localparam [31:0] NUMBER = j;
      wire is_extended = NUMBER[COUNT_W-1:0] < extended;
      wire [F_MAX-1:0] stored;
      wire [F_MAX-1:0] compared;
      wire [PARALLEL*F_MAX-1:0] shifted = window >> starts[j*OFF_W+:OFF_W];
      wire [F_MAX-1:0] extension = is_extended ? (~plain & ~(~plain << 1)) : {F_MAX{1'b0}};

      assign stored = shifted[F_MAX-1:0];
      assign compared = plain | ((REMOVALS != 0) ? (extension & stored) : extension);
      assign equal[j] = NUMBER[COUNT_W-1:0] < used && ((stored ^ remainder) & compared) == 0;
      assign ones[j] = (REMOVALS != 0) && equal[j] && (extension & stored) != 0;

      if (PARALLEL > 1) begin : g_rest
        wire unused = &{1'b0, shifted[PARALLEL*F_MAX-1:F_MAX]};
      end
    end
  endgenerate

  assign hit    = |equal;
  assign certain = |ones;
  assign length = starts[PARALLEL*OFF_W+:OFF_W];

  always @* begin : best
    integer i;
    slot  = {COUNT_W{1'b0}};
    start = {OFF_W{1'b0}};
    // The lowest is looked at last.
    for (i = PARALLEL - 1; i >= 0; i = i - 1) begin
      if (certain ? ones[i] : equal[i]) begin
        slot  = i[COUNT_W-1:0];
        start = starts[i*OFF_W+:OFF_W];
      end
    end
  end

endmodule

`default_nettype wire

// Self-test of @MODULE@ for a board: plays vectors from ROM at full speed, one
// row a cycle, and compares every output pin in every cycle.
//
// Parameters
//   none
//
// Ports
//   rst          synchronous, active high: starts the test again
//   done         the test is over
//   pass         done, and there was no mismatch
//   mismatches   cycles in which a pin differed, up to 65535
//   first        the first such cycle
//
// Behaviour
//   Start:       the test begins when rst falls, and takes @CYCLES@ cycles and a few.
//   Core:        is held in reset, all other inputs low, until the first row.
//   Power-up:    pass and done are unknown until the first rst.
//   ROM:         stimulus.hex and expected.hex, loaded by $readmemh at synthesis.
`default_nettype none

module membrane_selftest (
    input  wire        clk,
    input  wire        rst,
    output reg         done,
    output wire        pass,
    output reg  [15:0] mismatches,
    output reg  [31:0] first
);

  localparam CYCLES = @CYCLES@;
  localparam INPUT_W = @INPUT_BITS@;
  localparam OUTPUT_W = @OUTPUT_BITS@;
  localparam ROW_W = $clog2(CYCLES + 1);
  localparam [INPUT_W-1:0] RESET_ROW = {{(INPUT_W - 1) {1'b0}}, 1'b1} << @RST@;
  localparam [31:0] END_ROW = CYCLES;

  reg [INPUT_W-1:0] stimulus[0:CYCLES-1];
  reg [OUTPUT_W-1:0] expected[0:CYCLES-1];

  initial begin
    $readmemh("stimulus.hex", stimulus);
    $readmemh("expected.hex", expected);
  end

  // s0: address. s1: rows from the ROMs, played. s2: outputs seen, compared.
  reg [ROW_W-1:0] s0_row;
  reg s1_valid, s2_valid;
  reg [ROW_W-1:0] s1_row, s2_row;
  reg [INPUT_W-1:0] s1_stimulus;
  reg [OUTPUT_W-1:0] s1_expected, s2_expected, s2_seen;

  wire s0_valid = s0_row != END_ROW[ROW_W-1:0];

  always @(posedge clk) begin
    if (rst) s0_row <= {ROW_W{1'b0}};
    else if (s0_valid) s0_row <= s0_row + 1'b1;
  end

  always @(posedge clk) begin
    s1_valid <= !rst && s0_valid;
    s2_valid <= !rst && s1_valid;
  end

  always @(posedge clk) begin
    s1_stimulus <= stimulus[s0_row];
    s1_expected <= expected[s0_row];
    s1_row      <= s0_row;
    s2_row      <= s1_row;
    s2_expected <= s1_expected;
  end

  wire [INPUT_W-1:0] inputs = s1_valid ? s1_stimulus : RESET_ROW;
@OUTPUT_WIRES@

  @MODULE@_fixed dut (
      .clk(clk),
@CONNECTIONS@
  );

  always @(posedge clk) s2_seen <= {@OUTPUTS_HIGH_FIRST@};

  // Written so that an unknown bit in simulation counts as a mismatch.
  always @(posedge clk) begin
    if (rst) begin
      mismatches <= 16'd0;
      first      <= 32'd0;
      done       <= 1'b0;
    end else begin
      done <= !s0_valid && !s1_valid && !s2_valid;
      if (s2_valid) begin
        if (s2_seen == s2_expected) begin
        end else begin
          if (mismatches == 16'd0) first <= {{(32 - ROW_W) {1'b0}}, s2_row};
          if (mismatches != 16'hffff) mismatches <= mismatches + 16'd1;
        end
      end
    end
  end

  assign pass = done && mismatches == 16'd0;

endmodule

`default_nettype wire

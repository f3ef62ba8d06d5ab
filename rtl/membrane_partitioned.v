// Bloom filter in BANKS single-port memories with HASHES hash functions each:
// the partitioned filter (HASHES=1), the standard filter on one port (BANKS=1),
// or a hybrid.
//
// Parameters
//   BANKS     memories, accessed together
//   HASHES    hash functions per memory; an operation takes HASHES accesses
//   ROWS      rows of a memory
//   WIDTH     bits of a row. 1: an insert writes whole rows, and block RAM does.
//             More: the memories need a write mask per bit
//   KEY_W     bits of a key
//   TAG_W     bits of a tag
//   INDEXING  0: a hash field per index. 1: double hashing, g_i = h1 + i * h2
//   SEED      seed of the hash
//   MIX       rounds that mix the key before it is hashed
//   PARITY    1: every row has a parity bit on top. WIDTH must be 1, so the bit is
//             stored twice: with a write mask, no row is known when it is written
//   INIT      "" or a prefix of memory images: bank b starts from <INIT><b>.hex,
//             and reset clears nothing
//
// Ports
//   req_*     requests: op 0 QUERY, 1 INSERT, 2 REMOVE, 3 CLEAR
//   rsp_*     responses, in the order of the requests
//   busy      clearing, or requests in flight
//   level     0: there is no overflow list
//   parity_error  PARITY=1: a row with wrong parity was read since reset. Else low
//
// Behaviour
//   Order:    responses are those of executing the requests one after another.
//   QUERY:    rsp_hit: maybe present. INSERT: status OK, rsp_hit low (what was
//             there before is not read). REMOVE: status UNSUPPORTED, no effect.
//   CLEAR:    waits for what is ahead of it, writes zeros to one row a cycle,
//             answers OK. Requests behind it wait.
//   Reset:    starts a clearing sweep of ROWS cycles with req_ready low. Requests
//             in flight are lost without a response.
//             With INIT there is no sweep: the first request may follow at once,
//             and what the memories hold stays. A CLEAR or INSERT that a reset
//             interrupts is left half done.
//   Latency:  a request taken in cycle t is answered in cycle t + 3 + HASHES at
//             the earliest. One request every HASHES cycles, any mix.
//   Parity:   a row that is read in cycle t raises parity_error in t + 2: no later than any
//             response that depends on it. It stays until reset: CLEAR mends the rows,
//             and leaves the pin.
//   Stall:    while rsp_valid is high and rsp_ready low the response holds;
//             requests are taken until the pipeline is full.
//   Timing:   req_ready depends on registers and rsp_ready; all other outputs
//             are registers or functions of registers.
`default_nettype none

module membrane_partitioned #(
    parameter        BANKS    = 0,
    parameter        HASHES   = 1,
    parameter        ROWS     = 0,
    parameter        WIDTH    = 1,
    parameter        KEY_W    = 0,
    parameter        TAG_W    = 8,
    parameter        INDEXING = 0,
    parameter [63:0] SEED     = 64'h6d656d6272616e65,
    parameter        MIX      = 0,
    parameter        PARITY   = 0,
    parameter        INIT     = ""
) (
    input  wire             clk,
    input  wire             rst,
    input  wire             req_valid,
    output wire             req_ready,
    input  wire [      1:0] req_op,
    input  wire [KEY_W-1:0] req_key,
    input  wire [TAG_W-1:0] req_tag,
    output reg              rsp_valid,
    input  wire             rsp_ready,
    output reg              rsp_hit,
    output reg  [      1:0] rsp_status,
    output reg  [TAG_W-1:0] rsp_tag,
    output wire             busy,
    output wire [      0:0] level,
    output wire             parity_error
);

  generate
    if (BANKS < 1 || BANKS > 64) begin : g_rule_banks
      membrane_error_BANKS_must_be_1_to_64 error ();
    end
    if (HASHES < 1 || HASHES > 64) begin : g_rule_hashes
      membrane_error_HASHES_must_be_1_to_64 error ();
    end
    if (ROWS < 2 || ROWS > 1073741824) begin : g_rule_rows
      membrane_error_ROWS_must_be_2_to_1073741824 error ();
    end
    if (WIDTH < 1 || WIDTH > 512) begin : g_rule_width
      membrane_error_WIDTH_must_be_1_to_512 error ();
    end
    if (KEY_W < 1 || KEY_W > 1024) begin : g_rule_key_w
      membrane_error_KEY_W_must_be_1_to_1024 error ();
    end
    if (TAG_W < 1 || TAG_W > 32) begin : g_rule_tag_w
      membrane_error_TAG_W_must_be_1_to_32 error ();
    end
    if (MIX < 0 || MIX > 16) begin : g_rule_mix
      membrane_error_MIX_must_be_0_to_16 error ();
    end
    if (MIX > 0 && KEY_W < 20) begin : g_rule_mix_key_w
      membrane_error_KEY_W_must_be_at_least_20_where_MIX_is_above_0 error ();
    end
    if (PARITY < 0 || PARITY > 1) begin : g_rule_parity
      membrane_error_PARITY_must_be_0_to_1 error ();
    end
    if (PARITY > 0 && WIDTH > 1) begin : g_rule_parity_width
      membrane_error_PARITY_must_be_0_where_WIDTH_is_above_1 error ();
    end
    if (INDEXING < 0 || INDEXING > 1) begin : g_rule_indexing
      membrane_error_INDEXING_must_be_0_to_1 error ();
    end
    if (BANKS * HASHES > 64) begin : g_rule_k
      membrane_error_BANKS_times_HASHES_must_be_at_most_64 error ();
    end
    if ((WIDTH & (WIDTH - 1)) != 0) begin : g_rule_power
      membrane_error_WIDTH_must_be_a_power_of_two error ();
    end
    if (ROWS > 1073741824 / WIDTH) begin : g_rule_bits
      membrane_error_ROWS_times_WIDTH_must_be_at_most_1073741824 error ();
    end
  endgenerate

  localparam [1:0] OP_QUERY = 2'd0;
  localparam [1:0] OP_INSERT = 2'd1;
  localparam [1:0] OP_REMOVE = 2'd2;
  localparam [1:0] OP_CLEAR = 2'd3;
  localparam [1:0] STATUS_OK = 2'd0;
  localparam [1:0] STATUS_UNSUPPORTED = 2'd3;

  localparam K = BANKS * HASHES;
  localparam BITS = ROWS * WIDTH;  // of a bank: what one index selects from
  localparam INDEX_W = $clog2(BITS);
  localparam FIELD_W = INDEX_W + (((1 << INDEX_W) == BITS) ? 0 : 8);
  localparam ROW_W = $clog2(ROWS);
  localparam BIT_W = $clog2(WIDTH);
  localparam HASH_W = FIELD_W * (INDEXING == 0 ? K : 2);
  localparam STORED_W = WIDTH + ((PARITY != 0) ? 1 : 0);  // of a row, with its parity bit
  localparam ACCESS_W = (HASHES > 1) ? $clog2(HASHES) : 1;
  localparam [31:0] LAST_ROW = ROWS - 1;
  localparam [31:0] LAST_ACCESS = HASHES - 1;

  // ---------------------------------------------------------------------------
  // Flow: a stage moves on when the next one is free or moves on itself.
  // s1 holds the hash, s2 the indices and accesses the banks, s3 waits for what
  // they read.

  reg sweep;  // clearing after reset
  reg s1_valid, s2_valid, s3_valid;
  reg s3_last;  // the last access of its request
  reg [1:0] s1_op, s2_op, s3_op;
  reg [TAG_W-1:0] s1_tag, s2_tag, s3_tag;
  reg [ROW_W-1:0] row;  // of a sweep or CLEAR
  reg [ACCESS_W-1:0] s2_access;  // which of the HASHES accesses

  wire row_last = row == LAST_ROW[ROW_W-1:0];
  wire s2_last = (s2_op == OP_CLEAR) ? row_last :
      (s2_op == OP_REMOVE) || (s2_access == LAST_ACCESS[ACCESS_W-1:0]);
  // Only reads, and the end of a request, have something for s3.
  wire s2_hands_over = s2_last || (s2_op == OP_QUERY);

  wire rsp_free = !rsp_valid || rsp_ready;
  wire s3_free = !s3_valid || !s3_last || rsp_free;
  wire s2_step = s2_valid && (s3_free || !s2_hands_over);
  wire s2_free = !s2_valid || (s2_step && s2_last);
  wire s1_free = !s1_valid || s2_free;

  assign req_ready = !sweep && s1_free;
  assign busy      = sweep || s1_valid || s2_valid || s3_valid || rsp_valid;
  assign level     = 1'b0;

  wire take = req_valid && req_ready;
  wire s3_done = s3_valid && s3_last && rsp_free;

  always @(posedge clk) begin
    if (rst) begin
      s1_valid  <= 1'b0;
      s2_valid  <= 1'b0;
      s3_valid  <= 1'b0;
      rsp_valid <= 1'b0;
    end else begin
      if (s1_free) s1_valid <= take;
      if (s2_free) s2_valid <= s1_valid;
      if (s3_free) s3_valid <= s2_step && s2_hands_over;
      if (rsp_free) rsp_valid <= s3_done;
    end
  end

  always @(posedge clk) begin
    if (take) begin
      s1_op  <= req_op;
      s1_tag <= req_tag;
    end
    if (s2_free) begin
      s2_op  <= s1_op;
      s2_tag <= s1_tag;
    end
    if (s3_free) begin
      s3_op   <= s2_op;
      s3_tag  <= s2_tag;
      s3_last <= s2_last;
    end
  end

  // Sweep and CLEAR share the row counter: neither starts before the other ends.
  wire clearing = sweep || (s2_valid && s2_op == OP_CLEAR);
  wire row_step = sweep || (s2_step && s2_op == OP_CLEAR);

  always @(posedge clk) begin
    if (rst) begin
      sweep <= (INIT == "");
      row   <= {ROW_W{1'b0}};
    end else if (row_step) begin
      if (row_last) sweep <= 1'b0;
      row <= row_last ? {ROW_W{1'b0}} : row + 1'b1;
    end
  end

  wire access_step = s2_step && (s2_op == OP_QUERY || s2_op == OP_INSERT);

  always @(posedge clk) begin
    if (rst) s2_access <= {ACCESS_W{1'b0}};
    else if (access_step) s2_access <= s2_last ? {ACCESS_W{1'b0}} : s2_access + 1'b1;
  end

  // ---------------------------------------------------------------------------
  // s1: hash, and the K indices that it makes.

  wire [   HASH_W-1:0] s1_hash;
  wire [K*INDEX_W-1:0] s1_index;

  membrane_hash_h3 #(
      .KEY_W (KEY_W),
      .HASH_W(HASH_W),
      .SEED  (SEED),
      .MIX   (MIX)
  ) hash_unit (
      .clk (clk),
      .en  (take),
      .key (req_key),
      .hash(s1_hash)
  );

  genvar i;
  generate
    if (INDEXING == 0) begin : g_independent
      for (i = 0; i < K; i = i + 1) begin : g_index
        membrane_select #(
            .N(BITS)
        ) select (
            .field(s1_hash[i*FIELD_W+:FIELD_W]),
            .index(s1_index[i*INDEX_W+:INDEX_W])
        );
      end
    end else begin : g_double
      // h1 + i * h2 is below (i + 1) * BITS, so conditional subtractions of BITS
      // times 2^s, for s from SHIFTS - 1 down to 0, reduce it.
      localparam SHIFTS = (K > 1) ? $clog2(K) : 1;
      localparam SUM_W = INDEX_W + SHIFTS;
      localparam [31:0] MODULUS = BITS;

      wire [INDEX_W-1:0] h1, h2;

      membrane_select #(
          .N(BITS)
      ) select_h1 (
          .field(s1_hash[0+:FIELD_W]),
          .index(h1)
      );
      membrane_select #(
          .N(BITS)
      ) select_h2 (
          .field(s1_hash[FIELD_W+:FIELD_W]),
          .index(h2)
      );

      for (i = 0; i < K; i = i + 1) begin : g_index
        localparam [31:0] FACTOR = i;
        wire [SUM_W-1:0] sum = {{SHIFTS{1'b0}}, h1} +
            {{SHIFTS{1'b0}}, h2} * {{INDEX_W{1'b0}}, FACTOR[SHIFTS-1:0]};

        if ((1 << INDEX_W) == BITS) begin : g_power
          assign s1_index[i*INDEX_W+:INDEX_W] = sum[INDEX_W-1:0];

          wire unused = &{1'b0, sum[SUM_W-1:INDEX_W]};
        end else begin : g_modulo
          reg [SUM_W-1:0] rest;
          always @* begin : reduce
            integer s;
            rest = sum;
            for (s = SHIFTS - 1; s >= 0; s = s - 1) begin
              if (rest >= ({{SHIFTS{1'b0}}, MODULUS[INDEX_W-1:0]} << s)) begin
                rest = rest - ({{SHIFTS{1'b0}}, MODULUS[INDEX_W-1:0]} << s);
              end
            end
          end
          assign s1_index[i*INDEX_W+:INDEX_W] = rest[INDEX_W-1:0];

          wire unused = &{1'b0, rest[SUM_W-1:INDEX_W]};
        end
      end
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // s2: the banks, all in step. s3: what they read.

  wire hold = (INIT != "") && rst;  // before the first reset nothing is known but the images
  wire bank_en = (row_step || access_step) && !hold;
  wire bank_we = clearing || (s2_op == OP_INSERT);
  wire [BANKS-1:0] s3_set;  // per bank: the bit read is set
  wire [BANKS-1:0] s3_bad;  // per bank: the row read has wrong parity

  genvar b;
  generate
    for (b = 0; b < BANKS; b = b + 1) begin : g_bank
      // The indices of this bank, the one to access next lowest.
      reg [HASHES*INDEX_W-1:0] s2_index;
      wire [STORED_W-1:0] bit_mask;
      wire [STORED_W-1:0] stored;
      wire [WIDTH-1:0] rdata = stored[WIDTH-1:0];
      assign s3_bad[b] = ^stored;

      always @(posedge clk) begin
        if (s2_free) s2_index <= s1_index[b*HASHES*INDEX_W+:HASHES*INDEX_W];
        else if (access_step) s2_index <= s2_index >> INDEX_W;
      end

      if (BIT_W == 0) begin : g_one_bit
        assign bit_mask  = {STORED_W{1'b1}};
        assign s3_set[b] = rdata;
      end else begin : g_many_bits
        reg [BIT_W-1:0] s3_bit;
        always @(posedge clk) if (s3_free) s3_bit <= s2_index[BIT_W-1:0];
        assign bit_mask  = {{(STORED_W - 1) {1'b0}}, 1'b1} << s2_index[BIT_W-1:0];
        assign s3_set[b] = rdata[s3_bit];
      end

      membrane_sram_1p #(
          .DEPTH (ROWS),
          .WIDTH (STORED_W),
          .MASKED(WIDTH > 1),
          .INIT  (INIT),
          .INDEX (b)
      ) bank (
          .clk  (clk),
          .en   (bank_en),
          .we   (bank_we),
          .addr (clearing ? row : s2_index[BIT_W+:ROW_W]),
          .wdata({STORED_W{!clearing}}),
          .wmask(clearing ? {STORED_W{1'b1}} : bit_mask),
          .rdata(stored)
      );
    end

    if (PARITY != 0) begin : g_parity
      membrane_parity parity (
          .clk  (clk),
          .rst  (rst),
          .read (bank_en && !bank_we),
          .bad  (|s3_bad),
          .error(parity_error)
      );
    end else begin : g_no_parity
      assign parity_error = 1'b0;

      wire unused = &{1'b0, s3_bad};
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // Response.

  reg  s3_before;  // all bits of the accesses before this one were set
  wire all_set = s3_before && (&s3_set);

  always @(posedge clk) begin
    if (rst) s3_before <= 1'b1;
    else if (s3_valid && s3_free) s3_before <= s3_last || all_set;
  end

  always @(posedge clk) begin
    if (rst) begin
      rsp_hit    <= 1'b0;
      rsp_status <= STATUS_OK;
      rsp_tag    <= {TAG_W{1'b0}};
    end else if (s3_done) begin
      rsp_hit    <= (s3_op == OP_QUERY) && all_set;
      rsp_status <= (s3_op == OP_REMOVE) ? STATUS_UNSUPPORTED : STATUS_OK;
      rsp_tag    <= s3_tag;
    end
  end

endmodule

`default_nettype wire

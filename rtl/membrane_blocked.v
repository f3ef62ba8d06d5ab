// Blocked Bloom filter: all bits of a key lie in one row of one memory, or in
// GROUP rows (Bloom-g).
//
// Parameters
//   BLOCK_W   bits of a row, the block of the papers
//   ROWS      rows
//   HASHES    bits that a key sets, the k of the papers
//   GROUP     rows of a key; HASHES / GROUP bits in each
//   IN_BLOCK  0 standard: every index selects among all bits of the row.
//             1 partitioned: index i of a row selects within part i, which is bits
//             i*PART to i*PART+PART-1 with PART = floor(BLOCK_W / (HASHES / GROUP));
//             bits left over at the top stay 0
//   MASKED    0: an insert reads, modifies and writes rows, and block RAM does.
//             1: the memory has a write mask per bit, and an insert only writes
//   KEY_W     bits of a key
//   TAG_W     bits of a tag
//   SEED      seed of the hash
//   MIX       rounds that mix the key before it is hashed
//   PARITY    1: every row has a parity bit on top. MASKED must be 0: with a write mask,
//             no row is known when it is written
//   INIT      "" or a prefix of memory images: the memory starts from <INIT>0.hex,
//             and reset clears nothing
//
// Ports
//   req_*     requests: op 0 QUERY, 1 INSERT, 2 REMOVE, 3 CLEAR
//   rsp_*     responses, in the order of the requests; 0 while rsp_valid is low
//   busy      clearing, or requests in flight
//   level     0: there is no overflow list
//   parity_error  PARITY=1: a row with wrong parity was read since reset. Else low
//
// Behaviour
//   Order:    responses are those of executing the requests one after another.
//   QUERY:    rsp_hit: maybe present. Reads all GROUP rows, one a cycle.
//   INSERT:   status OK. MASKED=0: rsp_hit is what a QUERY would have answered; a
//             row in which all bits of the key are set is not written. MASKED=1:
//             rsp_hit low (what was there before is not read).
//   REMOVE:   status UNSUPPORTED, no effect.
//   CLEAR:    waits for what is ahead of it, writes zeros to one row a cycle,
//             answers OK. Requests behind it wait.
//   Reset:    starts a clearing sweep of ROWS cycles with req_ready low. Requests
//             in flight are lost without a response.
//             With INIT there is no sweep: the first request may follow at once,
//             and what the memory holds stays. A CLEAR or INSERT that a reset
//             interrupts is left half done.
//   Latency:  a request taken in cycle t is answered in cycle t + 3 + GROUP at the
//             earliest; an INSERT of several rows later by its write-backs between
//             them, 2 for every 2 rows. A QUERY takes the memory for GROUP cycles,
//             an INSERT for up to 2 * GROUP (MASKED=1: GROUP). REMOVE: t + 4.
//   Hazard:   an access to a row that an INSERT reads in cycle t waits until t + 3,
//             or t + 2 if nothing was to be written.
//   Parity:   a row that is read in cycle t raises parity_error in t + 2: no later than any
//             response that depends on it. It stays until reset: CLEAR mends the rows,
//             and leaves the pin.
//   Stall:    while rsp_valid is high and rsp_ready low the response holds, and so
//             do all stages behind it; requests are taken until the first stages
//             are full.
//   Timing:   req_ready depends on registers and rsp_ready; all other outputs
//             are registers or functions of registers.
//
// Hash fields, from bit 0: row of word 0, its HASHES / GROUP indices, row of word 1, ...
`default_nettype none

module membrane_blocked #(
    parameter        BLOCK_W  = 0,
    parameter        ROWS     = 0,
    parameter        HASHES   = 0,
    parameter        GROUP    = 1,
    parameter        IN_BLOCK = 0,
    parameter        MASKED   = 0,
    parameter        KEY_W    = 0,
    parameter        TAG_W    = 8,
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
    output wire             rsp_valid,
    input  wire             rsp_ready,
    output wire             rsp_hit,
    output wire [      1:0] rsp_status,
    output wire [TAG_W-1:0] rsp_tag,
    output wire             busy,
    output wire [      0:0] level,
    output wire             parity_error
);

  // What the divisions below see even when a rule is broken.
  localparam SAFE_GROUP = (GROUP < 1 || GROUP > HASHES) ? 1 : GROUP;
  localparam SAFE_HASHES = (HASHES < 1) ? 1 : HASHES;

  generate
    if (BLOCK_W < 8 || BLOCK_W > 512) begin : g_rule_block_w
      membrane_error_BLOCK_W_must_be_8_to_512 error ();
    end
    if (ROWS < 2 || ROWS > 67108864) begin : g_rule_rows
      membrane_error_ROWS_must_be_2_to_67108864 error ();
    end
    if (HASHES < 1 || HASHES > 64) begin : g_rule_hashes
      membrane_error_HASHES_must_be_1_to_64 error ();
    end
    if (GROUP < 1 || GROUP > 64) begin : g_rule_group
      membrane_error_GROUP_must_be_1_to_64 error ();
    end
    if (IN_BLOCK < 0 || IN_BLOCK > 1) begin : g_rule_in_block
      membrane_error_IN_BLOCK_must_be_0_to_1 error ();
    end
    if (MASKED < 0 || MASKED > 1) begin : g_rule_masked
      membrane_error_MASKED_must_be_0_to_1 error ();
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
    if (PARITY > 0 && MASKED > 0) begin : g_rule_parity_masked
      membrane_error_PARITY_must_be_0_where_MASKED_is_1 error ();
    end
    if (SAFE_GROUP != GROUP || HASHES % SAFE_GROUP != 0) begin : g_rule_divide
      membrane_error_GROUP_must_divide_HASHES error ();
    end
    if (IN_BLOCK == 1 && BLOCK_W * SAFE_GROUP < 2 * HASHES) begin : g_rule_parts
      membrane_error_IN_BLOCK_partitioned_needs_parts_of_at_least_2_bits error ();
    end
  endgenerate

  localparam [1:0] OP_QUERY = 2'd0;
  localparam [1:0] OP_INSERT = 2'd1;
  localparam [1:0] OP_REMOVE = 2'd2;
  localparam [1:0] OP_CLEAR = 2'd3;
  localparam [1:0] STATUS_OK = 2'd0;
  localparam [1:0] STATUS_UNSUPPORTED = 2'd3;
  localparam [2:0] KIND_NONE = 3'd0;
  localparam [2:0] KIND_READ = 3'd1;
  localparam [2:0] KIND_MODIFY = 3'd2;
  localparam [2:0] KIND_WRITE = 3'd3;
  localparam [2:0] KIND_CLEAR = 3'd4;

  localparam BITS = SAFE_HASHES / SAFE_GROUP;  // of a key in one row
  localparam PART = (IN_BLOCK == 0) ? BLOCK_W : BLOCK_W / BITS;
  localparam ROW_W = $clog2(ROWS);
  localparam ROW_FIELD_W = ROW_W + (((1 << ROW_W) == ROWS) ? 0 : 8);
  localparam BIT_W = $clog2(PART);
  localparam BIT_FIELD_W = BIT_W + (((1 << BIT_W) == PART) ? 0 : 8);
  localparam FIELDS_W = ROW_FIELD_W + BITS * BIT_FIELD_W;  // hash bits of a word
  localparam WORD_W = ROW_W + BITS * BIT_W;  // row and indices of a word
  localparam HASH_W = SAFE_GROUP * FIELDS_W;
  localparam WORDS_W = SAFE_GROUP * WORD_W;
  localparam COUNT_W = (GROUP > 1) ? $clog2(GROUP) : 1;
  localparam META_W = BLOCK_W + TAG_W + 3;
  localparam [31:0] LAST_WORD = GROUP - 1;

  // ---------------------------------------------------------------------------
  // Flow: s1 holds the hash, s2 the rows and indices and offers one word after
  // the other to the port; in s3 the row is there, in s4 it is judged: the word is
  // written back, and the last word of a request is its response.

  reg s1_valid, s2_valid;
  reg [1:0] s1_op, s2_op;
  reg [TAG_W-1:0] s1_tag, s2_tag;
  reg [COUNT_W-1:0] s2_count;  // which word

  wire sweep, port_busy, port_ready;
  wire s2_reads = (s2_op == OP_QUERY) || (s2_op == OP_INSERT && MASKED == 0);
  wire s2_words = (s2_op == OP_QUERY) || (s2_op == OP_INSERT);
  wire s2_last = !s2_words || s2_count == LAST_WORD[COUNT_W-1:0];
  wire s2_step = s2_valid && port_ready;
  wire s2_free = !s2_valid || (s2_step && s2_last);
  wire s1_free = !s1_valid || s2_free;

  assign req_ready = !sweep && s1_free;
  assign busy      = s1_valid || s2_valid || port_busy;
  assign level     = 1'b0;

  wire take = req_valid && req_ready;

  always @(posedge clk) begin
    if (rst) begin
      s1_valid <= 1'b0;
      s2_valid <= 1'b0;
      s2_count <= {COUNT_W{1'b0}};
    end else begin
      if (s1_free) s1_valid <= take;
      if (s2_free) s2_valid <= s1_valid;
      if (s2_step) s2_count <= s2_last ? {COUNT_W{1'b0}} : s2_count + 1'b1;
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
  end

  // ---------------------------------------------------------------------------
  // s1: hash, and the rows and indices that it makes.

  wire [ HASH_W-1:0] s1_hash;
  wire [WORDS_W-1:0] s1_word;  // per word: indices above the row, word 0 lowest

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

  genvar w, i;
  generate
    for (w = 0; w < SAFE_GROUP; w = w + 1) begin : g_word
      membrane_select #(
          .N(ROWS)
      ) select_row (
          .field(s1_hash[w*FIELDS_W+:ROW_FIELD_W]),
          .index(s1_word[w*WORD_W+:ROW_W])
      );
      for (i = 0; i < BITS; i = i + 1) begin : g_bit
        membrane_select #(
            .N(PART)
        ) select_bit (
            .field(s1_hash[w*FIELDS_W+ROW_FIELD_W+i*BIT_FIELD_W+:BIT_FIELD_W]),
            .index(s1_word[w*WORD_W+ROW_W+i*BIT_W+:BIT_W])
        );
      end
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // s2: the word to access next is lowest; its indices make the mask of its bits.

  reg [WORDS_W-1:0] s2_word;
  wire [BLOCK_W-1:0] s2_mask;

  always @(posedge clk) begin
    if (s2_free) s2_word <= s1_word;
    else if (s2_step) s2_word <= s2_word >> WORD_W;
  end

  generate
    if (IN_BLOCK == 0) begin : g_standard
      reg [BLOCK_W-1:0] mask;
      always @* begin : collect
        integer n;
        mask = {BLOCK_W{1'b0}};
        for (n = 0; n < BITS; n = n + 1) begin
          mask = mask | ({{(BLOCK_W - 1) {1'b0}}, 1'b1} << s2_word[ROW_W+n*BIT_W+:BIT_W]);
        end
      end
      assign s2_mask = mask;
    end else begin : g_partitioned
      for (i = 0; i < BITS; i = i + 1) begin : g_mask
        assign s2_mask[i*PART+:PART] = {{(PART - 1) {1'b0}}, 1'b1} << s2_word[ROW_W+i*BIT_W+:BIT_W];
      end
      if (BITS * PART < BLOCK_W) begin : g_left_over
        assign s2_mask[BLOCK_W-1:BITS*PART] = {(BLOCK_W - BITS * PART) {1'b0}};
      end
    end
  endgenerate

  reg [2:0] s2_kind;
  always @* begin
    case (s2_op)
      OP_QUERY:  s2_kind = KIND_READ;
      OP_INSERT: s2_kind = (MASKED == 0) ? KIND_MODIFY : KIND_WRITE;
      OP_CLEAR:  s2_kind = KIND_CLEAR;
      default:   s2_kind = KIND_NONE;
    endcase
  end

  // ---------------------------------------------------------------------------
  // s3: the row, and which of the key's bits it has. s4: write-back, response.

  wire s3_valid, s4_valid;
  wire [META_W-1:0] s3_meta, s4_meta;
  wire [BLOCK_W-1:0] s3_row;
  wire [BLOCK_W-1:0] s3_mask = s3_meta[META_W-1-:BLOCK_W];
  wire [BLOCK_W-1:0] s4_row;
  reg s4_set;  // the word's bits were all set
  reg s4_before;  // so were those of the request's words before it

  wire s4_last = s4_meta[0];
  wire s4_reads = s4_meta[1];
  wire s4_remove = s4_meta[2];
  wire [TAG_W-1:0] s4_tag = s4_meta[3+:TAG_W];
  wire advance = !rsp_valid || rsp_ready;

  membrane_block_port #(
      .ROWS  (ROWS),
      .WIDTH (BLOCK_W),
      .STAGES(1),
      .META_W(META_W),
      .MASKED(MASKED),
      .PARITY(PARITY),
      .INIT  (INIT)
  ) port (
      .clk     (clk),
      .rst     (rst),
      .advance (advance),
      .op_valid(s2_valid),
      .op_ready(port_ready),
      .op_take (s2_step),
      .op_kind (s2_kind),
      .op_row  (s2_word[ROW_W-1:0]),
      .op_meta ({s2_mask, s2_tag, s2_op == OP_REMOVE, s2_reads, s2_last}),
      .op_wdata({BLOCK_W{1'b1}}),
      .op_wmask(s2_mask),
      .rd_valid(s3_valid),
      .rd_meta (s3_meta),
      .rd_data (s3_row),
      .wb_valid(s4_valid),
      .wb_meta (s4_meta),
      .wb_write(!s4_set),
      .wb_data (s4_row),
      .sweep   (sweep),
      .busy    (port_busy),

      .parity_error(parity_error)
  );

  always @(posedge clk) if (advance) s4_set <= &(s3_row | ~s3_mask);

  generate
    if (MASKED == 0) begin : g_modify
      reg [BLOCK_W-1:0] row;
      always @(posedge clk) if (advance) row <= s3_row | s3_mask;
      assign s4_row = row;
    end else begin : g_no_modify
      assign s4_row = {BLOCK_W{1'b0}};
    end
  endgenerate

  wire all_set = s4_before && s4_set;

  always @(posedge clk) begin
    if (rst) s4_before <= 1'b1;
    else if (s4_valid && advance) s4_before <= s4_last || all_set;
  end

  assign rsp_valid  = s4_valid && s4_last;
  assign rsp_hit    = rsp_valid && s4_reads && all_set;
  assign rsp_status = (rsp_valid && s4_remove) ? STATUS_UNSUPPORTED : STATUS_OK;
  assign rsp_tag    = s4_tag & {TAG_W{rsp_valid}};

  wire unused = &{1'b0, s3_valid, s3_meta[META_W-BLOCK_W-1:0], s4_meta[META_W-1-:BLOCK_W]};

endmodule

`default_nettype wire

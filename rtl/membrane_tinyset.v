// TinySet: blocks that shorten their fingerprints as they fill, one block a memory row.
//
// Parameters
//   BLOCKS     blocks
//   CHAINS     chains of a block
//   ARRAY      bits of a block for last bits and fingerprints
//   F_MAX      longest fingerprint; 0: floor(sqrt(ARRAY))
//   C_MAX      most slots of a block; 0: ARRAY / 2
//   REMOVALS   1: keys can be removed, and a block carries its number of slots
//   CAM_DEPTH  keys of the overflow list; 0: none
//   PARALLEL   slots of a chain that are compared in one cycle
//   KEY_W      bits of a key
//   TAG_W      bits of a tag
//   SEED       seed of the hash
//   MIX        rounds that mix the key before it is hashed
//   PARITY     1: every row has a parity bit on top
//   INIT       "" or a prefix of memory images: the memory starts from <INIT>0.hex,
//              and reset clears nothing
//
// Ports
//   req_*      requests: op 0 QUERY, 1 INSERT, 2 REMOVE, 3 CLEAR
//   rsp_*      responses, in the order of the requests
//   busy       clearing, or requests in flight
//   level      keys in the overflow list
//   parity_error  PARITY=1: a row with wrong parity was read since reset. Else low
//
// Behaviour
//   Block:    [0, CHAINS) index, [CHAINS, +C) last bits, then the fingerprints, slot after
//             slot; with REMOVALS the number of slots C above the array.
//   Order:    responses are those of executing the requests one after another.
//   QUERY:    rsp_hit: maybe present. One access.
//   INSERT:   rsp_hit low. Two accesses. Into a full block: the key goes to the overflow
//             list and the block is not written; FULL if the list is full or there is
//             none (and, with REMOVALS, if the key is in the list already: it holds a key once).
//   REMOVE:   rsp_hit low; NOT_FOUND if neither list nor block has the key. Two accesses.
//             Without REMOVALS: UNSUPPORTED, no access.
//   CLEAR:    waits for what is ahead of it, writes zeros to one row a cycle, empties the
//             list, answers OK. Requests behind it wait.
//   Hazard:   a request to a block that an INSERT or REMOVE ahead of it may still write
//             waits until 9 cycles after that one's read.
//   Chains:   QUERY and REMOVE in a chain of n slots stop the pipeline for
//             ceil(n / PARALLEL) - 1 cycles.
//   Reset:    starts a clearing sweep of BLOCKS cycles with req_ready low. Requests in
//             flight are lost without a response, and so are the keys in the list.
//             With INIT there is no sweep: the first request may follow at once, and
//             the blocks keep what they hold, while the list is emptied. A CLEAR that
//             a reset interrupts is left half done.
//   Latency:  a request taken in cycle t is answered in cycle t + 11 at the earliest. One
//             access a cycle.
//   Parity:   a row that is read in cycle t raises parity_error in t + 2: no later than any
//             response that depends on it. It stays until reset: CLEAR mends the rows,
//             and leaves the pin.
//   Stall:    while rsp_valid is high and rsp_ready low everything holds.
//   Timing:   req_ready depends on registers and rsp_ready; all other outputs are
//             registers or functions of registers.
`default_nettype none

module membrane_tinyset #(
    parameter        BLOCKS    = 0,
    parameter        CHAINS    = 0,
    parameter        ARRAY     = 0,
    parameter        F_MAX     = 0,
    parameter        C_MAX     = 0,
    parameter        REMOVALS  = 0,
    parameter        CAM_DEPTH = 0,
    parameter        PARALLEL  = 8,
    parameter        KEY_W     = 0,
    parameter        TAG_W     = 8,
    parameter [63:0] SEED      = 64'h6d656d6272616e65,
    parameter        MIX       = 0,
    parameter        PARITY    = 0,
    parameter        INIT      = "",
    parameter        LEVEL_W   = (CAM_DEPTH > 0) ? $clog2(CAM_DEPTH + 1) : 1  // derived: leave it
) (
    input  wire               clk,
    input  wire               rst,
    input  wire               req_valid,
    output wire               req_ready,
    input  wire [        1:0] req_op,
    input  wire [  KEY_W-1:0] req_key,
    input  wire [  TAG_W-1:0] req_tag,
    output reg                rsp_valid,
    input  wire               rsp_ready,
    output reg                rsp_hit,
    output reg  [        1:0] rsp_status,
    output reg  [  TAG_W-1:0] rsp_tag,
    output wire               busy,
    output wire [LEVEL_W-1:0] level,
    output wire               parity_error
);

  generate
    if (BLOCKS < 2 || BLOCKS > 16777216) begin : g_rule_blocks
      membrane_error_BLOCKS_must_be_2_to_16777216 error ();
    end
    if (CHAINS < 2 || CHAINS > 128) begin : g_rule_chains
      membrane_error_CHAINS_must_be_2_to_128 error ();
    end
    if (ARRAY < 4 || ARRAY > 512) begin : g_rule_array
      membrane_error_ARRAY_must_be_4_to_512 error ();
    end
    if (F_MAX < 0 || F_MAX > 22) begin : g_rule_f_max
      membrane_error_F_MAX_must_be_0_to_22 error ();
    end
    if (C_MAX < 0 || C_MAX > 256) begin : g_rule_c_max
      membrane_error_C_MAX_must_be_0_to_256 error ();
    end
    if (REMOVALS < 0 || REMOVALS > 1) begin : g_rule_removals
      membrane_error_REMOVALS_must_be_0_to_1 error ();
    end
    if (CAM_DEPTH < 0 || CAM_DEPTH > 1024) begin : g_rule_cam_depth
      membrane_error_CAM_DEPTH_must_be_0_to_1024 error ();
    end
    if (PARALLEL < 2 || PARALLEL > 16) begin : g_rule_parallel
      membrane_error_PARALLEL_must_be_2_to_16 error ();
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
    if (F_MAX * F_MAX > ARRAY) begin : g_rule_root
      membrane_error_F_MAX_times_F_MAX_must_be_at_most_ARRAY error ();
    end
    if (C_MAX * 2 > ARRAY) begin : g_rule_slots
      membrane_error_C_MAX_times_2_must_be_at_most_ARRAY error ();
    end
  endgenerate

  localparam [1:0] OP_QUERY = 2'd0;
  localparam [1:0] OP_INSERT = 2'd1;
  localparam [1:0] OP_REMOVE = 2'd2;
  localparam [1:0] OP_CLEAR = 2'd3;
  localparam [1:0] STATUS_OK = 2'd0;
  localparam [1:0] STATUS_NOT_FOUND = 2'd1;
  localparam [1:0] STATUS_FULL = 2'd2;
  localparam [1:0] STATUS_UNSUPPORTED = 2'd3;
  localparam [2:0] KIND_NONE = 3'd0;
  localparam [2:0] KIND_READ = 3'd1;
  localparam [2:0] KIND_MODIFY = 3'd2;
  localparam [2:0] KIND_CLEAR = 3'd4;

  function integer root(input integer n);
    begin
      root = 1;
      while ((root + 1) * (root + 1) <= n) root = root + 1;
    end
  endfunction

  localparam LONGEST = (F_MAX == 0) ? root(ARRAY) : F_MAX;  // bits of a remainder
  localparam SLOTS = (C_MAX == 0) ? ARRAY / 2 : C_MAX;
  localparam SLOT_W = $clog2(SLOTS + 1);
  localparam S_W = $clog2(LONGEST + 1);
  localparam POS_W = $clog2(ARRAY + 1);
  localparam DROP_W = $clog2(LONGEST + 2);
  localparam RANK_W = $clog2(CHAINS + 1);
  localparam NEAR_W = $clog2(PARALLEL + 1);
  localparam OFF_W = $clog2(PARALLEL * LONGEST + 1);
  localparam WINDOW_W = PARALLEL * LONGEST;
  localparam BLOCK_W = CHAINS + ARRAY + ((REMOVALS != 0) ? SLOT_W : 0);
  localparam ROW_W = $clog2(BLOCKS);
  localparam ROW_F = ROW_W + (((1 << ROW_W) == BLOCKS) ? 0 : 8);
  localparam CHAIN_W = $clog2(CHAINS);
  localparam CHAIN_F = CHAIN_W + (((1 << CHAIN_W) == CHAINS) ? 0 : 8);
  localparam HASH_W = ROW_F + CHAIN_F + LONGEST;
  localparam LIST_W = (CAM_DEPTH > 0) ? KEY_W : 1;  // of the key, what goes down the pipeline
  localparam META_W = LIST_W + LONGEST + CHAIN_W + TAG_W + 2;
  localparam STAGES = 7;
  localparam [31:0] MOST = SLOTS;
  localparam [31:0] ABREAST = PARALLEL;

  // ---------------------------------------------------------------------------
  // s1: the hash. s2: block, chain and remainder, waiting for the memory.

  reg s1_valid, s2_valid;
  reg [1:0] s1_op, s2_op;
  reg [TAG_W-1:0] s1_tag, s2_tag;
  reg [LIST_W-1:0] s1_key, s2_key;
  reg [ROW_W-1:0] s2_row;
  reg [CHAIN_W-1:0] s2_chain;
  reg [LONGEST-1:0] s2_remainder;

  wire sweep;  // clearing after reset
  wire port_busy, op_ready, advance;
  wire op_take = s2_valid && op_ready;
  wire s2_free = !s2_valid || op_ready;
  wire s1_free = !s1_valid || s2_free;
  wire take = req_valid && req_ready;
  wire rsp_free = !rsp_valid || rsp_ready;

  assign req_ready = !sweep && s1_free;
  assign busy      = port_busy || s1_valid || s2_valid || rsp_valid;

  always @(posedge clk) begin
    if (rst) begin
      s1_valid <= 1'b0;
      s2_valid <= 1'b0;
    end else begin
      if (s1_free) s1_valid <= take;
      if (s2_free) s2_valid <= s1_valid;
    end
  end

  wire [ HASH_W-1:0] s1_hash;
  wire [  ROW_W-1:0] s1_row;
  wire [CHAIN_W-1:0] s1_chain;

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

  membrane_select #(
      .N(BLOCKS)
  ) select_row (
      .field(s1_hash[0+:ROW_F]),
      .index(s1_row)
  );

  membrane_select #(
      .N(CHAINS)
  ) select_chain (
      .field(s1_hash[ROW_F+:CHAIN_F]),
      .index(s1_chain)
  );

  always @(posedge clk) begin
    if (take) begin
      s1_op  <= req_op;
      s1_tag <= req_tag;
      s1_key <= req_key[LIST_W-1:0];
    end
    if (s2_free) begin
      s2_op        <= s1_op;
      s2_tag       <= s1_tag;
      s2_key       <= s1_key;
      s2_row       <= s1_row;
      s2_chain     <= s1_chain;
      s2_remainder <= s1_hash[ROW_F+CHAIN_F+:LONGEST];
    end
  end

  // ---------------------------------------------------------------------------
  // The memory. b0 holds the block read; b7 writes back.

  reg [2:0] s2_kind;

  always @* begin
    case (s2_op)
      OP_QUERY: s2_kind = KIND_READ;
      OP_INSERT: s2_kind = KIND_MODIFY;
      OP_REMOVE: s2_kind = (REMOVALS != 0) ? KIND_MODIFY : KIND_NONE;
      default: s2_kind = KIND_CLEAR;
    endcase
  end

  wire b0_valid, b7_valid;
  wire [META_W-1:0] b0_meta, b7_meta;
  wire [BLOCK_W-1:0] b0_block;
  reg b7_write;
  reg [BLOCK_W-1:0] b7_block;

  membrane_block_port #(
      .ROWS  (BLOCKS),
      .WIDTH (BLOCK_W),
      .STAGES(STAGES),
      .META_W(META_W),
      .MASKED(0),
      .PARITY(PARITY),
      .INIT  (INIT)
  ) port (
      .clk     (clk),
      .rst     (rst),
      .advance (advance),
      .op_valid(s2_valid),
      .op_ready(op_ready),
      .op_take (op_take),
      .op_kind (s2_kind),
      .op_row  (s2_row),
      .op_meta ({s2_key, s2_remainder, s2_chain, s2_tag, s2_op}),
      .op_wdata({BLOCK_W{1'b0}}),
      .op_wmask({BLOCK_W{1'b0}}),
      .rd_valid(b0_valid),
      .rd_meta (b0_meta),
      .rd_data (b0_block),
      .wb_valid(b7_valid),
      .wb_meta (b7_meta),
      .wb_write(b7_write),
      .wb_data (b7_block),
      .sweep   (sweep),
      .busy    (port_busy),

      .parity_error(parity_error)
  );

  // What travels along with every block.
  reg [5:1] b_valid;
  reg [1:0] b1_op, b2_op, b3_op, b4_op, b5_op, b6_op;
  reg [CHAIN_W-1:0] b1_chain, b2_chain, b3_chain, b4_chain, b5_chain, b6_chain;
  reg [LONGEST-1:0] b1_remainder, b2_remainder, b3_remainder, b4_remainder, b5_remainder, b6_remainder;
  reg [CHAINS-1:0] b1_index, b2_index, b3_index, b4_index, b5_index, b6_index;
  reg [ARRAY-1:0] b1_array, b2_array, b3_array, b4_array, b5_array, b6_array;
  reg [LIST_W-1:0] b1_key, b2_key, b3_key, b4_key, b5_key;

  always @(posedge clk) begin
    if (rst) b_valid <= 5'd0;
    else if (advance) b_valid <= {b_valid[4:1], b0_valid};
  end

  always @(posedge clk) begin
    if (advance) begin
      {b1_key, b1_remainder, b1_chain} <= b0_meta[META_W-1:TAG_W+2];
      b1_op    <= b0_meta[1:0];
      b1_index <= b0_block[0+:CHAINS];
      b1_array <= b0_block[CHAINS+:ARRAY];
      {b2_op, b2_chain, b2_remainder} <= {b1_op, b1_chain, b1_remainder};
      {b3_op, b3_chain, b3_remainder} <= {b2_op, b2_chain, b2_remainder};
      {b4_op, b4_chain, b4_remainder} <= {b3_op, b3_chain, b3_remainder};
      {b5_op, b5_chain, b5_remainder} <= {b4_op, b4_chain, b4_remainder};
      {b6_op, b6_chain, b6_remainder} <= {b5_op, b5_chain, b5_remainder};
      {b2_key, b2_index, b2_array} <= {b1_key, b1_index, b1_array};
      {b3_key, b3_index, b3_array} <= {b2_key, b2_index, b2_array};
      {b4_key, b4_index, b4_array} <= {b3_key, b3_index, b3_array};
      {b5_key, b5_index, b5_array} <= {b4_key, b4_index, b4_array};
      {b6_index, b6_array} <= {b5_index, b5_array};
    end
  end

  // ---------------------------------------------------------------------------
  // b0: rank in the index.

  wire [RANK_W-1:0] b0_ones, b0_rank;
  wire b0_present;
  reg [RANK_W-1:0] b1_ones, b1_rank, b1_next;
  reg b1_present, b2_present, b3_present, b4_present, b5_present, b6_present;

  membrane_tinyset_rank #(
      .CHAINS(CHAINS)
  ) rank_unit (
      .index  (b0_block[0+:CHAINS]),
      .chain  (b0_meta[TAG_W+2+:CHAIN_W]),
      .ones   (b0_ones),
      .rank   (b0_rank),
      .present(b0_present)
  );

  always @(posedge clk) begin
    if (advance) begin
      b1_ones    <= b0_ones;
      b1_rank    <= b0_rank;
      b1_next    <= b0_rank + {{(RANK_W - 1) {1'b0}}, b0_present};
      b1_present <= b0_present;
      {b6_present, b5_present, b4_present, b3_present, b2_present} <=
          {b5_present, b4_present, b3_present, b2_present, b1_present};
    end
  end

  // ---------------------------------------------------------------------------
  // b1: select in the last bits. The chain is slots start to end - 1; live slots are in use,
  // of the slots that the block is laid out for.

  wire [SLOT_W-1:0] b1_live, b1_start, b1_end;
  wire [SLOT_W-1:0] b1_slots;
  reg [SLOT_W-1:0] b2_live, b2_start, b2_end, b2_slots;

  membrane_tinyset_select #(
      .WIDTH(SLOTS),
      .N_W  (RANK_W)
  ) select_live (
      .bits (b1_array[SLOTS-1:0]),
      .n    (b1_ones),
      .after(b1_live)
  );

  membrane_tinyset_select #(
      .WIDTH(SLOTS),
      .N_W  (RANK_W)
  ) select_start (
      .bits (b1_array[SLOTS-1:0]),
      .n    (b1_rank),
      .after(b1_start)
  );

  membrane_tinyset_select #(
      .WIDTH(SLOTS),
      .N_W  (RANK_W)
  ) select_end (
      .bits (b1_array[SLOTS-1:0]),
      .n    (b1_next),
      .after(b1_end)
  );

  generate
    if (REMOVALS != 0) begin : g_counted
      reg [SLOT_W-1:0] count;
      always @(posedge clk) if (advance) count <= b0_block[CHAINS+ARRAY+:SLOT_W];
      assign b1_slots = count;
    end else begin : g_implicit
      assign b1_slots = b1_live;
    end
  endgenerate

  always @(posedge clk) begin
    if (advance) begin
      b2_live  <= b1_live;
      b2_start <= b1_start;
      b2_end   <= b1_end;
      b2_slots <= b1_slots;
    end
  end

  // ---------------------------------------------------------------------------
  // b2: the geometry of the block as it is, and as an insert makes it.

  wire b2_grows = b2_live == b2_slots;
  wire [SLOT_W-1:0] b2_new_slots = b2_slots + {{(SLOT_W - 1) {1'b0}}, b2_grows};
  wire [S_W-1:0] b2_s, b2_new_s;
  wire [SLOT_W-1:0] b2_extended, b2_new_extended;
  reg b3_full, b4_full, b5_full;  // an insert would need a slot more than there may be
  reg b3_grows;
  reg [SLOT_W-1:0] b3_start, b3_end, b3_slots, b3_new_slots, b3_extended, b3_new_extended;
  reg [S_W-1:0] b3_s, b3_new_s;

  membrane_tinyset_geometry #(
      .ARRAY(ARRAY),
      .F_MAX(LONGEST),
      .C_MAX(SLOTS)
  ) geometry_unit (
      .slots   (b2_slots),
      .s       (b2_s),
      .extended(b2_extended)
  );

  membrane_tinyset_geometry #(
      .ARRAY(ARRAY),
      .F_MAX(LONGEST),
      .C_MAX(SLOTS)
  ) new_geometry_unit (
      .slots   (b2_new_slots),
      .s       (b2_new_s),
      .extended(b2_new_extended)
  );

  always @(posedge clk) begin
    if (advance) begin
      b3_full         <= b2_grows && b2_slots == MOST[SLOT_W-1:0];
      b3_grows        <= b2_grows;
      b3_start        <= b2_start;
      b3_end          <= b2_end;
      b3_slots        <= b2_slots;
      b3_new_slots    <= b2_new_slots;
      b3_s            <= b2_s;
      b3_new_s        <= b2_new_s;
      b3_extended     <= b2_extended;
      b3_new_extended <= b2_new_extended;
    end
  end

  // ---------------------------------------------------------------------------
  // b3: positions. Slot i begins at C + i * s + min(i, extended).

  function [POS_W-1:0] wide(input [SLOT_W-1:0] slot);
    wide = {{(POS_W - SLOT_W) {1'b0}}, slot};
  endfunction

  function [POS_W-1:0] begins(input [SLOT_W-1:0] c, input [SLOT_W-1:0] i, input [S_W-1:0] s,
                              input [SLOT_W-1:0] extended);
    begins = wide(c) + wide(i) * {{(POS_W - S_W) {1'b0}}, s} + wide((i < extended) ? i : extended);
  endfunction

  wire b3_same = b3_s == b3_new_s;
  wire b3_new_long = b3_start < b3_new_extended;
  // Old slots from cut on are, or end up, behind the extended slots of the new layout.
  wire [SLOT_W-1:0] b3_cut = b3_new_extended - {{(SLOT_W - 1) {1'b0}}, b3_new_long};
  wire [SLOT_W-1:0] b3_near = b3_same ? b3_extended - b3_cut : b3_extended;
  wire [SLOT_W-1:0] b3_far = b3_same ? {SLOT_W{1'b0}} : b3_slots - b3_cut;
  wire [POS_W-1:0] b3_cut_at = begins(b3_slots, b3_cut, b3_s, b3_extended);
  wire [POS_W-1:0] b3_edge = begins(b3_slots, b3_extended, b3_s, b3_extended);
  wire [POS_W-1:0] b3_stride = {{(POS_W - S_W) {1'b0}}, b3_s};

  reg [POS_W-1:0] b4_pos, b4_at, b4_near_first, b4_far_base, b4_edge;
  reg [DROP_W-1:0] b4_near, b4_far;
  reg [S_W-1:0] b4_s, b4_width;
  reg b4_freed;
  reg [SLOT_W-1:0] b4_start, b4_end, b4_slots, b4_new_slots, b4_extended;

  always @(posedge clk) begin
    if (advance) begin
      b4_full       <= b3_full;
      b4_pos        <= begins(b3_slots, b3_start, b3_s, b3_extended);
      b4_at         <= begins(b3_new_slots, b3_start, b3_new_s, b3_new_extended);
      b4_width      <= b3_new_s + {{(S_W - 1) {1'b0}}, b3_new_long};
      b4_near       <= b3_near_count;
      b4_far        <= b3_far_count;
      b4_near_first <= (b3_same ? b3_cut_at : wide(b3_slots)) + b3_stride;
      b4_far_base   <= b3_cut_at + b3_stride - 1'b1 - (b3_edge - wide(b3_slots) - wide(b3_extended));
      b4_edge       <= b3_edge;
      b4_freed      <= !b3_grows;
      b4_s          <= b3_s;
      b4_start      <= b3_start;
      b4_end        <= b3_end;
      b4_slots      <= b3_slots;
      b4_new_slots  <= b3_new_slots;
      b4_extended   <= b3_extended;
    end
  end

  // At most LONGEST + 1 bits are dropped.
  wire [DROP_W-1:0] b3_near_count, b3_far_count;
  generate
    if (SLOT_W >= DROP_W) begin : g_cut_counts
      assign b3_near_count = b3_near[DROP_W-1:0];
      assign b3_far_count  = b3_far[DROP_W-1:0];
      if (SLOT_W > DROP_W) begin : g_spare
        wire unused = &{1'b0, b3_near[SLOT_W-1:DROP_W], b3_far[SLOT_W-1:DROP_W]};
      end
    end else begin : g_widen_counts
      assign b3_near_count = {{(DROP_W - SLOT_W) {1'b0}}, b3_near};
      assign b3_far_count  = {{(DROP_W - SLOT_W) {1'b0}}, b3_far};
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // b4: the fingerprints of the chain, moved to bit 0, and the bits that an insert drops.
  // While b5 needs another window of a long chain, b4 makes that instead.

  wire more;
  wire [ARRAY-1:0] b4_drop;
  wire [POS_W-1:0] b5_next_pos;
  wire [ARRAY-1:0] b4_shifted = (more ? b5_array : b4_array) >> (more ? b5_next_pos : b4_pos);
  wire [ARRAY+WINDOW_W-1:0] b4_window = {{WINDOW_W{1'b0}}, b4_shifted};

  membrane_tinyset_drops #(
      .ARRAY(ARRAY),
      .F_MAX(LONGEST)
  ) drops_unit (
      .near_count(b4_near),
      .near_first(b4_near_first),
      .far_count (b4_far),
      .far_base  (b4_far_base),
      .s         (b4_s),
      .freed     (b4_freed),
      .freed_at  (wide(b4_slots) - 1'b1),
      .drop      (b4_drop)
  );

  reg [ARRAY-1:0] b5_drop;
  reg [WINDOW_W-1:0] b5_window;
  reg [POS_W-1:0] b5_pos, b5_at, b5_edge;
  reg [S_W-1:0] b5_s, b5_width;
  reg [SLOT_W-1:0] b5_start, b5_end, b5_slots, b5_new_slots, b5_extended;
  reg [SLOT_W-1:0] b5_slot;  // first of the window
  reg b5_found, b5_certain, b5_best_long;  // in the windows before
  reg [POS_W-1:0] b5_best_at;

  always @(posedge clk) begin
    if (advance) begin
      b5_full      <= b4_full;
      b5_drop      <= b4_drop;
      b5_at        <= b4_at;
      b5_edge      <= b4_edge;
      b5_s         <= b4_s;
      b5_width     <= b4_width;
      b5_start     <= b4_start;
      b5_end       <= b4_end;
      b5_slots     <= b4_slots;
      b5_new_slots <= b4_new_slots;
      b5_extended  <= b4_extended;
    end
    if (advance || more) b5_window <= b4_window[WINDOW_W-1:0];
    if (advance) begin
      b5_slot    <= b4_start;
      b5_pos     <= b4_pos;
      b5_found   <= 1'b0;
      b5_certain <= 1'b0;
    end else if (more) begin
      b5_slot      <= b5_slot + ABREAST[SLOT_W-1:0];
      b5_pos       <= b5_next_pos;
      b5_found     <= found;
      b5_certain   <= certain;
      b5_best_at   <= best_at;
      b5_best_long <= best_long;
    end
  end

  // ---------------------------------------------------------------------------
  // b5: compare; overflow list; how far each bit moves.

  // min(n, PARALLEL)
  function [NEAR_W-1:0] at_most(input [31:0] n);
    at_most = (n > ABREAST) ? ABREAST[NEAR_W-1:0] : n[NEAR_W-1:0];
  endfunction

  wire [SLOT_W-1:0] b5_left = b5_end - b5_slot;
  wire [SLOT_W-1:0] b5_long = (b5_slot < b5_extended) ? b5_extended - b5_slot : {SLOT_W{1'b0}};
  wire b5_searches = b5_op == OP_QUERY || (b5_op == OP_REMOVE && REMOVALS != 0);
  wire [NEAR_W-1:0] window_long = at_most({{(32 - SLOT_W) {1'b0}}, b5_long});
  wire window_hit, window_certain;
  wire [NEAR_W-1:0] window_slot;
  wire [OFF_W-1:0] window_start, window_length;

  assign more = b_valid[5] && b5_searches && {{(32 - SLOT_W) {1'b0}}, b5_left} > ABREAST;

  membrane_tinyset_match #(
      .F_MAX   (LONGEST),
      .PARALLEL(PARALLEL),
      .REMOVALS(REMOVALS)
  ) match_unit (
      .window   (b5_window),
      .s        (b5_s),
      .extended (window_long),
      .used     (at_most({{(32 - SLOT_W) {1'b0}}, b5_left})),
      .remainder(b5_remainder),
      .hit      (window_hit),
      .certain  (window_certain),
      .slot     (window_slot),
      .start    (window_start),
      .length   (window_length)
  );

  // A position in the array is at most ARRAY: what the sums lose here is never needed.
  wire [POS_W+OFF_W-1:0] next_pos = {{OFF_W{1'b0}}, b5_pos} + {{POS_W{1'b0}}, window_length};
  wire [POS_W+OFF_W-1:0] match_pos = {{OFF_W{1'b0}}, b5_pos} + {{POS_W{1'b0}}, window_start};

  assign b5_next_pos = next_pos[POS_W-1:0];

  wire keep = b5_certain || (b5_found && !window_certain);
  wire found = b5_found || window_hit;
  wire certain = b5_certain || window_certain;
  wire [POS_W-1:0] best_at = keep ? b5_best_at : match_pos[POS_W-1:0];
  wire best_long = keep ? b5_best_long : window_slot < window_long;

  wire b5_leaves = advance && b_valid[5];
  wire list_hit, list_full;

  generate
    if (CAM_DEPTH > 0) begin : g_list
      membrane_cam #(
          .DEPTH(CAM_DEPTH),
          .KEY_W(KEY_W)
      ) list (
          .clk   (clk),
          .rst   (rst),
          .key   (b5_key),
          .hit   (list_hit),
          .insert(b5_leaves && b5_op == OP_INSERT && b5_full),
          .remove(b5_leaves && b5_op == OP_REMOVE && REMOVALS != 0),
          .clear (b5_leaves && b5_op == OP_CLEAR),
          .full  (list_full),
          .level (level)
      );
    end else begin : g_no_list
      assign list_hit  = 1'b0;
      assign list_full = 1'b1;
      assign level     = 1'b0;

      wire unused = &{1'b0, b5_key, b5_leaves, OP_CLEAR};
    end
  endgenerate

  reg b5_write;
  reg [1:0] b5_status;

  always @* begin
    b5_write  = 1'b0;
    b5_status = STATUS_OK;
    case (b5_op)
      OP_INSERT: begin
        b5_write = !b5_full;
        // The list holds a key once: with removals a second one is refused.
        if (b5_full && (list_hit ? REMOVALS != 0 : list_full)) b5_status = STATUS_FULL;
      end
      OP_REMOVE: begin
        if (REMOVALS == 0) b5_status = STATUS_UNSUPPORTED;
        else if (!list_hit) begin
          b5_write = found;
          if (!found) b5_status = STATUS_NOT_FOUND;
        end
      end
      default: ;
    endcase
  end

  wire [DROP_W*ARRAY-1:0] b5_sums;

  membrane_tinyset_sums #(
      .ARRAY(ARRAY),
      .SUM_W(DROP_W)
  ) sums_unit (
      .drop(b5_drop),
      .sums(b5_sums)
  );

  reg b6_write, b6_hit, b6_pad, b6_alone;
  reg [1:0] b6_status;
  reg [ARRAY-1:0] b6_drop;
  reg [DROP_W*ARRAY-1:0] b6_sums;
  reg [POS_W-1:0] b6_at, b6_edge;
  reg [S_W-1:0] b6_width;
  reg [SLOT_W-1:0] b6_start, b6_slots, b6_new_slots;

  wire b5_removes = b5_op == OP_REMOVE;

  always @(posedge clk) begin
    if (advance) begin
      b6_write     <= b5_write;
      b6_status    <= b5_status;
      b6_hit       <= b5_op == OP_QUERY && (found || list_hit);
      b6_drop      <= b5_drop;
      b6_sums      <= b5_sums;
      b6_at        <= b5_removes ? best_at : b5_at;
      b6_width     <= b5_removes ? b5_s + {{(S_W - 1) {1'b0}}, best_long} : b5_width;
      b6_pad       <= best_long;
      b6_edge      <= b5_edge;
      b6_start     <= b5_start;
      b6_slots     <= b5_slots;
      b6_new_slots <= b5_new_slots;
      b6_alone     <= b5_end - b5_start == {{(SLOT_W - 1) {1'b0}}, 1'b1};
    end
  end

  // ---------------------------------------------------------------------------
  // b6: the new block.

  wire [CHAINS-1:0] b6_chain_bit = {{(CHAINS - 1) {1'b0}}, 1'b1} << b6_chain;
  wire [ARRAY-1:0] b6_packed;
  wire [BLOCK_W-1:0] b6_block;

  membrane_tinyset_repack #(
      .ARRAY(ARRAY),
      .F_MAX(LONGEST),
      .SUM_W(DROP_W)
  ) repack_unit (
      .array       (b6_array),
      .drop        (b6_drop),
      .sums        (b6_sums),
      .slot        (wide(b6_start)),
      .last        (!b6_present),
      .at          (b6_at),
      .width       (b6_width),
      .remainder   (b6_remainder),
      .packed_array(b6_packed)
  );

  generate
    if (REMOVALS != 0) begin : g_removals
      wire [ARRAY-1:0] unpacked;
      wire removes = b6_op == OP_REMOVE;

      membrane_tinyset_unpack #(
          .ARRAY(ARRAY),
          .F_MAX(LONGEST),
          .C_MAX(SLOTS)
      ) unpack_unit (
          .array (b6_array),
          .slots (b6_slots),
          .first (b6_start),
          .at    (b6_at),
          .width (b6_width),
          .pad   (b6_pad),
          .pad_at(b6_edge - 1'b1),
          .left  (unpacked)
      );

      assign b6_block = removes ?
          {b6_slots, unpacked, b6_index & ~(b6_alone ? b6_chain_bit : {CHAINS{1'b0}})} :
          {b6_new_slots, b6_packed, b6_index | b6_chain_bit};
    end else begin : g_no_removals
      assign b6_block = {b6_packed, b6_index | b6_chain_bit};

      wire unused = &{1'b0, b6_op, b6_pad, b6_edge, b6_slots, b6_new_slots, b6_alone};
    end
  endgenerate

  reg b7_hit;
  reg [1:0] b7_status;

  always @(posedge clk) begin
    if (advance) begin
      b7_write  <= b6_write;
      b7_hit    <= b6_hit;
      b7_status <= b6_status;
      b7_block  <= b6_block;
    end
  end

  // ---------------------------------------------------------------------------
  // Response.

  assign advance = rsp_free && !more;

  always @(posedge clk) begin
    if (rst) rsp_valid <= 1'b0;
    else if (rsp_free) rsp_valid <= advance && b7_valid;
  end

  always @(posedge clk) begin
    if (rst) begin
      rsp_hit    <= 1'b0;
      rsp_status <= STATUS_OK;
      rsp_tag    <= {TAG_W{1'b0}};
    end else if (advance && b7_valid) begin
      rsp_hit    <= b7_hit;
      rsp_status <= b7_status;
      rsp_tag    <= b7_meta[2+:TAG_W];
    end
  end

  wire unused = &{
    1'b0,
    b0_meta[TAG_W+1:2],
    b7_meta[META_W-1:TAG_W+2],
    b7_meta[1:0],
    b4_window[ARRAY+WINDOW_W-1:WINDOW_W],
    next_pos[POS_W+OFF_W-1:POS_W],
    match_pos[POS_W+OFF_W-1:POS_W]
  };

endmodule

`default_nettype wire

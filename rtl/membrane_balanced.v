// Balanced Bloom filter: blocks of BLOCK_W bits that count their keys, and send
// those that are too many to another block or to an overflow list.
//
// Parameters
//   SCHEME    0 single: one choice. 1 sequential: D choices in one memory, read one
//             after another. 2 multilevel: D memories of falling size, one choice
//             in each, read at the same time
//   D         choices of a key
//   ROWS      blocks of the (first) memory
//   Q         multilevel: each memory has Q / 65536 of the blocks of the one before,
//             rounded to nearest, at least 2
//   BLOCK_W   filter bits of a block; a row is these and a count of clog2(H+2) bits
//   HASHES    bits that a key sets in a block
//   H         keys that a block takes in any case
//   P         chance that a block of H keys takes one more, times 65536
//   ACCESS_BUDGET  block reads of all inserts between two clears; 0: any number
//   CAM_DEPTH entries of the overflow list; 0: none
//   KEY_W     bits of a key
//   TAG_W     bits of a tag
//   SEED      seed of the hash
//   MIX       rounds that mix the key before it is hashed
//   PARITY    1: every row has a parity bit on top, above the count
//   INIT      "" or a prefix of memory images: memory i starts from <INIT><i>.hex,
//             and reset clears nothing
//
// Ports
//   req_*     requests: op 0 QUERY, 1 INSERT, 2 REMOVE, 3 CLEAR
//   rsp_*     responses, in the order of the requests
//   busy      clearing, or requests in flight; when low, all rows are written
//   level     entries in the overflow list
//   parity_error  PARITY=1: a row with wrong parity was read since reset. Else low
//
// Behaviour
//   Order:    responses are those of executing the requests one after another.
//   QUERY:    rsp_hit: maybe present. Looks at one choice after another until one
//             has all bits or fewer than H keys, and at the list.
//   INSERT:   goes to the first choice that takes it, else to the list; status OK.
//             A key in the list stays there once. If the list is full: status FULL,
//             nothing changed. When the budget is spent, no block is looked at. rsp_hit:
//             a block that was looked at had all bits, or the list the key.
//             A key that is inserted twice into a block counts twice.
//   REMOVE:   status UNSUPPORTED, no effect.
//   CLEAR:    waits for what is ahead of it, writes zeros to one row a cycle,
//             empties the list, renews the budget, answers OK. Requests wait.
//   Reset:    starts a clearing sweep of ROWS cycles with req_ready low. Requests
//             in flight are lost without a response, and so are the keys in the list.
//             With INIT there is no sweep: the first request may follow at once, and
//             the blocks keep what they hold, while the list is emptied and the budget
//             renewed. A CLEAR that a reset interrupts is left half done; INSERTs are
//             in the blocks when busy is low.
//   Latency:  a request taken in cycle t is answered in cycle t + 4 at the
//             earliest; sequential: one cycle more for each choice after the first.
//   Rate:     one query per cycle; an insert takes one cycle more for its write
//             (in another memory than the first, it takes none most of the time).
//             Sequential: one cycle more for each choice after the first. Operations on
//             the same block cost nothing more.
//   Parity:   a row that is read in cycle t raises parity_error in t + 2: no later than any
//             response that depends on it. It stays until reset: CLEAR mends the rows,
//             and leaves the pin.
//   Stall:    while rsp_valid is high and rsp_ready low the response holds;
//             requests are taken until the pipeline is full.
//   Timing:   req_ready depends on registers (memory outputs among them) and
//             rsp_ready; all other outputs are registers or functions of registers.
`default_nettype none

module membrane_balanced #(
    parameter        SCHEME        = 0,
    parameter        D             = 1,
    parameter        ROWS          = 0,
    parameter        Q             = 11195,
    parameter        BLOCK_W       = 0,
    parameter        HASHES        = 0,
    parameter        H             = 0,
    parameter        P             = 0,
    parameter        ACCESS_BUDGET = 0,
    parameter        CAM_DEPTH     = -1,
    parameter        KEY_W         = 0,
    parameter        TAG_W         = 8,
    parameter [63:0] SEED          = 64'h6d656d6272616e65,
    parameter        MIX           = 0,
    parameter        PARITY        = 0,
    parameter        INIT          = "",
    parameter        LEVEL_W       = (CAM_DEPTH > 0) ? $clog2(CAM_DEPTH + 1) : 1  // derived
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
    if (SCHEME < 0 || SCHEME > 2) begin : g_rule_scheme
      membrane_error_SCHEME_must_be_0_to_2 error ();
    end
    if (D < 1 || D > 4) begin : g_rule_d
      membrane_error_D_must_be_1_to_4 error ();
    end
    if (ROWS < 2 || ROWS > 16777216) begin : g_rule_rows
      membrane_error_ROWS_must_be_2_to_16777216 error ();
    end
    if (Q < 1 || Q > 65536) begin : g_rule_q
      membrane_error_Q_must_be_1_to_65536 error ();
    end
    if (BLOCK_W < 4 || BLOCK_W > 512) begin : g_rule_block_w
      membrane_error_BLOCK_W_must_be_4_to_512 error ();
    end
    if (HASHES < 1 || HASHES > 64) begin : g_rule_hashes
      membrane_error_HASHES_must_be_1_to_64 error ();
    end
    if (H < 1 || H > 254) begin : g_rule_h
      membrane_error_H_must_be_1_to_254 error ();
    end
    if (P < 0 || P > 65535) begin : g_rule_p
      membrane_error_P_must_be_0_to_65535 error ();
    end
    if (ACCESS_BUDGET < 0 || ACCESS_BUDGET > 1073741824) begin : g_rule_budget
      membrane_error_ACCESS_BUDGET_must_be_0_to_1073741824 error ();
    end
    if (CAM_DEPTH < 0 || CAM_DEPTH > 1024) begin : g_rule_cam_depth
      membrane_error_CAM_DEPTH_must_be_0_to_1024 error ();
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
    if (SCHEME == 0 && D != 1) begin : g_rule_single
      membrane_error_D_must_be_1_with_SCHEME_single error ();
    end
    if (ROWS > 1073741824 / BLOCK_W) begin : g_rule_bits
      membrane_error_ROWS_times_BLOCK_W_must_be_at_most_1073741824 error ();
    end
  endgenerate

  localparam [1:0] OP_QUERY = 2'd0;
  localparam [1:0] OP_INSERT = 2'd1;
  localparam [1:0] OP_REMOVE = 2'd2;
  localparam [1:0] OP_CLEAR = 2'd3;
  localparam [1:0] STATUS_OK = 2'd0;
  localparam [1:0] STATUS_FULL = 2'd2;
  localparam [1:0] STATUS_UNSUPPORTED = 2'd3;

  localparam LEVELS = (SCHEME == 2) ? D : 1;  // memories
  localparam TURNS = (SCHEME == 1) ? D : 1;  // choices read one after another
  localparam TURN_W = (TURNS > 1) ? $clog2(TURNS) : 1;
  localparam PROBE_W = 3;  // counts 0 to D
  localparam ROW_W = $clog2(ROWS);
  localparam BIT_W = $clog2(BLOCK_W);
  localparam BIT_FW = BIT_W + (((1 << BIT_W) == BLOCK_W) ? 0 : 8);
  localparam INDEX_W = HASHES * BIT_W;
  localparam [31:0] FIRST_ROWS = ROWS;
  localparam [31:0] FACTOR = Q;
  localparam [31:0] LAST_ROW = ROWS - 1;
  localparam [31:0] LAST_TURN = TURNS - 1;

  // Blocks of memory i.
  function integer rows_of(input integer i);
    reg [63:0] rows;
    integer l;
    begin
      rows = {32'd0, FIRST_ROWS};
      for (l = 0; l < i; l = l + 1) begin
        rows = (rows * {32'd0, FACTOR} + 64'd32768) >> 16;
        if (rows < 2) rows = 2;
      end
      rows_of = rows[31:0];
    end
  endfunction

  // Hash bits of the choices before choice i.
  function integer lsb_of(input integer i);
    integer c, rows, bits;
    begin
      lsb_of = 0;
      for (c = 0; c < i; c = c + 1) begin
        rows   = rows_of((SCHEME == 2) ? c : 0);
        bits   = $clog2(rows);
        lsb_of = lsb_of + bits + (((1 << bits) == rows) ? 0 : 8) + HASHES * BIT_FW + 16;
      end
    end
  endfunction

  localparam HASH_W = lsb_of(D);

  // ---------------------------------------------------------------------------
  // Flow: a stage moves on when the next one is free or moves on itself.
  // s1 holds the hash, s2 rows and bits and reads the memories, s3 decides on
  // what they gave. Rows that s3 changed wait in a register of their level.

  reg sweep;  // clearing after reset
  reg s1_valid, s2_valid, s3_valid;
  reg [1:0] s1_op, s2_op, s3_op;
  reg [TAG_W-1:0] s1_tag, s2_tag, s3_tag;
  reg [KEY_W-1:0] s1_key, s2_key, s3_key;
  reg  [ ROW_W-1:0] row;  // of a sweep or CLEAR

  wire [LEVELS-1:0] pending;  // a changed row waits
  wire [LEVELS-1:0] update;  // s3 changes a row
  wire              s3_more;  // s3 has another choice to read
  wire              budget;  // inserts may read blocks

  wire row_last = row == LAST_ROW[ROW_W-1:0];
  wire s2_needs = (s2_op == OP_QUERY) || (s2_op == OP_INSERT && budget);

  wire rsp_free = !rsp_valid || rsp_ready;
  wire s3_done = s3_valid && !s3_more && rsp_free;
  wire s3_free = !s3_valid || s3_done;
  wire s2_reads = s2_valid && s2_needs && s3_free;

  // The first level writes at once. The others wait until it does, until nobody
  // reads, or until the next change needs the register.
  wire write = pending[0] || (|(pending & update)) || ((|pending) && !s2_reads && !s3_more);
  wire read = (s2_reads || s3_more) && !write;
  wire s3_next = s3_more && !write;

  wire clearing = sweep || (s2_valid && s2_op == OP_CLEAR && !s3_valid && !(|pending));
  wire s2_ready = (s2_op == OP_CLEAR) ? clearing && row_last : !(s2_needs && write);
  wire s2_move = s2_valid && s3_free && s2_ready;
  wire s2_free = !s2_valid || s2_move;
  wire s1_free = !s1_valid || s2_free;

  assign req_ready = !sweep && s1_free;
  assign busy      = sweep || s1_valid || s2_valid || s3_valid || rsp_valid;

  wire take = req_valid && req_ready;

  always @(posedge clk) begin
    if (rst) begin
      s1_valid  <= 1'b0;
      s2_valid  <= 1'b0;
      s3_valid  <= 1'b0;
      rsp_valid <= 1'b0;
    end else begin
      if (s1_free) s1_valid <= take;
      if (s2_free) s2_valid <= s1_valid;
      if (s3_free) s3_valid <= s2_move;
      if (rsp_free) rsp_valid <= s3_done;
    end
  end

  always @(posedge clk) begin
    if (take) begin
      s1_op  <= req_op;
      s1_tag <= req_tag;
      s1_key <= req_key;
    end
    if (s2_free) begin
      s2_op  <= s1_op;
      s2_tag <= s1_tag;
      s2_key <= s1_key;
    end
    if (s3_free) begin
      s3_op  <= s2_op;
      s3_tag <= s2_tag;
      s3_key <= s2_key;
    end
  end

  // Sweep and CLEAR share the row counter: neither starts before the other ends.
  always @(posedge clk) begin
    if (rst) begin
      sweep <= (INIT == "");
      row   <= {ROW_W{1'b0}};
    end else if (clearing) begin
      if (row_last) sweep <= 1'b0;
      row <= row_last ? {ROW_W{1'b0}} : row + 1'b1;
    end
  end

  // ---------------------------------------------------------------------------
  // s1: hash. It feeds the choices in the levels.

  wire [HASH_W-1:0] s1_hash;

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

  // ---------------------------------------------------------------------------
  // s2 and s3: the levels, all read in the same cycle.

  wire [LEVELS-1:0] hit;  // all bits of the key are set
  wire [LEVELS-1:0] low;  // fewer than H keys
  wire [LEVELS-1:0] accept;  // the block would take the key
  wire [LEVELS-1:0] bad;  // the row read has wrong parity

  genvar l, c;
  generate
    for (l = 0; l < LEVELS; l = l + 1) begin : g_level
      localparam L_ROWS = rows_of(l);
      localparam L_ROW_W = $clog2(L_ROWS);
      localparam [31:0] L_LAST_ROW = L_ROWS - 1;

      // The choices in this level, the one to read next lowest.
      wire [TURNS*L_ROW_W-1:0] s1_row;
      wire [TURNS*INDEX_W-1:0] s1_index;
      wire [TURNS-1:0] s1_coin;
      reg [TURNS*L_ROW_W-1:0] s2_row, s3_row;
      reg [TURNS*INDEX_W-1:0] s2_index;
      reg [TURNS-1:0] s2_coin, s3_coin;
      reg  [BLOCK_W-1:0] s3_mask;  // of the choice read last
      reg  [BLOCK_W-1:0] mask;
      wire [INDEX_W-1:0] index;
      wire [L_ROW_W-1:0] read_row;
      wire               at_h;

      for (c = 0; c < TURNS; c = c + 1) begin : g_choice
        localparam LSB = lsb_of(l + c);

        membrane_balanced_choice #(
            .ROWS   (L_ROWS),
            .BLOCK_W(BLOCK_W),
            .HASHES (HASHES),
            .P      (P)
        ) choice (
            .field(s1_hash[LSB+:lsb_of(l+c+1)-LSB]),
            .row  (s1_row[c*L_ROW_W+:L_ROW_W]),
            .index(s1_index[c*INDEX_W+:INDEX_W]),
            .coin (s1_coin[c])
        );
      end

      always @(posedge clk) begin
        if (s2_free) begin
          s2_row   <= s1_row;
          s2_index <= s1_index;
          s2_coin  <= s1_coin;
        end
        if (s2_move) begin
          s3_row  <= s2_row;
          s3_coin <= s2_coin;
        end else if (s3_next) begin
          s3_row  <= s3_row >> L_ROW_W;
          s3_coin <= s3_coin >> 1;
        end
        if (s2_move || s3_next) s3_mask <= mask;
      end

      if (TURNS > 1) begin : g_turns
        // The bits of the choices that s3 has yet to read.
        reg [(TURNS-1)*INDEX_W-1:0] s3_index;
        always @(posedge clk) begin
          if (s2_move) s3_index <= s2_index[TURNS*INDEX_W-1:INDEX_W];
          else if (s3_next) s3_index <= s3_index >> INDEX_W;
        end
        assign index    = s3_more ? s3_index[INDEX_W-1:0] : s2_index[INDEX_W-1:0];
        assign read_row = s3_more ? s3_row[L_ROW_W+:L_ROW_W] : s2_row[L_ROW_W-1:0];
      end else begin : g_turn
        assign index    = s2_index;
        assign read_row = s2_row;
      end

      always @* begin : decode
        integer i;
        mask = {BLOCK_W{1'b0}};
        for (i = 0; i < HASHES; i = i + 1) mask[index[i*BIT_W+:BIT_W]] = 1'b1;
      end

      assign accept[l] = low[l] || (at_h && s3_coin[0]);

      // A smaller level is done with its sweep earlier.
      wire in_level;
      if (L_ROWS == ROWS) begin : g_first
        assign in_level = 1'b1;
      end else begin : g_smaller
        assign in_level = row <= L_LAST_ROW[ROW_W-1:0];
      end

      membrane_balanced_level #(
          .ROWS   (L_ROWS),
          .BLOCK_W(BLOCK_W),
          .H      (H),
          .PARITY (PARITY),
          .INIT   (INIT),
          .INDEX  (l)
      ) blocks (
          .clk      (clk),
          .rst      (rst),
          .clear    (clearing),
          .clear_en (clearing && in_level),
          .clear_row(row[L_ROW_W-1:0]),
          .write    (write),
          .read     (read),
          .read_row (read_row),
          .row      (s3_row[L_ROW_W-1:0]),
          .mask     (s3_mask),
          .hit      (hit[l]),
          .below_h  (low[l]),
          .at_h     (at_h),
          .update   (update[l] && s3_done),
          .pending  (pending[l]),
          .bad      (bad[l])
      );
    end

    if (PARITY != 0) begin : g_parity
      membrane_parity parity (
          .clk  (clk),
          .rst  (rst),
          .read (read),
          .bad  (|bad),
          .error(parity_error)
      );
    end else begin : g_no_parity
      assign parity_error = 1'b0;

      wire unused = &{1'b0, bad};
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // s3: the decision.

  wire s3_query = s3_op == OP_QUERY;
  wire s3_insert = s3_op == OP_INSERT;

  wire [LEVELS-1:0] allowed;  // the budget is enough to look at this level
  wire allowed_next;  // and at the next choice of a sequential insert
  reg [LEVELS-1:0] look;  // a query gets to this level
  reg [LEVELS-1:0] reach;  // an insert gets to this level

  always @* begin : walk
    integer i;
    look     = {LEVELS{1'b1}};
    reach    = allowed;
    for (i = 1; i < LEVELS; i = i + 1) begin
      look[i]  = look[i-1] && !low[i-1];
      reach[i] = reach[i-1] && allowed[i] && !accept[i-1];
    end
  end

  wire [LEVELS-1:0] place = reach & accept;
  assign update = (s3_valid && s3_insert && !s3_more) ? place : {LEVELS{1'b0}};

  wire s3_seen;  // an earlier choice of a sequential insert had all bits
  wire [TURN_W-1:0] s3_turn;  // which choice was read last

  generate
    if (TURNS > 1) begin : g_turns
      reg seen;
      reg [TURN_W-1:0] turn;
      always @(posedge clk) begin
        if (s2_move) begin
          seen <= 1'b0;
          turn <= {TURN_W{1'b0}};
        end else if (s3_next) begin
          seen <= seen || hit[0];
          turn <= turn + 1'b1;
        end
      end
      assign s3_seen = seen;
      assign s3_turn = turn;
      assign s3_more = s3_valid && (turn != LAST_TURN[TURN_W-1:0]) &&
          ((s3_query && !hit[0] && !low[0]) ||
           (s3_insert && allowed[0] && !accept[0] && allowed_next));
    end else begin : g_turn
      assign s3_seen = 1'b0;
      assign s3_turn = 1'b0;
      assign s3_more = 1'b0;

      wire unused = &{1'b0, allowed_next, LAST_TURN};
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // Overflow list.

  wire list_hit, list_full;
  wire s3_refused = s3_insert && !(|place) && !list_hit && list_full;

  generate
    if (CAM_DEPTH > 0) begin : g_list
      membrane_cam #(
          .DEPTH(CAM_DEPTH),
          .KEY_W(KEY_W)
      ) list (
          .clk   (clk),
          .rst   (rst),
          .key   (s3_key),
          .hit   (list_hit),
          .insert(s3_done && s3_insert && !(|place)),
          .remove(1'b0),
          .clear (clearing),
          .full  (list_full),
          .level (level)
      );
    end else begin : g_no_list
      assign list_hit  = 1'b0;
      assign list_full = 1'b1;
      assign level     = {LEVEL_W{1'b0}};

      wire unused = &{1'b0, s3_key};
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // Access budget: how many blocks inserts may still look at.

  generate
    if (ACCESS_BUDGET > 0) begin : g_budget
      localparam LEFT_W = $clog2(ACCESS_BUDGET + 1);
      localparam SUM_W = ((LEFT_W > PROBE_W) ? LEFT_W : PROBE_W) + 1;
      localparam [31:0] ALL = ACCESS_BUDGET;

      reg [LEFT_W-1:0] left;
      reg [PROBE_W-1:0] probes;  // that the insert in s3 made
      wire [SUM_W-1:0] left_sum = {{(SUM_W - LEFT_W) {1'b0}}, left};
      wire [SUM_W-1:0] turn_sum = {{(SUM_W - TURN_W) {1'b0}}, s3_turn};

      always @* begin : count_probes
        integer i;
        probes = {{(PROBE_W - TURN_W) {1'b0}}, s3_turn};
        for (i = 0; i < LEVELS; i = i + 1) begin
          probes = probes + {{(PROBE_W - 1) {1'b0}}, reach[i]};
        end
      end

      wire [SUM_W-1:0] rest = left_sum - {{(SUM_W - PROBE_W) {1'b0}}, probes};

      always @(posedge clk) begin
        if (rst || clearing) left <= ALL[LEFT_W-1:0];
        else if (s3_done && s3_insert && !s3_refused) left <= rest[LEFT_W-1:0];
      end

      for (l = 0; l < LEVELS; l = l + 1) begin : g_allowed
        localparam [31:0] BEFORE = l;
        assign allowed[l] = left_sum > turn_sum + BEFORE[SUM_W-1:0];
      end
      assign allowed_next = left_sum > turn_sum + 1'b1;
      assign budget       = |left;

      wire unused = &{1'b0, rest[SUM_W-1:LEFT_W]};
    end else begin : g_no_budget
      assign allowed      = {LEVELS{1'b1}};
      assign allowed_next = 1'b1;
      assign budget       = 1'b1;

      wire unused = &{1'b0, s3_turn};
    end
  endgenerate

  // ---------------------------------------------------------------------------
  // Response.

  wire query_hit = |(look & hit);
  wire insert_hit = s3_seen || (|(reach & hit));

  always @(posedge clk) begin
    if (rst) begin
      rsp_hit    <= 1'b0;
      rsp_status <= STATUS_OK;
      rsp_tag    <= {TAG_W{1'b0}};
    end else if (s3_done) begin
      rsp_hit    <= (s3_query && (query_hit || list_hit)) || (s3_insert && (insert_hit || list_hit));
      rsp_status <= (s3_op == OP_REMOVE) ? STATUS_UNSUPPORTED : s3_refused ? STATUS_FULL : STATUS_OK;
      rsp_tag    <= s3_tag;
    end
  end

endmodule

`default_nettype wire

"""What is proven, of which core, how, and which edits of the RTL must make the proof fail."""

from collections import namedtuple

Edit = namedtuple("Edit", "why file old new")


class Proof:
    """A top module with assertions, and the files that it takes."""

    def __init__(self, name, says, core, shape, top, files, method, depth, broken, **more):
        self.name = name
        self.says = says
        self.core = core
        self.shape = shape
        self.top = top
        self.files = files
        self.method = method
        self.depth = depth  # of bmc and induction, and of the search for what a broken core does
        self.broken = broken
        self.defines = more.get("defines", {})
        self.chparams = more.get("chparams", {})
        self.inside = more.get("inside", {})  # assertions at the end of a file's module


def rtl(*names):
    return [f"rtl/membrane_{name}.v" for name in names]


def formal(*names):
    return [f"sim/formal/{name}.v" for name in names]


CAM = ["cam", "equal", "equal_pairs", "equal_fours"]
CORES = {
    "partitioned": rtl("partitioned", "select", "sram_1p"),
    "blocked": rtl("blocked", "block_port", "select", "sram_1p"),
    "balanced": rtl("balanced", "balanced_choice", "balanced_level", "select", "sram_1p", *CAM),
    "tinyset": rtl(
        "tinyset", "tinyset_drops", "tinyset_geometry", "tinyset_match", "tinyset_rank", "tinyset_repack",
        "tinyset_select", "tinyset_sums", "tinyset_unpack", "block_port", "select", "sram_1p", *CAM
    ),
}


def of_core(check, says, core, method, depth, broken, params, key_w=1, options="", tag="", inside=None):
    """A property of a core: of its pins, sim/formal/check_<check>.v, or of what is inside."""
    listed = ",".join(f".{name}({value})" for name, value in params.items())
    defines = {"CORE": f"membrane_{core}", "PARAMS": listed, "KEY_W": key_w, "TAG_W": 2}
    files = formal("core_top", "hash_any") + CORES[core]
    if not inside:
        defines |= {"CHECK": f"check_{check}", "OPTIONS": options}
        files += formal(f"check_{check}")
    shape = ", ".join(f"{name} {value}" for name, value in [*params.items(), ("KEY_W", key_w)])
    name = f"{check}/{core}{tag}"
    return Proof(name, says, core, shape, "core_top", files, method, depth, broken, defines=defines, inside=inside or {})


PARTITIONED = {"BANKS": 2, "ROWS": 3}
HYBRID = {"BANKS": 1, "HASHES": 2, "ROWS": 2, "WIDTH": 2}
BLOCKED = {"BLOCK_W": 8, "ROWS": 2, "HASHES": 1}
BALANCED = {"ROWS": 2, "BLOCK_W": 4, "HASHES": 1, "H": 1, "CAM_DEPTH": 1}
TINYSET = {"BLOCKS": 2, "CHAINS": 2, "ARRAY": 4, "PARALLEL": 2, "CAM_DEPTH": 1}

HITS = "an inserted key hits until cleared"
ORDER = "one response per request, in order"
HOLD = "a response holds until taken"
MEMORY = "one access at a time, of a row there is"

SRAM = "rtl/membrane_sram_1p.v"
# Before the first reset the core's registers are unknown.
IN_RANGE = """reg first = 1;
  always @(posedge clk) first <= 0;
  always @* if (en && !first) assert (addr < DEPTH);"""
ALONE = "always @(posedge clk) if (!rst) assert (({wants}) <= 1);"

# Of the list itself: entries in use, and entries that match.
CAM_INSIDE = """reg [LEVEL_W-1:0] in_use;
  reg [LEVEL_W-1:0] matches;
  always @* begin : count
    integer n;
    in_use  = 0;
    matches = 0;
    for (n = 0; n < DEPTH; n = n + 1) begin
      in_use  = in_use + used[n];
      matches = matches + match[n];
    end
  end
  reg started = 0;
  always @(posedge clk) started <= started || rst;
  always @* if (started) assert (level == in_use && matches <= 1);"""


def cam(depth, key_w, broken):
    return Proof(
        f"cam/{depth}x{key_w}", "the list loses nothing, level counts entries, no key twice", "cam",
        f"DEPTH {depth}, KEY_W {key_w}", "cam_list", formal("cam_list") + rtl(*CAM), "pdr", 20, broken,
        chparams={"DEPTH": depth, "KEY_W": key_w}, inside={"rtl/membrane_cam.v": CAM_INSIDE},
    )


# The core reads one block of arbitrary items; what it answers and writes is that of the definition.
SPEC_INSIDE = """wire [SLOTS*CHAIN_W-1:0] chains = $anyconst;
  wire [SLOTS*LONGEST-1:0] remainders = $anyconst;
  wire [SLOT_W-1:0] items = $anyconst;
  wire legal, spec_hit;
  wire [BLOCK_W-1:0] before, after;
  tinyset_spec #(
      .CHAINS(CHAINS), .ARRAY(ARRAY), .F_MAX(LONGEST), .C_MAX(SLOTS)
  ) spec (
      .chains(chains), .remainders(remainders), .items(items),
      .chain(b7_meta[TAG_W+2+:CHAIN_W]), .remainder(b7_meta[TAG_W+2+CHAIN_W+:LONGEST]),
      .legal(legal), .before(before), .after(after), .hit(spec_hit)
  );
  // One request, after the one reset, and nothing that stops it.
  reg first = 1, taken = 0;
  always @(posedge clk) {first, taken} <= {1'b0, taken || (!rst && take)};
  always @* begin
    assume (legal && rsp_ready && rst == first && !(taken && req_valid));
    if (b0_valid && b0_meta[1:0] < OP_REMOVE) assume (b0_block == before);
    if (!first && b7_valid && b7_meta[1:0] == OP_QUERY) assert (b7_hit == spec_hit && !b7_write);
    if (!first && b7_valid && b7_meta[1:0] == OP_INSERT) begin
      assert (b7_write == (items < SLOTS));
      if (b7_write) assert (b7_block == after);
    end
  end"""


def tinyset_spec(chains, array, depth, broken):
    proof = of_core(
        "spec", "decode, match and repack are those of the definition", "tinyset", "bmc", depth, broken,
        {"BLOCKS": 2, "CHAINS": chains, "ARRAY": array, "PARALLEL": 2}, key_w=8, tag=f"-{chains}x{array}",
        inside={"rtl/membrane_tinyset.v": SPEC_INSIDE},
    )
    proof.files = [name for name in proof.files if name != SRAM and "hash_any" not in name]
    proof.files += formal("sram_any", "hash_free", "tinyset_spec")
    return proof


# Edits that break what a proof is about: why, the file, the text, and what it becomes.
PORT = "rtl/membrane_block_port.v"


def edit(core, why, old, new):
    return Edit(why, f"rtl/membrane_{core}.v", old, new)


NO_HAZARD = edit("block_port", "nobody waits for a row in flight", "wire hazard = |hazards;", "wire hazard = 1'b0;")


def response_is_free(core):
    return edit(core, "a response is overwritten", "wire rsp_free = !rsp_valid || rsp_ready;", "wire rsp_free = 1'b1;")


SPEC_BROKEN = [
    edit("tinyset_rank", "rank counts the chain itself", "count(index & ahead)", "count(index & {ahead, 1'b1})"),
    edit("tinyset_select", "select stops early", "if (seen < rest)", "if (seen + 1 < rest)"),
    edit("tinyset_geometry", "no slot is extended", "rest = ARRAY % c;", "rest = 0;"),
    edit("tinyset_match", "the extension bit is not compared", "extension = is_extended ?", "extension = 1'b0 ?"),
    edit("tinyset_drops", "far bits begin one too low", "far_at  = far_base;", "far_at  = far_base - 1'b1;"),
    edit("tinyset_sums", "only the last dropped bit counts", "below = below + {{", "below = {{"),
    edit("tinyset_repack", "last bits do not move up", "((closed & ~below_slot) << 1);", "(closed & ~below_slot);"),
    edit("tinyset_repack", "nothing is shortened", "remainder & ~({F_MAX{1'b1}} << width)", "remainder"),
    edit("tinyset", "a full block is written", "b5_write = !b5_full;", "b5_write = 1'b1;"),
]


def port_order(stages, masked, broken):
    return Proof(
        f"port/{stages}{'m' if masked else ''}", "each operation sees what those before it left", "block_port",
        f"STAGES {stages}, MASKED {masked}, ROWS 2, WIDTH 2", "block_port_order",
        formal("block_port_order") + rtl("block_port", "sram_1p") + ["tests/rtl/block_port_user.v"], "pdr", 14, broken,
        chparams={"STAGES": stages, "MASKED": masked},
    )


PORT_WANTS = ALONE.format(wants="row_step + (advance && write_back) + op_access")
LEVELS = BALANCED | {"SCHEME": 2, "D": 2, "ROWS": 5, "Q": 32768}

PROOFS = [
    *(port_order(stages, masked, []) for stages in (0, 1, 3) for masked in (0, 1)),
    port_order(2, 0, []),
    port_order(2, 1, [
        NO_HAZARD,
        edit("block_port", "the first stage is no hazard", "= valid[s] && modify[s] &&", "= s > 0 && valid[s] && modify[s] &&"),
        edit("block_port", "accesses beside a write-back", "(write_back || hazard)", "(hazard)"),
        edit("block_port", "every MODIFY writes", "modify[STAGES] && wb_write", "modify[STAGES]"),
        edit("block_port", "CLEAR does not wait", "!cleared && valid == 0", "!cleared"),
        edit("block_port", "the row of another stage", "write_back ? rows[STAGES*ROW_W+:ROW_W]", "write_back ? rows[0+:ROW_W]"),
        edit("block_port", "no mask", "{WIDTH{1'b1}} : op_wmask", "{WIDTH{1'b1}} : {WIDTH{1'b1}}"),
    ]),
    cam(2, 2, [
        edit("cam", "a key is held twice", "wire add = insert && !hit && !full;", "wire add = insert && !full;"),
        edit("cam", "level stays when a key goes", "else if (drop) level <= level - 1'b1;", ""),
        edit("cam", "an insert overwrites entries", "if (insert && lowest[i]) entry", "if (insert) entry"),
        edit("cam", "an insert takes all free entries", "~used & (used + 1'b1);", "~used;"),
        edit("cam", "clear forgets the entries", "if (rst || clear) used[i]", "if (rst) used[i]"),
    ]),
    cam(4, 3, []),
    of_core("hold", HOLD, "partitioned", "pdr", 12, [response_is_free("partitioned")], PARTITIONED),
    of_core("hold", HOLD, "blocked", "pdr", 12, [
        edit("blocked", "stages move on", "wire advance = !rsp_valid || rsp_ready;", "wire advance = 1'b1;"),
    ], BLOCKED),
    of_core("hold", HOLD, "balanced", "pdr", 12, [response_is_free("balanced")], BALANCED),
    of_core("hold", HOLD, "tinyset", "pdr", 20, [response_is_free("tinyset")], TINYSET),
    of_core("order", ORDER, "partitioned", "pdr", 16, [
        response_is_free("partitioned"),
        edit("partitioned", "every access is answered", "s3_last <= s2_last;", "s3_last <= 1'b1;"),
        edit("partitioned", "not busy with the first stage", "busy      = sweep || s1_valid ||", "busy      = sweep ||"),
    ], HYBRID, options=".LIMIT(12),"),
    of_core("order", ORDER, "blocked", "pdr", 16, [
        edit("blocked", "the tag of the request behind", "s2_tag <= s1_tag;", "s2_tag <= req_tag;"),
        edit("blocked", "requests are taken into a full stage", "wire s1_free = !s1_valid || s2_free;", "wire s1_free = 1'b1;"),
    ], BLOCKED, options=".LIMIT(12),"),
    of_core("order", ORDER, "balanced", "pdr", 24, [
        edit("balanced", "the tag of the request behind", "rsp_tag    <= s3_tag;", "rsp_tag    <= s2_tag;"),
        edit("balanced", "CLEAR never ends", "? clearing && row_last :", "? 1'b0 :"),
    ], BALANCED, options=".LIMIT(12),"),
    of_core("order", ORDER, "tinyset", "bmc", 19, [
        edit("tinyset", "the tag of another request", "rsp_tag    <= b7_meta[2+:TAG_W];", "rsp_tag    <= s2_tag;"),
        edit("tinyset", "an empty stage is answered", "advance && b7_valid;", "advance;"),
    ], TINYSET),
    of_core("memory", MEMORY, "partitioned", "pdr", 16, [
        edit("partitioned", "a sweep runs past the last row", "row == LAST_ROW[ROW_W-1:0];", "&row;"),
        edit("partitioned", "requests during the sweep", "assign req_ready = !sweep && s1_free;", "assign req_ready = s1_free;"),
    ], PARTITIONED, inside={
        SRAM: IN_RANGE, "rtl/membrane_partitioned.v": ALONE.format(wants="row_step + access_step"),
    }),
    of_core("memory", MEMORY, "blocked", "pdr", 16, [
        edit("block_port", "accesses beside a write-back", "(write_back || hazard)", "(hazard)"),
        edit("block_port", "CLEAR does not wait", "!cleared && valid == 0", "!cleared"),
    ], BLOCKED | {"ROWS": 3}, inside={SRAM: IN_RANGE, PORT: PORT_WANTS}),
    of_core("memory", MEMORY, "balanced", "pdr", 16, [
        edit("balanced", "reads beside a write", "(s2_reads || s3_more) && !write;", "(s2_reads || s3_more);"),
        edit("balanced", "small levels are swept too far", "in_level = row <= L_LAST_ROW[ROW_W-1:0];", "in_level = 1'b1;"),
    ], LEVELS, inside={
        SRAM: IN_RANGE, "rtl/membrane_balanced_level.v": ALONE.format(wants="clear_en + write_back + read"),
    }),
    of_core("memory", MEMORY, "tinyset", "pdr", 20, [
        edit("block_port", "a sweep runs past the last row", "row == LAST_ROW[ROW_W-1:0];", "&row;"),
    ], TINYSET | {"BLOCKS": 3}, inside={SRAM: IN_RANGE, PORT: PORT_WANTS}),
    of_core("hits", HITS, "partitioned", "pdr", 16, [
        edit("partitioned", "an insert writes zeros", ".wdata({STORED_W{!clearing}}),", ".wdata({STORED_W{1'b0}}),"),
        edit("partitioned", "an insert writes at one bank's row", "b*HASHES*INDEX_W+:HASHES*INDEX_W];", "0+:HASHES*INDEX_W] ^ s2_op[0];"),
    ], PARTITIONED),
    of_core("hits", HITS, "partitioned", "pdr", 16, [
        edit("partitioned", "another bit of the row is looked at", "s3_bit <= s2_index", "s3_bit <= ~s2_index"),
    ], HYBRID, tag="-hybrid"),
    of_core("hits", HITS, "balanced", "pdr", 18, [
        edit("balanced_level", "the changed row is not looked at", "(known && changed_row == row) ? changed : rdata", "rdata"),
        edit("balanced", "nothing goes to the list", ".insert(s3_done && s3_insert && !(|place)),", ".insert(1'b0),"),
        edit("cam", "an insert overwrites entries", "if (insert && lowest[i]) entry", "if (insert) entry"),
    ], BALANCED),
    of_core("hits", HITS, "blocked", "bmc", 15, [
        NO_HAZARD,
        edit("blocked", "an insert forgets the row", "row <= s3_row | s3_mask;", "row <= s3_mask;"),
    ], BLOCKED),
    of_core("hits", HITS, "blocked", "bmc", 22, [], BLOCKED, tag="-calm", options=".CALM(1),"),
    of_core("hits", HITS, "tinyset", "bmc", 24, [
        edit("tinyset", "an insert forgets the block", "b5_write = !b5_full;", "b5_write = 1'b0;"),
    ], TINYSET),
    of_core("hits", HITS, "tinyset", "bmc", 30, [NO_HAZARD], TINYSET, tag="-calm", options=".CALM(1),"),
    tinyset_spec(4, 12, 18, SPEC_BROKEN),
]

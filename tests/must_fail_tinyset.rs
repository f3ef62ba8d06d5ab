//! The TinySet core broken on purpose: co-simulation must notice every time.
#![cfg(feature = "cosim")]

mod common;

use common::bugs::{Bug, assert_all_found};
use membrane::{Params, cosim::Job, registry};

const TOP: &str = "membrane_tinyset.v";

fn job(preset: &str, cycles: u64) -> Job {
    let core = registry::find("tinyset").expect("registered");
    let preset = core.presets().iter().find(|p| p.name == preset).expect("a preset");
    Job::new(core, &preset.params(), 3, cycles).expect("legal")
}

#[test]
fn bugs_without_removals_are_found() {
    let bug = |name, file, from, to| Bug { name, file, from, to };
    assert_all_found(
        &job("tiny", 60_000),
        &[
            bug(
                "rank counts the chain itself",
                "membrane_tinyset_rank.v",
                "{CHAINS{1'b1}} << chain",
                "{CHAINS{1'b1}} << chain << 1",
            ),
            bug(
                "select stops a bit early",
                "membrane_tinyset_select.v",
                "if (seen < rest)",
                "if (seen + 1'b1 < rest)",
            ),
            bug(
                "size rounded up",
                "membrane_tinyset_geometry.v",
                "size = ARRAY / c - 1;",
                "size = (ARRAY + 1) / c - 1;",
            ),
            bug("no extended slots", "membrane_tinyset_geometry.v", "rest = ARRAY % c;", "rest = 0;"),
            bug(
                "extension bits are not compared",
                "membrane_tinyset_match.v",
                "(extension & stored) : extension",
                "(extension & stored) : {F_MAX{1'b0}}",
            ),
            bug(
                "a slot too many is compared",
                "membrane_tinyset_match.v",
                "NUMBER[COUNT_W-1:0] < used",
                "NUMBER[COUNT_W-1:0] <= used",
            ),
            bug(
                "two bits too few are dropped",
                "membrane_tinyset_drops.v",
                "localparam MOST = F_MAX + 1;",
                "localparam MOST = F_MAX - 1;",
            ),
            bug(
                "the far bits are not dropped",
                "membrane_tinyset_drops.v",
                "else if (j[DROP_W:0] < all)",
                "else if (1'b0 && j[DROP_W:0] < all)",
            ),
            bug(
                "sums of groups are forgotten",
                "membrane_tinyset_sums.v",
                "sum = ahead[(q/GROUP)*SUM_W+:SUM_W] + below;",
                "sum = below;",
            ),
            bug(
                "the top level of shifts is missing",
                "membrane_tinyset_repack.v",
                "(from & ~moves) | ((from & moves) >> SHIFT)",
                "(k == SUM_W - 1) ? from : (from & ~moves) | ((from & moves) >> SHIFT)",
            ),
            bug("a new item is never last", TOP, ".last        (!b6_present)", ".last        (1'b0)"),
            bug(
                "the fingerprint is not cut",
                "membrane_tinyset_repack.v",
                "remainder & ~({F_MAX{1'b1}} << width)",
                "remainder",
            ),
            bug(
                "the slot of the new item decides over its width with the old layout",
                TOP,
                "wire b3_new_long = b3_start < b3_new_extended;",
                "wire b3_new_long = b3_start < b3_extended;",
            ),
            bug("a full block takes one more", TOP, "b2_grows && b2_slots == MOST[SLOT_W-1:0]", "1'b0"),
            bug("REMOVE answers OK", TOP, "b5_status = STATUS_UNSUPPORTED;", "b5_status = STATUS_OK;"),
            bug(
                "long chains are cut short",
                TOP,
                "assign more = b_valid[5]",
                "assign more = 1'b0 && b_valid[5]",
            ),
            bug(
                "the response does not wait",
                TOP,
                "assign advance = rsp_free && !more;",
                "assign advance = !more;",
            ),
        ],
    );
}

#[test]
fn bugs_with_removals_and_list_are_found() {
    let bug = |name, file, from, to| Bug { name, file, from, to };
    assert_all_found(
        &job("tiny-list", 60_000),
        &[
            bug(
                "padding is compared, unsafe",
                "membrane_tinyset_match.v",
                "(REMOVALS != 0) ? (extension & stored)",
                "(REMOVALS == 0) ? (extension & stored)",
            ),
            bug(
                "no padding",
                "membrane_tinyset_unpack.v",
                "wire [ARRAY-1:0] below_pad = pad ?",
                "wire [ARRAY-1:0] below_pad = 1'b0 ?",
            ),
            bug(
                "the last bit of the slot goes, not the chain's first",
                "membrane_tinyset_unpack.v",
                "wire [ARRAY-1:0] below_first = ~({ARRAY{1'b1}} << first);",
                "wire [ARRAY-1:0] below_first = ~({ARRAY{1'b1}} << first << 1);",
            ),
            bug(
                "an empty chain stays in the index",
                TOP,
                "b6_alone     <= b5_end - b5_start == {{(SLOT_W - 1) {1'b0}}, 1'b1};",
                "b6_alone     <= 1'b0;",
            ),
            bug("C shrinks", TOP, "{b6_slots, unpacked,", "{b6_slots - 1'b1, unpacked,"),
            bug(
                "freed slots are not reused",
                TOP,
                "wire b2_grows = b2_live == b2_slots;",
                "wire b2_grows = 1'b1;",
            ),
            bug(
                "reuse does not drop the freed last bit",
                TOP,
                "b4_freed      <= !b3_grows;",
                "b4_freed      <= 1'b0;",
            ),
            bug("the list is not searched", TOP, "(found || list_hit)", "found"),
            bug(
                "the list is not removed from",
                TOP,
                "b5_leaves && b5_op == OP_REMOVE && REMOVALS != 0",
                "1'b0",
            ),
            bug("CLEAR leaves the list", TOP, "b5_leaves && b5_op == OP_CLEAR)", "1'b0)"),
            bug(
                "a listed key is taken twice",
                TOP,
                "list_hit ? REMOVALS != 0 : list_full",
                "!list_hit && list_full",
            ),
            bug("remove changes block and list", TOP, "else if (!list_hit) begin", "else begin"),
        ],
    );
}

/// Long chains of few chains, where removals often have a choice.
#[test]
fn an_unsafe_choice_of_the_removed_slot_is_found() {
    let bug = |name, file, from, to| Bug { name, file, from, to };
    let core = registry::find("tinyset").expect("registered");
    let params = [
        ("BLOCKS", 4),
        ("CHAINS", 2),
        ("ARRAY", 40),
        ("C_MAX", 11),
        ("REMOVALS", 1),
        ("PARALLEL", 2),
        ("KEY_W", 16),
    ];
    let params = params.iter().fold(Params::new(), |params, (name, value)| params.with(name, *value));
    assert_all_found(
        &Job::new(core, &params, 3, 600_000).expect("legal"),
        &[
            bug(
                "the best of earlier windows is forgotten",
                TOP,
                "wire keep = b5_certain || (b5_found && !window_certain);",
                "wire keep = b5_found && !window_hit;",
            ),
            bug(
                "first match is removed, unsafe",
                "membrane_tinyset_match.v",
                "if (certain ? ones[i] : equal[i])",
                "if (equal[i])",
            ),
        ],
    );
}

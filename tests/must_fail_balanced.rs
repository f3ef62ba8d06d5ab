//! Bugs put into the balanced filter and its list on purpose: co-simulation must
//! find every one of them.

mod common;

use common::bugs::{Bug, assert_all_found};
use membrane::{
    balanced::{CORE, Config, Scheme},
    cosim::Job,
};

const TOP: &str = "membrane_balanced.v";
const LEVEL: &str = "membrane_balanced_level.v";
const CHOICE: &str = "membrane_balanced_choice.v";
const CAM: &str = "membrane_cam.v";

fn job(scheme: Scheme, access_budget: u64) -> Job {
    let config = Config {
        scheme,
        d: if scheme == Scheme::Single { 1 } else { 3 },
        rows: 12,
        q: 36_000,
        block_w: 24,
        hashes: 2,
        h: 3,
        p: 30_000,
        access_budget,
        cam_depth: 6,
        key_w: 16,
        ..Config::default()
    };
    Job::new(&CORE, &config.params(), 1, 40_000).expect("legal")
}

/// Bugs of all schemes, looked for in the simplest.
#[test]
fn single() {
    let bugs = [
        Bug {
            name: "a changed row is not seen before it is written",
            file: LEVEL,
            from: "(known && changed_row == row) ? changed : rdata",
            to: "(known && pending && changed_row == row && 1'b0) ? changed : rdata",
        },
        Bug {
            name: "a changed row is not seen after it is written",
            file: LEVEL,
            from: "(known && changed_row == row)",
            to: "(known && pending && changed_row == row)",
        },
        Bug {
            name: "an old changed row is seen after CLEAR",
            file: LEVEL,
            from: "    if (rst || clear) begin\n      known   <= 1'b0;",
            to: "    if (rst) known <= 1'b0;\n    if (rst || clear) begin",
        },
        Bug {
            name: "the count does not go up",
            file: LEVEL,
            from: "{count + 1'b1, block",
            to: "{count, block",
        },
        Bug {
            name: "bits that were there are lost",
            file: LEVEL,
            from: "block[BLOCK_W-1:0] | mask}",
            to: "mask}",
        },
        Bug {
            name: "the threshold is one too high",
            file: LEVEL,
            from: "assign below_h = count <",
            to: "assign below_h = count <=",
        },
        Bug {
            name: "the coin is not looked at",
            file: TOP,
            from: "(at_h && s3_coin[0])",
            to: "(at_h && (s3_coin[0] || 1'b1))",
        },
        Bug { name: "the coin is off by one", file: CHOICE, from: "+:16] < CHANCE", to: "+:16] > CHANCE" },
        Bug {
            name: "the list is not searched by queries",
            file: TOP,
            from: "(s3_query && (query_hit || list_hit))",
            to: "(s3_query && query_hit)",
        },
        Bug {
            name: "FULL although the key is in the list",
            file: TOP,
            from: "!(|place) && !list_hit && list_full;",
            to: "!(|place) && list_full;",
        },
        Bug {
            name: "keys go to the block and to the list",
            file: TOP,
            from: ".insert(s3_done && s3_insert && !(|place)),",
            to: ".insert(s3_done && s3_insert),",
        },
        Bug {
            name: "CLEAR leaves the list",
            file: TOP,
            from: "          .clear (clearing),",
            to: "          .clear (1'b0),",
        },
        Bug {
            name: "the list has duplicates",
            file: CAM,
            from: "insert && !hit && !full",
            to: "insert && !full",
        },
        Bug {
            name: "an insert is done although its response waits",
            file: TOP,
            from: ".update   (update[l] && s3_done),",
            to: ".update   (update[l]),",
        },
        Bug {
            name: "CLEAR does not wait for the request ahead of it",
            file: TOP,
            from: "s2_op == OP_CLEAR && !s3_valid && !(|pending)",
            to: "s2_op == OP_CLEAR && !(|pending)",
        },
        Bug {
            name: "busy does not show the request in s3",
            file: TOP,
            from: "s2_valid || s3_valid || rsp_valid;",
            to: "s2_valid || rsp_valid;",
        },
    ];
    assert_all_found(&job(Scheme::Single, 0), &bugs);
}

#[test]
fn sequential() {
    let bugs = [
        Bug {
            name: "the coin of the first choice counts for all",
            file: TOP,
            from: "s3_coin <= s3_coin >> 1;",
            to: "s3_coin <= s3_coin;",
        },
        Bug {
            name: "the bits of the first choice count for all",
            file: TOP,
            from: "if (s2_move || s3_next) s3_mask <= mask;",
            to: "if (s2_move) s3_mask <= mask;",
        },
        Bug {
            name: "a query does not stop at a block below H",
            file: TOP,
            from: "(s3_query && !hit[0] && !low[0])",
            to: "(s3_query && !hit[0])",
        },
        Bug {
            name: "a query does not stop at a hit",
            file: TOP,
            from: "(s3_query && !hit[0] && !low[0])",
            to: "(s3_query && !low[0])",
        },
        Bug {
            name: "the last choice is not read",
            file: TOP,
            from: "localparam [31:0] LAST_TURN = TURNS - 1;",
            to: "localparam [31:0] LAST_TURN = TURNS - 2;",
        },
        Bug {
            name: "an earlier choice's bits are forgotten",
            file: TOP,
            from: "seen <= seen || hit[0];",
            to: "seen <= hit[0] && 1'b0;",
        },
        Bug {
            name: "the next choice is read over a write-back",
            file: TOP,
            from: "wire s3_next = s3_more && !write;",
            to: "wire s3_next = s3_more;",
        },
        Bug {
            name: "the budget does not end probing between choices",
            file: TOP,
            from: "assign allowed_next = left_sum > turn_sum + 1'b1;",
            to: "assign allowed_next = left_sum > turn_sum;",
        },
        Bug {
            name: "refused inserts spend the budget",
            file: TOP,
            from: "else if (s3_done && s3_insert && !s3_refused) left",
            to: "else if (s3_done && s3_insert) left",
        },
        Bug {
            name: "CLEAR does not renew the budget",
            file: TOP,
            from: "if (rst || clearing) left",
            to: "if (rst) left",
        },
    ];
    assert_all_found(&job(Scheme::Sequential, 70), &bugs);
}

#[test]
fn multilevel() {
    let bugs = [
        Bug {
            name: "a query looks past a block below H",
            file: TOP,
            from: "look[i]  = look[i-1] && !low[i-1];",
            to: "look[i]  = look[i-1];",
        },
        Bug {
            name: "an insert goes to two levels",
            file: TOP,
            from: "reach[i-1] && allowed[i] && !accept[i-1];",
            to: "reach[i-1] && allowed[i];",
        },
        Bug {
            name: "a waiting row is overwritten",
            file: TOP,
            from: "pending[0] || (|(pending & update)) ||",
            to: "pending[0] || (|(pending & update & 3'b001)) ||",
        },
        Bug {
            name: "smaller levels do not write",
            file: LEVEL,
            from: "wire write_back = write && pending;",
            to: "wire write_back = write && pending && (ROWS == 12);",
        },
        Bug {
            name: "a smaller level's last row is not cleared",
            file: TOP,
            from: "row <= L_LAST_ROW[ROW_W-1:0];",
            to: "row < L_LAST_ROW[ROW_W-1:0];",
        },
        Bug {
            name: "levels are rounded down",
            file: TOP,
            from: "{32'd0, FACTOR} + 64'd32768) >> 16",
            to: "{32'd0, FACTOR} + 64'd0) >> 16",
        },
        Bug {
            name: "the budget does not see the levels",
            file: TOP,
            from: "left_sum > turn_sum + BEFORE[SUM_W-1:0]",
            to: "left_sum > turn_sum + (BEFORE[SUM_W-1:0] & {SUM_W{1'b0}})",
        },
        Bug {
            name: "the probes of the last level are free",
            file: TOP,
            from: "{{(PROBE_W - 1) {1'b0}}, reach[i]};",
            to: "{{(PROBE_W - 1) {1'b0}}, reach[i] && (i < 2)};",
        },
    ];
    assert_all_found(&job(Scheme::Multilevel, 90), &bugs);
}

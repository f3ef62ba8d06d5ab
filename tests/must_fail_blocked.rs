//! The blocked core and the block port broken on purpose: co-simulation must notice
//! every time.
#![cfg(feature = "cosim")]

mod common;

use common::bugs::{Bug, assert_all_found};
use membrane::{
    Params,
    cosim::{Job, Opt, Outcome},
    registry,
};

/// (what is broken, file, preset, text, text instead)
const MUTATIONS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "hazard check dropped: an operation reads a row that is still to be written",
        "membrane_block_port.v",
        "tiny",
        "wire hazard = |hazards;",
        "wire hazard = 1'b0;",
    ),
    (
        "reads go first: the write-back that is due is lost",
        "membrane_block_port.v",
        "block64",
        "!(op_accesses && (write_back || hazard))",
        "!(op_accesses && hazard)",
    ),
    (
        "write-back to the row of the operation behind it",
        "membrane_block_port.v",
        "block64",
        "write_back ? rows[STAGES*ROW_W+:ROW_W]",
        "write_back ? rows[0+:ROW_W]",
    ),
    ("parts one bit too narrow", "membrane_blocked.v", "parts-odd", "BLOCK_W / BITS;", "BLOCK_W / BITS - 1;"),
    (
        "parts in the wrong order",
        "membrane_blocked.v",
        "parts256",
        "assign s2_mask[i*PART+:PART] =",
        "assign s2_mask[(BITS-1-i)*PART+:PART] =",
    ),
    (
        "stale data: the old row is written back",
        "membrane_blocked.v",
        "block256",
        "row <= s3_row | s3_mask;",
        "row <= s3_row;",
    ),
    (
        "the row before is forgotten: only the key's own bits are written back",
        "membrane_blocked.v",
        "block512",
        "row <= s3_row | s3_mask;",
        "row <= s3_mask;",
    ),
    (
        "the memory's mask is ignored",
        "membrane_block_port.v",
        "masked256",
        "{WIDTH{1'b1}} : op_wmask",
        "{WIDTH{1'b1}} : {WIDTH{1'b1}}",
    ),
    (
        "one index too few in the mask",
        "membrane_blocked.v",
        "block256",
        "for (n = 0; n < BITS; n = n + 1)",
        "for (n = 0; n < BITS - 1; n = n + 1)",
    ),
    (
        "word 1 has the row of word 0",
        "membrane_blocked.v",
        "bloom-g2",
        ".field(s1_hash[w*FIELDS_W+:ROW_FIELD_W]),",
        ".field(s1_hash[0+:ROW_FIELD_W]),",
    ),
    (
        "all words have the indices of word 0",
        "membrane_blocked.v",
        "bloom-g3-parts",
        "s1_hash[w*FIELDS_W+ROW_FIELD_W",
        "s1_hash[ROW_FIELD_W",
    ),
    (
        "only the last word of a key counts",
        "membrane_blocked.v",
        "tiny-g2",
        "wire all_set = s4_before && s4_set;",
        "wire all_set = s4_set;",
    ),
    (
        "a request's verdict leaks into the next",
        "membrane_blocked.v",
        "bloom-g2",
        "s4_before <= s4_last || all_set;",
        "s4_before <= (s4_last && s4_set) || all_set;",
    ),
    (
        "rows are written back that have all bits already",
        "membrane_blocked.v",
        "block64",
        ".wb_write(!s4_set),",
        ".wb_write(1'b1),",
    ),
    (
        "the tag is taken one cycle late",
        "membrane_blocked.v",
        "tiny",
        "op_meta ({s2_mask, s2_tag,",
        "op_meta ({s2_mask, s1_tag,",
    ),
    (
        "the response does not wait",
        "membrane_blocked.v",
        "tiny",
        "wire advance = !rsp_valid || rsp_ready;",
        "wire advance = 1'b1;",
    ),
    (
        "requests are taken during the sweep",
        "membrane_blocked.v",
        "tiny",
        "assign req_ready = !sweep && s1_free;",
        "assign req_ready = s1_free;",
    ),
    (
        "CLEAR does not wait for inserts ahead of it",
        "membrane_block_port.v",
        "tiny",
        "!cleared && valid == 0",
        "!cleared",
    ),
];

fn job(params: &Params) -> Job {
    Job::new(registry::find("blocked").expect("registered"), params, 1, 30_000).expect("legal")
}

#[test]
fn every_mutation_is_found() {
    let presets = registry::find("blocked").expect("registered").presets();
    let mut mutations = 0;
    for preset in presets {
        let of_preset = MUTATIONS.iter().filter(|mutation| mutation.2 == preset.name);
        let bugs: Vec<_> = of_preset.map(|&(name, file, _, from, to)| Bug { name, file, from, to }).collect();
        mutations += bugs.len();
        if !bugs.is_empty() {
            assert_all_found(&job(&preset.params()), &bugs);
        }
    }
    assert_eq!(mutations, MUTATIONS.len(), "a preset is misspelt");
}

/// Corners of the parameters, as (`BLOCK_W`, `ROWS`, `HASHES`, `GROUP`, `IN_BLOCK`,
/// `MASKED`, `KEY_W`, `TAG_W`).
#[test]
fn corners_of_the_parameters_agree() {
    const CORNERS: [[u64; 8]; 6] = [
        [8, 2, 1, 1, 1, 0, 1, 1],
        [511, 3, 64, 1, 0, 0, 130, 32],
        [33, 33, 17, 17, 0, 0, 13, 32],
        [100, 7, 64, 2, 1, 1, 65, 31],
        [9, 257, 8, 8, 0, 1, 5, 8],
        [8, 5, 64, 16, 1, 0, 20, 2],
    ];
    let names = ["BLOCK_W", "ROWS", "HASHES", "GROUP", "IN_BLOCK", "MASKED", "KEY_W", "TAG_W"];
    for values in CORNERS {
        let params = names.iter().zip(values).fold(Params::new(), |p, (name, value)| p.with(name, value));
        let job = job(&params);
        let design = job.design().expect("legal");
        match job.run(&common::tools(), &design, Opt::Quick, None, &mut |_| {}).expect("built and run") {
            Outcome::Equal(report) => assert!(report.totals.responses > 500, "{params}: {report:?}"),
            Outcome::Different(failure) => panic!("{}", failure.describe(&job)),
        }
    }
}

//! The blocked core broken on purpose: co-simulation must notice every time, and
//! parameters that break a rule must stop elaboration in the rule's own words.
#![cfg(feature = "cosim")]

use membrane::{
    Core, Params,
    cosim::{Design, Job, Opt, Outcome, find_tools},
    params::sentinel,
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

fn blocked() -> &'static dyn Core {
    registry::find("blocked").expect("registered")
}

fn source(core: &dyn Core, file: &str) -> &'static str {
    core.rtl().iter().find(|f| f.name == file).expect("a file of the core").text
}

#[test]
fn every_mutation_is_found() {
    let (core, tools) = (blocked(), find_tools().expect("Verilator"));
    let mut survivors = Vec::new();
    for (what, file, preset, from, to) in MUTATIONS {
        let preset = core.presets().iter().find(|p| p.name == *preset).expect("a preset");
        let text = source(core, file);
        assert_eq!(text.matches(from).count(), 1, "{what}: the text has changed");
        let job = Job::new(core, &preset.params(), 1, 30_000).expect("legal");
        let design = job.design().expect("legal").with_source(file, &text.replace(from, to));
        let outcome = job.run(&tools, &design, Opt::Quick, None, &mut |_| {}).expect("built and run");
        if !matches!(outcome, Outcome::Different(_)) {
            survivors.push(what);
        }
    }
    assert!(survivors.is_empty(), "not found: {survivors:#?}");
}

/// What the mutations are compared with.
#[test]
fn without_a_mutation_nothing_differs() {
    let (core, tools) = (blocked(), find_tools().expect("Verilator"));
    for preset in core.presets() {
        let job = Job::new(core, &preset.params(), 2, 30_000).expect("legal");
        let design = job.design().expect("legal");
        match job.run(&tools, &design, Opt::Quick, None, &mut |_| {}).expect("built and run") {
            Outcome::Equal(report) => assert!(report.totals.responses > 2_000, "{}", preset.name),
            Outcome::Different(failure) => panic!("{}: {}", preset.name, failure.mismatch),
        }
    }
}

#[test]
fn broken_rules_stop_elaboration_in_the_same_words() {
    let (core, tools) = (blocked(), find_tools().expect("Verilator"));
    let good = core.check(&core.presets()[0].params()).expect("legal");
    let pins = core.clocked(&good).expect("legal").pins().clone();
    let broken: &[&[(&str, u64)]] = &[
        &[("BLOCK_W", 7)],
        &[("BLOCK_W", 513)],
        &[("ROWS", 1)],
        &[("ROWS", (1 << 26) + 1)],
        &[("HASHES", 0)],
        &[("HASHES", 65)],
        &[("GROUP", 0)],
        &[("GROUP", 65)],
        &[("IN_BLOCK", 2)],
        &[("MASKED", 2)],
        &[("KEY_W", 0)],
        &[("KEY_W", 1025)],
        &[("TAG_W", 0)],
        &[("TAG_W", 65)],
        &[("HASHES", 6), ("GROUP", 4)],
        &[("HASHES", 6), ("GROUP", 12)],
        &[("BLOCK_W", 8), ("HASHES", 5), ("IN_BLOCK", 1)],
    ];
    for values in broken {
        let params = values.iter().fold(good.clone(), |p: Params, (name, value)| p.with(name, *value));
        let refusal = core.check(&params).expect_err("broken").to_string();
        let words = refusal.split(" (got").next().expect("a rule");
        let error = Design::new(core, &params, &pins).build(&tools, Opt::Quick, false);
        let message = error.err().unwrap_or_else(|| panic!("{values:?} elaborates")).to_string();
        assert!(message.contains(&sentinel(words)), "{values:?}: {words}: {message}");
    }
}

//! Comparisons that cannot fail are worse than none: every bug here, put into the
//! RTL on purpose, must be found by co-simulation.

mod common;

use common::{bugs::Bug, tools};
use membrane::{
    Params,
    cosim::{Init, Job, Mismatch, Opt, Outcome, replay},
    registry,
    vectors::{Case, Recorded},
};

const CORE: &str = "membrane_partitioned.v";
const BUGS: &[Bug] = &[
    Bug {
        name: "wrong bank",
        file: CORE,
        from: "s2_index <= s1_index[b*HASHES*INDEX_W+:HASHES*INDEX_W];",
        to: "s2_index <= s1_index[((b+1)%BANKS)*HASHES*INDEX_W+:HASHES*INDEX_W];",
    },
    Bug {
        name: "memory answers a cycle late",
        file: "membrane_sram_1p.v",
        from: "          else rdata <= mem[addr];\n        end\n      end\n\n      wire unused",
        to: "          else late <= mem[addr];\n        end\n        rdata <= late;\n      end\n      reg [WIDTH-1:0] late;\n\n      wire unused",
    },
    Bug {
        name: "response a cycle late",
        file: CORE,
        from: "wire s2_step = s2_valid && (s3_free || !s2_hands_over);",
        to: "reg s2_old;\n  always @(posedge clk) s2_old <= s2_valid && !s2_step;\n  \
             wire s2_step = s2_valid && s2_old && (s3_free || !s2_hands_over);",
    },
    Bug {
        name: "dropped back-pressure",
        file: CORE,
        from: "wire rsp_free = !rsp_valid || rsp_ready;",
        to: "wire rsp_free = 1'b1 || rsp_ready;",
    },
    Bug {
        name: "back-pressure does not reach the requests",
        file: CORE,
        from: "wire s1_free = !s1_valid || s2_free;",
        to: "wire s1_free = 1'b1;",
    },
    Bug {
        name: "first row not cleared after reset",
        file: CORE,
        from: "      sweep <= (INIT == \"\");\n      row   <= {ROW_W{1'b0}};",
        to: "      sweep <= (INIT == \"\");\n      row   <= {{(ROW_W-1){1'b0}}, 1'b1};",
    },
    Bug {
        name: "CLEAR skips the last row",
        file: CORE,
        from: ".en   (bank_en),",
        to: ".en   (bank_en && !(row_step && row_last && !sweep)),",
    },
    Bug {
        name: "hash bit flipped",
        file: "membrane_hash_h3.v",
        from: "assign next[j] = CONSTANT[0] ^",
        to: "assign next[j] = CONSTANT[0] ^ (j == 3) ^",
    },
    Bug {
        name: "hash mask lost a bit",
        file: "membrane_hash_h3.v",
        from: "(^(mixed & MASK[KEY_W-1:0]));",
        to: "(^(mixed & MASK[KEY_W-1:0] & ~(j == 5 ? 64'h1000 : 64'h0)));",
    },
    Bug { name: "tag swapped", file: CORE, from: "rsp_tag    <= s3_tag;", to: "rsp_tag    <= s2_tag;" },
    Bug {
        name: "one bank left out of the answer",
        file: CORE,
        from: "s3_before && (&s3_set);",
        to: "s3_before && (&(s3_set | 1'b1));",
    },
    Bug {
        name: "earlier accesses left out of the answer",
        file: CORE,
        from: "wire all_set = s3_before && (&s3_set);",
        to: "wire all_set = (s3_before || 1'b1) && (&s3_set);",
    },
    Bug {
        name: "busy too early low",
        file: CORE,
        from: "sweep || s1_valid || s2_valid || s3_valid || rsp_valid;",
        to: "sweep || s1_valid || s2_valid || rsp_valid;",
    },
    Bug {
        name: "operation sampled outside the handshake",
        file: CORE,
        from: "    if (take) begin\n      s1_op  <= req_op;",
        to: "    if (s1_free || s1_valid) begin\n      s1_op  <= req_op;",
    },
    Bug {
        name: "REMOVE answers OK",
        file: CORE,
        from: "(s3_op == OP_REMOVE) ? STATUS_UNSUPPORTED : STATUS_OK;",
        to: "(s3_op == OP_REMOVE) ? STATUS_OK : STATUS_OK;",
    },
    Bug {
        name: "selection off at the top",
        file: "membrane_select.v",
        from: "assign index = product[FIELD_W+:INDEX_W];",
        to: "assign index = product[FIELD_W+:INDEX_W] - (&field[FIELD_W-1:2]);",
    },
    Bug { name: "reset leaves a request behind", file: CORE, from: "      s3_valid  <= 1'b0;\n", to: "" },
];

fn job() -> Job {
    let core = registry::find("partitioned").expect("registered");
    let params =
        Params::new().with("BANKS", 3).with("HASHES", 2).with("ROWS", 60).with("KEY_W", 20).with("TAG_W", 6);
    Job::new(core, &params, 1, 20_000).expect("legal")
}

#[test]
fn every_bug_is_found() {
    common::bugs::assert_all_found(&job(), BUGS);
}

const MIX_BUGS: &[Bug] = &[
    Bug {
        name: "mixing: a rotation too far",
        file: "membrane_mix.v",
        from: "^ {high[HIGH_W-3:0], high[HIGH_W-1:HIGH_W-2]};",
        to: "^ {high[HIGH_W-4:0], high[HIGH_W-1:HIGH_W-3]};",
    },
    Bug {
        name: "mixing: a round left out",
        file: "membrane_mix.v",
        from: "assign mixed = g_round[ROUNDS-1].to;",
        to: "assign mixed = g_round[ROUNDS-1].from;",
    },
];

/// An odd width, so that the halves of the key are not alike.
#[test]
fn every_bug_of_the_mixing_is_found() {
    let params = Params::new().with("BANKS", 3).with("ROWS", 64).with("KEY_W", 21).with("MIX", 3);
    let core = registry::find("partitioned").expect("registered");
    common::bugs::assert_all_found(&Job::new(core, &params, 1, 20_000).expect("legal"), MIX_BUGS);
}

/// With these parameters no pin ever shows it, and the sweep of a later reset clears the row
/// after all: only a comparison of the memories on the way finds it.
#[test]
fn a_row_that_is_right_again_at_the_end_is_found() {
    let params = Params::new().with("BANKS", 3).with("HASHES", 2).with("ROWS", 60).with("TAG_W", 6);
    let params = params.with("KEY_W", 21).with("MIX", 3);
    let job =
        Job::new(registry::find("partitioned").expect("registered"), &params, 1, 20_000).expect("legal");
    let bug = BUGS.iter().find(|bug| bug.name == "CLEAR skips the last row").expect("bug");
    let outcome = job.run(&tools(), &bug.design(&job), Opt::Quick, None, &mut |_| {}).expect("co-simulation");
    let Outcome::Different(failure) = outcome else { panic!("not noticed") };
    assert!(matches!(failure.short, Mismatch::Memory { .. }), "{}", failure.short);
}

/// The report of a mismatch has all that a stranger needs, and its vector is real:
/// it fails on the broken core and passes on the good one.
#[test]
fn a_mismatch_is_reported_with_a_short_vector_and_a_waveform() {
    let job = job();
    let bug = BUGS.iter().find(|bug| bug.name == "tag swapped").expect("bug");
    let design = bug.design(&job);
    let scratch = common::scratch();
    let folder = scratch.path().join("found");
    let outcome = job.run(&tools(), &design, Opt::Quick, Some(&folder), &mut |_| {}).expect("co-simulation");
    let Outcome::Different(failure) = outcome else { panic!("not noticed") };

    let Mismatch::Pins { pins, .. } = &failure.short else { panic!("{:?}", failure.short) };
    assert_eq!(pins[0].pin, "rsp_tag");
    assert_ne!(pins[0].expected, pins[0].actual);
    // 60 cycles are the sweep; two requests and their way through the pipeline remain.
    assert!(failure.short_cycles < 75, "{} cycles", failure.short_cycles);
    assert!(!failure.in_flight.is_empty());
    let text = failure.describe(&job);
    for part in [
        "membrane_partitioned",
        "BANKS=3",
        "rsp_tag expected 0x",
        "requests in flight",
        "reproduce: membrane cosim partitioned --set BANKS=3 --set HASHES=2 --set KEY_W=20 --set ROWS=60 --set \
         TAG_W=6 --seed 1 --cycles 20000",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }

    let wave = std::fs::read(folder.join("wave.fst")).expect("waveform");
    assert!(wave.len() > 500, "{} bytes", wave.len());
    let case = Case::read(&folder.join("case")).expect("case");
    for (design, expected) in [(design, true), (job.design().expect("legal"), false)] {
        let library = design.build(&tools(), Opt::Quick, false).expect("build");
        let mut rtl = library.power_up(Init::Random(1)).expect("instance");
        let found = replay(&mut Recorded::new(case.clone()), &mut rtl, &case.stimulus).expect("replay");
        assert_eq!(found.is_some(), expected);
    }
}

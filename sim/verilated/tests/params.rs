//! Parameters of the top module.

mod common;

use common::{design, tools};
use verilated::{Builder, Error, Init, Layout, Param};

fn top() -> Builder {
    let text = "module params #(
            parameter N = 1, parameter signed [63:0] S = 0, parameter [63:0] K = 0,
            parameter [127:0] C = 0, parameter NAME = \"\"
        ) (output [31:0] n, output [63:0] s, output [63:0] k, output [127:0] c, output is_fast, output [N-1:0] sized);
        assign n = N; assign s = S; assign k = K; assign c = C; assign is_fast = NAME == \"fast one\"; assign sized = 0;
    endmodule";
    design("params", text).combinational()
}

fn outputs(builder: &Builder) -> impl Fn(&str) -> Vec<u64> + use<> {
    let library = builder.build(&tools()).unwrap();
    let mut row = vec![0; library.outputs().words()];
    library.instantiate(Init::Zero).unwrap().run(1, &[], &mut row).unwrap();
    let layout = library.outputs().clone();
    move |name| Layout::get(&row, layout.pin(name).unwrap())
}

#[test]
fn whole_numbers_and_strings() {
    let wide = 0x1234_5678_9abc_def0_0fed_cba9_8765_4321_u128;
    let out = outputs(
        &top()
            .param("N", 17)
            .param("S", -5)
            .param("K", 0xdead_beef_0000_0001_u64)
            .param("C", wide)
            .param("NAME", "fast one"),
    );
    assert_eq!(out("n"), [17]);
    assert_eq!(out("s"), [(-5_i64).cast_unsigned()]);
    assert_eq!(out("k"), [0xdead_beef_0000_0001]);
    assert_eq!(out("c"), [wide as u64, (wide >> 64) as u64]);
    assert_eq!(out("is_fast"), [1]);
    assert_eq!(out("sized"), [0]);
}

#[test]
fn defaults_and_borders() {
    let out = outputs(&top());
    assert_eq!((out("n"), out("k"), out("is_fast")), (vec![1], vec![0], vec![0]));
    let out = outputs(&top().param("S", i64::MIN).param("K", u64::MAX).param("NAME", "slow"));
    assert_eq!((out("s"), out("k"), out("is_fast")), (vec![1 << 63], vec![u64::MAX], vec![0]));
    let out = outputs(&top().param("K", Param::Bits { width: 33, value: 1 << 32 }).param("N", 7_usize));
    assert_eq!((out("n"), out("k")), (vec![7], vec![1 << 32]));
}

#[test]
fn an_unknown_parameter_is_an_error() {
    let error = top().param("MISSING", 1).build(&tools()).unwrap_err();
    assert!(matches!(&error, Error::Verilator { message, .. } if message.contains("MISSING")), "{error}");
}

//! Messages for what goes wrong.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{cache_dir, design, tools};
use verilated::{Builder, Error, Source, Toolchain};

fn verilator_error(builder: &Builder) -> (String, String) {
    match builder.build(&tools()).unwrap_err() {
        Error::Verilator { message, command } => (message, command),
        other => panic!("{other}"),
    }
}

#[test]
fn a_syntax_error_carries_verilators_words() {
    let (message, command) =
        verilator_error(&design("bad", "module bad (input clk);\n  assign = 1;\nendmodule"));
    assert!(message.contains("%Error: bad.v:2:"), "the source by its own name: {message}");
    assert!(message.contains("syntax error"), "{message}");
    assert!(!message.contains("/tmp/build-"), "{message}");
    assert!(command.contains("--top-module bad"), "{command}");
    let builder = design("bad", "module bad (input clk);\n  assign = 1;\nendmodule");
    assert!(builder.build(&tools()).unwrap_err().to_string().contains("syntax error"));
}

#[test]
fn an_undefined_module_carries_verilators_words() {
    let text = "module outer (input clk); missing_part part (clk); endmodule";
    let (message, _) = verilator_error(&design("outer", text));
    assert!(message.contains("missing_part") && message.contains("outer.v:1"), "{message}");
    // The top module itself.
    let (message, _) = verilator_error(&design("nowhere", text));
    assert!(message.contains("nowhere"), "{message}");
}

#[test]
fn warnings_fail_only_when_asked() {
    let text = "module wide (input clk, input [7:0] a, output [3:0] y); assign y = a; endmodule";
    design("wide", text).build(&tools()).unwrap();
    let (message, _) = verilator_error(&design("wide", text).warnings_fatal(true));
    assert!(message.contains("%Warning-WIDTH"), "{message}");
}

#[test]
fn clocks_that_cannot_be() {
    let port_error = |builder: &Builder| match builder.build(&tools()).unwrap_err() {
        Error::Port(message) => message,
        other => panic!("{other}"),
    };
    let text = "module m (input [1:0] clk, input tick, output y); assign y = ^clk ^ tick; endmodule";
    assert!(port_error(&design("m", text)).contains("2 bits wide"));
    assert!(port_error(&design("m", text).clock("ck")).contains("no input ck"));
    assert!(port_error(&design("m", text).clock("y")).contains("no input y"));
    design("m", text).clock("tick").build(&tools()).unwrap();

    let text = "module pad (input clk, inout p); assign p = clk ? 1'b1 : 1'bz; endmodule";
    assert!(port_error(&design("pad", text)).contains("inout"));
}

#[test]
fn names_that_cannot_be() {
    let text = "module m (input clk); endmodule";
    for name in ["", "/abs.v", "../up.v", "a/../../b.v", "-o.v", "+x.v"] {
        let builder = Builder::new("m").source(Source::new(name, text)).cache_dir(cache_dir());
        assert!(matches!(builder.build(&tools()), Err(Error::Input(_))), "{name:?}");
    }
    let twice = design("m", text).source(Source::new("m.v", text)).build(&tools()).unwrap_err();
    assert_eq!(twice.to_string(), "there are two sources named \"m.v\"");
    let none = Builder::new("m").cache_dir(cache_dir()).build(&tools()).unwrap_err();
    assert!(none.to_string().contains("no source to compile"), "{none}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Source::read("no/such/file.v").unwrap_err();
    assert!(error.to_string().starts_with("no/such/file.v: "), "{error}");
    let this = Source::read(file!().rsplit_once("verilated/").map_or(file!(), |(_, rest)| rest)).unwrap();
    assert_eq!(this.name, "errors.rs");
}

/// Runs itself as a child with another environment: that of this process is
/// shared by all tests.
#[test]
fn missing_tools_say_what_to_install() {
    const CHILD: &str = "VERILATED_TEST_FIND";
    if std::env::var_os(CHILD).is_some() {
        let root = std::env::var_os("VERILATED_TEST_FIND_ROOT").map(PathBuf::from);
        match Toolchain::find(root.as_slice()) {
            Ok(tools) => println!("find: {}", tools.describe()),
            Err(error) => println!("find: {error}"),
        }
        return;
    }
    let find = |vars: &[(&str, &str)]| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "missing_tools_say_what_to_install", "--nocapture"]).env(CHILD, "1");
        for name in ["VERILATOR", "VERILATOR_ROOT", "CXX"] {
            command.env_remove(name);
        }
        let output = command.envs(vars.iter().copied()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let at = text.find("find: ").expect("the child has run the test") + "find: ".len();
        text[at..].lines().next().unwrap().to_owned()
    };
    let tools = tools();
    let verilator = tools.path().to_str().unwrap();
    let line = find(&[("PATH", "/nonexistent")]);
    assert!(line.starts_with("no Verilator 5.006 or later found: install verilator"), "{line}");
    let line = find(&[("PATH", "/nonexistent"), ("VERILATOR", verilator)]);
    assert_eq!(line, "no C++ compiler found: install g++ (Debian: apt-get install g++) or set CXX");
    let line = find(&[("VERILATOR", "/nonexistent/verilator")]);
    assert_eq!(line, "$VERILATOR is /nonexistent/verilator, which does not exist");
    let line = find(&[("VERILATOR", verilator), ("CXX", "no-such-compiler")]);
    assert_eq!(line, "$CXX is no-such-compiler, which cannot be run");
    let line = find(&[("VERILATOR", verilator)]);
    assert_eq!(line, tools.describe());
    let line = find(&[("PATH", "/nonexistent"), ("VERILATED_TEST_FIND_ROOT", "/nonexistent")]);
    assert!(line.contains("/nonexistent/bin/verilator_bin does not exist"), "{line}");
}

#[test]
#[cfg(unix)]
fn an_old_verilator_on_the_path_is_passed_over() {
    use std::os::unix::fs::PermissionsExt;
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("old-verilator");
    for sub in ["bin", "include"] {
        std::fs::create_dir_all(dir.join(sub)).unwrap();
    }
    for header in
        ["verilated.h", "verilated.cpp", "verilated_funcs.h", "verilated_types.h", "verilated_config.h"]
    {
        std::fs::write(dir.join("include").join(header), "").unwrap();
    }
    let exe = dir.join("bin/verilator_bin");
    std::fs::write(&exe, "#!/bin/sh\necho 'Verilator 4.038 2020-07-11 rev v4.038'\n").unwrap();
    std::fs::set_permissions(&exe, PermissionsExt::from_mode(0o755)).unwrap();

    let error = Toolchain::find(&[dir.clone()]);
    match error {
        // Nothing newer installed on this machine.
        Err(error) => assert!(error.to_string().contains("is version 4.038, too old"), "{error}"),
        Ok(found) => assert_ne!(found.path(), exe),
    }
}

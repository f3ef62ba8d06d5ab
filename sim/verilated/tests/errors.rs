//! Messages for what goes wrong.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{cache_dir, design, temp_dir, tools};
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

const FIND: &str = "VERILATED_TEST_FIND";

/// Looks for the tools in a process of its own with these variables, since the
/// environment of this one is shared by all tests, and returns what `find` or,
/// with `build`, a build said.
fn find_with(build: bool, vars: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "missing_tools_say_what_to_install", "--nocapture"]);
    for name in ["VERILATOR", "VERILATOR_ROOT", "CXX"] {
        command.env_remove(name);
    }
    command.env(FIND, if build { "build" } else { "find" }).envs(vars.iter().copied());
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let (_, said) = text.split_once("said: ").expect("the child has run the test");
    said.split_once(" :end").unwrap().0.to_owned()
}

fn child(what: &str) {
    let root = std::env::var_os("VERILATED_TEST_FIND_ROOT").map(PathBuf::from);
    let said = Toolchain::find(root.as_slice()).and_then(|tools| {
        if what == "build" {
            let text = common::nonce() + "module m (input clk); endmodule";
            design("m", &text).build(&tools)?;
        }
        Ok(tools.describe())
    });
    println!("said: {} :end", said.unwrap_or_else(|error| error.to_string()));
}

#[test]
fn missing_tools_say_what_to_install() {
    if let Ok(what) = std::env::var(FIND) {
        return child(&what);
    }
    let find = |vars: &[(&str, &str)]| find_with(false, vars);
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

#[cfg(unix)]
fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
#[cfg(unix)]
fn an_old_verilator_on_the_path_is_passed_over() {
    let dir = temp_dir();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    std::fs::create_dir_all(old.join("include")).unwrap();
    for header in ["verilated.h", "verilated_config.h"] {
        std::fs::write(old.join("include").join(header), "").unwrap();
    }
    script(&old.join("bin/verilator_bin"), "#!/bin/sh\necho 'Verilator 4.038 2020-07-11 rev v4.038'\n");
    // An extra root made of the Verilator that the tests use.
    let tools = tools();
    let prefix = tools.path().ancestors().nth(2).unwrap();
    let include = ["include", "share/verilator/include"].map(|dir| prefix.join(dir));
    let include = include.iter().find(|dir| dir.join("verilated.h").is_file()).unwrap();
    std::fs::create_dir_all(new.join("bin")).unwrap();
    std::os::unix::fs::symlink(include, new.join("include")).unwrap();
    std::os::unix::fs::symlink(tools.path(), new.join("bin/verilator_bin")).unwrap();

    let path = format!("{}:/usr/bin:/bin", old.join("bin").display());
    let (path, new) = (path.as_str(), new.to_str().unwrap());
    // Alone it is refused, by name; with a newer one at hand that is taken.
    let only_old = [("PATH", old.join("bin").to_str().unwrap().to_owned())];
    let line = find_with(false, &only_old.each_ref().map(|(k, v)| (*k, v.as_str())));
    assert!(line.contains("old/bin/verilator_bin is version 4.038, too old"), "{line}");
    let line = find_with(true, &[("PATH", path), ("VERILATED_TEST_FIND_ROOT", new)]);
    assert!(line.starts_with(&format!("Verilator {}", tools.version())), "{line}");
}

#[test]
#[cfg(unix)]
fn a_failing_compiler_carries_its_words() {
    let dir = temp_dir();
    let cxx = dir.path().join("broken++");
    let text = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'broken++ 1.0' && exit\n\
        echo 'out of patience' >&2\nexit 1\n";
    script(&cxx, text);
    let tools = tools();
    let vars = [("VERILATOR", tools.path().to_str().unwrap()), ("CXX", cxx.to_str().unwrap())];
    assert!(find_with(false, &vars).ends_with(", broken++ 1.0"));
    let said = find_with(true, &vars);
    assert!(said.starts_with("C++ compiler failed:\nout of patience\ncommand: "), "{said}");
    assert!(said.contains("broken++ "), "{said}");
}

//! The cache: hits, misses, concurrent builds, and damage.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{cache_dir, design, nonce, temp_dir, tools};
use verilated::{Builder, Init, Library, Opt};

const BODY: &str = "module add #(parameter N = 1) (input clk, input [7:0] a, output [7:0] y);
    assign y = a + N;
endmodule\n";

/// A design that no run before has built.
fn fresh() -> Builder {
    design("add", &(nonce() + BODY))
}

fn y(library: &Library) -> u64 {
    let mut output = [0];
    library.instantiate(Init::Zero).unwrap().run(1, &[10], &mut output).unwrap();
    output[0]
}

fn entry(library: &Library) -> &Path {
    library.path().parent().unwrap()
}

#[test]
fn second_build_is_a_hit_and_any_change_a_miss() {
    let tools = tools();
    let base = fresh();
    let first = base.build(&tools).unwrap();
    assert!(!first.from_cache());
    let second = base.build(&tools).unwrap();
    assert!(second.from_cache());
    assert_eq!(
        (first.path(), first.inputs(), first.outputs()),
        (second.path(), second.inputs(), second.outputs())
    );
    assert!(second.build_time() < first.build_time());
    assert_eq!((y(&first), y(&second)), (11, 11));

    let param = base.clone().param("N", 5).build(&tools).unwrap();
    let source = fresh().build(&tools).unwrap();
    let order = base.clone().input_order(["a"]).build(&tools).unwrap();
    let opt = base.clone().optimize(Opt::Fast).build(&tools).unwrap();
    let trace = base.clone().trace(true).build(&tools).unwrap();
    let mut paths: Vec<_> = [&first, &param, &source, &order, &opt, &trace].map(Library::path).to_vec();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 6);
    assert!([&param, &source, &order, &opt, &trace].iter().all(|l| !l.from_cache()));
    assert_eq!(y(&param), 15);
    assert!(base.build(&tools).unwrap().from_cache());
}

#[test]
fn threads_building_the_same_model_build_it_once() {
    let (tools, base) = (tools(), fresh());
    let built: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| base.build(&tools).unwrap())).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(built.iter().filter(|l| !l.from_cache()).count(), 1);
    assert!(built.iter().all(|l| y(l) == 11));
}

/// Runs itself in two more processes, which build the same model.
#[test]
fn processes_building_the_same_model_build_it_once() {
    const CHILD: &str = "VERILATED_TEST_CHILD";
    if let Ok(text) = std::env::var(CHILD) {
        let library = design("add", &text).build(&tools()).unwrap();
        println!("child: from_cache={} y={}", library.from_cache(), y(&library));
        return;
    }
    let text = nonce() + BODY;
    let children: Vec<_> = (0..2)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "processes_building_the_same_model_build_it_once", "--nocapture"])
                .env(CHILD, &text)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut printed: Vec<String> = children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            let text = String::from_utf8(output.stdout).unwrap();
            let at = text.find("child: ").expect("the child has run the test");
            text[at..].lines().next().unwrap().to_owned()
        })
        .collect();
    printed.sort();
    assert_eq!(printed, ["child: from_cache=false y=11", "child: from_cache=true y=11"]);
}

#[test]
fn a_killed_build_leaves_nothing_that_is_taken() {
    let tools = tools();
    let base = fresh();
    let key_dir = entry(&base.build(&tools).unwrap()).to_owned();
    // As if killed before the rename: a half-done folder, and no entry.
    fs::remove_dir_all(&key_dir).unwrap();
    let abandoned = cache_dir().join("tmp").join(format!("build-killed-{}", std::process::id()));
    fs::create_dir_all(abandoned.join("gen")).unwrap();
    fs::write(abandoned.join("gen/model.so"), "half").unwrap();
    let again = base.build(&tools).unwrap();
    assert!(!again.from_cache());
    assert_eq!(y(&again), 11);
    assert!(abandoned.exists(), "young: it might belong to a build under way");

    // Once it is older than a day, the next build removes it.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    fs::File::open(&abandoned).unwrap().set_modified(old).unwrap();
    fresh().build(&tools).unwrap();
    assert!(!abandoned.exists());
}

/// Damages the entry of a fresh model and checks that it is built anew.
fn rebuilt_after(damage: impl FnOnce(&Path)) {
    let tools = tools();
    let base = fresh();
    let first = base.build(&tools).unwrap();
    let dir = entry(&first).to_owned();
    drop(first);
    damage(&dir);
    let again = base.build(&tools).unwrap();
    assert!(!again.from_cache());
    assert_eq!(y(&again), 11);
    assert!(base.build(&tools).unwrap().from_cache());
}

#[test]
fn a_truncated_library_is_rebuilt() {
    rebuilt_after(|dir| {
        let path = dir.join("model.so");
        let content = fs::read(&path).unwrap();
        fs::write(&path, &content[..content.len() / 2]).unwrap();
    });
}

#[test]
fn a_flipped_bit_is_found() {
    rebuilt_after(|dir| {
        let path = dir.join("model.so");
        let mut content = fs::read(&path).unwrap();
        let middle = content.len() / 2;
        content[middle] ^= 1;
        fs::write(&path, content).unwrap();
    });
}

#[test]
fn a_broken_manifest_is_rebuilt() {
    rebuilt_after(|dir| fs::write(dir.join("manifest.json"), "{ \"top\": ").unwrap());
}

#[test]
fn an_empty_entry_is_rebuilt() {
    rebuilt_after(|dir| {
        fs::remove_file(dir.join("model.so")).unwrap();
        fs::remove_file(dir.join("manifest.json")).unwrap();
    });
}

#[test]
fn a_damaged_runtime_library_is_recompiled() {
    // A cache of its own: the other tests use the shared one meanwhile.
    let dir = temp_dir();
    let tools = tools();
    fresh().cache_dir(dir.path()).build(&tools).unwrap();
    let mut damaged = 0;
    for variant in fs::read_dir(dir.path().join("runtime")).unwrap() {
        for object in fs::read_dir(variant.unwrap().path()).unwrap() {
            fs::write(object.unwrap().path(), "not an object").unwrap();
            damaged += 1;
        }
    }
    assert!(damaged >= 2);
    assert_eq!(y(&fresh().cache_dir(dir.path()).build(&tools).unwrap()), 11);
}

#[test]
fn an_unwritable_cache_is_reported() {
    let dir = temp_dir();
    let file = dir.path().join("unwritable");
    fs::write(&file, "").unwrap();
    let error = fresh().cache_dir(file.join("cache")).build(&tools()).unwrap_err();
    assert!(error.to_string().contains("unwritable"), "{error}");
}

//! Commands that write: killed at any time they leave what was there or what is new, and where
//! they cannot write they say so and leave nothing.
#![cfg(all(unix, feature = "cli"))]

mod common;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use membrane::hash::SplitMix64;

const MEMBRANE: &str = env!("CARGO_BIN_EXE_membrane");

/// A command that writes, for one of two contents.
struct Writer {
    name: &'static str,
    args: fn(content: u32, out: &str) -> Vec<String>,
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Every command that writes files, on files small enough for many runs.
fn writers() -> Vec<Writer> {
    vec![
        Writer {
            name: "vectors",
            args: |content, out| {
                words(&format!("vectors blocked --preset tiny --cycles 6000 --seed {content} --out {out}"))
            },
        },
        Writer {
            name: "export",
            args: |content, out| {
                words(&format!("export blocked --preset tiny --cycles 6000 --seed {content} --out {out}"))
            },
        },
        Writer {
            name: "image",
            args: |content, out| {
                words(&format!("image build partitioned --preset k7 --insert keys{content} --out {out}"))
            },
        },
        Writer {
            name: "report",
            args: |content, out| words(&format!("report --repro repro{content}.json --out {out}")),
        },
        Writer {
            name: "emulate",
            args: |content, out| {
                words(&format!("emulate partitioned --preset k7 --trace keys{content} --svg {out}"))
            },
        },
    ]
}

/// A folder with what the commands read.
fn inputs() -> tempfile::TempDir {
    let scratch = common::scratch();
    for content in 1..3 {
        let keys: Vec<_> = (0..20_000).map(|n| (n * content).to_string()).collect();
        fs::write(scratch.path().join(format!("keys{content}")), keys.join("\n")).expect("written");
        let repro = format!(r#"{{"effort": "{}", "papers": []}}"#, ["quick", "full"][content - 1]);
        fs::write(scratch.path().join(format!("repro{content}.json")), repro).expect("written");
    }
    scratch
}

/// All files of a file or folder, by name.
fn content(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        match fs::read_dir(&path) {
            Ok(entries) => left.extend(entries.map(|entry| entry.expect("an entry").path())),
            Err(_) => {
                if let Ok(bytes) = fs::read(&path) {
                    all.insert(path, bytes);
                }
            }
        }
    }
    all
}

/// What temporary files and folders are called.
fn leftovers(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

fn command(folder: &Path, args: &[String]) -> Command {
    let mut command = Command::new(MEMBRANE);
    command.args(args).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn run(folder: &Path, args: &[String]) {
    let output = command(folder, args).output().expect("runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// How often each command is killed. `MEMBRANE_KILLS=500` for a long run.
fn kills() -> u32 {
    std::env::var("MEMBRANE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12)
}

/// The old content or the new one, never half of either and never neither, whenever the command
/// is killed.
#[test]
fn killed_commands_leave_old_or_new() {
    let mut rng = SplitMix64::new(std::process::id().into());
    for Writer { name, args } in writers() {
        let scratch = inputs();
        let out = scratch.path().join("out");
        let args = [args(1, "out"), args(2, "out")];
        run(scratch.path(), &args[1]);
        let new = content(&out);
        let start = Instant::now();
        run(scratch.path(), &args[0]);
        let whole = start.elapsed();
        let contents = [content(&out), new];
        assert_ne!(contents[0], contents[1], "{name}: the contents must differ");

        let mut now = 0;
        let mut seen = [0, 0];
        for _ in 0..kills() {
            let mut child = command(scratch.path(), &args[1 - now]).spawn().expect("starts");
            // Most of them near the end, where it writes.
            let share = 1.0 - (rng.below(1000) as f64 / 1000.0).powi(2) * 0.9;
            sleep(whole.mul_f64(share * 1.05));
            child.kill().expect("killed, or over");
            child.wait().expect("over");
            let found = content(&out);
            let which = contents.iter().position(|content| *content == found);
            let which = which.unwrap_or_else(|| panic!("{name}: neither old nor new: {:?}", found.keys()));
            seen[usize::from(which != now)] += 1;
            now = which;
        }
        println!("{name}: killed {} times, {} old, {} new", kills(), seen[0], seen[1]);
        // Whatever was left behind is in nobody's way.
        run(scratch.path(), &args[now]);
        assert_eq!(content(&out), contents[now], "{name}");
    }
}

/// Standard error of a command that must fail, which names `path` and changes nothing in `folder`.
fn refused(output: &Output, path: &str, folder: &Path, before: &BTreeMap<PathBuf, Vec<u8>>) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.starts_with("error: ") && text.contains(path), "{text}");
    assert_eq!(leftovers(folder), Vec::<String>::new(), "{text}");
    assert_eq!(content(folder), *before, "{text}");
    text
}

/// A file that becomes too large stands for a full disk: both end a write in its middle.
#[test]
fn a_full_disk_is_named_and_changes_nothing() {
    for Writer { name, args } in writers() {
        let scratch = inputs();
        run(scratch.path(), &args(1, "out"));
        let before = content(scratch.path());
        // Without the trap the signal would end the program.
        let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"";
        let output = Command::new("sh")
            .args(["-c", script, MEMBRANE])
            .args(args(2, "out"))
            .current_dir(scratch.path())
            .output()
            .expect("sh");
        let text = refused(&output, "out: cannot be written", scratch.path(), &before);
        assert!(text.contains("File too large") && text.contains("ulimit -f"), "{name}: {text}");
    }
}

#[test]
fn read_only_folders_are_named_and_left_alone() {
    for Writer { name, args } in writers() {
        let scratch = inputs();
        let locked = scratch.path().join("locked");
        fs::create_dir(&locked).expect("made");
        // Nothing is read-only to root: the command runs as somebody else, from a place that
        // everybody may read.
        let program = scratch.path().join("membrane");
        fs::copy(MEMBRANE, &program).expect("copied");
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).expect("set");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).expect("set");
        let before = content(&locked);
        let mut command = Command::new(&program);
        command.args(args(2, "locked/out")).current_dir(scratch.path());
        if fs::write(locked.join("probe"), "").is_ok() {
            fs::remove_file(locked.join("probe")).expect("removed");
            command.uid(65_534);
        }
        let output = command.output().expect("runs");
        let text = refused(&output, "locked/out: cannot be written", &locked, &before);
        assert!(text.contains("choose a folder that you may write to"), "{name}: {text}");
    }
}

/// Output that goes to a full disk by redirection.
#[test]
fn standard_output_on_a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        println!("SKIPPED: no /dev/full here");
        return;
    }
    for args in
        ["list", "list --json", "size --keys 1000 --fpr 0.01", "vectors blocked --preset tiny --inline"]
    {
        let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let output = Command::new(MEMBRANE).args(words(args)).stdout(full).output().expect("runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args}: {text}");
        assert!(text.contains("error: standard output: No space left"), "{args}: {text}");
    }
}

/// A build of a Verilated core that is killed leaves nothing that a later one trips over.
#[cfg(feature = "cosim")]
#[test]
fn the_model_cache_survives_kills() {
    common::tools();
    let scratch = common::scratch();
    let cosim = || {
        let mut command = Command::new(MEMBRANE);
        command.args(words("cosim blocked --preset tiny --cycles 2000"));
        command.env("VERILATED_CACHE", scratch.path()).current_dir(env!("CARGO_MANIFEST_DIR"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let models = || fs::read_dir(scratch.path().join("models")).map_or(0, Iterator::count);
    for wait in [50, 400, 900, 1600] {
        let mut child = cosim().spawn().expect("starts");
        sleep(Duration::from_millis(wait));
        child.kill().expect("killed, or over");
        child.wait().expect("over");
    }
    let output = cosim().output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(models(), 1);
}

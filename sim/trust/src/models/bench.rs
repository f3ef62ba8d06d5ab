//! A copy of the workspace to make faults in.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, bail};

use super::{Edit, tests_of};

/// Tests that look at every model, whatever its core.
const TESTS: [&str; 4] = ["vectors", "models", "paths", "corners"];
/// Without the command line, which takes longest to build.
const TESTED: [&str; 8] =
    ["test", "--quiet", "--locked", "-p", "membrane-rtl", "--no-default-features", "--features", "cosim"];
/// A fault may make a model wait or allocate for ever: seconds that a build, the recordings and a group of tests
/// may take, and kilobytes.
const BUILD: &str = "1800";
const RECORD: &str = "120";
const TEST: &str = "600";
const KILOBYTES: &str = "12000000";
/// What of the workspace is not copied: what was built, and the tools.
const NOT_COPIED: [&str; 4] = ["target", ".git", ".tools", "mismatch"];

/// What became of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It does not compile, so it is no mutant.
    Refused,
    /// The models answer otherwise: the first recording that differs, or a panic.
    Differs(String),
    /// A test fails.
    Fails(String),
    /// Nobody noticed.
    Survived,
}

/// The copy. See the module.
pub struct Bench {
    root: PathBuf,
    target: PathBuf,
    expected: PathBuf,
    /// Options of `recordings` in every run.
    stimulus: [String; 2],
}

impl Bench {
    /// Copies the workspace into `folder`, builds it and records what models without fault answer in `cycles`
    /// cycles.
    pub fn new(folder: &Path, seed: u64, cycles: u64) -> Result<Self> {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let folder = folder.canonicalize()?;
        let bench = Self {
            root: folder.join("work"),
            target: folder.join("build"),
            expected: folder.join("recordings.txt"),
            stimulus: [format!("--seed={seed}"), format!("--cycles={cycles}")],
        };
        copy(&original, &bench.root)?;
        let tools = bench.root.join(".tools");
        if cfg!(unix) && !tools.exists() && original.join(".tools").exists() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(original.join(".tools"), &tools)?;
        }
        let built = bench.build()?;
        if !built.status.success() {
            bail!("the models do not build: {}", String::from_utf8_lossy(&built.stderr));
        }
        if bench.expected.exists() {
            fs::remove_file(&bench.expected)?;
        }
        let recorded = bench.record("")?;
        if !recorded.status.success() {
            bail!("the models do not run: {}", String::from_utf8_lossy(&recorded.stderr));
        }
        fs::write(&bench.expected, &recorded.stdout)?;
        Ok(bench)
    }

    /// Runs all tests of a group without a fault, or fails: they would kill everything.
    pub fn check_tests(&self, group: &str) -> Result<()> {
        match self.test(group)? {
            Some(failed) => bail!("without any fault {failed} fails"),
            None => Ok(()),
        }
    }

    /// Makes an edit, looks whether the models of a group answer otherwise, and takes it back.
    pub fn judge(&self, group: &str, edit: &Edit) -> Result<Fate> {
        self.with(edit, || {
            if !self.build()?.status.success() {
                return Ok(Fate::Refused);
            }
            let recorded = self.record(if group == "shared" { "" } else { group })?;
            if recorded.status.success() {
                return Ok(Fate::Survived);
            }
            let error = String::from_utf8_lossy(&recorded.stderr);
            let first = error.lines().find(|line| !line.trim().is_empty()).unwrap_or("no answer in time");
            Ok(Fate::Differs(first.to_owned()))
        })
    }

    /// Makes an edit, runs the tests of a group, and takes it back.
    pub fn judge_by_tests(&self, group: &str, edit: &Edit) -> Result<Fate> {
        self.with(edit, || Ok(self.test(group)?.map_or(Fate::Survived, Fate::Fails)))
    }

    fn with(&self, edit: &Edit, try_it: impl FnOnce() -> Result<Fate>) -> Result<Fate> {
        let path = self.root.join("src").join(&edit.file);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        fs::write(&path, edit.apply(&text))?;
        let fate = try_it();
        fs::write(&path, text)?;
        fate
    }

    fn build(&self) -> Result<Output> {
        self.run(
            BUILD,
            "cargo",
            &["build", "--quiet", "--locked", "-p", "membrane-trust", "--bin", "recordings"],
        )
    }

    /// Records the sets of a core, up to the first that is not as expected where that is known.
    fn record(&self, only: &str) -> Result<Output> {
        let program = self.target.join("debug/recordings").display().to_string();
        let [seed, cycles] = &self.stimulus;
        let only = format!("--only={only}");
        let expected = format!("--expect={}", self.expected.display());
        let mut args = vec![&*only, &**seed, &**cycles];
        if self.expected.exists() {
            args.push(&expected);
        }
        self.run(RECORD, &program, &args)
    }

    /// The first test that fails.
    fn test(&self, group: &str) -> Result<Option<String>> {
        let files =
            |names: &[&'static str]| names.iter().flat_map(|name| ["--test", *name]).collect::<Vec<_>>();
        for part in [files(&TESTS), files(tests_of(group)), vec!["--lib"]] {
            let args = [&TESTED[..], &part[..]].concat();
            self.run(BUILD, "cargo", &[&args[..], &["--no-run"]].concat())?;
            let output = self.run(TEST, "cargo", &args)?;
            if !output.status.success() {
                let text = String::from_utf8_lossy(&output.stdout);
                let failed =
                    text.lines().find_map(|line| line.strip_prefix("---- ")?.strip_suffix(" stdout ----"));
                return Ok(Some(format!("test {}", failed.unwrap_or("without an end"))));
            }
        }
        Ok(None)
    }

    fn run(&self, seconds: &str, program: &str, args: &[&str]) -> Result<Output> {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v $0; exec timeout \"$@\"", KILOBYTES, seconds, program])
            .args(args)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_PROFILE_DEV_DEBUG", "none")
            // The same random tests for every fault.
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        command.output().with_context(|| format!("{program} does not start"))
    }
}

/// Copies what differs, so that only that is built again, and removes what is gone.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let names = |folder: &Path| -> Result<Vec<_>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let name = entry?.file_name();
            if !NOT_COPIED.iter().any(|other| name == *other) {
                names.push(name);
            }
        }
        Ok(names)
    };
    for name in names(from)? {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy(&from, &to)?;
        } else {
            let content = fs::read(&from)?;
            if fs::read(&to).ok().as_ref() != Some(&content) {
                fs::write(&to, content)?;
            }
        }
    }
    for name in names(to)? {
        if !from.join(&name).exists() {
            let gone = to.join(&name);
            if gone.is_dir() { fs::remove_dir_all(gone)? } else { fs::remove_file(gone)? }
        }
    }
    Ok(())
}

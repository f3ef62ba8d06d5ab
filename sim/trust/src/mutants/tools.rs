//! Yosys and ABC, run in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// `$variable`, `name` on the PATH, or what `make setup` installed at `installed`.
fn find(variable: &str, name: &str, installed: &str, try_with: &[&str]) -> Result<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools").join(installed);
    let named = std::env::var_os(variable).map(PathBuf::from);
    for candidate in named.into_iter().chain([PathBuf::from(name), installed]) {
        let found = Command::new(&candidate).args(try_with).output();
        if found.is_ok_and(|output| output.status.success()) {
            return Ok(candidate);
        }
    }
    bail!("no {name}: run `make setup`, or name one in ${variable}")
}

/// Waits for the end of a command; `None` when it was ended after `limit`.
fn wait(command: &mut Command, limit: Duration) -> Result<Option<ExitStatus>> {
    let name = command.get_program().display().to_string();
    let mut child = command.stderr(Stdio::null()).spawn().context(name)?;
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Reads Verilog, makes netlists, mutates them.
#[derive(Clone, Debug)]
pub struct Yosys(PathBuf);

impl Yosys {
    /// `$YOSYS`, `yosys` on the PATH, or the installed one.
    pub fn find() -> Result<Self> {
        Ok(Self(find("YOSYS", "yosys", "bin/yosys", &["-V"])?))
    }

    /// Runs a script in `folder`, which holds all its files: a Yosys from a wheel sees no
    /// others.
    pub fn run(&self, folder: &Path, name: &str, script: &str) -> Result<()> {
        let (file, log) = (format!("{name}.ys"), format!("{name}.log"));
        fs::write(folder.join(&file), script).with_context(|| folder.join(&file).display().to_string())?;
        let mut command = Command::new(&self.0);
        command.current_dir(folder).args(["-q", "-l", &log, &file]).stdout(Stdio::null());
        let status = wait(&mut command, Duration::MAX)?;
        if status.is_none_or(|status| !status.success()) {
            let path = folder.join(&log);
            let text = fs::read_to_string(&path).unwrap_or_default();
            let error = text.lines().find(|line| line.starts_with("ERROR")).unwrap_or("no reason given");
            bail!("Yosys failed, see {}: {error}", path.display());
        }
        Ok(())
    }
}

/// Proves.
#[derive(Clone, Debug)]
pub struct Abc(PathBuf);

impl Abc {
    /// `$ABC`, `berkeley-abc` on the PATH, or the installed one.
    pub fn find() -> Result<Self> {
        Ok(Self(find("ABC", "berkeley-abc", "abc/usr/bin/berkeley-abc", &["-c", "version"])?))
    }

    /// Runs commands in `folder`, and returns what it wrote until it was done or out of time.
    pub fn run(&self, folder: &Path, name: &str, commands: &str, limit: Duration) -> Result<String> {
        let path = folder.join(format!("{name}.log"));
        let log = fs::File::create(&path).with_context(|| path.display().to_string())?;
        wait(Command::new(&self.0).current_dir(folder).args(["-c", commands]).stdout(log), limit)?;
        Ok(fs::read_to_string(&path)?)
    }
}

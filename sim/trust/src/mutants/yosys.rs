//! Yosys, run in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// The program.
#[derive(Clone, Debug)]
pub struct Yosys(PathBuf);

impl Yosys {
    /// `$YOSYS`, one on the PATH, or the one that `make setup` installed.
    pub fn find() -> Result<Self> {
        let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/bin/yosys");
        let named = std::env::var_os("YOSYS").map(PathBuf::from);
        let candidates = named.into_iter().chain([PathBuf::from("yosys"), installed]);
        for candidate in candidates {
            let found = Command::new(&candidate).arg("-V").output();
            if found.is_ok_and(|output| output.status.success()) {
                return Ok(Self(candidate));
            }
        }
        bail!("no Yosys: run `make setup`, or name one in $YOSYS")
    }

    /// Runs a script in `folder`, which holds all its files: a Yosys from a wheel sees no
    /// others. Returns the log.
    pub fn run(&self, folder: &Path, name: &str, script: &str) -> Result<String> {
        Ok(self.run_within(folder, name, script, Duration::MAX)?.expect("there is time"))
    }

    /// The same; `None` when it took longer than `limit`. The solver's own limit does not work
    /// in every build of Yosys.
    pub fn run_within(
        &self,
        folder: &Path,
        name: &str,
        script: &str,
        limit: Duration,
    ) -> Result<Option<String>> {
        let (file, log) = (format!("{name}.ys"), format!("{name}.log"));
        fs::write(folder.join(&file), script).with_context(|| format!("{}", folder.join(&file).display()))?;
        let mut child = Command::new(&self.0)
            .current_dir(folder)
            .args(["-q", "-l", &log, &file])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| self.0.display().to_string())?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > limit {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(10));
        };
        let path = folder.join(&log);
        let text = fs::read_to_string(&path).unwrap_or_default();
        if !status.success() {
            let error = text.lines().find(|line| line.starts_with("ERROR")).unwrap_or("no reason given");
            bail!("Yosys failed, see {}: {error}", path.display());
        }
        Ok(Some(text))
    }
}

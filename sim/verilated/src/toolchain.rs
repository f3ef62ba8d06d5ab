//! Finding Verilator and a C++ compiler.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::Error;

/// The oldest Verilator that the generated code is known to work with.
const OLDEST: (u32, u32) = (5, 6);

/// Which Verilator and which C++ compiler are used.
///
/// ```no_run
/// let tools = verilated::Toolchain::find(&["third_party/verilator".into()])?;
/// println!("{}", tools.describe());
/// # Ok::<(), verilated::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Toolchain {
    verilator: Verilator,
    cxx: Cxx,
}

#[derive(Clone, Debug)]
struct Verilator {
    exe: PathBuf,
    root: PathBuf,
    version: String,
    number: (u32, u32),
    /// Hash of the banner and the run-time library's sources: builds of one
    /// version number may differ.
    fingerprint: String,
}

#[derive(Clone, Debug)]
struct Cxx {
    exe: PathBuf,
    /// First line of `--version`.
    banner: String,
}

impl Toolchain {
    /// Looks for the tools.
    ///
    /// Verilator: the executable that `$VERILATOR` names; else the first
    /// `verilator_bin` or `verilator` on `PATH` that is new enough; else the
    /// first of `extra_roots` that is. An extra root is a folder with
    /// `bin/verilator_bin` and `include`, which becomes `VERILATOR_ROOT`.
    ///
    /// C++ compiler: the one that `$CXX` names; else `g++`, `c++` or `clang++`
    /// on `PATH`.
    ///
    /// # Errors
    /// [`Error::Toolchain`] says in one line what is missing and how to install it.
    pub fn find(extra_roots: &[PathBuf]) -> Result<Self, Error> {
        Ok(Self { verilator: find_verilator(extra_roots)?, cxx: find_cxx()? })
    }

    /// Verilator's version, such as `"5.006"`.
    pub fn version(&self) -> &str {
        &self.verilator.version
    }

    /// The Verilator executable that is run.
    pub fn path(&self) -> &Path {
        &self.verilator.exe
    }

    /// One line for logs: versions and paths.
    pub fn describe(&self) -> String {
        format!(
            "Verilator {} ({}), {}",
            self.verilator.version,
            self.verilator.exe.display(),
            short_banner(&self.cxx)
        )
    }

    pub(crate) fn at_least(&self, major: u32, minor: u32) -> bool {
        self.verilator.number >= (major, minor)
    }

    /// The folder with `verilated.h` and the run-time library's sources.
    pub(crate) fn include_dir(&self) -> PathBuf {
        self.verilator.root.join("include")
    }

    pub(crate) fn is_clang(&self) -> bool {
        self.cxx.banner.contains("clang")
    }

    /// What of the tools decides over the outcome of a build.
    pub(crate) fn fingerprint(&self) -> [&str; 3] {
        [&self.verilator.version, &self.verilator.fingerprint, &self.cxx.banner]
    }

    /// Verilator itself with its environment set, for uses beyond building a
    /// model, such as `--lint-only`.
    pub fn verilator(&self) -> Command {
        verilator_command(&self.verilator.exe, &self.verilator.root)
    }

    pub(crate) fn cxx(&self) -> Command {
        let mut command = Command::new(&self.cxx.exe);
        // Messages are matched and shown: keep them in one language.
        command.env("LC_ALL", "C");
        command
    }
}

fn verilator_command(exe: &Path, root: &Path) -> Command {
    let mut command = Command::new(exe);
    command.env("VERILATOR_ROOT", root).env_remove("VERILATOR_BIN").env("LC_ALL", "C");
    command
}

fn find_verilator(extra_roots: &[PathBuf]) -> Result<Verilator, Error> {
    if let Some(named) = env::var_os("VERILATOR").filter(|v| !v.is_empty()) {
        let exe = on_path(&named).next().unwrap_or_else(|| named.clone().into());
        return probe(&exe, None).map_err(|why| {
            Error::Toolchain(format!("$VERILATOR is {}, which {why}", Path::new(&named).display()))
        });
    }
    let mut passed_over = Vec::new();
    let installed = ["verilator_bin", "verilator"].into_iter().flat_map(|n| on_path(OsStr::new(n)));
    let extra = extra_roots.iter().map(|r| (r.join("bin").join("verilator_bin"), Some(r.as_path())));
    for (exe, root) in installed.map(|exe| (exe, None)).chain(extra) {
        match probe(&exe, root) {
            Ok(found) => return Ok(found),
            Err(why) => passed_over.push(format!("{} {why}", exe.display())),
        }
    }
    let seen = if passed_over.is_empty() {
        String::new()
    } else {
        format!(" (passed over: {})", passed_over.join("; "))
    };
    Err(Error::Toolchain(format!(
        "no Verilator {}.{:03} or later found: install verilator (Debian: apt-get install \
         verilator) or set VERILATOR to its path{seen}",
        OLDEST.0, OLDEST.1
    )))
}

/// All executables of that name on `PATH`; a name with a slash is taken as a path.
fn on_path(name: &OsStr) -> impl Iterator<Item = PathBuf> + use<> {
    let name = PathBuf::from(name);
    let dirs: Vec<PathBuf> = if name.components().count() > 1 {
        vec![PathBuf::new()]
    } else {
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
    };
    dirs.into_iter().map(move |dir| dir.join(&name)).filter(|exe| exe.is_file())
}

/// Whether `exe` is a Verilator that works and is new enough; `Err` says why not.
fn probe(exe: &Path, root: Option<&Path>) -> Result<Verilator, String> {
    if !exe.is_file() {
        return Err("does not exist".to_owned());
    }
    // `verilator` is a Perl script that starts the binary beside it.
    let beside = fs::canonicalize(exe).unwrap_or(exe.to_owned()).with_file_name("verilator_bin");
    let exe = if beside.is_file() { beside } else { absolute(exe) };
    let root = match root {
        Some(root) => absolute(root),
        None => find_root(&exe).ok_or("has no include/verilated.h that belongs to it")?,
    };
    let read = |name: &str| {
        let path = root.join("include").join(name);
        fs::read(&path).map_err(|e| format!("has no readable {}: {e}", path.display()))
    };
    let output = verilator_command(&exe, &root)
        .arg("--version")
        .output()
        .map_err(|e| format!("cannot be run: {e}"))?;
    let banner = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("fails: {}", stderr.lines().next().unwrap_or_default()));
    }
    let config = read("verilated_config.h")?;
    let number = version_in_banner(&banner)
        // Some builds print no number; their headers still carry it.
        .or_else(|| version_in_config(&String::from_utf8_lossy(&config)))
        .ok_or_else(|| format!("has an unknown version: {banner:?}"))?;
    let version = format!("{}.{:03}", number.0, number.1);
    if number < OLDEST {
        return Err(format!("is version {version}, too old"));
    }
    let mut hash = Sha256::new();
    hash.update(&banner);
    for name in ["verilated.h", "verilated.cpp", "verilated_funcs.h", "verilated_types.h"] {
        hash.update(read(name)?);
    }
    Ok(Verilator { exe, root, version, number, fingerprint: crate::cache::hex(&hash.finalize()) })
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn find_root(exe: &Path) -> Option<PathBuf> {
    let has_headers = |root: &PathBuf| root.join("include").join("verilated.h").is_file();
    let prefix = exe.parent().and_then(Path::parent);
    let from_env = env::var_os("VERILATOR_ROOT").map(PathBuf::from);
    let near = prefix.map(|p| [p.to_owned(), p.join("share").join("verilator")]);
    from_env.into_iter().chain(near.into_iter().flatten()).find(has_headers).or_else(|| {
        let output = Command::new(exe).args(["--getenv", "VERILATOR_ROOT"]).output().ok()?;
        let root = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        Some(root).filter(has_headers)
    })
}

/// From `Verilator 5.006 2023-01-22 rev ...`.
fn version_in_banner(banner: &str) -> Option<(u32, u32)> {
    parse_version(banner.strip_prefix("Verilator ")?.split_whitespace().next()?)
}

/// From `#define VERILATOR_VERSION "5.6"` or `"5.006 2023-01-22"`.
fn version_in_config(header: &str) -> Option<(u32, u32)> {
    let line = header.lines().find_map(|l| l.strip_prefix("#define VERILATOR_VERSION "))?;
    parse_version(line.trim().trim_matches('"').split_whitespace().next()?)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn find_cxx() -> Result<Cxx, Error> {
    let named = env::var_os("CXX").filter(|v| !v.is_empty());
    let candidates = match &named {
        Some(name) => vec![name.as_os_str()],
        None => ["g++", "c++", "clang++"].into_iter().map(OsStr::new).collect(),
    };
    for exe in candidates.into_iter().flat_map(on_path) {
        let Ok(output) = Command::new(&exe).arg("--version").env("LC_ALL", "C").output() else {
            continue;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        if let (true, Some(banner)) = (output.status.success(), text.lines().next()) {
            return Ok(Cxx { exe: absolute(&exe), banner: banner.to_owned() });
        }
    }
    Err(Error::Toolchain(match named {
        Some(name) => format!("$CXX is {}, which cannot be run", Path::new(&name).display()),
        None => "no C++ compiler found: install g++ (Debian: apt-get install g++) or set CXX".into(),
    }))
}

/// `g++ (Debian 12.2.0-14) 12.2.0` becomes `g++ 12.2.0`.
fn short_banner(cxx: &Cxx) -> String {
    let name = cxx.exe.file_name().unwrap_or_default().to_string_lossy();
    let is_version = |w: &&str| w.starts_with(|c: char| c.is_ascii_digit()) && w.contains('.');
    match cxx.banner.split_whitespace().rfind(is_version) {
        Some(version) => format!("{name} {version}"),
        None => cxx.banner.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(version_in_banner("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"), Some((5, 6)));
        assert_eq!(version_in_banner("Verilator 4.038 2020-07-11"), Some((4, 38)));
        assert_eq!(version_in_banner("rev vUNKNOWN"), None);
        assert_eq!(version_in_config("#define VERILATOR_VERSION \"5.49\"\n"), Some((5, 49)));
        assert_eq!(version_in_config("#define VERILATOR_VERSION \"5.006 2023-01-22\"\n"), Some((5, 6)));
        assert!((4, 228) < OLDEST && (5, 6) >= OLDEST);
    }

    #[test]
    fn short_compiler_names() {
        let short = |exe: &str, banner: &str| short_banner(&Cxx { exe: exe.into(), banner: banner.into() });
        assert_eq!(short("/usr/bin/g++", "g++ (Debian 12.2.0-14+deb12u1) 12.2.0"), "g++ 12.2.0");
        assert_eq!(short("/usr/bin/clang++", "Debian clang version 14.0.6"), "clang++ 14.0.6");
        assert_eq!(short("/usr/bin/c++", "odd"), "odd");
    }
}

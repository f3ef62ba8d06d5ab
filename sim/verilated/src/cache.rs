//! The folder of built models.
//!
//! ```text
//! models/<key>/           a finished model: library and manifest
//! runtime/<key>/<unit>.o  Verilator's run-time library
//! locks/<name>            held while that entry is being made
//! tmp/<random>/           builds under way
//! ```
//!
//! Entries appear by a rename of a finished folder or file, so a build that is
//! killed leaves only a folder in `tmp`, which a later build removes when it is
//! a day old.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{Error, Layout};

/// How long an abandoned build may lie about.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

const LIBRARY: &str = "model.so";
const MANIFEST: &str = "manifest.json";

/// What is known of a model without running Verilator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub top: String,
    pub inputs: Layout,
    pub outputs: Layout,
    pub trace: bool,
    pub coverage: bool,
    /// For people who look into the cache.
    pub tools: String,
    /// SHA-256 of the library: loading a damaged one could crash the process.
    pub sha256: String,
}

/// A finished model.
pub(crate) struct Entry {
    pub library: PathBuf,
    pub manifest: Manifest,
}

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    pub(crate) fn open(root: &Path) -> Result<Self, Error> {
        for dir in ["models", "runtime", "locks", "tmp"] {
            let dir = root.join(dir);
            fs::create_dir_all(&dir).map_err(Error::io(&dir))?;
        }
        // Tools are run in other folders.
        let root = fs::canonicalize(root).map_err(Error::io(root))?;
        Ok(Self { root })
    }

    /// `$VERILATED_CACHE`, else `$XDG_CACHE_HOME/verilated`, else `~/.cache/verilated`.
    pub(crate) fn default_dir() -> Result<PathBuf, Error> {
        let var = |name| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        var("VERILATED_CACHE")
            .or_else(|| Some(var("XDG_CACHE_HOME")?.join("verilated")))
            .or_else(|| Some(env::home_dir()?.join(".cache").join("verilated")))
            .ok_or_else(|| Error::Input("no cache folder: set VERILATED_CACHE or HOME".to_owned()))
    }

    /// The entry of that key, if it is there and whole.
    pub(crate) fn lookup(&self, key: &str) -> Option<Entry> {
        let dir = self.model_dir(key);
        let manifest: Manifest = serde_json::from_slice(&fs::read(dir.join(MANIFEST)).ok()?).ok()?;
        let library = dir.join(LIBRARY);
        let whole = sha256(&fs::read(&library).ok()?) == manifest.sha256;
        whole.then_some(Entry { library, manifest })
    }

    /// Puts a finished build in place. The lock of that key must be held.
    /// `manifest.sha256` is filled in here.
    pub(crate) fn store(&self, key: &str, library: &Path, mut manifest: Manifest) -> Result<Entry, Error> {
        let staged = self.temp_dir()?;
        let content = fs::read(library).map_err(Error::io(library))?;
        manifest.sha256 = sha256(&content);
        let put = |name: &str, content: &[u8]| {
            let path = staged.path().join(name);
            fs::write(&path, content).map_err(Error::io(&path))
        };
        put(LIBRARY, &content)?;
        put(MANIFEST, &serde_json::to_vec_pretty(&manifest).expect("plain data"))?;

        let dir = self.model_dir(key);
        if dir.exists() {
            // A damaged entry. Moved aside first: removal is not atomic.
            let aside = self.temp_dir()?;
            let to = aside.path().join("damaged");
            fs::rename(&dir, &to).map_err(Error::io(&dir))?;
        }
        let staged = staged.keep();
        fs::rename(&staged, &dir).map_err(Error::io(&dir))?;
        Ok(Entry { library: dir.join(LIBRARY), manifest })
    }

    fn model_dir(&self, key: &str) -> PathBuf {
        self.root.join("models").join(key)
    }

    pub(crate) fn runtime_dir(&self, key: &str) -> PathBuf {
        self.root.join("runtime").join(key)
    }

    /// A folder for a build; removed when dropped.
    pub(crate) fn temp_dir(&self) -> Result<TempDir, Error> {
        let tmp = self.root.join("tmp");
        let builder = || {
            let mut builder = tempfile::Builder::new();
            builder.prefix("build-");
            builder
        };
        builder().tempdir_in(&tmp).map_err(Error::io(&tmp))
    }

    /// Waits until no other thread or process makes the entry of that name.
    pub(crate) fn lock(&self, name: &str) -> Result<Lock, Error> {
        let path = self.root.join("locks").join(name);
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(Error::io(&path))?;
        file.lock().map_err(Error::io(&path))?;
        Ok(Lock { _file: file })
    }

    /// Removes what killed builds left behind. Failures do not matter: another
    /// process may be doing the same.
    pub(crate) fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.root.join("tmp")) else { return };
        for entry in entries.flatten() {
            let modified = entry.metadata().and_then(|m| m.modified());
            let age = modified.ok().and_then(|then| SystemTime::now().duration_since(then).ok());
            if age.is_some_and(|age| age > STALE) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// Released when dropped, or by the system when the process dies.
pub(crate) struct Lock {
    _file: File,
}

pub(crate) fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            top: "t".into(),
            inputs: Layout::pack([("a", 3)]),
            outputs: Layout::default(),
            trace: false,
            coverage: true,
            tools: String::new(),
            sha256: String::new(),
        }
    }

    #[test]
    fn entries_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        assert!(cache.lookup("k").is_none());
        let lib = dir.path().join("lib");
        fs::write(&lib, "content").unwrap();
        let stored = cache.store("k", &lib, manifest()).unwrap();
        assert_eq!(cache.lookup("k").unwrap().manifest, stored.manifest);
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);

        fs::write(&stored.library, "conten").unwrap();
        assert!(cache.lookup("k").is_none(), "a truncated library is not taken");
        cache.store("k", &lib, manifest()).unwrap();
        assert!(cache.lookup("k").is_some(), "a damaged entry is replaced");
        fs::write(stored.library.with_file_name(MANIFEST), "{").unwrap();
        assert!(cache.lookup("k").is_none(), "nor is a broken manifest");
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    }

    #[test]
    fn only_old_builds_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let [old, new] = ["build-old", "build-new"].map(|name| dir.path().join("tmp").join(name));
        for dir in [&old, &new] {
            fs::create_dir(dir).unwrap();
        }
        let two_days_ago = SystemTime::now() - 2 * STALE;
        File::open(&old).unwrap().set_modified(two_days_ago).unwrap();
        cache.sweep();
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn locks_exclude_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let held = cache.lock("k").unwrap();
        let path = dir.path().join("locks").join("k");
        assert!(File::open(&path).unwrap().try_lock().is_err());
        drop(held);
        assert!(File::open(&path).unwrap().try_lock().is_ok());
    }
}

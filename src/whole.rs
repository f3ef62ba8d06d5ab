//! Files and folders that appear whole or not at all: whatever fails, and whenever the program
//! is killed, what has the name is what was there before, or all of what is new.
//!
//! ```
//! use membrane::whole;
//!
//! let place = tempfile::tempdir()?;
//! whole::write_file(&place.path().join("page.html"), b"<p>")?;
//! let error = whole::write_file(&place.path().join("no/such/folder"), b"").unwrap_err();
//! assert!(error.to_string().contains("nothing was changed"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    fs, io,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use thiserror::Error;

/// What could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file system said no.
    #[error("{path}: cannot be written: {source}; nothing was changed: {}", remedy(.source))]
    Io {
        /// The file or folder that was to be.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The target is there and is not of the kind to be written.
    #[error("{path} exists and has no {marker}: choose another name, or remove it")]
    InTheWay {
        /// The target.
        path: PathBuf,
        /// The file that it would have.
        marker: String,
    },
}

/// What to do about an error in writing.
pub fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space, or choose another disk",
        ErrorKind::FileTooLarge => "raise the limit on the size of files (ulimit -f)",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "choose a folder that you may write to"
        }
        ErrorKind::NotFound => "make its folder first",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => "a file is where its folder should be",
        ErrorKind::BrokenPipe => "whoever was to read it has ended",
        _ => "choose another place",
    }
}

/// The folder that a file or folder is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Temporary files and folders are private to their owner; what becomes of them is not.
fn publish(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".membrane-");
    builder
}

/// Writes a file, or replaces it. Its folder must be there.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let write = || {
        let mut file = temporary().tempfile_in(parent(path))?;
        file.write_all(bytes)?;
        publish(file.path(), 0o644)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| WriteError::Io { path: path.to_owned(), source })
}

/// Writes `files`, each named relative to `folder`, as that folder. A folder at the
/// same place is replaced if it holds the file `marker`, and is otherwise in the way.
pub fn write_folder(folder: &Path, marker: &str, files: &[(String, String)]) -> Result<(), WriteError> {
    if folder.exists() && !folder.join(marker).is_file() {
        return Err(WriteError::InTheWay { path: folder.to_owned(), marker: marker.to_owned() });
    }
    let write = || {
        fs::create_dir_all(parent(folder))?;
        let fresh = temporary().tempdir_in(parent(folder))?;
        for (name, text) in files {
            let path = fresh.path().join(name);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, text)?;
        }
        publish(fresh.path(), 0o755)?;
        if folder.exists() { replace(fresh.path(), folder) } else { fs::rename(fresh.path(), folder) }
    };
    write().map_err(|source| WriteError::Io { path: folder.to_owned(), source })
}

/// Puts `fresh` in the place of `folder`; the old one is then in the temporary folder, and is
/// removed with it.
fn replace(fresh: &Path, folder: &Path) -> io::Result<()> {
    // A folder cannot be renamed over a full one, but two can change their names at once.
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, fresh, CWD, folder, RenameFlags::EXCHANGE) {
            // A file system that cannot do it.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
    }
    // The second best: for a moment there is neither.
    let old = temporary().tempdir_in(parent(folder))?;
    fs::rename(folder, old.path().join("old"))?;
    fs::rename(fresh, folder).inspect_err(|_| {
        let _ = fs::rename(old.path().join("old"), folder);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str) -> [(String, String); 2] {
        [("marker".to_owned(), text.to_owned()), ("sub/file".to_owned(), text.to_owned())]
    }

    #[test]
    fn a_folder_replaces_its_like_and_leaves_nothing_beside_it() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("deep/folder");
        for text in ["one", "two"] {
            write_folder(&folder, "marker", &files(text)).unwrap();
            assert_eq!(fs::read_to_string(folder.join("sub/file")).unwrap(), text);
        }
        fs::remove_file(folder.join("marker")).unwrap();
        let error = write_folder(&folder, "marker", &files("three")).unwrap_err();
        assert!(matches!(error, WriteError::InTheWay { .. }));
        assert_eq!(fs::read_dir(scratch.path().join("deep")).unwrap().count(), 1);
    }

    #[test]
    fn failures_name_the_target_and_what_to_do() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        write_file(&file, b"old").unwrap();
        let error = write_folder(&file.join("folder"), "marker", &files("x")).unwrap_err().to_string();
        assert!(error.starts_with(&file.join("folder").display().to_string()), "{error}");
        assert!(error.ends_with("nothing was changed: a file is where its folder should be"), "{error}");
        // A name that is too long fails at the end, when all is written.
        let long = scratch.path().join("n".repeat(300));
        assert!(write_file(&long, b"x").is_err() && write_folder(&long, "marker", &files("x")).is_err());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}

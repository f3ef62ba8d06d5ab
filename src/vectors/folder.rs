//! A folder that appears whole or not at all.

use std::{fs, path::Path};

use super::VectorError;

/// Writes `files`, each named relative to `folder`, as that folder. A folder at the
/// same place is replaced if it holds the file `marker`, and is otherwise in the way.
pub fn write(folder: &Path, marker: &str, files: &[(String, String)]) -> Result<(), VectorError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| VectorError::Io { path, source }
    };
    if folder.exists() && !folder.join(marker).is_file() {
        return Err(VectorError::InTheWay { path: folder.to_owned(), marker: marker.to_owned() });
    }
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(io(parent))?;
    let fresh = tempfile::Builder::new().prefix(".membrane-").tempdir_in(parent).map_err(io(parent))?;
    for (name, text) in files {
        let path = fresh.path().join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io(folder))?;
        }
        fs::write(&path, text).map_err(io(&path))?;
    }
    // Temporary folders are private to their owner; this one is not.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(fresh.path(), fs::Permissions::from_mode(0o755)).map_err(io(fresh.path()))?;
    }
    // A folder cannot be renamed over a full one: move the old one out of the way.
    let old = tempfile::Builder::new().prefix(".membrane-").tempdir_in(parent).map_err(io(parent))?;
    if folder.exists() {
        fs::rename(folder, old.path().join("old")).map_err(io(folder))?;
    }
    fs::rename(fresh.path(), folder).map_err(io(folder))
}

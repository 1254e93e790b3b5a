//! Paths of a node: each has its own, below the directory of the sandbox.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Where a host path of a node is, after it was checked and made as its type asks for. Errors are
/// the kubelet's.
pub(crate) fn place_host_path(root: &Path, path: &str, kind: &str) -> Result<PathBuf, String> {
    let place = below(root, path);
    let failed = |error: io::Error| format!("cannot create {path}: {error}");
    let wrong = |what: &str| format!("hostPath type check failed: {path} is not a {what}");
    match kind {
        "Directory" if !place.is_dir() => return Err(wrong("directory")),
        "File" if !place.is_file() => return Err(wrong("file")),
        "FileOrCreate" if place.is_dir() => return Err(wrong("file")),
        "FileOrCreate" if !place.exists() => {
            fs::create_dir_all(place.parent().unwrap_or(root)).map_err(failed)?;
            fs::write(&place, "").map_err(failed)?;
        }
        "DirectoryOrCreate" if place.is_file() => return Err(wrong("directory")),
        "Directory" | "File" | "FileOrCreate" => {}
        "" | "DirectoryOrCreate" if place.exists() => {}
        "" | "DirectoryOrCreate" => fs::create_dir_all(&place).map_err(failed)?,
        other => return Err(format!("the sandbox does not support hostPath of type {other:?}")),
    }
    // A pod may have put a link there; it must not lead to the machine's own files.
    let real = place.canonicalize().map_err(failed)?;
    let root = root.canonicalize().map_err(failed)?;
    if real.starts_with(&root) {
        Ok(real)
    } else {
        Err(format!("{path} is outside of the node's directory"))
    }
}

fn below(root: &Path, path: &str) -> PathBuf {
    let parts = Path::new(path).components();
    let normal = parts.filter(|part| matches!(part, Component::Normal(_)));
    normal.fold(root.to_owned(), |place, part| place.join(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_as_their_type_asks_for() {
        let root = tempfile::tempdir().unwrap();
        let place = |path: &str, kind: &str| place_host_path(root.path(), path, kind);
        assert!(place("/var/x", "Directory").is_err());
        assert!(place("/var/x", "DirectoryOrCreate").unwrap().is_dir());
        assert!(place("/var/x", "Directory").is_ok());
        assert!(place("/var/x", "File").is_err());
        assert!(place("/var/x", "FileOrCreate").is_err());
        assert!(place("/etc/file", "FileOrCreate").unwrap().is_file());
        assert!(place("/new", "").unwrap().is_dir());
        assert!(place("/x", "Socket").is_err());
    }

    #[test]
    fn no_path_leads_out_of_the_node() {
        let root = tempfile::tempdir().unwrap();
        let inside = place_host_path(root.path(), "/../../etc", "").unwrap();
        assert!(inside.starts_with(root.path().canonicalize().unwrap()));
        std::os::unix::fs::symlink("/etc", root.path().join("link")).unwrap();
        assert!(place_host_path(root.path(), "/link", "").is_err());
    }
}

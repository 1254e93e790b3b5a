//! Files of pods on the host: removal, atomic updates of volumes, host paths and mounts.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::VolumeMount;

use super::volumes::VolumeFile;
use crate::init::Mount;

/// Removes a directory tree, if it exists. Containers may leave directories without permissions for
/// their owner.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

fn open_up(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(path)? {
            open_up(&entry?.path())?;
        }
    }
    Ok(())
}

const CURRENT: &str = "..data";

/// Writes files into the directory of a volume if they differ. `generation` must be unique.
pub(crate) fn write_files(
    directory: &Path,
    files: &[VolumeFile],
    generation: &str,
) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    if is_current(directory, files) {
        return Ok(());
    }
    let name = format!("..{generation}");
    let resolved = directory.join(&name);
    remove_tree(&resolved)?;
    fs::create_dir_all(&resolved)?;
    for file in files {
        let path = resolved.join(inside(&file.path)?);
        fs::create_dir_all(path.parent().unwrap_or(&resolved))?;
        fs::write(&path, &file.content)?;
        fs::set_permissions(&path, Permissions::from_mode(file.mode))?;
    }
    let previous = fs::read_link(directory.join(CURRENT)).ok();
    let unfinished = directory.join("..data_tmp");
    let _ = fs::remove_file(&unfinished);
    symlink(&name, &unfinished)?;
    fs::rename(&unfinished, directory.join(CURRENT))?;
    link_names(directory, files)?;
    match previous {
        Some(previous) if previous != Path::new(&name) => remove_tree(&directory.join(previous)),
        _ => Ok(()),
    }
}

fn link_names(directory: &Path, files: &[VolumeFile]) -> io::Result<()> {
    let first = |file: &VolumeFile| inside(&file.path).ok()?.iter().next().map(PathBuf::from);
    let names: BTreeSet<PathBuf> = files.iter().filter_map(first).collect();
    for entry in fs::read_dir(directory)? {
        let name = PathBuf::from(entry?.file_name());
        if !name.to_string_lossy().starts_with("..") && !names.contains(&name) {
            fs::remove_file(directory.join(name))?;
        }
    }
    for name in names {
        if fs::symlink_metadata(directory.join(&name)).is_err() {
            symlink(Path::new(CURRENT).join(&name), directory.join(&name))?;
        }
    }
    Ok(())
}

fn is_current(directory: &Path, files: &[VolumeFile]) -> bool {
    let current = directory.join(CURRENT);
    let same = |file: &VolumeFile| {
        inside(&file.path)
            .and_then(|path| fs::read(current.join(path)))
            .is_ok_and(|content| content == file.content)
    };
    let names = fs::read_dir(directory).map_or(0, |entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter(|name| !name.to_string_lossy().starts_with("..")).count()
    });
    let first = |file: &VolumeFile| file.path.split('/').next().map(str::to_owned);
    let expected: BTreeSet<String> = files.iter().filter_map(first).collect();
    current.exists() && names == expected.len() && files.iter().all(same)
}

/// The API server refuses such paths, too.
fn inside(path: &str) -> io::Result<PathBuf> {
    let path = PathBuf::from(path);
    let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    if normal && !path.as_os_str().is_empty() {
        Ok(path)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// Resolves a host path of a node and creates it as its type requires. Errors are those of the
/// kubelet.
pub(crate) fn resolve_host_path(root: &Path, path: &str, kind: &str) -> Result<PathBuf, String> {
    let resolved = host_path_below(root, path);
    let failed = |error: io::Error| format!("cannot create {path}: {error}");
    let wrong = |what: &str| format!("hostPath type check failed: {path} is not a {what}");
    match kind {
        "Directory" if !resolved.is_dir() => return Err(wrong("directory")),
        "File" if !resolved.is_file() => return Err(wrong("file")),
        "FileOrCreate" if resolved.is_dir() => return Err(wrong("file")),
        "FileOrCreate" if !resolved.exists() => {
            fs::create_dir_all(resolved.parent().unwrap_or(root)).map_err(failed)?;
            fs::write(&resolved, "").map_err(failed)?;
        }
        "DirectoryOrCreate" if resolved.is_file() => return Err(wrong("directory")),
        "Directory" | "File" | "FileOrCreate" => {}
        "" | "DirectoryOrCreate" if resolved.exists() => {}
        "" | "DirectoryOrCreate" => fs::create_dir_all(&resolved).map_err(failed)?,
        other => return Err(format!("the sandbox does not support hostPath of type {other:?}")),
    }
    // A pod may have created a symlink, which must not lead to files of the host.
    let real = resolved.canonicalize().map_err(failed)?;
    let root = root.canonicalize().map_err(failed)?;
    if real.starts_with(&root) {
        Ok(real)
    } else {
        Err(format!("{path} is outside of the node's directory"))
    }
}

fn host_path_below(root: &Path, path: &str) -> PathBuf {
    let parts = Path::new(path).components();
    let normal = parts.filter(|part| matches!(part, Component::Normal(_)));
    normal.fold(root.to_owned(), |resolved, part| resolved.join(part))
}

/// A mount of a container, from the directory of its volume. `expand` expands variables.
pub(crate) fn mount(
    volume: &Path,
    requested: &VolumeMount,
    expand: impl Fn(&str) -> String,
) -> Result<Mount, String> {
    let sub_path = match (&requested.sub_path_expr, &requested.sub_path) {
        (Some(expression), _) => expand(expression),
        (None, sub_path) => sub_path.clone().unwrap_or_default(),
    };
    let source = mount_below(volume, &sub_path)?;
    let target = Path::new("/").join(&requested.mount_path);
    Ok(Mount { source, target, read_only: requested.read_only == Some(true) })
}

fn mount_below(volume: &Path, sub_path: &str) -> Result<PathBuf, String> {
    let failed = |error| format!("failed to prepare subPath for volumeMount: {error}");
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !Path::new(sub_path).components().all(normal) {
        return Err(format!("subPath {sub_path:?} is outside of its volume"));
    }
    let resolved = volume.join(sub_path);
    if fs::symlink_metadata(&resolved).is_err() {
        fs::create_dir_all(&resolved).map_err(failed)?;
    }
    let (resolved, volume) =
        (resolved.canonicalize().map_err(failed)?, volume.canonicalize().map_err(failed)?);
    if resolved.starts_with(&volume) {
        Ok(resolved)
    } else {
        Err(format!("subPath {sub_path:?} is outside of its volume"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(path: &str, content: &str) -> VolumeFile {
        VolumeFile { path: path.to_owned(), content: content.into(), mode: 0o640 }
    }

    #[test]
    fn write_files_replaces_and_removes_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let read = |name: &str| fs::read_to_string(path.join(name)).ok();
        write_files(path, &[file("a", "1"), file("sub/b", "2")], "one").unwrap();
        assert_eq!((read("a"), read("sub/b")), (Some("1".into()), Some("2".into())));
        let mode = fs::metadata(path.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        write_files(path, &[file("a", "3")], "two").unwrap();
        assert_eq!((read("a"), read("sub/b")), (Some("3".into()), None));
        assert!(!path.join("..one").exists());
        write_files(path, &[file("a", "3")], "three").unwrap();
        assert!(!path.join("..three").exists(), "nothing has changed");
    }

    #[test]
    fn write_files_outside_volume_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["../x", "/x", "a/../../x", ""] {
            assert!(write_files(directory.path(), &[file(path, "x")], "one").is_err(), "{path}");
        }
    }

    #[test]
    fn host_path_type_determines_creation() {
        let root = tempfile::tempdir().unwrap();
        let resolved = |path: &str, kind: &str| resolve_host_path(root.path(), path, kind);
        assert!(resolved("/var/x", "Directory").is_err());
        assert!(resolved("/var/x", "DirectoryOrCreate").unwrap().is_dir());
        assert!(resolved("/var/x", "Directory").is_ok());
        assert!(resolved("/var/x", "File").is_err());
        assert!(resolved("/var/x", "FileOrCreate").is_err());
        assert!(resolved("/etc/file", "FileOrCreate").unwrap().is_file());
        assert!(resolved("/new", "").unwrap().is_dir());
        assert!(resolved("/x", "Socket").is_err());
    }

    #[test]
    fn host_path_outside_node_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let inside = resolve_host_path(root.path(), "/../../etc", "").unwrap();
        assert!(inside.starts_with(root.path().canonicalize().unwrap()));
        symlink("/etc", root.path().join("link")).unwrap();
        assert!(resolve_host_path(root.path(), "/link", "").is_err());
    }

    #[test]
    fn mount_sub_path_outside_volume_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let volume = directory.path().canonicalize().unwrap();
        symlink("/etc", volume.join("link")).unwrap();
        let resolved = |requested: serde_json::Value| {
            let mut requested = requested;
            requested["name"] = json!("v");
            requested["mountPath"] = json!("data");
            let requested = serde_json::from_value(requested).unwrap();
            mount(&volume, &requested, |text| text.replace("$(A)", "a"))
        };
        let mounted = resolved(json!({ "subPathExpr": "x-$(A)", "readOnly": true })).unwrap();
        assert_eq!(mounted.source, volume.join("x-a"));
        assert_eq!((mounted.target, mounted.read_only), (PathBuf::from("/data"), true));
        assert_eq!(resolved(json!({})).unwrap().source, volume);
        for sub_path in ["../x", "/etc", "link", "a/../../x"] {
            assert!(resolved(json!({ "subPath": sub_path })).is_err(), "{sub_path}");
        }
    }
}

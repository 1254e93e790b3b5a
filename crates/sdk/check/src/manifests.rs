//! Manifests of the target release.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::CannotTell;

/// Maximum bytes of a file. An object has at most 1.5 MiB, and a file few objects.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// Maximum number of files. A release has about a thousand.
const MAX_FILES: usize = 20_000;

/// Maximum depth of directories. Releases have two directories.
const MAX_DEPTH: usize = 4;

/// Manifests of the target release. Files are read on each call, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    directory: Option<Arc<Path>>,
}

impl Manifests {
    /// Manifests below a directory.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self { directory: directory.map(Arc::from) }
    }

    /// An object by kind and name; the namespace is empty for cluster-scoped objects. Objects that
    /// the release deletes count as missing.
    pub fn find(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, CannotTell> {
        let mut found = None;
        let read = self.each(|object| {
            let metadata = &object["metadata"];
            let is = object["kind"] == kind
                && metadata["name"] == name
                && metadata["namespace"].as_str().unwrap_or_default() == namespace;
            if is && !is_deleted(&object) {
                found = Some(object);
            }
        });
        // The object is known even if another file is not readable.
        if found.is_none() { read.map(|()| None) } else { Ok(found) }
    }

    /// Passes every object to `take`. Reads all files before it reports the first that is not
    /// readable.
    pub fn each(&self, mut take: impl FnMut(Value)) -> Result<(), CannotTell> {
        let directory = self.directory.as_deref().ok_or_else(|| {
            CannotTell::because(
                "the manifests of the release are not available: PREFLIGHT_MANIFESTS is not set",
            )
        })?;
        let mut files = Vec::new();
        collect(directory, MAX_DEPTH, &mut files).map_err(|error| broken(directory, &error))?;
        files.sort();
        let mut trouble = Ok(());
        for file in files {
            match objects(&file) {
                Ok(objects) => objects.into_iter().for_each(&mut take),
                Err(problem) if trouble.is_ok() => trouble = Err(broken(&file, &problem)),
                Err(_) => {}
            }
        }
        trouble
    }
}

/// Whether the release deletes the object.
fn is_deleted(object: &Value) -> bool {
    object["metadata"]["annotations"]["release.openshift.io/delete"] == "true"
}

fn broken(file: &Path, problem: &impl ToString) -> CannotTell {
    let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    CannotTell::Manifest { file, problem: problem.to_string() }
}

/// Manifest files below a directory. Links are not followed.
fn collect(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in directory.read_dir()? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if kind.is_file() && is_manifest(&path) {
            if files.len() >= MAX_FILES {
                return Err(io::Error::other(format!("more than {MAX_FILES} files")));
            }
            files.push(path);
        }
    }
    Ok(())
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension))
}

fn objects(file: &Path) -> Result<Vec<Value>, String> {
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| error.to_string())?;
    let read = opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    if read.map_err(|error| error.to_string())? as u64 > MAX_FILE_BYTES {
        return Err(format!("larger than {MAX_FILE_BYTES} bytes"));
    }
    let documents: Result<Vec<_>, _> = fairway_yaml::documents(&bytes).collect();
    let documents = documents.map_err(|error| error.to_string())?;
    let values = documents.into_iter().map(|document| document.value);
    Ok(values.filter(|value| !value.is_null()).flat_map(unlisted).collect())
}

/// Objects of a `List`, or the object itself.
fn unlisted(mut object: Value) -> Vec<Value> {
    match object.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if object["kind"] == "List" => items,
        Some(items) => {
            object["items"] = items;
            vec![object]
        }
        None => vec![object],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests(files: &[(&str, &str)]) -> (tempfile::TempDir, Manifests) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let manifests = Manifests::new(Some(directory.path().to_owned()));
        (directory, manifests)
    }

    const MAP: &str = "kind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {x: z}\n";

    #[test]
    fn find_reads_all_files_and_lists() {
        let list = r#"{"kind": "List", "items": [{"kind": "Role", "metadata": {"name": "c"}}]}"#;
        let (_directory, manifests) = manifests(&[
            ("release-manifests/1.yaml", &format!("# Nothing.\n---\n{MAP}")),
            ("manifests/2.json", list),
            ("release-manifests/image-references", "not a manifest: {{"),
        ]);
        let found = manifests.find("ConfigMap", "b", "a").unwrap().unwrap();
        assert_eq!(found["data"]["x"], "z");
        assert!(manifests.find("Role", "", "c").unwrap().is_some());
        assert_eq!(manifests.find("ConfigMap", "", "a"), Ok(None));
    }

    #[test]
    fn find_in_file_with_duplicate_keys_returns_last_value() {
        let odd =
            "kind: ConfigMap\nmetadata:\n  name: x\n  name: a\n  namespace: b\ndata: {x: 'y\n'}\n";
        let (_directory, manifests) = manifests(&[("1.yaml", odd)]);
        assert!(manifests.find("ConfigMap", "b", "a").unwrap().is_some());
    }

    #[test]
    fn find_deleted_object_returns_none() {
        let deleted = "kind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\n  annotations: {release.openshift.io/delete: 'true'}\n";
        let (_directory, manifests) = manifests(&[("1.yaml", deleted)]);
        assert_eq!(manifests.find("ConfigMap", "b", "a"), Ok(None));
    }

    #[test]
    fn find_with_unreadable_file_fails() {
        let (_directory, manifests) = manifests(&[("1.yaml", "{{ if }}"), ("2.yaml", MAP)]);
        assert!(manifests.find("ConfigMap", "b", "a").unwrap().is_some());
        let error = manifests.find("ConfigMap", "b", "other").unwrap_err();
        assert!(matches!(&error, CannotTell::Manifest { file, .. } if file == "1.yaml"), "{error}");
    }

    #[test]
    fn find_without_manifests_fails() {
        let error = Manifests::default().each(|_| {}).unwrap_err();
        insta::assert_snapshot!(error, @"the manifests of the release are not available: PREFLIGHT_MANIFESTS is not set");
        let (directory, manifests) = manifests(&[]);
        directory.close().unwrap();
        assert!(matches!(manifests.each(|_| {}), Err(CannotTell::Manifest { .. })));
    }

    #[test]
    fn each_rejects_large_files_and_deep_directories() {
        let deep = format!(
            "{}{}",
            "[".repeat(fairway_yaml::limits::MAX_DEPTH + 1),
            "]".repeat(fairway_yaml::limits::MAX_DEPTH + 1)
        );
        let large = "#".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1);
        for text in [deep, large] {
            let (_directory, manifests) = manifests(&[("1.yaml", &text)]);
            assert!(matches!(manifests.each(|_| {}), Err(CannotTell::Manifest { .. })));
        }
    }
}

//! The clusters of a fleet.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::args::cluster::ClusterArgs;
use crate::args::fleet::MembersArgs;
use crate::cluster::contexts;
use crate::errors::{HintExt as _, WithHint, WrongUsage};
use crate::source::CLUSTER_VERSION_FILE;

/// Maximum number of files in a directory of recorded clusters.
const MAX_FILES: usize = 10_000;

/// A live cluster of a fleet.
pub(super) struct LiveCluster {
    /// The context.
    pub(super) name: String,
    /// Arguments of the connection.
    pub(super) access: ClusterArgs,
}

/// A recorded cluster of a fleet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecordedCluster {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// The live clusters of the arguments.
pub(super) fn live(args: &MembersArgs) -> anyhow::Result<Vec<LiveCluster>> {
    let names = if args.all_contexts {
        contexts::names(&args.cluster)?
    } else {
        args.contexts().map(str::to_owned).collect()
    };
    if names.is_empty() {
        return Err(WrongUsage("--contexts selects no cluster".to_owned()).into());
    }
    let member = |name: String| {
        let access = ClusterArgs { context: Some(name.clone()), ..args.cluster.clone() };
        LiveCluster { name, access }
    };
    Ok(names.into_iter().map(member).collect())
}

/// The recorded clusters of a directory by name: each `X-cv.yaml`, and each subdirectory.
pub(super) fn recorded(dir: &Path) -> anyhow::Result<Vec<RecordedCluster>> {
    recorded_within(dir, MAX_FILES)
}

/// [`recorded`] with a limit of files.
fn recorded_within(dir: &Path, max: usize) -> anyhow::Result<Vec<RecordedCluster>> {
    let unreadable = || {
        WithHint::new(
            format!("cannot read directory {}", dir.display()),
            "use a directory with X-cv.yaml or a directory X for each recorded cluster X",
        )
    };
    let mut found = Vec::new();
    for (number, entry) in fs::read_dir(dir).with_context(unreadable)?.enumerate() {
        // A partial list must not pass for the fleet.
        if number == max {
            let message = format!("{} contains more than {max} files", dir.display());
            let hint = "split the recorded clusters into several directories, and report on each \
                        of them";
            return Err(WithHint::new(message, hint).into());
        }
        found.extend(member(&entry.with_context(unreadable)?));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Some(found).filter(|found| !found.is_empty()).with_hint(
        format!("{} contains no recorded clusters", dir.display()),
        "record one with `kubectl get clusterversion version -o yaml > DIR/X-cv.yaml`",
    )
}

fn member(entry: &DirEntry) -> Option<RecordedCluster> {
    let path = entry.path();
    let file = entry.file_name().to_str()?.to_owned();
    let is_hidden = file.starts_with('.');
    let name = match file.strip_suffix(CLUSTER_VERSION_FILE) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ if path.is_dir() && !is_hidden => file,
        _ => return None,
    };
    Some(RecordedCluster { name, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_lists_files_and_directories() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["b-cv.yaml", "b-co.yaml", "-cv.yaml", "notes.txt"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        for directory in ["a", ".git"] {
            fs::create_dir(dir.path().join(directory)).unwrap();
        }
        let found = recorded(dir.path()).unwrap();
        let found: Vec<(&str, PathBuf)> =
            found.iter().map(|one| (one.name.as_str(), one.path.clone())).collect();
        assert_eq!(found, [("a", dir.path().join("a")), ("b", dir.path().join("b-cv.yaml"))]);
        let empty = recorded(&dir.path().join("a")).unwrap_err();
        assert!(empty.to_string().ends_with("contains no recorded clusters"), "{empty}");
        assert_eq!(recorded_within(dir.path(), 6).unwrap().len(), 2);
        let more = recorded_within(dir.path(), 5).unwrap_err();
        assert!(more.to_string().ends_with("contains more than 5 files"), "{more}");
    }
}

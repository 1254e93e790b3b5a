//! One argument of `--from-file`: a file, a must-gather directory, or a directory of files.

use std::path::{Path, PathBuf};

use fairway_insight::{Alerts, alerts};

use super::file;
use super::must_gather::MustGather;
use super::object::{self, Object};
use crate::cluster::kind::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, Kind, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS,
    NODES,
};
use crate::errors::{CannotTell, HintExt as _};

/// One argument of `--from-file`.
pub(super) struct RecordedFiles {
    path: PathBuf,
    layout: FileLayout,
    /// File with alerts.
    alerts: Option<PathBuf>,
}

/// How objects are found.
enum FileLayout {
    /// By file names beside `X-cv.yaml`.
    PrefixedFiles(PrefixedFiles),
    /// By the paths of a must-gather.
    MustGather(MustGather),
    /// By kind and API group in the objects.
    AnyFiles(AnyFiles),
}

impl RecordedFiles {
    /// Opens a file or a directory.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let recorded = |layout, alerts| Self { path: path.to_owned(), layout, alerts };
        if let Some(siblings) = PrefixedFiles::of(path) {
            let alerts = siblings.alerts();
            return Ok(recorded(FileLayout::PrefixedFiles(siblings), Some(alerts)));
        }
        if !path.is_dir() {
            return Ok(recorded(FileLayout::AnyFiles(AnyFiles::in_file(path)?), None));
        }
        let files = file::below(path)?;
        let layout = match MustGather::of(path, &files) {
            Some(gathered) => FileLayout::MustGather(gathered),
            None => FileLayout::AnyFiles(AnyFiles::in_files(&files)?),
        };
        Ok(recorded(layout, alerts_file(&files).cloned()))
    }

    /// Objects of a kind, `None` if none are recorded.
    pub(super) fn of_kind(&self, kind: &Kind) -> anyhow::Result<Option<Vec<Object>>> {
        match &self.layout {
            FileLayout::PrefixedFiles(siblings) => siblings.of_kind(kind),
            FileLayout::MustGather(gathered) => gathered.of_kind(kind),
            FileLayout::AnyFiles(saved) => Ok(saved.of_kind(kind)),
        }
    }

    /// Alerts, `None` if they are not recorded.
    pub(super) fn alerts(&self) -> Option<Alerts> {
        self.alerts.as_ref().and_then(|path| read_alerts(path))
    }

    /// Path at which objects of a kind are expected.
    pub(super) fn path_of(&self, kind: &Kind) -> PathBuf {
        let named = match &self.layout {
            FileLayout::PrefixedFiles(siblings) => siblings.file_of(kind),
            FileLayout::MustGather(_) | FileLayout::AnyFiles(_) => None,
        };
        named.unwrap_or_else(|| self.path.clone())
    }
}

/// Objects of files with any name.
struct AnyFiles {
    objects: Vec<Object>,
}

impl AnyFiles {
    /// Objects of a file.
    fn in_file(path: &Path) -> anyhow::Result<Self> {
        Self::of_one_cluster(named_in(path)?)
    }

    /// Objects of all files of a directory.
    fn in_files(files: &[PathBuf]) -> anyhow::Result<Self> {
        Self::of_one_cluster(file::each(files, object::of_bytes)?)
    }

    /// Refuses objects of several clusters.
    fn of_one_cluster(objects: Vec<Object>) -> anyhow::Result<Self> {
        let mut versions = objects.iter().filter(|object| object.is_a(&CLUSTER_VERSIONS));
        let first = versions.next();
        let other = first.and_then(|first| versions.find(|other| !other.equals(first)));
        match first.zip(other) {
            Some((first, other)) => Err(several_clusters(first, other)),
            None => Ok(Self { objects }),
        }
    }

    /// Objects of a kind, `None` if there are none.
    fn of_kind(&self, kind: &Kind) -> Option<Vec<Object>> {
        let found = self.objects.iter().filter(|object| object.is_a(kind));
        Some(found.cloned().collect()).filter(|found: &Vec<_>| !found.is_empty())
    }
}

/// Error for objects of several clusters, or of one at several times.
pub(super) fn several_clusters(first: &Object, other: &Object) -> anyhow::Error {
    CannotTell::new(
        format!("found two ClusterVersions: in {} and in {}", first.file(), other.file()),
        "use the files of one cluster, recorded at one time",
    )
    .into()
}

/// Objects of a file in the arguments, which must exist.
fn named_in(path: &Path) -> anyhow::Result<Vec<Object>> {
    object::all_in(path)?.with_hint(
        format!("{} does not exist", path.display()),
        "record it with `kubectl get clusterversion version -o yaml > X-cv.yaml`",
    )
}

/// Suffix of the file with ClusterVersion; the other files have the same prefix.
pub(crate) const CLUSTER_VERSION_FILE: &str = "-cv.yaml";

/// Suffixes of the files of each kind.
const SUFFIXES: [(&str, &Kind); 6] = [
    (CLUSTER_VERSION_FILE, &CLUSTER_VERSIONS),
    ("-co.yaml", &CLUSTER_OPERATORS),
    ("-mcp.yaml", &MACHINE_CONFIG_POOLS),
    ("-mc.yaml", &MACHINE_CONFIGS),
    ("-node.yaml", &NODES),
    ("-mco-deployment.yaml", &DEPLOYMENTS),
];

/// Files with one prefix, each with the objects of one kind.
struct PrefixedFiles {
    /// Directory and prefix.
    stem: String,
}

impl PrefixedFiles {
    /// The files beside a ClusterVersion file, `None` if its name has another suffix.
    fn of(path: &Path) -> Option<Self> {
        let stem = path.to_str()?.strip_suffix(CLUSTER_VERSION_FILE)?;
        Some(Self { stem: stem.to_owned() })
    }

    /// Objects of a kind, `None` if its file does not exist.
    fn of_kind(&self, kind: &Kind) -> anyhow::Result<Option<Vec<Object>>> {
        let Some(path) = self.file_of(kind) else { return Ok(None) };
        let mut objects =
            if *kind == CLUSTER_VERSIONS { Some(named_in(&path)?) } else { object::all_in(&path)? };
        if let Some(objects) = &mut objects {
            objects.retain(|object| !object.is_other_kind(kind));
        }
        Ok(objects)
    }

    /// Path of the file with alerts.
    fn alerts(&self) -> PathBuf {
        PathBuf::from(format!("{}-alerts.json", self.stem))
    }

    /// Path of the file of a kind, `None` if the kind has no suffix.
    fn file_of(&self, kind: &Kind) -> Option<PathBuf> {
        let ending = SUFFIXES.iter().find(|(_, of)| *of == kind)?.0;
        Some(PathBuf::from(format!("{}{ending}", self.stem)))
    }
}

/// Suffixes of files with responses of `/api/v1/alerts` or `/api/v1/rules`. `oc adm must-gather`
/// writes the latter.
const ALERT_SUFFIXES: [&str; 3] = ["/alerts.json", "-alerts.json", "/rules.json"];

/// First file with alerts.
fn alerts_file(files: &[PathBuf]) -> Option<&PathBuf> {
    let ends = |path: &Path, ending: &str| path.to_str().is_some_and(|path| path.ends_with(ending));
    ALERT_SUFFIXES.iter().find_map(|ending| files.iter().find(|path| ends(path, ending)))
}

/// Alerts of a file, `None` if it does not exist.
fn read_alerts(path: &Path) -> Option<Alerts> {
    let bytes = match file::bytes(path) {
        Ok(bytes) => bytes?,
        Err(error) => return Some(Alerts::Unreadable(format!("{error:#}"))),
    };
    Some(match alerts::read(&bytes) {
        Ok(alerts) => Alerts::Known(alerts),
        Err(error) => Alerts::Unreadable(format!("{}: {error}", path.display())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_file_is_found_by_name() {
        let files: Vec<PathBuf> = ["a/rules.json", "a/x-alerts.json", "b/alerts.json", "c/x.json"]
            .map(PathBuf::from)
            .into();
        assert_eq!(alerts_file(&files), Some(&files[2]));
        assert_eq!(alerts_file(&files[..2]), Some(&files[1]));
        assert_eq!(alerts_file(&files[..1]), Some(&files[0]));
        assert_eq!(alerts_file(&files[3..]), None);
    }
}

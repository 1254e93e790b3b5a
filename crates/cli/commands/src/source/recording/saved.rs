//! Files with objects of any kind, whatever they are called.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::file;
use super::object::{self, Object};
use crate::cluster::kind::{CLUSTER_VERSIONS, Kind};
use crate::errors::{CannotTell, WithHint};

/// The objects of one file or of several.
pub(super) struct Saved {
    objects: Vec<Object>,
}

impl Saved {
    /// Those of a file that somebody named.
    pub(super) fn in_file(path: &Path) -> anyhow::Result<Self> {
        Self::of_one_cluster(named_in(path)?)
    }

    /// Those of every file of a directory.
    pub(super) fn in_files(files: &[PathBuf]) -> anyhow::Result<Self> {
        Self::of_one_cluster(file::each(files, object::of_bytes)?)
    }

    /// Objects of several clusters must not be taken for those of one.
    fn of_one_cluster(objects: Vec<Object>) -> anyhow::Result<Self> {
        let mut versions = objects.iter().filter(|object| object.is_a(&CLUSTER_VERSIONS));
        let first = versions.next();
        let other = first.and_then(|first| versions.find(|other| !other.says_the_same_as(first)));
        match first.zip(other) {
            Some((first, other)) => Err(several_clusters(first, other)),
            None => Ok(Self { objects }),
        }
    }

    /// The objects of a kind; `None` where nobody wrote one down.
    pub(super) fn of_kind(&self, kind: &Kind) -> Option<Vec<Object>> {
        let found = self.objects.iter().filter(|object| object.is_a(kind));
        Some(found.cloned().collect()).filter(|found: &Vec<_>| !found.is_empty())
    }
}

/// That there are objects of more than one cluster, or of one at several times.
pub(super) fn several_clusters(first: &Object, other: &Object) -> anyhow::Error {
    CannotTell {
        message: format!("found two ClusterVersions: in {} and in {}", first.file(), other.file()),
        hint: "use the files of one cluster, recorded at one time".to_owned(),
    }
    .into()
}

/// The objects of a file that somebody named.
pub(super) fn named_in(path: &Path) -> anyhow::Result<Vec<Object>> {
    object::all_in(path)?.with_context(|| WithHint {
        message: format!("{} does not exist", path.display()),
        hint: "record it with `kubectl get clusterversion version -o yaml > X-cv.yaml`".to_owned(),
    })
}

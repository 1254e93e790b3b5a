//! One manifest that is to be applied, and what the name of its file says about its turn.

use std::fmt;

use serde::Serialize;

use crate::manifest::{Manifest, ObjectId};
use crate::turn::Turn;

/// One manifest that is to be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its place in the list of manifests, counted from zero.
    pub position: usize,
    /// The length of that list.
    pub total: usize,
    /// The name of its file.
    pub file: String,
    /// The object.
    #[serde(flatten)]
    pub id: ObjectId,
    /// Whether it is a Job: all that is before comes before it, and all that is behind comes after.
    pub is_barrier: bool,
}

impl Task {
    pub(super) fn new(position: usize, total: usize, manifest: &Manifest) -> Self {
        let Manifest { file, id, version, .. } = manifest;
        let kind = (id.group.as_str(), version.as_str(), id.kind.as_str());
        let is_barrier = kind == ("batch", "v1", "Job");
        Self { position, total, file: file.clone(), id: id.clone(), is_barrier }
    }

    /// When its turn is, and whose it is, if its file says so.
    pub(super) fn turn(&self) -> Option<Turn<'_>> {
        Turn::of(&self.file)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} of {})", self.id, self.position + 1, self.total)
    }
}

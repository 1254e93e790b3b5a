//! Files that belong together.

use std::path::{Path, PathBuf};

use fairway_insight::Alerts;

use super::object::{self, Object};
use super::siblings::Siblings;
use crate::cluster::kind::Kind;

/// Files that belong together.
pub(super) enum Part {
    /// Those beside `X-cv.yaml`, each with objects of one kind.
    Siblings(Siblings),
    /// A file with objects of any kind.
    Saved { path: PathBuf, objects: Vec<Object> },
}

impl Part {
    /// What is there.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        Ok(match Siblings::of(path) {
            Some(siblings) => Self::Siblings(siblings),
            None => Self::Saved { path: path.to_owned(), objects: object::named_in(path)? },
        })
    }

    /// The objects of a kind; `None` where nobody wrote them down.
    pub(super) fn of_kind(&self, kind: &Kind) -> anyhow::Result<Option<Vec<Object>>> {
        match self {
            Self::Siblings(siblings) => siblings.of_kind(kind),
            Self::Saved { objects, .. } => {
                let found = objects.iter().filter(|object| object.is_a(kind));
                let found: Vec<Object> = found.cloned().collect();
                Ok(Some(found).filter(|found| !found.is_empty()))
            }
        }
    }

    /// What is firing; `None` where nobody wrote it down.
    pub(super) fn alerts(&self) -> Option<Alerts> {
        match self {
            Self::Siblings(siblings) => siblings.alerts(),
            Self::Saved { .. } => None,
        }
    }

    /// Where objects of a kind would be.
    pub(super) fn place_of(&self, kind: &Kind) -> PathBuf {
        match self {
            Self::Siblings(siblings) => siblings.place_of(kind),
            Self::Saved { path, .. } => path.clone(),
        }
    }
}

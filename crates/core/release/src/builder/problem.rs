//! Errors and warnings about a release that is being made.

use std::fmt;

use fairway_api::Version;
use fairway_api::read::{InputLocation, ReadError};

use super::substitution::{SNAPSHOT, Unresolved, UnresolvedReason};
use crate::manifest::ObjectId;

/// An error that keeps a release from being made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum BuildProblem {
    /// Two files have the same path in the release.
    #[error("{second}: same path in the release as {first}")]
    Collision { first: String, second: String },
    /// An image of the release is not pinned.
    #[error("image {name}: {image:?} is not pinned by digest (NAME@sha256:…)")]
    NotByDigest { name: String, image: String },
    /// A manifest has the placeholder of an image that the release lacks.
    #[error("{place}: {word} refers to image {name:?}, which is not in the release")]
    NoImage { place: InputLocation, word: String, name: String },
    /// A manifest has the placeholder of a component version that is unknown.
    #[error("{place}: {SNAPSHOT}-{component}: unknown version of component {component:?}")]
    NoVersion { place: InputLocation, component: String },
    /// A manifest has a placeholder that cannot be replaced.
    #[error("{place}: placeholder {word} is part of a longer word")]
    NotSeparate { place: InputLocation, word: String },
    /// A workload has an image that is not pinned.
    #[error("{place}: {id}: field {field}: image {image:?} is not pinned by digest")]
    NotPinned { place: InputLocation, id: Box<ObjectId>, field: String, image: String },
    /// An operator's `image-references` cannot be decoded.
    #[error(transparent)]
    Placeholders(#[from] ReadError),
    /// A release is its own predecessor.
    #[error("release {0} lists itself as a previous version")]
    OwnPrevious(Version),
    /// A release is its own successor.
    #[error("release {0} lists itself as a next version")]
    OwnNext(Version),
    /// The result cannot be loaded.
    #[error("{0}")]
    Payload(String),
}

impl BuildProblem {
    pub(super) fn unresolved(file: &str, Unresolved { line, reason }: Unresolved) -> Self {
        let place = InputLocation { source: file.to_owned(), position: Some((line, 1)) };
        match reason {
            UnresolvedReason::NoImage { word, name } => Self::NoImage { place, word, name },
            UnresolvedReason::NoVersion { component } => Self::NoVersion { place, component },
            UnresolvedReason::NotSeparate { word } => Self::NotSeparate { place, word },
        }
    }

    /// Whether [`super::ReleaseBuilder::allow_unresolved`] makes it a warning.
    pub fn is_unresolved(&self) -> bool {
        matches!(
            self,
            Self::NoImage { .. }
                | Self::NoVersion { .. }
                | Self::NotSeparate { .. }
                | Self::NotPinned { .. }
        )
    }
}

/// All errors that keep a release from being made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct BuildError {
    /// At least one error.
    pub problems: Vec<BuildProblem>,
    /// Properties that are probably mistakes.
    pub warnings: Vec<BuildWarning>,
}

impl std::error::Error for BuildError {}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => problem.fmt(f),
            problems => {
                write!(f, "{} errors:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n* {problem}"))
            }
        }
    }
}

/// A property of a release that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum BuildWarning {
    /// An error that is allowed.
    #[error(transparent)]
    Unresolved(BuildProblem),
    /// Two operators have files of the same name.
    #[error("{file}: renamed to {name}, because {first} has the same name")]
    Renamed { file: String, name: String, first: String },
    /// An operator lists an image that the release lacks, and that none of its manifests use.
    #[error("{file}: image {name:?} is not in the release; no manifest uses it")]
    UnusedImage { file: String, name: String },
    /// The component versions of an image are unknown.
    #[error("cannot read the component versions of image {image}: {reason}")]
    UnknownVersions { image: String, reason: String },
    /// Images declare different versions of a component.
    #[error("{0}")]
    VersionConflict(String),
    /// A warning from loading the result.
    #[error("{0}")]
    Payload(String),
}

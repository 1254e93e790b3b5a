//! What a scan found, and what it did not.

use std::fmt;

use serde::Serialize;

use crate::Digest;
use crate::pull::PullError;

/// What a scan did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The repository.
    pub repository: String,
    /// How many tags it has.
    pub tags: usize,
    /// How many releases they are.
    pub releases: usize,
    /// How many manifests were read.
    pub read: usize,
    /// How many manifests were known already.
    pub known: usize,
    /// What is wrong, in the order of tags.
    pub problems: Vec<Problem>,
}

/// What is wrong with a tag, or with one image of the list that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The tag.
    pub tag: String,
    /// The image, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Whether the release stays as it was seen last; else it is left out.
    pub kept: bool,
    /// What is wrong.
    #[serde(flatten)]
    pub reason: Reason,
}

/// What can be wrong with a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reason {
    /// It is not a release image.
    #[error("no layer contains {}", fairway_release::metadata::PATH)]
    NoMetadata,
    /// What it says about itself cannot be understood.
    #[error("{why}")]
    Metadata {
        /// Why, with its place.
        why: String,
    },
    /// It is not an image at all.
    #[error("not an image: {why}")]
    NotAnImage {
        /// Why.
        why: String,
    },
    /// Its configuration does not say which machines it is for.
    #[error("unsupported architecture {architecture:?}")]
    Architecture {
        /// What it says instead.
        architecture: String,
    },
    /// It has more layers than can be.
    #[error("too many layers: {count}")]
    TooManyLayers {
        /// How many.
        count: usize,
    },
    /// It is a list of more images than can be.
    #[error("its index has too many images")]
    TooManyPlatforms,
    /// Lists name lists name lists.
    #[error("its indexes are nested too deeply")]
    TooDeep,
    /// Images of one list say that they are different releases.
    #[error("its images belong to different releases: {}", versions.join(", "))]
    DifferentVersions {
        /// What they say.
        versions: Vec<String>,
    },
    /// Not all images of the list can be used.
    #[error("cannot use its image {image}")]
    Incomplete {
        /// The first that cannot.
        image: Digest,
    },
    /// A layer is packed in a way that is not known here.
    #[error("layer {layer} has the media type {media_type:?}; only tar and tar+gzip are supported")]
    LayerType {
        /// The layer.
        layer: Digest,
        /// How it is packed.
        media_type: String,
    },
    /// A layer cannot be unpacked.
    #[error("cannot unpack layer {layer}: {why}")]
    Layer {
        /// The layer.
        layer: Digest,
        /// Why.
        why: String,
    },
    /// It takes too long.
    #[error("timed out after {seconds} seconds")]
    TooSlow {
        /// How long it was given.
        seconds: u64,
    },
    /// There was no time left for it.
    #[error("the scan timed out before it read this release")]
    NoTimeLeft,
    /// There was no memory left for it.
    #[error("the metadata of other releases uses all memory of the scan")]
    NoRoomLeft,
    /// It cannot be read.
    #[error(transparent)]
    #[serde(untagged)]
    Pull(#[from] PullError),
}

impl Reason {
    /// Whether it lies in content that was compared with its digest, and so stays as it is.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Self::TooSlow { .. } | Self::NoTimeLeft | Self::NoRoomLeft | Self::Pull(_))
    }

    /// Whether it says nothing about the release, but about the way to it.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::TooSlow { .. } | Self::NoTimeLeft => true,
            Self::Pull(error) => error.is_transient(),
            _ => false,
        }
    }
}

/// Longer texts are cut: they repeat what an image says, and it may say anything.
const LONGEST_TEXT: usize = 200;

/// What an image says, fit to be printed.
pub(crate) fn printable(text: impl AsRef<str>) -> String {
    let is_printable = |char: &char| !char.is_control() && *char != char::REPLACEMENT_CHARACTER;
    text.as_ref().chars().filter(is_printable).take(LONGEST_TEXT).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { repository, tags, releases, read, known, problems } = self;
        write!(f, "{repository}: {releases} releases in {tags} tags; ")?;
        write!(f, "{read} manifests read, {known} cached")?;
        problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tag)?;
        if let Some(digest) = &self.digest {
            write!(f, " ({digest})")?;
        }
        let consequence = if self.kept { "unchanged" } else { "omitted" };
        write!(f, " {consequence}: {}", self.reason)
    }
}

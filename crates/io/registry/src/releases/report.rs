//! Report of a scan.

use std::fmt;

use serde::Serialize;

use crate::Digest;
use crate::pull::PullError;

/// Result counts and problems of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanReport {
    /// The repository.
    pub repository: String,
    /// Number of tags.
    pub tags: usize,
    /// Number of releases.
    pub releases: usize,
    /// Number of manifests that this scan read.
    pub read: usize,
    /// Number of manifests from the cache.
    pub known: usize,
    /// Problems, sorted by tag.
    pub problems: Vec<ScanProblem>,
}

/// Problem of a tag, or of one image of its index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanProblem {
    /// The tag.
    pub tag: String,
    /// Digest of the image, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Whether the release of the last scan is kept; otherwise it is omitted.
    pub kept: bool,
    /// Cause.
    #[serde(flatten)]
    pub reason: ProblemReason,
}

/// Cause of a problem with a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum ProblemReason {
    /// The image has no release metadata.
    #[error("no layer contains {}", fairway_release::metadata::PATH)]
    NoMetadata,
    /// The release metadata is invalid.
    #[error("{why}")]
    Metadata { why: String },
    /// The content is not an image.
    #[error("not an image: {why}")]
    NotAnImage { why: String },
    /// The configuration has no valid architecture.
    #[error("unsupported architecture {architecture:?}")]
    Architecture { architecture: String },
    /// Too many layers.
    #[error("too many layers: {count}")]
    TooManyLayers { count: usize },
    /// Too many images in an index.
    #[error("its index has too many images")]
    TooManyPlatforms,
    /// Indexes are nested too deeply.
    #[error("its indexes are nested too deeply")]
    TooDeep,
    /// Images of one index have different versions.
    #[error("its images belong to different releases: {}", versions.join(", "))]
    DifferentVersions { versions: Vec<String> },
    /// An image of the index cannot be used.
    #[error("cannot read release image {image}")]
    Incomplete { image: Digest },
    /// The media type of a layer is not supported.
    #[error("layer {layer} has the media type {media_type:?}; only tar and tar+gzip are supported")]
    LayerType { layer: Digest, media_type: String },
    /// A layer cannot be unpacked.
    #[error("cannot unpack layer {layer}: {why}")]
    Layer { layer: Digest, why: String },
    /// Reading the image timed out.
    #[error("timed out after {seconds} seconds")]
    TooSlow { seconds: u64 },
    /// The scan timed out before.
    #[error("the scan timed out before it read this release")]
    NoTimeLeft,
    /// The memory limit of the cache is reached.
    #[error("the scan reached its memory limit")]
    NoRoomLeft,
    /// The content cannot be read.
    #[error(transparent)]
    #[serde(untagged)]
    Pull(#[from] PullError),
}

impl ProblemReason {
    /// Whether the cause lies in verified content and is permanent.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Self::TooSlow { .. } | Self::NoTimeLeft | Self::NoRoomLeft | Self::Pull(_))
    }

    /// Whether the cause is a temporary failure of the registry, not a property of the release.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::TooSlow { .. } | Self::NoTimeLeft => true,
            Self::Pull(error) => error.is_transient(),
            _ => false,
        }
    }
}

/// Characters of quoted text, which an image can choose freely.
const MAX_TEXT_LENGTH: usize = 200;

/// Text of an image without control characters, and truncated.
pub(crate) fn printable(text: impl AsRef<str>) -> String {
    let is_printable = |char: &char| !char.is_control() && *char != char::REPLACEMENT_CHARACTER;
    text.as_ref().chars().filter(is_printable).take(MAX_TEXT_LENGTH).collect()
}

impl fmt::Display for ScanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { repository, tags, releases, read, known, problems } = self;
        write!(f, "{repository}: {releases} releases in {tags} tags; ")?;
        write!(f, "{read} manifests read, {known} cached")?;
        problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl fmt::Display for ScanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tag)?;
        if let Some(digest) = &self.digest {
            write!(f, " ({digest})")?;
        }
        let consequence = if self.kept { "unchanged" } else { "omitted" };
        write!(f, " {consequence}: {}", self.reason)
    }
}

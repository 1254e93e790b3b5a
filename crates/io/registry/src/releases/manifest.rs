//! Reads manifests of release images.

use fairway_release::ReleaseMetadata;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{ProblemReason, layer, printable};
use crate::Digest;
use crate::manifest::{Descriptor, Document, MAX_LAYERS};
use crate::source::{Kind, Source};

/// Images of an index: more than there are architectures.
pub(super) const MAX_PLATFORMS: usize = 64;

/// A manifest that was read. It never changes, because its digest identifies the content.
#[derive(Clone, Debug)]
pub(super) enum ScannedManifest {
    /// A release image.
    Image(ScannedImage),
    /// An index of images for several platforms.
    List(Vec<Digest>),
    /// Content that is not a release.
    Unusable(ProblemReason),
}

/// Metadata of a release image.
#[derive(Clone, Debug)]
pub(super) struct ScannedImage {
    pub(super) architecture: String,
    pub(super) metadata: ReleaseMetadata,
    /// Bytes of the metadata file.
    length: usize,
}

impl ScannedManifest {
    /// Approximate memory usage in bytes.
    pub(super) fn memory(&self) -> usize {
        /// Memory of the digest and the fixed fields.
        const MIN_BYTES: usize = 256;
        match self {
            Self::Image(image) => MIN_BYTES + image.length,
            Self::List(images) => MIN_BYTES * (images.len() + 1),
            Self::Unusable(_) => 2 * MIN_BYTES,
        }
    }
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    architecture: String,
}

/// Reads a manifest, its metadata and its architecture. Temporary errors are returned, so that the
/// next scan retries; permanent ones are part of the manifest.
pub(super) async fn read(
    source: &Source,
    digest: &Digest,
) -> Result<ScannedManifest, ProblemReason> {
    match read_content(source, digest).await {
        Err(reason) if reason.is_final() => Ok(ScannedManifest::Unusable(reason)),
        understood => understood,
    }
}

async fn read_content(source: &Source, digest: &Digest) -> Result<ScannedManifest, ProblemReason> {
    let document: Document = parse(source, Kind::Manifest, digest).await?;
    if let Some(manifests) = document.manifests {
        return platforms(manifests).map(ScannedManifest::List);
    }
    let config = document.config.ok_or_else(|| ProblemReason::NotAnImage {
        why: "its manifest has no configuration".to_owned(),
    })?;
    if document.layers.len() > MAX_LAYERS {
        return Err(ProblemReason::TooManyLayers { count: document.layers.len() });
    }
    // The layer first: images without metadata need no configuration.
    let (metadata, length) = metadata(source, &document.layers).await?;
    let Configuration { architecture } = parse(source, Kind::Blob, &config.digest).await?;
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if architecture.is_empty() || !architecture.bytes().all(legal) {
        return Err(ProblemReason::Architecture { architecture: printable(architecture) });
    }
    Ok(ScannedManifest::Image(ScannedImage { architecture, metadata, length }))
}

/// The images of an index without attestations of build tools.
fn platforms(manifests: Vec<Descriptor>) -> Result<Vec<Digest>, ProblemReason> {
    let is_attachment = |entry: &Descriptor| {
        entry.platform.as_ref().is_some_and(|platform| platform.architecture == "unknown")
    };
    let images = manifests.into_iter().filter(|entry| !is_attachment(entry));
    let images: Vec<Digest> = images.map(|entry| entry.digest).collect();
    if images.len() > MAX_PLATFORMS {
        return Err(ProblemReason::TooManyPlatforms);
    }
    if images.is_empty() {
        return Err(ProblemReason::NotAnImage { why: "its index has no images".to_owned() });
    }
    Ok(images)
}

/// The metadata of the top layer that has valid metadata, and its size.
async fn metadata(
    source: &Source,
    layers: &[Descriptor],
) -> Result<(ReleaseMetadata, usize), ProblemReason> {
    let mut reason = ProblemReason::NoMetadata;
    for layer in layers.iter().rev() {
        let Some(content) = layer::search(source, layer).await? else { continue };
        match ReleaseMetadata::read("release-metadata", &content) {
            Ok(metadata) => return Ok((metadata, content.len())),
            Err(error) => reason = ProblemReason::Metadata { why: printable(error.to_string()) },
        }
    }
    Err(reason)
}

async fn parse<T: DeserializeOwned>(
    source: &Source,
    kind: Kind,
    digest: &Digest,
) -> Result<T, ProblemReason> {
    let bytes = source.document(kind, digest).await?;
    serde_json::from_slice(&bytes).map_err(|error| ProblemReason::NotAnImage {
        why: printable(format!("{digest} is invalid: {error}")),
    })
}

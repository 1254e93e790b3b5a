//! What is known of a manifest.

use fairway_release::ReleaseMetadata;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::source::{Kind, Source};
use super::{Reason, layer, printable};
use crate::Digest;
use crate::manifest::{Descriptor, Document, MOST_LAYERS};

/// No platform has more architectures.
pub(super) const MOST_PLATFORMS: usize = 64;

/// What is known of a manifest for good: its digest names exactly this.
#[derive(Clone, Debug)]
pub(super) enum Manifest {
    /// A release image.
    Image(Image),
    /// A list of images for several platforms.
    List(Vec<Digest>),
    /// Something that will never be a release.
    Unusable(Reason),
}

/// What a release image says.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) architecture: String,
    pub(super) metadata: ReleaseMetadata,
    /// The length of the file with the metadata.
    length: usize,
}

impl Manifest {
    /// About how much memory it takes.
    pub(super) fn weight(&self) -> usize {
        /// Whatever it is, it has a digest and some words.
        const LEAST: usize = 256;
        match self {
            Self::Image(image) => LEAST + image.length,
            Self::List(images) => LEAST * (images.len() + 1),
            Self::Unusable(_) => 2 * LEAST,
        }
    }
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    architecture: String,
}

/// Reads a manifest and what it takes to know it. Errors are worth another try in another scan.
pub(super) async fn read(source: &Source, digest: &Digest) -> Result<Manifest, Reason> {
    match understand(source, digest).await {
        Err(reason) if reason.is_final() => Ok(Manifest::Unusable(reason)),
        understood => understood,
    }
}

async fn understand(source: &Source, digest: &Digest) -> Result<Manifest, Reason> {
    let document: Document = parse(source, Kind::Manifest, digest).await?;
    if let Some(manifests) = document.manifests {
        return platforms(manifests).map(Manifest::List);
    }
    let config = document.config.ok_or_else(|| Reason::NotAnImage {
        why: "its manifest has no configuration".to_owned(),
    })?;
    if document.layers.len() > MOST_LAYERS {
        return Err(Reason::TooManyLayers { count: document.layers.len() });
    }
    // The layer first: most images that are no releases need no configuration to be known as such.
    let (metadata, length) = metadata(source, &document.layers).await?;
    let Configuration { architecture } = parse(source, Kind::Blob, &config.digest).await?;
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if architecture.is_empty() || !architecture.bytes().all(legal) {
        return Err(Reason::Architecture { architecture: printable(architecture) });
    }
    Ok(Manifest::Image(Image { architecture, metadata, length }))
}

/// The images of a list, without what other tools put there beside them.
fn platforms(manifests: Vec<Descriptor>) -> Result<Vec<Digest>, Reason> {
    let is_attachment = |entry: &Descriptor| {
        entry.platform.as_ref().is_some_and(|platform| platform.architecture == "unknown")
    };
    let images = manifests.into_iter().filter(|entry| !is_attachment(entry));
    let images: Vec<Digest> = images.map(|entry| entry.digest).collect();
    if images.len() > MOST_PLATFORMS {
        return Err(Reason::TooManyPlatforms);
    }
    if images.is_empty() {
        return Err(Reason::NotAnImage { why: "its index has no images".to_owned() });
    }
    Ok(images)
}

/// What the top-most layer says that says something, and in how many bytes.
async fn metadata(
    source: &Source,
    layers: &[Descriptor],
) -> Result<(ReleaseMetadata, usize), Reason> {
    let mut reason = Reason::NoMetadata;
    for layer in layers.iter().rev() {
        let Some(content) = layer::search(source, layer).await? else { continue };
        match ReleaseMetadata::read("release-metadata", &content) {
            Ok(metadata) => return Ok((metadata, content.len())),
            Err(error) => reason = Reason::Metadata { why: printable(error.to_string()) },
        }
    }
    Err(reason)
}

async fn parse<T: DeserializeOwned>(
    source: &Source,
    kind: Kind,
    digest: &Digest,
) -> Result<T, Reason> {
    let bytes = source.document(kind, digest).await?;
    serde_json::from_slice(&bytes).map_err(|error| Reason::NotAnImage {
        why: printable(format!("{digest} is invalid: {error}")),
    })
}

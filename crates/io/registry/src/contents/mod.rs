//! Reads selected files of an image into memory.
//!
//! * A [`NamedImage`] is an image reference whose tag may move.
//! * [`read`] fetches the layers of an image and keeps only the files of a [`FileSelection`].
//! * [`labels`](fn@labels) fetches the labels of an image and no layer.

mod collect;
mod reference;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

pub use collect::FileSelection;
pub(crate) use collect::OPAQUE_WHITEOUT;
pub(crate) use reference::split_tag;
pub use reference::{NamedImage, ReferenceError};

use crate::image::architecture;
use crate::manifest::{
    Descriptor, Document, MAX_INDEX_DEPTH, MAX_LAYER_BYTES, MAX_LAYERS, Platform,
};
use crate::pull::{PullError, stream_verified};
use crate::releases::printable;
use crate::source::{Kind, Source};
use crate::unpack::{LayerArchive, UnpackLimits};
use crate::{Digest, ImageConfig};
use collect::LayerFiles;

/// An image whose files cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum ContentsError {
    /// The content is not an image.
    #[error("{digest} is not an image: {why}")]
    NotAnImage { digest: Digest, why: String },
    /// The image is for other platforms.
    #[error("{digest} has no image for linux/{}", architecture())]
    OtherMachine { digest: Digest },
    /// The media type of a layer is not supported.
    #[error("layer {layer} has the media type {media_type:?}; only tar and tar+gzip are supported")]
    LayerType { layer: Digest, media_type: String },
    /// A layer cannot be unpacked.
    #[error("cannot unpack layer {layer}: {why}")]
    Layer { layer: Digest, why: String },
    /// The files of all layers together exceed the limits.
    #[error("the files of the image exceed the limit on number or size")]
    TooMuch,
    /// The content cannot be fetched.
    #[error(transparent)]
    Pull(#[from] PullError),
}

/// Reads the selected files of an image, by path. All content is verified against its digest. The
/// top layer is read first; layers that it hides completely are not fetched.
pub async fn read(
    source: &Source,
    image: &Digest,
    selection: &Arc<FileSelection>,
) -> Result<BTreeMap<String, Vec<u8>>, ContentsError> {
    let manifest = manifest(source, image, selection.any_machine).await?;
    if !selection.any_machine {
        check_platform(source, image, &manifest).await?;
    }
    let mut shown = LayerFiles::default();
    for layer in manifest.layers.iter().rev() {
        shown.cover(fetch(source, layer, selection).await?);
        if !shown.has_room(selection) {
            return Err(ContentsError::TooMuch);
        }
        if shown.hides_all(selection) {
            break;
        }
    }
    Ok(shown.into_files())
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    config: Option<ImageConfig>,
}

/// Fetches the labels of an image without its layers. From an index, the image for this host is
/// preferred.
pub async fn labels(
    source: &Source,
    image: &Digest,
) -> Result<BTreeMap<String, String>, ContentsError> {
    let Some(config) = manifest(source, image, true).await?.config else {
        return Ok(BTreeMap::new());
    };
    let bytes = source.document(Kind::Blob, &config.digest).await?;
    let Configuration { config } =
        serde_json::from_slice(&bytes).map_err(|error| ContentsError::NotAnImage {
            digest: image.clone(),
            why: printable(format!("cannot decode its configuration: {error}")),
        })?;
    Ok(config.unwrap_or_default().labels)
}

/// Fetches the manifest of an image. From an index, the image for this host is used; with
/// `any_platform`, the first image if there is none for this host.
pub(crate) async fn manifest(
    source: &Source,
    image: &Digest,
    any_platform: bool,
) -> Result<Document, ContentsError> {
    let mut digest = image.clone();
    for _ in 0..=MAX_INDEX_DEPTH {
        let refused =
            |why: &str| ContentsError::NotAnImage { digest: digest.clone(), why: why.to_owned() };
        let bytes = source.document(Kind::Manifest, &digest).await?;
        let document: Document = serde_json::from_slice(&bytes)
            .map_err(|error| refused(&printable(error.to_string())))?;
        match document.manifests {
            Some(manifests) => {
                digest = choose(&manifests, any_platform, &digest)?.digest.clone();
            }
            None if document.config.is_none() => {
                return Err(refused("its manifest has no configuration"));
            }
            None if document.layers.len() > MAX_LAYERS => {
                return Err(refused("it has too many layers"));
            }
            None => return Ok(document),
        }
    }
    let why = "its indexes are nested too deeply".to_owned();
    Err(ContentsError::NotAnImage { digest: image.clone(), why })
}

/// Checks the platform in the configuration: an image outside of an index has it nowhere else.
async fn check_platform(
    source: &Source,
    image: &Digest,
    manifest: &Document,
) -> Result<(), ContentsError> {
    let Some(config) = &manifest.config else { return Ok(()) };
    let bytes = source.document(Kind::Blob, &config.digest).await?;
    let platform: Platform =
        serde_json::from_slice(&bytes).map_err(|error| ContentsError::NotAnImage {
            digest: image.clone(),
            why: printable(format!("its configuration is invalid: {error}")),
        })?;
    if platform.is_host() {
        return Ok(());
    }
    Err(ContentsError::OtherMachine { digest: image.clone() })
}

fn choose<'a>(
    manifests: &'a [Descriptor],
    any_platform: bool,
    list: &Digest,
) -> Result<&'a Descriptor, ContentsError> {
    let is_ours = |entry: &&Descriptor| entry.platform.as_ref().is_some_and(Platform::is_host);
    // Build tools add attestations with the architecture "unknown".
    let is_image = |entry: &&Descriptor| {
        entry.platform.as_ref().is_none_or(|platform| platform.architecture != "unknown")
    };
    let Some(first) = manifests.iter().find(is_image) else {
        let why = "its index has no images".to_owned();
        return Err(ContentsError::NotAnImage { digest: list.clone(), why });
    };
    match manifests.iter().find(is_ours) {
        Some(ours) => Ok(ours),
        // An entry without a platform is for all platforms.
        None if any_platform || first.platform.is_none() => Ok(first),
        None => Err(ContentsError::OtherMachine { digest: list.clone() }),
    }
}

async fn fetch(
    source: &Source,
    layer: &Descriptor,
    selection: &Arc<FileSelection>,
) -> Result<LayerFiles, ContentsError> {
    let failed =
        |why: String| ContentsError::Layer { layer: layer.digest.clone(), why: printable(why) };
    if layer.size > MAX_LAYER_BYTES {
        return Err(failed(format!("larger than {MAX_LAYER_BYTES} bytes")));
    }
    let UnpackLimits { ratio, entries, .. } = UnpackLimits::default();
    let (media_type, size, selection) =
        (layer.media_type.clone(), layer.size, Arc::clone(selection));
    let body = source.layer(layer).await?;
    let collected = stream_verified(body, layer, move |chunks| {
        let archive = LayerArchive::new(chunks, &media_type, size, ratio)?;
        Some(LayerFiles::collect(archive, &selection, entries))
    });
    match collected.await?.map_err(|error| failed(error.to_string()))? {
        Some(Ok(collected)) => Ok(collected),
        Some(Err(error)) => Err(failed(error.to_string())),
        None => {
            let (layer, media_type) = (layer.digest.clone(), printable(&layer.media_type));
            Err(ContentsError::LayerType { layer, media_type })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::layout::{self, Layout};
    use crate::{Image, LayerBuilder};

    #[tokio::test]
    async fn labels_returns_the_labels_of_the_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let layer = LayerBuilder::new().file("a", 0o644, "a").unwrap().build().unwrap();
        let labels = BTreeMap::from([("a.example".to_owned(), "b=1".to_owned())]);
        let config = ImageConfig { labels: labels.clone(), ..ImageConfig::default() };
        let image = Image::new(vec![layer], &config);
        layout::add(directory.path(), &image, "latest").unwrap();
        let source = Source::Layout {
            layout: Layout::open(directory.path()).unwrap(),
            name: "registry.example/a".to_owned(),
        };
        assert_eq!(super::labels(&source, image.digest()).await, Ok(labels));

        let config = source.document(Kind::Manifest, image.digest()).await.unwrap();
        let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
        let digest = config["config"]["digest"].as_str().unwrap().trim_start_matches("sha256:");
        fs::remove_file(directory.path().join("blobs/sha256").join(digest)).unwrap();
        assert!(super::labels(&source, image.digest()).await.is_err());
    }
}

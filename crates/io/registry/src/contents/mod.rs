//! Some files of an image, in memory: what its layers make of them, one after the other.
//!
//! * A [`NamedImage`] is what somebody calls an image; it may stand for another one tomorrow.
//! * [`read`] fetches the layers of one, and keeps of them only what is [`Wanted`].
//! * [`labels`](fn@labels) fetches the labels of one, and no layer.

mod collect;
mod labels;
mod reference;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use collect::ALL_GONE;
pub use collect::Wanted;
pub use labels::labels;
pub(crate) use reference::split_tag;
pub use reference::{NamedImage, ReferenceError};

use crate::Digest;
use crate::image::architecture;
use crate::manifest::{DEEPEST_INDEX, Descriptor, Document, LARGEST_LAYER, MOST_LAYERS, Platform};
use crate::pull::{PullError, pass};
use crate::releases::{Kind, Source, printable};
use crate::unpack::{Limits, Unpacked};
use collect::Layer;

/// Why the files of an image cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentsError {
    /// It is something else.
    #[error("{digest} is not an image: {why}")]
    NotAnImage {
        /// What was looked at.
        digest: Digest,
        /// Why.
        why: String,
    },
    /// It cannot run here.
    #[error("{digest} has no image for linux/{}", architecture())]
    OtherMachine {
        /// What was looked at.
        digest: Digest,
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
    /// Together, the layers have more than may be kept.
    #[error("the files of the image exceed the limits of number or size")]
    TooMuch,
    /// It cannot be fetched.
    #[error(transparent)]
    Pull(#[from] PullError),
}

/// The files of an image that are wanted, by their paths. Everything is compared with its digest.
/// The top-most layer is read first, and none that is hidden by those above it.
pub async fn read(
    source: &Source,
    image: &Digest,
    wanted: &Arc<Wanted>,
) -> Result<BTreeMap<String, Vec<u8>>, ContentsError> {
    let manifest = manifest(source, image, wanted.any_machine).await?;
    if !wanted.any_machine {
        check_machine(source, image, &manifest).await?;
    }
    let mut shown = Layer::default();
    for layer in manifest.layers.iter().rev() {
        shown.cover(fetch(source, layer, wanted).await?);
        if !shown.has_room(wanted) {
            return Err(ContentsError::TooMuch);
        }
        if shown.hides_all(wanted) {
            break;
        }
    }
    Ok(shown.into_files())
}

/// The manifest of an image; of several platforms, that of this machine's, or of the first that is
/// for any.
pub(crate) async fn manifest(
    source: &Source,
    image: &Digest,
    any_machine: bool,
) -> Result<Document, ContentsError> {
    let mut digest = image.clone();
    for _ in 0..=DEEPEST_INDEX {
        let refused =
            |why: &str| ContentsError::NotAnImage { digest: digest.clone(), why: why.to_owned() };
        let bytes = source.document(Kind::Manifest, &digest).await?;
        let document: Document = serde_json::from_slice(&bytes)
            .map_err(|error| refused(&printable(error.to_string())))?;
        match document.manifests {
            Some(manifests) => {
                digest = choose(&manifests, any_machine, &digest)?.digest.clone();
            }
            None if document.config.is_none() => {
                return Err(refused("its manifest has no configuration"));
            }
            None if document.layers.len() > MOST_LAYERS => {
                return Err(refused("it has too many layers"));
            }
            None => return Ok(document),
        }
    }
    let why = "its indexes are nested too deeply".to_owned();
    Err(ContentsError::NotAnImage { digest: image.clone(), why })
}

/// An image that is in no list says alone which machines it is for.
async fn check_machine(
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
    if platform.is_this_machine() {
        return Ok(());
    }
    Err(ContentsError::OtherMachine { digest: image.clone() })
}

fn choose<'a>(
    manifests: &'a [Descriptor],
    any_machine: bool,
    list: &Digest,
) -> Result<&'a Descriptor, ContentsError> {
    let is_ours =
        |entry: &&Descriptor| entry.platform.as_ref().is_some_and(Platform::is_this_machine);
    // What other tools put beside images is for no machine.
    let is_image = |entry: &&Descriptor| {
        entry.platform.as_ref().is_none_or(|platform| platform.architecture != "unknown")
    };
    let Some(first) = manifests.iter().find(is_image) else {
        let why = "its index has no images".to_owned();
        return Err(ContentsError::NotAnImage { digest: list.clone(), why });
    };
    match manifests.iter().find(is_ours) {
        Some(ours) => Ok(ours),
        // Who names no platform means all of them.
        None if any_machine || first.platform.is_none() => Ok(first),
        None => Err(ContentsError::OtherMachine { digest: list.clone() }),
    }
}

async fn fetch(
    source: &Source,
    layer: &Descriptor,
    wanted: &Arc<Wanted>,
) -> Result<Layer, ContentsError> {
    let failed =
        |why: String| ContentsError::Layer { layer: layer.digest.clone(), why: printable(why) };
    if layer.size > LARGEST_LAYER {
        return Err(failed(format!("larger than {LARGEST_LAYER} bytes")));
    }
    let Limits { ratio, entries, .. } = Limits::default();
    let (media_type, size, wanted) = (layer.media_type.clone(), layer.size, Arc::clone(wanted));
    let body = source.layer(layer).await?;
    let collected = pass(body, layer, move |chunks| {
        let archive = Unpacked::new(chunks, &media_type, size, ratio)?;
        Some(Layer::collect(archive, &wanted, entries))
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

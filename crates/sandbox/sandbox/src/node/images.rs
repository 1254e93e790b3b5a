//! Images from OCI layouts on the host.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fairway_registry::layout::{Layout, LayoutImage};
use fairway_registry::unpack::{PackedLayer, UnpackError, UnpackLimits, unpack, unpack_onto};
use fairway_registry::{Digest, ImageConfig};

/// An image with unpacked files.
#[derive(Clone, Debug)]
pub(crate) struct UnpackedImage {
    pub(crate) digest: Digest,
    pub(crate) config: ImageConfig,
    pub(crate) root: PathBuf,
}

/// Finds and unpacks images.
#[derive(Clone, Debug)]
pub(crate) struct ImageStore {
    layouts: Vec<PathBuf>,
    directory: PathBuf,
    /// Serialises unpacking, which is limited by the disk.
    unpacking: Arc<Mutex<()>>,
}

impl ImageStore {
    pub(crate) fn new(layouts: Vec<PathBuf>, directory: PathBuf) -> Self {
        Self { layouts, directory, unpacking: Arc::default() }
    }

    /// The unpacked image, shared by all its containers. The error contains a remediation.
    pub(crate) async fn get(&self, name: &str) -> Result<UnpackedImage, String> {
        self.unpack_exclusively(name, |images, image| {
            let root = images.directory.join(image.digest.hex());
            if !root.exists() {
                images
                    .unpack_layers(&image.layers, &root)
                    .map_err(|error| fairway_text::chain(&error))?;
            }
            Ok(root)
        })
        .await
    }

    /// Unpacks an image for one container.
    pub(crate) async fn copy(&self, name: &str, root: PathBuf) -> Result<UnpackedImage, String> {
        self.unpack_exclusively(name, move |_, image| {
            if !root.exists() {
                unpack(&image.layers, &root, &UnpackLimits::default())
                    .map_err(|error| fairway_text::chain(&error))?;
            }
            Ok(root.clone())
        })
        .await
    }

    async fn unpack_exclusively(
        &self,
        name: &str,
        place: impl Fn(&Self, &LayoutImage) -> Result<PathBuf, String> + Send + 'static,
    ) -> Result<UnpackedImage, String> {
        let (images, name) = (self.clone(), name.to_owned());
        let work = move || {
            let _turn = images.unpacking.lock().unwrap_or_else(PoisonError::into_inner);
            let image = images.find(&name)?;
            let root = place(&images, &image)?;
            Ok(UnpackedImage { digest: image.digest, config: image.config, root })
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
    }

    /// Unpacks read-only layers. Images of one binary differ only in the last layer, so the lower
    /// layers are unpacked once and shared.
    fn unpack_layers(&self, layers: &[PackedLayer], root: &Path) -> Result<(), UnpackError> {
        let limits = UnpackLimits::default();
        let Some((top, below)) = layers.split_last().filter(|(_, below)| !below.is_empty()) else {
            return unpack(layers, root, &limits);
        };
        let shared = self.directory.join(format!("below-{}", chain(below).hex()));
        if !shared.exists() {
            unpack(below, &shared, &limits)?;
        }
        unpack_onto(&shared, std::slice::from_ref(top), root, &limits)
    }

    fn find(&self, name: &str) -> Result<LayoutImage, String> {
        let mut problems = Vec::new();
        for directory in self.layouts.iter().flat_map(|directory| layouts_in(directory)) {
            match Layout::open(directory).and_then(|layout| layout.find(name)) {
                Ok(Some(image)) => return Ok(image),
                Ok(None) => {}
                Err(error) => problems.push(fairway_text::chain(&error)),
            }
        }
        let places: Vec<_> =
            self.layouts.iter().map(|layout| layout.display().to_string()).collect();
        let places = if places.is_empty() { "nowhere".to_owned() } else { places.join(", ") };
        let problems = problems.join("; ");
        Err(format!(
            "image {name:?} not found in the OCI layouts of the sandbox; the sandbox does not pull \
            images (layouts: {places}) {problems}"
        ))
    }
}

/// Digest of a list of layers.
fn chain(layers: &[PackedLayer]) -> Digest {
    let names: Vec<&str> = layers.iter().map(|layer| layer.diff_id.as_str()).collect();
    Digest::of(names.join(" ").as_bytes())
}

/// The directory itself if it is an OCI layout, otherwise the layouts in it.
pub(crate) fn layouts_in(directory: &Path) -> Vec<PathBuf> {
    if directory.join("oci-layout").exists() {
        return vec![directory.to_owned()];
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut inside: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join("oci-layout").exists()).collect();
    inside.sort();
    inside
}

//! Images, which come from OCI layouts on this machine alone.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fairway_registry::layout::{FoundImage, Layout};
use fairway_registry::unpack::{Limits, PackedLayer, UnpackError, unpack, unpack_onto};
use fairway_registry::{Digest, ImageConfig};

/// An image whose files are there.
#[derive(Clone, Debug)]
pub(crate) struct UnpackedImage {
    pub(crate) digest: Digest,
    pub(crate) config: ImageConfig,
    pub(crate) root: PathBuf,
}

/// Finds and unpacks images.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    layouts: Vec<PathBuf>,
    directory: PathBuf,
    /// One at a time: unpacking is work for the disk.
    turn: Arc<Mutex<()>>,
}

impl Images {
    pub(crate) fn new(layouts: Vec<PathBuf>, directory: PathBuf) -> Self {
        Self { layouts, directory, turn: Arc::default() }
    }

    /// The files of an image, shared by all its containers; an error says what to do.
    pub(crate) async fn get(&self, name: &str) -> Result<UnpackedImage, String> {
        self.in_turn(name, |images, image| {
            let root = images.directory.join(image.digest.hex());
            if !root.exists() {
                images.share(&image.layers, &root).map_err(|error| fairway_text::chain(&error))?;
            }
            Ok(root)
        })
        .await
    }

    /// The files of an image for one container alone.
    pub(crate) async fn copy(&self, name: &str, root: PathBuf) -> Result<UnpackedImage, String> {
        self.in_turn(name, move |_, image| {
            if !root.exists() {
                unpack(&image.layers, &root, &Limits::default())
                    .map_err(|error| fairway_text::chain(&error))?;
            }
            Ok(root.clone())
        })
        .await
    }

    async fn in_turn(
        &self,
        name: &str,
        place: impl Fn(&Self, &FoundImage) -> Result<PathBuf, String> + Send + 'static,
    ) -> Result<UnpackedImage, String> {
        let (images, name) = (self.clone(), name.to_owned());
        let work = move || {
            let _turn = images.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let image = images.find(&name)?;
            let root = place(&images, &image)?;
            Ok(UnpackedImage { digest: image.digest, config: image.config, root })
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
    }

    /// Unpacks layers that nobody writes into. Images of one program differ in their last layer
    /// alone, so what lies below it is unpacked once for all of them.
    fn share(&self, layers: &[PackedLayer], root: &Path) -> Result<(), UnpackError> {
        let limits = Limits::default();
        let Some((top, below)) = layers.split_last().filter(|(_, below)| !below.is_empty()) else {
            return unpack(layers, root, &limits);
        };
        let shared = self.directory.join(format!("below-{}", chain(below).hex()));
        if !shared.exists() {
            unpack(below, &shared, &limits)?;
        }
        unpack_onto(&shared, std::slice::from_ref(top), root, &limits)
    }

    fn find(&self, name: &str) -> Result<FoundImage, String> {
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
            "image {name:?} is in no OCI layout directory of the sandbox, which pulls no images \
            (layouts: {places}) {problems}"
        ))
    }
}

/// What tells apart what layers are together.
fn chain(layers: &[PackedLayer]) -> Digest {
    let names: Vec<&str> = layers.iter().map(|layer| layer.diff_id.as_str()).collect();
    Digest::of(names.join(" ").as_bytes())
}

/// The directory itself, or the layouts in it.
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

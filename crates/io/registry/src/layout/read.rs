//! Finding images in a layout that somebody else may have written.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::reference::Reference;
use super::{BLOBS, NAME, WHOLE_NAME};
use crate::image::architecture;
use crate::manifest::{
    DEEPEST_INDEX, Descriptor, Document, LARGEST_DOCUMENT, MOST_LAYERS, Platform,
};
use crate::unpack::PackedLayer;
use crate::{Digest, ImageConfig};

/// A directory with images.
#[derive(Clone, Debug)]
pub struct Layout {
    directory: PathBuf,
}

/// An image that a layout has for this machine.
#[derive(Clone, Debug)]
pub struct FoundImage {
    /// The digest of its manifest.
    pub digest: Digest,
    /// What a container of it runs.
    pub config: ImageConfig,
    /// What it is made of, the lowest first.
    pub layers: Vec<PackedLayer>,
}

/// Why an image could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is larger than it can reasonably be.
    #[error("{} is larger than {LARGEST_DOCUMENT} bytes", .0.display())]
    TooLarge(PathBuf),
    /// A file is not what it should be.
    #[error("{} is invalid", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: serde_json::Error,
    },
    /// The content is not what its name says.
    #[error("the content of {} does not match its digest", .0.display())]
    WrongDigest(PathBuf),
    /// The directory has no images, or in another way than this program knows.
    #[error("{} is not an OCI layout of version 1", .0.display())]
    NotALayout(PathBuf),
    /// Indices name indices name indices.
    #[error("the indexes in {} are nested too deeply", .0.display())]
    TooDeep(PathBuf),
    /// The image has too many layers.
    #[error("{digest} has {count} layers; the limit is {MOST_LAYERS}")]
    TooManyLayers {
        /// The image.
        digest: Digest,
        /// How many.
        count: usize,
    },
    /// The manifest and the configuration contradict each other.
    #[error("the manifest and the configuration of {0} have different numbers of layers")]
    OtherLayers(Digest),
    /// The image exists, but for other machines.
    #[error("{name} has no image for linux/{}", architecture())]
    OtherPlatform {
        /// What was asked for.
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: String,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    config: Option<ImageConfig>,
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<Digest>,
}

impl Layout {
    /// Opens a directory.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, ReadError> {
        let directory = directory.into();
        let marker: Marker = parse(&directory.join("oci-layout"))?;
        if !marker.image_layout_version.starts_with("1.") {
            return Err(ReadError::NotALayout(directory));
        }
        Ok(Self { directory })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The image of that name or digest, for this machine; `None` if there is none of that name.
    pub fn find(&self, name: &str) -> Result<Option<FoundImage>, ReadError> {
        let Some(descriptor) = self.descriptor(&Reference::parse(name))? else {
            return Ok(None);
        };
        match self.manifest(&descriptor, 0)? {
            Some((digest, manifest)) => self.image(digest, manifest).map(Some),
            None => Err(ReadError::OtherPlatform { name: name.to_owned() }),
        }
    }

    /// What the layout has under that name; a digest may be that of anything it has.
    fn descriptor(&self, reference: &Reference) -> Result<Option<Descriptor>, ReadError> {
        if let Reference::Digest(digest) = reference {
            let size = match std::fs::metadata(self.blob(digest)) {
                Ok(metadata) => metadata.len(),
                Err(_) => return Ok(None),
            };
            let (media_type, digest) = (String::new(), digest.clone());
            let (annotations, platform) = (None, None);
            return Ok(Some(Descriptor { media_type, digest, size, annotations, platform }));
        }
        let index: Document = parse(&self.directory.join("index.json"))?;
        let directory = self.directory.file_name().unwrap_or_default().to_string_lossy();
        let named = |descriptor: &Descriptor| {
            let annotations = descriptor.annotations.as_ref();
            NAMES
                .iter()
                .filter_map(|name| annotations?.get(*name))
                .any(|annotated| reference.means(annotated, &directory))
        };
        Ok(index.manifests.unwrap_or_default().into_iter().find(named))
    }

    /// The entries of the layout's index, with whatever others wrote into them.
    pub(super) fn index(&self) -> Result<Vec<serde_json::Value>, ReadError> {
        #[derive(Deserialize)]
        struct Index {
            manifests: Vec<serde_json::Value>,
        }
        Ok(parse::<Index>(&self.directory.join("index.json"))?.manifests)
    }

    /// Everything that the layout's index names; what has no name is called by its digest.
    pub(crate) fn entries(&self) -> Result<Vec<(String, Descriptor)>, ReadError> {
        let index: Document = parse(&self.directory.join("index.json"))?;
        let name = |descriptor: &Descriptor| {
            let annotations = descriptor.annotations.as_ref();
            NAMES.iter().find_map(|name| annotations?.get(*name).cloned())
        };
        let entries = index.manifests.unwrap_or_default().into_iter();
        Ok(entries
            .map(|entry| (name(&entry).unwrap_or_else(|| entry.digest.to_string()), entry))
            .collect())
    }

    /// The manifest for this machine that a descriptor leads to.
    fn manifest(
        &self,
        descriptor: &Descriptor,
        depth: usize,
    ) -> Result<Option<(Digest, Document)>, ReadError> {
        let document: Document = self.document(descriptor)?;
        let Some(manifests) = document.manifests else {
            return Ok(Some((descriptor.digest.clone(), document)));
        };
        if depth == DEEPEST_INDEX {
            return Err(ReadError::TooDeep(self.directory.clone()));
        }
        let suits = |descriptor: &&Descriptor| {
            descriptor.platform.as_ref().is_none_or(Platform::is_this_machine)
        };
        match manifests.iter().find(suits) {
            Some(descriptor) => self.manifest(descriptor, depth + 1),
            None => Ok(None),
        }
    }

    fn image(&self, digest: Digest, manifest: Document) -> Result<FoundImage, ReadError> {
        let count = manifest.layers.len();
        if count > MOST_LAYERS {
            return Err(ReadError::TooManyLayers { digest, count });
        }
        let Some(descriptor) = manifest.config else {
            return Err(ReadError::NotALayout(self.directory.clone()));
        };
        let configuration: Configuration = self.document(&descriptor)?;
        if configuration.rootfs.diff_ids.len() != count {
            return Err(ReadError::OtherLayers(digest));
        }
        let layers = manifest.layers.into_iter().zip(configuration.rootfs.diff_ids);
        let layers = layers.map(|(descriptor, diff_id)| PackedLayer {
            path: self.blob(&descriptor.digest),
            media_type: descriptor.media_type,
            digest: descriptor.digest,
            size: descriptor.size,
            diff_id,
        });
        let config = configuration.config.unwrap_or_default();
        Ok(FoundImage { digest, config, layers: layers.collect() })
    }

    fn document<T: DeserializeOwned>(&self, descriptor: &Descriptor) -> Result<T, ReadError> {
        let path = self.blob(&descriptor.digest);
        let bytes = read(&path)?;
        if bytes.len() as u64 != descriptor.size || Digest::of(&bytes) != descriptor.digest {
            return Err(ReadError::WrongDigest(path));
        }
        serde_json::from_slice(&bytes).map_err(|source| ReadError::Format { path, source })
    }

    pub(crate) fn blob(&self, digest: &Digest) -> PathBuf {
        self.directory.join(BLOBS).join(digest.hex())
    }
}

/// Where the name of an image may stand.
const NAMES: [&str; 2] = [NAME, WHOLE_NAME];

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, ReadError> {
    serde_json::from_slice(&read(path)?)
        .map_err(|source| ReadError::Format { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_DOCUMENT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST_DOCUMENT {
        return Err(ReadError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::{Image, LayerBuilder, layout};

    fn image() -> Image {
        let layer = LayerBuilder::new().file("a", 0o644, "x").unwrap().build().unwrap();
        Image::new(vec![layer], &ImageConfig { cmd: vec!["/a".into()], ..Default::default() })
    }

    fn add(directory: &Path, document: &Value) -> Value {
        let bytes = document.to_string().into_bytes();
        let digest = Digest::of(&bytes);
        fs::write(directory.join(BLOBS).join(digest.hex()), &bytes).unwrap();
        json!({ "mediaType": "x", "digest": digest, "size": bytes.len() })
    }

    fn set_index(directory: &Path, mut descriptor: Value, name: &str) {
        descriptor["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
        let index = json!({ "schemaVersion": 2, "manifests": [descriptor] });
        fs::write(directory.join("index.json"), index.to_string()).unwrap();
    }

    #[test]
    fn an_image_is_found_by_its_name_and_by_its_digest() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "registry.example/a:1").unwrap();
        let found = Layout::open(directory.path()).unwrap();
        let by_digest = format!("whatever@{}", image.digest());
        for name in ["registry.example/a:1", by_digest.as_str()] {
            let found = found.find(name).unwrap().unwrap();
            assert_eq!(found.digest, *image.digest());
            assert_eq!(found.config.cmd, ["/a"]);
            assert_eq!(found.layers.len(), 1);
        }
        assert!(found.find("registry.example/a:2").unwrap().is_none());
        assert!(found.find(&format!("a@{}", Digest::of(b"none"))).unwrap().is_none());
    }

    #[test]
    fn of_several_platforms_this_machine_s_is_chosen() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "a").unwrap();
        let platform = |architecture: &str| {
            let mut descriptor = image.manifest().descriptor();
            descriptor["platform"] = json!({ "os": "linux", "architecture": architecture });
            descriptor
        };
        let both = json!({ "manifests": [platform("pdp11"), platform(architecture())] });
        set_index(directory.path(), add(directory.path(), &both), "a:both");
        let found = Layout::open(directory.path()).unwrap();
        assert_eq!(found.find("a:both").unwrap().unwrap().digest, *image.digest());

        let other = json!({ "manifests": [platform("pdp11")] });
        set_index(directory.path(), add(directory.path(), &other), "a:other");
        let error = found.find("a:other").unwrap_err().to_string();
        assert!(error.starts_with("a:other has no image for linux/"), "{error}");
    }

    #[test]
    fn what_is_not_what_its_name_says_is_refused() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "a").unwrap();
        let manifest = directory.path().join(BLOBS).join(image.digest().hex());
        fs::write(&manifest, [image.manifest().bytes(), b" "].concat()).unwrap();
        let error = Layout::open(directory.path()).unwrap().find("a").unwrap_err();
        assert!(matches!(error, ReadError::WrongDigest(path) if path == manifest));
    }

    #[test]
    fn endless_indices_many_layers_and_large_documents_are_refused() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        let directory = directory.path();
        layout::write(directory, &image, "a").unwrap();
        let found = Layout::open(directory).unwrap();

        let mut descriptor = image.manifest().descriptor();
        for _ in 0..=DEEPEST_INDEX {
            descriptor = add(directory, &json!({ "manifests": [descriptor] }));
        }
        set_index(directory, descriptor, "a");
        assert!(matches!(found.find("a").unwrap_err(), ReadError::TooDeep(_)));

        let layers = vec![image.manifest().descriptor(); MOST_LAYERS + 1];
        let config = image.manifest().descriptor();
        set_index(directory, add(directory, &json!({ "layers": layers, "config": config })), "a");
        assert!(matches!(found.find("a").unwrap_err(), ReadError::TooManyLayers { .. }));

        let length = usize::try_from(LARGEST_DOCUMENT).unwrap() + 1;
        fs::write(directory.join("index.json"), " ".repeat(length)).unwrap();
        assert!(matches!(found.find("a").unwrap_err(), ReadError::TooLarge(_)));
        fs::write(directory.join("index.json"), "{").unwrap();
        assert!(matches!(found.find("a").unwrap_err(), ReadError::Format { .. }));
    }

    #[test]
    fn a_digest_cannot_lead_out_of_the_layout() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "a").unwrap();
        let evil = json!({ "mediaType": "x", "digest": "sha256:../../../etc/passwd", "size": 1 });
        set_index(directory.path(), evil, "a");
        let error = Layout::open(directory.path()).unwrap().find("a").unwrap_err();
        assert!(matches!(error, ReadError::Format { .. }));
    }

    #[test]
    fn other_directories_are_no_layouts() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(Layout::open(directory.path()).unwrap_err(), ReadError::Io { .. }));
        fs::write(directory.path().join("oci-layout"), r#"{"imageLayoutVersion":"2"}"#).unwrap();
        assert!(matches!(Layout::open(directory.path()).unwrap_err(), ReadError::NotALayout(_)));
    }
}

//! Finds images in a layout that another tool may have written.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::reference::Reference;
use super::{BLOBS, CONTAINERD_NAME, REF_NAME};
use crate::image::architecture;
use crate::manifest::{
    Descriptor, Document, MAX_DOCUMENT_BYTES, MAX_INDEX_DEPTH, MAX_LAYERS, Platform,
};
use crate::unpack::PackedLayer;
use crate::{Digest, ImageConfig};

/// An OCI layout directory.
#[derive(Clone, Debug)]
pub struct Layout {
    directory: PathBuf,
}

/// An image of a layout for the platform of this host.
#[derive(Clone, Debug)]
pub struct LayoutImage {
    /// Digest of the manifest.
    pub digest: Digest,
    /// Container configuration.
    pub config: ImageConfig,
    /// Layers, the lowest first.
    pub layers: Vec<PackedLayer>,
}

/// An image of a layout that cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum LayoutReadError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A document exceeds the size limit.
    #[error("{} is larger than {MAX_DOCUMENT_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    /// A document is malformed.
    #[error("{} is invalid", path.display())]
    Format { path: PathBuf, source: serde_json::Error },
    /// The content does not match its digest.
    #[error("the content of {} does not match its digest", .0.display())]
    WrongDigest(PathBuf),
    /// The directory is not an OCI layout of a known version.
    #[error("{} is not an OCI layout of version 1", .0.display())]
    NotALayout(PathBuf),
    /// Indexes are nested too deeply.
    #[error("the indexes in {} are nested too deeply", .0.display())]
    TooDeep(PathBuf),
    /// The image has too many layers.
    #[error("{digest} has {count} layers; the limit is {MAX_LAYERS}")]
    TooManyLayers { digest: Digest, count: usize },
    /// Manifest and configuration have different numbers of layers.
    #[error("the manifest and the configuration of {0} have different numbers of layers")]
    OtherLayers(Digest),
    /// The image is for other platforms.
    #[error("{name} has no image for linux/{}", architecture())]
    OtherPlatform { name: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LayoutVersion {
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
    /// Opens a layout.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, LayoutReadError> {
        let directory = directory.into();
        let version: LayoutVersion = parse(&directory.join("oci-layout"))?;
        if !version.image_layout_version.starts_with("1.") {
            return Err(LayoutReadError::NotALayout(directory));
        }
        Ok(Self { directory })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Finds the image of a reference for this host; `None` if the layout does not have the
    /// reference.
    pub fn find(&self, name: &str) -> Result<Option<LayoutImage>, LayoutReadError> {
        let Some(descriptor) = self.descriptor(&Reference::parse(name))? else {
            return Ok(None);
        };
        match self.manifest(&descriptor, 0)? {
            Some((digest, manifest)) => self.image(digest, manifest).map(Some),
            None => Err(LayoutReadError::OtherPlatform { name: name.to_owned() }),
        }
    }

    /// The descriptor of a reference. A digest may be that of any blob of the layout.
    fn descriptor(&self, reference: &Reference) -> Result<Option<Descriptor>, LayoutReadError> {
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
            NAME_ANNOTATIONS
                .iter()
                .filter_map(|name| annotations?.get(*name))
                .any(|annotated| reference.matches(annotated, &directory))
        };
        Ok(index.manifests.unwrap_or_default().into_iter().find(named))
    }

    /// The entries of the index with all their fields.
    pub(super) fn index(&self) -> Result<Vec<serde_json::Value>, LayoutReadError> {
        #[derive(Deserialize)]
        struct Index {
            manifests: Vec<serde_json::Value>,
        }
        Ok(parse::<Index>(&self.directory.join("index.json"))?.manifests)
    }

    /// The entries of the index with their names. The name of an entry without annotation is its
    /// digest.
    pub(crate) fn entries(&self) -> Result<Vec<(String, Descriptor)>, LayoutReadError> {
        let index: Document = parse(&self.directory.join("index.json"))?;
        let name = |descriptor: &Descriptor| {
            let annotations = descriptor.annotations.as_ref();
            NAME_ANNOTATIONS.iter().find_map(|name| annotations?.get(*name).cloned())
        };
        let entries = index.manifests.unwrap_or_default().into_iter();
        Ok(entries
            .map(|entry| (name(&entry).unwrap_or_else(|| entry.digest.to_string()), entry))
            .collect())
    }

    /// Follows a descriptor to the manifest for this host.
    fn manifest(
        &self,
        descriptor: &Descriptor,
        depth: usize,
    ) -> Result<Option<(Digest, Document)>, LayoutReadError> {
        let document: Document = self.document(descriptor)?;
        let Some(manifests) = document.manifests else {
            return Ok(Some((descriptor.digest.clone(), document)));
        };
        if depth == MAX_INDEX_DEPTH {
            return Err(LayoutReadError::TooDeep(self.directory.clone()));
        }
        let suits =
            |descriptor: &&Descriptor| descriptor.platform.as_ref().is_none_or(Platform::is_host);
        match manifests.iter().find(suits) {
            Some(descriptor) => self.manifest(descriptor, depth + 1),
            None => Ok(None),
        }
    }

    fn image(&self, digest: Digest, manifest: Document) -> Result<LayoutImage, LayoutReadError> {
        let count = manifest.layers.len();
        if count > MAX_LAYERS {
            return Err(LayoutReadError::TooManyLayers { digest, count });
        }
        let Some(descriptor) = manifest.config else {
            return Err(LayoutReadError::NotALayout(self.directory.clone()));
        };
        let configuration: Configuration = self.document(&descriptor)?;
        if configuration.rootfs.diff_ids.len() != count {
            return Err(LayoutReadError::OtherLayers(digest));
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
        Ok(LayoutImage { digest, config, layers: layers.collect() })
    }

    fn document<T: DeserializeOwned>(&self, descriptor: &Descriptor) -> Result<T, LayoutReadError> {
        let path = self.blob(&descriptor.digest);
        let bytes = read(&path)?;
        if bytes.len() as u64 != descriptor.size || Digest::of(&bytes) != descriptor.digest {
            return Err(LayoutReadError::WrongDigest(path));
        }
        serde_json::from_slice(&bytes).map_err(|source| LayoutReadError::Format { path, source })
    }

    pub(crate) fn blob(&self, digest: &Digest) -> PathBuf {
        self.directory.join(BLOBS).join(digest.hex())
    }
}

/// Annotations that name an image.
const NAME_ANNOTATIONS: [&str; 2] = [REF_NAME, CONTAINERD_NAME];

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, LayoutReadError> {
    serde_json::from_slice(&read(path)?)
        .map_err(|source| LayoutReadError::Format { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, LayoutReadError> {
    let failed = |source| LayoutReadError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(LayoutReadError::TooLarge(path.to_owned()));
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
    fn find_by_name_or_digest_returns_image() {
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
    fn find_in_index_returns_image_of_host() {
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
    fn find_with_wrong_digest_fails() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "a").unwrap();
        let manifest = directory.path().join(BLOBS).join(image.digest().hex());
        fs::write(&manifest, [image.manifest().bytes(), b" "].concat()).unwrap();
        let error = Layout::open(directory.path()).unwrap().find("a").unwrap_err();
        assert!(matches!(error, LayoutReadError::WrongDigest(path) if path == manifest));
    }

    #[test]
    fn find_beyond_limits_fails() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        let directory = directory.path();
        layout::write(directory, &image, "a").unwrap();
        let found = Layout::open(directory).unwrap();

        let mut descriptor = image.manifest().descriptor();
        for _ in 0..=MAX_INDEX_DEPTH {
            descriptor = add(directory, &json!({ "manifests": [descriptor] }));
        }
        set_index(directory, descriptor, "a");
        assert!(matches!(found.find("a").unwrap_err(), LayoutReadError::TooDeep(_)));

        let layers = vec![image.manifest().descriptor(); MAX_LAYERS + 1];
        let config = image.manifest().descriptor();
        set_index(directory, add(directory, &json!({ "layers": layers, "config": config })), "a");
        assert!(matches!(found.find("a").unwrap_err(), LayoutReadError::TooManyLayers { .. }));

        let length = usize::try_from(MAX_DOCUMENT_BYTES).unwrap() + 1;
        fs::write(directory.join("index.json"), " ".repeat(length)).unwrap();
        assert!(matches!(found.find("a").unwrap_err(), LayoutReadError::TooLarge(_)));
        fs::write(directory.join("index.json"), "{").unwrap();
        assert!(matches!(found.find("a").unwrap_err(), LayoutReadError::Format { .. }));
    }

    #[test]
    fn find_with_path_as_digest_fails() {
        let (directory, image) = (tempfile::tempdir().unwrap(), image());
        layout::write(directory.path(), &image, "a").unwrap();
        let evil = json!({ "mediaType": "x", "digest": "sha256:../../../etc/passwd", "size": 1 });
        set_index(directory.path(), evil, "a");
        let error = Layout::open(directory.path()).unwrap().find("a").unwrap_err();
        assert!(matches!(error, LayoutReadError::Format { .. }));
    }

    #[test]
    fn open_without_layout_file_fails() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(Layout::open(directory.path()).unwrap_err(), LayoutReadError::Io { .. }));
        fs::write(directory.path().join("oci-layout"), r#"{"imageLayoutVersion":"2"}"#).unwrap();
        assert!(matches!(
            Layout::open(directory.path()).unwrap_err(),
            LayoutReadError::NotALayout(_)
        ));
    }
}

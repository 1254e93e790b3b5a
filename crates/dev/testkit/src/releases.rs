//! Releases for tests: as directories, and as images in OCI layouts.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use fairway_release::{Manifest, Release};
use serde_json::{Value, json};

/// The manifest of an object, as a release has it.
pub fn manifest(object: &Value) -> Result<Manifest> {
    let release = TestRelease::new("5.1.0").file("release-manifests/object.json", object);
    release.load()?.manifests.into_iter().next().context("an object is a manifest")
}

/// A release with as little in it as a test needs.
#[derive(Clone, Debug)]
pub struct TestRelease {
    version: String,
    files: BTreeMap<String, Vec<u8>>,
}

impl TestRelease {
    /// A release that brings nothing.
    pub fn new(version: &str) -> Self {
        let metadata = json!({"kind": "cincinnati-metadata-v0", "version": version});
        let images = json!({
            "apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": version},
        });
        Self { version: version.to_owned(), files: BTreeMap::new() }
            .file("release-manifests/release-metadata", &metadata)
            .file("release-manifests/image-references", &images)
    }

    /// The same with a file.
    pub fn file(mut self, path: &str, content: &Value) -> Self {
        self.files.insert(path.to_owned(), content.to_string().into_bytes());
        self
    }

    /// The same with an object for every cluster.
    pub fn object(self, name: &str, mut object: Value) -> Self {
        object["metadata"]["annotations"]["include.release.openshift.io/self-managed-high-availability"] =
            json!("true");
        self.file(&format!("release-manifests/{name}.json"), &object)
    }

    /// The same, saying that the releases after it have to be signed with one of these keys.
    pub fn trusting(self, keyring: &[u8]) -> Self {
        let keys = String::from_utf8_lossy(keyring);
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "release-verification", "namespace": "openshift-config-managed",
                "annotations": {"release.openshift.io/verification-config-map": ""},
            },
            "data": {"verifier-public-key-test": keys},
        });
        self.object("0000_90_release-verification", object)
    }

    /// Writes its files below a directory, as they lie in its image.
    pub fn write(&self, directory: &Path) -> Result<()> {
        for (path, content) in &self.files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
            std::fs::write(path, content)?;
        }
        Ok(())
    }

    /// What it is, once read.
    pub fn load(&self) -> Result<Release> {
        Ok(Release::load(&self.files, "registry.example/release", "default")?)
    }

    /// Its image.
    pub fn image(&self) -> Result<Image> {
        let mut layer = LayerBuilder::new();
        for (path, content) in &self.files {
            layer = layer.file(path, 0o644, content.clone())?;
        }
        Ok(Image::new(vec![layer.build()?], &ImageConfig::default()))
    }

    /// Puts its image into a layout; the name and the digest of the image.
    pub fn store(&self, directory: &Path) -> Result<(String, Digest)> {
        let image = self.image()?;
        layout::write(directory, &image, &self.version)?;
        Ok((format!("registry.example/release@{}", image.digest()), image.digest().clone()))
    }
}

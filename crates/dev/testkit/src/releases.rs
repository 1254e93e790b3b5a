//! Releases for tests: as directories, and as images in OCI layouts.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use fairway_release::{Manifest, Release};
use serde_json::{Value, json};

/// The manifest of an object.
pub fn manifest(object: &Value) -> Result<Manifest> {
    let release = TestRelease::new("5.1.0").file("release-manifests/object.json", object);
    release.load()?.manifests.into_iter().next().context("an object is a manifest")
}

/// A minimal release.
#[derive(Clone, Debug)]
pub struct TestRelease {
    version: String,
    files: BTreeMap<String, Vec<u8>>,
}

impl TestRelease {
    /// A release without manifests.
    pub fn new(version: &str) -> Self {
        let metadata = json!({"kind": "cincinnati-metadata-v0", "version": version});
        let images = json!({
            "apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": version},
        });
        Self { version: version.to_owned(), files: BTreeMap::new() }
            .file("release-manifests/release-metadata", &metadata)
            .file("release-manifests/image-references", &images)
    }

    /// Adds a file.
    pub fn file(mut self, path: &str, content: &Value) -> Self {
        self.files.insert(path.to_owned(), content.to_string().into_bytes());
        self
    }

    /// Adds a manifest that every cluster profile includes.
    pub fn object(self, name: &str, mut object: Value) -> Self {
        object["metadata"]["annotations"]["include.release.openshift.io/self-managed-high-availability"] =
            json!("true");
        self.file(&format!("release-manifests/{name}.json"), &object)
    }

    /// Adds the verification ConfigMap: later releases need a signature by one of these keys.
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

    /// Writes the files below a directory, as in the image.
    pub fn write(&self, directory: &Path) -> Result<()> {
        for (path, content) in &self.files {
            let path = directory.join(path);
            std::fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
            std::fs::write(path, content)?;
        }
        Ok(())
    }

    /// Loads the release.
    pub fn load(&self) -> Result<Release> {
        Ok(Release::load(&self.files, "registry.example/release", "default")?)
    }

    /// Builds the image.
    pub fn image(&self) -> Result<Image> {
        let mut layer = LayerBuilder::new();
        for (path, content) in &self.files {
            layer = layer.file(path, 0o644, content.clone())?;
        }
        Ok(Image::new(vec![layer.build()?], &ImageConfig::default()))
    }

    /// Writes the image to an OCI layout. Returns its pull spec and digest.
    pub fn store(&self, directory: &Path) -> Result<(String, Digest)> {
        let image = self.image()?;
        layout::write(directory, &image, &self.version)?;
        Ok((format!("registry.example/release@{}", image.digest()), image.digest().clone()))
    }
}

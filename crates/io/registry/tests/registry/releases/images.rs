//! Images in the formats of other tools.

use std::io::Write;

use fairway_registry::Digest;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// Media types of Docker or OCI.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Docker,
    Oci,
}

impl Style {
    pub(crate) fn manifest(self) -> &'static str {
        match self {
            Self::Docker => "application/vnd.docker.distribution.manifest.v2+json",
            Self::Oci => "application/vnd.oci.image.manifest.v1+json",
        }
    }

    pub(crate) fn list(self) -> &'static str {
        match self {
            Self::Docker => "application/vnd.docker.distribution.manifest.list.v2+json",
            Self::Oci => "application/vnd.oci.image.index.v1+json",
        }
    }

    fn layer(self, packed: bool) -> &'static str {
        match (self, packed) {
            (Self::Docker, true) => "application/vnd.docker.image.rootfs.diff.tar.gzip",
            (Self::Docker, false) => "application/vnd.docker.image.rootfs.diff.tar",
            (Self::Oci, true) => "application/vnd.oci.image.layer.v1.tar+gzip",
            (Self::Oci, false) => "application/vnd.oci.image.layer.v1.tar",
        }
    }
}

/// A manifest or index, and the blobs that it references.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) media_type: &'static str,
    pub(crate) manifest: Vec<u8>,
    pub(crate) blobs: Vec<Vec<u8>>,
}

impl Content {
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    fn descriptor(&self, architecture: &str) -> Value {
        let mut descriptor = descriptor(self.media_type, &self.manifest);
        descriptor["platform"] = json!({ "os": "linux", "architecture": architecture });
        descriptor
    }
}

/// Bytes of a layer, and whether they are compressed.
pub(crate) type Layer = (Vec<u8>, bool);

pub(crate) fn metadata(version: &str) -> String {
    json!({ "kind": "cincinnati-metadata-v0", "version": version, "previous": ["4.0.0"] })
        .to_string()
}

pub(crate) fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// A layer with release metadata.
pub(crate) fn release_layer(metadata: &str) -> Layer {
    let files = [("a", "1"), ("release-manifests/release-metadata", metadata), ("z", "2")];
    (gzip(&tar(&files)), true)
}

pub(crate) fn image(style: Style, architecture: &str, layers: Vec<Layer>) -> Content {
    let config = json!({ "architecture": architecture, "os": "linux", "rootfs": {} }).to_string();
    let named: Vec<Value> =
        layers.iter().map(|(bytes, packed)| descriptor(style.layer(*packed), bytes)).collect();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": style.manifest(),
        "config": descriptor("application/vnd.oci.image.config.v1+json", config.as_bytes()),
        "layers": named,
    });
    let blobs = layers.into_iter().map(|(bytes, _)| bytes).chain([config.into_bytes()]).collect();
    Content { media_type: style.manifest(), manifest: manifest.to_string().into_bytes(), blobs }
}

/// The architecture of this host.
pub(crate) fn here() -> &'static str {
    fairway_release::architecture::of_machine(std::env::consts::ARCH)
}

/// A release image of one layer.
pub(crate) fn release(style: Style, architecture: &str, version: &str) -> Content {
    image(style, architecture, vec![release_layer(&metadata(version))])
}

/// An index of images with their architectures.
pub(crate) fn list(style: Style, images: &[(&str, &Content)]) -> Content {
    let manifests: Vec<Value> =
        images.iter().map(|(architecture, image)| image.descriptor(architecture)).collect();
    let list = json!({ "schemaVersion": 2, "mediaType": style.list(), "manifests": manifests });
    let manifest = list.to_string().into_bytes();
    Content { media_type: style.list(), manifest, blobs: Vec::new() }
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": Digest::of(bytes), "size": bytes.len() })
}

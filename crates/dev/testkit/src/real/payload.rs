//! The payload of a real release, unpacked.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use fairway_release::inclusion::{Capabilities, DEFAULT_PROFILE, ManifestFilter, capability_sets};
use fairway_release::payload::{DIRECTORIES, Files};
use fairway_release::{Manifest, Release};
use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

/// Profile annotation of manifests that the config operator reads and this operator does not apply.
const CONFIG_OPERATOR_ONLY: &str = "false-except-for-the-config-operator";

/// The payload of a real release. Dropping it deletes its files.
pub struct RealPayload {
    /// The release.
    pub release: Release,
    /// The pull spec of its image, by digest.
    pub image: String,
    directory: TempDir,
}

impl RealPayload {
    /// Unpacks and loads the payload of a version such as `5.0`.
    pub fn unpack(payloads: &Path, name: &str) -> Result<Self> {
        let archive = payloads.join(format!("{name}-payload.tar.gz"));
        let file = File::open(&archive).with_context(|| format!("no {}", archive.display()))?;
        let directory = tempfile::tempdir()?;
        tar::Archive::new(GzDecoder::new(file)).unpack(directory.path())?;
        let image = build_image(&directory.path().join("payload"))?;
        let image = format!("registry.example/release@{}", image.digest());
        let release =
            Release::load(&files(&directory.path().join("payload"))?, &image, DEFAULT_PROFILE)?;
        Ok(Self { release, image, directory })
    }

    /// The version of the release.
    pub fn version(&self) -> String {
        self.release.metadata.version.to_string()
    }

    /// The directory with its files, as they are in a release image.
    pub fn directory(&self) -> PathBuf {
        self.directory.path().join("payload")
    }

    /// Writes its image to a new OCI layout below a directory.
    pub fn write_layout(&self, layouts: &Path) -> Result<()> {
        let image = build_image(&self.directory())?;
        layout::write(&layouts.join(image.digest().hex()), &image, &self.version())?;
        Ok(())
    }

    /// The manifests that a default cluster includes.
    pub fn included(&self) -> Vec<&Manifest> {
        default_filter(&self.release).select(&self.release.manifests).included
    }

    /// The status of `FeatureGate` `cluster` that the config operator would write for a default
    /// cluster.
    pub fn feature_gates(&self) -> Result<Value> {
        feature_gates(&self.release).context("the payload has no FeatureGate")
    }
}

/// The filter of a default cluster: all capabilities, and the gates of the default feature set.
pub fn default_filter(release: &Release) -> ManifestFilter {
    let gates = feature_gates(release).map(|gates| names(&gates["enabled"])).unwrap_or_default();
    let capabilities = Capabilities { known: None, enabled: capability_sets::known(&gates) };
    ManifestFilter {
        feature_set: Some(String::new()),
        feature_gates: Some(gates),
        major_version: Some(release.metadata.version.major()),
        profile: Some(DEFAULT_PROFILE.to_owned()),
        capabilities: Some(capabilities),
        ..ManifestFilter::default()
    }
}

/// The entry of `status.featureGates` for the default feature set, from the manifest that the config
/// operator reads.
fn feature_gates(release: &Release) -> Option<Value> {
    let is_default = |manifest: &&Manifest| {
        let profile = format!("include.release.openshift.io/{DEFAULT_PROFILE}");
        manifest.id.kind == "FeatureGate"
            && manifest.annotation(&profile) == Some(CONFIG_OPERATOR_ONLY)
            && manifest.object()["spec"]["featureSet"].as_str().is_none_or(str::is_empty)
    };
    let manifest = release.manifests.iter().find(is_default)?;
    let mut gates = manifest.object().pointer("/status/featureGates/0")?.clone();
    gates["version"] = release.metadata.version.to_string().into();
    Some(gates)
}

fn names(gates: &Value) -> BTreeSet<String> {
    let gates = gates.as_array().into_iter().flatten();
    gates.filter_map(|gate| gate["name"].as_str().map(str::to_owned)).collect()
}

fn build_image(directory: &Path) -> Result<Image> {
    let layer = LayerBuilder::new().host_tree("", directory)?.build()?;
    Ok(Image::new(vec![layer], &ImageConfig::default()))
}

fn files(directory: &Path) -> Result<Files> {
    let mut files = Files::new();
    for part in DIRECTORIES {
        for entry in std::fs::read_dir(directory.join(part))? {
            let entry = entry?;
            let path = format!("{part}/{}", entry.file_name().to_string_lossy());
            files.insert(path, std::fs::read(entry.path())?);
        }
    }
    Ok(files)
}

//! Releases from registries, OCI layouts and directories.

use std::path::Path;

use anyhow::Context;
use fairway_registry::{Digest, payload};
use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_release::payload::{DIRECTORIES, Files};
use fairway_release::{Release, metadata};

use super::directory;
use crate::args::registry::AccessArgs;
use crate::commands::registry;
use crate::errors::{HintExt as _, WithHint};

/// Prefix of images in OCI layouts.
const LAYOUT: &str = "oci:";

/// The files of a release, and its source.
pub(crate) struct ReleaseSource {
    /// The name from the command line.
    pub(crate) name: String,
    /// The image, if it is one.
    pub(crate) image: Option<PinnedImage>,
    /// Files by path.
    pub(crate) files: Files,
}

/// An image by digest.
pub(crate) struct PinnedImage {
    /// The repository.
    pub(crate) repository: String,
    /// The digest of its manifest.
    pub(crate) digest: Digest,
}

impl std::fmt::Display for PinnedImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.repository, self.digest)
    }
}

impl ReleaseSource {
    /// The pull spec by digest, if it is an image.
    pub(crate) fn reference(&self) -> Option<String> {
        let place = if self.name.starts_with(LAYOUT) { LAYOUT } else { "" };
        self.image.as_ref().map(|image| format!("{place}{image}"))
    }

    /// Loads the release and reports all errors at once.
    pub(crate) fn load(&self) -> anyhow::Result<Release> {
        let image = self.image.as_ref().map_or_else(|| self.name.clone(), PinnedImage::to_string);
        self.load_as(&image)
    }

    /// Loads the release with the image name of a cluster.
    pub(crate) fn load_as(&self, image: &str) -> anyhow::Result<Release> {
        Release::load(&self.files, image, DEFAULT_PROFILE).with_hint(
            format!("cannot load release {}", self.name),
            "inspect its files with `fairway release extract`",
        )
    }
}

/// Reads the files of a release, from a directory or an image.
pub(crate) fn read(name: &str, access: &AccessArgs) -> anyhow::Result<ReleaseSource> {
    let directory = Path::new(name);
    if directory.join(metadata::PATH).exists() {
        return from_directory(directory);
    }
    if directory.join("oci-layout").exists() {
        return from_image(&format!("{LAYOUT}{name}"), access);
    }
    let is_image = name.starts_with(LAYOUT) || name.contains('/');
    if directory.is_dir() || !is_image {
        return Err(WithHint::new(
            format!("{name} is neither a directory with a release nor an image"),
            "specify an image such as registry.example/releases:5.1.0, oci:DIR:NAME in an OCI \
             image layout, or a directory with `release-manifests/release-metadata`",
        )
        .into());
    }
    from_image(name, access)
}

fn from_directory(directory: &Path) -> anyhow::Result<ReleaseSource> {
    let name = directory.display().to_string();
    let hint = || {
        WithHint::new(
            format!("cannot read release in {name}"),
            "specify a directory with `manifests` and `release-manifests`",
        )
    };
    let mut files = Files::new();
    for parent in DIRECTORIES {
        let inside = |file: &str| format!("{parent}/{file}");
        let parent = directory.join(parent);
        if parent.exists() {
            let found = directory::files(&parent, |_| true).with_context(hint)?.into_iter();
            files.extend(found.map(|(file, content)| (inside(&file), content)));
        }
    }
    Ok(ReleaseSource { name, image: None, files })
}

fn from_image(name: &str, access: &AccessArgs) -> anyhow::Result<ReleaseSource> {
    let image = registry::image(name, access, "cannot read release")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let hint = || {
        WithHint::new(
            format!("cannot read release {name}"),
            "check the image name and the credentials in --pull-secret",
        )
    };
    let digest = runtime.block_on(image.resolve()).with_context(hint)?;
    let files = runtime.block_on(payload::read(image.source(), &digest));
    let files = files.with_context(hint)?;
    let repository = image.source().name().to_owned();
    Ok(ReleaseSource {
        name: name.to_owned(),
        image: Some(PinnedImage { repository, digest }),
        files,
    })
}

//! The images of the platform, made from the program itself.

use std::io;
use std::path::{Path, PathBuf};

use fairway_registry::base::{self, Packing};
use fairway_registry::layout::{self, LayoutError};
use fairway_registry::push::{PushError, push};
use fairway_registry::{Image, ImageConfig, Layer, LayerBuilder, LayerError};
use fairway_release::payload::{DIRECTORIES, Files};

use crate::{RELEASES, Release, graph, payload};

/// The label by which an image tells its version.
const VERSION_LABEL: &str = "org.opencontainers.image.version";

/// The images of all releases. They share the program, which is nearly all of their size.
#[derive(Debug)]
pub struct Platform {
    /// The releases, the oldest first.
    pub releases: Vec<MadeRelease>,
    repository: String,
}

/// A release, and the images it is made of.
#[derive(Debug)]
pub struct MadeRelease {
    /// Which one.
    pub release: Release,
    /// How its image is pulled: by digest.
    pub reference: String,
    /// How the image of its operators is pulled: by digest.
    pub operators_reference: String,
    image: Image,
    operators: Image,
}

/// Why the platform cannot be kept in a directory.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Its images cannot.
    #[error(transparent)]
    Images(#[from] LayoutError),
    /// A file cannot.
    #[error("cannot write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The repositories, below the one of the platform: releases are found by looking at all images of
/// theirs, so the others have one of their own.
const RELEASE: &str = "release";
const OPERATORS: &str = "operators";

/// The images as an OCI layout, in the directory of [`Platform::write`].
pub const LAYOUT: &str = "images";
/// The graph-data, in the same directory.
pub const GRAPH_DATA: &str = "graph-data";
/// The list of releases, in the same directory.
pub const RELEASES_FILE: &str = "releases.json";

impl Platform {
    /// Makes images from a program of this machine, to be pulled from below `repository`. `own` has
    /// the manifests of the operator that applies releases. The same input gives the same digests.
    pub fn make(
        program: &Path,
        repository: &str,
        packing: Packing,
        own: &Files,
    ) -> Result<Self, LayerError> {
        let base = base::layers(program, packing)?;
        let make = |release: &Release| MadeRelease::make(*release, &base, repository, own);
        let releases = RELEASES.iter().map(make).collect::<Result<_, _>>()?;
        Ok(Self { releases, repository: repository.to_owned() })
    }

    /// The release of that version.
    pub fn release(&self, version: &str) -> Option<&MadeRelease> {
        self.releases.iter().find(|made| made.release.version == version)
    }

    /// Every image with its name.
    fn named(&self) -> impl Iterator<Item = (&Image, String)> {
        self.releases.iter().flat_map(|made| {
            let name = |image| format!("{}/{image}:{}", self.repository, made.release.version);
            [(&made.operators, name(OPERATORS)), (&made.image, name(RELEASE))]
        })
    }

    /// Writes the images into an OCI layout.
    pub fn write_images(&self, layout: &Path) -> Result<(), LayoutError> {
        let named: Vec<(&Image, String)> = self.named().collect();
        layout::write_all(layout, named.iter().map(|(image, name)| (*image, name.as_str())))
    }

    /// Writes images, graph-data and the list of releases into a directory.
    pub fn write(&self, directory: &Path) -> Result<(), WriteError> {
        self.write_images(&directory.join(LAYOUT))?;
        for (path, text) in graph::data() {
            write_file(directory.join(GRAPH_DATA).join(path), text)?;
        }
        let releases: Vec<_> = self.releases.iter().map(graph::release_image).collect();
        let list = serde_json::to_string_pretty(&releases).expect("plain data");
        write_file(directory.join(RELEASES_FILE), &(list + "\n"))
    }

    /// Pushes the images to where they were made for.
    pub async fn push(&self) -> Result<(), PushError> {
        for (image, name) in self.named() {
            push(image, &name).await?;
        }
        Ok(())
    }
}

impl MadeRelease {
    fn make(
        release: Release,
        base: &[Layer],
        repository: &str,
        own: &Files,
    ) -> Result<Self, LayerError> {
        let version = (VERSION_LABEL.to_owned(), release.version.to_owned());
        let config = ImageConfig { labels: [version].into(), ..base::config() };
        let operators = Image::new(base.to_vec(), &config);
        let reference = |name, image: &Image| format!("{repository}/{name}@{}", image.digest());
        let operators_reference = reference(OPERATORS, &operators);
        let files = payload::files(&release, &operators_reference, own);
        // Whoever looks for the release need not read what lies below.
        let mut payload = LayerBuilder::new();
        for directory in DIRECTORIES {
            payload = payload.emptied(directory)?;
        }
        for (path, content) in files {
            payload = payload.file(path, 0o644, content)?;
        }
        // Small, so that compressing it costs nothing.
        let layers = base.iter().cloned().chain([payload.build()?]).collect();
        let image = Image::new(layers, &config);
        let reference = reference(RELEASE, &image);
        Ok(Self { release, reference, operators_reference, image, operators })
    }
}

fn write_file(path: PathBuf, text: &str) -> Result<(), WriteError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|source| WriteError::File { path, source })
}

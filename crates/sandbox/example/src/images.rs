//! The images of the platform, made from the program itself, and signed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fairway_registry::base::{Base, PROGRAM, Packing};
use fairway_registry::layout::{self, LayoutError};
use fairway_registry::push::{PushError, push};
use fairway_registry::signature::{SigningError, sign};
use fairway_registry::{Image, LayerBuilder, LayerError};
use fairway_release::draft::DraftError;
use fairway_release::payload::{DIRECTORIES, Files};

use crate::{RELEASES, Release, graph, payload};

/// The label by which an image tells its version.
const VERSION_LABEL: &str = "org.opencontainers.image.version";

/// The file by which the operators' image tells its version.
const VERSION_FILE: &str = "etc/platform-version";

/// The program of checks in the image of the operators: a link to the only program that there is.
pub const CHECK_PROGRAM: &str = "/bin/preflight";

/// A variable with a command that the program does not know. It is the same program in all images,
/// and in those of an old release it is to be as old as the release.
pub const FORGOTTEN: &str = "FAIRWAY_FORGETS";

/// The command that old releases do not know.
pub const PREFLIGHT: &str = "preflight";

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
/// The signatures of the releases, in the same directory.
pub const SIGNATURES: &str = "signatures";

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
    /// The files that make its image a release image.
    pub files: Files,
    /// The signature of its image, by a key that everybody has.
    pub signature: Vec<u8>,
    image: Image,
    operators: Image,
}

/// Why the platform cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The program does not become an image.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The manifests are no release, such as those of the operator that applies releases.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// The image cannot be signed.
    #[error("cannot sign release {version}")]
    Sign {
        /// Which release.
        version: &'static str,
        /// Why not.
        source: SigningError,
    },
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

impl Platform {
    /// Makes images from a program of this machine, to be pulled from below `repository`. `own` has
    /// the manifests of the operator that applies releases, `kubernetes` is the version of the
    /// cluster that they are for, if it is known. The same input gives the same digests.
    pub fn make(
        program: &Path,
        repository: &str,
        packing: Packing,
        own: &BTreeMap<String, String>,
        kubernetes: Option<&str>,
    ) -> Result<Self, MakeError> {
        let base = Base::of_program(program, packing)?;
        let make =
            |release: &Release| MadeRelease::make(*release, &base, repository, own, kubernetes);
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

    /// Writes images, signatures, graph-data and the list of releases into a directory.
    pub fn write(&self, directory: &Path) -> Result<(), WriteError> {
        self.write_images(&directory.join(LAYOUT))?;
        self.write_data(directory)
    }

    /// Writes what an update service serves: signatures, graph-data and the list of releases.
    pub fn write_data(&self, directory: &Path) -> Result<(), WriteError> {
        for made in &self.releases {
            let of_image = format!("sha256={}", made.image.digest().hex());
            let path = directory.join(SIGNATURES).join(of_image).join("signature-1");
            write_file(path, &made.signature)?;
        }
        for (path, text) in graph::data() {
            write_file(directory.join(GRAPH_DATA).join(path), text.as_bytes())?;
        }
        let releases: Vec<_> = self.releases.iter().map(graph::release_image).collect();
        let list = serde_json::to_string_pretty(&releases).expect("plain data");
        write_file(directory.join(RELEASES_FILE), list.as_bytes())
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
        base: &Base,
        repository: &str,
        own: &BTreeMap<String, String>,
        kubernetes: Option<&str>,
    ) -> Result<Self, MakeError> {
        let mut base = base.clone();
        if !release.preflights {
            base = base.environment(FORGOTTEN, PREFLIGHT);
        }
        let image = |files: LayerBuilder| {
            let label = (VERSION_LABEL, release.version.to_owned());
            // What is not the program is small, so that compressing it costs nothing.
            Ok::<_, LayerError>(base.clone().with(files.build()?, [label], Some(release.created())))
        };
        let reference = |name, image: &Image| format!("{repository}/{name}@{}", image.digest());
        let mut operators = LayerBuilder::new().file(VERSION_FILE, 0o644, release.version)?;
        if release.preflights {
            operators = operators.link(CHECK_PROGRAM, format!("..{PROGRAM}"))?;
        }
        let operators = image(operators)?;
        let operators_reference = reference(OPERATORS, &operators);
        let files = payload::files(&release, &operators_reference, own, kubernetes)?;
        // Whoever looks for the release need not read what lies below.
        let mut content = LayerBuilder::new();
        for directory in DIRECTORIES {
            content = content.emptied(directory)?;
        }
        for (path, bytes) in &files {
            content = content.file(path, 0o644, bytes.as_slice())?;
        }
        let image = image(content)?;
        let reference = reference(RELEASE, &image);
        let name = format!("{repository}/{RELEASE}:{}", release.version);
        let key = crate::files::SIGNING_KEY.as_bytes();
        let signed = sign(image.digest(), &name, key, None, release.created())
            .map_err(|source| MakeError::Sign { version: release.version, source })?;
        let signature = signed.signature;
        Ok(Self { release, reference, operators_reference, files, signature, image, operators })
    }
}

fn write_file(path: PathBuf, content: &[u8]) -> Result<(), WriteError> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, content))
        .map_err(|source| WriteError::File { path, source })
}

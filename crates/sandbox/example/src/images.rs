//! Images of the platform, built from the running binary and signed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fairway_registry::base::{BINARY_PATH, BaseImage, LayerCompression};
use fairway_registry::layout::{self, LayoutError};
use fairway_registry::push::{PushError, push};
use fairway_registry::signature::{SigningError, sign};
use fairway_registry::{Image, LayerBuilder, LayerError};
use fairway_release::builder;
use fairway_release::payload::{DIRECTORIES, Files};

use crate::{RELEASES, Release, graph, payload};

/// Image label with the version.
const VERSION_LABEL: &str = "org.opencontainers.image.version";

/// File with the version in the operators image.
const VERSION_FILE: &str = "etc/platform-version";

/// Path of the check binary in the operators image; a symlink to the only binary.
pub const CHECK_PROGRAM: &str = "/bin/preflight";

/// Environment variable with a subcommand that the binary pretends not to have. All images contain
/// the same binary; images of old releases use this to behave like old ones.
pub const MISSING_COMMAND_VARIABLE: &str = "FAIRWAY_FORGETS";

/// The subcommand that old releases do not have.
pub const PREFLIGHT: &str = "preflight";

/// Repositories below the one of the platform. Discovery of releases lists all images of a
/// repository, so release images have their own.
const RELEASE: &str = "release";
const OPERATORS: &str = "operators";

/// Directory of the OCI layout, below that of [`Platform::write`].
pub const LAYOUT: &str = "images";
/// Directory of the graph-data.
pub const GRAPH_DATA: &str = "graph-data";
/// File with the list of releases.
pub const RELEASES_FILE: &str = "releases.json";
/// Directory of the release signatures.
pub const SIGNATURES: &str = "signatures";

/// The images of all releases. They share the layer with the binary, which is most of their size.
#[derive(Debug)]
pub struct Platform {
    /// Releases, oldest first.
    pub releases: Vec<BuiltRelease>,
    repository: String,
}

/// A release with its images.
#[derive(Debug)]
pub struct BuiltRelease {
    /// The release.
    pub release: Release,
    /// Pull specification of the release image, by digest.
    pub reference: String,
    /// Pull specification of the operators image, by digest.
    pub operators_reference: String,
    /// Files of the release image.
    pub files: Files,
    /// Signature of the release image, by a public key pair.
    pub signature: Vec<u8>,
    image: Image,
    operators: Image,
}

/// Error while building the platform.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The binary cannot be added to a layer.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The manifests are not a valid release.
    #[error(transparent)]
    Release(#[from] builder::BuildError),
    /// The image cannot be signed.
    #[error("cannot sign release {version}")]
    Sign {
        /// Version of the release.
        version: &'static str,
        /// Cause.
        source: SigningError,
    },
}

/// Error while writing the platform to a directory.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The images cannot be written.
    #[error(transparent)]
    Images(#[from] LayoutError),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

impl Platform {
    /// Builds images from a binary of this host for pulling from below `repository`.
    /// `operator_manifests` contains the manifests of the cluster-version operator; `kubernetes` is
    /// the version of the target cluster, if known. The same input gives the same digests.
    pub fn make(
        program: &Path,
        repository: &str,
        packing: LayerCompression,
        operator_manifests: &BTreeMap<String, String>,
        kubernetes: Option<&str>,
    ) -> Result<Self, BuildError> {
        let base = BaseImage::from_binary(program, packing)?;
        let make = |release: &Release| {
            BuiltRelease::make(*release, &base, repository, operator_manifests, kubernetes)
        };
        let releases = RELEASES.iter().map(make).collect::<Result<_, _>>()?;
        Ok(Self { releases, repository: repository.to_owned() })
    }

    /// The release with this version.
    pub fn release(&self, version: &str) -> Option<&BuiltRelease> {
        self.releases.iter().find(|made| made.release.version == version)
    }

    /// All images with their names.
    fn named(&self) -> impl Iterator<Item = (&Image, String)> {
        self.releases.iter().flat_map(|made| {
            let name = |image| format!("{}/{image}:{}", self.repository, made.release.version);
            [(&made.operators, name(OPERATORS)), (&made.image, name(RELEASE))]
        })
    }

    /// Writes the images to an OCI layout.
    pub fn write_images(&self, layout: &Path) -> Result<(), LayoutError> {
        let named: Vec<(&Image, String)> = self.named().collect();
        layout::write_all(layout, named.iter().map(|(image, name)| (*image, name.as_str())))
    }

    /// Writes images, signatures, graph-data and the list of releases to a directory.
    pub fn write(&self, directory: &Path) -> Result<(), WriteError> {
        self.write_images(&directory.join(LAYOUT))?;
        self.write_data(directory)
    }

    /// Writes the data of an update service: signatures, graph-data and the list of releases.
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

    /// Pushes the images to their repositories.
    pub async fn push(&self) -> Result<(), PushError> {
        for (image, name) in self.named() {
            push(image, &name).await?;
        }
        Ok(())
    }
}

impl BuiltRelease {
    fn make(
        release: Release,
        base: &BaseImage,
        repository: &str,
        operator_manifests: &BTreeMap<String, String>,
        kubernetes: Option<&str>,
    ) -> Result<Self, BuildError> {
        let mut base = base.clone();
        if !release.preflights {
            base = base.environment(MISSING_COMMAND_VARIABLE, PREFLIGHT);
        }
        let image = |files: LayerBuilder| {
            let label = (VERSION_LABEL, release.version.to_owned());
            // Everything but the binary is small, so compression costs little.
            Ok::<_, LayerError>(base.clone().with(files.build()?, [label], Some(release.created())))
        };
        let reference = |name, image: &Image| format!("{repository}/{name}@{}", image.digest());
        let mut operators = LayerBuilder::new().file(VERSION_FILE, 0o644, release.version)?;
        if release.preflights {
            operators = operators.link(CHECK_PROGRAM, format!("..{BINARY_PATH}"))?;
        }
        let operators = image(operators)?;
        let operators_reference = reference(OPERATORS, &operators);
        let files = payload::files(&release, &operators_reference, operator_manifests, kubernetes)?;
        // The label in the last layer: discovery need not read the layers below.
        let mut content = LayerBuilder::new();
        for directory in DIRECTORIES {
            content = content.opaque_directory(directory)?;
        }
        for (path, bytes) in &files {
            content = content.file(path, 0o644, bytes.as_slice())?;
        }
        let image = image(content)?;
        let reference = reference(RELEASE, &image);
        let name = format!("{repository}/{RELEASE}:{}", release.version);
        let key = crate::files::SIGNING_KEY.as_bytes();
        let signed = sign(image.digest(), &name, key, None, release.created())
            .map_err(|source| BuildError::Sign { version: release.version, source })?;
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

//! Sources of images: a registry or an OCI layout.

use std::path::Path;

use crate::Digest;
use crate::layout::{Layout, LayoutReadError};
use crate::manifest::{Descriptor, MAX_DOCUMENT_BYTES};
use crate::pull::{Backoff, Body, LayerBody, PullError, Repository, check_size};

/// A source of images.
#[derive(Debug)]
pub enum Source {
    /// A repository of a registry.
    Registry(Box<Repository>),
    /// An OCI layout.
    Layout {
        /// The layout.
        layout: Layout,
        /// The repository from which clusters will pull the images, as in image references.
        name: String,
    },
}

/// A tag of a source.
pub(crate) struct Tag {
    pub(crate) name: String,
    /// The digest, if the list of tags contains it.
    pub(crate) digest: Option<Digest>,
}

/// Endpoint of a registry for content.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Manifest,
    Blob,
}

impl Source {
    /// The repository as in image references.
    pub fn name(&self) -> &str {
        match self {
            Self::Registry(repository) => repository.name(),
            Self::Layout { name, .. } => name,
        }
    }

    pub(crate) async fn tags(&self) -> Result<Vec<Tag>, PullError> {
        match self {
            Self::Registry(repository) => {
                let names = repository.tags().await?.into_iter();
                Ok(names.map(|name| Tag { name, digest: None }).collect())
            }
            Self::Layout { layout, .. } => {
                let entries = layout.entries().map_err(|error| unreadable(&error))?.into_iter();
                Ok(entries.map(|(name, entry)| Tag { name, digest: Some(entry.digest) }).collect())
            }
        }
    }

    pub(crate) async fn resolve(&self, tag: &Tag) -> Result<Digest, PullError> {
        match (self, &tag.digest) {
            (_, Some(digest)) => Ok(digest.clone()),
            (Self::Registry(repository), None) => repository.resolve(&tag.name).await,
            (Self::Layout { .. }, None) => Err(PullError::NotFound { url: tag.name.clone() }),
        }
    }

    /// Opens a layer for streaming.
    pub(crate) async fn layer(&self, layer: &Descriptor) -> Result<LayerBody<'_>, PullError> {
        match self {
            Self::Registry(repository) => Ok(LayerBody::Download(repository.download(layer))),
            Self::Layout { layout, .. } => {
                Ok(LayerBody::File(file(&layout.blob(&layer.digest)).await?))
            }
        }
    }

    /// Succeeds if a blob exists with its announced size.
    pub(crate) async fn check_blob(&self, blob: &Descriptor) -> Result<(), PullError> {
        match self {
            Self::Registry(repository) => repository.check_blob(blob).await,
            Self::Layout { layout, .. } => {
                let path = layout.blob(&blob.digest);
                let size = file_size(&path).await?;
                check_size(path.display().to_string(), size, blob)
            }
        }
    }

    /// Opens a small document.
    async fn open(&self, kind: Kind, digest: &Digest) -> Result<Body, PullError> {
        match (self, kind) {
            (Self::Registry(repository), Kind::Manifest) => repository.manifest(digest).await,
            (Self::Registry(repository), Kind::Blob) => repository.blob(digest).await,
            (Self::Layout { layout, .. }, _) => file(&layout.blob(digest)).await,
        }
    }

    /// Reads a small document and verifies its digest.
    pub(crate) async fn document(&self, kind: Kind, digest: &Digest) -> Result<Vec<u8>, PullError> {
        self.content(kind, digest, MAX_DOCUMENT_BYTES).await
    }

    /// Reads content up to a limit and verifies its digest.
    pub(crate) async fn content(
        &self,
        kind: Kind,
        digest: &Digest,
        limit: u64,
    ) -> Result<Vec<u8>, PullError> {
        let read = async || self.open(kind, digest).await?.read_checked(digest, limit).await;
        self.backoff().run(read).await
    }

    fn backoff(&self) -> Backoff {
        match self {
            Self::Registry(repository) => repository.backoff(),
            Self::Layout { .. } => Backoff::never(),
        }
    }
}

async fn file(path: &Path) -> Result<Body, PullError> {
    let file = tokio::fs::File::open(path).await.map_err(|error| no_file(path, &error))?;
    Ok(Body::File(file))
}

async fn file_size(path: &Path) -> Result<u64, PullError> {
    let metadata = tokio::fs::metadata(path).await.map_err(|error| no_file(path, &error))?;
    Ok(metadata.len())
}

fn no_file(path: &Path, error: &std::io::Error) -> PullError {
    if error.kind() == std::io::ErrorKind::NotFound {
        return PullError::NotFound { url: path.display().to_string() };
    }
    PullError::File { why: format!("{}: {error}", path.display()) }
}

fn unreadable(error: &LayoutReadError) -> PullError {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    PullError::File { why: format!("{error}{}", source.unwrap_or_default()) }
}

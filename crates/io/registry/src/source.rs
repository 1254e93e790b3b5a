//! Where images are.

use std::path::Path;

use crate::Digest;
use crate::layout::{Layout, ReadError};
use crate::manifest::{Descriptor, LARGEST_DOCUMENT};
use crate::pull::{Arriving, Backoff, Body, PullError, Repository, sized};

/// Where images are.
#[derive(Debug)]
pub enum Source {
    /// In a repository of a registry.
    Registry(Box<Repository>),
    /// In a directory.
    Layout {
        /// The directory.
        layout: Layout,
        /// The repository from which clusters will pull them, as it stands in the names of images.
        name: String,
    },
}

/// What somebody called an image.
pub(crate) struct Tag {
    pub(crate) name: String,
    /// What it stands for, where the list of tags says it.
    pub(crate) digest: Option<Digest>,
}

/// Manifests and other blobs lie in different places of a registry.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Manifest,
    Blob,
}

impl Source {
    /// The repository, as it stands in the names of images.
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

    /// Begins to read a layer.
    pub(crate) async fn layer(&self, layer: &Descriptor) -> Result<Arriving<'_>, PullError> {
        match self {
            Self::Registry(repository) => Ok(Arriving::Download(repository.download(layer))),
            Self::Layout { layout, .. } => {
                Ok(Arriving::File(file(&layout.blob(&layer.digest)).await?))
            }
        }
    }

    /// Whether a blob is there, in its full size.
    pub(crate) async fn has(&self, blob: &Descriptor) -> Result<(), PullError> {
        match self {
            Self::Registry(repository) => repository.has(blob).await,
            Self::Layout { layout, .. } => {
                let path = layout.blob(&blob.digest);
                let size = file_size(&path).await?;
                sized(path.display().to_string(), size, blob)
            }
        }
    }

    /// Begins to read something small.
    async fn open(&self, kind: Kind, digest: &Digest) -> Result<Body, PullError> {
        match (self, kind) {
            (Self::Registry(repository), Kind::Manifest) => repository.manifest(digest).await,
            (Self::Registry(repository), Kind::Blob) => repository.blob(digest).await,
            (Self::Layout { layout, .. }, _) => file(&layout.blob(digest)).await,
        }
    }

    /// Reads something small, and checks it.
    pub(crate) async fn document(&self, kind: Kind, digest: &Digest) -> Result<Vec<u8>, PullError> {
        self.content(kind, digest, LARGEST_DOCUMENT).await
    }

    /// Reads something of a limited size, and checks it.
    pub(crate) async fn content(
        &self,
        kind: Kind,
        digest: &Digest,
        limit: u64,
    ) -> Result<Vec<u8>, PullError> {
        let mut backoff = self.backoff();
        loop {
            let read = match self.open(kind, digest).await {
                Ok(body) => body.read_checked(digest, limit).await,
                Err(error) => Err(error),
            };
            match read {
                Err(error) if backoff.retry(&error).await => {}
                done => return done,
            }
        }
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

fn unreadable(error: &ReadError) -> PullError {
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    PullError::File { why: format!("{error}{}", source.unwrap_or_default()) }
}

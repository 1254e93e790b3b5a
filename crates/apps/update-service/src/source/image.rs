//! Graph-data from a container image.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fairway_clock::now;
use fairway_graph::Files;
use fairway_graph::data::{BLOCKED_EDGES, CHANNELS, RAW_METADATA, SCHEMA};
use fairway_graph::files::{FilesError, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES};
use fairway_registry::Digest;
use fairway_registry::contents::{self, FileSelection, NamedImage};
use fairway_registry::signature::{Keyring, SignatureError, Store, StoreError};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::time::timeout;

use super::newest_signature::{NewestSignature, NewestSignatureError};
use super::{Source, SourceContent, SourceError};

/// Directory of graph-data in images. Some have it in the root directory.
const DIRECTORY: &str = "var/lib/cincinnati-graph-data";

/// Timeout for an image of some megabytes over a slow connection.
const IMAGE_TIMEOUT: Duration = Duration::from_mins(15);

/// An image with graph-data. Its reference is resolved at each poll, and fetched when the digest
/// changes.
#[derive(Debug)]
pub struct GraphDataImage {
    image: NamedImage,
    signatures: Option<SignaturePolicy>,
    selection: Arc<FileSelection>,
    accepted: Option<Digest>,
    newest: NewestSignature,
}

/// Required signatures: keyring and store.
#[derive(Debug)]
pub struct SignaturePolicy {
    /// Trusted keys.
    pub keyring: Keyring,
    /// Signature store.
    pub store: Store,
}

#[derive(Debug, thiserror::Error)]
enum ImageError {
    #[error("{0} is not signed")]
    Unsigned(Digest),
    #[error("no signature of {digest} is valid")]
    Distrusted { digest: Digest, source: SignatureError },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0} contains no graph-data, neither in /{DIRECTORY} nor in its root directory")]
    NoGraphData(Digest),
    #[error("timed out after {} minutes", IMAGE_TIMEOUT.as_secs() / 60)]
    TooSlow,
}

impl GraphDataImage {
    /// An image without required signatures.
    pub fn new(image: NamedImage) -> Self {
        Self {
            image,
            signatures: None,
            selection: Arc::new(selection()),
            accepted: None,
            newest: NewestSignature::default(),
        }
    }

    /// Requires a signature.
    pub fn signed(self, signatures: SignaturePolicy) -> Self {
        Self { signatures: Some(signatures), ..self }
    }

    /// Stores the time of the newest signature in a directory, so that the source refuses older
    /// images after a restart, too.
    pub fn state_directory(self, directory: &Path) -> Self {
        Self { newest: NewestSignature::in_directory(directory), ..self }
    }

    async fn poll(&mut self) -> Result<Option<Files>, SourceError> {
        let digest = self.image.resolve().await?;
        if self.accepted.as_ref() == Some(&digest) {
            return Ok(None);
        }
        let signed = match &self.signatures {
            Some(signatures) => Some(signatures.check(&digest).await?),
            None => None,
        };
        if let Some(signed) = signed {
            let checked = digest.clone();
            self.newest = self.update(move |newest| newest.check(&checked, signed)).await?;
        }
        let content = contents::read(self.image.source(), &digest, &self.selection).await?;
        let files = graph_data(content)?.ok_or(ImageError::NoGraphData(digest.clone()))?;
        if let Some(signed) = signed {
            if self.accepted.is_none() && !self.newest.is_saved() {
                tracing::warn!("no state directory; a restart accepts older signed graph-data");
            }
            let accepted = digest.clone();
            self.newest = self.update(move |newest| newest.accept(&accepted, signed)).await?;
        }
        self.accepted = Some(digest);
        Ok(Some(files))
    }

    /// Changes the newest signature on a thread that may block.
    async fn update(
        &self,
        change: impl FnOnce(NewestSignature) -> Result<NewestSignature, NewestSignatureError>
        + Send
        + 'static,
    ) -> Result<NewestSignature, SourceError> {
        let newest = self.newest.clone();
        Ok(tokio::task::spawn_blocking(move || change(newest)).await??)
    }
}

impl SignaturePolicy {
    /// The time of the newest valid signature: an image that is signed again is new again.
    async fn check(&self, image: &Digest) -> Result<Timestamp, ImageError> {
        let (mut newest, mut refusal) = (None, None);
        for number in 1.. {
            let signature = match self.store.signature(image, number).await {
                Ok(Some(signature)) => signature,
                Ok(None) => break,
                // One valid signature suffices.
                Err(_) if newest.is_some() => break,
                Err(error) => return Err(error.into()),
            };
            match self.keyring.verify(&signature, image, now()) {
                Ok(claim) => {
                    tracing::info!(%image, reference = claim.reference, "graph-data signature verified");
                    newest = newest.max(Some(claim.signed));
                }
                Err(why) => refusal = Some(why),
            }
        }
        newest.ok_or_else(|| match refusal {
            Some(source) => ImageError::Distrusted { digest: image.clone(), source },
            None => ImageError::Unsigned(image.clone()),
        })
    }
}

impl Source<Files> for GraphDataImage {
    fn name(&self) -> String {
        format!("graph-data image {}", self.image.name())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<SourceContent<Files>>, SourceError>> {
        async move {
            let files =
                timeout(IMAGE_TIMEOUT, self.poll()).await.map_err(|_| ImageError::TooSlow)??;
            Ok(files.map(|content| SourceContent { content, problems: Vec::new() }))
        }
        .boxed()
    }
}

/// All files of graph-data, in both locations.
fn selection() -> FileSelection {
    let inside = |name: &str| format!("{DIRECTORY}/{name}");
    let both =
        |one: &str, other: &str| vec![one.to_owned(), other.to_owned(), inside(one), inside(other)];
    FileSelection {
        files: both(SCHEMA, RAW_METADATA),
        directories: both(CHANNELS, BLOCKED_EDGES),
        most_files: MAX_FILES,
        file_bytes: MAX_FILE_BYTES,
        all_bytes: MAX_BYTES,
        any_machine: true,
    }
}

/// The files of graph-data by their relative paths, if there are any.
fn graph_data(content: BTreeMap<String, Vec<u8>>) -> Result<Option<Files>, FilesError> {
    let inside = |path: &str| {
        path.strip_prefix(DIRECTORY).and_then(|path| path.strip_prefix('/')).map(str::to_owned)
    };
    if content.is_empty() {
        return Ok(None);
    }
    let is_inside = content.keys().any(|path| inside(path).is_some());
    let mut files = Files::default();
    for (path, bytes) in content {
        let path = if is_inside { inside(&path) } else { Some(path) };
        if let Some(path) = path {
            files.insert(path, bytes)?;
        }
    }
    Ok(Some(files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graph_data_in_both_locations_is_found() {
        let content = |paths: &[&str]| {
            let file = |path: &&str| ((*path).to_owned(), Vec::new());
            let files = graph_data(paths.iter().map(file).collect()).unwrap()?;
            Some(files.iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>())
        };
        let inside = ["var/lib/cincinnati-graph-data/version", "version", "channels/a.yaml"];
        assert_eq!(content(&inside).unwrap(), ["version"]);
        assert_eq!(content(&inside[1..]).unwrap(), ["channels/a.yaml", "version"]);
        assert_eq!(content(&[]), None);
    }
}

//! Graph-data from a container image.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairway_clock::now;
use fairway_graph::Files;
use fairway_graph::data::{BLOCKED_EDGES, CHANNELS, RAW_METADATA, SCHEMA};
use fairway_graph::files::{FilesError, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES};
use fairway_registry::Digest;
use fairway_registry::contents::{self, NamedImage, Wanted};
use fairway_registry::signature::{Keyring, SignatureError, Store, StoreError};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::timeout;

use super::{Found, Source, SourceError};

/// Where images with graph-data have it. Some have it at the top instead.
const DIRECTORY: &str = "var/lib/cincinnati-graph-data";

/// How long an image of some megabytes may take by a slow line.
const PATIENCE: Duration = Duration::from_mins(15);

/// An image with graph-data. What its name stands for is asked each time, and fetched when it is
/// another image than before.
#[derive(Debug)]
pub struct GraphDataImage {
    image: NamedImage,
    signatures: Option<Signatures>,
    wanted: Arc<Wanted>,
    accepted: Option<Digest>,
}

/// Whose signatures count, and where they are.
#[derive(Debug)]
pub struct Signatures {
    /// Whose.
    pub keyring: Keyring,
    /// Where.
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
    #[error("timed out after {} minutes", PATIENCE.as_secs() / 60)]
    TooSlow,
}

impl GraphDataImage {
    /// The image of that name, whoever made it.
    pub fn new(image: NamedImage) -> Self {
        Self { image, signatures: None, wanted: Arc::new(wanted()), accepted: None }
    }

    /// Only if it is signed.
    pub fn signed(self, signatures: Signatures) -> Self {
        Self { signatures: Some(signatures), ..self }
    }

    async fn look(&mut self) -> Result<Option<Files>, SourceError> {
        let digest = self.image.resolve().await?;
        if self.accepted.as_ref() == Some(&digest) {
            return Ok(None);
        }
        if let Some(signatures) = &self.signatures {
            signatures.check(&digest).await?;
        }
        let content = contents::read(self.image.source(), &digest, &self.wanted).await?;
        let files = graph_data(content)?.ok_or(ImageError::NoGraphData(digest.clone()))?;
        self.accepted = Some(digest);
        Ok(Some(files))
    }
}

impl Signatures {
    /// One signature that counts is enough.
    async fn check(&self, image: &Digest) -> Result<(), ImageError> {
        let mut refusal = None;
        for number in 1.. {
            let Some(signature) = self.store.signature(image, number).await? else { break };
            match self.keyring.verify(&signature, image, now()) {
                Ok(claim) => {
                    tracing::info!(%image, reference = claim.reference, "graph-data signature verified");
                    return Ok(());
                }
                Err(why) => refusal = Some(why),
            }
        }
        Err(match refusal {
            Some(source) => ImageError::Distrusted { digest: image.clone(), source },
            None => ImageError::Unsigned(image.clone()),
        })
    }
}

impl Source<Files> for GraphDataImage {
    fn name(&self) -> String {
        format!("graph-data image {}", self.image.name())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<Found<Files>>, SourceError>> {
        async move {
            let files = timeout(PATIENCE, self.look()).await.map_err(|_| ImageError::TooSlow)??;
            Ok(files.map(|content| Found { content, problems: Vec::new() }))
        }
        .boxed()
    }
}

/// Everything that means something in graph-data, at both places.
fn wanted() -> Wanted {
    let inside = |name: &str| format!("{DIRECTORY}/{name}");
    let both =
        |one: &str, other: &str| vec![one.to_owned(), other.to_owned(), inside(one), inside(other)];
    Wanted {
        files: both(SCHEMA, RAW_METADATA),
        directories: both(CHANNELS, BLOCKED_EDGES),
        most_files: MAX_FILES,
        file_bytes: MAX_FILE_BYTES,
        all_bytes: MAX_BYTES,
        any_machine: true,
    }
}

/// The files of graph-data, by their paths in it, if there are any.
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
    fn graph_data_is_found_at_both_places() {
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

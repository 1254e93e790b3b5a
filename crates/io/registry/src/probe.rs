//! Whether an image is to be had: its manifest is fetched and compared with its digest, and every
//! layer is asked for, in each of the places where the image may be.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::timeout;

use crate::Digest;
use crate::contents::{self, ContentsError};
use crate::manifest::Descriptor;
use crate::payload::{FetchError, Place, Places, Tried, by_digest, candidates, listed};
use crate::pull::{PullError, pass};
use crate::releases::{Source, printable};

/// How closely an image is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Layers are asked for, and their sizes compared.
    Head,
    /// Layers are downloaded, compared with their digests, and thrown away.
    Pull,
}

/// Why an image is not known to be there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// No place has it for us.
    #[error("{}", listed(.0))]
    Missing(Vec<Tried>),
    /// Some place does not answer at the moment, and may have it.
    #[error("{}", listed(.0))]
    NoAnswer(Vec<Tried>),
    /// A tag may stand for something else tomorrow.
    #[error(transparent)]
    Name(FetchError),
}

/// Asks for images. What was asked once is not asked again: images of a release share layers.
pub struct Prober {
    places: Places,
    depth: Depth,
    sources: Mutex<BTreeMap<String, Arc<Source>>>,
    present: Mutex<BTreeSet<(String, Digest)>>,
}

/// Why one place does not have an image.
struct Refusal {
    why: String,
    may_pass: bool,
}

impl Prober {
    /// Prepares to look for images in these places.
    pub fn new(places: Places, depth: Depth) -> Self {
        Self { places, depth, sources: Mutex::default(), present: Mutex::default() }
    }

    /// Whether one of the places has all of an image.
    pub async fn probe(&self, image: &str) -> Result<(), ProbeError> {
        let (repository, digest) = by_digest(image).map_err(ProbeError::Name)?;
        let (mut tried, mut may_pass) = (Vec::new(), false);
        for place in candidates(repository, &self.places) {
            match self.probe_at(&place, &digest).await {
                Ok(()) => return Ok(()),
                Err(refusal) => {
                    may_pass |= refusal.may_pass;
                    tried.push(Tried { place: place.to_string(), why: refusal.why });
                }
            }
        }
        Err(if may_pass { ProbeError::NoAnswer(tried) } else { ProbeError::Missing(tried) })
    }

    async fn probe_at(&self, place: &Place<'_>, image: &Digest) -> Result<(), Refusal> {
        let source = self.source(place).map_err(|why| Refusal { why, may_pass: false })?;
        let patience = self.places.patience;
        match timeout(patience, self.look(&place.to_string(), &source, image)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(refusal(&source, image, &error).await),
            Err(_) => {
                let why = format!("timed out after {} seconds", patience.as_secs());
                Err(Refusal { why, may_pass: true })
            }
        }
    }

    /// One connection serves all images of a place.
    fn source(&self, place: &Place<'_>) -> Result<Arc<Source>, String> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = sources.get(&place.to_string()) {
            return Ok(Arc::clone(source));
        }
        let source = Arc::new(place.source(&self.places.options)?);
        sources.insert(place.to_string(), Arc::clone(&source));
        Ok(source)
    }

    async fn look(
        &self,
        place: &str,
        source: &Source,
        image: &Digest,
    ) -> Result<(), ContentsError> {
        let manifest = contents::manifest(source, image, true).await?;
        for blob in manifest.config.iter().chain(&manifest.layers) {
            let key = (place.to_owned(), blob.digest.clone());
            let is_present = |all: &Mutex<BTreeSet<_>>| {
                all.lock().unwrap_or_else(PoisonError::into_inner).contains(&key)
            };
            if !is_present(&self.present) {
                self.blob(source, blob).await?;
                self.present.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
            }
        }
        Ok(())
    }

    async fn blob(&self, source: &Source, blob: &Descriptor) -> Result<(), ContentsError> {
        if self.depth == Depth::Head {
            return Ok(source.has(blob).await?);
        }
        let arriving = source.layer(blob).await?;
        let read = pass(arriving, blob, |mut chunks| io::copy(&mut chunks, &mut io::sink()));
        let failed = |why: String| ContentsError::Layer { layer: blob.digest.clone(), why };
        let copied = read.await?.map_err(|error| failed(error.to_string()))?;
        copied.map(|_| ()).map_err(|error| failed(error.to_string()))
    }
}

/// What a place says instead of giving an image, with the words of its registry.
async fn refusal(source: &Source, image: &Digest, error: &ContentsError) -> Refusal {
    let may_pass = matches!(error, ContentsError::Pull(error) if error.is_transient());
    let is_answer = |error: &PullError| {
        matches!(error, PullError::NotFound { .. } | PullError::Unauthorised { .. })
    };
    let said = match (source, error) {
        (Source::Registry(repository), ContentsError::Pull(error)) if is_answer(error) => {
            repository.words_about(image).await
        }
        _ => None,
    };
    let said = said
        .map_or_else(String::new, |said| format!(" (the registry reports: {})", printable(said)));
    Refusal { why: format!("{error}{said}"), may_pass }
}

//! Checks that an image is available: fetches and verifies its manifest and checks every layer, in
//! each source of the image.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::timeout;

use crate::Digest;
use crate::contents::{self, ContentsError};
use crate::manifest::Descriptor;
use crate::payload::{
    CandidateSource, FailedSource, FetchError, ImageSources, by_digest, candidates, join_failures,
};
use crate::pull::{PullError, stream_verified};
use crate::releases::printable;
use crate::source::Source;

/// Thoroughness of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeDepth {
    /// HEAD requests for layers; compares their sizes.
    Head,
    /// Downloads layers, verifies their digests and discards them.
    Pull,
}

/// An image that is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// No source has the image, or access is denied.
    #[error("{}", join_failures(.0))]
    Missing(Vec<FailedSource>),
    /// At least one source failed temporarily and may have the image.
    #[error("{}", join_failures(.0))]
    NoAnswer(Vec<FailedSource>),
    /// The reference has no digest.
    #[error(transparent)]
    Name(FetchError),
}

/// Probes images. Blobs are checked once, because images of a release share layers.
pub struct Prober {
    sources: ImageSources,
    depth: ProbeDepth,
    opened: Mutex<BTreeMap<String, Arc<Source>>>,
    present: Mutex<BTreeSet<(String, Digest)>>,
}

/// Failure of one source.
struct SourceFailure {
    why: String,
    is_transient: bool,
}

impl Prober {
    /// A prober for images in these sources.
    pub fn new(sources: ImageSources, depth: ProbeDepth) -> Self {
        Self { sources, depth, opened: Mutex::default(), present: Mutex::default() }
    }

    /// Succeeds if one source has the complete image.
    pub async fn probe(&self, image: &str) -> Result<(), ProbeError> {
        let (repository, digest) = by_digest(image).map_err(ProbeError::Name)?;
        let (mut tried, mut is_transient) = (Vec::new(), false);
        for candidate in candidates(repository, &self.sources) {
            match self.probe_at(&candidate, &digest).await {
                Ok(()) => return Ok(()),
                Err(failure) => {
                    is_transient |= failure.is_transient;
                    tried.push(FailedSource { place: candidate.to_string(), why: failure.why });
                }
            }
        }
        Err(if is_transient { ProbeError::NoAnswer(tried) } else { ProbeError::Missing(tried) })
    }

    async fn probe_at(
        &self,
        candidate: &CandidateSource<'_>,
        image: &Digest,
    ) -> Result<(), SourceFailure> {
        let source =
            self.source(candidate).map_err(|why| SourceFailure { why, is_transient: false })?;
        let limit = self.sources.timeout;
        match timeout(limit, self.check_image(&candidate.to_string(), &source, image)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(source_failure(&source, image, &error).await),
            Err(_) => {
                let why = format!("timed out after {} seconds", limit.as_secs());
                Err(SourceFailure { why, is_transient: true })
            }
        }
    }

    /// The client of a source, shared by all images so that connections and tokens are reused.
    fn source(&self, candidate: &CandidateSource<'_>) -> Result<Arc<Source>, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = opened.get(&candidate.to_string()) {
            return Ok(Arc::clone(source));
        }
        let source = Arc::new(candidate.source(&self.sources.options)?);
        opened.insert(candidate.to_string(), Arc::clone(&source));
        Ok(source)
    }

    async fn check_image(
        &self,
        candidate: &str,
        source: &Source,
        image: &Digest,
    ) -> Result<(), ContentsError> {
        let manifest = contents::manifest(source, image, true).await?;
        for blob in manifest.config.iter().chain(&manifest.layers) {
            let key = (candidate.to_owned(), blob.digest.clone());
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
        if self.depth == ProbeDepth::Head {
            return Ok(source.check_blob(blob).await?);
        }
        let body = source.layer(blob).await?;
        let read = stream_verified(body, blob, |mut chunks| io::copy(&mut chunks, &mut io::sink()));
        let failed = |why: String| ContentsError::Layer { layer: blob.digest.clone(), why };
        let copied = read.await?.map_err(|error| failed(error.to_string()))?;
        copied.map(|_| ()).map_err(|error| failed(error.to_string()))
    }
}

/// The failure of a source, with the error message of its registry.
async fn source_failure(source: &Source, image: &Digest, error: &ContentsError) -> SourceFailure {
    let is_transient = matches!(error, ContentsError::Pull(error) if error.is_transient());
    let is_response = |error: &PullError| {
        matches!(error, PullError::NotFound { .. } | PullError::Unauthorised { .. })
    };
    let reported = match (source, error) {
        (Source::Registry(repository), ContentsError::Pull(error)) if is_response(error) => {
            repository.error_message(image).await
        }
        _ => None,
    };
    let reported = reported.map_or_else(String::new, |reported| {
        format!(" (the registry reports: {})", printable(reported))
    });
    SourceFailure { why: format!("{error}{reported}"), is_transient }
}

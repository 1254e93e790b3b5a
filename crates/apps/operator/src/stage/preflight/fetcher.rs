//! Retrieval and verification of the target release, unless it is the running one.

use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_api::reason::preflight_failed;

use super::diagnosis::PreflightError;
use super::inputs::{Inputs, PreflightPlacement, View};
use super::request::RequestedRelease;
use super::run_state::RunContext;
use crate::own_release::OwnRelease;
use crate::payload;
use crate::retrieval::{
    FetchRequest, RetrievalFailure, RetrievalJob, RetrievalProgress, Retrieved, Retriever,
    SignatureRequirement,
};
use crate::stage::updates::same_content;

/// Retrieves target releases.
pub(super) struct ReleaseFetcher {
    own: Arc<OwnRelease>,
    own_content: Arc<fairway_release::Release>,
    retriever: Arc<Retriever>,
    job: Option<RetrievalJob>,
}

/// A target release that is retrieved and verified.
pub(super) struct FetchedRelease {
    pub(super) release: Release,
    pub(super) content: Arc<fairway_release::Release>,
    /// Why the signature is not verified, for a forced request.
    pub(super) unverified: Option<String>,
}

impl FetchedRelease {
    /// Fails if the payload has another version than the request.
    pub(super) fn verify_version(&self, target: &RequestedRelease) -> Result<(), PreflightError> {
        let version = self.content.metadata.version.to_string();
        match &target.version {
            Some(expected) if *expected != version => {
                let message = format!("the image contains version {version}, not {expected}");
                Err(PreflightError::permanent(preflight_failed::VERIFY_PAYLOAD_VERSION, message))
            }
            _ => Ok(()),
        }
    }
}

impl ReleaseFetcher {
    pub(super) fn new(Inputs { own, own_content, .. }: &Inputs, context: &RunContext) -> Self {
        let PreflightPlacement { layouts, selection, .. } = &context.placement;
        let client = context.writer.client.clone();
        let retriever =
            Retriever::new(client, layouts.clone(), selection.profile.clone(), own_content);
        Self {
            own: Arc::clone(own),
            own_content: Arc::clone(own_content),
            retriever: Arc::new(retriever),
            job: None,
        }
    }

    /// Retriever with the credentials of the cluster.
    pub(super) fn retriever(&self) -> Arc<Retriever> {
        Arc::clone(&self.retriever)
    }

    /// Stops the retrieval.
    pub(super) fn stop(&mut self) {
        self.job = None;
    }

    /// Runs the retrieval until its progress changes.
    pub(super) async fn step(&mut self) {
        match &mut self.job {
            Some(job) => job.step(&self.retriever).await,
            None => std::future::pending().await,
        }
    }

    /// The requested release, once it is retrieved.
    pub(super) fn fetched(
        &mut self,
        view: &View,
        target: &RequestedRelease,
    ) -> Result<Option<FetchedRelease>, PreflightError> {
        let Some(Retrieved { content, unverified }) = self.retrieved(view, target)? else {
            return Ok(None);
        };
        let described = view.updates.as_deref().and_then(|it| it.described(&target.image));
        let of_image = || payload::described(&content.metadata, &target.image, &mut Vec::new());
        let release = described.unwrap_or_else(of_image);
        Ok(Some(FetchedRelease { release, content, unverified }))
    }

    fn retrieved(
        &mut self,
        view: &View,
        target: &RequestedRelease,
    ) -> Result<Option<Retrieved>, PreflightError> {
        if same_content(&target.image, &self.own.release.image) {
            let content = Arc::clone(&self.own_content);
            return Ok(Some(Retrieved { content, unverified: None }));
        }
        let signed =
            if target.forced { SignatureRequirement::Should } else { SignatureRequirement::Must };
        let order = FetchRequest { image: target.image.clone(), signed };
        if !self.job.as_ref().is_some_and(|job| job.is_for(&order, &view.ways)) {
            self.job = None;
        }
        let begin = || RetrievalJob::begin(&self.retriever, order, view.ways.clone());
        match self.job.get_or_insert_with(begin).progress() {
            RetrievalProgress::Done(retrieved) => Ok(Some(retrieved.clone())),
            RetrievalProgress::Running => Ok(None),
            RetrievalProgress::Failed(failure) => Err(retrieval_error(failure)),
        }
    }
}

fn retrieval_error(failure: &RetrievalFailure) -> PreflightError {
    match failure {
        RetrievalFailure::Retrieval(why) => {
            let message = format!("cannot retrieve the release: {why}");
            PreflightError::transient(preflight_failed::RETRIEVE_PAYLOAD, message)
        }
        RetrievalFailure::Signature(why) => {
            let message = format!("preflight not started: {why}");
            PreflightError::transient(preflight_failed::IMAGE_VERIFICATION_FAILED, message)
        }
        RetrievalFailure::Content(why) => {
            let message = format!("invalid release: {why}");
            PreflightError::transient(preflight_failed::LOAD_PAYLOAD, message)
        }
    }
}

//! The release that is asked for: fetched and verified, unless it is the one that runs.

use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_api::reason::preflight_failed;

use super::diagnosis::Trouble;
use super::inputs::{Inputs, Place, View};
use super::request::Wanted;
use super::standing::Site;
use crate::own_release::OwnRelease;
use crate::payload;
use crate::retrieval::{Failure, Job, Order, Progress, Retrieved, Retriever, Signed};
use crate::stage::updates::same_content;

/// What fetches releases.
pub(super) struct Fetching {
    own: Arc<OwnRelease>,
    own_content: Arc<fairway_release::Release>,
    retriever: Arc<Retriever>,
    job: Option<Job>,
}

/// A release that was read.
pub(super) struct Ready {
    pub(super) release: Release,
    pub(super) content: Arc<fairway_release::Release>,
    /// Why its signature does not count, where it does not have to.
    pub(super) unverified: Option<String>,
}

impl Ready {
    /// Whether it is what was asked for.
    pub(super) fn is(&self, wanted: &Wanted) -> Result<(), Trouble> {
        let version = self.content.metadata.version.to_string();
        match &wanted.version {
            Some(asked) if *asked != version => {
                let message = format!("the image contains version {version}, not {asked}");
                Err(Trouble::lasting(preflight_failed::VERIFY_PAYLOAD_VERSION, message))
            }
            _ => Ok(()),
        }
    }
}

impl Fetching {
    pub(super) fn new(Inputs { own, own_content, .. }: &Inputs, site: &Site) -> Self {
        let Place { layouts, selection, .. } = &site.place;
        let client = site.hands.client.clone();
        let retriever =
            Retriever::new(client, layouts.clone(), selection.profile.clone(), own_content);
        Self {
            own: Arc::clone(own),
            own_content: Arc::clone(own_content),
            retriever: Arc::new(retriever),
            job: None,
        }
    }

    /// Nothing is to be fetched any more.
    pub(super) fn stop(&mut self) {
        self.job = None;
    }

    /// Goes on until there is something new.
    pub(super) async fn step(&mut self) {
        match &mut self.job {
            Some(job) => job.step(&self.retriever).await,
            None => std::future::pending().await,
        }
    }

    /// That release, once it was read; or why it cannot be.
    pub(super) fn ready(&mut self, view: &View, wanted: &Wanted) -> Result<Option<Ready>, Trouble> {
        let Some(Retrieved { content, unverified }) = self.retrieved(view, wanted)? else {
            return Ok(None);
        };
        let described = view.updates.as_deref().and_then(|it| it.described(&wanted.image));
        let of_image = || payload::described(&content.metadata, &wanted.image, &mut Vec::new());
        let release = described.unwrap_or_else(of_image);
        Ok(Some(Ready { release, content, unverified }))
    }

    fn retrieved(&mut self, view: &View, wanted: &Wanted) -> Result<Option<Retrieved>, Trouble> {
        if same_content(&wanted.image, &self.own.release.image) {
            let content = Arc::clone(&self.own_content);
            return Ok(Some(Retrieved { content, unverified: None }));
        }
        let signed = if wanted.forced { Signed::Should } else { Signed::Must };
        let order = Order { image: wanted.image.clone(), signed };
        if !self.job.as_ref().is_some_and(|job| job.is_for(&order, &view.ways)) {
            self.job = None;
        }
        let begin = || Job::begin(&self.retriever, order, view.ways.clone());
        match self.job.get_or_insert_with(begin).progress() {
            Progress::Done(retrieved) => Ok(Some(retrieved.clone())),
            Progress::Running => Ok(None),
            Progress::Failed(failure) => Err(not_retrieved(failure)),
        }
    }
}

fn not_retrieved(failure: &Failure) -> Trouble {
    match failure {
        Failure::Retrieval(why) => {
            let message = format!("cannot retrieve the release: {why}");
            Trouble::passing(preflight_failed::RETRIEVE_PAYLOAD, message)
        }
        Failure::Signature(why) => {
            let message = format!("release not started: {why}");
            Trouble::passing(preflight_failed::IMAGE_VERIFICATION_FAILED, message)
        }
        Failure::Content(why) => {
            let message = format!("invalid release: {why}");
            Trouble::passing(preflight_failed::LOAD_PAYLOAD, message)
        }
    }
}

//! The stage at work.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::reason::preflight_failed;
use fairway_release::Release;
use tokio::sync::watch;
use tokio::time::Instant;

use super::attempt::{Attempt, End};
use super::condition::{self, Named, Phase, Situation};
use super::diagnosis::Trouble;
use super::hands::Hands;
use super::inputs::{Inputs, Place, View};
use super::request::{Known, Request, Wanted, request};
use super::standing::{Site, Standing};
use super::{Outcome, Preflight};
use crate::clock;
use crate::own_release::OwnRelease;
use crate::retrieval::{Failure, Job, Order, Progress, Retrieved, Retriever, Signed};
use crate::settings::PreflightSettings;
use crate::stage::updates::same_content;

/// Asks other releases about this cluster whenever somebody wants to know, until nobody looks any
/// more.
pub async fn run(
    mut inputs: Inputs,
    place: Place,
    settings: PreflightSettings,
    hands: Hands,
    out: watch::Sender<Option<Arc<Preflight>>>,
) {
    let mut stage = Stage::new(&inputs, Site { place, settings, hands });
    loop {
        if let Some(view) = inputs.look() {
            let preflight = stage.decide(&view);
            publish(preflight, &out);
        }
        tokio::select! {
            open = inputs.changed() => if !open { return },
            () = step(&mut stage.job, &stage.retriever) => {}
            trouble = stage.site.step(&mut stage.standing) => stage.note(trouble),
            () = out.closed() => return,
        }
    }
}

async fn step(job: &mut Option<Job>, retriever: &Arc<Retriever>) {
    match job {
        Some(job) => job.step(retriever).await,
        None => std::future::pending().await,
    }
}

/// Publishes what is new.
fn publish(preflight: Preflight, out: &watch::Sender<Option<Arc<Preflight>>>) {
    out.send_if_modified(|published| {
        if published.as_deref() == Some(&preflight) {
            return false;
        }
        *published = Some(Arc::new(preflight));
        true
    });
}

/// The stage's state.
struct Stage {
    own: Arc<OwnRelease>,
    own_content: Arc<Release>,
    retriever: Arc<Retriever>,
    site: Site,
    job: Option<Job>,
    standing: Standing,
    /// What became of the request that stands.
    attempt: Option<Attempt>,
}

/// A release that can be asked.
#[derive(Clone)]
struct Ready {
    version: String,
    /// Why its signature does not count, where it does not have to.
    unverified: Option<String>,
}

impl Stage {
    fn new(inputs: &Inputs, site: Site) -> Self {
        let Inputs { own, own_content, .. } = inputs;
        let Place { layouts, profile, .. } = &site.place;
        let client = site.hands.client.clone();
        let retriever = Retriever::new(client, layouts.clone(), profile.clone(), own_content);
        Self {
            own: Arc::clone(own),
            own_content: Arc::clone(own_content),
            retriever: Arc::new(retriever),
            standing: site.look(),
            site,
            job: None,
            attempt: None,
        }
    }

    /// Looks at everything, does what there is to do, and says how things are.
    fn decide(&mut self, view: &View) -> Preflight {
        let request = self.request(view);
        self.heed(&request);
        let ready = self.ready(view);
        self.advance(&request, ready.as_ref().ok().and_then(Option::as_ref));
        self.preflight(view, &request, &ready)
    }

    fn request(&self, view: &View) -> Request {
        let status = view.cluster_version.status.as_ref();
        let spec = &view.cluster_version.spec;
        request(
            spec.desired_update.as_ref(),
            Known {
                enabled: self.site.settings.enabled,
                on_update: self.site.settings.on_update,
                own: &self.own.release,
                desired: status.map(|status| status.desired.image.as_str()),
                history: status.map_or(&[], |status| &status.history),
                channel: spec.channel.as_deref().filter(|channel| !channel.is_empty()),
                updates: view.updates.as_deref(),
            },
        )
    }

    /// Takes in what is asked for. What became of another request is forgotten.
    fn heed(&mut self, request: &Request) {
        let Request::Wanted(wanted) = request else {
            (self.attempt, self.job) = (None, None);
            return;
        };
        if !self.attempt.as_ref().is_some_and(|attempt| attempt.wanted == *wanted) {
            self.attempt = Some(Attempt::new(wanted.clone(), clock::now()));
        }
    }

    /// A run could not be created: it is tried again later.
    fn note(&mut self, trouble: Option<Trouble>) {
        if let (Some(trouble), Some(attempt)) = (trouble, &mut self.attempt) {
            attempt.has_failed(trouble, Instant::now());
        }
    }

    /// The release that is asked for, once it can be; or why it cannot.
    fn ready(&mut self, view: &View) -> Result<Option<Ready>, Trouble> {
        let Some(attempt) = self.attempt.as_ref().filter(|attempt| attempt.end.is_none()) else {
            self.job = None;
            return Ok(None);
        };
        let wanted = attempt.wanted.clone();
        let Some(Retrieved { content, unverified }) = self.retrieved(view, &wanted)? else {
            return Ok(None);
        };
        let version = content.metadata.version.to_string();
        match &wanted.version {
            Some(asked) if *asked != version => {
                let message = format!("the image holds the version {version}, not {asked}");
                Err(Trouble::lasting(preflight_failed::VERIFY_PAYLOAD_VERSION, message))
            }
            _ => Ok(Some(Ready { version, unverified })),
        }
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

    /// Does what there is to do next. Nothing is begun before what was begun is over.
    fn advance(&mut self, request: &Request, ready: Option<&Ready>) {
        let attempt = self.attempt.as_mut().filter(|attempt| attempt.end.is_none());
        let next = match &self.standing {
            Standing::Looking(_) | Standing::Clearing(_) | Standing::Starting(_) => None,
            // Before it is known what is asked for, what is there may be just that.
            Standing::Found(_) if matches!(request, Request::NotKnownYet { .. }) => None,
            Standing::Found(found) => match (found, attempt) {
                (Some(run), Some(attempt)) => Some(attempt.go_on(&self.site, &self.own, run)),
                _ => Some(self.site.clear()),
            },
            Standing::Clear { .. } => {
                let it = attempt.zip(ready);
                it.and_then(|(attempt, ready)| attempt.begin(&self.site, &self.own, &ready.version))
            }
            Standing::Active(active) => match attempt {
                Some(attempt) if same_content(&attempt.wanted.image, &active.run.image) => {
                    attempt.is_under_way(active.verdict());
                    attempt.end.is_some().then(|| self.site.clear())
                }
                _ => Some(self.site.clear()),
            },
        };
        if let Some(next) = next {
            self.standing = next;
        }
    }

    fn preflight(
        &self,
        view: &View,
        request: &Request,
        ready: &Result<Option<Ready>, Trouble>,
    ) -> Preflight {
        let active = match &self.standing {
            Standing::Active(active) => Some(&**active),
            _ => None,
        };
        let mut troubles: Vec<Trouble> = ready.as_ref().err().cloned().into_iter().collect();
        troubles.extend(active.into_iter().flat_map(|active| active.course().troubles()));
        let attempt = self.attempt.as_ref();
        troubles.extend(attempt.and_then(|attempt| attempt.failure.clone()));
        if let Some(End::GivenUp(trouble)) = attempt.and_then(|attempt| attempt.end.as_ref()) {
            troubles = vec![trouble.clone()];
        }
        let ready = ready.as_ref().ok().and_then(Option::as_ref);
        let situation = Situation {
            phase: self.phase(request, ready),
            document: active.and_then(|active| active.course().document()),
            troubles: &troubles,
            kept: &[],
        };
        Preflight {
            generation: view.generation,
            conditions: condition::conditions(&situation),
            concerns: Vec::new(),
            not_offered: Vec::new(),
            outcomes: BTreeMap::<String, Outcome>::new(),
            is_clear: matches!(self.standing, Standing::Clear { .. }),
        }
    }

    /// How far the request is.
    fn phase<'a>(&'a self, request: &'a Request, ready: Option<&'a Ready>) -> Phase<'a> {
        let (wanted, attempt) = match (request, &self.attempt) {
            (Request::Held(held), _) => return Phase::Held(held),
            (Request::NotKnownYet { version }, _) => return Phase::LookingUp(version),
            (Request::Wanted(wanted), Some(attempt)) => (wanted, attempt),
            _ => return Phase::NotRequested,
        };
        let named = Named {
            version: wanted.version.as_deref().or(ready.map(|ready| ready.version.as_str())),
            image: &wanted.image,
            unverified: ready.and_then(|ready| ready.unverified.as_deref()),
        };
        match (&attempt.end, &self.standing) {
            (Some(End::Done), _) => Phase::NotRequested,
            (Some(End::GivenUp(_)), _) => Phase::Stopped(named),
            (None, Standing::Active(active)) if same_content(&active.run.image, named.image) => {
                Phase::Running(named)
            }
            (None, _) if attempt.moved => Phase::Restarting(named, &self.site.place.node),
            (None, _) if ready.is_none() => Phase::Retrieving(named),
            (None, Standing::Clear { .. } | Standing::Starting(_)) => Phase::Starting(named),
            (None, _) => Phase::Clearing(named),
        }
    }
}

fn not_retrieved(failure: &Failure) -> Trouble {
    match failure {
        Failure::NotRetrieved(why) => {
            let message = format!("the release cannot be fetched: {why}");
            Trouble::passing(preflight_failed::RETRIEVE_PAYLOAD, message)
        }
        Failure::NotVerified(why) => {
            let message = format!("the release is not started: {why}");
            Trouble::passing(preflight_failed::IMAGE_VERIFICATION_FAILED, message)
        }
        Failure::NotLoaded(why) => {
            let message = format!("the release makes no sense: {why}");
            Trouble::passing(preflight_failed::LOAD_PAYLOAD, message)
        }
    }
}

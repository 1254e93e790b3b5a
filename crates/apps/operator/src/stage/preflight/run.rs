//! The stage at work.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::cluster_version::Release;
use tokio::sync::watch;
use tokio::time::Instant;

use super::attempt::{Attempt, End};
use super::condition::{self, Named, Phase, Situation};
use super::deployment::Run;
use super::diagnosis::Trouble;
use super::fetching::{Fetching, Ready};
use super::hands::Hands;
use super::inputs::{Inputs, Place, View};
use super::keeping::Keeping;
use super::memory::Memory;
use super::reader;
use super::rehearsal::{self, Play, Rehearsal};
use super::request::{Known, Request, Wanted, asks_for_another, request};
use super::standing::{NotStarted, Site, Standing};
use super::{Outcome, Preflight};
use crate::event;
use crate::metrics;
use crate::own_release::OwnRelease;
use crate::records;
use crate::settings::PreflightSettings;
use crate::stage::updates::same_content;

/// Asks other releases about this cluster whenever somebody wants to know, until nobody looks any
/// more.
pub async fn run(
    mut inputs: Inputs,
    place: Place,
    settings: PreflightSettings,
    hands: Hands,
    metrics: metrics::Preflight,
    out: watch::Sender<Option<Arc<Preflight>>>,
) {
    let (Hands { client, leadership }, namespace) = (hands.clone(), place.namespace.clone());
    let found = tokio::select! {
        found = hands.recall(&namespace) => found,
        () = out.closed() => return,
    };
    let (announcer, announce) = event::announcer(client.clone(), leadership.clone());
    let (store, writes) = records::store(client, &namespace, leadership, &found);
    let memory = Memory::new(&inputs.own.release.version, settings.on_update);
    let keeping = Keeping::resume(memory, store, &found, announcer, metrics);
    let mut stage = Stage::new(&inputs, Site { place, settings, hands }, keeping);
    let work = async {
        loop {
            if let Some(view) = inputs.look() {
                publish(stage.decide(&view), &out);
            }
            tokio::select! {
                open = inputs.changed() => if !open { return },
                () = stage.fetching.step() => {}
                () = rehearse(&mut stage.rehearsal) => stage.learn_again(),
                failed = stage.site.step(&mut stage.standing) => stage.note(failed),
                () = stage.keeping.changed() => {}
                () = out.closed() => return,
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = writes => {}
        () = announce => {}
    }
}

async fn rehearse(rehearsal: &mut Option<Rehearsal>) {
    match rehearsal {
        Some(rehearsal) => rehearsal.step().await,
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
    fetching: Fetching,
    site: Site,
    standing: Standing,
    /// Whether it is not known yet what was asked of an operator before this one.
    resumes: bool,
    /// What became of the request that stands.
    attempt: Option<Attempt>,
    rehearsal: Option<Rehearsal>,
    keeping: Keeping,
}

impl Stage {
    fn new(inputs: &Inputs, site: Site, keeping: Keeping) -> Self {
        Self {
            own: Arc::clone(&inputs.own),
            fetching: Fetching::new(inputs, &site),
            standing: site.look(),
            site,
            resumes: true,
            attempt: None,
            rehearsal: None,
            keeping,
        }
    }

    /// Looks at everything, does what there is to do, and says how things are.
    fn decide(&mut self, view: &View) -> Preflight {
        self.learn();
        let request = self.request(view);
        self.heed(view, &request);
        let ready = self.ready(view);
        if let Err(trouble) = &ready {
            self.is_not_ready(trouble);
        }
        let target = ready.as_ref().ok().and_then(Option::as_ref);
        self.advance(view, &request, target);
        self.rehearse(view, target);
        self.preflight(view, &request, &ready)
    }

    /// Takes in what the run has said.
    fn learn(&mut self) {
        if let Standing::Active(active) = &mut self.standing
            && let Some(mut document) = active.news()
        {
            let its = self.rehearsal.as_ref().filter(|it| it.is_of(&active.run.id));
            Rehearsal::add_to(&mut document, its);
            self.keeping.learn(&active.run.image, document, fairway_clock::now());
        }
    }

    /// What the run has said is not all any more.
    fn learn_again(&mut self) {
        if let Standing::Active(active) = &mut self.standing {
            active.repeat_news();
        }
    }

    /// Tries the objects of the target release: for each run, and whenever they become others.
    fn rehearse(&mut self, view: &View, ready: Option<&Ready>) {
        let Standing::Active(active) = &mut self.standing else {
            self.rehearsal = None;
            return;
        };
        let id = active.run.id.clone();
        let (Some(ready), Some(surroundings)) = (ready, &view.surroundings) else { return };
        let (cluster_version, selection) = (&view.cluster_version, &self.site.place.selection);
        let versions = (self.own.release.version.as_str(), ready.release.version.as_str());
        let play = Play {
            filter: rehearsal::filter(cluster_version, selection, surroundings, versions),
            context: rehearsal::context(cluster_version, surroundings),
        };
        if active.vouch(&ready.content, &play.filter) {
            self.learn();
        }
        if let Some(rehearsal) = self.rehearsal.as_mut().filter(|rehearsal| rehearsal.is_of(&id)) {
            if rehearsal.consider(play) {
                self.learn_again();
                self.learn();
            }
            return;
        }
        let (client, target) = (self.site.hands.client.clone(), Arc::clone(&ready.content));
        self.rehearsal = Some(Rehearsal::begin(client, id, target, play));
    }

    fn request(&self, view: &View) -> Request {
        let status = view.cluster_version.status.as_ref();
        let spec = &view.cluster_version.spec;
        let looked_at = self.keeping.releases();
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
                looked_at: &looked_at,
            },
        )
    }

    /// Takes in what is asked for. What became of another request is forgotten.
    fn heed(&mut self, view: &View, request: &Request) {
        let before = self.attempt.as_ref().map(|attempt| &attempt.wanted);
        if before.is_some_and(|before| request.may_mean(before)) {
            return;
        }
        let wanted = match request {
            Request::Wanted(wanted) => Some(wanted),
            _ => None,
        };
        let is_same =
            |before: &&Wanted| wanted.is_some_and(|it| same_content(&it.image, &before.image));
        // Who asks for the same release in other words goes on with what is known of it.
        if let Some(before) = before.filter(|before| !is_same(before)) {
            let image = before.image.clone();
            self.leave(view, request, &image);
        }
        self.fetching.stop();
        let is_known = !matches!(request, Request::NotKnownYet { .. });
        let resumes = is_known && std::mem::take(&mut self.resumes);
        self.attempt = wanted.map(|wanted| {
            // What an operator before this one has given up is not tried again by itself.
            let given_up = self.keeping.given_up(&wanted.image).filter(|_| resumes);
            let mut attempt = Attempt::new(wanted.clone(), fairway_clock::now());
            let described = view.updates.as_deref().and_then(|it| it.described(&wanted.image));
            attempt.release = described.or_else(|| self.keeping.release(&wanted.image));
            attempt.end = given_up.map(End::GivenUp);
            attempt
        });
    }

    /// Nobody asks about that release any more. What it said is forgotten with the request, unless
    /// somebody asks for something else now, or for it to be kept.
    fn leave(&mut self, view: &View, request: &Request, image: &str) {
        let asked = view.cluster_version.spec.desired_update.as_ref();
        let is_withdrawn =
            *request == Request::Nothing && !asks_for_another(asked, &self.own.release);
        if is_withdrawn && !view.keeps_results() {
            self.keeping.forget(fairway_clock::now());
        } else {
            self.keeping.leave(image, fairway_clock::now());
        }
    }

    /// A run could not be created: it is tried again later, if it is still asked for.
    fn note(&mut self, failed: Option<NotStarted>) {
        let (Some(NotStarted { image, why }), Some(attempt)) = (failed, &mut self.attempt) else {
            return;
        };
        if same_content(&attempt.wanted.image, &image) {
            attempt.has_failed(why, Instant::now());
        }
    }

    /// The release that is asked for, once it can be; or why it cannot.
    fn ready(&mut self, view: &View) -> Result<Option<Ready>, Trouble> {
        let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.end.is_none()) else {
            self.fetching.stop();
            return Ok(None);
        };
        let Some(ready) = self.fetching.ready(view, &attempt.wanted)? else { return Ok(None) };
        // Whatever else stands in its way is told of a release of which it is known what it is.
        attempt.release = Some(ready.release.clone());
        ready.is(&attempt.wanted)?;
        let Some(reader_roles) = &view.reader_roles else { return Ok(None) };
        reader::trouble(reader_roles).map_or(Ok(Some(ready)), Err)
    }

    /// The release cannot be asked. A run that is there goes on, unless it is of another release than
    /// the one that was meant.
    fn is_not_ready(&mut self, trouble: &Trouble) {
        let has_run = matches!(self.standing, Standing::Active(_) | Standing::Starting(_));
        let Some(attempt) = self.attempt.as_mut().filter(|_| !has_run || trouble.is_final) else {
            return;
        };
        let now = fairway_clock::now();
        attempt.is_not_ready(trouble, &self.site.settings, now);
        if let (Some(end), Some(release)) = (&attempt.end, &attempt.release) {
            self.keeping.conclude_early(release, attempt.wanted.implicit, end, now);
        }
    }

    /// Does what there is to do next. Nothing is begun before what was begun is over.
    fn advance(&mut self, view: &View, request: &Request, ready: Option<&Ready>) {
        let next = match &self.standing {
            Standing::Looking(_) | Standing::Clearing(_) | Standing::Starting(_) => None,
            // Before it is known what is asked for, what is there may be just that.
            Standing::Found(_) if matches!(request, Request::NotKnownYet { .. }) => None,
            Standing::Found(found) => {
                let found = found.clone();
                Some(self.take_over(view, request, found))
            }
            Standing::Clear { .. } => ready.and_then(|ready| self.begin(ready)),
            Standing::Active(_) => self.follow(),
        };
        if let Some(next) = next {
            self.standing = next;
        }
    }

    /// What becomes of a run that an operator before this one has begun.
    fn take_over(&mut self, view: &View, request: &Request, found: Option<Run>) -> Standing {
        let Some(run) = found else { return self.site.clear() };
        let Some(attempt) = &mut self.attempt else {
            self.leave(view, request, &run.image);
            return self.site.clear();
        };
        if attempt.end.is_some() {
            return self.site.clear();
        }
        let next = attempt.go_on(&self.site, &self.own, &run);
        if matches!(next, Standing::Starting(_)) {
            let release = Release {
                version: run.version.clone(),
                image: run.image.clone(),
                ..Release::default()
            };
            let release =
                view.updates.as_deref().and_then(|it| it.described(&run.image)).unwrap_or(release);
            self.keeping.begin(&run, &release, attempt.wanted.implicit, fairway_clock::now());
        }
        next
    }

    /// Begins the run that is asked for.
    fn begin(&mut self, ready: &Ready) -> Option<Standing> {
        let attempt = self.attempt.as_mut().filter(|attempt| attempt.end.is_none())?;
        let next = attempt.begin(&self.site, &self.own, &ready.release.version);
        let now = fairway_clock::now();
        if let Some(Standing::Starting(starting)) = &next {
            self.keeping.begin(&starting.run, &ready.release, attempt.wanted.implicit, now);
        }
        if let Some(end) = &attempt.end {
            self.keeping.conclude_early(&ready.release, attempt.wanted.implicit, end, now);
        }
        next
    }

    /// What becomes of a run that is in the cluster.
    fn follow(&mut self) -> Option<Standing> {
        let Standing::Active(active) = &mut self.standing else { return None };
        let run = &active.run;
        let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.wants(run)) else {
            self.keeping.leave(&run.image, fairway_clock::now());
            return Some(self.site.clear());
        };
        if attempt.end.is_none() {
            active.expect(attempt.patience(&self.site.settings), attempt.began);
            let is_rehearsed = self.rehearsal.as_ref().is_some_and(Rehearsal::is_over);
            attempt.is_under_way(active.verdict(is_rehearsed));
            let end = attempt.end.as_ref()?;
            self.keeping.conclude(&active.run.image, end, fairway_clock::now());
        }
        Some(self.site.clear())
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
        troubles.extend(self.keeping.trouble());
        let ready = ready.as_ref().ok().and_then(Option::as_ref);
        let asked = attempt.map(|attempt| attempt.wanted.image.as_str());
        let situation = Situation {
            phase: self.phase(request, ready),
            document: asked.and_then(|image| self.keeping.document(image)),
            troubles: &troubles,
            kept: &self.keeping.aging(),
        };
        let mut preflight = Preflight {
            generation: view.generation,
            conditions: condition::conditions(&situation),
            concerns: Vec::new(),
            not_offered: Vec::new(),
            outcomes: BTreeMap::new(),
            is_clear: matches!(self.standing, Standing::Clear { .. }),
        };
        self.keeping.tell(&mut preflight, |image| {
            view.offers(image) || same_content(image, &self.own.release.image)
        });
        if let Some(image) = attempt.and_then(Attempt::answered) {
            outcome(&mut preflight.outcomes, image).answers = true;
        }
        preflight
    }

    /// How far the request is.
    fn phase<'a>(&'a self, request: &'a Request, ready: Option<&'a Ready>) -> Phase<'a> {
        let attempt = match (request, &self.attempt) {
            (_, Some(attempt)) => attempt,
            (Request::Held(held), None) => return Phase::Held(held),
            (Request::NotKnownYet { version, implicit: false }, None) => {
                return Phase::LookingUp(version);
            }
            _ => return Phase::NotRequested,
        };
        let wanted = &attempt.wanted;
        let named = Named {
            version: wanted
                .version
                .as_deref()
                .or(ready.map(|ready| ready.release.version.as_str())),
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

/// What is known of that content, wherever it is kept; nothing but that it was asked for, if need be.
fn outcome<'a>(outcomes: &'a mut BTreeMap<String, Outcome>, image: &str) -> &'a mut Outcome {
    let known = outcomes.keys().find(|known| same_content(known, image)).cloned();
    outcomes.entry(known.unwrap_or_else(|| image.to_owned())).or_default()
}

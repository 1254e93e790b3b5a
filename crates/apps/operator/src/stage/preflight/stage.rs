//! The loop of the preflight stage: decides what to do about requests, the run and its results.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Release;
use fairway_findings::images;
use tokio::sync::watch;
use tokio::time::Instant;

use super::attempt::Attempt;
use super::condition::{self, ConditionInput, Phase, TargetName};
use super::deployment::{PreflightRun, RunId};
use super::diagnosis::PreflightError;
use super::dry_run;
use super::dry_run::periodic::{self, DryRunInput, PeriodicCheck, PeriodicDryRun};
use super::fetcher::{FetchedRelease, ReleaseFetcher};
use super::image_probe::{self, PeriodicImageProbe};
use super::inputs::{Inputs, PreflightPlacement, View};
use super::monitor::RunEnd;
use super::reader_roles;
use super::request::{
    PreflightRequest, RequestContext, RequestedRelease, request, requests_other_release,
};
use super::result_store::{PersistentResults, ResultStore};
use super::results_root::ResultsRoot;
use super::run_state::{RunContext, RunState, StartFailure};
use super::writer::PreflightWriter;
use super::{Preflight, PreflightOutcome};
use crate::cluster::{Objects, only};
use crate::event;
use crate::metrics;
use crate::own_release::OwnRelease;
use crate::records;
use crate::settings::{OnUpdate, PreflightSettings};
use crate::stage::updates::same_content;

/// Processes preflight requests until the receiver of the output is gone.
pub async fn run(
    mut inputs: Inputs,
    placement: PreflightPlacement,
    settings: PreflightSettings,
    writer: PreflightWriter,
    metrics: metrics::Preflight,
    out: watch::Sender<Option<Arc<Preflight>>>,
) {
    let (PreflightWriter { client, leadership }, namespace) =
        (writer.clone(), placement.namespace.clone());
    // A leftover run must not depend on other requests that may fail, such as those for records.
    let leftovers =
        remove_leftovers(inputs.cluster_version.clone(), &placement, &settings, &writer);
    let found = tokio::select! {
        (found, ()) = async { tokio::join!(writer.list_records(&namespace), leftovers) } => found,
        () = out.closed() => return,
    };
    let (announcer, announce) = event::event_recorder(client.clone(), leadership.clone());
    let (store, saves) = records::store(client, &namespace, leadership, &found);
    let targets = ResultStore::new(&inputs.own.release.version, settings.on_update);
    let results = PersistentResults::resume(targets, store, &found, announcer, metrics);
    let mut stage = Stage::new(&inputs, RunContext { placement, settings, writer }, results);
    let work = async {
        loop {
            if let Some(view) = inputs.snapshot() {
                publish(stage.decide(&view), &out);
            }
            // All branches are cancellation-safe: the work of `fetcher`, `dry_runs`, `image_probes`
            // and `state` is stored in `stage`, and the next iteration continues it.
            tokio::select! {
                open = inputs.changed() => if !open { return },
                () = stage.fetcher.step() => {}
                () = step(&mut stage.dry_runs) => stage.record_results_again(),
                () = step(&mut stage.image_probes) => stage.record_results_again(),
                failed = stage.context.step(&mut stage.state) => stage.record_start_failure(failed),
                () = stage.results.changed() => {}
                () = out.closed() => return,
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = saves => {}
        () = announce => {}
    }
}

/// Removes a run that a previous operator process left and that is not requested any more.
async fn remove_leftovers(
    mut cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    placement: &PreflightPlacement,
    settings: &PreflightSettings,
    writer: &PreflightWriter,
) {
    let version = match cluster_version.wait_for(|seen| only(seen.as_ref()).is_some()).await {
        Ok(seen) => only(seen.as_ref()).cloned(),
        Err(_) => None,
    };
    let Some(version) = version else { return };
    let may_be_requested = version.spec.desired_update.as_ref().is_some_and(|update| {
        update.mode.is_some() || settings.on_update != OnUpdate::Off && update.is_update()
    });
    let namespace = placement.namespace.clone();
    if !may_be_requested && writer.has_run(&namespace).await {
        tracing::info!("removing preflight that is not requested");
        writer.clone().clear(namespace, ResultsRoot::new(&settings.results.here)).await;
    }
}

async fn step<I: PartialEq>(check: &mut Option<PeriodicCheck<I>>) {
    match check {
        Some(check) => check.step().await,
        None => std::future::pending().await,
    }
}

/// Publishes the output if it changed.
fn publish(preflight: Preflight, out: &watch::Sender<Option<Arc<Preflight>>>) {
    out.send_if_modified(|published| {
        if published.as_deref() == Some(&preflight) {
            return false;
        }
        *published = Some(Arc::new(preflight));
        true
    });
}

/// State of the stage.
struct Stage {
    own: Arc<OwnRelease>,
    fetcher: ReleaseFetcher,
    context: RunContext,
    state: RunState,
    /// Whether the request of a previous operator process is not evaluated yet.
    resumes: bool,
    /// State of the current request.
    attempt: Option<Attempt>,
    dry_runs: Option<PeriodicDryRun>,
    image_probes: Option<PeriodicImageProbe>,
    results: PersistentResults,
}

impl Stage {
    fn new(inputs: &Inputs, context: RunContext, results: PersistentResults) -> Self {
        Self {
            own: Arc::clone(&inputs.own),
            fetcher: ReleaseFetcher::new(inputs, &context),
            state: context.find(),
            context,
            resumes: true,
            attempt: None,
            dry_runs: None,
            image_probes: None,
            results,
        }
    }

    /// Evaluates all inputs, takes the next step and returns the output.
    fn decide(&mut self, view: &View) -> Preflight {
        self.record_results();
        let request = self.request(view);
        self.update_attempt(view, &request);
        let ready = self.ready(view);
        if let Err(error) = &ready {
            self.record_fetch_error(error);
        }
        let target = ready.as_ref().ok().and_then(Option::as_ref);
        self.advance(view, &request, target);
        self.update_dry_run(view, target);
        self.preflight(view, &request, &ready)
    }

    /// Records new results of the run.
    fn record_results(&mut self) {
        if let RunState::Active(active) = &mut self.state
            && let Some(mut document) = active.take_update()
        {
            let its = self.dry_runs.as_ref().filter(|it| it.belongs_to(&active.run.id));
            PeriodicDryRun::add_results(dry_run::NAME, &mut document, its);
            let its = self.image_probes.as_ref().filter(|it| it.belongs_to(&active.run.id));
            PeriodicImageProbe::add_results(images::NAME, &mut document, its);
            self.results.record(&active.run.image, document, fairway_clock::now());
        }
    }

    /// Records the results of the run again, because the dry run or the checks of the release
    /// changed.
    fn record_results_again(&mut self) {
        if let RunState::Active(active) = &mut self.state {
            active.monitor.republish();
        }
    }

    /// Starts the dry run of a run, or updates its input.
    fn update_dry_run(&mut self, view: &View, ready: Option<&FetchedRelease>) {
        let RunState::Active(active) = &mut self.state else {
            (self.dry_runs, self.image_probes) = (None, None);
            return;
        };
        let id = active.run.id.clone();
        if let Some(ready) = ready {
            self.update_image_probes(view, &id, ready);
        }
        let RunState::Active(active) = &mut self.state else { return };
        let (Some(ready), Some(surroundings)) = (ready, &view.surroundings) else { return };
        let (cluster_version, selection) =
            (&view.cluster_version, &self.context.placement.selection);
        let versions = (self.own.release.version.as_str(), ready.release.version.as_str());
        let input = DryRunInput {
            filter: periodic::filter(cluster_version, selection, surroundings, versions),
            context: periodic::context(cluster_version, surroundings),
        };
        let is_verified = ready.unverified.is_none();
        if active.set_release(&ready.content, is_verified, &input.filter) {
            self.record_results();
        }
        if let Some(dry_runs) = self.dry_runs.as_mut().filter(|dry_runs| dry_runs.belongs_to(&id)) {
            if dry_runs.set_input(input) {
                self.record_results_again();
                self.record_results();
            }
            return;
        }
        let (client, target) = (self.context.writer.client.clone(), Arc::clone(&ready.content));
        self.dry_runs = Some(PeriodicDryRun::begin(client, id, target, input));
    }

    /// Starts the probes of the images of a run, or updates their input.
    fn update_image_probes(&mut self, view: &View, id: &RunId, ready: &FetchedRelease) {
        match self.image_probes.as_mut().filter(|probes| probes.belongs_to(id)) {
            Some(probes) => {
                if probes.set_input(view.ways.clone()) {
                    self.record_results_again();
                    self.record_results();
                }
            }
            None => {
                self.image_probes = Some(image_probe::begin(
                    self.fetcher.retriever(),
                    id.clone(),
                    Arc::clone(&ready.content),
                    ready.release.image.clone(),
                    view.ways.clone(),
                ));
            }
        }
    }

    fn request(&self, view: &View) -> PreflightRequest {
        let status = view.cluster_version.status.as_ref();
        let spec = &view.cluster_version.spec;
        let examined = self.results.releases();
        request(
            spec.desired_update.as_ref(),
            RequestContext {
                enabled: self.context.settings.enabled,
                consent: view.consent(),
                on_update: self.context.settings.on_update,
                own: &self.own.release,
                desired: status.map(|status| status.desired.image.as_str()),
                history: status.map_or(&[], |status| &status.history),
                channel: spec.channel.as_deref().filter(|channel| !channel.is_empty()),
                updates: view.updates.as_deref(),
                examined: &examined,
            },
        )
    }

    /// Starts an attempt for a new request, and ends that of the previous one.
    fn update_attempt(&mut self, view: &View, request: &PreflightRequest) {
        let before = self.attempt.as_ref().map(|attempt| &attempt.target);
        if before.is_some_and(|before| request.may_mean(before)) {
            return;
        }
        let target = match request {
            PreflightRequest::Requested(target) => Some(target),
            _ => None,
        };
        let is_same = |before: &&RequestedRelease| {
            target.is_some_and(|it| same_content(&it.image, &before.image))
        };
        // A changed request for the same release keeps its results.
        if let Some(before) = before.filter(|before| !is_same(before)) {
            let image = before.image.clone();
            self.stop_monitoring(view, request, &image);
        }
        self.fetcher.stop();
        let is_known = !matches!(request, PreflightRequest::NotKnownYet { .. });
        let resumes = is_known && std::mem::take(&mut self.resumes);
        self.attempt = target.map(|target| {
            // An attempt that a previous operator process aborted is not repeated.
            let abort_error = self.results.abort_error(&target.image).filter(|_| resumes);
            let mut attempt = Attempt::new(target.clone(), fairway_clock::now());
            let described = view.updates.as_deref().and_then(|it| it.described(&target.image));
            attempt.release = described.or_else(|| self.results.release(&target.image));
            attempt.end = abort_error.map(RunEnd::Aborted);
            attempt
        });
    }

    /// Ends the monitoring of a release. Its results are removed with the request, unless the new
    /// request is for another release or an annotation requests to keep them.
    fn stop_monitoring(&mut self, view: &View, request: &PreflightRequest, image: &str) {
        let desired_update = view.cluster_version.spec.desired_update.as_ref();
        let is_withdrawn = *request == PreflightRequest::Nothing
            && !requests_other_release(desired_update, &self.own.release);
        if is_withdrawn && !view.keeps_results() {
            self.results.remove_all(fairway_clock::now());
        } else {
            self.results.stop_monitoring(image, fairway_clock::now());
        }
    }

    /// Records that a run could not be created; the next one starts after a delay.
    fn record_start_failure(&mut self, failed: Option<StartFailure>) {
        let (Some(StartFailure { image, error }), Some(attempt)) = (failed, &mut self.attempt)
        else {
            return;
        };
        if same_content(&attempt.target.image, &image) {
            attempt.record_start_error(error, Instant::now());
        }
    }

    /// The requested release, once it is retrieved and all preconditions are met.
    fn ready(&mut self, view: &View) -> Result<Option<FetchedRelease>, PreflightError> {
        let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.end.is_none()) else {
            self.fetcher.stop();
            return Ok(None);
        };
        let Some(ready) = self.fetcher.fetched(view, &attempt.target)? else { return Ok(None) };
        // Set before the checks below, so that their errors name the release.
        attempt.release = Some(ready.release.clone());
        ready.verify_version(&attempt.target)?;
        let Some(reader_roles) = &view.reader_roles else { return Ok(None) };
        reader_roles::error(reader_roles).map_or(Ok(Some(ready)), Err)
    }

    /// Records that the release cannot be started. An existing run continues, unless the error is
    /// permanent.
    fn record_fetch_error(&mut self, error: &PreflightError) {
        let has_run = matches!(self.state, RunState::Active(_) | RunState::Starting(_));
        let Some(attempt) = self.attempt.as_mut().filter(|_| !has_run || error.is_permanent) else {
            return;
        };
        let now = fairway_clock::now();
        attempt.record_fetch_error(error, &self.context.settings, now);
        if let (Some(end), Some(release)) = (&attempt.end, &attempt.release) {
            self.results.end_before_run(release, attempt.target.implicit, end, now);
        }
    }

    /// Takes the next step. A new run starts only after the previous one is removed.
    fn advance(&mut self, view: &View, request: &PreflightRequest, ready: Option<&FetchedRelease>) {
        let next = match &self.state {
            RunState::Looking(_) | RunState::Clearing(_) | RunState::Starting(_) => None,
            // Until the version is looked up, the existing run may be the requested one.
            RunState::Found(_) if matches!(request, PreflightRequest::NotKnownYet { .. }) => None,
            RunState::Found(found) => {
                let found = found.clone();
                Some(self.adopt_run(view, request, found))
            }
            RunState::Clear { .. } => ready.and_then(|ready| self.begin(ready)),
            RunState::Active(_) => self.follow(),
        };
        if let Some(next) = next {
            self.state = next;
        }
    }

    /// Next state for a run of a previous operator process.
    fn adopt_run(
        &mut self,
        view: &View,
        request: &PreflightRequest,
        found: Option<PreflightRun>,
    ) -> RunState {
        let Some(run) = found else { return self.context.clear() };
        let Some(attempt) = &mut self.attempt else {
            self.stop_monitoring(view, request, &run.image);
            return self.context.clear();
        };
        if attempt.end.is_some() {
            return self.context.clear();
        }
        let next = attempt.resume(&self.context, &self.own, &run);
        if matches!(next, RunState::Starting(_)) {
            let release = Release {
                version: run.version.clone(),
                image: run.image.clone(),
                ..Release::default()
            };
            let release =
                view.updates.as_deref().and_then(|it| it.described(&run.image)).unwrap_or(release);
            self.results.begin(&run, &release, attempt.target.implicit, fairway_clock::now());
        }
        next
    }

    /// Starts the requested run.
    fn begin(&mut self, ready: &FetchedRelease) -> Option<RunState> {
        let attempt = self.attempt.as_mut().filter(|attempt| attempt.end.is_none())?;
        let next = attempt.begin(&self.context, &self.own, &ready.release.version);
        let now = fairway_clock::now();
        if let Some(RunState::Starting(starting)) = &next {
            self.results.begin(&starting.run, &ready.release, attempt.target.implicit, now);
        }
        if let Some(end) = &attempt.end {
            self.results.end_before_run(&ready.release, attempt.target.implicit, end, now);
        }
        next
    }

    /// Next state for the run in the cluster.
    fn follow(&mut self) -> Option<RunState> {
        let RunState::Active(active) = &mut self.state else { return None };
        let run = &active.run;
        let Some(attempt) = self.attempt.as_mut().filter(|attempt| attempt.wants(run)) else {
            self.results.stop_monitoring(&run.image, fairway_clock::now());
            return Some(self.context.clear());
        };
        if attempt.end.is_none() {
            active.monitor.set_timeouts(attempt.timeouts(&self.context.settings), attempt.began);
            let has_dry_run = self.dry_runs.as_ref().is_some_and(PeriodicDryRun::has_result)
                && self.image_probes.as_ref().is_some_and(PeriodicImageProbe::has_result);
            attempt.record_run(active.monitor.end(fairway_clock::now(), has_dry_run));
            let end = attempt.end.as_ref()?;
            self.results.end(&active.run.image, end, fairway_clock::now());
        }
        Some(self.context.clear())
    }

    fn preflight(
        &self,
        view: &View,
        request: &PreflightRequest,
        ready: &Result<Option<FetchedRelease>, PreflightError>,
    ) -> Preflight {
        let active = match &self.state {
            RunState::Active(active) => Some(&**active),
            _ => None,
        };
        let mut errors: Vec<PreflightError> = ready.as_ref().err().cloned().into_iter().collect();
        errors.extend(active.into_iter().flat_map(|active| active.monitor.errors()));
        let attempt = self.attempt.as_ref();
        errors.extend(attempt.and_then(|attempt| attempt.failure.clone()));
        if let Some(RunEnd::Aborted(error)) = attempt.and_then(|attempt| attempt.end.as_ref()) {
            errors = vec![error.clone()];
        }
        errors.extend(self.results.save_error());
        let ready = ready.as_ref().ok().and_then(Option::as_ref);
        let image = attempt.map(|attempt| attempt.target.image.as_str());
        let input = ConditionInput {
            phase: self.phase(request, ready),
            document: image.and_then(|image| self.results.document(image)),
            errors: &errors,
            stored: &self.results.unmonitored_versions(),
        };
        let mut preflight = Preflight {
            generation: view.generation,
            conditions: condition::conditions(&input),
            concerns: Vec::new(),
            not_offered: Vec::new(),
            outcomes: BTreeMap::new(),
            is_clear: matches!(self.state, RunState::Clear { .. }),
        };
        self.results.fill(&mut preflight, |image| {
            view.offers(image) || same_content(image, &self.own.release.image)
        });
        if let Some(image) = attempt.and_then(Attempt::ended_before_update) {
            outcome(&mut preflight.outcomes, image).answers = true;
        }
        preflight
    }

    /// Phase of the request.
    fn phase<'a>(
        &'a self,
        request: &'a PreflightRequest,
        ready: Option<&'a FetchedRelease>,
    ) -> Phase<'a> {
        let attempt = match (request, &self.attempt) {
            (_, Some(attempt)) => attempt,
            (PreflightRequest::Held(held), None) => return Phase::Held(held),
            (PreflightRequest::NotKnownYet { version, implicit: false }, None) => {
                return Phase::LookingUp(version);
            }
            _ => return Phase::NotRequested,
        };
        let target = &attempt.target;
        let target = TargetName {
            version: target
                .version
                .as_deref()
                .or(ready.map(|ready| ready.release.version.as_str())),
            image: &target.image,
            unverified: ready.and_then(|ready| ready.unverified.as_deref()),
            secrets: self.context.settings.grant_secrets.then_some(&attempt.target.secrets),
        };
        match (&attempt.end, &self.state) {
            (Some(RunEnd::Done), _) => Phase::NotRequested,
            (Some(RunEnd::Aborted(_)), _) => Phase::Stopped(target),
            (None, RunState::Active(active)) if same_content(&active.run.image, target.image) => {
                Phase::Running(target)
            }
            (None, _) if attempt.moved => Phase::Restarting(target, &self.context.placement.node),
            (None, _) if ready.is_none() => Phase::Retrieving(target),
            (None, RunState::Clear { .. } | RunState::Starting(_)) => Phase::Starting(target),
            (None, _) => Phase::Clearing(target),
        }
    }
}

/// Summary of a release, by content. Adds one if there is none.
fn outcome<'a>(
    outcomes: &'a mut BTreeMap<String, PreflightOutcome>,
    image: &str,
) -> &'a mut PreflightOutcome {
    let known = outcomes.keys().find(|known| same_content(known, image)).cloned();
    outcomes.entry(known.unwrap_or_else(|| image.to_owned())).or_default()
}

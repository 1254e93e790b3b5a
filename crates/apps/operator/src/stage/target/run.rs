//! The stage: evaluates the desired release whenever an input changes, and publishes the target.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_api::{OperatorCondition, Version};
use fairway_release::inclusion::{ManifestFilter, implicitly_enabled};
use tokio::sync::watch;
use tokio::time::Instant;

use super::accepted::AcceptedRelease;
use super::decision::{self, Decision, ReleaseName};
use super::desired_release::{
    DesiredRelease, UpdateRequest, offered_releases, offered_update, resolve,
};
use super::gate::ProposedUpdate;
use super::inputs::{Inputs, View};
use super::wait::{self, WaitTimer};
use super::{Target, preconditions, selection};
use crate::election::Leadership;
use crate::event::{EventRecorder, PendingEvent, event_recorder};
use crate::own_release::OwnRelease;
use crate::payload::{self, Payload};
use crate::retrieval::{
    FetchRequest, RetrievalFailure, RetrievalJob, RetrievalProgress, Retrieved, Retriever,
    SignatureRequirement,
};
use crate::settings::{OnUpdate, TargetSettings};
use crate::stage::release_lookup::ReleaseLookup;
use crate::stage::updates::same_content;
use crate::sync;

/// Publishes the target release until the last receiver is dropped.
pub(crate) async fn run(
    mut inputs: Inputs,
    settings: TargetSettings,
    on_update: OnUpdate,
    client: kube::Client,
    leadership: Leadership,
    out: watch::Sender<Option<Arc<Target>>>,
) {
    let (events, write_events) = event_recorder(client.clone(), leadership);
    let mut stage = Stage::new(&inputs, settings, on_update, client, events);
    let work = async {
        loop {
            if let Some(view) = inputs.read() {
                stage.publish(&view, &out);
            }
            let due = stage.take_due();
            // A job keeps its state when its branch is dropped.
            tokio::select! {
                open = inputs.changed() => if !open { return },
                () = step(&mut stage.job, &stage.retriever) => {}
                () = step(&mut stage.resume_job, &stage.retriever) => {}
                () = fairway_clock::sleep_until(due) => {}
                () = out.closed() => return,
            }
        }
    };
    tokio::join!(work, write_events);
}

async fn step(job: &mut Option<RetrievalJob>, retriever: &Arc<Retriever>) {
    match job {
        Some(job) => job.step(retriever).await,
        None => std::future::pending().await,
    }
}

/// The result of a retrieval, which starts unless it is in progress.
fn fetch<'a>(
    job: &'a mut Option<RetrievalJob>,
    retriever: &Arc<Retriever>,
    view: &View,
    request: FetchRequest,
    name: &ReleaseName,
) -> Result<&'a Retrieved, Decision> {
    if !job.as_ref().is_some_and(|job| job.is_for(&request, &view.fetch_config)) {
        *job = None;
    }
    let begin = || RetrievalJob::begin(retriever, request, view.fetch_config.clone());
    match job.get_or_insert_with(begin).progress() {
        RetrievalProgress::Done(done) => Ok(done),
        RetrievalProgress::Running => Err(decision::retrieving(name)),
        RetrievalProgress::Failed(
            RetrievalFailure::Retrieval(why) | RetrievalFailure::Signature(why),
        ) => Err(decision::not_retrieved(name, why)),
        RetrievalProgress::Failed(RetrievalFailure::Content(why)) => {
            Err(decision::not_loaded(name, why))
        }
    }
}

/// Requirement on the signature of an accepted release after a restart. The history alone waives
/// nothing, because clients may be able to edit the status but not the spec.
fn resume_requirement(
    accepted: &AcceptedRelease,
    desired: &DesiredRelease,
) -> SignatureRequirement {
    match desired {
        DesiredRelease::Update(request)
            if request.forced && accepted.is(&request.image) && !accepted.verified =>
        {
            SignatureRequirement::Should
        }
        _ => SignatureRequirement::Must,
    }
}

/// State of the stage.
struct Stage {
    own: Arc<OwnRelease>,
    own_content: Arc<fairway_release::Release>,
    settings: TargetSettings,
    on_update: OnUpdate,
    retriever: Arc<Retriever>,
    events: EventRecorder,
    /// The accepted release; `None` until the history is known.
    accepted: Option<AcceptedRelease>,
    /// Retrieval of the requested release.
    job: Option<RetrievalJob>,
    /// Retrieval of the accepted release after a restart.
    resume_job: Option<RetrievalJob>,
    /// Wait for the result of the preflight before the update.
    preflight_wait: WaitTimer,
    /// Wait for the removal of the preflight.
    removal_wait: WaitTimer,
    /// Enabled capabilities; they cannot be disabled.
    enabled_capabilities: Option<BTreeSet<String>>,
    /// The published condition `ReleaseAccepted`.
    published: Option<OperatorCondition>,
    /// The condition of an operator before this one, with its generation of the spec.
    inherited: Option<(i64, OperatorCondition)>,
}

impl Stage {
    fn new(
        inputs: &Inputs,
        settings: TargetSettings,
        on_update: OnUpdate,
        client: kube::Client,
        events: EventRecorder,
    ) -> Self {
        let Inputs { own, own_content, .. } = inputs;
        let profile = settings.selection.profile.clone();
        let retriever = Retriever::new(client, settings.images.clone(), profile, own_content);
        Self {
            own: Arc::clone(own),
            own_content: Arc::clone(own_content),
            settings,
            on_update,
            retriever: Arc::new(retriever),
            events,
            accepted: None,
            job: None,
            resume_job: None,
            preflight_wait: WaitTimer::default(),
            removal_wait: WaitTimer::default(),
            enabled_capabilities: None,
            published: None,
            inherited: None,
        }
    }

    /// Time of the next evaluation if no input changes.
    fn take_due(&mut self) -> Option<Instant> {
        [self.preflight_wait.take_due(), self.removal_wait.take_due()].into_iter().flatten().min()
    }

    /// Evaluates the desired release, and publishes the target.
    fn publish(&mut self, view: &View, out: &watch::Sender<Option<Arc<Target>>>) {
        let decision = self.decide(view);
        let condition = self.condition(view, &decision);
        self.record_event(&condition);
        let Some(target) = self.target(view, condition) else { return };
        sync::publish(out, Some(Arc::new(target)));
    }

    /// The condition of a decision. A pending decision keeps the condition that an operator before
    /// this one reported for the same spec, so that a restart does not change the status.
    fn condition(&mut self, view: &View, decision: &Decision) -> OperatorCondition {
        if self.published.is_none() {
            self.inherited = view.reported();
        }
        match (decision, &self.inherited) {
            (Decision::Pending(_), Some((generation, reported)))
                if *generation == view.generation =>
            {
                reported.clone()
            }
            _ => {
                self.inherited = None;
                decision.condition().clone()
            }
        }
    }

    fn decide(&mut self, view: &View) -> Decision {
        self.evaluate(view).unwrap_or_else(|undecided| undecided)
    }

    /// The update policy. Each step either succeeds or ends the evaluation with its decision.
    fn evaluate(&mut self, view: &View) -> Result<Decision, Decision> {
        let desired = self.desired_release(view);
        let request = self.requested_update(view, desired)?;
        let current = self.current_release(&request)?;
        self.require_installed(view, &request, &current)?;
        // Includes signature verification, which precedes the download.
        let retrieved = self.retrieve(view, &request)?;
        self.await_preflight_results(view, &request, &current)?;
        let update = self.proposed_update(view, &request, &current, &retrieved)?;
        update.verify_version()?;
        let failures = update.failed_preconditions();
        let risks = update.unaccepted_risks();
        let overridden = update.check(&failures, risks.as_ref())?;
        self.await_preflight_removal(view, &request)?;
        Ok(self.accept(view, &request, retrieved, overridden))
    }

    fn is_own(&self, image: &str) -> bool {
        same_content(image, &self.own.release.image)
    }

    fn is_accepted(&self, image: &str) -> bool {
        self.accepted.as_ref().is_some_and(|accepted| accepted.is(image))
    }

    /// Resolves `spec.desiredUpdate`.
    fn desired_release(&self, view: &View) -> DesiredRelease {
        let accepted = self.accepted.as_ref().map(|AcceptedRelease { release, .. }| release);
        let accepted = accepted.map(|it| (it.image.as_str(), it.version.as_str()));
        let newest = view.history().first();
        let newest =
            newest.map(|it| (it.image.as_str(), it.version.as_deref().unwrap_or_default()));
        let offered: Option<Vec<&Release>> =
            view.risks.as_deref().map(|risks| offered_releases(&risks.evaluated).collect());
        let lookup = ReleaseLookup {
            own: &self.own.release,
            is_multi: self.own.release.architecture.is_some(),
            begun: accepted.or(newest),
            offered: offered.as_deref(),
            history: view.history(),
        };
        resolve(view.cluster_version.spec.desired_update.as_ref(), lookup)
    }

    /// The request for an update; ends the evaluation if the spec has none, or while the accepted
    /// release is read again after a restart.
    fn requested_update(
        &mut self,
        view: &View,
        desired: DesiredRelease,
    ) -> Result<UpdateRequest, Decision> {
        if matches!(desired, DesiredRelease::Own | DesiredRelease::Unchanged) {
            // The next request waits with its own timeouts.
            (self.preflight_wait, self.removal_wait) = Default::default();
        }
        if desired == DesiredRelease::Own {
            self.accept_own(view);
            return Err(self.loaded());
        }
        let resumed = self.resume(view, &desired);
        match desired {
            // The operator can return to its own release even if it cannot read the accepted one.
            DesiredRelease::Update(request) if self.is_own(&request.image) => Ok(request),
            DesiredRelease::Update(request) => match resumed {
                // A release that cannot be read blocks no other one. The gates still apply; they
                // refuse an earlier release.
                Err(Decision::Refused(_)) if !self.is_accepted(&request.image) => Ok(request),
                resumed => resumed.map(|()| request),
            },
            DesiredRelease::NotKnownYet => {
                resumed?;
                Err(decision::waiting())
            }
            DesiredRelease::Own | DesiredRelease::Unchanged => {
                resumed?;
                self.job = None;
                Err(self.loaded())
            }
        }
    }

    /// Accepts the operator's own release, which the cluster has.
    fn accept_own(&mut self, view: &View) {
        (self.job, self.resume_job) = (None, None);
        if !self.is_accepted(&self.own.release.image) {
            let content = Arc::clone(&self.own_content);
            self.accepted = Some(AcceptedRelease::own(&self.own, content, view.history()));
        }
    }

    /// Resumes the rollout that an operator before this one started, without another risk gate: the
    /// update is in progress. Nothing else is decided until that release is read again, or cannot be
    /// read.
    fn resume(&mut self, view: &View, desired: &DesiredRelease) -> Result<(), Decision> {
        if self.accepted.is_none() {
            match view.history().first() {
                Some(begun) if !self.is_own(&begun.image) => {
                    self.accepted = Some(AcceptedRelease::from_history(begun));
                }
                _ => self.accept_own(view),
            }
        }
        let Some(accepted @ AcceptedRelease { content: None, .. }) = &self.accepted else {
            return Ok(());
        };
        let Release { version, image, .. } = accepted.release.clone();
        let signed = resume_requirement(accepted, desired);
        let request = FetchRequest { image: image.clone(), signed };
        let name = ReleaseName { version: Some(&version), image: &image };
        let job = &mut self.resume_job;
        let Retrieved { content, unverified } = fetch(job, &self.retriever, view, request, &name)?;
        let (content, verified) = (Arc::clone(content), unverified.is_none());
        if let Some(accepted) = &mut self.accepted {
            let overridden = accepted.overridden.take();
            *accepted = AcceptedRelease::new(&image, content, verified, overridden);
        }
        self.resume_job = None;
        Ok(())
    }

    /// The accepted release; ends the evaluation if it is the requested one.
    fn current_release(&mut self, request: &UpdateRequest) -> Result<Release, Decision> {
        let Some(current) = self.accepted.as_ref().map(|accepted| accepted.release.clone()) else {
            return Err(decision::waiting());
        };
        if !same_content(&current.image, &request.image) {
            return Ok(current);
        }
        self.job = None;
        Err(match &request.version {
            Some(version) if *version != current.version => {
                decision::other_version(&ReleaseName::from(request), &current.version)
            }
            _ => self.loaded(),
        })
    }

    /// Refuses updates of a cluster whose first release is not complete.
    fn require_installed(
        &mut self,
        view: &View,
        request: &UpdateRequest,
        current: &Release,
    ) -> Result<(), Decision> {
        if view.is_installed() || request.withdrawn {
            return Ok(());
        }
        self.job = None;
        Err(decision::installing(&ReleaseName::from(request), &current.version))
    }

    /// The requested release. The operator's own is in its image, and trusted.
    fn retrieve(&mut self, view: &View, request: &UpdateRequest) -> Result<Retrieved, Decision> {
        if self.is_own(&request.image) {
            return Ok(Retrieved { content: Arc::clone(&self.own_content), unverified: None });
        }
        let signed =
            if request.forced { SignatureRequirement::Should } else { SignatureRequirement::Must };
        let fetched = FetchRequest { image: request.image.clone(), signed };
        let name = ReleaseName::from(request);
        fetch(&mut self.job, &self.retriever, view, fetched, &name).cloned()
    }

    /// Waits for the preflight results of the requested release, if the settings require them.
    fn await_preflight_results(
        &mut self,
        view: &View,
        request: &UpdateRequest,
        current: &Release,
    ) -> Result<(), Decision> {
        if request.forced || request.withdrawn || self.is_own(&request.image) {
            return Ok(());
        }
        let Some(risks) = view.risks_from(current) else { return Err(decision::waiting()) };
        let result = risks.preflight_result(&request.image);
        let Some(limit) = wait::for_preflight(self.on_update, result) else { return Ok(()) };
        if self.preflight_wait.is_over(&request.image, limit, Instant::now()) {
            return Ok(());
        }
        Err(decision::awaiting_preflight(&ReleaseName::from(request)))
    }

    /// The update to a retrieved release, with its risks.
    fn proposed_update<'a>(
        &self,
        view: &'a View,
        request: &'a UpdateRequest,
        current: &Release,
        Retrieved { content, unverified }: &'a Retrieved,
    ) -> Result<ProposedUpdate<'a>, Decision> {
        // The history has no version of a release that was never read.
        let from = Version::parse(&current.version).ok().or_else(|| view.completed_version());
        let (Some(risks), Some(from)) = (view.risks_from(current), from) else {
            return Err(decision::waiting());
        };
        let release = payload::described(&content.metadata, &request.image, &mut Vec::new());
        let offered = offered_update(&risks.evaluated, &request.image);
        let now = fairway_clock::now();
        // The ledger has the image references of the update service, not those of mirrors.
        let image = offered.map_or(&release.image, |offered| &offered.image).clone();
        let verdict = risks.verdicts.verdict(&Release { image, ..release.clone() }, now);
        Ok(ProposedUpdate {
            request,
            completed: view.completed_version().filter(|version| *version != from),
            offered_from: Version::parse(&self.own.release.version).ok(),
            from,
            release,
            to: &content.metadata.version,
            previous: preconditions::previous(view.history(), &current.image),
            advice: risks.verdicts.advice(),
            offered: offered.is_some() && verdict.is_offered(),
            verdict,
            preflight: risks.preflight_result(&request.image),
            on_update: self.on_update,
            is_answered: risks.is_answered,
            has_channel: view.has_channel(),
            unverified: unverified.as_deref(),
            unaccepted: self.settings.unaccepted_risks,
            now,
        })
    }

    /// Waits until no preflight runs.
    fn await_preflight_removal(
        &mut self,
        view: &View,
        request: &UpdateRequest,
    ) -> Result<(), Decision> {
        let limit = wait::for_preflight_removal();
        if view.is_clear || self.removal_wait.is_over(&request.image, limit, Instant::now()) {
            return Ok(());
        }
        Err(decision::awaiting_preflight_removal(&ReleaseName::from(request)))
    }

    /// Makes a retrieved release the target. Capabilities that its manifests need stay enabled.
    fn accept(
        &mut self,
        view: &View,
        request: &UpdateRequest,
        Retrieved { content, unverified }: Retrieved,
        overridden: Option<String>,
    ) -> Decision {
        let mut accepted = if self.is_own(&request.image) {
            AcceptedRelease::own(&self.own, content, view.history())
        } else {
            AcceptedRelease::new(&request.image, content, unverified.is_none(), None)
        };
        accepted.overridden = overridden;
        let Release { version, image, .. } = &accepted.release;
        tracing::info!(version, image, "update accepted");
        self.events.record(PendingEvent::accepted(version, accepted.overridden.as_deref()));
        let after = accepted.payload(self.load_filter(view, &accepted.release.version));
        let before = self.current_payload(view);
        if let (Some(before), Some(enabled)) = (before, &mut self.enabled_capabilities) {
            let implicit = implicitly_enabled(&before.manifests, &after.manifests, enabled);
            enabled.extend(implicit);
        }
        self.accepted = Some(accepted);
        (self.job, self.resume_job) = (None, None);
        self.loaded()
    }

    /// The manifests of the accepted release. If it cannot be read, those of the own release, from
    /// which its rollout started.
    fn current_payload(&mut self, view: &View) -> Option<Arc<Payload>> {
        let accepted = self.accepted.as_ref()?;
        if accepted.content.is_some() {
            let filter = self.load_filter(view, &accepted.release.version);
            return self.accepted.as_mut().map(|accepted| accepted.payload(filter));
        }
        let content = Arc::clone(&self.own_content);
        let mut own = AcceptedRelease::own(&self.own, content, view.history());
        let filter = self.load_filter(view, &own.release.version);
        Some(own.payload(filter))
    }

    /// The decision that reports the accepted release.
    fn loaded(&self) -> Decision {
        let Some(AcceptedRelease { release, .. }) = &self.accepted else {
            return decision::waiting();
        };
        let name = ReleaseName { version: Some(&release.version), image: &release.image };
        decision::loaded(&name, &self.own.architecture)
    }

    /// Records an event if the condition has changed since the operator started.
    fn record_event(&mut self, condition: &OperatorCondition) {
        if self.published.as_ref() == Some(condition) {
            return;
        }
        if self.published.replace(condition.clone()).is_some()
            && let Some(event) = PendingEvent::of_condition(condition)
        {
            self.events.record(event);
        }
    }

    /// Feature gates that are enabled for a version.
    fn feature_gates(&self, view: &View, version: &str) -> BTreeSet<String> {
        view.features.gates(&[version, &self.own.release.version])
    }

    /// Filter of the manifests when a release of that version is loaded.
    fn load_filter(&self, view: &View, version: &str) -> ManifestFilter {
        let gates = self.feature_gates(view, version);
        selection::when_loaded(&self.settings.selection, &view.features, &gates, version)
    }

    fn target(&mut self, view: &View, release_accepted: OperatorCondition) -> Option<Target> {
        let version = self.accepted.as_ref()?.release.version.clone();
        let gates = self.feature_gates(view, &version);
        let filter = self.load_filter(view, &version);
        let accepted = self.accepted.as_mut()?;
        let payload = accepted.payload(filter);
        let spec = &view.cluster_version.spec;
        let enabled = self.enabled_capabilities.get_or_insert_with(|| {
            let always = &self.settings.selection.always_enabled;
            view.enabled_capabilities().iter().chain(always).cloned().collect()
        });
        let capabilities = selection::capabilities(spec.capabilities.as_ref(), enabled, &gates);
        enabled.extend(capabilities.enabled.iter().cloned());
        Some(Target {
            generation: view.generation,
            payload,
            is_read: accepted.content.is_some(),
            verified: accepted.verified,
            accepted_risks: accepted.overridden.clone(),
            filter: selection::when_applied(spec, gates, &capabilities),
            capabilities,
            release_accepted,
        })
    }
}

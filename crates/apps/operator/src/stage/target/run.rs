//! The stage at work.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_api::{ConditionStatus, OperatorCondition, Version};
use fairway_release::inclusion::{Filter, implicitly_enabled};
use tokio::sync::watch;
use tokio::time::Instant;

use super::accepted::Accepted;
use super::condition::{self, Named};
use super::gate::{self, Case};
use super::inputs::{Inputs, View};
use super::patience::{self, Patience};
use super::resolve::{self, Known, Request, Wish, resolve};

use super::{Target, guards, selection};
use crate::election::Leadership;
use crate::event::{self, Announcer, Told};
use crate::own_release::OwnRelease;
use crate::payload;
use crate::retrieval::{Failure, Job, Order, Progress, Retrieved, Retriever, Signed};
use crate::settings::{OnUpdate, TargetSettings};
use crate::stage::updates::same_content;

/// How releases are found and accepted.
pub(crate) struct Settings {
    /// What is accepted, and from where.
    pub(crate) releases: TargetSettings,
    /// What is asked of a release before the cluster is updated to it.
    pub(crate) on_update: OnUpdate,
}

/// Says which release the cluster is to have, until nobody looks any more.
pub(crate) async fn run(
    mut inputs: Inputs,
    settings: Settings,
    client: kube::Client,
    leadership: Leadership,
    out: watch::Sender<Option<Arc<Target>>>,
) {
    let (announcer, announce) = event::announcer(client.clone(), leadership);
    let mut stage = Stage::new(&inputs, settings, client, announcer);
    let work = async {
        loop {
            if let Some(view) = inputs.look() {
                stage.publish(&view, &out);
            }
            let due = stage.due();
            tokio::select! {
                open = inputs.changed() => if !open { return },
                () = step(&mut stage.job, &stage.retriever) => {}
                () = fairway_clock::sleep_until(due) => {}
                () = out.closed() => return,
            }
        }
    };
    tokio::join!(work, announce);
}

async fn step(job: &mut Option<Job>, retriever: &Arc<Retriever>) {
    match job {
        Some(job) => job.step(retriever).await,
        None => std::future::pending().await,
    }
}

/// The stage's state.
struct Stage {
    own: Arc<OwnRelease>,
    own_content: Arc<fairway_release::Release>,
    settings: TargetSettings,
    on_update: OnUpdate,
    retriever: Arc<Retriever>,
    announcer: Announcer,
    /// The release that was accepted last; none before the history was seen.
    accepted: Option<Accepted>,
    job: Option<Job>,
    /// What is waited for: that a preflight says something, and that nothing is left of it.
    answer: Patience,
    clearing: Patience,
    /// Capabilities that are on, and stay so.
    staying: Option<BTreeSet<String>>,
    told: Option<OperatorCondition>,
    /// What an operator before this one said about the spec of that generation.
    inherited: Option<(i64, OperatorCondition)>,
}

impl Stage {
    fn new(
        inputs: &Inputs,
        Settings { releases: settings, on_update }: Settings,
        client: kube::Client,
        announcer: Announcer,
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
            announcer,
            accepted: None,
            job: None,
            answer: Patience::default(),
            clearing: Patience::default(),
            staying: None,
            told: None,
            inherited: None,
        }
    }

    /// When it is to be decided again, whatever happens.
    fn due(&mut self) -> Option<Instant> {
        [self.answer.take_due(), self.clearing.take_due()].into_iter().flatten().min()
    }

    /// Decides, and publishes what there is to say.
    fn publish(&mut self, view: &View, out: &watch::Sender<Option<Arc<Target>>>) {
        let decided = self.decide(view);
        let condition = self.or_inherited(view, decided);
        self.tell(&condition);
        let Some(target) = self.target(view, condition) else { return };
        out.send_if_modified(|published| {
            if published.as_deref() == Some(&target) {
                return false;
            }
            *published = Some(Arc::new(target));
            true
        });
    }

    /// Until there is a decision, what an operator before this one said about the same spec stands:
    /// a restart is no news.
    fn or_inherited(&mut self, view: &View, condition: OperatorCondition) -> OperatorCondition {
        if self.told.is_none() {
            self.inherited = view.said();
        }
        match &self.inherited {
            Some((generation, said))
                if condition.status == ConditionStatus::Unknown
                    && *generation == view.generation =>
            {
                said.clone()
            }
            _ => {
                self.inherited = None;
                condition
            }
        }
    }

    /// What becomes of the release that the spec asks for: the condition `ReleaseAccepted`.
    fn decide(&mut self, view: &View) -> OperatorCondition {
        let wish = self.wish(view);
        if matches!(wish, Wish::Own | Wish::Stay) {
            // Whoever asks again waits again.
            (self.answer, self.clearing) = (Patience::default(), Patience::default());
        }
        if wish == Wish::Own {
            self.settle_for_own(view);
            return self.loaded();
        }
        match (wish, self.resume(view)) {
            // The way back to its own release is open to an operator that cannot read the other.
            (Wish::Other(request), _) if self.is_own(&request.image) => {
                self.consider(view, &request)
            }
            (_, Err(pending)) => *pending,
            (Wish::NotKnownYet, Ok(())) => condition::waiting(),
            (Wish::Other(request), Ok(())) => self.consider(view, &request),
            (Wish::Own | Wish::Stay, Ok(())) => {
                self.job = None;
                self.loaded()
            }
        }
    }

    fn is_own(&self, image: &str) -> bool {
        same_content(image, &self.own.release.image)
    }

    fn wish(&self, view: &View) -> Wish {
        let accepted = self.accepted.as_ref().map(|Accepted { release, .. }| release);
        let accepted = accepted.map(|it| (it.image.as_str(), it.version.as_str()));
        let newest = view.history().first();
        let newest =
            newest.map(|it| (it.image.as_str(), it.version.as_deref().unwrap_or_default()));
        resolve(
            view.cluster_version.spec.desired_update.as_ref(),
            Known {
                own: &self.own.release,
                is_multi: self.own.release.architecture.is_some(),
                begun: accepted.or(newest),
                offered: view.risks.as_deref().map(|risks| &risks.evaluated),
                history: view.history(),
            },
        )
    }

    /// The release of the operator itself needs nobody's permission where the cluster has it.
    fn settle_for_own(&mut self, view: &View) {
        self.job = None;
        if !self.accepted.as_ref().is_some_and(|accepted| accepted.is(&self.own.release.image)) {
            let content = Arc::clone(&self.own_content);
            self.accepted = Some(Accepted::own(&self.own, content, view.history()));
        }
    }

    /// Goes on with what an operator before this one has begun, without asking the gates again: no
    /// step is undone. Until that release was read again, there is nothing else to decide.
    fn resume(&mut self, view: &View) -> Result<(), Box<OperatorCondition>> {
        if self.accepted.is_none() {
            match view.history().first() {
                Some(begun) if !same_content(&begun.image, &self.own.release.image) => {
                    self.accepted = Some(Accepted::before(begun));
                }
                _ => self.settle_for_own(view),
            }
        }
        let Some(Accepted { release, content: None, .. }) = &self.accepted else { return Ok(()) };
        let (version, image) = (release.version.clone(), release.image.clone());
        let order = Order { image: image.clone(), signed: Signed::AsBefore };
        let named = Named { version: Some(&version), image: &image };
        let Retrieved { content, .. } = self.retrieved(view, order, &named)?;
        let content = Arc::clone(content);
        if let Some(accepted) = &mut self.accepted {
            let Accepted { verified, overridden, .. } = accepted;
            *accepted = Accepted::new(&image, content, *verified, overridden.take());
        }
        self.job = None;
        Ok(())
    }

    /// Retrieves the release that is asked for, and asks the gates. What was accepted once is not
    /// asked about again.
    fn consider(&mut self, view: &View, request: &Request) -> OperatorCondition {
        let Some(has) = self.accepted.as_ref().map(|accepted| accepted.release.clone()) else {
            return condition::waiting();
        };
        let named = Named::from(request);
        if same_content(&has.image, &request.image) {
            self.job = None;
            return match &request.version {
                Some(version) if *version != has.version => {
                    condition::other_version(&named, &has.version)
                }
                _ => self.loaded(),
            };
        }
        if !view.is_installed() && !request.withdrawn {
            self.job = None;
            return condition::installing(&named, &has.version);
        }
        let decided = self.retrieved_or_own(view, request).and_then(|retrieved| {
            self.ask_preflight(view, request, &has)?;
            let overridden = self.ask_gates(view, request, &has, &retrieved)?;
            self.clear_the_way(view, request)?;
            Ok((overridden, retrieved))
        });
        match decided {
            Err(pending) => *pending,
            Ok((overridden, retrieved)) => {
                self.accept(view, self.accepted(view, request, retrieved, overridden));
                self.loaded()
            }
        }
    }

    /// Waits for what the release says about this cluster, where it is to be asked.
    fn ask_preflight(
        &mut self,
        view: &View,
        request: &Request,
        has: &Release,
    ) -> Result<(), Box<OperatorCondition>> {
        if request.forced || request.withdrawn || self.is_own(&request.image) {
            return Ok(());
        }
        let Some(risks) = view.risks_from(has) else {
            return Err(Box::new(condition::waiting()));
        };
        let said = risks.looked_at(&request.image);
        let Some(limit) = patience::for_answer(self.on_update, said) else { return Ok(()) };
        if self.answer.is_over(&request.image, limit, Instant::now()) {
            return Ok(());
        }
        Err(Box::new(condition::checking(&Named::from(request))))
    }

    /// Waits until nothing is left of preflights.
    fn clear_the_way(
        &mut self,
        view: &View,
        request: &Request,
    ) -> Result<(), Box<OperatorCondition>> {
        let limit = patience::for_clearing();
        if view.is_clear || self.clearing.is_over(&request.image, limit, Instant::now()) {
            return Ok(());
        }
        Err(Box::new(condition::clearing(&Named::from(request))))
    }

    /// What the history is to say about an update that may begin, or why it may not.
    fn ask_gates(
        &self,
        view: &View,
        request: &Request,
        has: &Release,
        Retrieved { content, unverified }: &Retrieved,
    ) -> Result<Option<String>, Box<OperatorCondition>> {
        let (Some(risks), Ok(from)) = (view.risks_from(has), Version::parse(&has.version)) else {
            return Err(Box::new(condition::waiting()));
        };
        let release = payload::described(&content.metadata, &request.image, &mut Vec::new());
        let offered = resolve::offered(&risks.evaluated, &request.image);
        let now = fairway_clock::now();
        // The ledger knows updates by the names that the update service has for their images.
        let image = offered.map_or(&release.image, |offered| &offered.image).clone();
        let verdict = risks.judge.verdict(&Release { image, ..release.clone() }, now);
        gate::decide(&Case {
            request,
            from: &from,
            release: &release,
            to: &content.metadata.version,
            previous: guards::previous(view.history(), &has.image),
            verdict: &verdict,
            advice: &risks.judge.advice(),
            offered: offered.is_some() && verdict.is_offered(),
            looked_at: risks.looked_at(&request.image),
            on_update: self.on_update,
            is_answered: risks.is_answered,
            has_channel: view.has_channel(),
            unverified: unverified.as_deref(),
            unaccepted: self.settings.unaccepted_risks,
            now,
        })
    }

    fn accepted(
        &self,
        view: &View,
        request: &Request,
        Retrieved { content, unverified }: Retrieved,
        overridden: Option<String>,
    ) -> Accepted {
        if self.is_own(&request.image) {
            let own = Accepted::own(&self.own, content, view.history());
            return own.in_spite_of(overridden);
        }
        Accepted::new(&request.image, content, unverified.is_none(), overridden)
    }

    fn accept(&mut self, view: &View, mut accepted: Accepted) {
        let Release { version, image, .. } = &accepted.release;
        tracing::info!(version, image, "update accepted");
        self.announcer.tell(Told::accepted(version, accepted.overridden.as_deref()));
        let after = accepted.payload(self.when_loaded(view, &accepted.release.version));
        let before = self.accepted.as_ref().map(|before| before.release.version.clone());
        let before = before.map(|version| self.when_loaded(view, &version));
        let before = self.accepted.as_mut().zip(before).map(|(it, filter)| it.payload(filter));
        if let (Some(before), Some(staying)) = (before, &mut self.staying) {
            let implicit = implicitly_enabled(&before.manifests, &after.manifests, staying);
            staying.extend(implicit);
        }
        self.accepted = Some(accepted);
        self.job = None;
    }

    /// The release that is asked for. That of the operator is at hand, and trusted.
    fn retrieved_or_own(
        &mut self,
        view: &View,
        request: &Request,
    ) -> Result<Retrieved, Box<OperatorCondition>> {
        if self.is_own(&request.image) {
            return Ok(Retrieved { content: Arc::clone(&self.own_content), unverified: None });
        }
        let signed = if request.forced { Signed::Should } else { Signed::Must };
        let order = Order { image: request.image.clone(), signed };
        self.retrieved(view, order, &Named::from(request)).cloned()
    }

    /// What was ordered, if it is there; otherwise how far that is.
    fn retrieved(
        &mut self,
        view: &View,
        order: Order,
        named: &Named,
    ) -> Result<&Retrieved, Box<OperatorCondition>> {
        if !self.job.as_ref().is_some_and(|job| job.is_for(&order, &view.ways)) {
            self.job = None;
        }
        let begin = || Job::begin(&self.retriever, order, view.ways.clone());
        match self.job.get_or_insert_with(begin).progress() {
            Progress::Done(retrieved) => Ok(retrieved),
            Progress::Running => Err(Box::new(condition::retrieving(named))),
            Progress::Failed(Failure::Retrieval(why) | Failure::Signature(why)) => {
                Err(Box::new(condition::not_retrieved(named, why)))
            }
            Progress::Failed(Failure::Content(why)) => {
                Err(Box::new(condition::not_loaded(named, why)))
            }
        }
    }

    /// The condition about the release that was accepted last.
    fn loaded(&self) -> OperatorCondition {
        let Some(Accepted { release, .. }) = &self.accepted else { return condition::waiting() };
        let named = Named { version: Some(&release.version), image: &release.image };
        condition::loaded(&named, &self.own.architecture)
    }

    /// Writes an event when the condition has changed. That an operator has started is none.
    fn tell(&mut self, condition: &OperatorCondition) {
        if self.told.as_ref() == Some(condition) {
            return;
        }
        if self.told.replace(condition.clone()).is_some()
            && let Some(told) = Told::of(condition)
        {
            self.announcer.tell(told);
        }
    }

    /// The gates that are on for a release.
    fn gates(&self, view: &View, version: &str) -> BTreeSet<String> {
        view.features.gates(&[version, &self.own.release.version])
    }

    /// What decides when a release of that version is loaded.
    fn when_loaded(&self, view: &View, version: &str) -> Filter {
        let gates = self.gates(view, version);
        selection::when_loaded(&self.settings.selection, &view.features, &gates, version)
    }

    fn target(&mut self, view: &View, release_accepted: OperatorCondition) -> Option<Target> {
        let version = self.accepted.as_ref()?.release.version.clone();
        let (gates, filter) = (self.gates(view, &version), self.when_loaded(view, &version));
        let accepted = self.accepted.as_mut()?;
        let payload = accepted.payload(filter);
        let spec = &view.cluster_version.spec;
        let staying = self.staying.get_or_insert_with(|| {
            let always = &self.settings.selection.always_enabled;
            view.enabled_capabilities().iter().chain(always).cloned().collect()
        });
        let capabilities = selection::capabilities(spec.capabilities.as_ref(), staying, &gates);
        staying.extend(capabilities.enabled.iter().cloned());
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

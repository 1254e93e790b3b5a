//! One manifest: it is applied, and waited for.

use std::sync::atomic::{AtomicBool, Ordering};

use fairway_api::cluster_operator::OperandVersion;
use fairway_api::reason::rollout as reason;
use fairway_apply::WriteError;
use fairway_release::Manifest;
use fairway_release::task_graph::Task;
use futures::FutureExt as _;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::work::Work;
use super::{Effect, Failure, Phase, cluster_operator, failure};
use crate::apply::{Applied, ApplyError, Arrival, Context, Health, Outcome};
use crate::names;
use crate::stage::updates::same_content;
use crate::text;

/// One manifest of a release, and what is known of whoever attends to it.
pub(super) struct Place {
    /// Whether the cluster gets it.
    pub(super) is_wanted: bool,
    /// The versions to reach, where it is a cluster operator.
    pub(super) versions: Option<Vec<OperandVersion>>,
    /// Rings when its object has changed while somebody attends to it.
    pub(super) bell: Notify,
    /// Whether it is in place, and nobody attends to it.
    pub(super) is_settled: AtomicBool,
    /// Whether its object is there and as it should be: who writes it again repairs it.
    is_kept: AtomicBool,
    /// Whether the ClusterOperator has its related objects.
    pub(super) is_related: AtomicBool,
}

impl Place {
    pub(super) fn new(manifest: &Manifest, is_wanted: bool) -> Self {
        let is_operator = manifest.id == cluster_operator::id(&manifest.id.name);
        Self {
            is_wanted,
            versions: is_operator.then(|| cluster_operator::wanted_versions(manifest)),
            bell: Notify::new(),
            is_settled: AtomicBool::new(false),
            is_kept: AtomicBool::new(false),
            is_related: AtomicBool::new(!is_operator),
        }
    }
}

impl Place {
    /// The next write is not a repair: what the object is to be has changed.
    pub(super) fn expect_write(&self) {
        self.is_kept.store(false, Ordering::Relaxed);
    }
}

/// What came of attending to a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attended {
    /// It is in place.
    InPlace,
    /// It is not, and somebody else has to see to it.
    Left,
    /// The operator of another release takes over.
    Superseded,
}

/// What came of one try.
enum Try {
    InPlace,
    Awaited,
    /// It failed; the arrival of something that it needs is noticed, if that is why.
    Failed(Option<Arrival>),
    Superseded,
}

/// How often something failed in a row, and since when.
#[derive(Default)]
struct Failures {
    count: u32,
    since: Option<Instant>,
}

impl Work<'_> {
    /// Applies a manifest until it is in place or, where nothing waits for it, once.
    pub(super) async fn attend(&self, task: &Task, holds_up: bool) -> Attended {
        let place = &self.places[task.position];
        let mut failures = Failures::default();
        loop {
            let began = Instant::now();
            match self.attempt(task, &mut failures).await {
                Try::InPlace => {
                    // What happened since it was looked at has rung meanwhile.
                    if place.bell.notified().now_or_never().is_none() {
                        place.is_settled.store(true, Ordering::Relaxed);
                        return Attended::InPlace;
                    }
                }
                Try::Superseded => return Attended::Superseded,
                Try::Awaited | Try::Failed(_) if !holds_up => return Attended::Left,
                Try::Awaited => tokio::select! {
                    () = place.bell.notified() => {}
                    () = self.operator_reports(task) => {}
                },
                Try::Failed(None) => self.pause(place, &failures).await,
                Try::Failed(Some(arrival)) => tokio::select! {
                    () = self.pause(place, &failures) => {}
                    () = self.site.hands.applier.wait_for(&arrival, began) => {}
                },
            }
        }
    }

    async fn attempt(&self, task: &Task, failures: &mut Failures) -> Try {
        let manifest = &self.manifests()[task.position];
        if let Some(stranger) = self.stranger(task) {
            self.site.board.note(task.position, stranger);
            return Try::Awaited;
        }
        match self.apply(manifest).await {
            Ok(applied) => {
                *failures = Failures::default();
                self.remember(task, applied.outcome);
                self.relate(task).await;
                if self.takes_over(manifest, applied.outcome) {
                    return Try::Superseded;
                }
                self.judge(task, &applied)
            }
            // Whatever is written now is somebody else's to write.
            Err(ApplyError::Write(WriteError::LostLease(_))) => std::future::pending().await,
            Err(error) => {
                self.failed(task, &error, failures);
                Try::Failed(Arrival::awaited(manifest, &error))
            }
        }
    }

    /// Repairs are counted: somebody may want the object otherwise, again and again.
    fn remember(&self, task: &Task, outcome: Outcome) {
        let is_kept = matches!(outcome, Outcome::Right | Outcome::Written);
        let was_kept = self.places[task.position].is_kept.swap(is_kept, Ordering::Relaxed);
        if was_kept
            && outcome == Outcome::Written
            && let Some(repairs) = self.keeper().repaired(&task.id, Instant::now())
        {
            tracing::warn!(manifest = %task, repairs, "another client repeatedly changes object");
            self.site.metrics.contended(&task.id, repairs);
            self.site.hands.applier.tell_of_fight(&self.manifests()[task.position]);
        }
    }

    pub(super) async fn apply(&self, manifest: &Manifest) -> Result<Applied, ApplyError> {
        self.site.hands.applier.apply(manifest, &self.context()).await
    }

    pub(super) fn context(&self) -> Context {
        Context {
            owner: self.assignment.owner.clone(),
            installing: self.phase() == Phase::Installing,
            updating: self.phase() == Phase::Updating,
            surroundings: self.site.surroundings.borrow().clone().unwrap_or_default(),
        }
    }

    /// Whether that manifest is another operator, which goes on from here. Its own pods are never
    /// waited for: they start when this one has ended.
    fn takes_over(&self, manifest: &Manifest, outcome: Outcome) -> bool {
        matches!(outcome, Outcome::Right | Outcome::Written) && self.is_another_operator(manifest)
    }

    fn is_another_operator(&self, manifest: &Manifest) -> bool {
        names::is_the_operator(&manifest.id)
            && !same_content(&self.assignment.target.payload.release.image, &self.site.own_image)
    }

    /// What is wrong with another operator that is not the one of the release: the release would not
    /// be its own either, so that it ended in turn, again and again.
    fn stranger(&self, task: &Task) -> Option<Failure> {
        let manifest = &self.manifests()[task.position];
        let image = &self.assignment.target.payload.release.image;
        if !self.is_another_operator(manifest) || runs(manifest, image) {
            return None;
        }
        let what = format!(
            "not applied: it does not run the release image {image}, so no operator would \
             continue the rollout. Request another release, or list the object as unmanaged in \
             spec.overrides of ClusterVersion"
        );
        Some(of_object(task, Effect::Fail, reason::UPDATE_PAYLOAD_FAILED.code, &what))
    }

    /// What is to be said of an object that was applied.
    fn judge(&self, task: &Task, applied: &Applied) -> Try {
        let deleting = applied.outcome == Outcome::Deleting;
        self.site.board.deleting(task.position, deleting.then_some(&task.id));
        if self.told(task, self.trouble(task, applied)) { Try::InPlace } else { Try::Awaited }
    }

    /// Tells what is known of a manifest; whether it is in place.
    fn told(&self, task: &Task, failure: Option<Failure>) -> bool {
        match failure {
            Some(failure) if failure.effect != Effect::Report => {
                self.site.board.note(task.position, failure);
                false
            }
            told => {
                self.site.board.change(|progress| progress.reached(task.position, told));
                true
            }
        }
    }

    /// Waits until a cluster operator reports that it is where it should be. Its report is none of
    /// our business otherwise: nothing has to be written because of it.
    async fn operator_reports(&self, task: &Task) {
        let mut operators = self.site.operators.clone();
        while self.places[task.position].versions.is_some() && operators.changed().await.is_ok() {
            if self.told(task, self.trouble_of_operator(task)) {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// Looks again at a cluster operator that nobody waits for.
    pub(super) fn look_again(&self, task: &Task) {
        let Place { versions, is_settled, is_kept, .. } = &self.places[task.position];
        let are_so =
            |flags: [&AtomicBool; 2]| flags.iter().all(|flag| flag.load(Ordering::Relaxed));
        if versions.is_some() && are_so([is_settled, is_kept]) {
            self.told(task, self.trouble_of_operator(task));
        }
    }

    /// What is wrong with an object, if something is. What belongs to others is their concern.
    pub(super) fn trouble(&self, task: &Task, applied: &Applied) -> Option<Failure> {
        match &applied.health {
            _ if !matches!(applied.outcome, Outcome::Right | Outcome::Written) => None,
            Health::Waiting(what) => {
                Some(of_object(task, Effect::Wait, reason::WORKLOAD_NOT_AVAILABLE.code, what))
            }
            Health::Failed { reason, message } => {
                Some(of_object(task, Effect::Fail, reason, message))
            }
            Health::Good => self.trouble_of_operator(task),
        }
    }

    fn trouble_of_operator(&self, task: &Task) -> Option<Failure> {
        let wanted = self.places[task.position].versions.as_ref()?;
        let name = &task.id.name;
        let operators = self.site.operators.borrow();
        let live = operators.as_ref().and_then(|operators| operators.get(name));
        let live = live.map(AsRef::as_ref);
        let trouble = cluster_operator::check(wanted, live, self.phase())?;
        Some(failure::of_cluster_operator(name, &trouble, fairway_clock::now()))
    }

    /// Transient errors are reported only after the grace period.
    fn failed(&self, task: &Task, error: &ApplyError, failures: &mut Failures) {
        self.site.metrics.failed();
        failures.count = failures.count.saturating_add(1);
        let since = *failures.since.get_or_insert_with(Instant::now);
        let failure = of_error(task, error);
        tracing::debug!(
            manifest = %task,
            reason = failure.reason,
            error = failure.message,
            "cannot apply manifest; retrying"
        );
        if error.is_final() || since.elapsed() >= self.site.pace.grace {
            self.site.board.note(task.position, failure);
        }
    }

    /// Waits before something is tried again: until its time has come, its object has changed, or
    /// a cluster operator may have repaired what is wrong.
    async fn pause(&self, place: &Place, failures: &Failures) {
        let pause = self.site.pace.pause(failures.count, fairway_clock::random_unit());
        let began = Instant::now();
        let least = pause.min(self.site.pace.first);
        fairway_clock::sleep_until(Some(began + least)).await;
        tokio::select! {
            () = fairway_clock::sleep_until(Some(began + pause)) => {}
            () = place.bell.notified() => {}
            () = self.operators_turn() => {}
        }
    }

    /// Waits until a cluster operator has another version, or works better or worse.
    async fn operators_turn(&self) {
        let mut operators = self.site.operators.clone();
        let before = cluster_operator::turns(operators.borrow_and_update().as_ref());
        let turned = operators.wait_for(|now| cluster_operator::turns(now.as_ref()) != before);
        if turned.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whether a Deployment has Pods of that image.
fn runs(manifest: &Manifest, image: &str) -> bool {
    let object = manifest.object();
    let containers = object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    let mut images = containers.into_iter().flatten().filter_map(|one| one["image"].as_str());
    images.any(|one| same_content(one, image))
}

fn of_object(task: &Task, effect: Effect, reason: &'static str, what: &str) -> Failure {
    Failure {
        effect,
        reason,
        message: format!("{task}: {}", text::one_line(what)),
        cluster_operator: None,
        since: fairway_clock::now(),
    }
}

fn of_error(task: &Task, error: &ApplyError) -> Failure {
    let (reason, cause) = error.reason();
    let source = match error {
        ApplyError::Write(WriteError::Api(kube::Error::Api(status))) => {
            text::one_line(&status.message)
        }
        other => text::one_line(&text::cause(other)),
    };
    let parts = [format!("Could not update {task}"), cause.to_owned(), source];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Failure {
        effect: Effect::Fail,
        reason,
        message: parts.join(": "),
        cluster_operator: None,
        since: fairway_clock::now(),
    }
}

//! Reconciliation of one manifest: apply, wait until its object is ready, requeue after failure.

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

use super::release_rollout::ReleaseRollout;
use super::{Effect, Failure, Phase, cluster_operator, summary};
use crate::apply::{ApplyContext, ApplyError, ApplyOutcome, ApplyResult, Health, Prerequisite};
use crate::names;
use crate::stage::updates::same_content;
use crate::text;

/// State of one manifest during the rollout of a release.
pub(super) struct ManifestState {
    /// Whether the filters select the manifest for this cluster.
    pub(super) is_wanted: bool,
    /// Versions that a ClusterOperator must report; `None` for other kinds.
    pub(super) versions: Option<Vec<OperandVersion>>,
    /// Wakes the task that reconciles the manifest, after its object has changed.
    pub(super) changed: Notify,
    /// Whether the manifest is reconciled and no task waits for it. [`ReleaseRollout::wake`] swaps
    /// it to `false` to claim the manifest: exactly one caller starts the next reconciliation.
    /// Relaxed ordering is enough, because all tasks of a rollout are polled by one future.
    pub(super) is_idle: AtomicBool,
    /// Whether the last apply left the object as desired. A later write then corrects drift.
    is_applied: AtomicBool,
    /// Whether the ClusterOperator has its related objects.
    pub(super) has_related_objects: AtomicBool,
}

impl ManifestState {
    pub(super) fn new(manifest: &Manifest, is_wanted: bool) -> Self {
        let is_operator = manifest.id == cluster_operator::id(&manifest.id.name);
        Self {
            is_wanted,
            versions: is_operator.then(|| cluster_operator::desired_versions(manifest)),
            changed: Notify::new(),
            is_idle: AtomicBool::new(false),
            is_applied: AtomicBool::new(false),
            has_related_objects: AtomicBool::new(!is_operator),
        }
    }
}

impl ManifestState {
    /// Marks the next write as expected, because the desired object has changed: it is no drift.
    pub(super) fn expect_write(&self) {
        self.is_applied.store(false, Ordering::Relaxed);
    }
}

/// Result of reconciling a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReconcileResult {
    /// The object matches the manifest and is ready.
    Reconciled,
    /// The object is not ready, and this call does not wait for it.
    Pending,
    /// The operator of another release takes over.
    Superseded,
}

/// Result of one attempt.
enum Attempt {
    Reconciled,
    Waiting,
    /// The attempt failed; it can be repeated as soon as the prerequisite exists.
    Failed(Option<Prerequisite>),
    Superseded,
}

/// Number of consecutive failures, and the time of the first.
#[derive(Default)]
struct Failures {
    count: u32,
    since: Option<Instant>,
}

impl ReleaseRollout<'_> {
    /// Applies a manifest until it is reconciled or, without `wait`, once.
    pub(super) async fn reconcile_manifest(&self, task: &Task, wait: bool) -> ReconcileResult {
        let state = &self.states[task.position];
        let mut failures = Failures::default();
        loop {
            let began = Instant::now();
            match self.attempt(task, &mut failures).await {
                Attempt::Reconciled => {
                    // A change between the apply and this line has stored a permit: look again
                    // before the manifest counts as idle. Both run on the task of `run`, so no
                    // change comes between the check and the store.
                    if state.changed.notified().now_or_never().is_none() {
                        state.is_idle.store(true, Ordering::Relaxed);
                        return ReconcileResult::Reconciled;
                    }
                }
                Attempt::Superseded => return ReconcileResult::Superseded,
                Attempt::Waiting | Attempt::Failed(_) if !wait => {
                    return ReconcileResult::Pending;
                }
                // Dropping the losing branch loses nothing: a stored permit is kept, and the
                // ClusterOperators are read again by the next attempt.
                Attempt::Waiting => tokio::select! {
                    () = state.changed.notified() => {}
                    () = self.operator_reports(task) => {}
                },
                Attempt::Failed(None) => self.back_off(state, &failures).await,
                Attempt::Failed(Some(prerequisite)) => tokio::select! {
                    () = self.back_off(state, &failures) => {}
                    () = self.shared.writers.applier.wait_for(&prerequisite, began) => {}
                },
            }
        }
    }

    async fn attempt(&self, task: &Task, failures: &mut Failures) -> Attempt {
        let manifest = &self.manifests()[task.position];
        if let Some(failure) = self.foreign_operator(task) {
            self.shared.publisher.set_failure(task.position, failure);
            return Attempt::Waiting;
        }
        match self.apply(manifest).await {
            Ok(applied) => {
                *failures = Failures::default();
                self.record_correction(task, applied.outcome);
                self.ensure_related_objects(task).await;
                if self.is_handover(manifest, applied.outcome) {
                    return Attempt::Superseded;
                }
                self.evaluate(task, &applied)
            }
            // Another operator may write now. Election drops this future.
            Err(ApplyError::Write(WriteError::LostLease(_))) => std::future::pending().await,
            Err(error) => {
                self.failed(task, &error, failures);
                Attempt::Failed(Prerequisite::missing(manifest, &error))
            }
        }
    }

    /// Counts drift corrections, and reports contention when another client repeats its change.
    fn record_correction(&self, task: &Task, outcome: ApplyOutcome) {
        let is_applied = matches!(outcome, ApplyOutcome::Unchanged | ApplyOutcome::Written);
        let was_applied = self.states[task.position].is_applied.swap(is_applied, Ordering::Relaxed);
        if was_applied
            && outcome == ApplyOutcome::Written
            && let Some(repairs) = self.drift_backoff().corrected(&task.id, Instant::now())
        {
            tracing::warn!(manifest = %task, repairs, "another client repeatedly changes object");
            self.shared.metrics.contended(&task.id, repairs);
            self.shared.writers.applier.record_contention(&self.manifests()[task.position]);
        }
    }

    pub(super) async fn apply(&self, manifest: &Manifest) -> Result<ApplyResult, ApplyError> {
        self.shared.writers.applier.apply(manifest, &self.context()).await
    }

    pub(super) fn context(&self) -> ApplyContext {
        ApplyContext {
            owner: self.assignment.owner.clone(),
            installing: self.phase() == Phase::Installing,
            updating: self.phase() == Phase::Updating,
            surroundings: self.shared.surroundings.borrow().clone().unwrap_or_default(),
        }
    }

    /// Whether the manifest is the operator of another release, which continues the rollout. Its
    /// Pods are not waited for: they start when this operator has ended.
    fn is_handover(&self, manifest: &Manifest, outcome: ApplyOutcome) -> bool {
        matches!(outcome, ApplyOutcome::Unchanged | ApplyOutcome::Written)
            && self.is_another_operator(manifest)
    }

    fn is_another_operator(&self, manifest: &Manifest) -> bool {
        names::is_the_operator(&manifest.id)
            && !same_content(&self.assignment.target.payload.release.image, &self.shared.own_image)
    }

    /// A failure if the Deployment of the operator does not run the release image. Such an operator
    /// would not find the release to be its own and would hand over in turn, without end.
    fn foreign_operator(&self, task: &Task) -> Option<Failure> {
        let manifest = &self.manifests()[task.position];
        let image = &self.assignment.target.payload.release.image;
        if !self.is_another_operator(manifest) || runs_image(manifest, image) {
            return None;
        }
        let what = format!(
            "not applied: the object does not run the release image {image}, so no operator would \
             continue the rollout. Request another release, or list the object as unmanaged in \
             spec.overrides of ClusterVersion"
        );
        Some(object_failure(task, Effect::Fail, reason::UPDATE_PAYLOAD_FAILED.code, &what))
    }

    /// Evaluates an applied object.
    fn evaluate(&self, task: &Task, applied: &ApplyResult) -> Attempt {
        let deleting = applied.outcome == ApplyOutcome::Deleting;
        self.shared.publisher.set_deleting(task.position, deleting.then_some(&task.id));
        if self.report(task, self.find_failure(task, applied)) {
            Attempt::Reconciled
        } else {
            Attempt::Waiting
        }
    }

    /// Publishes the state of a manifest; returns whether it is reconciled.
    fn report(&self, task: &Task, failure: Option<Failure>) -> bool {
        match failure {
            Some(failure) if failure.effect != Effect::Report => {
                self.shared.publisher.set_failure(task.position, failure);
                false
            }
            reported => {
                self.shared
                    .publisher
                    .change(|progress| progress.reconciled(task.position, reported));
                true
            }
        }
    }

    /// Waits until the ClusterOperator of a manifest reports the desired versions. Its changes do
    /// not lead to writes: its status belongs to the component.
    async fn operator_reports(&self, task: &Task) {
        let mut operators = self.shared.operators.clone();
        while self.states[task.position].versions.is_some() && operators.changed().await.is_ok() {
            if self.report(task, self.find_operator_failure(task)) {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// Evaluates the ClusterOperator of a reconciled manifest again.
    pub(super) fn recheck_operator(&self, task: &Task) {
        let ManifestState { versions, is_idle, is_applied, .. } = &self.states[task.position];
        let all_set =
            |flags: [&AtomicBool; 2]| flags.iter().all(|flag| flag.load(Ordering::Relaxed));
        if versions.is_some() && all_set([is_idle, is_applied]) {
            self.report(task, self.find_operator_failure(task));
        }
    }

    /// The failure of an object, if it has one. Objects that the release does not manage have none.
    pub(super) fn find_failure(&self, task: &Task, applied: &ApplyResult) -> Option<Failure> {
        match &applied.health {
            _ if !matches!(applied.outcome, ApplyOutcome::Unchanged | ApplyOutcome::Written) => {
                None
            }
            Health::Waiting(what) => {
                Some(object_failure(task, Effect::Wait, reason::WORKLOAD_NOT_AVAILABLE.code, what))
            }
            Health::Failed { reason, message } => {
                Some(object_failure(task, Effect::Fail, reason, message))
            }
            Health::Good => self.find_operator_failure(task),
        }
    }

    fn find_operator_failure(&self, task: &Task) -> Option<Failure> {
        let wanted = self.states[task.position].versions.as_ref()?;
        let name = &task.id.name;
        let operators = self.shared.operators.borrow();
        let live = operators.as_ref().and_then(|operators| operators.get(name));
        let live = live.map(AsRef::as_ref);
        let diagnosis = cluster_operator::check(wanted, live, self.phase())?;
        Some(summary::operator_failure(name, &diagnosis, fairway_clock::now()))
    }

    /// Records a failed apply. Transient errors are reported only after the grace period.
    fn failed(&self, task: &Task, error: &ApplyError, failures: &mut Failures) {
        self.shared.metrics.failed();
        failures.count = failures.count.saturating_add(1);
        let since = *failures.since.get_or_insert_with(Instant::now);
        let failure = error_failure(task, error);
        tracing::debug!(
            manifest = %task,
            reason = failure.reason,
            error = failure.message,
            "cannot apply manifest; retrying"
        );
        if error.is_final() || since.elapsed() >= self.shared.retry.grace {
            self.shared.publisher.set_failure(task.position, failure);
        }
    }

    /// Requeue after failure: waits for the backoff, and ends early if the object changes or a
    /// ClusterOperator changes its state, because that may remove the cause. The first delay is
    /// always waited, so that a burst of changes does not become a busy loop.
    async fn back_off(&self, state: &ManifestState, failures: &Failures) {
        let pause = self.shared.retry.delay(failures.count, fairway_clock::random_unit());
        let began = Instant::now();
        let least = pause.min(self.shared.retry.first);
        fairway_clock::sleep_until(Some(began + least)).await;
        tokio::select! {
            () = fairway_clock::sleep_until(Some(began + pause)) => {}
            () = state.changed.notified() => {}
            () = self.operators_changed() => {}
        }
    }

    /// Waits until a ClusterOperator changes its versions, `Available` or `Degraded`.
    async fn operators_changed(&self) {
        let mut operators = self.shared.operators.clone();
        let before = cluster_operator::operator_states(operators.borrow_and_update().as_ref());
        let changed =
            operators.wait_for(|now| cluster_operator::operator_states(now.as_ref()) != before);
        if changed.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whether a Deployment runs an image.
fn runs_image(manifest: &Manifest, image: &str) -> bool {
    let object = manifest.object();
    let containers = object.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    let mut images = containers.into_iter().flatten().filter_map(|one| one["image"].as_str());
    images.any(|one| same_content(one, image))
}

fn object_failure(task: &Task, effect: Effect, reason: &'static str, what: &str) -> Failure {
    Failure {
        effect,
        reason,
        message: format!("{task}: {}", text::one_line(what)),
        cluster_operator: None,
        since: fairway_clock::now(),
    }
}

fn error_failure(task: &Task, error: &ApplyError) -> Failure {
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

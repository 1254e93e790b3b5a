//! Rollout of one release: runs its task graph, then corrects drift.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_api::cluster_version::Release;
use fairway_release::task_graph::{GraphExecution, Task};
use fairway_release::{Manifest, ObjectId, TaskGraph};
use futures::StreamExt as _;
use futures::stream::{self, FuturesUnordered};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::progress::{Progress, ProgressPublisher};
use super::reconcile::{ManifestState, ReconcileResult};
use super::run::{Assignment, RolloutWriters};
use super::{Effect, Failure, Phase, RetryPolicy};
use crate::apply::{
    Changes, DriftBackoff, Prerequisite, defines, depends_on_injected_config, is_create_only,
};
use crate::cluster::{InjectedConfig, Objects};
use crate::metrics;
use crate::payload::Payload;
use crate::stage::target::Target;
use crate::sync::lock;

/// Maximum time that a manifest waits for its namespace before it is applied.
const NAMESPACE_TIMEOUT: Duration = Duration::from_mins(1);

/// The operator of another release continues the rollout.
pub(super) struct Superseded;

/// State that the rollouts of all releases share.
pub(super) struct RolloutContext {
    /// The image of the operator's own release.
    pub(super) own_image: String,
    pub(super) writers: RolloutWriters,
    pub(super) operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    pub(super) surroundings: watch::Receiver<Option<InjectedConfig>>,
    pub(super) retry: RetryPolicy,
    pub(super) publisher: ProgressPublisher,
    pub(super) metrics: metrics::Rollout,
}

/// Rollout of one release. It first reconciles every manifest in the order of the task graph, then
/// each manifest whenever its object changes.
pub(super) struct ReleaseRollout<'a> {
    pub(super) shared: &'a RolloutContext,
    pub(super) assignment: &'a Assignment,
    pub(super) states: Vec<ManifestState>,
    /// Namespaces that the release creates.
    namespaces: BTreeSet<String>,
    /// Namespaces that did not exist after [`NAMESPACE_TIMEOUT`].
    overdue_namespaces: Mutex<BTreeSet<String>>,
    graph: TaskGraph,
    drift_backoff: Mutex<DriftBackoff>,
}

impl<'a> ReleaseRollout<'a> {
    pub(super) fn new(shared: &'a RolloutContext, assignment: &'a Assignment) -> Self {
        let Target { payload, filter, .. } = &*assignment.target;
        let is_wanted =
            |manifest: &Manifest| filter.check(manifest).is_ok() && !manifest.is_preflight_check();
        let manifests = payload.manifests.iter();
        Self {
            shared,
            assignment,
            states: manifests.clone().map(|it| ManifestState::new(it, is_wanted(it))).collect(),
            namespaces: manifests
                .filter(|it| it.id.group.is_empty() && it.id.kind == "Namespace" && is_wanted(it))
                .map(|it| it.id.name.clone())
                .collect(),
            overdue_namespaces: Mutex::default(),
            graph: TaskGraph::new(&payload.manifests, assignment.phase(&shared.publisher).mode()),
            drift_backoff: Mutex::default(),
        }
    }

    /// Positions of the selected manifests.
    pub(super) fn wanted(&self) -> BTreeSet<usize> {
        let states = self.states.iter().enumerate();
        states.filter(|(_, state)| state.is_wanted).map(|(position, _)| position).collect()
    }

    pub(super) fn manifests(&self) -> &'a [Manifest] {
        &self.assignment.target.payload.manifests
    }

    /// All tasks of the graph.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.graph.nodes().iter().flat_map(|node| &node.tasks)
    }

    /// The phase, from the published progress or the history.
    pub(super) fn phase(&self) -> Phase {
        self.assignment.phase(&self.shared.publisher)
    }

    /// Runs until the operator of another release takes over, or the caller drops the future.
    pub(super) async fn run(&self, changes: &mut Changes) -> Superseded {
        self.start().await;
        let phase = self.phase();
        let tasks = self.by_object();
        let mut round = GraphExecution::new(&self.graph, self.graph.nodes().len());
        let mut nodes = FuturesUnordered::new();
        let mut reconciling = FuturesUnordered::new();
        let mut operators = self.shared.operators.clone();
        operators.mark_unchanged();
        let mut surroundings = self.shared.surroundings.clone();
        surroundings.mark_unchanged();
        // Unbounded: a node must not wait for the loop that polls it.
        let (requeue, mut requeued) = mpsc::unbounded_channel();
        reconciling.extend(self.first_tasks(phase).map(|task| self.reconcile_manifest(task, true)));
        loop {
            while let Some(node) = round.start() {
                let (tasks, requeue) = (&self.graph.nodes()[node].tasks, requeue.clone());
                nodes.push(async move { (node, self.run_node(tasks, phase, &requeue).await) });
            }
            if round.is_over() {
                self.shared.publisher.complete();
            }
            for id in self.drift_backoff().due(Instant::now()) {
                let concerned = tasks.get(&id).into_iter().flatten();
                let alone = concerned.filter(|task| self.wake(task));
                reconciling.extend(alone.map(|task| self.reconcile_manifest(task, true)));
            }
            let wake = self.drift_backoff().next_due();
            // All branches only receive; a dropped one loses no event.
            tokio::select! {
                Some((node, result)) = nodes.next() => match result {
                    Err(superseded) => return superseded,
                    Ok(()) => round.succeeded(node),
                },
                Some(task) = requeued.recv() => reconciling.push(self.reconcile_manifest(task, true)),
                Some(end) = reconciling.next() => {
                    if end == ReconcileResult::Superseded {
                        return Superseded;
                    }
                }
                ids = changes.next() => self.objects_changed(ids),
                Ok(()) = operators.changed() => self.tasks().for_each(|task| self.recheck_operator(task)),
                Ok(()) = surroundings.changed() => self.surroundings_changed(),
                () = fairway_clock::sleep_until(wake) => {}
            }
        }
    }

    /// Tasks that start before the task graph.
    fn first_tasks(&self, phase: Phase) -> impl Iterator<Item = &Task> {
        let is_wanted = |task: &&Task| self.states[task.position].is_wanted;
        self.tasks().filter(is_wanted).filter(move |task| is_applied_first(task, phase))
    }

    /// Requeues the manifests with injected configuration after it has changed.
    fn surroundings_changed(&self) {
        let now = Instant::now();
        for task in self.tasks() {
            let position = task.position;
            if depends_on_injected_config(&self.manifests()[position]) {
                self.states[position].expect_write();
                self.drift_backoff().object_changed(task.id.clone(), now);
            }
        }
    }

    /// Reconciles the tasks of a node in order. A task that is not ready and does not block the node
    /// is sent to `requeue` at once, because a later task of the node may need it, as a
    /// ClusterOperator needs its Deployment.
    async fn run_node<'t>(
        &self,
        tasks: &'t [Task],
        phase: Phase,
        requeue: &mpsc::UnboundedSender<&'t Task>,
    ) -> Result<(), Superseded> {
        self.create_cluster_operators(tasks).await;
        let is_left =
            |task: &&Task| self.states[task.position].is_wanted && !is_applied_first(task, phase);
        for task in tasks.iter().filter(is_left) {
            if self.precedes_its_crd(task).await {
                let _ = requeue.send(task);
                continue;
            }
            self.await_namespace(task, phase).await;
            // Objects that other clients own are no prerequisite of other manifests.
            if phase == Phase::Installing && is_create_only(&self.manifests()[task.position]) {
                let _ = requeue.send(task);
                continue;
            }
            match self.reconcile_manifest(task, phase.blocks_later(&task.id)).await {
                ReconcileResult::Reconciled => {}
                // The receiver lives as long as `run` polls this future.
                ReconcileResult::Pending => {
                    let _ = requeue.send(task);
                }
                ReconcileResult::Superseded => return Err(Superseded),
            }
        }
        Ok(())
    }

    /// Waits for the namespace of a manifest during an installation. All manifests start at once
    /// then, and the wait saves a request that fails.
    async fn await_namespace(&self, task: &Task, phase: Phase) {
        let namespace = &task.id.namespace;
        if phase != Phase::Installing || !self.namespaces.contains(namespace) {
            return;
        }
        let prerequisite = Prerequisite::Namespace(namespace.clone());
        let (applier, since) = (&self.shared.writers.applier, Instant::now());
        if !applier.is_available(&prerequisite) && !self.is_overdue(namespace) {
            let available = applier.wait_for(&prerequisite, since);
            if timeout(NAMESPACE_TIMEOUT, available).await.is_err() {
                // The namespace may exist without its manifest being reconciled; applying an object
                // in it shows that.
                lock(&self.overdue_namespaces).insert(namespace.clone());
            }
        }
    }

    /// Whether a wait for the namespace has timed out; no other manifest waits for it then.
    fn is_overdue(&self, namespace: &str) -> bool {
        lock(&self.overdue_namespaces).contains(namespace)
    }

    /// Whether only a later manifest adds the kind of this one. Waiting would be a deadlock: real
    /// releases have custom resources on a level before that of their CRD.
    async fn precedes_its_crd(&self, task: &Task) -> bool {
        let manifest = &self.manifests()[task.position];
        let defines_it = |(position, later): (usize, &Manifest)| {
            self.states[position].is_wanted && defines(later, manifest)
        };
        // If the API server does not answer, the apply reports the error.
        let is_served = self.shared.writers.applier.serves_kind(manifest).await.unwrap_or(true);
        !is_served && self.manifests().iter().enumerate().skip(task.position + 1).any(defines_it)
    }

    /// Wakes the task that reconciles a manifest. Returns `true` if there is none: the caller has
    /// claimed the manifest and must reconcile it.
    fn wake(&self, task: &Task) -> bool {
        let state = &self.states[task.position];
        let is_alone = state.is_idle.swap(false, Ordering::Relaxed);
        if !is_alone {
            // `notify_one` stores a permit if the task is not waiting yet.
            state.changed.notify_one();
        }
        is_alone
    }

    fn objects_changed(&self, ids: BTreeSet<ObjectId>) {
        let now = Instant::now();
        for id in ids {
            self.drift_backoff().object_changed(id, now);
        }
    }

    pub(super) fn drift_backoff(&self) -> MutexGuard<'_, DriftBackoff> {
        lock(&self.drift_backoff)
    }

    /// Tasks by object. A release may have several manifests of one object.
    fn by_object(&self) -> BTreeMap<&ObjectId, Vec<&Task>> {
        let mut tasks: BTreeMap<&ObjectId, Vec<&Task>> = BTreeMap::new();
        for task in self.tasks() {
            tasks.entry(&task.id).or_default().push(task);
        }
        tasks
    }
}

/// Whether a manifest is applied before the task graph. During an installation these are the CRDs:
/// they have no prerequisites, and API servers need time to serve a new kind.
fn is_applied_first(task: &Task, phase: Phase) -> bool {
    phase == Phase::Installing
        && task.id.group == "apiextensions.k8s.io"
        && task.id.kind == "CustomResourceDefinition"
}

/// Timeout of the survey: an API server that restarts answers by then. Manifests without an answer
/// are reconciled in their order; only the first count is lower.
const SURVEY_TIMEOUT: Duration = Duration::from_mins(1);

/// Concurrent checks. The first check of each kind starts a watch, with a list of all its objects.
const MAX_CONCURRENT_CHECKS: usize = 16;

impl ReleaseRollout<'_> {
    /// Publishes the initial progress. Known progress of the same manifests is kept. For a release
    /// that is new to this process, the progress is read from the cluster.
    pub(super) async fn start(&self) {
        let Payload { release, version_hash, .. } = &*self.assignment.target.payload;
        let Release { version, image, .. } = release;
        let is_new = !self.shared.publisher.is_about(image, version_hash);
        let phase = self.phase();
        let found = if is_new { self.survey().await } else { Vec::new() };
        let count = found.len();
        self.shared.metrics.begin(version);
        self.shared.publisher.change(|progress| {
            if is_new {
                *progress = Progress::new(image.clone(), version_hash.clone(), phase);
            }
            progress.select(self.wanted());
            for (position, failure) in found {
                match failure {
                    Some(failure) if !is_report_only(&failure) => {
                        progress.set_failure(position, failure);
                    }
                    reported => progress.reconciled(position, reported),
                }
            }
        });
        tracing::info!(version, image, ?phase, found = count, "rollout started");
    }

    /// The state of manifests whose objects exist, without writing.
    async fn survey(&self) -> Vec<ExistingState> {
        let wanted = self.tasks().filter(|task| self.states[task.position].is_wanted);
        let checks = wanted.map(|task| self.existing_state(task)).collect::<Vec<_>>();
        let mut checks = stream::iter(checks).buffer_unordered(MAX_CONCURRENT_CHECKS);
        let deadline = Instant::now() + SURVEY_TIMEOUT;
        let mut timeout = pin!(fairway_clock::sleep_until(Some(deadline)));
        let mut found = Vec::new();
        loop {
            tokio::select! {
                check = checks.next() => match check {
                    Some(check) => found.extend(check),
                    None => return found,
                },
                                () = &mut timeout => return found,
            }
        }
    }

    /// Failures of existing objects count only while reconciling a complete release, so that a
    /// restart does not hide a reported failure. During an update, the manifest may not be due yet.
    async fn existing_state(&self, task: &Task) -> Option<ExistingState> {
        let manifest = &self.manifests()[task.position];
        let found = self.shared.writers.applier.check(manifest, &self.context()).await.ok()??;
        let failure = self.find_failure(task, &found);
        let counts =
            failure.as_ref().is_none_or(is_report_only) || self.phase() == Phase::Reconciling;
        counts.then_some((task.position, failure))
    }
}

/// Position of a manifest, and the failure of its object.
type ExistingState = (usize, Option<Failure>);

fn is_report_only(failure: &Failure) -> bool {
    failure.effect == Effect::Report
}

//! One release on its way into the cluster, and kept there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_release::task_graph::{Round, Task};
use fairway_release::{Manifest, ObjectId, TaskGraph};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::attend::{Attended, Place};
use super::board::Board;
use super::run::{Assignment, Hands};
use super::{Pace, Phase};
use crate::apply::{Arrival, Changes, Keeper, defines, depends_on_surroundings, is_create_only};
use crate::cluster::{Objects, Surroundings};
use crate::metrics;
use crate::stage::target::Target;

/// For how long a manifest waits for its namespace before it is applied.
const NAMESPACE_TIMEOUT: Duration = Duration::from_mins(1);

/// The operator of another release goes on from here.
pub(super) struct Superseded;

/// What all releases share on their way.
pub(super) struct Site {
    /// The image of the operator's own release.
    pub(super) own_image: String,
    pub(super) hands: Hands,
    pub(super) operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    pub(super) surroundings: watch::Receiver<Option<Surroundings>>,
    pub(super) pace: Pace,
    pub(super) board: Board,
    pub(super) metrics: metrics::Rollout,
}

/// One release on its way into the cluster. First every manifest is attended to in the order of the
/// graph; from then on, whenever its object changes.
pub(super) struct Work<'a> {
    pub(super) site: &'a Site,
    pub(super) assignment: &'a Assignment,
    pub(super) places: Vec<Place>,
    /// The namespaces that the release creates.
    namespaces: BTreeSet<String>,
    /// Those of them that were not created within [`NAMESPACE_TIMEOUT`].
    overdue_namespaces: Mutex<BTreeSet<String>>,
    graph: TaskGraph,
    keeper: Mutex<Keeper>,
}

impl<'a> Work<'a> {
    pub(super) fn new(site: &'a Site, assignment: &'a Assignment) -> Self {
        let Target { payload, filter, .. } = &*assignment.target;
        let is_wanted =
            |manifest: &Manifest| filter.check(manifest).is_ok() && !manifest.is_preflight_check();
        let manifests = payload.manifests.iter();
        Self {
            site,
            assignment,
            places: manifests.clone().map(|it| Place::new(it, is_wanted(it))).collect(),
            namespaces: manifests
                .filter(|it| it.id.group.is_empty() && it.id.kind == "Namespace" && is_wanted(it))
                .map(|it| it.id.name.clone())
                .collect(),
            overdue_namespaces: Mutex::default(),
            graph: TaskGraph::new(&payload.manifests, assignment.phase_on(&site.board).mode()),
            keeper: Mutex::default(),
        }
    }

    /// The manifests that the cluster gets.
    pub(super) fn wanted(&self) -> BTreeSet<usize> {
        let places = self.places.iter().enumerate();
        places.filter(|(_, place)| place.is_wanted).map(|(position, _)| position).collect()
    }

    pub(super) fn manifests(&self) -> &'a [Manifest] {
        &self.assignment.target.payload.manifests
    }

    /// Everything that is to be done, in any order.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.graph.nodes().iter().flat_map(|node| &node.tasks)
    }

    /// What is being done: as the history had it, until everything was in place.
    pub(super) fn phase(&self) -> Phase {
        self.assignment.phase_on(&self.site.board)
    }

    /// Works for as long as it is let; only another operator ends it.
    pub(super) async fn run(&self, changes: &mut Changes) -> Superseded {
        self.begin().await;
        let phase = self.phase();
        let tasks = self.by_object();
        let mut round = Round::new(&self.graph, self.graph.nodes().len());
        let mut nodes = FuturesUnordered::new();
        let mut attended = FuturesUnordered::new();
        let mut operators = self.site.operators.clone();
        operators.mark_unchanged();
        let mut surroundings = self.site.surroundings.clone();
        surroundings.mark_unchanged();
        let (left, mut left_behind) = mpsc::unbounded_channel();
        attended.extend(self.first_tasks(phase).map(|task| self.attend(task, true)));
        loop {
            while let Some(node) = round.start() {
                let (tasks, left) = (&self.graph.nodes()[node].tasks, left.clone());
                nodes.push(async move { (node, self.walk(tasks, phase, &left).await) });
            }
            if round.is_over() {
                self.site.board.complete();
            }
            for id in self.keeper().due(Instant::now()) {
                let concerned = tasks.get(&id).into_iter().flatten();
                let alone = concerned.filter(|task| self.notice(task));
                attended.extend(alone.map(|task| self.attend(task, true)));
            }
            let wake = self.keeper().wake();
            tokio::select! {
                Some((node, walked)) = nodes.next() => match walked {
                    Err(superseded) => return superseded,
                    Ok(()) => round.succeeded(node),
                },
                Some(task) = left_behind.recv() => attended.push(self.attend(task, true)),
                Some(end) = attended.next() => {
                    if end == Attended::Superseded {
                        return Superseded;
                    }
                }
                ids = changes.next() => self.changed(ids),
                Ok(()) = operators.changed() => self.tasks().for_each(|task| self.look_again(task)),
                Ok(()) = surroundings.changed() => self.surroundings_changed(),
                () = fairway_clock::sleep_until(wake) => {}
            }
        }
    }

    /// What is begun before everything else.
    fn first_tasks(&self, phase: Phase) -> impl Iterator<Item = &Task> {
        let is_wanted = |task: &&Task| self.places[task.position].is_wanted;
        self.tasks().filter(is_wanted).filter(move |task| comes_first(task, phase))
    }

    /// Has the manifests applied again that depend on the surroundings.
    fn surroundings_changed(&self) {
        let now = Instant::now();
        for task in self.tasks() {
            let position = task.position;
            if depends_on_surroundings(&self.manifests()[position]) {
                self.places[position].expect_write();
                self.keeper().noticed(task.id.clone(), now);
            }
        }
    }

    /// Attends to the tasks of a node, one after the other. Those that are not in place and hold up
    /// nothing are sent to `left` at once: a later task of the node may wait for them, as a
    /// ClusterOperator waits for its Deployment.
    async fn walk<'t>(
        &self,
        tasks: &'t [Task],
        phase: Phase,
        left: &mpsc::UnboundedSender<&'t Task>,
    ) -> Result<(), Superseded> {
        self.introduce(tasks).await;
        let is_left =
            |task: &&Task| self.places[task.position].is_wanted && !comes_first(task, phase);
        for task in tasks.iter().filter(is_left) {
            if self.precedes_its_crd(task).await {
                let _ = left.send(task);
                continue;
            }
            self.await_namespace(task, phase).await;
            // What others may own, nothing of the release can depend on.
            if phase == Phase::Installing && is_create_only(&self.manifests()[task.position]) {
                let _ = left.send(task);
                continue;
            }
            match self.attend(task, phase.holds_up(&task.id)).await {
                Attended::InPlace => {}
                // `run` receives for as long as it polls this future.
                Attended::Left => {
                    let _ = left.send(task);
                }
                Attended::Superseded => return Err(Superseded),
            }
        }
        Ok(())
    }

    /// On a new cluster everything starts at once, and most manifests need a namespace that another
    /// one creates in a moment: waiting for it saves a request that fails.
    async fn await_namespace(&self, task: &Task, phase: Phase) {
        let namespace = &task.id.namespace;
        if phase != Phase::Installing || !self.namespaces.contains(namespace) {
            return;
        }
        let arrival = Arrival::Namespace(namespace.clone());
        let (applier, since) = (&self.site.hands.applier, Instant::now());
        if !applier.has_arrived(&arrival) && !self.is_overdue(namespace) {
            let arrived = applier.wait_for(&arrival, since);
            if timeout(NAMESPACE_TIMEOUT, arrived).await.is_err() {
                // Its manifest may wait for something else, and the namespace may exist: applying
                // what is in it tells.
                self.overdue_namespaces().insert(namespace.clone());
            }
        }
    }

    /// Whether a manifest has waited for the namespace in vain: no other one does.
    fn is_overdue(&self, namespace: &str) -> bool {
        self.overdue_namespaces().contains(namespace)
    }

    /// No code of others runs under the lock, so a poisoned one guards whole values.
    fn overdue_namespaces(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.overdue_namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the kind of a manifest is missing until a later manifest adds it. Waiting for it would
    /// be a deadlock: real releases have custom resources on a level before that of their CRD.
    async fn precedes_its_crd(&self, task: &Task) -> bool {
        let manifest = &self.manifests()[task.position];
        let defines_it = |(position, later): (usize, &Manifest)| {
            self.places[position].is_wanted && defines(later, manifest)
        };
        // An API server that does not answer has its turn when the manifest is applied.
        let is_served = self.site.hands.applier.serves_kind(manifest).await.unwrap_or(true);
        !is_served && self.manifests().iter().enumerate().skip(task.position + 1).any(defines_it)
    }

    /// An object has changed: whoever attends to it looks again; `true` where nobody does.
    fn notice(&self, task: &Task) -> bool {
        let place = &self.places[task.position];
        let is_alone = place.is_settled.swap(false, Ordering::Relaxed);
        if !is_alone {
            place.bell.notify_one();
        }
        is_alone
    }

    fn changed(&self, ids: BTreeSet<ObjectId>) {
        let now = Instant::now();
        for id in ids {
            self.keeper().noticed(id, now);
        }
    }

    /// No code of others runs under the lock, so a poisoned one guards whole values.
    pub(super) fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to be done with each object; a release may have several manifests of one.
    fn by_object(&self) -> BTreeMap<&ObjectId, Vec<&Task>> {
        let mut tasks: BTreeMap<&ObjectId, Vec<&Task>> = BTreeMap::new();
        for task in self.tasks() {
            tasks.entry(&task.id).or_default().push(task);
        }
        tasks
    }
}

/// Whether a manifest is applied before all others. On a new cluster these are the CRDs: they need
/// nothing, and API servers take long until they serve a new kind.
fn comes_first(task: &Task, phase: Phase) -> bool {
    phase == Phase::Installing
        && task.id.group == "apiextensions.k8s.io"
        && task.id.kind == "CustomResourceDefinition"
}

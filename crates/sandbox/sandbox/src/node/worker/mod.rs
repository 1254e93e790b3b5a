//! The task that runs one pod.

mod launch;
mod lifecycle;
mod volumes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ObjectReference, Pod, PodSpec};
use launch::{LaunchError, StartedContainer};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use volumes::PodVolumes;

use super::NodeOptions;
use super::files::remove_tree;
use super::images::ImageStore;
use super::logs::Logs;
use super::probes::{ProbeCounter, ProbeKind};
use super::runtime::{Runtime, SignalSender};
use super::state::{
    ContainerExit, ContainerPhase, PodContainer, RestartPolicy, compute_actions, format_duration,
};
use super::status::{PodFailure, PodObservation, status};
use crate::api::Client;
use crate::init::ContainerSpec;
use crate::recorder::{EventRecorder, Severity, object_reference};

/// State that all pods of all nodes share.
pub(crate) struct NodeContext {
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    pub(crate) images: ImageStore,
    pub(crate) logs: Logs,
    pub(crate) options: NodeOptions,
}

/// An event of a container.
pub(crate) enum ContainerEvent {
    /// The container runs.
    Started { slot: usize, started: Box<StartedContainer> },
    /// The container could not be started.
    LaunchFailed { slot: usize, error: LaunchError },
    /// The container has exited.
    Exited { slot: usize, code: i32 },
    /// A probe has a result.
    Probed { slot: usize, kind: ProbeKind, result: Result<(), String> },
}

/// A running container.
struct ContainerHandle {
    orders: SignalSender,
    plan: ContainerSpec,
    process: i32,
    probes: Vec<AbortHandle>,
    counters: [ProbeCounter; 3],
    /// When to send SIGKILL, after SIGTERM.
    kill: Option<Timestamp>,
}

impl Drop for ContainerHandle {
    fn drop(&mut self) {
        self.probes.iter().for_each(AbortHandle::abort);
    }
}

/// Capacity of the inbox; more than a pod with many containers sends at once.
const INBOX_CAPACITY: usize = 256;
/// Maximum interval between volume updates (kubelet: `syncFrequency`).
const VOLUME_REFRESH_INTERVAL: SignedDuration = SignedDuration::from_secs(60);
/// Maximum attempts to write the status after conflicts. Conflicts are resolved within the process,
/// so no backoff is needed.
const MAX_STATUS_WRITES: usize = 10;

/// A pod on a node, with its running containers.
pub(crate) struct PodWorker {
    context: Arc<NodeContext>,
    pod: Arc<Pod>,
    directory: PathBuf,
    slots: Vec<PodContainer>,
    policy: RestartPolicy,
    since: Timestamp,
    failure: Option<PodFailure>,
    stopping: bool,
    handles: BTreeMap<usize, ContainerHandle>,
    volumes: PodVolumes,
    events: PodEvents,
    inbox: mpsc::Receiver<ContainerEvent>,
    outbox: mpsc::Sender<ContainerEvent>,
    wake: Option<Timestamp>,
}

impl PodWorker {
    pub(crate) fn new(context: Arc<NodeContext>, node: &str, pod: Pod) -> Self {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let nodes = context.options.directory.join("nodes").join(node);
        let directory = nodes.join("pods").join(&uid);
        let (outbox, inbox) = mpsc::channel(INBOX_CAPACITY);
        let empty = PodSpec::default();
        let spec = pod.spec.as_ref().unwrap_or(&empty);
        Self {
            slots: PodContainer::all(spec),
            policy: RestartPolicy::of(spec),
            since: context.client.api().now(),
            failure: None,
            stopping: false,
            handles: BTreeMap::new(),
            volumes: PodVolumes::new(directory.join("volumes"), nodes.join("host")),
            events: PodEvents::new(&context.client, node, &pod),
            inbox,
            outbox,
            wake: None,
            pod: Arc::new(pod),
            directory,
            context,
        }
    }

    /// Runs the pod until it is deleted or the sandbox stops. Dropping the handles kills the
    /// containers.
    pub(crate) async fn run(
        mut self,
        mut pods: watch::Receiver<Option<Arc<Pod>>>,
        cancel: CancellationToken,
    ) {
        loop {
            self.wake = None;
            self.step().await;
            self.report();
            if self.stopping
                && self.slots.iter().all(|slot| !slot.is_busy())
                && self.delete_object()
            {
                break;
            }
            let deadline = Instant::now() + self.pause();
            // `changed` and `recv` are cancel-safe: a branch that loses keeps its value for the
            // next iteration. Only the newest pod matters, so skipped versions do no harm.
            tokio::select! {
                () = cancel.cancelled() => break,
                changed = pods.changed() => {
                    let pod = pods.borrow_and_update().clone();
                    match pod.filter(|_| changed.is_ok()) {
                        Some(pod) => self.pod = pod,
                        None => break,
                    }
                }
                event = timeout_at(deadline, self.inbox.recv()) => {
                    if let Ok(Some(event)) = event {
                        self.handle_event(event).await;
                    }
                }
            }
        }
        self.handles.clear();
        self.context.logs.forget(self.pod.metadata.uid.as_deref().unwrap_or_default());
        let directory = self.directory.clone();
        // Blocking: mounts of exited containers may take a moment to disappear.
        let removed = tokio::task::spawn_blocking(move || remove_tree(&directory)).await;
        if let Ok(Err(error)) = removed {
            tracing::debug!(%error, "cannot remove pod files; retrying at the next start");
        }
    }

    fn now(&self) -> Timestamp {
        self.context.client.api().now()
    }

    fn wake_at(&mut self, time: Timestamp) {
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    /// Time until the next action is due.
    fn pause(&self) -> Duration {
        let longest = Duration::from_secs(VOLUME_REFRESH_INTERVAL.as_secs().unsigned_abs());
        let Some(wake) = self.wake else { return longest };
        let pause = wake.duration_since(self.now());
        // Slightly longer, so that the time has passed after the sleep.
        Duration::try_from(pause).unwrap_or_default().min(longest) + Duration::from_millis(1)
    }

    /// Computes and executes the next actions.
    async fn step(&mut self) {
        let now = self.now();
        self.check_deadline(now);
        if self.pod.metadata.deletion_timestamp.is_some() {
            self.stopping = true;
        }
        if self.stopping || self.failure.is_some() {
            self.stop_all(now).await;
            return;
        }
        let actions = compute_actions(&self.slots, self.policy, now);
        for slot in actions.stop {
            self.stop(slot, now).await;
        }
        for (slot, until) in actions.crash_loops {
            self.wait_after_crash(slot, until);
        }
        if let Some(wake) = actions.wake {
            self.wake_at(wake);
        }
        self.kill_overdue(now).await;
        let is_running = self.slots.iter().any(PodContainer::is_busy);
        if (!actions.start.is_empty() || is_running) && !self.prepare_volumes(now) {
            return;
        }
        for slot in actions.start {
            self.start(slot);
        }
    }

    fn check_deadline(&mut self, now: Timestamp) {
        let seconds = self.pod.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
        let Some(seconds) = seconds.filter(|_| self.failure.is_none()) else { return };
        let over = self.slots.iter().all(|slot| slot.outcome(self.policy).is_some());
        let deadline = self.since.saturating_add(SignedDuration::from_secs(seconds));
        let Ok(deadline) = deadline else { return };
        if over {
            return;
        }
        if now < deadline {
            self.wake_at(deadline);
            return;
        }
        let message = "Pod was active on the node longer than the specified deadline";
        self.events.normal("", "DeadlineExceeded", message);
        self.failure =
            Some(PodFailure { reason: "DeadlineExceeded".to_owned(), message: message.to_owned() });
    }

    fn wait_after_crash(&mut self, index: usize, until: Timestamp) {
        let pod = self.full_name();
        let slot = &mut self.slots[index];
        let ContainerPhase::Exited(ended) = &slot.state else { return };
        let (name, delay) = (slot.container.name.clone(), format_duration(slot.backoff.delay()));
        slot.last = Some(ended.clone());
        slot.state = ContainerPhase::Waiting {
            reason: "CrashLoopBackOff".to_owned(),
            message: format!("back-off {delay} restarting failed container={name} pod={pod}"),
            retry: Some(until),
        };
        let message = format!("Back-off restarting failed container {name} in pod {pod}");
        self.events.warning(&name, "BackOff", &message);
    }

    /// The pod in kubelet notation: `name_namespace(uid)`.
    fn full_name(&self) -> String {
        let metadata = &self.pod.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{}_{}({})", text(&metadata.name), text(&metadata.namespace), text(&metadata.uid))
    }

    async fn handle_event(&mut self, event: ContainerEvent) {
        match event {
            ContainerEvent::Started { slot, started } => self.on_started(slot, *started),
            ContainerEvent::LaunchFailed { slot, error } => self.on_launch_error(slot, error),
            ContainerEvent::Exited { slot, code } => self.on_exit(slot, code),
            ContainerEvent::Probed { slot, kind, result } => {
                self.on_probe_result(slot, kind, result).await;
            }
        }
    }

    fn on_exit(&mut self, index: usize, code: i32) {
        self.handles.remove(&index);
        let now = self.now();
        let message = self.termination_message(index, code);
        let slot = &mut self.slots[index];
        let ContainerPhase::Running { since, id } = &slot.state else { return };
        let reason = if code == 0 { "Completed" } else { "Error" };
        let (since, id) = (*since, id.clone());
        slot.backoff = std::mem::take(&mut slot.backoff).after_run(now.duration_since(since));
        (slot.started, slot.ready) = (false, false);
        slot.state = ContainerPhase::Exited(ContainerExit {
            code,
            reason: reason.to_owned(),
            message,
            since,
            until: now,
            id,
        });
    }

    /// Writes the status, if it changed.
    fn report(&mut self) {
        let metadata = &self.pod.metadata;
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let name = metadata.name.clone().unwrap_or_default();
        for _ in 0..MAX_STATUS_WRITES {
            let Ok(Some(current)) = self.context.client.get::<Pod>(&namespace, &name) else {
                return;
            };
            if current.metadata.uid != self.pod.metadata.uid {
                return;
            }
            let observed = PodObservation {
                pod: &current,
                slots: &self.slots,
                policy: self.policy,
                since: self.since,
                failure: self.failure.as_ref(),
            };
            let status = status(&observed, self.now());
            if current.status.as_ref() == Some(&status) {
                return;
            }
            let pod = Pod { status: Some(status), ..current };
            match self.context.client.update_status(&pod) {
                Err(refusal) if refusal.code == 409 => {}
                Err(refusal) => {
                    tracing::warn!(pod = name, error = %refusal, "cannot update pod status");
                    return;
                }
                Ok(_) => return,
            }
        }
    }

    /// Deletes the Pod object once no container runs.
    fn delete_object(&mut self) -> bool {
        if self.pod.metadata.deletion_timestamp.is_none() {
            return false;
        }
        match self.context.client.delete_now(&*self.pod) {
            // 409: another pod has the name now.
            Ok(()) => true,
            Err(refusal) if refusal.code == 409 => true,
            Err(refusal) => {
                tracing::warn!(error = %refusal, "cannot delete terminated pod");
                false
            }
        }
    }
}

/// Records events about a pod.
struct PodEvents {
    recorder: EventRecorder,
    about: ObjectReference,
}

impl PodEvents {
    fn new(client: &Client, node: &str, pod: &Pod) -> Self {
        Self {
            recorder: EventRecorder::new(client, "kubelet").on_host(node),
            about: object_reference(pod),
        }
    }

    fn normal(&mut self, container: &str, reason: &str, message: &str) {
        self.say(Severity::Normal, container, reason, message);
    }

    fn warning(&mut self, container: &str, reason: &str, message: &str) {
        self.say(Severity::Warning, container, reason, message);
    }

    fn say(&mut self, severity: Severity, container: &str, reason: &str, message: &str) {
        let field_path = (!container.is_empty()).then(|| format!("spec.containers{{{container}}}"));
        let about = ObjectReference { field_path, ..self.about.clone() };
        self.recorder.publish(&about, severity, reason, message);
    }
}

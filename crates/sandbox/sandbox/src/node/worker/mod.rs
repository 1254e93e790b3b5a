//! The task that runs one pod.

mod ending;
mod launch;
mod probing;
mod storage;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::NodeOptions;
use super::backoff::written;
use super::events::Events;
use super::files::remove_tree;
use super::images::Images;
use super::logs::Logs;
use super::probes::{Question, Tally};
use super::runtime::{Orders, Runtime};
use super::state::{Ended, Policy, Slot, State, decide};
use super::status::{Failure, Observed, status};
use crate::api::Client;
use crate::init::Plan;
use launch::{Refused, Started};
use storage::Storage;

/// What all pods of all nodes share.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    pub(crate) images: Images,
    pub(crate) logs: Logs,
    pub(crate) options: NodeOptions,
}

/// What happens to a container.
pub(crate) enum Happened {
    /// It runs.
    Started { slot: usize, started: Box<Started> },
    /// It does not.
    Refused { slot: usize, refused: Refused },
    /// It has ended.
    Ended { slot: usize, code: i32 },
    /// It was asked how it is.
    Answered { slot: usize, question: Question, answer: Result<(), String> },
}

/// A container that runs.
struct Handle {
    orders: Orders,
    plan: Plan,
    process: i32,
    probes: Vec<AbortHandle>,
    tallies: [Tally; 3],
    /// When it is killed, once it was asked to end.
    kill: Option<Timestamp>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.probes.iter().for_each(AbortHandle::abort);
    }
}

/// More than a pod of many containers has to say at once.
const INBOX: usize = 256;
/// Whatever does not wake a pod earlier, a kubelet looks after its volumes about that often.
const REFRESH: SignedDuration = SignedDuration::from_secs(60);
/// A status that others change at the same time is written again; in one process, soon.
const WRITES: usize = 10;

/// What a node knows of a pod, and what runs of it.
pub(crate) struct Worker {
    context: Arc<Context>,
    pod: Arc<Pod>,
    directory: PathBuf,
    slots: Vec<Slot>,
    policy: Policy,
    since: Timestamp,
    failure: Option<Failure>,
    stopping: bool,
    handles: BTreeMap<usize, Handle>,
    storage: Storage,
    events: Events,
    inbox: mpsc::Receiver<Happened>,
    outbox: mpsc::Sender<Happened>,
    wake: Option<Timestamp>,
}

impl Worker {
    pub(crate) fn new(context: Arc<Context>, node: &str, pod: Pod) -> Self {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let nodes = context.options.directory.join("nodes").join(node);
        let directory = nodes.join("pods").join(&uid);
        let (outbox, inbox) = mpsc::channel(INBOX);
        let empty = PodSpec::default();
        let spec = pod.spec.as_ref().unwrap_or(&empty);
        Self {
            slots: Slot::all(spec),
            policy: Policy::of(spec),
            since: context.client.api().now(),
            failure: None,
            stopping: false,
            handles: BTreeMap::new(),
            storage: Storage::new(directory.join("volumes"), nodes.join("host")),
            events: Events::new(&context.client, node, &pod),
            inbox,
            outbox,
            wake: None,
            pod: Arc::new(pod),
            directory,
            context,
        }
    }

    /// Runs the pod until it is gone or the sandbox ends. Containers end when their handles are
    /// dropped.
    pub(crate) async fn run(
        mut self,
        mut pods: watch::Receiver<Option<Arc<Pod>>>,
        cancel: CancellationToken,
    ) {
        loop {
            self.wake = None;
            self.step().await;
            self.report();
            if self.stopping && self.slots.iter().all(|slot| !slot.is_busy()) && self.depart() {
                break;
            }
            let deadline = Instant::now() + self.pause();
            tokio::select! {
                () = cancel.cancelled() => break,
                changed = pods.changed() => {
                    let pod = pods.borrow_and_update().clone();
                    match pod.filter(|_| changed.is_ok()) {
                        Some(pod) => self.pod = pod,
                        None => break,
                    }
                }
                happened = timeout_at(deadline, self.inbox.recv()) => {
                    if let Ok(Some(happened)) = happened {
                        self.note(happened).await;
                    }
                }
            }
        }
        self.handles.clear();
        self.context.logs.forget(self.pod.metadata.uid.as_deref().unwrap_or_default());
        let directory = self.directory.clone();
        // Mounts of its containers may need a moment to go.
        let removed = tokio::task::spawn_blocking(move || remove_tree(&directory)).await;
        if let Ok(Err(error)) = removed {
            tracing::debug!(%error, "cannot remove pod files until the next start");
        }
    }

    fn now(&self) -> Timestamp {
        self.context.client.api().now()
    }

    fn wake_at(&mut self, time: Timestamp) {
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    /// How long nothing has to be done.
    fn pause(&self) -> Duration {
        let longest = Duration::from_secs(REFRESH.as_secs().unsigned_abs());
        let Some(wake) = self.wake else { return longest };
        let pause = wake.duration_since(self.now());
        // A little more, so that it is past that time then.
        Duration::try_from(pause).unwrap_or_default().min(longest) + Duration::from_millis(1)
    }

    /// Does what has to be done now.
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
        let decision = decide(&self.slots, self.policy, now);
        for slot in decision.stop {
            self.stop(slot, now).await;
        }
        for (slot, until) in decision.crash_loops {
            self.wait_after_crash(slot, until);
        }
        if let Some(wake) = decision.wake {
            self.wake_at(wake);
        }
        self.kill_overdue(now).await;
        let is_running = self.slots.iter().any(Slot::is_busy);
        if (!decision.start.is_empty() || is_running) && !self.prepare_storage(now) {
            return;
        }
        for slot in decision.start {
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
            Some(Failure { reason: "DeadlineExceeded".to_owned(), message: message.to_owned() });
    }

    fn wait_after_crash(&mut self, index: usize, until: Timestamp) {
        let pod = self.full_name();
        let slot = &mut self.slots[index];
        let State::Ended(ended) = &slot.state else { return };
        let (name, delay) = (slot.container.name.clone(), written(slot.backoff.delay()));
        slot.last = Some(ended.clone());
        slot.state = State::Waiting {
            reason: "CrashLoopBackOff".to_owned(),
            message: format!("back-off {delay} restarting failed container={name} pod={pod}"),
            retry: Some(until),
        };
        let message = format!("Back-off restarting failed container {name} in pod {pod}");
        self.events.warning(&name, "BackOff", &message);
    }

    /// The pod as a kubelet names it: `name_namespace(uid)`.
    fn full_name(&self) -> String {
        let metadata = &self.pod.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{}_{}({})", text(&metadata.name), text(&metadata.namespace), text(&metadata.uid))
    }

    async fn note(&mut self, happened: Happened) {
        match happened {
            Happened::Started { slot, started } => self.note_started(slot, *started),
            Happened::Refused { slot, refused } => self.note_refused(slot, refused),
            Happened::Ended { slot, code } => self.note_ended(slot, code),
            Happened::Answered { slot, question, answer } => {
                self.note_answer(slot, question, answer).await;
            }
        }
    }

    fn note_ended(&mut self, index: usize, code: i32) {
        self.handles.remove(&index);
        let now = self.now();
        let message = self.termination_message(index, code);
        let slot = &mut self.slots[index];
        let State::Running { since, id } = &slot.state else { return };
        let reason = if code == 0 { "Completed" } else { "Error" };
        let (since, id) = (*since, id.clone());
        slot.backoff = std::mem::take(&mut slot.backoff).ran(now.duration_since(since));
        (slot.started, slot.ready) = (false, false);
        slot.state =
            State::Ended(Ended { code, reason: reason.to_owned(), message, since, until: now, id });
    }

    /// Writes the status, if it is another one.
    fn report(&mut self) {
        let metadata = &self.pod.metadata;
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let name = metadata.name.clone().unwrap_or_default();
        for _ in 0..WRITES {
            let Ok(Some(current)) = self.context.client.get::<Pod>(&namespace, &name) else {
                return;
            };
            if current.metadata.uid != self.pod.metadata.uid {
                return;
            }
            let observed = Observed {
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

    /// Lets the object go, once nothing of the pod runs.
    fn depart(&mut self) -> bool {
        if self.pod.metadata.deletion_timestamp.is_none() {
            return false;
        }
        match self.context.client.delete_now(&*self.pod) {
            // Another one of that name is not ours to remove.
            Ok(()) => true,
            Err(refusal) if refusal.code == 409 => true,
            Err(refusal) => {
                tracing::warn!(error = %refusal, "cannot delete terminated pod");
                false
            }
        }
    }
}

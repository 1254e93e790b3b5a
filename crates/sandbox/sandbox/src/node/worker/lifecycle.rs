//! Termination and probes of containers.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::task::AbortHandle;
use tokio::time::{Instant, interval_at};

use super::{ContainerEvent, PodWorker};
use crate::node::probes::{ProbeKind, ProbeTarget, run_probe, schedule};
use crate::node::state::ContainerPhase;

const TERM: i32 = 15;
const KILL: i32 = 9;
/// Default of `terminationGracePeriodSeconds`.
const DEFAULT_GRACE_PERIOD_SECONDS: i64 = 30;
/// Maximum size of a termination message from the file, and from the log.
const MAX_MESSAGE_BYTES: u64 = 4096;
const LOG_BYTES: usize = 2048;
const LOG_LINES: usize = 80;

impl PodWorker {
    pub(super) async fn stop_all(&mut self, now: Timestamp) {
        for index in 0..self.slots.len() {
            self.stop(index, now).await;
        }
        self.kill_overdue(now).await;
        for slot in &mut self.slots {
            // A terminating pod does not restart containers.
            if let ContainerPhase::Waiting { retry, .. } = &mut slot.state {
                *retry = None;
            }
        }
    }

    /// Sends SIGTERM to a container, once.
    pub(super) async fn stop(&mut self, index: usize, now: Timestamp) {
        let grace = self.grace();
        let Some(handle) = self.handles.get_mut(&index) else { return };
        let deadline = now.saturating_add(grace).unwrap_or(now);
        if let Some(kill) = &mut handle.kill {
            // A repeated deletion can shorten the grace period.
            *kill = (*kill).min(deadline);
            return;
        }
        handle.kill = Some(deadline);
        handle.orders.signal(if grace.is_zero() { KILL } else { TERM }).await;
        let container = &self.slots[index].container;
        let message = format!("Stopping container {}", container.name);
        self.events.normal(&container.name, "Killing", &message);
        let lifecycle = container.lifecycle.as_ref();
        if lifecycle.is_some_and(|lifecycle| lifecycle.pre_stop.is_some()) {
            let message = "the sandbox does not run preStop hooks";
            self.events.warning(&container.name, "FailedPreStopHook", message);
        }
    }

    pub(super) async fn kill_overdue(&mut self, now: Timestamp) {
        let mut next = None;
        for handle in self.handles.values_mut() {
            match handle.kill {
                Some(kill) if kill <= now => handle.orders.signal(KILL).await,
                Some(kill) => next = Some(next.map_or(kill, |next: Timestamp| next.min(kill))),
                None => {}
            }
        }
        if let Some(next) = next {
            self.wake_at(next);
        }
    }

    fn grace(&self) -> SignedDuration {
        let requested = self.pod.metadata.deletion_grace_period_seconds;
        let spec = self.pod.spec.as_ref();
        let own = spec.and_then(|spec| spec.termination_grace_period_seconds);
        SignedDuration::from_secs(requested.or(own).unwrap_or(DEFAULT_GRACE_PERIOD_SECONDS))
    }

    /// Path of the termination message on the host.
    pub(super) fn message_file(&self, index: usize) -> PathBuf {
        let slot = &self.slots[index];
        self.directory.join("messages").join(format!("{}-{}", slot.container.name, slot.restarts))
    }

    pub(super) fn termination_message(&self, index: usize, code: i32) -> String {
        let container = &self.slots[index].container;
        let mut message = Vec::new();
        if let Ok(file) = std::fs::File::open(self.message_file(index)) {
            // An unreadable file counts as empty.
            let _ = file.take(MAX_MESSAGE_BYTES).read_to_end(&mut message);
        }
        let from_log =
            container.termination_message_policy.as_deref() == Some("FallbackToLogsOnError");
        if message.is_empty() && from_log && code != 0 {
            let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
            return self.context.logs.tail(uid, &container.name, LOG_LINES, LOG_BYTES);
        }
        String::from_utf8_lossy(&message).into_owned()
    }
}

impl PodWorker {
    /// Starts probes; readiness and liveness only after the startup probe has succeeded.
    pub(super) fn start_probes(&mut self, index: usize) {
        let slot = &self.slots[index];
        let questions = ProbeKind::ALL.into_iter().filter(|kind| {
            (*kind == ProbeKind::Startup) != slot.started && kind.probe(&slot.container).is_some()
        });
        let probes: Vec<AbortHandle> = questions.map(|kind| self.probe(index, kind)).collect();
        if let Some(handle) = self.handles.get_mut(&index) {
            handle.probes.iter().for_each(AbortHandle::abort);
            handle.probes = probes;
        }
    }

    fn probe(&self, index: usize, kind: ProbeKind) -> AbortHandle {
        let container = self.slots[index].container.clone();
        let (context, outbox) = (Arc::clone(&self.context), self.outbox.clone());
        let handle = self.handles.get(&index);
        let running = handle.map(|handle| (handle.plan.clone(), handle.process));
        let asking = async move {
            let Some((plan, process)) = running else { return };
            let Some(probe) = kind.probe(&container) else { return };
            let (first, period) = schedule(probe);
            let mut beat = interval_at(Instant::now() + first, period);
            loop {
                beat.tick().await;
                let (runtime, container) = (&context.runtime, &container);
                let target = ProbeTarget { runtime, plan: &plan, process, container };
                let result = run_probe(probe, &target).await;
                let event = ContainerEvent::Probed { slot: index, kind, result };
                if outbox.send(event).await.is_err() {
                    return;
                }
            }
        };
        tokio::spawn(asking).abort_handle()
    }

    pub(super) async fn on_probe_result(
        &mut self,
        index: usize,
        kind: ProbeKind,
        result: Result<(), String>,
    ) {
        let container = self.slots[index].container.clone();
        let Some(probe) = kind.probe(&container) else { return };
        let Some(handle) = self.handles.get_mut(&index) else { return };
        let counter = &mut handle.counters[kind as usize];
        let believed = counter.count(probe, result.is_ok());
        if let Err(why) = &result {
            let message = format!("{} probe failed: {why}", kind.as_str());
            self.events.warning(&container.name, "Unhealthy", &message);
        }
        match (kind, believed) {
            (ProbeKind::Readiness, Some(ready)) => self.slots[index].ready = ready,
            (ProbeKind::Startup, Some(true)) => {
                self.slots[index].started = true;
                self.start_probes(index);
            }
            (ProbeKind::Startup | ProbeKind::Liveness, Some(false)) => {
                let failed = kind.as_str().to_lowercase();
                let name = &container.name;
                let message = format!("Container {name} failed {failed} probe, will be restarted");
                self.events.normal(name, "Killing", &message);
                let now = self.now();
                self.stop(index, now).await;
            }
            _ => {}
        }
    }
}

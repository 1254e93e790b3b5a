//! Ending containers, and what they say when they end.

use std::io::Read;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use super::Worker;
use crate::node::state::State;

const TERM: i32 = 15;
const KILL: i32 = 9;
/// A pod's, unless it says otherwise.
const DEFAULT_GRACE: i64 = 30;
/// The longest message that a container may leave, and that is taken from its log instead.
const LONGEST_MESSAGE: u64 = 4096;
const LOG_BYTES: usize = 2048;
const LOG_LINES: usize = 80;

impl Worker {
    pub(super) async fn stop_all(&mut self, now: Timestamp) {
        for index in 0..self.slots.len() {
            self.stop(index, now).await;
        }
        self.kill_overdue(now).await;
        for slot in &mut self.slots {
            // Nobody will wait for it any more.
            if let State::Waiting { retry, .. } = &mut slot.state {
                *retry = None;
            }
        }
    }

    /// Asks a container to end, once.
    pub(super) async fn stop(&mut self, index: usize, now: Timestamp) {
        let grace = self.grace();
        let Some(handle) = self.handles.get_mut(&index) else { return };
        let deadline = now.saturating_add(grace).unwrap_or(now);
        if let Some(kill) = &mut handle.kill {
            // Whoever asks again may be in more of a hurry.
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
        let asked = self.pod.metadata.deletion_grace_period_seconds;
        let spec = self.pod.spec.as_ref();
        let own = spec.and_then(|spec| spec.termination_grace_period_seconds);
        SignedDuration::from_secs(asked.or(own).unwrap_or(DEFAULT_GRACE))
    }

    /// Where a container leaves its last words.
    pub(super) fn message_file(&self, index: usize) -> PathBuf {
        let slot = &self.slots[index];
        self.directory.join("messages").join(format!("{}-{}", slot.container.name, slot.restarts))
    }

    pub(super) fn termination_message(&self, index: usize, code: i32) -> String {
        let container = &self.slots[index].container;
        let mut message = Vec::new();
        if let Ok(file) = std::fs::File::open(self.message_file(index)) {
            // What cannot be read was not said.
            let _ = file.take(LONGEST_MESSAGE).read_to_end(&mut message);
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

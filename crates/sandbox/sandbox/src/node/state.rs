//! State of a pod's containers, and the actions that follow from it.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, PodSpec};

/// Kind of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContainerKind {
    /// Init container: runs to completion before the next container starts.
    Init,
    /// Sidecar: starts in the order of init containers and runs until all main containers have
    /// exited.
    Sidecar,
    /// Main container; all run concurrently.
    Main,
}

/// Restart policy of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

impl RestartPolicy {
    pub(crate) fn of(spec: &PodSpec) -> Self {
        match spec.restart_policy.as_deref() {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }
}

/// Exit of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerExit {
    pub(crate) code: i32,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) id: String,
}

/// State of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContainerPhase {
    /// Not started, or waiting for a restart at `retry`.
    Waiting { reason: String, message: String, retry: Option<Timestamp> },
    /// The container is being started.
    Starting,
    /// The container runs.
    Running { since: Timestamp, id: String },
    /// The container has exited.
    Exited(ContainerExit),
}

/// A container of a pod.
#[derive(Clone, Debug)]
pub(crate) struct PodContainer {
    pub(crate) kind: ContainerKind,
    pub(crate) container: Container,
    pub(crate) image_id: String,
    pub(crate) state: ContainerPhase,
    pub(crate) last: Option<ContainerExit>,
    pub(crate) restarts: i32,
    pub(crate) backoff: RestartBackoff,
    /// Whether the startup probe succeeded, if there is one.
    pub(crate) started: bool,
    /// Whether the readiness probe succeeded, if there is one.
    pub(crate) ready: bool,
}

/// The next actions of a pod (kubelet: `computePodActions`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodActions {
    /// Containers to start.
    pub(crate) start: Vec<usize>,
    /// Sidecars to stop.
    pub(crate) stop: Vec<usize>,
    /// Containers in `CrashLoopBackOff`, with the time of their restart.
    pub(crate) crash_loops: Vec<(usize, Timestamp)>,
    /// When to compute actions again.
    pub(crate) wake: Option<Timestamp>,
}

enum Next {
    Start,
    Wait { until: Timestamp, crashed: bool },
    Busy,
    Done { succeeded: bool },
}

impl PodContainer {
    pub(crate) fn all(spec: &PodSpec) -> Vec<Self> {
        let init = spec.init_containers.iter().flatten();
        let init = init.map(|container| match container.restart_policy.as_deref() {
            Some("Always") => (ContainerKind::Sidecar, container),
            _ => (ContainerKind::Init, container),
        });
        let main = spec.containers.iter().map(|container| (ContainerKind::Main, container));
        let has_init = spec.init_containers.as_ref().is_some_and(|init| !init.is_empty());
        init.chain(main).map(|(kind, container)| Self::new(kind, container, has_init)).collect()
    }

    fn new(kind: ContainerKind, container: &Container, has_init: bool) -> Self {
        let reason = if has_init { "PodInitializing" } else { "ContainerCreating" };
        let (reason, message) = (reason.to_owned(), String::new());
        Self {
            kind,
            container: container.clone(),
            image_id: String::new(),
            state: ContainerPhase::Waiting { reason, message, retry: None },
            last: None,
            restarts: 0,
            backoff: RestartBackoff::default(),
            started: false,
            ready: false,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, ContainerPhase::Running { .. })
    }

    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.state, ContainerPhase::Running { .. } | ContainerPhase::Starting)
    }

    /// Exit of the last run, if the container does not run.
    pub(crate) fn end(&self) -> Option<&ContainerExit> {
        match &self.state {
            ContainerPhase::Exited(ended) => Some(ended),
            ContainerPhase::Waiting { .. } => self.last.as_ref(),
            _ => None,
        }
    }

    fn restarts_after(&self, policy: RestartPolicy, code: i32) -> bool {
        match (self.kind, policy) {
            (ContainerKind::Sidecar, _) | (ContainerKind::Main, RestartPolicy::Always) => true,
            (ContainerKind::Init, RestartPolicy::Always | RestartPolicy::OnFailure)
            | (ContainerKind::Main, RestartPolicy::OnFailure) => code != 0,
            (ContainerKind::Init | ContainerKind::Main, RestartPolicy::Never) => false,
        }
    }

    /// Whether the container succeeded in its last run; `None` if it will run again.
    pub(crate) fn outcome(&self, policy: RestartPolicy) -> Option<bool> {
        let ended = self.end()?;
        (!self.restarts_after(policy, ended.code)).then_some(ended.code == 0)
    }

    fn next(&self, policy: RestartPolicy, now: Timestamp) -> Next {
        if let Some(succeeded) = self.outcome(policy) {
            return Next::Done { succeeded };
        }
        match &self.state {
            ContainerPhase::Running { .. } | ContainerPhase::Starting => Next::Busy,
            ContainerPhase::Exited(ended) => match self.backoff.until(ended.until) {
                due if due <= now => Next::Start,
                until => Next::Wait { until, crashed: true },
            },
            ContainerPhase::Waiting { retry: Some(until), .. } if *until > now => {
                Next::Wait { until: *until, crashed: false }
            }
            ContainerPhase::Waiting { .. } => Next::Start,
        }
    }
}

/// Computes the next actions of a pod that is not terminating.
pub(crate) fn compute_actions(
    slots: &[PodContainer],
    policy: RestartPolicy,
    now: Timestamp,
) -> PodActions {
    let mut actions = PodActions::default();
    let mains = || slots.iter().filter(|slot| slot.kind == ContainerKind::Main);
    let over = mains().all(|slot| slot.outcome(policy).is_some());
    for (index, slot) in slots.iter().enumerate() {
        if over {
            if slot.kind == ContainerKind::Sidecar && slot.is_running() {
                actions.stop.push(index);
            }
            continue;
        }
        let next = slot.next(policy, now);
        match next {
            Next::Start => actions.start.push(index),
            Next::Wait { until, crashed } => {
                actions.wake = Some(actions.wake.map_or(until, |wake| wake.min(until)));
                if crashed {
                    actions.crash_loops.push((index, until));
                }
            }
            Next::Busy | Next::Done { .. } => {}
        }
        let passed = match slot.kind {
            ContainerKind::Main => true,
            ContainerKind::Sidecar => slot.is_running() && slot.started,
            ContainerKind::Init => matches!(next, Next::Done { succeeded: true }),
        };
        if !passed {
            break;
        }
    }
    actions
}

/// Initial delay (kubelet: `containerBackOffPeriod`).
const INITIAL_BACKOFF: SignedDuration = SignedDuration::from_secs(10);
/// Maximum delay (kubelet: `MaxContainerBackOff`).
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(5);
/// Run time after which the backoff resets.
const BACKOFF_RESET: SignedDuration = SignedDuration::from_mins(10);

/// Restart backoff of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RestartBackoff {
    /// The next delay, after a first failure.
    delay: Option<SignedDuration>,
}

impl RestartBackoff {
    /// When to restart after a failure at this time; the first restart is immediate.
    pub(crate) fn until(&self, failed: Timestamp) -> Timestamp {
        self.delay.map_or(failed, |delay| failed.saturating_add(delay).unwrap_or(Timestamp::MAX))
    }

    /// The current delay.
    pub(crate) fn delay(&self) -> SignedDuration {
        self.delay.unwrap_or(SignedDuration::ZERO)
    }

    /// The backoff after a restart.
    #[must_use]
    pub(crate) fn after_restart(&self) -> Self {
        let next = self.delay.map_or(INITIAL_BACKOFF, |delay| (delay * 2).min(MAX_BACKOFF));
        Self { delay: Some(next) }
    }

    /// The backoff after a run of this duration.
    #[must_use]
    pub(crate) fn after_run(self, long: SignedDuration) -> Self {
        if long >= BACKOFF_RESET { Self::default() } else { self }
    }
}

/// Formats a duration like Go: `10s`, `1m20s`, `5m0s`.
pub(crate) fn format_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 { format!("{seconds}s") } else { format!("{}m{}s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(crate) fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    pub(crate) fn slots(spec: Value) -> (Vec<PodContainer>, RestartPolicy) {
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        (PodContainer::all(&spec), RestartPolicy::of(&spec))
    }

    pub(crate) fn ended(code: i32, until: i64) -> ContainerPhase {
        ContainerPhase::Exited(ContainerExit {
            code,
            reason: "Error".to_owned(),
            message: String::new(),
            since: at(until - 1),
            until: at(until),
            id: "fairway://x".to_owned(),
        })
    }

    pub(crate) fn running() -> ContainerPhase {
        ContainerPhase::Running { since: at(0), id: "fairway://x".to_owned() }
    }

    #[test]
    fn compute_actions_starts_init_containers_in_order() {
        let (mut slots, policy) = slots(json!({
            "initContainers": [{ "name": "a" }, { "name": "b", "restartPolicy": "Always" }],
            "containers": [{ "name": "c" }, { "name": "d" }],
        }));
        assert_eq!(compute_actions(&slots, policy, at(0)).start, [0]);
        slots[0].state = running();
        assert_eq!(compute_actions(&slots, policy, at(0)), PodActions::default());
        slots[0].state = ended(0, 1);
        assert_eq!(compute_actions(&slots, policy, at(1)).start, [1]);
        slots[1].state = running();
        assert_eq!(compute_actions(&slots, policy, at(1)), PodActions::default());
        slots[1].started = true;
        assert_eq!(compute_actions(&slots, policy, at(1)).start, [2, 3]);
    }

    #[test]
    fn compute_actions_stops_sidecars_after_main_containers() {
        let (mut slots, policy) = slots(json!({
            "restartPolicy": "Never",
            "initContainers": [{ "name": "a", "restartPolicy": "Always" }],
            "containers": [{ "name": "b" }],
        }));
        (slots[0].state, slots[0].started, slots[1].state) = (running(), true, ended(1, 1));
        assert_eq!(compute_actions(&slots, policy, at(2)).stop, [0]);
    }

    #[test]
    fn second_crash_backs_off() {
        let (mut slots, policy) = slots(json!({ "containers": [{ "name": "a" }] }));
        slots[0].state = ended(1, 1);
        slots[0].backoff = slots[0].backoff.after_restart();
        let actions = compute_actions(&slots, policy, at(5));
        assert_eq!(actions.crash_loops, [(0, at(11))]);
        assert_eq!(actions.wake, Some(at(11)));
        assert_eq!(compute_actions(&slots, policy, at(11)).start, [0]);
    }

    #[test]
    fn backoff_starts_at_zero_and_doubles_to_five_minutes() {
        let mut backoff = RestartBackoff::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            waits.push(format_duration(backoff.delay()));
            backoff = backoff.after_restart();
        }
        assert_eq!(waits, ["0s", "10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"]);
    }

    #[test]
    fn backoff_resets_after_ten_minutes() {
        let backoff = RestartBackoff::default().after_restart().after_restart();
        assert_eq!(backoff.clone().after_run(SignedDuration::from_mins(9)), backoff);
        assert_eq!(backoff.after_run(SignedDuration::from_mins(10)), RestartBackoff::default());
    }
}

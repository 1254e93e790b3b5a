//! What a node knows of a pod, and what has to happen next.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, PodSpec};

use super::backoff::Backoff;

/// When a container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Before all that follow, to its end.
    Init,
    /// From before all that follow until the others have ended.
    Sidecar,
    /// All of them together.
    Main,
}

/// When ended containers run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Always,
    OnFailure,
    Never,
}

impl Policy {
    pub(crate) fn of(spec: &PodSpec) -> Self {
        match spec.restart_policy.as_deref() {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) id: String,
}

/// What a container does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not yet, or not again; `retry` is when it is tried.
    Waiting { reason: String, message: String, retry: Option<Timestamp> },
    /// It is being started.
    Starting,
    /// It runs.
    Running { since: Timestamp, id: String },
    /// It has ended.
    Ended(Ended),
}

/// A container of a pod.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    pub(crate) container: Container,
    pub(crate) image_id: String,
    pub(crate) state: State,
    pub(crate) last: Option<Ended>,
    pub(crate) restarts: i32,
    pub(crate) backoff: Backoff,
    /// Whether its startup probe, if there is one, has succeeded.
    pub(crate) started: bool,
    /// Whether its readiness probe, if there is one, has succeeded.
    pub(crate) ready: bool,
}

/// What has to happen next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// These containers are to be started.
    pub(crate) start: Vec<usize>,
    /// These sidecars are not needed any more.
    pub(crate) stop: Vec<usize>,
    /// These wait in vain until then.
    pub(crate) crash_loops: Vec<(usize, Timestamp)>,
    /// When to look again.
    pub(crate) wake: Option<Timestamp>,
}

enum Next {
    Start,
    Wait { until: Timestamp, crashed: bool },
    Busy,
    Done { succeeded: bool },
}

impl Slot {
    pub(crate) fn all(spec: &PodSpec) -> Vec<Self> {
        let init = spec.init_containers.iter().flatten();
        let init = init.map(|container| match container.restart_policy.as_deref() {
            Some("Always") => (Kind::Sidecar, container),
            _ => (Kind::Init, container),
        });
        let main = spec.containers.iter().map(|container| (Kind::Main, container));
        let has_init = spec.init_containers.as_ref().is_some_and(|init| !init.is_empty());
        init.chain(main).map(|(kind, container)| Self::new(kind, container, has_init)).collect()
    }

    fn new(kind: Kind, container: &Container, has_init: bool) -> Self {
        let reason = if has_init { "PodInitializing" } else { "ContainerCreating" };
        let (reason, message) = (reason.to_owned(), String::new());
        Self {
            kind,
            container: container.clone(),
            image_id: String::new(),
            state: State::Waiting { reason, message, retry: None },
            last: None,
            restarts: 0,
            backoff: Backoff::default(),
            started: false,
            ready: false,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.state, State::Running { .. } | State::Starting)
    }

    /// The end of its newest run, if it is not running.
    pub(crate) fn end(&self) -> Option<&Ended> {
        match &self.state {
            State::Ended(ended) => Some(ended),
            State::Waiting { .. } => self.last.as_ref(),
            _ => None,
        }
    }

    fn restarts_after(&self, policy: Policy, code: i32) -> bool {
        match (self.kind, policy) {
            (Kind::Sidecar, _) | (Kind::Main, Policy::Always) => true,
            (Kind::Init, Policy::Always | Policy::OnFailure) | (Kind::Main, Policy::OnFailure) => {
                code != 0
            }
            (Kind::Init | Kind::Main, Policy::Never) => false,
        }
    }

    /// Whether it has run for the last time, and how that went.
    pub(crate) fn outcome(&self, policy: Policy) -> Option<bool> {
        let ended = self.end()?;
        (!self.restarts_after(policy, ended.code)).then_some(ended.code == 0)
    }

    fn next(&self, policy: Policy, now: Timestamp) -> Next {
        if let Some(succeeded) = self.outcome(policy) {
            return Next::Done { succeeded };
        }
        match &self.state {
            State::Running { .. } | State::Starting => Next::Busy,
            State::Ended(ended) => match self.backoff.until(ended.until) {
                due if due <= now => Next::Start,
                until => Next::Wait { until, crashed: true },
            },
            State::Waiting { retry: Some(until), .. } if *until > now => {
                Next::Wait { until: *until, crashed: false }
            }
            State::Waiting { .. } => Next::Start,
        }
    }
}

/// What has to happen next in a pod that nobody wants to end.
pub(crate) fn decide(slots: &[Slot], policy: Policy, now: Timestamp) -> Decision {
    let mut decision = Decision::default();
    let mains = || slots.iter().filter(|slot| slot.kind == Kind::Main);
    let over = mains().all(|slot| slot.outcome(policy).is_some());
    for (index, slot) in slots.iter().enumerate() {
        if over {
            if slot.kind == Kind::Sidecar && slot.is_running() {
                decision.stop.push(index);
            }
            continue;
        }
        let next = slot.next(policy, now);
        match next {
            Next::Start => decision.start.push(index),
            Next::Wait { until, crashed } => {
                decision.wake = Some(decision.wake.map_or(until, |wake| wake.min(until)));
                if crashed {
                    decision.crash_loops.push((index, until));
                }
            }
            Next::Busy | Next::Done { .. } => {}
        }
        let passed = match slot.kind {
            Kind::Main => true,
            Kind::Sidecar => slot.is_running() && slot.started,
            Kind::Init => matches!(next, Next::Done { succeeded: true }),
        };
        if !passed {
            break;
        }
    }
    decision
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(crate) fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    pub(crate) fn slots(spec: Value) -> (Vec<Slot>, Policy) {
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        (Slot::all(&spec), Policy::of(&spec))
    }

    pub(crate) fn ended(code: i32, until: i64) -> State {
        State::Ended(Ended {
            code,
            reason: "Error".to_owned(),
            message: String::new(),
            since: at(until - 1),
            until: at(until),
            id: "fairway://x".to_owned(),
        })
    }

    pub(crate) fn running() -> State {
        State::Running { since: at(0), id: "fairway://x".to_owned() }
    }

    #[test]
    fn init_containers_run_in_turn_and_then_all_others() {
        let (mut slots, policy) = slots(json!({
            "initContainers": [{ "name": "a" }, { "name": "b", "restartPolicy": "Always" }],
            "containers": [{ "name": "c" }, { "name": "d" }],
        }));
        assert_eq!(decide(&slots, policy, at(0)).start, [0]);
        slots[0].state = running();
        assert_eq!(decide(&slots, policy, at(0)), Decision::default());
        slots[0].state = ended(0, 1);
        assert_eq!(decide(&slots, policy, at(1)).start, [1]);
        slots[1].state = running();
        assert_eq!(decide(&slots, policy, at(1)), Decision::default());
        slots[1].started = true;
        assert_eq!(decide(&slots, policy, at(1)).start, [2, 3]);
    }

    #[test]
    fn sidecars_end_when_all_others_have() {
        let (mut slots, policy) = slots(json!({
            "restartPolicy": "Never",
            "initContainers": [{ "name": "a", "restartPolicy": "Always" }],
            "containers": [{ "name": "b" }],
        }));
        (slots[0].state, slots[0].started, slots[1].state) = (running(), true, ended(1, 1));
        assert_eq!(decide(&slots, policy, at(2)).stop, [0]);
    }

    #[test]
    fn a_failed_init_container_ends_a_pod_that_does_not_restart() {
        let (mut slots, policy) = slots(json!({
            "restartPolicy": "Never",
            "initContainers": [{ "name": "a" }],
            "containers": [{ "name": "b" }],
        }));
        slots[0].state = ended(1, 1);
        assert_eq!(decide(&slots, policy, at(5)), Decision::default());
        assert_eq!(slots[0].outcome(policy), Some(false));
    }

    #[test]
    fn containers_run_again_as_their_policy_says() {
        for (policy, code, again) in [
            ("Always", 0, true),
            ("Always", 1, true),
            ("OnFailure", 0, false),
            ("OnFailure", 1, true),
            ("Never", 0, false),
            ("Never", 1, false),
        ] {
            let spec = json!({ "restartPolicy": policy, "containers": [{ "name": "a" }] });
            let (mut slots, parsed) = slots(spec);
            slots[0].state = ended(code, 1);
            let start = decide(&slots, parsed, at(1)).start;
            assert_eq!(!start.is_empty(), again, "{policy} {code}");
        }
    }

    #[test]
    fn a_second_crash_waits() {
        let (mut slots, policy) = slots(json!({ "containers": [{ "name": "a" }] }));
        slots[0].state = ended(1, 1);
        slots[0].backoff = slots[0].backoff.tried();
        let decision = decide(&slots, policy, at(5));
        assert_eq!(decision.crash_loops, [(0, at(11))]);
        assert_eq!(decision.wake, Some(at(11)));
        assert_eq!(decide(&slots, policy, at(11)).start, [0]);
    }
}

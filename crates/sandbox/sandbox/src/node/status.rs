//! Status of a pod.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::state::{ContainerExit, ContainerKind, ContainerPhase, PodContainer, RestartPolicy};

/// IP of all pods: they use the network of the host.
pub(crate) const ADDRESS: &str = "127.0.0.1";

/// Failure of the pod as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodFailure {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Inputs of a pod's status.
pub(crate) struct PodObservation<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) slots: &'a [PodContainer],
    pub(crate) policy: RestartPolicy,
    pub(crate) since: Timestamp,
    pub(crate) failure: Option<&'a PodFailure>,
}

/// The phase; terminal phases do not change.
fn phase(observed: &PodObservation<'_>) -> &'static str {
    let PodObservation { slots, policy, failure, .. } = *observed;
    let all_ended = slots.iter().all(|slot| !slot.is_busy());
    if failure.is_some() && all_ended {
        return "Failed";
    }
    for slot in slots.iter().filter(|slot| slot.kind != ContainerKind::Main) {
        match (slot.kind, slot.outcome(policy)) {
            (ContainerKind::Init, Some(true)) => {}
            (ContainerKind::Init, Some(false)) => return "Failed",
            (ContainerKind::Init, None) => return "Pending",
            _ if slot.started || slot.end().is_some() => {}
            _ => return "Pending",
        }
    }
    let mains: Vec<&PodContainer> =
        slots.iter().filter(|slot| slot.kind == ContainerKind::Main).collect();
    let outcomes: Option<Vec<bool>> = mains.iter().map(|slot| slot.outcome(policy)).collect();
    match outcomes {
        Some(outcomes) if outcomes.iter().all(|succeeded| *succeeded) => "Succeeded",
        Some(_) => "Failed",
        None if mains.iter().any(|slot| !slot.is_running() && slot.end().is_none()) => "Pending",
        None => "Running",
    }
}

/// The status to write.
pub(crate) fn status(observed: &PodObservation<'_>, now: Timestamp) -> PodStatus {
    let previous = observed.pod.status.clone().unwrap_or_default();
    let phase = phase(observed);
    let (init, main): (Vec<&PodContainer>, Vec<&PodContainer>) =
        observed.slots.iter().partition(|slot| slot.kind != ContainerKind::Main);
    let statuses =
        |slots: &[&PodContainer]| slots.iter().map(|slot| container(slot)).collect::<Vec<_>>();
    PodStatus {
        phase: Some(phase.to_owned()),
        reason: observed.failure.map(|failure| failure.reason.clone()),
        message: observed.failure.map(|failure| failure.message.clone()),
        conditions: Some(conditions(observed, phase, &previous, now)),
        host_ip: Some(ADDRESS.to_owned()),
        host_ips: Some(vec![HostIP { ip: ADDRESS.to_owned() }]),
        pod_ip: Some(ADDRESS.to_owned()),
        pod_ips: Some(vec![PodIP { ip: ADDRESS.to_owned() }]),
        start_time: Some(Time(whole_seconds(observed.since))),
        init_container_statuses: (!init.is_empty()).then(|| statuses(&init)),
        container_statuses: Some(statuses(&main)),
        ..previous
    }
}

fn container(slot: &PodContainer) -> ContainerStatus {
    let id = match &slot.state {
        ContainerPhase::Running { id, .. } => Some(id.clone()),
        _ => slot.end().map(|ended| ended.id.clone()),
    };
    let finished = matches!(&slot.state, ContainerPhase::Exited(ended) if ended.code == 0);
    ContainerStatus {
        name: slot.container.name.clone(),
        image: slot.container.image.clone().unwrap_or_default(),
        image_id: slot.image_id.clone(),
        container_id: id.filter(|id| !id.is_empty()),
        restart_count: slot.restarts,
        ready: if slot.kind == ContainerKind::Init { finished } else { is_ready(slot) },
        started: Some(slot.is_running() && slot.started),
        state: Some(state(&slot.state)),
        last_state: Some(slot.last.as_ref().map(terminated).unwrap_or_default()),
        ..ContainerStatus::default()
    }
}

fn is_ready(slot: &PodContainer) -> bool {
    slot.is_running() && slot.started && slot.ready
}

fn state(state: &ContainerPhase) -> ContainerState {
    match state {
        ContainerPhase::Waiting { reason, message, .. } => waiting(reason, message),
        ContainerPhase::Starting => waiting("ContainerCreating", ""),
        ContainerPhase::Running { since, .. } => ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(Time(whole_seconds(*since))) }),
            ..ContainerState::default()
        },
        ContainerPhase::Exited(ended) => terminated(ended),
    }
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    let message = (!message.is_empty()).then(|| message.to_owned());
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

fn terminated(ended: &ContainerExit) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            container_id: (!ended.id.is_empty()).then(|| ended.id.clone()),
            exit_code: ended.code,
            reason: Some(ended.reason.clone()),
            message: (!ended.message.is_empty()).then(|| ended.message.clone()),
            started_at: Some(Time(whole_seconds(ended.since))),
            finished_at: Some(Time(whole_seconds(ended.until))),
            signal: None,
        }),
        ..ContainerState::default()
    }
}

/// Type, status, reason and message of a condition.
type Plain = (&'static str, bool, Option<&'static str>, Option<String>);

fn conditions(
    observed: &PodObservation<'_>,
    phase: &str,
    previous: &PodStatus,
    now: Timestamp,
) -> Vec<PodCondition> {
    let known = previous.conditions.clone().unwrap_or_default();
    let ours = plain_conditions(observed, phase);
    let others =
        known.iter().filter(|condition| !ours.iter().any(|(name, ..)| *name == condition.type_));
    let composed = ours.iter().map(|(name, holds, reason, message)| {
        let status = if *holds { "True" } else { "False" };
        let before = known.iter().find(|condition| condition.type_ == *name);
        let unchanged = before.filter(|before| before.status == status);
        PodCondition {
            type_: (*name).to_owned(),
            status: status.to_owned(),
            reason: reason.map(str::to_owned),
            message: message.clone(),
            last_transition_time: unchanged
                .and_then(|before| before.last_transition_time.clone())
                .or_else(|| Some(Time(whole_seconds(now)))),
            ..PodCondition::default()
        }
    });
    composed.chain(others.cloned()).collect()
}

fn plain_conditions(observed: &PodObservation<'_>, phase: &str) -> Vec<Plain> {
    let PodObservation { slots, policy, .. } = *observed;
    let named = |unfit: &dyn Fn(&PodContainer) -> bool| -> Vec<&str> {
        slots.iter().filter(|slot| unfit(slot)).map(|slot| slot.container.name.as_str()).collect()
    };
    let incomplete = named(&|slot| match slot.kind {
        ContainerKind::Init => slot.outcome(policy) != Some(true),
        ContainerKind::Sidecar => !slot.started,
        ContainerKind::Main => false,
    });
    let unready = named(&|slot| slot.kind != ContainerKind::Init && !is_ready(slot));
    let initialized: Plain = match (phase, incomplete.is_empty()) {
        ("Succeeded", _) => ("Initialized", true, Some("PodCompleted"), None),
        (_, true) => ("Initialized", true, None, None),
        (_, false) => {
            let message = format!("containers with incomplete status: [{}]", incomplete.join(" "));
            ("Initialized", false, Some("ContainersNotInitialized"), Some(message))
        }
    };
    let ready = |name: &'static str| -> Plain {
        match phase {
            "Succeeded" => (name, false, Some("PodCompleted"), None),
            "Failed" => (name, false, Some("PodFailed"), None),
            _ if unready.is_empty() => (name, true, None, None),
            _ => {
                let message = format!("containers with unready status: [{}]", unready.join(" "));
                (name, false, Some("ContainersNotReady"), Some(message))
            }
        }
    };
    let scheduled = ("PodScheduled", true, None, None);
    vec![initialized, ready("Ready"), ready("ContainersReady"), scheduled]
}

/// The API stores whole seconds; a computed status has to equal the stored one.
pub(crate) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::node::state::tests::{at, ended, running, slots};

    fn observe(
        slots: &[PodContainer],
        policy: RestartPolicy,
        failure: Option<&PodFailure>,
    ) -> PodStatus {
        let pod = Pod::default();
        status(&PodObservation { pod: &pod, slots, policy, since: at(0), failure }, at(9))
    }

    fn describe(status: &PodStatus) -> String {
        let conditions = status.conditions.iter().flatten().map(|condition| {
            let reason = condition.reason.as_deref().unwrap_or_default();
            format!("{}={}{reason}", condition.type_, &condition.status[..1])
        });
        let conditions: Vec<String> = conditions.collect();
        format!("{} {}", status.phase.as_deref().unwrap_or_default(), conditions.join(" "))
    }

    #[test]
    fn status_follows_containers() {
        let (mut two, always) = slots(json!({
            "initContainers": [{ "name": "i" }], "containers": [{ "name": "a" }, { "name": "b" }],
        }));
        let mut lines = vec![describe(&observe(&two, always, None))];
        two[0].state = ended(0, 1);
        lines.push(describe(&observe(&two, always, None)));
        for slot in &mut two[1..] {
            (slot.state, slot.started, slot.ready) = (running(), true, true);
        }
        lines.push(describe(&observe(&two, always, None)));
        two[2].state = ended(1, 3);
        lines.push(describe(&observe(&two, always, None)));
        two[1].state = ended(0, 3);
        lines.push(describe(&observe(&two, RestartPolicy::Never, None)));
        two[2].state = ended(0, 3);
        lines.push(describe(&observe(&two, RestartPolicy::Never, None)));
        let failure = PodFailure { reason: "DeadlineExceeded".to_owned(), message: String::new() };
        lines.push(describe(&observe(&two, RestartPolicy::Always, Some(&failure))));
        insta::assert_snapshot!(lines.join("\n"), @"
        Pending Initialized=FContainersNotInitialized Ready=FContainersNotReady ContainersReady=FContainersNotReady PodScheduled=T
        Pending Initialized=T Ready=FContainersNotReady ContainersReady=FContainersNotReady PodScheduled=T
        Running Initialized=T Ready=T ContainersReady=T PodScheduled=T
        Running Initialized=T Ready=FContainersNotReady ContainersReady=FContainersNotReady PodScheduled=T
        Failed Initialized=T Ready=FPodFailed ContainersReady=FPodFailed PodScheduled=T
        Succeeded Initialized=TPodCompleted Ready=FPodCompleted ContainersReady=FPodCompleted PodScheduled=T
        Failed Initialized=T Ready=FPodFailed ContainersReady=FPodFailed PodScheduled=T
        ");
    }

    #[test]
    fn unchanged_condition_keeps_transition_time() {
        let (slots, policy) = slots(json!({ "containers": [{ "name": "a" }] }));
        let first = observe(&slots, policy, None);
        let pod = Pod { status: Some(first.clone()), ..Pod::default() };
        let observed =
            PodObservation { pod: &pod, slots: &slots, policy, since: at(0), failure: None };
        assert_eq!(status(&observed, at(99)), first);
    }
}

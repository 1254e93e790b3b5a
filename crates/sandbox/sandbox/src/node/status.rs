//! The status of a pod.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::state::{Ended, Kind, Policy, Slot, State};

/// Pods use the network of the machine and are reached on loopback.
pub(crate) const ADDRESS: &str = "127.0.0.1";

/// Why a pod as a whole has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// What is known of a pod as a whole.
pub(crate) struct Observed<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) slots: &'a [Slot],
    pub(crate) policy: Policy,
    pub(crate) since: Timestamp,
    pub(crate) failure: Option<&'a Failure>,
}

/// The phases that are not the last.
fn phase(observed: &Observed<'_>) -> &'static str {
    let Observed { slots, policy, failure, .. } = *observed;
    let all_ended = slots.iter().all(|slot| !slot.is_busy());
    if failure.is_some() && all_ended {
        return "Failed";
    }
    for slot in slots.iter().filter(|slot| slot.kind != Kind::Main) {
        match (slot.kind, slot.outcome(policy)) {
            (Kind::Init, Some(true)) => {}
            (Kind::Init, Some(false)) => return "Failed",
            (Kind::Init, None) => return "Pending",
            _ if slot.started || slot.end().is_some() => {}
            _ => return "Pending",
        }
    }
    let mains: Vec<&Slot> = slots.iter().filter(|slot| slot.kind == Kind::Main).collect();
    let outcomes: Option<Vec<bool>> = mains.iter().map(|slot| slot.outcome(policy)).collect();
    match outcomes {
        Some(outcomes) if outcomes.iter().all(|succeeded| *succeeded) => "Succeeded",
        Some(_) => "Failed",
        None if mains.iter().any(|slot| !slot.is_running() && slot.end().is_none()) => "Pending",
        None => "Running",
    }
}

/// The status to be written.
pub(crate) fn status(observed: &Observed<'_>, now: Timestamp) -> PodStatus {
    let previous = observed.pod.status.clone().unwrap_or_default();
    let phase = phase(observed);
    let (init, main): (Vec<&Slot>, Vec<&Slot>) =
        observed.slots.iter().partition(|slot| slot.kind != Kind::Main);
    let statuses = |slots: &[&Slot]| slots.iter().map(|slot| container(slot)).collect::<Vec<_>>();
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

fn container(slot: &Slot) -> ContainerStatus {
    let id = match &slot.state {
        State::Running { id, .. } => Some(id.clone()),
        _ => slot.end().map(|ended| ended.id.clone()),
    };
    let finished = matches!(&slot.state, State::Ended(ended) if ended.code == 0);
    ContainerStatus {
        name: slot.container.name.clone(),
        image: slot.container.image.clone().unwrap_or_default(),
        image_id: slot.image_id.clone(),
        container_id: id.filter(|id| !id.is_empty()),
        restart_count: slot.restarts,
        ready: if slot.kind == Kind::Init { finished } else { is_ready(slot) },
        started: Some(slot.is_running() && slot.started),
        state: Some(state(&slot.state)),
        last_state: Some(slot.last.as_ref().map(terminated).unwrap_or_default()),
        ..ContainerStatus::default()
    }
}

fn is_ready(slot: &Slot) -> bool {
    slot.is_running() && slot.started && slot.ready
}

fn state(state: &State) -> ContainerState {
    match state {
        State::Waiting { reason, message, .. } => waiting(reason, message),
        State::Starting => waiting("ContainerCreating", ""),
        State::Running { since, .. } => ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(Time(whole_seconds(*since))) }),
            ..ContainerState::default()
        },
        State::Ended(ended) => terminated(ended),
    }
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    let message = (!message.is_empty()).then(|| message.to_owned());
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

fn terminated(ended: &Ended) -> ContainerState {
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

/// A condition without its times: its type, whether it holds, why, and in words.
type Plain = (&'static str, bool, Option<&'static str>, Option<String>);

fn conditions(
    observed: &Observed<'_>,
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

fn plain_conditions(observed: &Observed<'_>, phase: &str) -> Vec<Plain> {
    let Observed { slots, policy, .. } = *observed;
    let named = |unfit: &dyn Fn(&Slot) -> bool| -> Vec<&str> {
        slots.iter().filter(|slot| unfit(slot)).map(|slot| slot.container.name.as_str()).collect()
    };
    let incomplete = named(&|slot| match slot.kind {
        Kind::Init => slot.outcome(policy) != Some(true),
        Kind::Sidecar => !slot.started,
        Kind::Main => false,
    });
    let unready = named(&|slot| slot.kind != Kind::Init && !is_ready(slot));
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

/// The API carries no fractions; what was composed has to equal what is stored.
pub(crate) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::node::state::tests::{at, ended, running, slots};

    fn observe(slots: &[Slot], policy: Policy, failure: Option<&Failure>) -> PodStatus {
        let pod = Pod::default();
        status(&Observed { pod: &pod, slots, policy, since: at(0), failure }, at(9))
    }

    fn told(status: &PodStatus) -> String {
        let conditions = status.conditions.iter().flatten().map(|condition| {
            let reason = condition.reason.as_deref().unwrap_or_default();
            format!("{}={}{reason}", condition.type_, &condition.status[..1])
        });
        let conditions: Vec<String> = conditions.collect();
        format!("{} {}", status.phase.as_deref().unwrap_or_default(), conditions.join(" "))
    }

    #[test]
    fn phases_and_conditions_follow_the_containers() {
        let (mut two, always) = slots(json!({
            "initContainers": [{ "name": "i" }], "containers": [{ "name": "a" }, { "name": "b" }],
        }));
        let mut lines = vec![told(&observe(&two, always, None))];
        two[0].state = ended(0, 1);
        lines.push(told(&observe(&two, always, None)));
        for slot in &mut two[1..] {
            (slot.state, slot.started, slot.ready) = (running(), true, true);
        }
        lines.push(told(&observe(&two, always, None)));
        two[2].state = ended(1, 3);
        lines.push(told(&observe(&two, always, None)));
        two[1].state = ended(0, 3);
        lines.push(told(&observe(&two, Policy::Never, None)));
        two[2].state = ended(0, 3);
        lines.push(told(&observe(&two, Policy::Never, None)));
        let failure = Failure { reason: "DeadlineExceeded".to_owned(), message: String::new() };
        lines.push(told(&observe(&two, Policy::Always, Some(&failure))));
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
    fn a_condition_that_stays_keeps_its_time() {
        let (slots, policy) = slots(json!({ "containers": [{ "name": "a" }] }));
        let first = observe(&slots, policy, None);
        let pod = Pod { status: Some(first.clone()), ..Pod::default() };
        let observed = Observed { pod: &pod, slots: &slots, policy, since: at(0), failure: None };
        assert_eq!(status(&observed, at(99)), first);
    }
}

//! Whether an object does what it is there for, as its status says.

use fairway_api::reason::rollout;
use fairway_release::ObjectId;
use serde_json::Value;

/// Whether an object does what it is there for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does, or there is nothing that would tell.
    Good,
    /// Not yet: what is waited for. The next change of the object tells more.
    Waiting(String),
    /// It does not, and it will not by itself.
    Failed {
        /// A reason of [`fairway_api::reason::rollout`].
        reason: &'static str,
        /// What people read: it completes the name of the object.
        message: String,
    },
}

impl Health {
    fn waiting(what: impl Into<String>) -> Self {
        Self::Waiting(what.into())
    }
}

/// What an object says. It is as the API server has it, with its status.
pub fn check(id: &ObjectId, live: &Value) -> Health {
    if !live["metadata"]["deletionTimestamp"].is_null() {
        return Health::waiting("the object is being deleted");
    }
    // Others have kinds of these names, too.
    match (id.group.as_str(), id.kind.as_str()) {
        ("apps", "Deployment") => deployment(live),
        ("apps", "DaemonSet") => daemon_set(live),
        ("batch", "Job") => job(live),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(live),
        _ => Health::Good,
    }
}

fn number(object: &Value, key: &str) -> i64 {
    object[key].as_i64().unwrap_or_default()
}

/// Whether the controller has seen the latest state.
fn is_observed(live: &Value) -> bool {
    number(&live["status"], "observedGeneration") >= number(&live["metadata"], "generation")
}

fn condition<'a>(live: &'a Value, type_: &str) -> Option<&'a Value> {
    live["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

fn holds(live: &Value, type_: &str, status: &str) -> bool {
    condition(live, type_).is_some_and(|condition| condition["status"] == status)
}

/// What a condition says: its reason, and its message if it has one.
fn said(live: &Value, type_: &str) -> String {
    let Some(condition) = condition(live, type_) else { return String::new() };
    let text = |key: &str| condition[key].as_str().unwrap_or_default();
    [text("reason"), text("message")].join(": ").trim_matches([':', ' ']).to_owned()
}

fn deployment(live: &Value) -> Health {
    if !is_observed(live) {
        return Health::waiting("the controller has not observed the latest change");
    }
    if let Some(failed) = deployment_failure(live) {
        return failed;
    }
    let (spec, status) = (&live["spec"], &live["status"]);
    let wanted = spec["replicas"].as_i64().unwrap_or(1);
    let (updated, all, available) = (
        number(status, "updatedReplicas"),
        number(status, "replicas"),
        number(status, "availableReplicas"),
    );
    let unavailable = number(status, "unavailableReplicas");
    if updated < wanted {
        Health::Waiting(format!("{updated} of {wanted} Pods updated"))
    } else if all > updated {
        Health::Waiting(format!("{} old Pods still running", all - updated))
    } else if available < wanted || unavailable > 0 {
        Health::Waiting(format!("{available} of {wanted} Pods available"))
    } else {
        Health::Good
    }
}

/// What Pods that are not there yet do not explain.
fn deployment_failure(live: &Value) -> Option<Health> {
    let failed = |reason: &'static str, message: String| Some(Health::Failed { reason, message });
    let not_progressing = rollout::WORKLOAD_NOT_PROGRESSING.code;
    if holds(live, "ReplicaFailure", "True") {
        let message = format!("cannot create Pods: {}", said(live, "ReplicaFailure"));
        return failed(not_progressing, message);
    }
    if !holds(live, "Progressing", "False") {
        return None;
    }
    let why = said(live, "Progressing");
    if holds(live, "Available", "False") {
        let message =
            format!("not available ({}) and not progressing: {why}", said(live, "Available"));
        return failed(rollout::WORKLOAD_NOT_AVAILABLE.code, message);
    }
    let exceeded = condition(live, "Progressing")
        .is_some_and(|condition| condition["reason"] == "ProgressDeadlineExceeded");
    if exceeded { failed(not_progressing, format!("not progressing: {why}")) } else { None }
}

fn daemon_set(live: &Value) -> Health {
    if !is_observed(live) {
        return Health::waiting("the controller has not observed the latest change");
    }
    let status = &live["status"];
    let wanted = number(status, "desiredNumberScheduled");
    let (updated, available) =
        (number(status, "updatedNumberScheduled"), number(status, "numberAvailable"));
    // With `OnDelete`, somebody else decides when Pods are replaced.
    let replaced = live["spec"]["updateStrategy"]["type"] != "OnDelete";
    if replaced && updated < wanted {
        Health::Waiting(format!("Pods updated on {updated} of {wanted} nodes"))
    } else if available < wanted || number(status, "numberUnavailable") > 0 {
        Health::Waiting(format!("Pods available on {available} of {wanted} nodes"))
    } else {
        Health::Good
    }
}

fn job(live: &Value) -> Health {
    if holds(live, "Complete", "True") || number(&live["status"], "succeeded") >= completions(live)
    {
        return Health::Good;
    }
    if holds(live, "Failed", "True") {
        let message = format!("the Job failed: {}", said(live, "Failed"));
        return Health::Failed { reason: rollout::UPDATE_PAYLOAD_FAILED.code, message };
    }
    let status = &live["status"];
    match number(status, "failed") {
        0 => Health::waiting("the Job is not complete"),
        failed => Health::Waiting(format!("the Job is not complete, {failed} Pods failed")),
    }
}

/// How many Pods of a Job have to succeed.
fn completions(live: &Value) -> i64 {
    live["spec"]["completions"].as_i64().unwrap_or(1).max(1)
}

fn definition(live: &Value) -> Health {
    if holds(live, "Established", "True") {
        return Health::Good;
    }
    if holds(live, "NamesAccepted", "False") {
        let message = format!("the CRD cannot be established: {}", said(live, "NamesAccepted"));
        return Health::Failed { reason: rollout::UPDATE_PAYLOAD_RESOURCE_INVALID.code, message };
    }
    Health::waiting("the CRD is not established")
}

#[cfg(test)]
mod tests;

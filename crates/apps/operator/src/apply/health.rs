//! Readiness of an object, from its status.

use fairway_api::reason::rollout;
use fairway_release::ObjectId;
use serde_json::Value;

/// Readiness of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It is ready, or its kind has no readiness.
    Good,
    /// It is not ready yet, with the cause. The next change of the object is evaluated again.
    Waiting(String),
    /// It failed and does not recover by itself.
    Failed {
        /// A reason of [`fairway_api::reason::rollout`].
        reason: &'static str,
        /// Message that follows the name of the object.
        message: String,
    },
}

impl Health {
    fn waiting(what: impl Into<String>) -> Self {
        Self::Waiting(what.into())
    }
}

/// Evaluates a live object with its status.
pub fn check(id: &ObjectId, live: &Value) -> Health {
    if !live["metadata"]["deletionTimestamp"].is_null() {
        return Health::waiting("the object is being deleted");
    }
    // Other API groups have kinds of the same names.
    match (id.group.as_str(), id.kind.as_str()) {
        ("apps", "Deployment") => deployment(live),
        ("apps", "DaemonSet") => daemon_set(live),
        ("batch", "Job") => job(live),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd(live),
        _ => Health::Good,
    }
}

fn number(object: &Value, key: &str) -> i64 {
    object[key].as_i64().unwrap_or_default()
}

/// Whether the controller has observed the latest generation.
fn is_observed(live: &Value) -> bool {
    number(&live["status"], "observedGeneration") >= number(&live["metadata"], "generation")
}

fn condition<'a>(live: &'a Value, type_: &str) -> Option<&'a Value> {
    live["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

fn holds(live: &Value, type_: &str, status: &str) -> bool {
    condition(live, type_).is_some_and(|condition| condition["status"] == status)
}

/// Reason and message of a condition.
fn condition_text(live: &Value, type_: &str) -> String {
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
        Health::Waiting(match all - updated {
            1 => "1 old Pod still running".to_owned(),
            old => format!("{old} old Pods still running"),
        })
    } else if available < wanted || unavailable > 0 {
        Health::Waiting(format!("{available} of {wanted} Pods available"))
    } else {
        Health::Good
    }
}

/// Failures that are not only due to Pods that are starting.
fn deployment_failure(live: &Value) -> Option<Health> {
    let failed = |reason: &'static str, message: String| Some(Health::Failed { reason, message });
    let not_progressing = rollout::WORKLOAD_NOT_PROGRESSING.code;
    if holds(live, "ReplicaFailure", "True") {
        let message = format!("cannot create Pods: {}", condition_text(live, "ReplicaFailure"));
        return failed(not_progressing, message);
    }
    if !holds(live, "Progressing", "False") {
        return None;
    }
    let why = condition_text(live, "Progressing");
    if holds(live, "Available", "False") {
        let message = format!(
            "not available ({}) and not progressing: {why}",
            condition_text(live, "Available")
        );
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
    // With `OnDelete`, another controller replaces the Pods.
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
        let message = format!("the Job failed: {}", condition_text(live, "Failed"));
        return Health::Failed { reason: rollout::UPDATE_PAYLOAD_FAILED.code, message };
    }
    let status = &live["status"];
    match number(status, "failed") {
        0 => Health::waiting("the Job is not complete"),
        failed => Health::Waiting(format!("the Job is not complete, {failed} Pods failed")),
    }
}

/// Number of Pods of a Job that must succeed.
fn completions(live: &Value) -> i64 {
    live["spec"]["completions"].as_i64().unwrap_or(1).max(1)
}

fn crd(live: &Value) -> Health {
    if holds(live, "Established", "True") {
        return Health::Good;
    }
    if holds(live, "NamesAccepted", "False") {
        let message =
            format!("the CRD cannot be established: {}", condition_text(live, "NamesAccepted"));
        return Health::Failed { reason: rollout::UPDATE_PAYLOAD_RESOURCE_INVALID.code, message };
    }
    Health::waiting("the CRD is not established")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(group: &str, kind: &str) -> ObjectId {
        ObjectId { group: group.to_owned(), kind: kind.to_owned(), ..ObjectId::default() }
    }

    /// The readiness of an object with that spec and status, as text.
    fn readiness_of(group: &str, kind: &str, spec: &Value, status: &Value) -> String {
        let live = json!({"metadata": {"generation": 2}, "spec": spec, "status": status});
        match check(&id(group, kind), &live) {
            Health::Good => "good".to_owned(),
            Health::Waiting(what) => format!("waiting: {what}"),
            Health::Failed { reason, message } => format!("{reason}: {message}"),
        }
    }

    fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({"type": type_, "status": status, "reason": reason, "message": message})
    }

    #[test]
    fn check_deployment_follows_rollout() {
        let stuck = condition("Progressing", "False", "ProgressDeadlineExceeded", "took too long");
        let down = condition("Available", "False", "MinimumReplicasUnavailable", "too few");
        let quota = condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota");
        let rolled = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
        let with = |conditions: Value| {
            let mut status = rolled.clone();
            status["conditions"] = conditions;
            status
        };
        let results: Vec<String> = [
            json!({}),
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}),
            json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}),
            json!({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 3}),
            json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1, "unavailableReplicas": 1}),
            rolled.clone(),
            with(json!([down])),
            with(json!([stuck])),
            with(json!([stuck, down])),
            with(json!([quota])),
        ]
        .into_iter()
        .map(|status| readiness_of("apps", "Deployment", &json!({"replicas": 2}), &status))
        .collect();
        insta::assert_snapshot!(results.join("\n"), @"
        waiting: the controller has not observed the latest change
        waiting: the controller has not observed the latest change
        waiting: 1 of 2 Pods updated
        waiting: 1 old Pod still running
        waiting: 1 of 2 Pods available
        good
        good
        WorkloadNotProgressing: not progressing: ProgressDeadlineExceeded: took too long
        WorkloadNotAvailable: not available (MinimumReplicasUnavailable: too few) and not progressing: ProgressDeadlineExceeded: took too long
        WorkloadNotProgressing: cannot create Pods: FailedCreate: exceeded quota
        ");
        let idle = json!({"observedGeneration": 2});
        assert_eq!(readiness_of("apps", "Deployment", &json!({"replicas": 0}), &idle), "good");
    }

    #[test]
    fn check_daemon_set_requires_pods_on_all_nodes() {
        let results: Vec<String> = [
            json!({}),
            json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 2, "numberAvailable": 3}),
            json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 2, "numberUnavailable": 1}),
            json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}),
            json!({"observedGeneration": 2}),
        ]
        .into_iter()
        .map(|status| readiness_of("apps", "DaemonSet", &json!({}), &status))
        .collect();
        insta::assert_snapshot!(results.join("\n"), @"
        waiting: the controller has not observed the latest change
        waiting: Pods updated on 2 of 3 nodes
        waiting: Pods available on 2 of 3 nodes
        good
        good
        ");
        let old =
            json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "numberAvailable": 3});
        let on_delete = json!({"updateStrategy": {"type": "OnDelete"}});
        assert_eq!(readiness_of("apps", "DaemonSet", &on_delete, &old), "good");
    }

    #[test]
    fn check_job_requires_completion() {
        let failed = condition("Failed", "True", "BackoffLimitExceeded", "it failed too often");
        let results: Vec<String> = [
            json!({}),
            json!({"active": 1, "failed": 2}),
            json!({"failed": 7, "conditions": [failed]}),
            json!({"succeeded": 1}),
            json!({"conditions": [condition("Complete", "True", "", "")]}),
        ]
        .into_iter()
        .map(|status| readiness_of("batch", "Job", &json!({}), &status))
        .collect();
        insta::assert_snapshot!(results.join("\n"), @"
        waiting: the Job is not complete
        waiting: the Job is not complete, 2 Pods failed
        UpdatePayloadFailed: the Job failed: BackoffLimitExceeded: it failed too often
        good
        good
        ");
        let some = json!({"succeeded": 2});
        assert_eq!(
            readiness_of("batch", "Job", &json!({"completions": 3}), &some),
            "waiting: the Job is not complete"
        );
    }

    #[test]
    fn check_crd_requires_established() {
        let clash = condition("NamesAccepted", "False", "PluralConflict", "\"things\" is in use");
        let results: Vec<String> = [
            json!({}),
            json!({"conditions": [clash]}),
            json!({"conditions": [condition("Established", "True", "InitialNamesAccepted", "")]}),
        ]
        .into_iter()
        .map(|status| {
            readiness_of("apiextensions.k8s.io", "CustomResourceDefinition", &json!({}), &status)
        })
        .collect();
        insta::assert_snapshot!(results.join("\n"), @r#"
        waiting: the CRD is not established
        UpdatePayloadResourceInvalid: the CRD cannot be established: PluralConflict: "things" is in use
        good
        "#);
    }

    #[test]
    fn check_of_terminating_object_waits() {
        let live = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(
            check(&id("", "ConfigMap"), &live),
            Health::Waiting("the object is being deleted".to_owned())
        );
        assert_eq!(check(&id("", "ConfigMap"), &json!({})), Health::Good);
    }

    #[test]
    fn check_of_other_api_groups_is_good() {
        assert_eq!(readiness_of("example.com", "Job", &json!({}), &json!({})), "good");
        assert_eq!(readiness_of("example.com", "Deployment", &json!({}), &json!({})), "good");
    }
}

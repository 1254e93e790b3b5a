use serde_json::json;

use super::*;

fn id(group: &str, kind: &str) -> ObjectId {
    ObjectId { group: group.to_owned(), kind: kind.to_owned(), ..ObjectId::default() }
}

/// What is said about an object with that specification and status, in words.
fn said_of(group: &str, kind: &str, spec: &Value, status: &Value) -> String {
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
fn deployments_have_to_be_rolled_out() {
    let stuck = condition("Progressing", "False", "ProgressDeadlineExceeded", "took too long");
    let down = condition("Available", "False", "MinimumReplicasUnavailable", "too few");
    let quota = condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota");
    let rolled = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
    let with = |conditions: Value| {
        let mut status = rolled.clone();
        status["conditions"] = conditions;
        status
    };
    let told: Vec<String> = [
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
    .map(|status| said_of("apps", "Deployment", &json!({"replicas": 2}), &status))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    waiting: the controller has not observed the latest change
    waiting: the controller has not observed the latest change
    waiting: 1 of 2 Pods updated
    waiting: 1 old Pods still running
    waiting: 1 of 2 Pods available
    good
    good
    WorkloadNotProgressing: not progressing: ProgressDeadlineExceeded: took too long
    WorkloadNotAvailable: not available (MinimumReplicasUnavailable: too few) and not progressing: ProgressDeadlineExceeded: took too long
    WorkloadNotProgressing: cannot create Pods: FailedCreate: exceeded quota
    ");
    let idle = json!({"observedGeneration": 2});
    assert_eq!(said_of("apps", "Deployment", &json!({"replicas": 0}), &idle), "good");
}

#[test]
fn daemon_sets_have_to_be_on_all_nodes() {
    let told: Vec<String> = [
        json!({}),
        json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 2, "numberAvailable": 3}),
        json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 2, "numberUnavailable": 1}),
        json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}),
        json!({"observedGeneration": 2}),
    ]
    .into_iter()
    .map(|status| said_of("apps", "DaemonSet", &json!({}), &status))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    waiting: the controller has not observed the latest change
    waiting: Pods updated on 2 of 3 nodes
    waiting: Pods available on 2 of 3 nodes
    good
    good
    ");
    let old = json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "numberAvailable": 3});
    let on_delete = json!({"updateStrategy": {"type": "OnDelete"}});
    assert_eq!(said_of("apps", "DaemonSet", &on_delete, &old), "good");
}

#[test]
fn jobs_have_to_succeed() {
    let failed = condition("Failed", "True", "BackoffLimitExceeded", "it failed too often");
    let told: Vec<String> = [
        json!({}),
        json!({"active": 1, "failed": 2}),
        json!({"failed": 7, "conditions": [failed]}),
        json!({"succeeded": 1}),
        json!({"conditions": [condition("Complete", "True", "", "")]}),
    ]
    .into_iter()
    .map(|status| said_of("batch", "Job", &json!({}), &status))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    waiting: the Job is not complete
    waiting: the Job is not complete, 2 Pods failed
    UpdatePayloadFailed: the Job failed: BackoffLimitExceeded: it failed too often
    good
    good
    ");
    let some = json!({"succeeded": 2});
    assert_eq!(
        said_of("batch", "Job", &json!({"completions": 3}), &some),
        "waiting: the Job is not complete"
    );
}

#[test]
fn definitions_have_to_be_established() {
    let clash = condition("NamesAccepted", "False", "PluralConflict", "\"things\" is in use");
    let told: Vec<String> = [
        json!({}),
        json!({"conditions": [clash]}),
        json!({"conditions": [condition("Established", "True", "InitialNamesAccepted", "")]}),
    ]
    .into_iter()
    .map(|status| said_of("apiextensions.k8s.io", "CustomResourceDefinition", &json!({}), &status))
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    waiting: the CRD is not established
    UpdatePayloadResourceInvalid: the CRD cannot be established: PluralConflict: "things" is in use
    good
    "#);
}

#[test]
fn what_is_being_deleted_is_not_there_for_long() {
    let live = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    assert_eq!(
        check(&id("", "ConfigMap"), &live),
        Health::Waiting("the object is being deleted".to_owned())
    );
    assert_eq!(check(&id("", "ConfigMap"), &json!({})), Health::Good);
}

#[test]
fn kinds_of_others_say_nothing_that_is_known_here() {
    assert_eq!(said_of("example.com", "Job", &json!({}), &json!({})), "good");
    assert_eq!(said_of("example.com", "Deployment", &json!({}), &json!({})), "good");
}

use serde_json::{Value, json};

use super::*;

fn pod(status: &Value) -> Arc<Pod> {
    let pod = json!({"metadata": {"name": "preflight-1"}, "status": status});
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn container(status: &Value) -> Arc<Pod> {
    let mut status = status.clone();
    for (key, value) in [
        ("name", json!("c")),
        ("image", json!("")),
        ("imageID", json!("")),
        ("ready", json!(false)),
    ] {
        status[key] = value;
    }
    if status["restartCount"].is_null() {
        status["restartCount"] = json!(0);
    }
    pod(&json!({"phase": "Running", "containerStatuses": [status]}))
}

fn waiting(reason: &str, message: &str) -> RunObservation {
    let state = json!({"waiting": {"reason": reason, "message": message}});
    RunObservation {
        pods: Some(vec![container(&json!({"state": state}))]),
        ..RunObservation::default()
    }
}

/// A container that exited once and waits for its restart.
fn ended(code: i32, reason: &str, message: &str) -> RunObservation {
    let ended = json!({"terminated": {"exitCode": code, "reason": reason, "message": message}});
    let state = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}});
    let status = json!({"state": state, "lastState": ended});
    RunObservation { pods: Some(vec![container(&status)]), ..RunObservation::default() }
}

fn telling(mut seen: RunObservation, reason: &str, message: &str) -> RunObservation {
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"name": "preflight-1"},
        "reason": reason, "message": message,
    });
    seen.events.push(Arc::new(serde_json::from_value(event).unwrap()));
    seen
}

fn of_pod(status: &Value) -> RunObservation {
    RunObservation { pods: Some(vec![pod(status)]), ..RunObservation::default() }
}

fn refused(message: &str) -> RunObservation {
    let deployment = json!({"metadata": {"name": "d"}, "status": {"conditions": [
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message},
    ]}});
    let deployment = Arc::new(serde_json::from_value(deployment).unwrap());
    RunObservation { deployment: Some(deployment), ..RunObservation::default() }
}

#[test]
fn error_distinguishes_all_failures() {
    let nowhere = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient memory.",
    }]});
    let eviction_error = |reason: &str, message: &str| json!({"phase": "Failed", "reason": reason, "message": message});
    let backing_off = || waiting("ImagePullBackOff", "Back-off pulling image \"r.example/a\"");
    let creating = || waiting("ContainerCreating", "");
    let rendered: Vec<String> = [
        refused(r#"admission webhook "policy.example" denied the request: no"#),
        refused(r#"pods "a" is forbidden: violates PodSecurity "restricted": host namespaces"#),
        refused(r#"pods "a" is forbidden: unable to validate against any security context constraint: []"#),
        refused(r#"pods "a" is forbidden: exceeded quota: compute, requested: cpu=1"#),
        refused(r#"pods "a" is forbidden: error looking up service account a/preflight-runner"#),
        of_pod(&nowhere),
        of_pod(&eviction_error("OutOfmemory", "Node didn't have enough resource: memory")),
        of_pod(&eviction_error("Evicted", "The node was low on resource: ephemeral-storage.")),
        of_pod(&eviction_error("Preempting", "Preempted in order to admit critical pod")),
        waiting("ErrImagePull", "manifest for r.example/a not found"),
        telling(
            backing_off(),
            "Failed",
            "Failed to pull image \"r.example/a\": x509: unknown authority",
        ),
        telling(
            backing_off(),
            "Failed",
            "Failed to pull image \"r.example/a\": unauthorized: access",
        ),
        backing_off(),
        telling(
            creating(),
            "FailedMount",
            "MountVolume.SetUp failed for volume \"results\": not a directory",
        ),
        waiting("CreateContainerError", "no command specified"),
        ended(128, "StartError", "exec /usr/bin/fairway: exec format error"),
        ended(137, "OOMKilled", ""),
        ended(137, "Error", ""),
        ended(2, "Error", "error: unrecognized subcommand 'preflight'\n\nUsage: fairway <COMMAND>"),
        ended(1, "Error", "Error: unknown command \"preflight\" for \"cluster-version-operator\""),
        ended(2, "Error", "panic: runtime error"),
        ended(101, "Error", "thread 'main' panicked at src/main.rs\nboom"),
    ]
    .iter()
    .map(|seen| {
        let PreflightError { reason, message, is_permanent } = seen.error(false).expect("there is trouble");
        format!("{}{}: {message}", reason.code, if is_permanent { "!" } else { "" })
    })
    .collect();
    insta::assert_snapshot!(rendered.join("\n"), @r#"
    AdmissionDenied: the cluster refuses the preflight Pods: admission webhook "policy.example" denied the request: no
    AdmissionDenied: the cluster refuses the preflight Pods: pods "a" is forbidden: violates PodSecurity "restricted": host namespaces
    AdmissionDenied: the cluster refuses the preflight Pods: pods "a" is forbidden: unable to validate against any security context constraint: []; apply the SecurityContextConstraints of deploy/operator/openshift.yaml
    DeploymentFailed: cannot create the preflight: pods "a" is forbidden: exceeded quota: compute, requested: cpu=1
    DeploymentFailed: cannot create the preflight: pods "a" is forbidden: error looking up service account a/preflight-runner
    Unschedulable: cannot schedule the preflight Pod: 0/1 nodes are available: 1 Insufficient memory.
    Unschedulable: the node rejected the preflight Pod (OutOfmemory): Node didn't have enough resource: memory
    Evicted: the node evicted the preflight Pod: The node was low on resource: ephemeral-storage.
    Killed: the node terminated the preflight Pod (Preempting): Preempted in order to admit critical pod
    ImagePullBackOff: the node cannot pull the release image: manifest for r.example/a not found
    ImagePullBackOff: the node cannot pull the release image: Failed to pull image "r.example/a": x509: unknown authority
    ImagePullUnauthorized: the registry denied the node access to the release image: Failed to pull image "r.example/a": unauthorized: access
    ImagePullBackOff: the node cannot pull the release image: Back-off pulling image "r.example/a"
    VolumeMountFailed: cannot mount a volume of the preflight Pod: MountVolume.SetUp failed for volume "results": not a directory
    StartFailed: cannot start the preflight container: no command specified
    StartFailed: cannot start the preflight container: exec /usr/bin/fairway: exec format error
    OOMKilled: the preflight exceeded its memory limit
    Killed: signal 9 terminated the preflight of the target release
    PreflightNotSupported!: the target release is too old to support preflights
    PreflightNotSupported!: the target release is too old to support preflights
    CrashLoopBackOff: the preflight of the target release exited with code 2: panic: runtime error
    CrashLoopBackOff: the preflight of the target release exited with code 101: thread 'main' panicked at src/main.rs boom
    "#);
}

#[test]
fn error_of_starting_run_is_none() {
    let running = json!({"state": {"running": {}}});
    for seen in [
        RunObservation::default(),
        waiting("ContainerCreating", ""),
        waiting("PodInitializing", ""),
        RunObservation { pods: Some(vec![container(&running)]), ..RunObservation::default() },
    ] {
        assert_eq!(seen.error(false), None);
    }
}

#[test]
fn error_of_usage_after_results_is_crash() {
    let rendered = ended(2, "Error", "Usage: fairway").error(true).unwrap();
    assert_eq!(rendered.reason, preflight_failed::CRASH_LOOP_BACK_OFF);
}

#[test]
fn error_of_restarted_container_with_results_is_none() {
    let ended = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    let status = json!({"restartCount": 1, "state": {"running": {}}, "lastState": ended});
    let seen = RunObservation { pods: Some(vec![container(&status)]), ..RunObservation::default() };
    assert_eq!(seen.error(false).map(|it| it.reason), Some(preflight_failed::OOM_KILLED));
    assert_eq!(seen.error(true), None);
}

#[test]
fn crashes_are_summed_over_pods() {
    let crashed = |restarts: u32, state: &Value| {
        container(&json!({"restartCount": restarts, "state": state}))
    };
    let running = json!({"running": {}});
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    let over = json!({"terminated": {"exitCode": 1}});
    let pulling = json!({"waiting": {"reason": "ErrImagePull"}});
    assert_eq!(RunObservation::default().crashes(), None, "unknown before the first list");
    for (pods, expected) in [
        (vec![], 0),
        (vec![crashed(0, &running)], 0),
        (vec![crashed(0, &pulling)], 0),
        (vec![crashed(0, &over)], 1),
        (vec![crashed(1, &running)], 1),
        (vec![crashed(1, &waiting)], 2),
        (vec![crashed(2, &waiting)], 3),
        (vec![crashed(1, &waiting), crashed(0, &over)], 3),
    ] {
        assert_eq!(
            RunObservation { pods: Some(pods), ..RunObservation::default() }.crashes(),
            Some(expected)
        );
    }
}

#[test]
fn error_of_mount_event_after_start_is_none() {
    let running = json!({"state": {"running": {}}});
    let seen =
        RunObservation { pods: Some(vec![container(&running)]), ..RunObservation::default() };
    assert_eq!(telling(seen, "FailedMount", "timed out").error(false), None);
}

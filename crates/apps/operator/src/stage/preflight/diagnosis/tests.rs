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

fn waiting(reason: &str, message: &str) -> Seen {
    let state = json!({"waiting": {"reason": reason, "message": message}});
    Seen { pods: Some(vec![container(&json!({"state": state}))]), ..Seen::default() }
}

/// A program that has ended once, and waits.
fn ended(code: i32, reason: &str, message: &str) -> Seen {
    let ended = json!({"terminated": {"exitCode": code, "reason": reason, "message": message}});
    let state = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}});
    let status = json!({"state": state, "lastState": ended});
    Seen { pods: Some(vec![container(&status)]), ..Seen::default() }
}

fn telling(mut seen: Seen, reason: &str, message: &str) -> Seen {
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"name": "preflight-1"},
        "reason": reason, "message": message,
    });
    seen.events.push(Arc::new(serde_json::from_value(event).unwrap()));
    seen
}

fn of_pod(status: &Value) -> Seen {
    Seen { pods: Some(vec![pod(status)]), ..Seen::default() }
}

fn refused(message: &str) -> Seen {
    let deployment = json!({"metadata": {"name": "d"}, "status": {"conditions": [
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message},
    ]}});
    let deployment = Arc::new(serde_json::from_value(deployment).unwrap());
    Seen { deployment: Some(deployment), ..Seen::default() }
}

#[test]
fn every_failure_is_told_apart() {
    let nowhere = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient memory.",
    }]});
    let evicted = |reason: &str, message: &str| json!({"phase": "Failed", "reason": reason, "message": message});
    let backing_off = || waiting("ImagePullBackOff", "Back-off pulling image \"r.example/a\"");
    let creating = || waiting("ContainerCreating", "");
    let told: Vec<String> = [
        refused(r#"admission webhook "policy.example" denied the request: no"#),
        refused(r#"pods "a" is forbidden: violates PodSecurity "restricted": host namespaces"#),
        refused(r#"pods "a" is forbidden: unable to validate against any security context constraint: []"#),
        refused(r#"pods "a" is forbidden: exceeded quota: compute, requested: cpu=1"#),
        refused(r#"pods "a" is forbidden: error looking up service account a/preflight-runner"#),
        of_pod(&nowhere),
        of_pod(&evicted("OutOfmemory", "Node didn't have enough resource: memory")),
        of_pod(&evicted("Evicted", "The node was low on resource: ephemeral-storage.")),
        of_pod(&evicted("Preempting", "Preempted in order to admit critical pod")),
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
        let Trouble { reason, message, is_final } = seen.trouble(false).expect("there is trouble");
        format!("{}{}: {message}", reason.code, if is_final { "!" } else { "" })
    })
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
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
    StartFailed: cannot start the target release: no command specified
    StartFailed: cannot start the target release: exec /usr/bin/fairway: exec format error
    OOMKilled: the target release exceeded the memory limit of the preflight
    Killed: signal 9 terminated the target release
    PreflightNotSupported!: the target release is too old to support preflights
    PreflightNotSupported!: the target release is too old to support preflights
    CrashLoopBackOff: the target release exited with code 2: panic: runtime error
    CrashLoopBackOff: the target release exited with code 101: thread 'main' panicked at src/main.rs boom
    "#);
}

#[test]
fn all_is_well_while_nothing_is_told() {
    let running = json!({"state": {"running": {}}});
    for seen in [
        Seen::default(),
        waiting("ContainerCreating", ""),
        waiting("PodInitializing", ""),
        Seen { pods: Some(vec![container(&running)]), ..Seen::default() },
    ] {
        assert_eq!(seen.trouble(false), None);
    }
}

#[test]
fn a_program_that_has_said_something_knows_preflights() {
    let told = ended(2, "Error", "Usage: fairway").trouble(true).unwrap();
    assert_eq!(told.reason, preflight_failed::CRASH_LOOP_BACK_OFF);
}

#[test]
fn how_a_program_ended_is_no_trouble_once_it_runs_again_and_has_spoken() {
    let ended = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    let status = json!({"restartCount": 1, "state": {"running": {}}, "lastState": ended});
    let seen = Seen { pods: Some(vec![container(&status)]), ..Seen::default() };
    assert_eq!(seen.trouble(false).map(|it| it.reason), Some(preflight_failed::OOM_KILLED));
    assert_eq!(seen.trouble(true), None);
}

#[test]
fn crashes_are_counted_over_all_pods() {
    let crashed = |restarts: u32, state: &Value| {
        container(&json!({"restartCount": restarts, "state": state}))
    };
    let running = json!({"running": {}});
    let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    let over = json!({"terminated": {"exitCode": 1}});
    let pulling = json!({"waiting": {"reason": "ErrImagePull"}});
    assert_eq!(Seen::default().crashes(), None, "nobody has looked");
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
        assert_eq!(Seen { pods: Some(pods), ..Seen::default() }.crashes(), Some(expected));
    }
}

#[test]
fn a_volume_that_was_slow_is_no_trouble_once_the_program_runs() {
    let running = json!({"state": {"running": {}}});
    let seen = Seen { pods: Some(vec![container(&running)]), ..Seen::default() };
    assert_eq!(telling(seen, "FailedMount", "timed out").trouble(false), None);
}

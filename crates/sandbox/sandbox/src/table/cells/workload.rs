//! Cells of pods and workloads.

use serde_json::{Value, json};

use crate::table::age::{human_duration, seconds_between};
use crate::table::row::{NONE, RowContext};

pub(in crate::table) fn pod(it: RowContext<'_>) -> Vec<Value> {
    let summary = pod_summary(it);
    vec![
        it.name(),
        json!(format!("{}/{}", summary.ready, it.count("/spec/containers"))),
        json!(summary.status),
        json!(summary.restarts),
        it.age(),
        json!(it.text_or("/status/podIP", NONE)),
        json!(it.text_or("/spec/nodeName", NONE)),
        json!(it.text_or("/status/nominatedNodeName", NONE)),
        json!(readiness_gates(it)),
    ]
}

/// Row conditions: clients can hide finished pods.
pub(in crate::table) fn pod_conditions(object: &Value) -> Vec<Value> {
    let (reason, message) = match object.pointer("/status/phase").and_then(Value::as_str) {
        Some("Succeeded") => ("Succeeded", "The pod has completed successfully."),
        Some("Failed") => ("Failed", "The pod failed."),
        _ => return Vec::new(),
    };
    vec![json!({ "type": "Completed", "status": "True", "reason": reason, "message": message })]
}

struct PodSummary {
    status: String,
    ready: usize,
    restarts: i64,
}

fn pod_summary(it: RowContext<'_>) -> PodSummary {
    let status = it.text_or("/status/reason", it.text("/status/phase")).to_owned();
    let mut summary = initializing(it).unwrap_or_else(|| running(it, status));
    if it.is_being_deleted() {
        let lost = it.text("/status/reason") == "NodeLost";
        (if lost { "Unknown" } else { "Terminating" }).clone_into(&mut summary.status);
    }
    summary
}

/// Status of the first init container that has not succeeded, if any.
fn initializing(it: RowContext<'_>) -> Option<PodSummary> {
    let mut restarts = 0_i64;
    for (number, container) in it.parts("/status/initContainerStatuses").enumerate() {
        restarts = restarts.saturating_add(container.number("/restartCount"));
        let waiting = container.text("/state/waiting/reason");
        let status = match ended(container) {
            Some((0, ..)) => continue,
            Some((code, 0, "")) => format!("Init:ExitCode:{code}"),
            Some((_, signal, "")) => format!("Init:Signal:{signal}"),
            Some((_, _, reason)) => format!("Init:{reason}"),
            None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
            None => format!("Init:{number}/{}", it.count("/spec/initContainers")),
        };
        return Some(PodSummary { status, ready: 0, restarts });
    }
    None
}

/// Status of the first container that waits or has exited, otherwise `status`.
fn running(it: RowContext<'_>, status: String) -> PodSummary {
    let mut summary = PodSummary { status, ready: 0, restarts: 0 };
    let containers: Vec<_> = it.parts("/status/containerStatuses").collect();
    for container in containers.into_iter().rev() {
        summary.restarts = summary.restarts.saturating_add(container.number("/restartCount"));
        let waiting = container.text("/state/waiting/reason");
        match ended(container) {
            _ if !waiting.is_empty() => waiting.clone_into(&mut summary.status),
            Some((code, 0, "")) => summary.status = format!("ExitCode:{code}"),
            Some((_, signal, "")) => summary.status = format!("Signal:{signal}"),
            Some((.., reason)) => reason.clone_into(&mut summary.status),
            _ if container.flag("/ready") && container.fields("/state/running").is_some() => {
                summary.ready += 1;
            }
            _ => {}
        }
    }
    // At least one container still runs.
    if summary.status == "Completed" && summary.ready > 0 {
        let ready = is_condition_true(it, "Ready");
        (if ready { "Running" } else { "NotReady" }).clone_into(&mut summary.status);
    }
    summary
}

/// Exit code, signal and reason of an exited container.
fn ended(container: RowContext<'_>) -> Option<(i64, i64, &str)> {
    container.fields("/state/terminated")?;
    Some((
        container.number("/state/terminated/exitCode"),
        container.number("/state/terminated/signal"),
        container.text("/state/terminated/reason"),
    ))
}

fn readiness_gates(it: RowContext<'_>) -> String {
    let gates = it.texts_of("/spec/readinessGates", "conditionType");
    let open = gates.iter().filter(|gate| is_condition_true(it, gate)).count();
    if gates.is_empty() { NONE.to_owned() } else { format!("{open}/{}", gates.len()) }
}

fn is_condition_true(it: RowContext<'_>, kind: &str) -> bool {
    let condition = it.parts("/status/conditions").find(|part| part.text("/type") == kind);
    condition.is_some_and(|condition| condition.text("/status") == "True")
}

pub(in crate::table) fn deployment(it: RowContext<'_>) -> Vec<Value> {
    let cells = vec![
        it.name(),
        ready(it),
        json!(it.number("/status/updatedReplicas")),
        json!(it.number("/status/availableReplicas")),
        it.age(),
    ];
    with_containers(cells, it)
}

pub(in crate::table) fn replica_set(it: RowContext<'_>) -> Vec<Value> {
    let cells = vec![
        it.name(),
        json!(it.number_or("/spec/replicas", 1)),
        json!(it.number("/status/replicas")),
        json!(it.number("/status/readyReplicas")),
        it.age(),
    ];
    with_containers(cells, it)
}

pub(in crate::table) fn daemon_set(it: RowContext<'_>) -> Vec<Value> {
    let number = |field: &str| json!(it.number(&format!("/status/{field}")));
    let cells = vec![
        it.name(),
        number("desiredNumberScheduled"),
        number("currentNumberScheduled"),
        number("numberReady"),
        number("updatedNumberScheduled"),
        number("numberAvailable"),
        json!(it.labels("/spec/template/spec/nodeSelector")),
        it.age(),
    ];
    with_containers(cells, it)
}

pub(in crate::table) fn job(it: RowContext<'_>) -> Vec<Value> {
    let cells = vec![it.name(), json!(completions(it)), json!(duration(it)), it.age()];
    with_containers(cells, it)
}

fn ready(it: RowContext<'_>) -> Value {
    let (ready, wanted) = (it.number("/status/readyReplicas"), it.number_or("/spec/replicas", 1));
    json!(format!("{ready}/{wanted}"))
}

fn with_containers(mut cells: Vec<Value>, it: RowContext<'_>) -> Vec<Value> {
    let containers = "/spec/template/spec/containers";
    cells.push(json!(it.texts_of(containers, "name").join(",")));
    cells.push(json!(it.texts_of(containers, "image").join(",")));
    cells.push(json!(it.selector("/spec/selector")));
    cells
}

fn completions(it: RowContext<'_>) -> String {
    let done = it.number("/status/succeeded");
    let parallelism = it.number("/spec/parallelism");
    match it.value("/spec/completions").as_i64() {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        None => format!("{done}/1"),
    }
}

/// Duration from start to completion, or until now; empty if not started.
fn duration(it: RowContext<'_>) -> String {
    let time = |path: &str| it.text(path).parse().ok();
    let Some(start) = time("/status/startTime") else { return String::new() };
    human_duration(seconds_between(start, time("/status/completionTime").unwrap_or(it.now)))
}

//! Pods: one word for all that their containers go through.

use serde_json::{Value, json};

use crate::table::subject::{NONE, Subject};

pub(in crate::table) fn cells(it: Subject<'_>) -> Vec<Value> {
    let summary = summary(it);
    vec![
        it.name(),
        json!(format!("{}/{}", summary.ready, it.count("/spec/containers"))),
        json!(summary.word),
        json!(summary.restarts),
        it.age(),
        json!(it.text_or("/status/podIP", NONE)),
        json!(it.text_or("/spec/nodeName", NONE)),
        json!(it.text_or("/status/nominatedNodeName", NONE)),
        json!(readiness_gates(it)),
    ]
}

/// Clients hide or mark pods that have ended.
pub(in crate::table) fn conditions(object: &Value) -> Vec<Value> {
    let (reason, message) = match object.pointer("/status/phase").and_then(Value::as_str) {
        Some("Succeeded") => ("Succeeded", "The pod has completed successfully."),
        Some("Failed") => ("Failed", "The pod failed."),
        _ => return Vec::new(),
    };
    vec![json!({ "type": "Completed", "status": "True", "reason": reason, "message": message })]
}

struct Summary {
    word: String,
    ready: usize,
    restarts: i64,
}

fn summary(it: Subject<'_>) -> Summary {
    let word = it.text_or("/status/reason", it.text("/status/phase")).to_owned();
    let mut summary = initializing(it).unwrap_or_else(|| running(it, word));
    if it.is_being_deleted() {
        let lost = it.text("/status/reason") == "NodeLost";
        (if lost { "Unknown" } else { "Terminating" }).clone_into(&mut summary.word);
    }
    summary
}

/// What the first init container says that has not succeeded, if there is one.
fn initializing(it: Subject<'_>) -> Option<Summary> {
    let mut restarts = 0_i64;
    for (number, container) in it.parts("/status/initContainerStatuses").enumerate() {
        restarts = restarts.saturating_add(container.number("/restartCount"));
        let waiting = container.text("/state/waiting/reason");
        let word = match ended(container) {
            Some((0, ..)) => continue,
            Some((code, 0, "")) => format!("Init:ExitCode:{code}"),
            Some((_, signal, "")) => format!("Init:Signal:{signal}"),
            Some((_, _, reason)) => format!("Init:{reason}"),
            None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
            None => format!("Init:{number}/{}", it.count("/spec/initContainers")),
        };
        return Some(Summary { word, ready: 0, restarts });
    }
    None
}

/// What the first container says that waits or has ended, else `word`.
fn running(it: Subject<'_>, word: String) -> Summary {
    let mut summary = Summary { word, ready: 0, restarts: 0 };
    let containers: Vec<_> = it.parts("/status/containerStatuses").collect();
    for container in containers.into_iter().rev() {
        summary.restarts = summary.restarts.saturating_add(container.number("/restartCount"));
        let waiting = container.text("/state/waiting/reason");
        match ended(container) {
            _ if !waiting.is_empty() => waiting.clone_into(&mut summary.word),
            Some((code, 0, "")) => summary.word = format!("ExitCode:{code}"),
            Some((_, signal, "")) => summary.word = format!("Signal:{signal}"),
            Some((.., reason)) => reason.clone_into(&mut summary.word),
            _ if container.flag("/ready") && container.fields("/state/running").is_some() => {
                summary.ready += 1;
            }
            _ => {}
        }
    }
    // One container has ended and another one runs.
    if summary.word == "Completed" && summary.ready > 0 {
        let ready = is_condition_true(it, "Ready");
        (if ready { "Running" } else { "NotReady" }).clone_into(&mut summary.word);
    }
    summary
}

/// The exit code, the signal and the reason of a container that has ended.
fn ended(container: Subject<'_>) -> Option<(i64, i64, &str)> {
    container.fields("/state/terminated")?;
    Some((
        container.number("/state/terminated/exitCode"),
        container.number("/state/terminated/signal"),
        container.text("/state/terminated/reason"),
    ))
}

fn readiness_gates(it: Subject<'_>) -> String {
    let gates = it.texts_of("/spec/readinessGates", "conditionType");
    let open = gates.iter().filter(|gate| is_condition_true(it, gate)).count();
    if gates.is_empty() { NONE.to_owned() } else { format!("{open}/{}", gates.len()) }
}

fn is_condition_true(it: Subject<'_>, kind: &str) -> bool {
    let condition = it.parts("/status/conditions").find(|part| part.text("/type") == kind);
    condition.is_some_and(|condition| condition.text("/status") == "True")
}

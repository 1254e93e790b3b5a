//! What the deletion of an object comes to, step by step.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::delete_options::{DeleteOptions, Dependents};
use super::{lifecycle, meta};
use crate::catalog::Resource;

/// Dependents stay: the garbage collector takes their owner references off first.
const ORPHAN: &str = "orphan";
/// Dependents go first: the garbage collector deletes them.
const FOREGROUND: &str = "foregroundDeletion";

/// Whoever removes the objects of a definition takes it off.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What a pod gets that does not say how long it needs to stop.
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// What comes next.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing: it is up to others.
    Wait,
    /// The object is marked.
    Mark(Value),
    /// The object goes.
    Remove,
}

/// The kinds whose deletion is answered with the object itself.
const SHOWN: [(&str, &str); 6] = [
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "ResourceQuota"),
    ("", "ServiceAccount"),
    ("storage.k8s.io", "StorageClass"),
];

/// Whether clients get the last state of what is gone, rather than the mere news.
pub(super) fn shows_the_object(resource: &Resource) -> bool {
    SHOWN.contains(&(&*resource.group, &*resource.kind))
}

/// What comes next in the deletion of an object.
pub(super) fn next(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Step {
    let mut marked = object.clone();
    let is = |kind: &str| resource.group.is_empty() && resource.kind == kind;
    if is("Namespace") {
        return namespace(marked, now);
    }
    if resource.kind == "CustomResourceDefinition" && !meta::is_terminating(object) {
        return definition(marked, now);
    }
    let graceful = match is("Pod").then(|| grace(object, options)) {
        None => Grace::None,
        Some(grace) => grace,
    };
    match graceful {
        Grace::Pending => return Step::Wait,
        Grace::None => {}
        Grace::Begins(seconds) => lifecycle::end(&mut marked, now, seconds),
        Grace::Shortened { by, to } => shorten(&mut marked, by, to),
    }
    let finalizers = finalizers(resource, object, options);
    let waits = !finalizers.is_empty();
    if waits || meta::field(object, "finalizers").is_some() {
        meta::set(&mut marked, "finalizers", json!(finalizers));
    }
    if waits && graceful == Grace::None {
        if !meta::is_terminating(object) {
            lifecycle::end(&mut marked, now, 0);
        }
        meta::set(&mut marked, "deletionGracePeriodSeconds", 0);
    }
    match (waits, graceful) {
        (false, Grace::None) => Step::Remove,
        _ if marked == *object => Step::Wait,
        _ => Step::Mark(marked),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Grace {
    /// There is nothing to be patient with.
    None,
    /// It runs already.
    Pending,
    Begins(i64),
    Shortened {
        by: i64,
        to: i64,
    },
}

/// How long a pod may take to stop.
fn grace(pod: &Value, options: &DeleteOptions) -> Grace {
    if meta::is_terminating(pod) {
        let running = meta::field(pod, "deletionGracePeriodSeconds").and_then(Value::as_i64);
        return match (running.unwrap_or_default(), options.grace_period_seconds) {
            (0, _) => Grace::None,
            (running, Some(wanted)) if wanted < running => {
                Grace::Shortened { by: running - wanted, to: wanted }
            }
            _ => Grace::Pending,
        };
    }
    let of_pod = pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    let wanted = options.grace_period_seconds.or(of_pod).unwrap_or(DEFAULT_GRACE_SECONDS);
    let text = |path| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let runs_nowhere = text("/spec/nodeName").is_empty();
    let has_ended = matches!(text("/status/phase"), "Failed" | "Succeeded");
    Grace::Begins(if runs_nowhere || has_ended { 0 } else { wanted })
}

fn shorten(pod: &mut Value, by: i64, to: i64) {
    let deadline: Option<Timestamp> = meta::text(pod, "deletionTimestamp").parse().ok();
    let deadline = deadline.and_then(|it| it.checked_sub(SignedDuration::from_secs(by)).ok());
    if let Some(deadline) = deadline {
        meta::set(pod, "deletionTimestamp", meta::time(deadline));
    }
    meta::set(pod, "deletionGracePeriodSeconds", to);
}

/// Who has a say, with what the client wants for the dependents.
fn finalizers(resource: &Resource, object: &Value, options: &DeleteOptions) -> Vec<String> {
    let given = meta::finalizers(object);
    let has = |finalizer: &str| given.contains(&finalizer);
    let (orphan, foreground) = match options.dependents() {
        Some(Dependents::Orphan) => (true, false),
        Some(Dependents::Foreground) => (false, true),
        Some(Dependents::Background) => (false, false),
        None if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), has(FOREGROUND)),
        None => (orphans_by_default(resource), false),
    };
    let others = given.iter().filter(|name| !matches!(**name, ORPHAN | FOREGROUND));
    let mut finalizers: Vec<String> = others.map(|&name| name.to_owned()).collect();
    finalizers.extend(orphan.then(|| ORPHAN.to_owned()));
    finalizers.extend(foreground.then(|| FOREGROUND.to_owned()));
    finalizers
}

/// Jobs leave their pods behind, as they did before there was a garbage collector.
fn orphans_by_default(resource: &Resource) -> bool {
    resource.group == "batch" && resource.kind == "Job"
}

/// A namespace goes when its content is gone.
fn namespace(mut namespace: Value, now: Timestamp) -> Step {
    if !meta::is_terminating(&namespace) {
        meta::set(&mut namespace, "deletionTimestamp", meta::time(now));
        namespace["status"]["phase"] = json!("Terminating");
        return Step::Mark(namespace);
    }
    if lifecycle::is_finished(&namespace) { Step::Remove } else { Step::Wait }
}

/// A definition goes when all objects are gone that it defines.
fn definition(mut definition: Value, now: Timestamp) -> Step {
    meta::set(&mut definition, "deletionTimestamp", meta::time(now));
    let mut finalizers = meta::finalizers(&definition);
    if !finalizers.contains(&CLEANUP) {
        finalizers.push(CLEANUP);
    }
    let finalizers = json!(finalizers);
    meta::set(&mut definition, "finalizers", finalizers);
    let condition = json!({
        "type": "Terminating", "status": "True", "lastTransitionTime": meta::time(now),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will \
                    begin soon",
    });
    match definition["status"]["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(condition),
        None => definition["status"]["conditions"] = json!([condition]),
    }
    Step::Mark(definition)
}

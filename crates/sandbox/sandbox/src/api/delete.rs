//! The verbs delete and deletecollection.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::context::{MAX_ATTEMPTS, RequestContext, WriteAction};
use super::options::DeleteOptions;
use super::read::selection;
use super::{
    AdmissionOperation, ApiResponse, ApiResult, Propagation, StatusError, admission, meta,
};
use crate::catalog::Resource;
use crate::store::{Key, ListOptions};

/// Finalizer for which the garbage collector removes owner references from dependents.
const ORPHAN: &str = "orphan";

/// Finalizer for which the garbage collector deletes dependents first.
const FOREGROUND: &str = "foregroundDeletion";

/// Finalizer that is removed after all custom resources of a CRD are deleted.
const CUSTOM_RESOURCE_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Default of `terminationGracePeriodSeconds`.
const DEFAULT_GRACE_PERIOD_SECONDS: i64 = 30;

/// Kinds whose deletion returns the object instead of a `Status`.
const RETURNED_KINDS: [(&str, &str); 6] = [
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("", "ResourceQuota"),
    ("", "ServiceAccount"),
    ("storage.k8s.io", "StorageClass"),
];

/// The result of a deletion.
struct DeletedObject {
    last: Arc<Value>,
    gone: bool,
}

/// Deletes an object.
pub(super) fn delete(context: &RequestContext<'_>) -> ApiResult {
    let options = DeleteOptions::read(context.request)?;
    let key = context.key()?;
    let deleted = delete_one(context, &key, &options)?;
    if deleted.gone && !returns_object(context.resource()) {
        return Ok(ApiResponse::Document(success(context.resource(), &deleted.last)));
    }
    if !deleted.gone && options.orphan_dependents == Some(false) {
        return Ok(ApiResponse::Accepted(
            (*context.strategy.to_requested_version(&deleted.last)).clone(),
        ));
    }
    Ok(context.object_response(&deleted.last, false, Vec::new()))
}

/// Deletes all selected objects and returns them.
pub(super) fn delete_collection(context: &RequestContext<'_>) -> ApiResult {
    let options = DeleteOptions::read(context.request)?;
    let selection = selection(context.request)?;
    let store = context.api.store();
    let mut list = store.list(&context.strategy.storage(), &selection, &ListOptions::default())?;
    for object in &mut list.items {
        let key = context.key_for(meta::text(object, "name"))?;
        match delete_one(context, &key, &options) {
            // Another client deleted it first.
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        *object = context.strategy.to_requested_version(object);
    }
    Ok(ApiResponse::List(list))
}

/// Deletes an object step by step until it is gone or waits for finalizers or its grace period.
fn delete_one(
    context: &RequestContext<'_>,
    key: &Key,
    options: &DeleteOptions,
) -> ApiResult<DeletedObject> {
    let resource = context.resource();
    admission::delete(resource, key.name())?;
    let mut marked: Option<Arc<Value>> = None;
    for _ in 0..MAX_ATTEMPTS {
        let old = match (context.stored_object(key), &marked) {
            // A dry run continues with the object that would be stored.
            (_, Some(marked)) if options.dry_run => Arc::clone(marked),
            (Ok(old), _) => old,
            // A concurrent write that completed the marked object has removed it.
            (Err(_), Some(last)) => {
                return Ok(DeletedObject { last: Arc::clone(last), gone: true });
            }
            (Err(error), None) => return Err(error),
        };
        if marked.is_none() {
            options.check_preconditions(resource, &old)?;
            let shown = context.strategy.to_requested_version(&old);
            context.review(key, AdmissionOperation::Delete, None, Some(&shown), options.dry_run)?;
        }
        let (action, gone, is_last) = match next_step(resource, &old, options, context.now) {
            DeletionStep::Wait => return Ok(DeletedObject { last: old, gone: false }),
            DeletionStep::Remove => (WriteAction::Remove((*old).clone()), true, true),
            DeletionStep::Store(object) => {
                let is_last = !meta::is_deletable(&object);
                (WriteAction::Store(object), false, is_last)
            }
        };
        match context.commit(key, &old, action, options.dry_run)? {
            Some(last) if is_last => return Ok(DeletedObject { last, gone }),
            Some(object) => marked = Some(object),
            None => {}
        }
    }
    Err(StatusError::stale(resource, key.name()))
}

fn success(resource: &Resource, last: &Value) -> Value {
    let mut details = json!({ "name": meta::text(last, "name") });
    if !resource.group.is_empty() {
        details["group"] = json!(resource.group);
    }
    details["kind"] = json!(resource.plural);
    details["uid"] = json!(meta::text(last, "uid"));
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Success", "details": details,
    })
}

/// The next step of a deletion.
#[derive(Debug, PartialEq)]
pub(super) enum DeletionStep {
    /// No change: finalizers or a grace period are pending.
    Wait,
    /// Store the object with its deletion fields.
    Store(Value),
    /// Remove the object.
    Remove,
}

/// Whether a deletion returns the last state of the object instead of a `Status`.
pub(super) fn returns_object(resource: &Resource) -> bool {
    RETURNED_KINDS.contains(&(&*resource.group, &*resource.kind))
}

/// Determines the next step of a deletion.
pub(super) fn next_step(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> DeletionStep {
    let mut marked = object.clone();
    let is = |kind: &str| resource.group.is_empty() && resource.kind == kind;
    if is("Namespace") {
        return namespace_step(marked, now);
    }
    if resource.kind == "CustomResourceDefinition" && !meta::is_terminating(object) {
        return crd_step(marked, now);
    }
    let grace = match is("Pod").then(|| grace_period(object, options)) {
        None => GracePeriod::None,
        Some(grace) => grace,
    };
    match grace {
        GracePeriod::Pending => return DeletionStep::Wait,
        GracePeriod::None => {}
        GracePeriod::Starts(seconds) => meta::mark_deleted(&mut marked, now, seconds),
        GracePeriod::Shortened { by, to } => shorten(&mut marked, by, to),
    }
    let finalizers = finalizers(resource, object, options);
    let is_pending = !finalizers.is_empty();
    if is_pending || meta::field(object, "finalizers").is_some() {
        meta::set(&mut marked, "finalizers", json!(finalizers));
    }
    if is_pending && grace == GracePeriod::None {
        if !meta::is_terminating(object) {
            meta::mark_deleted(&mut marked, now, 0);
        }
        meta::set(&mut marked, "deletionGracePeriodSeconds", 0);
    }
    match (is_pending, grace) {
        (false, GracePeriod::None) => DeletionStep::Remove,
        _ if marked == *object => DeletionStep::Wait,
        _ => DeletionStep::Store(marked),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum GracePeriod {
    /// The kind has no grace period, or it has expired.
    None,
    /// A grace period is running.
    Pending,
    Starts(i64),
    Shortened {
        by: i64,
        to: i64,
    },
}

/// The grace period of a pod.
fn grace_period(pod: &Value, options: &DeleteOptions) -> GracePeriod {
    if meta::is_terminating(pod) {
        let running = meta::field(pod, "deletionGracePeriodSeconds").and_then(Value::as_i64);
        return match (running.unwrap_or_default(), options.grace_period_seconds) {
            (0, _) => GracePeriod::None,
            (running, Some(wanted)) if wanted < running => {
                GracePeriod::Shortened { by: running - wanted, to: wanted }
            }
            _ => GracePeriod::Pending,
        };
    }
    let in_spec = pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    let wanted = options.grace_period_seconds.or(in_spec).unwrap_or(DEFAULT_GRACE_PERIOD_SECONDS);
    let text = |path| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let is_unscheduled = text("/spec/nodeName").is_empty();
    let has_ended = matches!(text("/status/phase"), "Failed" | "Succeeded");
    GracePeriod::Starts(if is_unscheduled || has_ended { 0 } else { wanted })
}

fn shorten(pod: &mut Value, by: i64, to: i64) {
    let deadline: Option<Timestamp> = meta::text(pod, "deletionTimestamp").parse().ok();
    let deadline = deadline.and_then(|it| it.checked_sub(SignedDuration::from_secs(by)).ok());
    if let Some(deadline) = deadline {
        meta::set(pod, "deletionTimestamp", meta::time(deadline));
    }
    meta::set(pod, "deletionGracePeriodSeconds", to);
}

/// The finalizers, with those that the propagation policy adds or removes.
fn finalizers(resource: &Resource, object: &Value, options: &DeleteOptions) -> Vec<String> {
    let given = meta::finalizers(object);
    let has = |finalizer: &str| given.contains(&finalizer);
    let (orphan, foreground) = match options.propagation() {
        Some(Propagation::Orphan) => (true, false),
        Some(Propagation::Foreground) => (false, true),
        Some(Propagation::Background) => (false, false),
        None if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), has(FOREGROUND)),
        None => (orphans_by_default(resource), false),
    };
    let others = given.iter().filter(|name| !matches!(**name, ORPHAN | FOREGROUND));
    let mut finalizers: Vec<String> = others.map(|&name| name.to_owned()).collect();
    finalizers.extend(orphan.then(|| ORPHAN.to_owned()));
    finalizers.extend(foreground.then(|| FOREGROUND.to_owned()));
    finalizers
}

/// Whether dependents are orphaned by default. Only `batch/v1` Jobs are, for compatibility.
fn orphans_by_default(resource: &Resource) -> bool {
    resource.group == "batch" && resource.kind == "Job"
}

/// Next deletion step of a namespace, which is removed after its content.
fn namespace_step(mut namespace: Value, now: Timestamp) -> DeletionStep {
    if !meta::is_terminating(&namespace) {
        meta::set(&mut namespace, "deletionTimestamp", meta::time(now));
        namespace["status"]["phase"] = json!("Terminating");
        return DeletionStep::Store(namespace);
    }
    if meta::is_deletable(&namespace) { DeletionStep::Remove } else { DeletionStep::Wait }
}

/// First deletion step of a CRD: a finalizer keeps it until its custom resources are removed.
fn crd_step(mut crd: Value, now: Timestamp) -> DeletionStep {
    meta::set(&mut crd, "deletionTimestamp", meta::time(now));
    let mut finalizers = meta::finalizers(&crd);
    if !finalizers.contains(&CUSTOM_RESOURCE_CLEANUP) {
        finalizers.push(CUSTOM_RESOURCE_CLEANUP);
    }
    let finalizers = json!(finalizers);
    meta::set(&mut crd, "finalizers", finalizers);
    let condition = json!({
        "type": "Terminating", "status": "True", "lastTransitionTime": meta::time(now),
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will \
                    begin soon",
    });
    match crd["status"]["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(condition),
        None => crd["status"]["conditions"] = json!([condition]),
    }
    DeletionStep::Store(crd)
}

//! What the server sets on objects, whatever clients say.

use jiff::Timestamp;
use serde_json::Value;

use super::{Refusal, meta, random};

/// An object begins: who makes it chooses none of this.
pub(super) fn begin(object: &mut Value, now: Timestamp) -> Result<(), Refusal> {
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        meta::remove(object, field);
    }
    meta::set(object, "uid", random::uid()?);
    meta::set(object, "creationTimestamp", meta::time(now));
    Ok(())
}

/// What a replacement keeps of the object that it replaces, where it does not contradict.
pub(super) fn keep(object: &mut Value, old: &Value) {
    for field in ["creationTimestamp", "generation"] {
        meta::carry(old, object, field);
    }
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if meta::field(object, field).is_none() {
            meta::carry(old, object, field);
        }
    }
    meta::remove(object, "selfLink");
}

/// Whether an object that is being deleted has nothing left to wait for.
pub(super) fn is_finished(object: &Value) -> bool {
    let grace = meta::field(object, "deletionGracePeriodSeconds").and_then(Value::as_i64);
    let waits_for = object.pointer("/spec/finalizers").and_then(Value::as_array);
    meta::is_terminating(object)
        && grace.unwrap_or_default() == 0
        && meta::finalizers(object).is_empty()
        && !(is_namespace(object) && waits_for.is_some_and(|list| !list.is_empty()))
}

/// Whether it is a namespace, which has finalizers of its own.
pub(super) fn is_namespace(object: &Value) -> bool {
    let is = |field: &str, word: &str| object.get(field).and_then(Value::as_str) == Some(word);
    is("kind", "Namespace") && is("apiVersion", "v1")
}

/// Marks an object as being deleted; the grace period begins now.
pub(super) fn end(object: &mut Value, now: Timestamp, grace: i64) {
    let deadline = now.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(now);
    meta::set(object, "deletionTimestamp", meta::time(deadline));
    meta::set(object, "deletionGracePeriodSeconds", grace);
    if let Some(generation) = meta::field(object, "generation").and_then(Value::as_i64)
        && generation > 0
    {
        meta::set(object, "generation", generation + 1);
    }
}

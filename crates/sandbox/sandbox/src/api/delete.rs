//! Deleting objects: at once, or as soon as everybody who has a say agrees.

use std::sync::Arc;

use serde_json::{Value, json};

use super::delete_options::DeleteOptions;
use super::request::Request;
use super::write::{ATTEMPTS, Outcome};
use super::{Operation, Refusal, Reply, admission, deletion, lifecycle, meta, read};
use crate::catalog::Resource;
use crate::store::{Key, ListOptions};
use deletion::Step;

/// What became of an object that was to be deleted.
struct Deleted {
    last: Arc<Value>,
    gone: bool,
}

/// Deletes an object.
pub(super) fn delete(request: &Request<'_>) -> Result<Reply, Refusal> {
    let options = DeleteOptions::read(request.call)?;
    let key = request.key()?;
    let deleted = delete_one(request, &key, &options)?;
    if deleted.gone && !deletion::shows_the_object(request.resource()) {
        return Ok(Reply::Document(success(request.resource(), &deleted.last)));
    }
    if !deleted.gone && options.orphan_dependents == Some(false) {
        return Ok(Reply::Accepted((*request.strategy.shown(&deleted.last)).clone()));
    }
    Ok(request.shown(&deleted.last, false, Vec::new()))
}

/// Deletes all objects that are selected, and shows them.
pub(super) fn delete_collection(request: &Request<'_>) -> Result<Reply, Refusal> {
    let options = DeleteOptions::read(request.call)?;
    let selection = read::selection(request.call)?;
    let store = request.api.store();
    let mut list = store.list(&request.strategy.storage(), &selection, &ListOptions::default())?;
    for object in &mut list.items {
        let key = request.key_of(meta::text(object, "name"))?;
        match delete_one(request, &key, &options) {
            // Somebody else was faster, which is as well.
            Err(refusal) if refusal.code == 404 => {}
            Err(refusal) => return Err(refusal),
            Ok(_) => {}
        }
        *object = request.strategy.shown(object);
    }
    Ok(Reply::List(list))
}

/// Takes one step after the other until the object is gone, or waits for others.
fn delete_one(
    request: &Request<'_>,
    key: &Key,
    options: &DeleteOptions,
) -> Result<Deleted, Refusal> {
    let resource = request.resource();
    admission::delete(resource, key.name())?;
    let mut marked: Option<Arc<Value>> = None;
    for _ in 0..ATTEMPTS {
        let old = match (request.existing(key), &marked) {
            // A rehearsal goes on with what would be there.
            (_, Some(marked)) if options.dry_run => Arc::clone(marked),
            (Ok(old), _) => old,
            // Whoever touches what is marked for the last time removes it.
            (Err(_), Some(last)) => return Ok(Deleted { last: Arc::clone(last), gone: true }),
            (Err(refusal), None) => return Err(refusal),
        };
        if marked.is_none() {
            options.check_preconditions(resource, &old)?;
            let shown = request.strategy.shown(&old);
            request.consult(key, Operation::Delete, None, Some(&shown), options.dry_run)?;
        }
        let (outcome, gone, is_last) = match deletion::next(resource, &old, options, request.now) {
            Step::Wait => return Ok(Deleted { last: old, gone: false }),
            Step::Remove => (Outcome::Remove((*old).clone()), true, true),
            Step::Mark(object) => {
                let is_last = !lifecycle::is_finished(&object);
                (Outcome::Write(object), false, is_last)
            }
        };
        match request.commit(key, &old, outcome, options.dry_run)? {
            Some(last) if is_last => return Ok(Deleted { last, gone }),
            Some(object) => marked = Some(object),
            None => {}
        }
    }
    Err(Refusal::stale(resource, key.name()))
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

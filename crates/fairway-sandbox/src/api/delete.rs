//! Deleting objects: at once, or as soon as everybody who has a say agrees.

use std::sync::Arc;

use serde_json::{Value, json};

use super::delete_options::DeleteOptions;
use super::request::Request;
use super::write::{ATTEMPTS, Outcome};
use super::{Refusal, Reply, admission, deletion, meta, read};
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
    request.shown(deleted.last, false, Vec::new())
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

fn delete_one(
    request: &Request<'_>,
    key: &Key,
    options: &DeleteOptions,
) -> Result<Deleted, Refusal> {
    let resource = request.resource();
    let mut rehearsed = None;
    for _ in 0..ATTEMPTS {
        let old = match rehearsed.take() {
            Some(old) => old,
            None => request.existing(key)?,
        };
        admission::delete(resource, key.name())?;
        options.check_preconditions(resource, &old)?;
        match deletion::next(resource, &old, options, request.now) {
            Step::Wait => return Ok(Deleted { last: old, gone: false }),
            Step::Remove => {
                let last = Outcome::Remove((*old).clone());
                if let Some(last) = request.commit(key, &old, last, options.dry_run)? {
                    return Ok(Deleted { last, gone: true });
                }
            }
            Step::Mark(marked) => {
                let is_last = super::lifecycle::is_finished(&marked);
                let marked = Outcome::Write(marked);
                match request.commit(key, &old, marked, options.dry_run)? {
                    Some(last) if !is_last => return Ok(Deleted { last, gone: false }),
                    Some(last) if options.dry_run => rehearsed = Some(last),
                    _ => {}
                }
            }
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

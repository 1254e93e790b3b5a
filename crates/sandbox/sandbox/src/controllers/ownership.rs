//! Ownership of objects by controllers: adoption and release.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self as meta, ObjectMeta, OwnerReference};
use k8s_openapi::{Metadata, Resource};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::runtime::{Component, ObjectKey, WatchEvent};
use crate::api::StatusError;
use crate::selector::LabelSelector;

/// What a controller does with an object that it may own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// The controller owns it.
    Keep,
    /// It has no controller and is selected.
    Adopt,
    /// The controller owns it, but it is no longer selected.
    Release,
    /// It has another controller or is not selected.
    Ignore,
}

/// Decides what a controller does with an object.
fn claim(controller: &ObjectMeta, object: &ObjectMeta, selected: bool) -> Claim {
    let deleting = controller.deletion_timestamp.is_some();
    match controller_of(object) {
        Some(owner) if Some(&owner.uid) != controller.uid.as_ref() => Claim::Ignore,
        Some(_) if selected => Claim::Keep,
        Some(_) if deleting => Claim::Ignore,
        Some(_) => Claim::Release,
        None if deleting || !selected || object.deletion_timestamp.is_some() => Claim::Ignore,
        None => Claim::Adopt,
    }
}

/// The controller reference of an object.
pub(super) fn controller_of(object: &ObjectMeta) -> Option<&OwnerReference> {
    object.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Kind, name and UID of the controller of a stored object.
pub(super) fn controller_in(object: &Value) -> Option<(&str, &str, &str)> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((controller["kind"].as_str()?, controller["name"].as_str()?, controller["uid"].as_str()?))
}

/// The owner reference to a controller.
pub(super) fn reference<K>(controller: &K) -> OwnerReference
where
    K: Resource + Metadata<Ty = ObjectMeta>,
{
    let metadata = controller.metadata();
    OwnerReference {
        api_version: K::API_VERSION.to_owned(),
        kind: K::KIND.to_owned(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The patch that adopts this version of an object.
fn adoption(object: &ObjectMeta, reference: OwnerReference) -> Value {
    let mut owners = object.owner_references.clone().unwrap_or_default();
    owners.push(reference);
    with_owners(object, &owners)
}

/// The patch that removes the owner with this UID from this version of an object.
fn release(object: &ObjectMeta, uid: &str) -> Value {
    let owners = object.owner_references.iter().flatten().filter(|owner| owner.uid != uid);
    with_owners(object, &owners.cloned().collect::<Vec<_>>())
}

fn with_owners(object: &ObjectMeta, owners: &[OwnerReference]) -> Value {
    json!({ "metadata": {
        "uid": object.uid,
        "resourceVersion": object.resource_version,
        "ownerReferences": owners,
    } })
}

/// Whether a label selector matches an object with this metadata.
fn selects(selector: &LabelSelector, object: &ObjectMeta) -> bool {
    !selector.is_everything()
        && selector.matches(&json!({ "metadata": { "labels": object.labels } }))
}

/// The objects that a controller owns, after adopting and releasing. Objects that were deleted in
/// the meantime are left out.
pub(super) fn claim_objects<C, K>(
    component: &Component,
    controller: &C,
    selector: &LabelSelector,
) -> Result<Vec<K>, StatusError>
where
    C: Resource + Metadata<Ty = ObjectMeta>,
    K: Resource + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned + Clone + Send + Sync,
{
    let metadata = controller.metadata();
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let uid = metadata.uid.as_deref().unwrap_or_default();
    let candidates =
        component.list_where::<K>(namespace, |object| match controller_in(object) {
            Some((_, _, owner)) => owner == uid,
            None => selector.matches(object),
        })?;
    let mut own = Vec::new();
    for object in candidates {
        let patch = match claim(metadata, object.metadata(), selects(selector, object.metadata())) {
            Claim::Ignore => continue,
            Claim::Keep => {
                own.push(object);
                continue;
            }
            Claim::Adopt => adoption(object.metadata(), reference(controller)),
            Claim::Release => release(object.metadata(), uid),
        };
        let name = object.metadata().name.as_deref().unwrap_or_default();
        match component.client().merge::<K>(namespace, name, patch) {
            Ok(object) => own.extend(Some(object).filter(|it| controls(metadata, it.metadata()))),
            Err(refusal) if refusal.code == 404 => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(own)
}

fn controls(controller: &ObjectMeta, object: &ObjectMeta) -> bool {
    controller_of(object).is_some_and(|owner| Some(&owner.uid) == controller.uid.as_ref())
}

/// Keys of the controllers of kind `C` to reconcile after an event: the controller itself, the
/// owner of the object, or controllers that could adopt it.
pub(super) fn controllers_for_event<C: Resource>(
    component: &Component,
    event: &WatchEvent,
) -> Result<Vec<ObjectKey>, StatusError> {
    let key = ObjectKey::of(&event.object);
    if event.resource.kind == C::KIND && event.resource.group == C::GROUP {
        return Ok(vec![key]);
    }
    match controller_in(&event.object) {
        Some((kind, name, _)) if kind == C::KIND => Ok(vec![ObjectKey::new(&key.namespace, name)]),
        Some(_) => Ok(Vec::new()),
        None => component.list_keys::<C>(&key.namespace, |controller| {
            selector_of(controller).is_some_and(|selector| selector.matches(&event.object))
        }),
    }
}

fn selector_of(controller: &Value) -> Option<LabelSelector> {
    let selector = meta::LabelSelector::deserialize(controller.pointer("/spec/selector")?).ok()?;
    LabelSelector::from_structured(&selector).ok().filter(|selector| !selector.is_everything())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::Pod;

    fn read<K: DeserializeOwned>(object: Value) -> K {
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn claim_depends_on_owner_and_selector() {
        let here: ReplicaSet = read(json!({ "metadata": { "name": "a", "uid": "1" } }));
        let deleting: ReplicaSet = read(json!({ "metadata": {
            "name": "a", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"
        } }));
        let free = json!({ "name": "p" });
        let owned = json!({ "name": "p", "ownerReferences": [reference(&here)] });
        let others = json!({ "name": "p", "ownerReferences": [
            { "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "2", "controller": true }
        ] });
        let merely_owned = json!({ "name": "p", "ownerReferences": [
            { "apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "3" }
        ] });
        let going = json!({ "name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z" });
        for (controller, object, selected, expected) in [
            (&here, &free, true, Claim::Adopt),
            (&here, &free, false, Claim::Ignore),
            (&here, &merely_owned, true, Claim::Adopt),
            (&here, &owned, true, Claim::Keep),
            (&here, &owned, false, Claim::Release),
            (&here, &others, true, Claim::Ignore),
            (&here, &others, false, Claim::Ignore),
            (&here, &going, true, Claim::Ignore),
            (&deleting, &free, true, Claim::Ignore),
            (&deleting, &owned, true, Claim::Keep),
            (&deleting, &owned, false, Claim::Ignore),
        ] {
            let pod: Pod = read(json!({ "metadata": object }));
            let claim = claim(&controller.metadata, &pod.metadata, selected);
            assert_eq!(claim, expected, "{object} {selected}");
        }
    }

    #[test]
    fn adoption_and_release_keep_other_owners() {
        let pod: Pod = read(json!({ "metadata": {
            "name": "p", "uid": "9", "resourceVersion": "5",
            "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "3" }],
        } }));
        let owner: ReplicaSet = read(json!({ "metadata": { "name": "a", "uid": "1" } }));
        let adopted = adoption(&pod.metadata, reference(&owner));
        assert_eq!(adopted["metadata"]["resourceVersion"], "5");
        assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], "3");
        assert_eq!(adopted["metadata"]["ownerReferences"][1], json!(reference(&owner)));
        let released = release(&pod.metadata, "3");
        assert_eq!(released["metadata"]["ownerReferences"], json!([]));
    }

    #[test]
    fn selects_with_empty_selector_is_false() {
        let pod: Pod = read(json!({ "metadata": { "labels": { "a": "b" } } }));
        for (text, expected) in [("", false), ("a=b", true), ("a=c", false)] {
            let selector = LabelSelector::parse(text).unwrap();
            assert_eq!(selects(&selector, &pod.metadata), expected, "{text}");
        }
    }
}

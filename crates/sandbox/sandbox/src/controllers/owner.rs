//! Which object belongs to which.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::{Metadata, Resource};
use serde_json::{Value, json};

use crate::selector::LabelSelector;

/// What a controller does with an object that may be its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It is its own.
    Keep,
    /// It is nobody's, and selected.
    Adopt,
    /// It is its own, and no longer selected.
    Release,
    /// It is somebody else's, or not selected.
    Ignore,
}

/// What the controller with this metadata does with an object, given whether it selects that.
pub(super) fn claim(controller: &ObjectMeta, object: &ObjectMeta, selected: bool) -> Claim {
    let leaving = controller.deletion_timestamp.is_some();
    match controller_of(object) {
        Some(owner) if Some(&owner.uid) != controller.uid.as_ref() => Claim::Ignore,
        Some(_) if selected => Claim::Keep,
        Some(_) if leaving => Claim::Ignore,
        Some(_) => Claim::Release,
        None if leaving || !selected || object.deletion_timestamp.is_some() => Claim::Ignore,
        None => Claim::Adopt,
    }
}

/// The reference of an object to its controller.
pub(super) fn controller_of(object: &ObjectMeta) -> Option<&OwnerReference> {
    object.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// The kind, name and uid of the controller of an object as it is stored.
pub(super) fn controller_in(object: &Value) -> Option<(&str, &str, &str)> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((controller["kind"].as_str()?, controller["name"].as_str()?, controller["uid"].as_str()?))
}

/// The reference of what a controller makes to the controller.
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

/// The patch that makes this very version of an object a controller's own.
pub(super) fn adoption(object: &ObjectMeta, reference: OwnerReference) -> Value {
    let mut owners = object.owner_references.clone().unwrap_or_default();
    owners.push(reference);
    with_owners(object, &owners)
}

/// The patch that takes this very version of an object from the owner with this uid.
pub(super) fn release(object: &ObjectMeta, uid: &str) -> Value {
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

/// Whether a selector of labels chooses an object with this metadata.
pub(super) fn selects(selector: &LabelSelector, object: &ObjectMeta) -> bool {
    !selector.is_everything()
        && selector.matches(&json!({ "metadata": { "labels": object.labels } }))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    fn read<K: serde::de::DeserializeOwned>(object: Value) -> K {
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn objects_are_kept_adopted_released_or_ignored() {
        let here: ReplicaSet = read(json!({ "metadata": { "name": "a", "uid": "1" } }));
        let leaving: ReplicaSet = read(json!({ "metadata": {
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
            (&leaving, &free, true, Claim::Ignore),
            (&leaving, &owned, true, Claim::Keep),
            (&leaving, &owned, false, Claim::Ignore),
        ] {
            let pod: Pod = read(json!({ "metadata": object }));
            let claim = claim(&controller.metadata, &pod.metadata, selected);
            assert_eq!(claim, expected, "{object} {selected}");
        }
    }

    #[test]
    fn other_owners_stay_when_one_comes_or_goes() {
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
    fn an_empty_selector_selects_nothing_to_own() {
        let pod: Pod = read(json!({ "metadata": { "labels": { "a": "b" } } }));
        for (text, expected) in [("", false), ("a=b", true), ("a=c", false)] {
            let selector = LabelSelector::parse(text).unwrap();
            assert_eq!(selects(&selector, &pod.metadata), expected, "{text}");
        }
    }
}

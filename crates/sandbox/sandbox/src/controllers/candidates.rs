//! The objects that may belong to a controller, and the controllers that a change concerns.

use k8s_openapi::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self as meta, ObjectMeta};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::machinery::{Change, Component, ObjectKey};
use super::owner::controller_in;
use crate::api::Refusal;
use crate::selector::LabelSelector;

/// The objects that are a controller's own, or nobody's and selected.
pub(super) fn list<K>(
    component: &Component,
    controller: &ObjectMeta,
    selector: &LabelSelector,
) -> Result<Vec<K>, Refusal>
where
    K: Resource + DeserializeOwned,
{
    let namespace = controller.namespace.as_deref().unwrap_or_default();
    let uid = controller.uid.as_deref().unwrap_or_default();
    component.list_where(namespace, |object| match controller_in(object) {
        Some((_, _, owner)) => owner == uid,
        None => selector.matches(object),
    })
}

/// The controllers of kind `C` that a change concerns: the one that changed, the one whose object
/// changed, or those that could adopt the object.
pub(super) fn affected<C: Resource>(
    component: &Component,
    change: &Change,
) -> Result<Vec<ObjectKey>, Refusal> {
    let key = ObjectKey::of(&change.object);
    if change.resource.kind == C::KIND && change.resource.group == C::GROUP {
        return Ok(vec![key]);
    }
    match controller_in(&change.object) {
        Some((kind, name, _)) if kind == C::KIND => Ok(vec![ObjectKey::new(&key.namespace, name)]),
        Some(_) => Ok(Vec::new()),
        None => component.keys_where::<C>(&key.namespace, |controller| {
            selector_of(controller).is_some_and(|selector| selector.matches(&change.object))
        }),
    }
}

fn selector_of(controller: &Value) -> Option<LabelSelector> {
    let selector = meta::LabelSelector::deserialize(controller.pointer("/spec/selector")?).ok()?;
    LabelSelector::from_structured(&selector).ok().filter(|selector| !selector.is_everything())
}

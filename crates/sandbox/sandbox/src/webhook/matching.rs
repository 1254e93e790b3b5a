//! Which webhooks are asked about a change.

use k8s_openapi::api::admissionregistration::v1::{RuleWithOperations, ValidatingWebhook};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as Structured;
use serde_json::Value;

use crate::api::Change;
use crate::catalog::{Catalog, Resource, Subresource};
use crate::selector::LabelSelector;

/// A webhook that is to be asked.
#[derive(Debug)]
pub struct Asked<'a> {
    /// It.
    pub webhook: &'a ValidatingWebhook,
    /// The version of the resource that its rules name, in which it gets the objects.
    pub version: String,
}

/// Whether a webhook is asked about a change; `namespace` is the one of the object.
pub fn asked<'a>(
    webhook: &'a ValidatingWebhook,
    change: &Change<'_>,
    namespace: Option<&Value>,
    catalog: &Catalog,
) -> Option<Asked<'a>> {
    if !selects_namespace(webhook, change, namespace) || !selects_object(webhook, change) {
        return None;
    }
    let resource = &change.call.resource;
    if names(webhook, change, resource) {
        return Some(Asked { webhook, version: resource.version.clone() });
    }
    if webhook.match_policy.as_deref() == Some("Exact") {
        return None;
    }
    let mut others = catalog.resources().filter(|other| {
        (&other.group, &other.plural) == (&resource.group, &resource.plural)
            && other.version != resource.version
    });
    let other = others.find(|other| names(webhook, change, other))?;
    Some(Asked { webhook, version: other.version.clone() })
}

/// Whether the rules name the resource and what is done with it.
fn names(webhook: &ValidatingWebhook, change: &Change<'_>, resource: &Resource) -> bool {
    let subresource = change.call.subresource.map_or("", Subresource::as_str);
    let operation = change.operation.as_str();
    webhook.rules.iter().flatten().any(|rule| {
        let RuleWithOperations { api_groups, api_versions, operations, resources, scope } = rule;
        let has_scope = match scope.as_deref() {
            Some("Cluster") => !resource.namespaced,
            Some("Namespaced") => resource.namespaced,
            _ => true,
        };
        has_scope
            && has(operations.as_deref(), operation)
            && has(api_groups.as_deref(), &resource.group)
            && has(api_versions.as_deref(), &resource.version)
            && resources
                .iter()
                .flatten()
                .any(|it| names_resource(it, &resource.plural, subresource))
    })
}

fn has(words: Option<&[String]>, wanted: &str) -> bool {
    words.unwrap_or_default().iter().any(|word| word == "*" || word == wanted)
}

/// Whether one of `pods`, `pods/*`, `*/status` and their like names the resource.
fn names_resource(rule: &str, plural: &str, subresource: &str) -> bool {
    let (resource, part) = rule.split_once('/').unwrap_or((rule, ""));
    (resource == "*" || resource == plural) && (part == "*" || part == subresource)
}

/// Namespaces are selected by their own labels, objects by those of their namespaces, and what is
/// in no namespace always.
fn selects_namespace(
    webhook: &ValidatingWebhook,
    change: &Change<'_>,
    namespace: Option<&Value>,
) -> bool {
    let Some(selector) = selector(webhook.namespace_selector.as_ref()) else { return true };
    let resource = &change.call.resource;
    if resource.group.is_empty() && resource.kind == "Namespace" {
        return change.object.or(change.old).is_some_and(|it| selector.matches(it));
    }
    !resource.namespaced || selector.matches(namespace.unwrap_or(&Value::Null))
}

/// An object is selected if it is or was to be.
fn selects_object(webhook: &ValidatingWebhook, change: &Change<'_>) -> bool {
    let Some(selector) = selector(webhook.object_selector.as_ref()) else { return true };
    [change.object, change.old].into_iter().flatten().any(|object| selector.matches(object))
}

/// A selector that requires something; only valid ones are stored.
fn selector(selector: Option<&Structured>) -> Option<LabelSelector> {
    let selector = LabelSelector::from_structured(selector?).ok()?;
    (!selector.is_everything()).then_some(selector)
}

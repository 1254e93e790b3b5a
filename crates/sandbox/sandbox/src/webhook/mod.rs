//! Validating admission webhooks: which of them are asked about a change, what they are told, and
//! what their answers mean.

mod answer;
mod matching;
mod review;

use k8s_openapi::api::admissionregistration::v1::{
    ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
};
use serde::Deserialize as _;

use crate::api::{Call, Refusal};
use crate::catalog::Verb;
use crate::store::{ListOptions, Resource, Selection, Store};

pub use answer::{Verdict, read};
pub use matching::{Asked, asked};
pub use review::review;

const GROUP: &str = "admissionregistration.k8s.io";
const CONFIGURATIONS: [&str; 2] =
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/// The webhooks that may have a say in a request, in the order of their configurations. About
/// configurations themselves nobody is asked, so that a broken one can be mended.
pub fn candidates(store: &Store, call: &Call) -> Vec<ValidatingWebhook> {
    let resource = &call.resource;
    let reads = matches!(call.verb, Verb::Get | Verb::List | Verb::Watch);
    if reads || resource.group == GROUP && CONFIGURATIONS.contains(&&*resource.plural) {
        return Vec::new();
    }
    let configurations = Resource::new(GROUP, CONFIGURATIONS[1]);
    let all = (Selection::default(), ListOptions::default());
    let list = store.list(&configurations, &all.0, &all.1).map(|list| list.items);
    let configurations = list.unwrap_or_default();
    let read = |object: &_| ValidatingWebhookConfiguration::deserialize(object).ok();
    configurations
        .iter()
        .filter_map(|object| read(&**object))
        .flat_map(|configuration| configuration.webhooks.unwrap_or_default())
        .collect()
}

/// What is said of a webhook that gives no usable answer, unless that is to be ignored.
pub fn failure(webhook: &ValidatingWebhook, problem: &str) -> Result<(), Refusal> {
    let name = &webhook.name;
    if webhook.failure_policy.as_deref() == Some("Ignore") {
        tracing::warn!(
            webhook = name,
            error = problem,
            "webhook failed, ignored by its failure policy"
        );
        return Ok(());
    }
    Err(Refusal::internal_because(&format!("failed calling webhook {name:?}: {problem}")))
}

/// The name in the certificate of a Service.
pub fn server_name(service: &ServiceReference) -> String {
    format!("{}.{}.svc", service.name, service.namespace)
}

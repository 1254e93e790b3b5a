//! Configurations of webhooks.

mod validate;

use serde_json::{Value, json};

use crate::builtin::rules::{Generation, NOTHING_SPECIAL, Rules};
use crate::builtin::value::{default, get_mut, items_mut};

pub(in crate::builtin) const VALIDATING: Rules = Rules {
    default: default_validating,
    generation: Generation::Of(&["webhooks"]),
    validate: validate::validating,
    ..NOTHING_SPECIAL
};
pub(in crate::builtin) const MUTATING: Rules =
    Rules { default: default_mutating, validate: validate::mutating, ..VALIDATING };

/// The port of a service that speaks TLS.
pub(in crate::builtin) const SERVICE_PORT: i32 = 443;

fn default_mutating(configuration: &mut Value) {
    default_validating(configuration);
    items_mut(configuration, "webhooks").for_each(|it| default(it, "reinvocationPolicy", "Never"));
}

fn default_validating(configuration: &mut Value) {
    for webhook in items_mut(configuration, "webhooks") {
        default(webhook, "failurePolicy", "Fail");
        default(webhook, "matchPolicy", "Equivalent");
        default(webhook, "namespaceSelector", json!({}));
        default(webhook, "objectSelector", json!({}));
        default(webhook, "timeoutSeconds", 10);
        if let Some(service) = get_mut(&mut webhook["clientConfig"], "service") {
            default(service, "port", SERVICE_PORT);
        }
        items_mut(webhook, "rules").for_each(|rule| default(rule, "scope", "*"));
    }
}

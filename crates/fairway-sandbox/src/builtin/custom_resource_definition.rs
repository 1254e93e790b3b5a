//! CustomResourceDefinitions, as far as they are objects. What they mean is decided elsewhere.

use serde_json::{Value, json};

use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, items, text};
use super::webhook::SERVICE_PORT;
use crate::catalog::Subresource;

pub(super) const RULES: Rules = Rules {
    default: set_defaults,
    create: remember_stored_versions,
    update,
    generation: Generation::Of(&["spec"]),
    ..NOTHING_SPECIAL
};

fn set_defaults(definition: &mut Value) {
    let Some(spec) = get_mut(definition, "spec") else { return };
    if let Some(names) = get_mut(spec, "names") {
        let kind = text(names, "kind").to_owned();
        if !kind.is_empty() {
            default(names, "singular", kind.to_lowercase());
            default(names, "listKind", format!("{kind}List"));
        }
    }
    default(spec, "conversion", json!({ "strategy": "None" }));
    if let Some(service) = spec["conversion"].pointer_mut("/webhook/clientConfig/service") {
        default(service, "port", SERVICE_PORT);
    }
}

fn update(definition: &mut Value, _: &Value, subresource: Option<Subresource>) {
    if subresource.is_none() {
        remember_stored_versions(definition);
    }
}

/// Objects may be stored in every version that ever was the one to store.
fn remember_stored_versions(definition: &mut Value) {
    let stored = items(&definition["spec"], "versions").iter().find(|it| it["storage"] == true);
    let Some(name) = stored.map(|version| version["name"].clone()) else { return };
    let versions = &mut definition["status"]["storedVersions"];
    match versions.as_array_mut() {
        Some(versions) if versions.contains(&name) => {}
        Some(versions) => versions.push(name),
        None => *versions = json!([name]),
    }
}

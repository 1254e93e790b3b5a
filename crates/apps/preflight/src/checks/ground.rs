//! Objects with a status, for tests of checks that look at what components say.

use anyhow::{Context as _, Result};
use fairway_testkit::wait;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::{Api, Client};
use serde_json::{Value, json};

/// Creates an object, with the status that it has.
pub(crate) async fn create(client: &Client, object: &Value) -> Result<()> {
    let types: TypeMeta = serde_json::from_value(object.clone())?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object["metadata"]["name"].as_str().context("an object without a name")?;
    let wanted = serde_json::from_value(object.clone())?;
    wait::until(&format!("{name} to be created"), || async {
        match api.create(&PostParams::default(), &wanted).await {
            // A namespace takes pods a moment after it was made.
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            created => Ok(Some(created?)),
        }
    })
    .await?;
    if let Some(status) = object.get("status") {
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &patch).await?;
    }
    Ok(())
}

/// A node that does its work and has so much room.
pub(crate) fn node(name: &str, cpu: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory},
            "capacity": {"cpu": cpu, "memory": memory},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

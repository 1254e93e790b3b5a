//! Creation of fixture objects.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

/// Maximum number of polls until a new kind is served.
const MAX_POLLS: usize = 500;

/// Objects of a YAML text with several documents.
pub(crate) fn parse(yaml: &str) -> Result<Vec<Value>> {
    let documents: Vec<Option<Value>> = serde_saphyr::from_multiple(yaml)?;
    Ok(documents.into_iter().flatten().collect())
}

/// Creates objects with their status, and their namespaces. CRDs come first, because other objects
/// may be of their kinds.
pub(crate) async fn create(client: &Client, objects: &[Value]) -> Result<()> {
    let is_crd = |object: &&Value| object["kind"] == "CustomResourceDefinition";
    let (first, rest): (Vec<&Value>, Vec<&Value>) = objects.iter().partition(is_crd);
    for crd in first {
        create_one(client, crd).await?;
        wait_until_served(client, crd).await?;
    }
    let mut namespaces = BTreeSet::from(["default".to_owned()]);
    for object in rest {
        if let Some(namespace) = object["metadata"]["namespace"].as_str()
            && namespaces.insert(namespace.to_owned())
        {
            let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            create_one(client, &object).await?;
        }
        if object["kind"] == "Namespace" {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if !namespaces.insert(name.to_owned()) {
                continue;
            }
        }
        create_one(client, object).await?;
    }
    Ok(())
}

async fn create_one(client: &Client, object: &Value) -> Result<()> {
    let named =
        || format!("cannot create fixture {} {}", object["kind"], object["metadata"]["name"]);
    let object: DynamicObject = serde_json::from_value(object.clone()).with_context(named)?;
    let kind = object.types.as_ref().with_context(named)?;
    let kind = GroupVersionKind::try_from(kind).with_context(named)?;
    let (resource, capabilities) = pinned_kind(client, &kind)
        .await
        .with_context(|| format!("{}: the cluster does not serve its kind", named()))?;
    let api: Api<DynamicObject> = match (capabilities.scope, object.namespace()) {
        (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
        (Scope::Namespaced, namespace) => {
            let namespace = namespace.unwrap_or_else(|| "default".to_owned());
            Api::namespaced_with(client.clone(), &namespace, &resource)
        }
    };
    api.create(&PostParams::default(), &object).await.with_context(named)?;
    let Some(status) = object.data.get("status") else { return Ok(()) };
    // Kinds with a status subresource ignored the status on creation.
    let patch = Patch::Merge(json!({ "status": status }));
    let written = api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await;
    match written {
        Err(kube::Error::Api(refused)) if refused.code == 404 => Ok(()),
        written => written.map(drop).with_context(named),
    }
}

/// Waits until the kind of a CRD is served.
async fn wait_until_served(client: &Client, crd: &Value) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &crd["spec"];
    let versions = spec["versions"].as_array().cloned().unwrap_or_default();
    for version in versions.iter().filter(|version| version["served"] == true) {
        let kind = GroupVersionKind::gvk(
            &text(&spec["group"]),
            &text(&version["name"]),
            &text(&spec["names"]["kind"]),
        );
        let mut polls = 0;
        while pinned_kind(client, &kind).await.is_err() {
            polls += 1;
            ensure!(polls < MAX_POLLS, "the cluster does not serve {kind:?}");
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

//! OLM's kinds, as far as they matter to updates.

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::wait;

/// Group, version, kind and resource of each.
const KINDS: [(&str, &str, &str, &str); 4] = [
    ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions"),
    ("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions"),
    ("operators.coreos.com", "v1alpha1", "CatalogSource", "catalogsources"),
    ("packages.operators.coreos.com", "v1", "PackageManifest", "packagemanifests"),
];

/// What was asked of APIs: not OLM's own, and the only one without namespaces.
const COUNTS: (&str, &str, &str, &str) =
    ("apiserver.openshift.io", "v1", "APIRequestCount", "apirequestcounts");

/// Defines the kinds, and waits until they are served.
pub async fn define(client: &Client) -> Result<()> {
    for kind in KINDS {
        define_one(client, kind, "Namespaced").await?;
    }
    for (_, _, kind, _) in KINDS {
        let objects = objects(client, kind, "default")?;
        wait::until(&format!("{kind} to be served"), || async {
            Ok(objects.list(&ListParams::default()).await.ok().map(drop))
        })
        .await?;
    }
    Ok(())
}

/// What was asked of APIs, on a cluster that counts it from now on.
pub async fn request_counts(client: &Client) -> Result<Api<DynamicObject>> {
    define_one(client, COUNTS, "Cluster").await?;
    let (group, version, kind, plural) = COUNTS;
    let kind = GroupVersionKind::gvk(group, version, kind);
    let counts = Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural));
    wait::until("request counts to be served", || async {
        Ok(counts.list(&ListParams::default()).await.ok().map(drop))
    })
    .await?;
    Ok(counts)
}

async fn define_one(
    client: &Client,
    (group, version, kind, plural): (&str, &str, &str, &str),
    scope: &str,
) -> Result<()> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let name = format!("{plural}.{group}");
    let definition = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "group": group, "scope": scope,
            "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    }))?;
    if api.get_opt(&name).await?.is_none() {
        api.create(&PostParams::default(), &definition).await?;
    }
    Ok(())
}

/// Removes the kinds.
pub async fn remove(client: &Client) {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for (group, _, _, plural) in KINDS.into_iter().chain([COUNTS]) {
        // Whoever comes next finds what is left, and goes on.
        let _ = api.delete(&format!("{plural}.{group}"), &DeleteParams::default()).await;
    }
}

/// The objects of one of the kinds, in a namespace.
pub fn objects(client: &Client, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
    let (group, version, kind, plural) = of(kind)?;
    let kind = GroupVersionKind::gvk(group, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    Ok(Api::namespaced_with(client.clone(), namespace, &resource))
}

/// An object of one of the kinds, with this content; its metadata gets the name.
pub fn object(kind: &str, name: &str, content: Value) -> Result<DynamicObject> {
    let (group, version, kind, _) = of(kind)?;
    let mut object = content;
    object["apiVersion"] = json!(format!("{group}/{version}"));
    object["kind"] = json!(kind);
    object["metadata"]["name"] = json!(name);
    Ok(serde_json::from_value(object)?)
}

fn of(kind: &str) -> Result<(&'static str, &'static str, &'static str, &'static str)> {
    KINDS.into_iter().find(|(_, _, it, _)| *it == kind).context("no such kind")
}

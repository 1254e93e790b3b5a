//! CRDs of OLM's kinds, without schemas.

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::wait;

/// Group, version, kind and plural of OLM's kinds.
const KINDS: [(&str, &str, &str, &str); 4] = [
    ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions"),
    ("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions"),
    ("operators.coreos.com", "v1alpha1", "CatalogSource", "catalogsources"),
    ("packages.operators.coreos.com", "v1", "PackageManifest", "packagemanifests"),
];

/// `APIRequestCount`, which is cluster-scoped.
const REQUEST_COUNT: (&str, &str, &str, &str) =
    ("apiserver.openshift.io", "v1", "APIRequestCount", "apirequestcounts");

/// Creates the CRDs and waits until they are served.
pub async fn define(client: &Client) -> Result<()> {
    for kind in KINDS {
        create_crd(client, kind, "Namespaced").await?;
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

/// Creates the CRD of `APIRequestCount`. Returns its API.
pub async fn request_counts(client: &Client) -> Result<Api<DynamicObject>> {
    create_crd(client, REQUEST_COUNT, "Cluster").await?;
    let (group, version, kind, plural) = REQUEST_COUNT;
    let kind = GroupVersionKind::gvk(group, version, kind);
    let counts = Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural));
    wait::until("request counts to be served", || async {
        Ok(counts.list(&ListParams::default()).await.ok().map(drop))
    })
    .await?;
    Ok(counts)
}

async fn create_crd(
    client: &Client,
    (group, version, kind, plural): (&str, &str, &str, &str),
    scope: &str,
) -> Result<()> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let name = format!("{plural}.{group}");
    let crd = serde_json::from_value(json!({
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
        api.create(&PostParams::default(), &crd).await?;
    }
    Ok(())
}

/// Deletes the CRDs.
pub async fn remove(client: &Client) {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for (group, _, _, plural) in KINDS.into_iter().chain([REQUEST_COUNT]) {
        // An error is ignored: `define` accepts CRDs that exist.
        let _ = api.delete(&format!("{plural}.{group}"), &DeleteParams::default()).await;
    }
}

/// The API of one of the kinds in a namespace.
pub fn objects(client: &Client, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
    let (group, version, kind, plural) = find_kind(kind)?;
    let kind = GroupVersionKind::gvk(group, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    Ok(Api::namespaced_with(client.clone(), namespace, &resource))
}

/// An object of one of the kinds with this name and content.
pub fn object(kind: &str, name: &str, content: Value) -> Result<DynamicObject> {
    let (group, version, kind, _) = find_kind(kind)?;
    let mut object = content;
    object["apiVersion"] = json!(format!("{group}/{version}"));
    object["kind"] = json!(kind);
    object["metadata"]["name"] = json!(name);
    Ok(serde_json::from_value(object)?)
}

fn find_kind(kind: &str) -> Result<(&'static str, &'static str, &'static str, &'static str)> {
    KINDS.into_iter().find(|(_, _, it, _)| *it == kind).context("no such kind")
}

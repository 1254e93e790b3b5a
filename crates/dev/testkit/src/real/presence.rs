//! Objects of a release that a cluster lacks.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use fairway_release::Manifest;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiResource, Scope};
use serde_json::Value;

/// Maximum number of concurrent requests.
const MAX_CONCURRENT_REQUESTS: usize = 16;

/// The manifests whose objects are not in the cluster. For a manifest with the delete annotation, those
/// whose objects exist.
pub async fn missing_objects<'a>(
    client: &Client,
    manifests: &[&'a Manifest],
) -> Result<Vec<&'a Manifest>> {
    let kinds = kinds(client, manifests).await;
    let checks = manifests.iter().map(async |manifest| {
        let exists = exists(client, &kinds, manifest).await?;
        let is_deleted =
            manifest.annotation("release.openshift.io/delete").is_some_and(|it| it == "true");
        anyhow::Ok((exists == is_deleted).then_some(*manifest))
    });
    let absent: Vec<Option<&Manifest>> =
        stream::iter(checks).buffered(MAX_CONCURRENT_REQUESTS).try_collect().await?;
    Ok(absent.into_iter().flatten().collect())
}

/// The kinds that the API server does not serve and that no CRD among the manifests adds.
pub async fn unserved_kinds(client: &Client, manifests: &[&Manifest]) -> BTreeSet<String> {
    let served = kinds(client, manifests).await;
    let crds = manifests.iter().filter(|it| it.id.kind == "CustomResourceDefinition");
    let added: BTreeSet<(String, String)> = crds
        .map(|it| {
            let spec = &it.object()["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&spec["group"]), text(&spec["names"]["kind"]))
        })
        .collect();
    let is_unserved = |it: &&&Manifest| {
        let kind = GroupVersionKind::gvk(&it.id.group, &it.version, &it.id.kind);
        !served.contains_key(&(kind.api_version(), kind.kind))
            && !added.contains(&(it.id.group.clone(), it.id.kind.clone()))
    };
    manifests.iter().filter(is_unserved).map(|it| it.id.kind.clone()).collect()
}

type Kinds = BTreeMap<(String, String), (ApiResource, Scope)>;

/// The served kinds of the groups that manifests use. Discovery lists a new group before its kinds; the
/// next call finds them.
async fn kinds(client: &Client, manifests: &[&Manifest]) -> Kinds {
    let groups: BTreeSet<&str> = manifests.iter().map(|it| it.id.group.as_str()).collect();
    let mut kinds = Kinds::new();
    for group in groups {
        let Ok(group) = kube::discovery::group(client, group).await else { continue };
        for version in group.versions() {
            for (resource, capabilities) in group.versioned_resources(version) {
                let key = (resource.api_version.clone(), resource.kind.clone());
                kinds.insert(key, (resource, capabilities.scope));
            }
        }
    }
    kinds
}

async fn exists(client: &Client, kinds: &Kinds, manifest: &Manifest) -> Result<bool> {
    let id = &manifest.id;
    let kind = GroupVersionKind::gvk(&id.group, &manifest.version, &id.kind);
    let Some((resource, scope)) = kinds.get(&(kind.api_version(), kind.kind)) else {
        return Ok(false);
    };
    let api: Api<DynamicObject> = match scope {
        Scope::Cluster => Api::all_with(client.clone(), resource),
        Scope::Namespaced => Api::namespaced_with(client.clone(), &id.namespace, resource),
    };
    Ok(api.get_metadata_opt(&id.name).await?.is_some())
}

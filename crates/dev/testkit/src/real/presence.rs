//! Which objects of a release are in a cluster.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use fairway_release::Manifest;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiResource, Scope};
use serde_json::Value;

/// Requests that are sent at once.
const AT_ONCE: usize = 16;

/// The manifests whose objects are not in the cluster. Those that are to be deleted count as such
/// while their objects are there.
pub async fn absent<'a>(client: &Client, manifests: &[&'a Manifest]) -> Result<Vec<&'a Manifest>> {
    let kinds = kinds(client, manifests).await;
    let asked = manifests.iter().map(async |manifest| {
        let is_there = is_there(client, &kinds, manifest).await?;
        let is_deleted =
            manifest.annotation("release.openshift.io/delete").is_some_and(|it| it == "true");
        anyhow::Ok((is_there == is_deleted).then_some(*manifest))
    });
    let absent: Vec<Option<&Manifest>> =
        stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
    Ok(absent.into_iter().flatten().collect())
}

/// The kinds of manifests that the API server does not serve and that no CRD among them adds.
pub async fn lacking(client: &Client, manifests: &[&Manifest]) -> BTreeSet<String> {
    let served = kinds(client, manifests).await;
    let crds = manifests.iter().filter(|it| it.id.kind == "CustomResourceDefinition");
    let added: BTreeSet<(String, String)> = crds
        .map(|it| {
            let spec = &it.object()["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&spec["group"]), text(&spec["names"]["kind"]))
        })
        .collect();
    let is_lacking = |it: &&&Manifest| {
        let kind = GroupVersionKind::gvk(&it.id.group, &it.version, &it.id.kind);
        !served.contains_key(&(kind.api_version(), kind.kind))
            && !added.contains(&(it.id.group.clone(), it.id.kind.clone()))
    };
    manifests.iter().filter(is_lacking).map(|it| it.id.kind.clone()).collect()
}

type Kinds = BTreeMap<(String, String), (ApiResource, Scope)>;

/// The kinds of the groups that manifests use. A group that is being added is listed before its
/// kinds are, and the next look finds them.
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

async fn is_there(client: &Client, kinds: &Kinds, manifest: &Manifest) -> Result<bool> {
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

//! What of the release this cluster would get: its features, its capabilities, its overrides.

use std::collections::BTreeSet;

use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, Version};
use fairway_release::inclusion::{Capabilities, Filter};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde::Deserialize;

use crate::cluster::{Cluster, Unseen};

/// What whoever starts a preflight knows about the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionSettings {
    /// The cluster's profile.
    pub profile: String,
    /// What operators like this one are called by manifests that are not for them.
    pub exclude: Option<String>,
}

/// What decides which manifests of a release the cluster would get.
pub(crate) async fn filter(
    cluster: &Cluster,
    settings: &SelectionSettings,
    source: &Version,
    target: &Version,
) -> Result<Filter, Unseen> {
    let versions: Api<ClusterVersion> = Api::all(cluster.client().clone());
    let version = missing_is_none(cluster.one(versions, CLUSTER_VERSION_NAME).await)?;
    let features = features(cluster).await?;
    Ok(Filter {
        exclude: settings.exclude.clone(),
        feature_set: Some(features.spec.feature_set.clone()),
        feature_gates: Some(features.gates(target, source)),
        major_version: Some(target.major()),
        profile: Some(settings.profile.clone()),
        capabilities: version.as_ref().and_then(capabilities),
        overrides: version.map(|version| version.spec.overrides).unwrap_or_default(),
    })
}

/// A newer release may bring capabilities that nobody here knows.
fn capabilities(version: &ClusterVersion) -> Option<Capabilities> {
    let known = version.status.as_ref()?.capabilities.as_ref()?;
    Some(Capabilities {
        known: None,
        enabled: known.enabled_capabilities.iter().cloned().collect(),
    })
}

fn missing_is_none<T>(seen: Result<Option<T>, Unseen>) -> Result<Option<T>, Unseen> {
    match seen {
        Err(Unseen::NotServed(_)) => Ok(None),
        seen => seen,
    }
}

/// The `FeatureGate` of platforms that have one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FeatureGate {
    spec: Spec,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    feature_set: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    feature_gates: Vec<OfVersion>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfVersion {
    version: String,
    enabled: Vec<Gate>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Gate {
    name: String,
}

impl FeatureGate {
    /// The gates of the target or, where nothing is said about it, of the release before.
    fn gates(&self, target: &Version, source: &Version) -> BTreeSet<String> {
        let of = |version: &Version| {
            let version = version.to_string();
            self.status.feature_gates.iter().find(|gates| gates.version == version)
        };
        let gates = of(target).or_else(|| of(source));
        gates.iter().flat_map(|gates| &gates.enabled).map(|gate| gate.name.clone()).collect()
    }
}

async fn features(cluster: &Cluster) -> Result<FeatureGate, Unseen> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
    let resource = ApiResource::from_gvk_with_plural(&kind, "featuregates");
    let mut found = None;
    let take = |object: DynamicObject| {
        if object.metadata.name.as_deref() == Some("cluster") {
            found = FeatureGate::deserialize(object.data).ok();
        }
    };
    match cluster.each_of(&resource, take).await {
        Ok(()) | Err(Unseen::NotServed(_)) => Ok(found.unwrap_or_default()),
        Err(error) => Err(error),
    }
}

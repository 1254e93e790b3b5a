//! What of the release this cluster would get: its features, its capabilities, its overrides.

use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, Version};
use fairway_release::inclusion::{Capabilities, Features, Filter};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};

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
        feature_set: Some(features.set.clone()),
        feature_gates: Some(features.gates(&[&target.to_string(), &source.to_string()])),
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

/// The features of platforms that have a `FeatureGate`.
async fn features(cluster: &Cluster) -> Result<Features, Unseen> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
    let resource = ApiResource::from_gvk_with_plural(&kind, "featuregates");
    let mut found = None;
    let take = |object: DynamicObject| {
        if object.metadata.name.as_deref() == Some("cluster") {
            found = Features::read(&object.data).ok();
        }
    };
    match cluster.each_of(&resource, take).await {
        Ok(()) | Err(Unseen::NotServed(_)) => Ok(found.unwrap_or_default()),
        Err(error) => Err(error),
    }
}

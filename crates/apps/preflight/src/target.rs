//! The target release.

use std::sync::Arc;

use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, Version};
use fairway_release::inclusion::{Capabilities, Features, ManifestFilter};
use fairway_release::{Manifest, Release};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};

use crate::cluster::{Cluster, ClusterReadError};

/// The target release and the version of the cluster.
#[derive(Clone, Debug)]
pub struct Target {
    /// Image, by digest.
    pub image: String,
    /// Version of the target release.
    pub version: Version,
    /// Version of the cluster.
    pub source: Version,
    /// Content of the payload.
    pub content: Arc<Release>,
    /// Manifests that this cluster gets.
    pub manifests: Vec<Manifest>,
}

/// Settings of the manifest selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionSettings {
    /// Cluster profile.
    pub profile: String,
    /// Identifier of operators in the annotation `exclude.release.openshift.io/ID`.
    pub exclude: Option<String>,
}

/// Filter for the manifests that the cluster gets.
pub(crate) async fn filter(
    cluster: &Cluster,
    settings: &SelectionSettings,
    source: &Version,
    target: &Version,
) -> Result<ManifestFilter, ClusterReadError> {
    let versions: Api<ClusterVersion> = Api::all(cluster.client().clone());
    let version = missing_is_none(cluster.one(versions, CLUSTER_VERSION_NAME).await)?;
    let features = features(cluster).await?;
    Ok(ManifestFilter {
        exclude: settings.exclude.clone(),
        feature_set: Some(features.set.clone()),
        feature_gates: Some(features.gates(&[&target.to_string(), &source.to_string()])),
        major_version: Some(target.major()),
        profile: Some(settings.profile.clone()),
        capabilities: version.as_ref().and_then(capabilities),
        overrides: version.map(|version| version.spec.overrides).unwrap_or_default(),
    })
}

/// `known` is `None`: a newer release may have other capabilities.
fn capabilities(version: &ClusterVersion) -> Option<Capabilities> {
    let known = version.status.as_ref()?.capabilities.as_ref()?;
    Some(Capabilities {
        known: None,
        enabled: known.enabled_capabilities.iter().cloned().collect(),
    })
}

fn missing_is_none<T>(
    result: Result<Option<T>, ClusterReadError>,
) -> Result<Option<T>, ClusterReadError> {
    match result {
        Err(ClusterReadError::NotServed(_)) => Ok(None),
        result => result,
    }
}

/// Feature gates of platforms with a `FeatureGate`.
async fn features(cluster: &Cluster) -> Result<Features, ClusterReadError> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
    let resource = ApiResource::from_gvk_with_plural(&kind, "featuregates");
    let mut found = None;
    let take = |object: DynamicObject| {
        if object.metadata.name.as_deref() == Some("cluster") {
            found = Features::read(&object.data).ok();
        }
    };
    match cluster.each_of(&resource, take).await {
        Ok(()) | Err(ClusterReadError::NotServed(_)) => Ok(found.unwrap_or_default()),
        Err(error) => Err(error),
    }
}

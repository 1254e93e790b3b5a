//! The `FeatureGate` of platforms that have one.

use fairway_release::inclusion::Features;
use kube::Client;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use tokio::sync::watch;

use super::follow::{Following, Objects};
use super::optional;

/// Follows `FeatureGate/cluster`.
pub(super) fn follow(client: &Client, following: &Following) -> watch::Receiver<Option<Features>> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
    let resource = ApiResource::from_gvk_with_plural(&kind, "featuregates");
    let config = watcher::Config::default().fields("metadata.name=cluster");
    optional::follow_as(client, following, resource, config, features)
}

fn features(objects: &Objects<DynamicObject>) -> Features {
    let Some(object) = objects.values().next() else { return Features::default() };
    Features::read(&object.data).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot parse FeatureGate; no feature enabled");
        Features::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn read(data: serde_json::Value) -> Features {
        let object: DynamicObject = serde_json::from_value(data).unwrap();
        features(&Arc::new(BTreeMap::from([("cluster".to_owned(), Arc::new(object))])))
    }

    #[test]
    fn what_cannot_be_read_enables_nothing() {
        let broken = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"},
            "spec": {"featureSet": 7},
        });
        assert_eq!(read(broken), Features::default());
        assert_eq!(features(&Objects::default()), Features::default());
    }
}

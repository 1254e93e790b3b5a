//! The Proxy of platforms that have one.

use fairway_cincinnati::route::ProxySettings;
use kube::Client;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use serde::Deserialize as _;
use tokio::sync::watch;

use super::follow::{Following, Objects};
use super::optional;

/// Follows `Proxy/cluster`; what counts is its status, which the platform has checked.
pub(super) fn follow(
    client: &Client,
    following: &Following,
) -> watch::Receiver<Option<ProxySettings>> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "Proxy");
    let resource = ApiResource::from_gvk_with_plural(&kind, "proxies");
    let config = watcher::Config::default().fields("metadata.name=cluster");
    optional::follow_as(client, following, resource, config, settings)
}

fn settings(proxies: &Objects<DynamicObject>) -> ProxySettings {
    let status = proxies.values().next().and_then(|proxy| proxy.data.get("status"));
    let Some(status) = status else { return ProxySettings::default() };
    ProxySettings::deserialize(status).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot parse Proxy status; using no proxy");
        ProxySettings::default()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn proxies(data: serde_json::Value) -> Objects<DynamicObject> {
        let proxy: DynamicObject = serde_json::from_value(data).unwrap();
        Arc::new(BTreeMap::from([("cluster".to_owned(), Arc::new(proxy))]))
    }

    #[test]
    fn only_the_checked_settings_count() {
        let proxies = proxies(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Proxy", "metadata": {"name": "cluster"},
            "spec": {"httpProxy": "http://wanted:3128"},
            "status": {"httpsProxy": "http://checked:3128", "noProxy": ".svc"},
        }));
        let expected = ProxySettings {
            https_proxy: "http://checked:3128".to_owned(),
            no_proxy: ".svc".to_owned(),
            ..ProxySettings::default()
        };
        assert_eq!(settings(&proxies), expected);
    }

    #[test]
    fn what_cannot_be_read_is_no_proxy() {
        let proxies = proxies(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Proxy", "metadata": {"name": "cluster"},
            "status": {"httpProxy": 7},
        }));
        assert_eq!(settings(&proxies), ProxySettings::default());
        assert_eq!(settings(&Objects::default()), ProxySettings::default());
    }
}

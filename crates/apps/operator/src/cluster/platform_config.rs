//! Configuration of the platform in `config.openshift.io`: Proxy, `FeatureGate`, `APIServer` and
//! Infrastructure `cluster`. Platforms may lack each of these kinds.

use fairway_cincinnati::connection::ProxySettings;
use fairway_http::{TlsProfile, TlsSecurityProfile};
use fairway_release::inclusion::Features;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::reflector::{Objects, Reflectors};
use crate::sync::{any_changed, publish};

/// Configuration that the operator injects into manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InjectedConfig {
    /// Proxy settings.
    pub proxy: ProxySettings,
    /// TLS settings for servers, if the platform has an `APIServer`.
    pub tls: Option<TlsProfile>,
    /// Internal URL of the API server, for Pods that cannot use its Service.
    pub api_server: Option<String>,
}

/// The fields of `APIServer/cluster` that the operator reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ApiServer {
    spec: ApiServerSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ApiServerSpec {
    tls_security_profile: Option<TlsSecurityProfile>,
}

/// The fields of `Infrastructure/cluster` that the operator reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Infrastructure {
    status: InfrastructureStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InfrastructureStatus {
    #[serde(rename = "apiServerInternalURI", alias = "apiServerInternalURL")]
    api_server_internal_url: Option<String>,
}

/// Watches `Proxy/cluster`. Only its status counts, because the platform validates it.
pub(super) fn watch_proxy(reflectors: &Reflectors) -> watch::Receiver<Option<ProxySettings>> {
    watch_singleton(reflectors, "Proxy", "proxies", proxy_settings)
}

/// Watches `FeatureGate/cluster`.
pub(super) fn watch_features(reflectors: &Reflectors) -> watch::Receiver<Option<Features>> {
    watch_singleton(reflectors, "FeatureGate", "featuregates", features)
}

/// Watches all configuration that is injected into manifests.
pub(super) fn watch_injected_config(
    reflectors: &Reflectors,
    mut proxy: watch::Receiver<Option<ProxySettings>>,
) -> watch::Receiver<Option<InjectedConfig>> {
    let mut tls = watch_singleton(reflectors, "APIServer", "apiservers", tls_profile);
    let mut address =
        watch_singleton(reflectors, "Infrastructure", "infrastructures", internal_address);
    let (sender, receiver) = watch::channel(None);
    reflectors.tasks().spawn(async move {
        loop {
            let latest = (
                proxy.borrow_and_update().clone(),
                tls.borrow_and_update().clone(),
                address.borrow_and_update().clone(),
            );
            let config = match latest {
                (Some(proxy), Some(tls), Some(api_server)) => {
                    Some(InjectedConfig { proxy, tls, api_server })
                }
                _ => None,
            };
            publish(&sender, config);
            let open = tokio::select! {
                open = async { any_changed!(proxy, tls, address) } => open,
                () = sender.closed() => false,
            };
            if !open {
                return;
            }
        }
    });
    receiver
}

/// Watches the object `cluster` of a kind.
fn watch_singleton<T: PartialEq + Send + Sync + 'static>(
    reflectors: &Reflectors,
    kind: &str,
    plural: &str,
    read: fn(&Objects<DynamicObject>) -> T,
) -> watch::Receiver<Option<T>> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    let config = watcher::Config::default().fields("metadata.name=cluster");
    reflectors.optional(&format!("{plural}/cluster"), resource, config, read)
}

fn proxy_settings(proxies: &Objects<DynamicObject>) -> ProxySettings {
    let status = proxies.values().next().and_then(|proxy| proxy.data.get("status"));
    let Some(status) = status else { return ProxySettings::default() };
    ProxySettings::deserialize(status).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot parse Proxy status; using no proxy");
        ProxySettings::default()
    })
}

fn features(objects: &Objects<DynamicObject>) -> Features {
    let Some(object) = objects.values().next() else { return Features::default() };
    Features::read(&object.data).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot parse FeatureGate; using no feature gates");
        Features::default()
    })
}

fn tls_profile(objects: &Objects<DynamicObject>) -> Option<TlsProfile> {
    let ApiServer { spec } = read(objects)?;
    Some(spec.tls_security_profile.unwrap_or_default().into())
}

fn internal_address(objects: &Objects<DynamicObject>) -> Option<String> {
    let Infrastructure { status } = read(objects)?;
    status.api_server_internal_url.filter(|address| !address.is_empty())
}

fn read<T: DeserializeOwned>(objects: &Objects<DynamicObject>) -> Option<T> {
    let object = objects.values().next()?;
    let read = T::deserialize(&object.data);
    read.inspect_err(|error| tracing::warn!(%error, "cannot parse platform object")).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn objects(mut data: Value) -> Objects<DynamicObject> {
        data["metadata"] = json!({"name": "cluster"});
        let object: DynamicObject = serde_json::from_value(data).unwrap();
        Arc::new(BTreeMap::from([("cluster".to_owned(), Arc::new(object))]))
    }

    #[test]
    fn internal_address_is_that_of_infrastructure_status() {
        let address = |status: Value| internal_address(&objects(json!({ "status": status })));
        let expected = Some("https://api-int.example:6443".to_owned());
        assert_eq!(
            address(json!({"apiServerInternalURI": "https://api-int.example:6443"})),
            expected
        );
        assert_eq!(address(json!({"apiServerInternalURI": ""})), None);
        assert_eq!(address(json!({"apiServerInternalURI": 7})), None);
        assert_eq!(internal_address(&Objects::default()), None);
    }

    #[test]
    fn tls_profile_defaults_to_intermediate_if_kind_exists() {
        let profile = tls_profile(&objects(json!({"spec": {}})));
        assert_eq!(profile.map(|profile| profile.min_version).as_deref(), Some("VersionTLS12"));
        let modern = json!({"spec": {"tlsSecurityProfile": {"type": "Modern", "modern": {}}}});
        let profile = tls_profile(&objects(modern));
        assert_eq!(profile.map(|profile| profile.min_version).as_deref(), Some("VersionTLS13"));
        assert_eq!(tls_profile(&Objects::default()), None);
    }

    #[test]
    fn features_of_invalid_object_are_default() {
        assert_eq!(features(&objects(json!({"spec": {"featureSet": 7}}))), Features::default());
        assert_eq!(features(&Objects::default()), Features::default());
    }

    #[test]
    fn proxy_settings_are_those_of_the_status() {
        let proxies = objects(json!({
            "spec": {"httpProxy": "http://wanted:3128"},
            "status": {"httpsProxy": "http://checked:3128", "noProxy": ".svc"},
        }));
        let expected = ProxySettings {
            https_proxy: "http://checked:3128".to_owned(),
            no_proxy: ".svc".to_owned(),
            ..ProxySettings::default()
        };
        assert_eq!(proxy_settings(&proxies), expected);
    }

    #[test]
    fn proxy_settings_of_invalid_status_are_default() {
        let proxies = objects(json!({"status": {"httpProxy": 7}}));
        assert_eq!(proxy_settings(&proxies), ProxySettings::default());
        assert_eq!(proxy_settings(&Objects::default()), ProxySettings::default());
    }
}

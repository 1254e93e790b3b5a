//! What manifests of a release can ask the cluster for.

use fairway_cincinnati::route::ProxySettings;
use kube::Client;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::follow::{Following, Objects};
use super::optional;
use super::tls_profile::{Security, TlsProfile};

/// What manifests can ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The way to the outside.
    pub proxy: ProxySettings,
    /// Which TLS servers are to speak, on platforms that say so.
    pub tls: Option<TlsProfile>,
    /// Where the API server is to be found by those who cannot use its Service, on platforms that
    /// say so.
    pub api_server: Option<String>,
}

/// `APIServer/cluster`, as far as it counts.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ApiServer {
    spec: ApiServerSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ApiServerSpec {
    tls_security_profile: Option<Security>,
}

/// `Infrastructure/cluster`, as far as it counts.
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

/// Follows everything that manifests can ask for.
pub(super) fn follow(
    client: &Client,
    following: &Following,
    mut proxy: watch::Receiver<Option<ProxySettings>>,
) -> watch::Receiver<Option<Surroundings>> {
    let mut tls = follow_only(client, following, "APIServer", "apiservers", tls_profile);
    let mut address =
        follow_only(client, following, "Infrastructure", "infrastructures", internal_address);
    let (sender, receiver) = watch::channel(None);
    following.tasks().spawn(async move {
        loop {
            let (proxy_now, tls_now, address_now) = (
                proxy.borrow_and_update().clone(),
                tls.borrow_and_update().clone(),
                address.borrow_and_update().clone(),
            );
            let seen = match (proxy_now, tls_now, address_now) {
                (Some(proxy), Some(tls), Some(api_server)) => {
                    Some(Surroundings { proxy, tls, api_server })
                }
                _ => None,
            };
            sender.send_if_modified(|known| {
                let changed = *known != seen;
                *known = seen;
                changed
            });
            let changed = tokio::select! {
                changed = proxy.changed() => changed,
                changed = tls.changed() => changed,
                changed = address.changed() => changed,
                () = sender.closed() => return,
            };
            if changed.is_err() {
                return;
            }
        }
    });
    receiver
}

/// Follows the one object of a kind that the platform may have.
fn follow_only<T>(
    client: &Client,
    following: &Following,
    kind: &str,
    plural: &str,
    read: fn(&Objects<DynamicObject>) -> T,
) -> watch::Receiver<Option<T>>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    let config = watcher::Config::default().fields("metadata.name=cluster");
    optional::follow_as(client, following, resource, config, read)
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
    fn a_platform_says_where_its_api_server_is() {
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
    fn without_a_profile_there_is_a_usual_one_and_without_a_platform_none() {
        let profile = tls_profile(&objects(json!({"spec": {}})));
        assert_eq!(profile.map(|profile| profile.min_version).as_deref(), Some("VersionTLS12"));
        let modern = json!({"spec": {"tlsSecurityProfile": {"type": "Modern", "modern": {}}}});
        let profile = tls_profile(&objects(modern));
        assert_eq!(profile.map(|profile| profile.min_version).as_deref(), Some("VersionTLS13"));
        assert_eq!(tls_profile(&Objects::default()), None);
    }
}

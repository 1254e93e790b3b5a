//! Where a webhook is.

use k8s_openapi::api::admissionregistration::v1::{ServiceReference, ValidatingWebhook};
use k8s_openapi::api::core::v1::{Endpoints, Pod, Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use crate::selector::LabelSelector;
use crate::store::{Key, ListOptions, Resource, Selection, Store};
use crate::webhook::server_name;

/// Where a webhook is, and how it is called there.
#[derive(Debug, PartialEq)]
pub(super) struct Address {
    /// As messages show it.
    pub(super) url: Url,
    /// The host and the port to connect to.
    pub(super) host: String,
    pub(super) port: u16,
}

/// Finds a webhook. Nothing answers at the addresses of Services, so the way to one of its pods is
/// looked up here.
pub(super) fn find(webhook: &ValidatingWebhook, store: &Store) -> Result<Address, String> {
    let config = &webhook.client_config;
    match (&config.url, &config.service) {
        (Some(url), _) => {
            let url =
                Url::parse(url).map_err(|error| format!("Unparsable webhook URL: {error}"))?;
            let host = url.host_str().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let port = url.port_or_known_default().unwrap_or(443);
            Ok(Address { url, host, port })
        }
        (None, Some(service)) => of_service(service, store),
        (None, None) => Err("webhook configuration must have either service or URL".to_owned()),
    }
}

fn of_service(reference: &ServiceReference, store: &Store) -> Result<Address, String> {
    let ServiceReference { namespace, name, path, port } = reference;
    let wanted = port.unwrap_or(443);
    let url = format!("https://{}:{wanted}", server_name(reference));
    let mut url = Url::parse(&url).map_err(|error| error.to_string())?;
    url.set_path(path.as_deref().unwrap_or("/"));
    let missing = || format!("service {name:?} not found");
    let service: Service = get(store, "services", namespace, name).ok_or_else(missing)?;
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let port = ports.clone().find(|port| port.port == wanted);
    let port =
        port.ok_or_else(|| format!("no service port {wanted} found for service {name:?}"))?;
    let (host, port) = pod_of(&service, port, namespace, store)
        .or_else(|| endpoint_of(name, port, namespace, store))
        .ok_or_else(|| format!("no endpoints available for service {name:?}"))?;
    Ok(Address { url, host, port })
}

/// A pod that is ready, among those that the Service selects.
fn pod_of(
    service: &Service,
    port: &ServicePort,
    namespace: &str,
    store: &Store,
) -> Option<(String, u16)> {
    let labels = service.spec.as_ref()?.selector.as_ref().filter(|labels| !labels.is_empty())?;
    let structured = serde_json::from_value(json!({ "matchLabels": labels })).ok()?;
    let labels = LabelSelector::from_structured(&structured).ok()?;
    let selection = Selection { labels, ..Selection::in_namespace(namespace) };
    let pods = store.list(&Resource::new("", "pods"), &selection, &ListOptions::default()).ok()?;
    pods.items.iter().find_map(|pod| {
        let pod: Pod = read(pod)?;
        let status = pod.status.as_ref()?;
        let conditions = status.conditions.iter().flatten();
        let is_ready = |it: &_| is(it, "Ready");
        conditions.clone().any(is_ready).then_some(())?;
        Some((status.pod_ip.clone()?, target_port(port, &pod)?))
    })
}

fn is(condition: &k8s_openapi::api::core::v1::PodCondition, kind: &str) -> bool {
    condition.type_ == kind && condition.status == "True"
}

fn target_port(port: &ServicePort, pod: &Pod) -> Option<u16> {
    let number = match port.target_port.as_ref().unwrap_or(&IntOrString::Int(port.port)) {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let containers = pod.spec.as_ref()?.containers.iter();
            let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
            ports.find(|port| port.name.as_ref() == Some(name))?.container_port
        }
    };
    u16::try_from(number).ok()
}

/// What somebody wrote down for a Service without a selector.
fn endpoint_of(
    name: &str,
    port: &ServicePort,
    namespace: &str,
    store: &Store,
) -> Option<(String, u16)> {
    let endpoints: Endpoints = get(store, "endpoints", namespace, name)?;
    endpoints.subsets.iter().flatten().find_map(|subset| {
        let address = subset.addresses.as_ref()?.first()?;
        let mut ports = subset.ports.iter().flatten();
        let port = ports.find(|it| it.name.as_deref().unwrap_or_default() == port_name(port))?;
        Some((address.ip.clone(), u16::try_from(port.port).ok()?))
    })
}

fn port_name(port: &ServicePort) -> &str {
    port.name.as_deref().unwrap_or_default()
}

fn get<K: DeserializeOwned>(store: &Store, plural: &str, namespace: &str, name: &str) -> Option<K> {
    let key = Key::new(&Resource::new("", plural), Some(namespace), name).ok()?;
    read(&*store.get(&key)?)
}

fn read<K: DeserializeOwned>(object: &Value) -> Option<K> {
    K::deserialize(object).ok()
}

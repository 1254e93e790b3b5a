//! What manifests ask the cluster for.

use fairway_cincinnati::route::ProxySettings;
use fairway_release::{Manifest, ObjectId};
use serde_json::Value;
use url::Url;

use super::{Unprepared, pods, tls};
use crate::cluster::Surroundings;
use crate::names::is_the_operator;

/// Names the containers that get the way to the outside.
const PROXY: &str = "config.openshift.io/inject-proxy";
/// Asks for the cluster's TLS settings in a configuration.
const TLS: &str = "config.openshift.io/inject-tls";

/// Whether the object of a manifest depends on the surroundings.
pub(crate) fn depends_on_surroundings(manifest: &Manifest) -> bool {
    let asks = |annotation: &str| manifest.annotation(annotation).is_some();
    asks(PROXY) || asks(TLS) || is_the_operator(&manifest.id)
}

pub(super) fn inject(
    manifest: &Manifest,
    object: &mut Value,
    surroundings: &Surroundings,
) -> Result<(), Unprepared> {
    let id = &manifest.id;
    let kind = (id.group.as_str(), id.kind.as_str());
    if let Some(containers) = manifest.annotation(PROXY)
        && matches!(kind, ("apps", "Deployment" | "DaemonSet"))
    {
        proxy(id, object, containers, &surroundings.proxy)?;
    }
    if let Some(profile) = &surroundings.tls
        && kind == ("", "ConfigMap")
        && manifest.annotation(TLS) == Some("true")
    {
        let texts = object.get_mut("data").and_then(Value::as_object_mut);
        texts.into_iter().flatten().for_each(|(_, text)| tls::inject(text, profile));
    }
    if let Some(address) = &surroundings.api_server
        && is_the_operator(id)
    {
        api_server(id, object, address)?;
    }
    Ok(())
}

fn proxy(
    id: &ObjectId,
    object: &mut Value,
    containers: &str,
    settings: &ProxySettings,
) -> Result<(), Unprepared> {
    if *settings == ProxySettings::default() {
        return Ok(());
    }
    for wanted in containers.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let pod = pods::spec_mut(id, object);
        let mut containers = pod.into_iter().flat_map(pods::containers_mut);
        let Some(container) = containers.find(|container| container["name"] == wanted) else {
            return Err(Unprepared::NoContainer {
                annotation: PROXY,
                container: wanted.to_owned(),
            });
        };
        pods::set_variable(container, "HTTP_PROXY", &settings.http_proxy);
        pods::set_variable(container, "HTTPS_PROXY", &settings.https_proxy);
        pods::set_variable(container, "NO_PROXY", &settings.no_proxy);
    }
    Ok(())
}

/// The operator runs before the network does: it has to find the API server without its Service.
fn api_server(id: &ObjectId, object: &mut Value, address: &str) -> Result<(), Unprepared> {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(Url::host_str);
    let (Some(host), port) = (host, url.as_ref().and_then(Url::port_or_known_default)) else {
        return Err(Unprepared::ApiServer(address.to_owned()));
    };
    let pod = pods::spec_mut(id, object);
    for container in pod.into_iter().flat_map(pods::containers_mut) {
        pods::set_variable(container, "KUBERNETES_SERVICE_HOST", host);
        pods::set_variable(container, "KUBERNETES_SERVICE_PORT", &port.unwrap_or(443).to_string());
    }
    Ok(())
}

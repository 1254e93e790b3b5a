//! Environment of a container.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use k8s_openapi::api::core::v1::{
    ConfigMap, Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod, ResourceFieldSelector,
    Secret,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use crate::builtin::Quantity;

/// `ConfigMaps` and Secrets of a pod's namespace.
pub(crate) trait ObjectLookup {
    /// A ConfigMap.
    fn config_map(&self, name: &str) -> Option<ConfigMap>;
    /// A Secret.
    fn secret(&self, name: &str) -> Option<Secret>;
}

/// Errors of a container's environment, with the messages of the kubelet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvironmentError {
    #[error("configmap {0:?} not found")]
    NoConfigMap(String),
    #[error("secret {0:?} not found")]
    NoSecret(String),
    #[error("couldn't find key {key} in ConfigMap {namespace}/{name}")]
    NoConfigMapKey { key: String, namespace: String, name: String },
    #[error("couldn't find key {key} in Secret {namespace}/{name}")]
    NoSecretKey { key: String, namespace: String, name: String },
    #[error("unsupported fieldPath: {0}")]
    Field(String),
    #[error("unsupported container resource {0}")]
    Resource(String),
}

/// The service environment variables of the API server.
pub(crate) fn service(api_server: SocketAddr) -> Vec<(String, String)> {
    let (host, port) = (api_server.ip().to_string(), api_server.port());
    [
        ("KUBERNETES_SERVICE_HOST", host.clone()),
        ("KUBERNETES_SERVICE_PORT", port.to_string()),
        ("KUBERNETES_SERVICE_PORT_HTTPS", port.to_string()),
        ("KUBERNETES_PORT", format!("tcp://{host}:{port}")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// Environment variables of a container in the order of the spec; later ones win.
pub(crate) fn environment(
    pod: &Pod,
    container: &Container,
    lookup: &impl ObjectLookup,
    service: Vec<(String, String)>,
) -> Result<Vec<(String, String)>, EnvironmentError> {
    let mut known: BTreeMap<String, String> = service.into_iter().collect();
    for (name, value) in from_objects(container, lookup)? {
        known.insert(name, value);
    }
    for variable in container.env.iter().flatten() {
        if let Some(value) = value(pod, container, variable, lookup, &known)? {
            known.insert(variable.name.clone(), value);
        }
    }
    Ok(known.into_iter().collect())
}

fn from_objects(
    container: &Container,
    lookup: &impl ObjectLookup,
) -> Result<Vec<(String, String)>, EnvironmentError> {
    let mut pairs = Vec::new();
    for source in container.env_from.iter().flatten() {
        let prefix = source.prefix.clone().unwrap_or_default();
        if let Some(reference) = &source.config_map_ref {
            match lookup.config_map(&reference.name) {
                Some(map) => pairs.extend(prefixed(&prefix, map.data.unwrap_or_default())),
                None if reference.optional == Some(true) => {}
                None => return Err(EnvironmentError::NoConfigMap(reference.name.clone())),
            }
        }
        if let Some(reference) = &source.secret_ref {
            match lookup.secret(&reference.name) {
                Some(secret) => pairs.extend(prefixed(&prefix, text(&secret))),
                None if reference.optional == Some(true) => {}
                None => return Err(EnvironmentError::NoSecret(reference.name.clone())),
            }
        }
    }
    Ok(pairs)
}

fn prefixed(prefix: &str, data: BTreeMap<String, String>) -> Vec<(String, String)> {
    data.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)).collect()
}

fn text(secret: &Secret) -> BTreeMap<String, String> {
    let data = secret.data.iter().flatten();
    data.map(|(name, value)| (name.clone(), String::from_utf8_lossy(&value.0).into_owned()))
        .collect()
}

fn value(
    pod: &Pod,
    container: &Container,
    variable: &EnvVar,
    lookup: &impl ObjectLookup,
    known: &BTreeMap<String, String>,
) -> Result<Option<String>, EnvironmentError> {
    let Some(source) = &variable.value_from else {
        let value = variable.value.as_deref().unwrap_or_default();
        return Ok(Some(expand(value, |name| known.get(name).cloned())));
    };
    if let Some(field) = &source.field_ref {
        return pod_field(pod, field).map(Some);
    }
    if let Some(resource) = &source.resource_field_ref {
        return container_resource(container, resource).map(Some);
    }
    from_key(pod, source, lookup)
}

fn from_key(
    pod: &Pod,
    source: &EnvVarSource,
    lookup: &impl ObjectLookup,
) -> Result<Option<String>, EnvironmentError> {
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    if let Some(reference) = &source.config_map_key_ref {
        let (name, key) = (reference.name.clone(), reference.key.clone());
        let map = lookup.config_map(&name);
        let found = map.as_ref().and_then(|map| map.data.as_ref()?.get(&key).cloned());
        return match (map, found) {
            (_, Some(value)) => Ok(Some(value)),
            _ if reference.optional == Some(true) => Ok(None),
            (None, None) => Err(EnvironmentError::NoConfigMap(name)),
            (Some(_), None) => Err(EnvironmentError::NoConfigMapKey { key, namespace, name }),
        };
    }
    let Some(reference) = &source.secret_key_ref else { return Ok(None) };
    let (name, key) = (reference.name.clone(), reference.key.clone());
    let secret = lookup.secret(&name);
    let found = secret.as_ref().and_then(|secret| text(secret).remove(&key));
    match (secret, found) {
        (_, Some(value)) => Ok(Some(value)),
        _ if reference.optional == Some(true) => Ok(None),
        (None, None) => Err(EnvironmentError::NoSecret(name)),
        (Some(_), None) => Err(EnvironmentError::NoSecretKey { key, namespace, name }),
    }
}

/// The value of a `fieldRef`.
pub(crate) fn pod_field(
    pod: &Pod,
    field: &ObjectFieldSelector,
) -> Result<String, EnvironmentError> {
    let (metadata, spec) = (&pod.metadata, pod.spec.as_ref());
    let path = field.field_path.as_str();
    let text = match path {
        "metadata.name" => metadata.name.clone(),
        "metadata.namespace" => metadata.namespace.clone(),
        "metadata.uid" => metadata.uid.clone(),
        "metadata.labels" => Some(listed(metadata.labels.as_ref())),
        "metadata.annotations" => Some(listed(metadata.annotations.as_ref())),
        "spec.nodeName" => spec.and_then(|spec| spec.node_name.clone()),
        "spec.serviceAccountName" => spec.and_then(|spec| spec.service_account_name.clone()),
        "status.hostIP" | "status.podIP" | "status.hostIPs" | "status.podIPs" => {
            Some("127.0.0.1".to_owned())
        }
        _ => Some(subscript(pod, path)?),
    };
    Ok(text.unwrap_or_default())
}

/// `metadata.labels['key']`
fn subscript(pod: &Pod, path: &str) -> Result<String, EnvironmentError> {
    let unsupported = || EnvironmentError::Field(path.to_owned());
    let (map, key) = path.split_once("['").ok_or_else(unsupported)?;
    let key = key.strip_suffix("']").ok_or_else(unsupported)?;
    let map = match map {
        "metadata.labels" => pod.metadata.labels.as_ref(),
        "metadata.annotations" => pod.metadata.annotations.as_ref(),
        _ => return Err(unsupported()),
    };
    Ok(map.and_then(|map| map.get(key).cloned()).unwrap_or_default())
}

fn listed(map: Option<&BTreeMap<String, String>>) -> String {
    let lines = map.into_iter().flatten().map(|(key, value)| format!("{key}={value:?}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The value of a `resourceFieldRef`, in units of its divisor.
pub(crate) fn container_resource(
    container: &Container,
    reference: &ResourceFieldSelector,
) -> Result<String, EnvironmentError> {
    let unsupported = || EnvironmentError::Resource(reference.resource.clone());
    let (section, name) = reference.resource.split_once('.').ok_or_else(unsupported)?;
    let resources = container.resources.as_ref();
    let amounts = match section {
        "limits" => resources.and_then(|resources| resources.limits.as_ref()),
        "requests" => resources.and_then(|resources| resources.requests.as_ref()),
        _ => return Err(unsupported()),
    };
    let Some(amount) = amounts.and_then(|amounts| amounts.get(name)) else {
        return Ok("0".to_owned());
    };
    let divisor = reference.divisor.as_ref().and_then(millis).filter(|divisor| *divisor > 0);
    let amount = millis(amount).ok_or_else(unsupported)?;
    // Rounded up, as the kubelet does.
    Ok(amount.div_ceil(divisor.unwrap_or(1000)).to_string())
}

fn millis(quantity: &ApiQuantity) -> Option<u128> {
    Quantity::parse(&quantity.0).ok()?.to_millis()
}

/// Expands `$(NAME)`; `$$` is an escaped dollar sign, unknown names remain.
pub(crate) fn expand(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        expanded.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        if let Some(escaped) = after.strip_prefix('$') {
            expanded.push('$');
            rest = escaped;
        } else if let Some((name, behind)) =
            after.strip_prefix('(').and_then(|open| open.split_once(')'))
        {
            expanded.push_str(&value(name).unwrap_or_else(|| format!("$({name})")));
            rest = behind;
        } else {
            expanded.push('$');
            rest = after;
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn read<T: DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    struct NamespaceObjects;

    impl ObjectLookup for NamespaceObjects {
        fn config_map(&self, name: &str) -> Option<ConfigMap> {
            (name == "map").then(|| read(json!({ "data": { "color": "red", "size": "1" } })))
        }

        fn secret(&self, name: &str) -> Option<Secret> {
            (name == "secret").then(|| read(json!({ "data": { "word": "c2VzYW1l" } })))
        }
    }

    fn pod() -> Pod {
        read(json!({ "metadata": { "name": "p", "namespace": "n", "uid": "u",
            "labels": { "a": "b" } }, "spec": { "containers": [], "nodeName": "node-1" } }))
    }

    fn variables(container: Value) -> Result<Vec<(String, String)>, EnvironmentError> {
        let mut container = container;
        container["name"] = json!("c");
        environment(&pod(), &read(container), &NamespaceObjects, Vec::new())
    }

    #[test]
    fn expand_replaces_references_and_escapes() {
        let value = |name: &str| (name == "A").then(|| "1".to_owned());
        for (text, expected) in [
            ("$(A)$(B)", "1$(B)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
            ("ü$(A)ü", "ü1ü"),
        ] {
            assert_eq!(expand(text, value), expected, "{text}");
        }
    }

    #[test]
    fn environment_reads_all_sources() {
        let environment = variables(json!({
            "envFrom": [{ "prefix": "M_", "configMapRef": { "name": "map" } },
                        { "configMapRef": { "name": "none", "optional": true } }],
            "env": [
                { "name": "A", "value": "x$(M_color)" },
                { "name": "B", "valueFrom": { "fieldRef": { "fieldPath": "metadata.labels['a']" } } },
                { "name": "C", "valueFrom": { "secretKeyRef": { "name": "secret", "key": "word" } } },
                { "name": "D", "valueFrom": { "configMapKeyRef":
                    { "name": "map", "key": "none", "optional": true } } },
                { "name": "E", "valueFrom": { "resourceFieldRef":
                    { "resource": "limits.memory", "divisor": "1Mi" } } },
            ],
            "resources": { "limits": { "memory": "1Gi" } },
        }));
        let expected = [
            ("A", "xred"),
            ("B", "b"),
            ("C", "sesame"),
            ("E", "1024"),
            ("M_color", "red"),
            ("M_size", "1"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(environment.unwrap(), expected);
    }

    #[test]
    fn environment_with_missing_reference_returns_kubelet_error() {
        for (source, expected) in [
            (
                json!({ "configMapKeyRef": { "name": "no", "key": "k" } }),
                "configmap \"no\" not found",
            ),
            (json!({ "secretKeyRef": { "name": "no", "key": "k" } }), "secret \"no\" not found"),
            (
                json!({ "configMapKeyRef": { "name": "map", "key": "k" } }),
                "couldn't find key k in ConfigMap n/map",
            ),
            (
                json!({ "secretKeyRef": { "name": "secret", "key": "k" } }),
                "couldn't find key k in Secret n/secret",
            ),
        ] {
            let error = variables(json!({ "env": [{ "name": "A", "valueFrom": source }] }));
            assert_eq!(error.unwrap_err().to_string(), expected);
        }
    }
}

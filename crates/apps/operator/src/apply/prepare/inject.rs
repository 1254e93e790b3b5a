//! Injection of cluster configuration into manifests, as their annotations request it.

use fairway_cincinnati::connection::ProxySettings;
use fairway_release::{Manifest, ObjectId};
use serde_json::{Value, json};
use url::Url;

use super::{PrepareError, containers_mut, set_variable, spec_mut};
use crate::cluster::{InjectedConfig, TlsProfile};
use crate::names::is_the_operator;

/// Names the containers that get the proxy settings as environment variables.
const PROXY: &str = "config.openshift.io/inject-proxy";
/// Requests the TLS profile of the cluster in a configuration file.
const TLS: &str = "config.openshift.io/inject-tls";

/// Whether the object of a manifest depends on the injected configuration.
pub(crate) fn depends_on_injected_config(manifest: &Manifest) -> bool {
    let asks = |annotation: &str| manifest.annotation(annotation).is_some();
    asks(PROXY) || asks(TLS) || is_the_operator(&manifest.id)
}

pub(super) fn inject(
    manifest: &Manifest,
    object: &mut Value,
    surroundings: &InjectedConfig,
) -> Result<(), PrepareError> {
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
        texts.into_iter().flatten().for_each(|(_, text)| inject_tls(text, profile));
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
) -> Result<(), PrepareError> {
    if *settings == ProxySettings::default() {
        return Ok(());
    }
    for wanted in containers.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let pod = spec_mut(id, object);
        let mut containers = pod.into_iter().flat_map(containers_mut);
        let Some(container) = containers.find(|container| container["name"] == wanted) else {
            return Err(PrepareError::NoContainer {
                annotation: PROXY,
                container: wanted.to_owned(),
            });
        };
        set_variable(container, "HTTP_PROXY", &settings.http_proxy);
        set_variable(container, "HTTPS_PROXY", &settings.https_proxy);
        set_variable(container, "NO_PROXY", &settings.no_proxy);
    }
    Ok(())
}

/// The operator starts before the network: it needs the address of the API server without its Service.
fn api_server(id: &ObjectId, object: &mut Value, address: &str) -> Result<(), PrepareError> {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(Url::host_str);
    let (Some(host), port) = (host, url.as_ref().and_then(Url::port_or_known_default)) else {
        return Err(PrepareError::ApiServer(address.to_owned()));
    };
    let pod = spec_mut(id, object);
    for container in pod.into_iter().flat_map(containers_mut) {
        set_variable(container, "KUBERNETES_SERVICE_HOST", host);
        set_variable(container, "KUBERNETES_SERVICE_PORT", &port.unwrap_or(443).to_string());
    }
    Ok(())
}

/// Configurations with TLS settings: API version and kind.
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("operator.openshift.io/v1alpha1", "GenericOperatorConfig"),
    ("config.openshift.io/v1", "GenericControllerConfig"),
];

/// Maximum size of a ConfigMap.
const MAX_CONFIGURATION_BYTES: usize = 1024 * 1024;

/// Sets the TLS settings of a configuration; the rest of the text stays as written.
fn inject_tls(text: &mut Value, profile: &TlsProfile) {
    let Some(before) = text.as_str() else { return };
    let Some(configuration) = read(before) else { return };
    let wanted = with_profile(&configuration, profile);
    if wanted != configuration {
        let edited = edited(before, profile);
        // A text in unusual notation is replaced as a whole; JSON is valid YAML.
        *text = match read(&edited) {
            Some(read) if read == wanted => json!(edited),
            _ => json!(wanted.to_string()),
        };
    }
}

/// Parses a configuration with TLS settings.
fn read(text: &str) -> Option<Value> {
    if text.len() > MAX_CONFIGURATION_BYTES {
        return None;
    }
    let value: Value = serde_saphyr::from_str(text).ok()?;
    let is_known = CONFIGURATIONS
        .iter()
        .any(|(version, kind)| value["apiVersion"] == *version && value["kind"] == *kind);
    is_known.then_some(value)
}

fn with_profile(configuration: &Value, profile: &TlsProfile) -> Value {
    let mut wanted = configuration.clone();
    let serving = &mut wanted["servingInfo"];
    if !serving.is_object() {
        *serving = json!({});
    }
    let Some(serving) = serving.as_object_mut() else { return wanted };
    serving.remove("minTLSVersion");
    serving.remove("cipherSuites");
    if !profile.min_version.is_empty() {
        serving.insert("minTLSVersion".to_owned(), json!(profile.min_version));
    }
    if !profile.cipher_suites.is_empty() {
        serving.insert("cipherSuites".to_owned(), json!(profile.cipher_suites));
    }
    wanted
}

/// Replaces the lines of the settings in a text in block notation.
fn edited(text: &str, profile: &TlsProfile) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| line.trim_end() == "servingInfo:");
    let (before, rest) = lines.split_at(begin.unwrap_or(lines.len()));
    let inside = rest.get(1..).unwrap_or_default();
    let length = inside.iter().position(|line| is_top_level(line)).unwrap_or(inside.len());
    let (inside, after) = inside.split_at(length);
    let indent = inside.iter().find(|line| !line.trim().is_empty()).map_or(2, |line| indent(line));
    let mut edited: Vec<String> = before.iter().map(|&line| line.to_owned()).collect();
    edited.push("servingInfo:".to_owned());
    edited.extend(without_settings(inside, indent).map(str::to_owned));
    edited.extend(settings(profile, indent));
    edited.extend(after.iter().map(|&line| line.to_owned()));
    edited.join("\n") + if text.ends_with('\n') { "\n" } else { "" }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_top_level(line: &str) -> bool {
    indent(line) == 0 && !line.trim().is_empty()
}

/// The lines of the section without the settings.
fn without_settings<'a>(
    inside: &[&'a str],
    indent_of_fields: usize,
) -> impl Iterator<Item = &'a str> {
    let mut in_settings = false;
    inside.iter().copied().filter(move |line| {
        let is_item = line.trim_start().starts_with("- ");
        if indent(line) <= indent_of_fields && !is_item {
            let field = line.trim_start();
            in_settings = field.starts_with("minTLSVersion:") || field.starts_with("cipherSuites:");
        }
        !in_settings
    })
}

fn settings(profile: &TlsProfile, indent: usize) -> Vec<String> {
    let pad = " ".repeat(indent);
    let mut lines = Vec::new();
    if !profile.min_version.is_empty() {
        lines.push(format!("{pad}minTLSVersion: {}", profile.min_version));
    }
    if !profile.cipher_suites.is_empty() {
        lines.push(format!("{pad}cipherSuites:"));
        lines.extend(profile.cipher_suites.iter().map(|cipher| format!("{pad}- {cipher}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> TlsProfile {
        TlsProfile {
            min_version: "VersionTLS12".to_owned(),
            cipher_suites: vec!["TLS_AES_128_GCM_SHA256".to_owned(), "TLS_B".to_owned()],
        }
    }

    fn injected(text: &str, profile: &TlsProfile) -> String {
        let mut text = json!(text);
        inject_tls(&mut text, profile);
        text.as_str().unwrap().to_owned()
    }

    #[test]
    fn inject_sets_tls_and_keeps_other_lines() {
        let text = "# ours\napiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\n\
                    servingInfo:\n  bindAddress: \"0.0.0.0:8443\" # everywhere\n  cipherSuites:\n  - OLD\n\
                    leaderElection:\n  disable: true\n";
        insta::assert_snapshot!(injected(text, &profile()), @r#"
        # ours
        apiVersion: operator.openshift.io/v1alpha1
        kind: GenericOperatorConfig
        servingInfo:
          bindAddress: "0.0.0.0:8443" # everywhere
          minTLSVersion: VersionTLS12
          cipherSuites:
          - TLS_AES_128_GCM_SHA256
          - TLS_B
        leaderElection:
          disable: true
        "#);
        let once = injected(text, &profile());
        assert_eq!(injected(&once, &profile()), once);
        let cleared = injected(&once, &TlsProfile::default());
        assert!(!cleared.contains("TLS") && cleared.contains("# everywhere"), "{cleared}");
    }

    #[test]
    fn inject_without_section_adds_one() {
        let text = "kind: GenericControllerConfig\napiVersion: config.openshift.io/v1\n";
        let expected = json!({
            "kind": "GenericControllerConfig", "apiVersion": "config.openshift.io/v1",
            "servingInfo": {
                "minTLSVersion": "VersionTLS12", "cipherSuites": ["TLS_AES_128_GCM_SHA256", "TLS_B"],
            },
        });
        assert_eq!(read(&injected(text, &profile())), Some(expected.clone()));
        let in_json = expected.to_string().replace("VersionTLS12", "VersionTLS10");
        assert_eq!(read(&injected(&in_json, &profile())), Some(expected));
    }

    #[test]
    fn inject_of_other_text_changes_nothing() {
        for text in
            ["", "a: [", "kind: GenericControllerConfig\napiVersion: v1\n", "servingInfo:\n"]
        {
            assert_eq!(injected(text, &profile()), text);
        }
    }
}

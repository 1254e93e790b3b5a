//! `NetworkPolicies` of a run: its Pods reach the API server and DNS, and the destinations that the
//! administrator adds. The manifests of the operator deny all other traffic of these Pods.

use std::collections::BTreeMap;
use std::net::IpAddr;

use fairway_findings::{labels, vet};
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde_json::{Value, json};

use super::deployment::{self, PreflightRun};

/// Namespace and name of the Service of the API server.
pub(super) const API_SERVER: (&str, &str) = ("default", "kubernetes");

/// Name of the policies.
pub(super) const NAME: &str = "preflight-egress";

/// Ports of DNS: that of the Service, and that of the Pods on OpenShift.
const DNS_PORTS: [u16; 2] = [53, 5353];

/// A single address as CIDR, and its TCP ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Destination {
    cidr: String,
    ports: Vec<i32>,
}

impl Destination {
    /// `None` for a text that is not an address, as in a headless Service.
    fn new(address: &str, ports: &[i32]) -> Option<Self> {
        let cidr = match address.parse().ok()? {
            IpAddr::V4(address) => format!("{address}/32"),
            IpAddr::V6(address) => format!("{address}/128"),
        };
        Some(Self { cidr, ports: ports.to_vec() })
    }
}

/// Addresses of the API server. Network plugins compare the destination before or after they
/// translate the address of the Service, so that both are needed.
pub(super) fn api_server(
    service: Option<&Service>,
    endpoints: Option<&Endpoints>,
) -> Vec<Destination> {
    let mut found = Vec::new();
    if let Some(spec) = service.and_then(|service| service.spec.as_ref()) {
        let ports: Vec<i32> = spec.ports.iter().flatten().map(|port| port.port).collect();
        let addresses = spec.cluster_ips.iter().flatten().chain(&spec.cluster_ip);
        found.extend(addresses.filter_map(|address| Destination::new(address, &ports)));
    }
    let subsets = endpoints.and_then(|endpoints| endpoints.subsets.as_ref());
    for subset in subsets.into_iter().flatten() {
        let ports: Vec<i32> = subset.ports.iter().flatten().map(|port| port.port).collect();
        let addresses = subset.addresses.iter().flatten();
        found.extend(addresses.filter_map(|address| Destination::new(&address.ip, &ports)));
    }
    found.sort();
    found.dedup();
    found
}

/// Policy for the target release.
pub(super) fn runner_policy(
    run: &PreflightRun,
    namespace: &str,
    api_server: &[Destination],
    allowed: &[String],
) -> serde_json::Result<NetworkPolicy> {
    let mut metadata = serde_json::to_value(deployment::metadata(run))?;
    metadata["name"] = NAME.into();
    metadata["namespace"] = namespace.into();
    let pods = json!({"matchLabels": {labels::APP: labels::APP_VALUE}});
    policy(&metadata, &pods, &rules(api_server, allowed))
}

/// Policy for the checks of a run.
pub(super) fn check_policy(
    labels: &BTreeMap<String, String>,
    api_server: &[Destination],
    allowed: &[String],
) -> serde_json::Result<NetworkPolicy> {
    let metadata = json!({"name": NAME, "namespace": vet::NAMESPACE, "labels": labels});
    policy(&metadata, &json!({}), &rules(api_server, allowed))
}

fn policy(metadata: &Value, pods: &Value, rules: &[Value]) -> serde_json::Result<NetworkPolicy> {
    serde_json::from_value(json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata,
        "spec": {"podSelector": pods, "policyTypes": ["Egress"], "egress": rules},
    }))
}

fn rules(api_server: &[Destination], allowed: &[String]) -> Vec<Value> {
    let port = |port: &i32| json!({"protocol": "TCP", "port": port});
    let api_server = api_server.iter().map(|Destination { cidr, ports }| {
        let ports: Vec<Value> = ports.iter().map(port).collect();
        json!({"to": [{"ipBlock": {"cidr": cidr}}], "ports": ports})
    });
    let dns = ["UDP", "TCP"]
        .into_iter()
        .flat_map(|protocol| DNS_PORTS.map(|port| json!({"protocol": protocol, "port": port})));
    // Pods of all namespaces: clusters run DNS in different ones. Addresses outside of the cluster
    // are not included.
    let dns = json!({"to": [{"namespaceSelector": {}}], "ports": dns.collect::<Vec<_>>()});
    let allowed = allowed.iter().map(|cidr| json!({"to": [{"ipBlock": {"cidr": cidr}}]}));
    api_server.chain([dns]).chain(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(service: &Value, endpoints: &Value) -> Vec<Destination> {
        let service = serde_json::from_value(service.clone()).unwrap();
        let endpoints = serde_json::from_value(endpoints.clone()).unwrap();
        api_server(Some(&service), Some(&endpoints))
    }

    #[test]
    fn api_server_includes_service_and_endpoints() {
        let service = json!({"spec": {
            "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"], "ports": [{"port": 443}],
        }});
        let endpoints = json!({"subsets": [{
            "addresses": [{"ip": "192.0.2.7"}, {"ip": "192.0.2.8"}], "ports": [{"port": 6443}],
        }]});
        let rendered: Vec<_> = found(&service, &endpoints)
            .into_iter()
            .map(|Destination { cidr, ports }| format!("{cidr} {ports:?}"))
            .collect();
        insta::assert_snapshot!(rendered.join("\n"), @"
        10.0.0.1/32 [443]
        192.0.2.7/32 [6443]
        192.0.2.8/32 [6443]
        fd00::1/128 [443]
        ");
        assert_eq!(found(&json!({"spec": {"clusterIP": "None"}}), &json!({})), []);
        assert_eq!(api_server(None, None), []);
    }

    #[test]
    fn check_policy_allows_api_server_dns_and_configured_destinations() {
        let api_server: Vec<_> = Destination::new("10.0.0.1", &[443]).into_iter().collect();
        let policy = check_policy(&[].into(), &api_server, &["192.0.2.0/24".to_owned()]).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&policy.spec).unwrap());
        let default = check_policy(&[].into(), &api_server, &[]).unwrap();
        let rules = default.spec.and_then(|spec| spec.egress).unwrap();
        let is_unlimited = rules.iter().any(|rule| rule.to.as_ref().is_none_or(Vec::is_empty));
        assert!(!is_unlimited && rules.len() == 2, "{rules:?}");
    }
}

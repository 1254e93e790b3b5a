//! Services.

use serde_json::{Value, json};

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut, items_mut, text};

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

/// Three hours.
const AFFINITY_SECONDS: i32 = 10_800;

fn set_defaults(service: &mut Value) {
    let Some(spec) = get_mut(service, "spec") else { return };
    default(spec, "type", "ClusterIP");
    affinity(spec);
    let kind = text(spec, "type").to_owned();
    if kind != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster");
        families(spec);
    }
    if matches!(&*kind, "NodePort" | "LoadBalancer") {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
    items_mut(spec, "ports").for_each(port);
}

fn affinity(spec: &mut Value) {
    default(spec, "sessionAffinity", "None");
    if text(spec, "sessionAffinity") == "None" {
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("sessionAffinityConfig");
        }
    } else if text(spec, "sessionAffinity") == "ClientIP" {
        default(spec, "sessionAffinityConfig", json!({}));
        default(&mut spec["sessionAffinityConfig"], "clientIP", json!({}));
        default(&mut spec["sessionAffinityConfig"]["clientIP"], "timeoutSeconds", AFFINITY_SECONDS);
    }
}

/// The cluster has one family of addresses.
fn families(spec: &mut Value) {
    default(spec, "ipFamilyPolicy", "SingleStack");
    default(spec, "ipFamilies", json!(["IPv4"]));
}

fn port(port: &mut Value) {
    default(port, "protocol", "TCP");
    if port["targetPort"] == 0 || port["targetPort"] == "" {
        let number = port["port"].clone();
        port["targetPort"] = number;
    }
}

//! Cells of Services, Endpoints, Ingresses and `NetworkPolicies`.

use serde_json::{Value, json};

use super::abbreviated;
use crate::table::row::{NONE, RowContext, or_none};

/// Number of endpoints or hosts in a cell.
const SHOWN: usize = 3;

pub(in crate::table) fn service(it: RowContext<'_>) -> Vec<Value> {
    vec![
        it.name(),
        json!(it.text("/spec/type")),
        json!(it.text_or("/spec/clusterIP", NONE)),
        json!(external_addresses(it)),
        json!(ports(it)),
        it.age(),
        json!(it.labels("/spec/selector")),
    ]
}

fn external_addresses(it: RowContext<'_>) -> String {
    let external = it.items("/spec/externalIPs").iter().filter_map(Value::as_str);
    let external: Vec<_> = external.collect();
    match it.text("/spec/type") {
        "ExternalName" => it.text("/spec/externalName").to_owned(),
        "LoadBalancer" => {
            let mut all = ingress_points(it);
            all.extend(external);
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        _ => or_none(external.join(",")),
    }
}

fn ingress_points(it: RowContext<'_>) -> Vec<&str> {
    let points = it.parts("/status/loadBalancer/ingress");
    points.map(|point| point.text_or("/ip", point.text("/hostname"))).collect()
}

fn ports(it: RowContext<'_>) -> String {
    let shown = it.parts("/spec/ports").map(|port| {
        let (number, protocol) = (port.number("/port"), port.text_or("/protocol", "TCP"));
        match port.number("/nodePort") {
            0 => format!("{number}/{protocol}"),
            node => format!("{number}:{node}/{protocol}"),
        }
    });
    or_none(shown.collect::<Vec<_>>().join(","))
}

pub(in crate::table) fn endpoints(it: RowContext<'_>) -> Vec<Value> {
    let all: Vec<_> = it.parts("/subsets").flat_map(subset).collect();
    let shown = if it.count("/subsets") == 0 { NONE.to_owned() } else { abbreviated(&all, SHOWN) };
    vec![it.name(), json!(shown), it.age()]
}

fn subset(it: RowContext<'_>) -> Vec<String> {
    let addresses = it.texts_of("/addresses", "ip");
    if it.count("/ports") == 0 {
        return addresses.into_iter().map(str::to_owned).collect();
    }
    let of_port = |port: RowContext<'_>| {
        let port = port.number("/port");
        let with_port = |address: &&str| {
            let bracketed = address.contains(':');
            if bracketed { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
        };
        addresses.iter().map(with_port).collect::<Vec<_>>()
    };
    it.parts("/ports").flat_map(of_port).collect()
}

pub(in crate::table) fn ingress(it: RowContext<'_>) -> Vec<Value> {
    let hosts: Vec<_> = it.texts_of("/spec/rules", "host").into_iter().map(str::to_owned).collect();
    let hosts = if hosts.is_empty() { "*".to_owned() } else { abbreviated(&hosts, SHOWN) };
    let ports = if it.count("/spec/tls") > 0 { "80, 443" } else { "80" };
    vec![
        it.name(),
        json!(it.text_or("/spec/ingressClassName", NONE)),
        json!(hosts),
        json!(ingress_points(it).join(",")),
        json!(ports),
        it.age(),
    ]
}

pub(in crate::table) fn ingress_class(it: RowContext<'_>) -> Vec<Value> {
    let parameters = it.fields("/spec/parameters").map(|_| {
        let kind = it.text("/spec/parameters/kind");
        let name = it.text("/spec/parameters/name");
        match it.text("/spec/parameters/apiGroup") {
            "" => format!("{kind}/{name}"),
            group => format!("{kind}.{group}/{name}"),
        }
    });
    let parameters = parameters.unwrap_or_else(|| NONE.to_owned());
    vec![it.name(), json!(it.text("/spec/controller")), json!(parameters), it.age()]
}

pub(in crate::table) fn policy(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), json!(it.selector("/spec/podSelector")), it.age()]
}

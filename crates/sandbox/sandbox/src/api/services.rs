//! Addresses and ports of Services.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::Refusal;
use super::refusal::Cause;
use crate::store::{ListOptions, Resource, Selection, Store};

/// What a Service can ask for: a loopback address, so that no packet leaves the machine. The API's
/// own Service has the one where the API is.
const RANGE: &str = "127.0.0.0/8";

/// What a Service gets that asks for nothing. Nothing answers there on its behalf, but clients find
/// the addresses that they expect; whatever listens on all of loopback stays out of the way.
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);
const LAST: Ipv4Addr = Ipv4Addr::new(127, 77, 255, 254);

/// As the API server has it.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// Gives a Service what it needs and does not have; `old` is what it replaces.
pub(super) fn allocate(
    service: &mut Value,
    old: Option<&Value>,
    store: &Store,
) -> Result<(), Refusal> {
    let kind = service.pointer("/spec/type").and_then(Value::as_str).unwrap_or("ClusterIP");
    if kind == "ExternalName" {
        return Ok(());
    }
    let has_node_ports = matches!(kind, "NodePort" | "LoadBalancer");
    let uid = old.and_then(|old| old.pointer("/metadata/uid"));
    let others = Others::of(store, uid);
    address(service, old, &others)?;
    if has_node_ports { node_ports(service, old, &others) } else { Ok(()) }
}

/// What the other Services have.
struct Others {
    addresses: BTreeSet<String>,
    node_ports: BTreeSet<i64>,
}

impl Others {
    fn of(store: &Store, uid: Option<&Value>) -> Self {
        let all = (Selection::default(), ListOptions::default());
        let services = store.list(&Resource::new("", "services"), &all.0, &all.1);
        let services = services.map(|list| list.items).unwrap_or_default();
        let mut others = Self { addresses: BTreeSet::new(), node_ports: BTreeSet::new() };
        for service in services.iter().filter(|it| it.pointer("/metadata/uid") != uid) {
            others.addresses.extend(address_of(service).map(str::to_owned));
            others.node_ports.extend(ports(service).filter_map(|port| port["nodePort"].as_i64()));
        }
        others
    }
}

fn address(service: &mut Value, old: Option<&Value>, others: &Others) -> Result<(), Refusal> {
    let wanted = address_of(service).or_else(|| old.and_then(address_of)).map(str::to_owned);
    let address = match wanted {
        Some(headless) if headless == "None" => headless,
        Some(wanted) => {
            check(service, &wanted, others)?;
            wanted
        }
        None => free(others).ok_or_else(|| Refusal::internal("range is full"))?,
    };
    service["spec"]["clusterIPs"] = json!([address]);
    service["spec"]["clusterIP"] = json!(address);
    Ok(())
}

fn check(service: &Value, address: &str, others: &Others) -> Result<(), Refusal> {
    let in_range = address.parse().is_ok_and(|it: Ipv4Addr| it.is_loopback());
    let problem = if !in_range {
        format!("provided IP is not in the valid range. The range of valid IPs is {RANGE}")
    } else if others.addresses.contains(address) {
        "provided IP is already allocated".to_owned()
    } else {
        return Ok(());
    };
    let cause = Cause {
        reason: "FieldValueInvalid".to_owned(),
        message: format!(
            "Invalid value: []string{{{address:?}}}: \
             failed to allocated ip:{address} with error:{problem}"
        ),
        field: "spec.clusterIPs".to_owned(),
    };
    Err(Refusal::invalid_because("Service", "", super::meta::text(service, "name"), vec![cause]))
}

fn free(others: &Others) -> Option<String> {
    let addresses = u32::from(FIRST)..=u32::from(LAST);
    let mut addresses = addresses.map(|address| Ipv4Addr::from(address).to_string());
    addresses.find(|address| !others.addresses.contains(address))
}

fn node_ports(service: &mut Value, old: Option<&Value>, others: &Others) -> Result<(), Refusal> {
    let before = |port: &Value| {
        let same = |it: &&Value| it["port"] == port["port"] && it["protocol"] == port["protocol"];
        old.and_then(|old| ports(old).find(same)).and_then(|it| it["nodePort"].as_i64())
    };
    let mut taken = others.node_ports.clone();
    taken.extend(ports(service).filter_map(|port| port["nodePort"].as_i64()));
    let list = service.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in list.into_iter().flatten() {
        if port["nodePort"].as_i64().is_some_and(|given| given != 0) {
            continue;
        }
        let free = || NODE_PORTS.clone().find(|candidate| !taken.contains(candidate));
        let chosen = before(port).or_else(free);
        let chosen = chosen.ok_or_else(|| Refusal::internal("range is full"))?;
        taken.insert(chosen);
        if let Some(port) = port.as_object_mut() {
            port.insert("nodePort".to_owned(), chosen.into());
        }
    }
    Ok(())
}

fn address_of(service: &Value) -> Option<&str> {
    let address = service.pointer("/spec/clusterIP").and_then(Value::as_str);
    address.filter(|address| !address.is_empty())
}

fn ports(service: &Value) -> impl Iterator<Item = &Value> {
    service.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten()
}

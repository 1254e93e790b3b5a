//! Cells of Services.

use serde_json::{Value, json};

use crate::table::row::{NONE, RowContext, or_none};

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

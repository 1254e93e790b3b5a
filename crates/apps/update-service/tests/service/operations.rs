//! What operators see.

use std::net::{Ipv4Addr, SocketAddr};

use fairway_update_service::Service;

use crate::support::{GRAPH, World, get, send, until};

#[tokio::test]
async fn probes_answer_before_there_is_a_graph() {
    let world = World::new();
    world.remove("version");
    let service = Service::start(world.options()).await.unwrap();
    assert_eq!(get(&service, "/healthz").await.status, 200);
    assert_eq!(get(&service, "/readyz").await.status, 503);
    let reply = get(&service, GRAPH).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
    insta::assert_snapshot!(reply.text(), @r#"{"kind":"no_graph","value":"no update graph available yet"}"#);
    until(&service, |status| status.held.is_some()).await;
    insta::assert_snapshot!(get(&service, "/readyz").await.text(), @"no update graph available yet: file version with the schema version is missing");
    world.write("version", "1.1.0");
    until(&service, |status| status.graph.is_some()).await;
    assert_eq!(get(&service, "/readyz").await.text(), "ok\n");
}

#[tokio::test]
async fn status_says_what_is_served_and_what_is_not() {
    let world = World::new();
    world.write("channels/bad.yaml", "name: [");
    let service = world.serve().await;
    let status = get(&service, "/status").await.json();
    assert_eq!(status["ready"], true);
    assert!(status["ageSeconds"].as_i64().unwrap() < 20);
    assert_eq!(status["graph"]["releases"], 3);
    assert_eq!(status["graph"]["conditional"], 1);
    assert_eq!(status["held"], serde_json::Value::Null);
    assert_eq!(status["sources"].as_array().unwrap().len(), 2);
    assert_eq!(status["quarantined"][0]["kind"], "file");
    let why = status["quarantined"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("channels/bad.yaml"), "{why}");
}

#[tokio::test]
async fn metrics_have_the_names_that_dashboards_know() {
    let world = World::new();
    let service = world.serve().await;
    get(&service, GRAPH).await;
    get(&service, "/api/upgrades_info/graph").await;
    get(&service, "/nowhere/0123456789abcdef").await;
    let metrics = get(&service, "/metrics").await;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(metrics.header("content-type"), Some(media_type));
    for line in [
        r#"cincinnati_pe_graph_incoming_requests_total{uri_path="/v1/graph"} 1"#,
        r#"cincinnati_pe_graph_incoming_requests_total{uri_path="/graph"} 1"#,
        r#"cincinnati_pe_graph_response_errors_total{code="400",kind="missing_params"} 1"#,
        r#"cincinnati_pe_graph_response_errors_total{code="404",kind="not_found"} 1"#,
        "cincinnati_pe_graph_serve_duration_seconds_count 1",
        "cincinnati_gb_graph_upstream_raw_releases 3",
        "cincinnati_gb_graph_final_releases 3",
        "cincinnati_gb_graph_upstream_errors_total 0",
        r#"fairway_update_service_quarantined{kind="file"} 0"#,
        "fairway_update_service_held 0",
        "fairway_update_service_vanished_block_files_total 0",
        "# EOF",
    ] {
        assert!(metrics.text().lines().any(|found| found == line), "{line}\n{}", metrics.text());
    }
    assert!(metrics.text().contains("cincinnati_gb_graph_last_successful_refresh_timestamp 1"));
    assert!(metrics.text().contains("fairway_update_service_connections "));
    // What clients ask for is never a label.
    assert!(!metrics.text().contains("0123456789abcdef"));
}

#[tokio::test]
async fn probes_can_have_an_address_of_their_own() {
    let world = World::new();
    let mut options = world.options();
    options.status_address = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    options.limits.connections = 1;
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    // Whoever takes all places of the service takes none of these.
    let crowd = tokio::net::TcpStream::connect(service.address()).await.unwrap();
    let status = async |address: SocketAddr, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        send(address, request.as_bytes()).await.expect("an answer").status
    };
    let probes = ["/healthz", "/livez", "/readyz", "/status", "/metrics"];
    for path in probes {
        assert_eq!(status(service.status_address(), path).await, 200, "{path}");
    }
    drop(crowd);
    for path in probes {
        assert_eq!(status(service.address(), path).await, 404, "{path}");
    }
    for path in [GRAPH, "/openapi.json"] {
        assert_eq!(status(service.status_address(), path).await, 404, "{path}");
    }
}

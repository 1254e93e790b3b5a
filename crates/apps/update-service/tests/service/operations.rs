//! Probes, status, metrics, TLS certificates.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use fairway_update_service::{Service, TlsFiles};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::support::{GRAPH, TIMEOUT, TestData, get, read_reply, send, until};

#[tokio::test]
async fn probes_without_graph_report_not_ready() {
    let data = TestData::new();
    data.remove("version");
    let service = Service::start(data.options()).await.unwrap();
    assert_eq!(get(&service, "/healthz").await.status, 200);
    assert_eq!(get(&service, "/readyz").await.status, 503);
    let reply = get(&service, GRAPH).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
    insta::assert_snapshot!(reply.text(), @r#"{"kind":"no_graph","value":"no update graph available yet"}"#);
    until(&service, |status| status.held.is_some()).await;
    insta::assert_snapshot!(get(&service, "/readyz").await.text(), @"no update graph available yet: file version with the schema version is missing");
    data.write("version", "1.1.0");
    until(&service, |status| status.graph.is_some()).await;
    assert_eq!(get(&service, "/readyz").await.text(), "ok\n");
}

#[tokio::test]
async fn status_lists_graph_and_quarantined_inputs() {
    let data = TestData::new();
    data.write("channels/bad.yaml", "name: [");
    let service = data.serve().await;
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
async fn metrics_have_cincinnati_names() {
    let data = TestData::new();
    let service = data.serve().await;
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
    // Request parameters never become labels.
    assert!(!metrics.text().contains("0123456789abcdef"));
}

#[tokio::test]
async fn probes_on_separate_address_are_served() {
    let data = TestData::new();
    let mut options = data.options();
    options.status_address = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    options.limits.connections = 1;
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    // Clients that use all slots do not affect the probes.
    let occupied = TcpStream::connect(service.address()).await.unwrap();
    let status = async |address: SocketAddr, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        send(address, request.as_bytes()).await.expect("an answer").status
    };
    let probes = ["/healthz", "/livez", "/readyz", "/status", "/metrics"];
    for path in probes {
        assert_eq!(status(service.status_address(), path).await, 200, "{path}");
    }
    drop(occupied);
    for path in probes {
        assert_eq!(status(service.address(), path).await, 404, "{path}");
    }
    for path in [GRAPH, "/openapi.json"] {
        assert_eq!(status(service.status_address(), path).await, 404, "{path}");
    }
}

/// Writes a certificate for `localhost`, and returns it.
fn certify(data: &TestData) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(data.path("tls.key"), made.signing_key.serialize_pem()).unwrap();
    fs::write(data.path("tls.crt"), made.cert.pem()).unwrap();
    made.cert.der().clone()
}

async fn ask(service: &Service, trusted: &CertificateDer<'static>) -> Option<u16> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(service.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    let request = format!("GET {GRAPH} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    Some(read_reply(&mut stream, false).await?.status)
}

#[tokio::test]
async fn changed_certificate_is_reloaded() {
    let data = TestData::new();
    let first = certify(&data);
    let mut options = data.options();
    options.tls = Some(TlsFiles {
        certificate: data.path("tls.crt"),
        key: data.path("tls.key"),
        every: Duration::from_millis(20),
    });
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    assert_eq!(ask(&service, &first).await, Some(200));
    fs::write(data.path("tls.crt"), "broken").unwrap();
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(100)).await;
    assert_eq!(ask(&service, &first).await, Some(200));
    let second = certify(&data);
    let renewed = async { while ask(&service, &second).await != Some(200) {} };
    timeout(TIMEOUT, renewed).await.expect("the new certificate is used");
    assert_eq!(ask(&service, &first).await, None);
}

#[tokio::test]
async fn start_without_certificate_fails() {
    let data = TestData::new();
    let mut options = data.options();
    let every = Duration::from_secs(1);
    options.tls =
        Some(TlsFiles { certificate: "/nowhere.crt".into(), key: "/nowhere.key".into(), every });
    let error = Service::start(options).await.err().unwrap();
    insta::assert_snapshot!(error, @"cannot read /nowhere.crt");
}

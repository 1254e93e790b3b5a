//! CA certificates for the update service.

use super::proxy::Proxy;
use super::real_service::Files;
use super::stage::{Stage, message, short_intervals, single_request};

/// Writes a certificate, and returns it.
fn certify(files: &Files, name: &str) -> String {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    files.write("tls.key", &made.signing_key.serialize_pem());
    files.write("tls.crt", &made.cert.pem());
    made.cert.pem()
}

#[tokio::test]
async fn service_is_trusted_by_ca_bundle_of_the_cluster() {
    let files = Files::new();
    let right = certify(&files, "localhost");
    let wrong = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem();
    let service = files.serve().await;
    let port = service.address().port();
    let upstream = format!("https://localhost:{port}/api/upgrades_info/v1/graph");
    let stage = Stage::start(&upstream, single_request());
    let machine = stage.until_failed("RemoteFailed").await;
    stage.trust(&wrong);
    stage.until_counted("RemoteFailed", 2).await;
    stage.trust(&format!("{wrong}{right}"));
    stage.until_offered(&["5.1.2", "5.1.1"]).await;
    stage.trust("not a certificate");
    let nobody = stage.until_failed("RemoteFailed").await;
    stage.trust(&right);
    stage.until_offered(&["5.1.2", "5.1.1"]).await;
    let messages = [machine, nobody]
        .map(|updates| message(&updates, service.address()).replace(&port.to_string(), "PORT"));
    insta::assert_snapshot!(messages.join("\n"), @"
    Unable to retrieve available updates: cannot reach https://localhost:PORT/api/upgrades_info/v1/graph: invalid peer certificate: UnknownIssuer.
    Unable to retrieve available updates: invalid CA bundle in ConfigMap openshift-config-managed/trusted-ca-bundle: no certificate in ca-bundle.crt. The listed updates are from …
    ");
}

#[tokio::test]
async fn proxy_sees_no_content_of_tls_requests() {
    let files = Files::new();
    let ca_certificate = certify(&files, "updates.example");
    let service = files.serve().await;
    let proxy = Proxy::start(service.address()).await;
    let stage =
        Stage::start("https://updates.example/api/upgrades_info/v1/graph", short_intervals());
    stage.set_proxy(&proxy.url(), "localhost");
    stage.trust(&ca_certificate);
    stage.until_offered(&["5.1.2", "5.1.1"]).await;
    for requests in proxy.requests() {
        assert!(requests.starts_with("CONNECT updates.example:443 "), "{requests}");
    }
}

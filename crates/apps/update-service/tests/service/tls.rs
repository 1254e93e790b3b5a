//! TLS, and certificates that change.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use fairway_update_service::{Service, TlsFiles};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::support::{GRAPH, PATIENCE, World, read_reply, until};

/// Writes a certificate for `localhost`, and returns it.
fn certify(world: &World) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(world.path("tls.key"), made.signing_key.serialize_pem()).unwrap();
    fs::write(world.path("tls.crt"), made.cert.pem()).unwrap();
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
async fn certificates_are_loaded_again_when_they_change() {
    let world = World::new();
    let first = certify(&world);
    let mut options = world.options();
    options.tls = Some(TlsFiles {
        certificate: world.path("tls.crt"),
        key: world.path("tls.key"),
        every: Duration::from_millis(20),
    });
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    assert_eq!(ask(&service, &first).await, Some(200));
    fs::write(world.path("tls.crt"), "broken").unwrap();
    tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(100)).await;
    assert_eq!(ask(&service, &first).await, Some(200));
    let second = certify(&world);
    let renewed = async { while ask(&service, &second).await != Some(200) {} };
    timeout(PATIENCE, renewed).await.expect("the new certificate is used");
    assert_eq!(ask(&service, &first).await, None);
}

#[tokio::test]
async fn without_a_certificate_it_does_not_start() {
    let world = World::new();
    let mut options = world.options();
    let every = Duration::from_secs(1);
    options.tls =
        Some(TlsFiles { certificate: "/nowhere.crt".into(), key: "/nowhere.key".into(), every });
    let error = Service::start(options).await.err().unwrap();
    insta::assert_snapshot!(error, @"cannot read /nowhere.crt");
}

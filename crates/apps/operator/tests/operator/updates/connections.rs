//! Requests through proxies and with the CA certificates of the cluster.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::real_service::Files;
use super::service::{Service, leads_to};
use super::stage::{Stage, message, short_intervals, single_request};

/// A proxy that connects every name to one host. It stops when it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // Errors of clients are ignored.
                let _ = forward(client, behind, &seen).await;
            }
        });
        Self { address, requests, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://me:secret@{}", self.address)
    }

    /// Heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(
    mut client: TcpStream,
    behind: SocketAddr,
    requests: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    requests.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    let mut server = TcpStream::connect(behind).await?;
    if head.starts_with(b"CONNECT ") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    } else {
        server.write_all(&head).await?;
    }
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// An address of this host that is not loopback, so that proxies are used.
fn outside(service: &Service) -> String {
    format!("http://0.0.0.0:{}/graph", service.address().port())
}

#[tokio::test]
async fn request_uses_proxy() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let proxy = Proxy::start(service.address()).await;
    let stage = Stage::start(&outside(&service), single_request());
    stage.until_offered(&["5.1.1"]).await;
    stage.set_proxy(&proxy.url(), "");
    stage.edit(|spec| spec.upstream = Some("http://updates.example/graph".to_owned()));
    stage.until(|updates| updates.generation == 2).await;
    stage.until_offered(&["5.1.1"]).await;
    let requests = proxy.requests();
    let last = requests.last().unwrap();
    assert!(last.starts_with("GET http://updates.example/graph?arch=amd64&"), "{last}");
    assert!(last.contains("proxy-authorization: Basic "), "{last}");
}

#[tokio::test]
async fn request_to_no_proxy_host_is_direct() {
    let service =
        Service::start_at((Ipv4Addr::UNSPECIFIED, 0).into(), |_| leads_to(&["5.1.1"])).await;
    let proxy = Proxy::start(service.address()).await;
    let stage = Stage::start(&outside(&service), single_request());
    stage.until_offered(&["5.1.1"]).await;
    stage.set_proxy(&proxy.url(), "updates.example,0.0.0.0/8");
    stage.until_counted("Unchanged", 1).await;
    assert_eq!(proxy.requests().len(), 0);
    stage.set_proxy(&proxy.url(), "updates.example");
    stage.until_counted("Unchanged", 2).await;
    assert_eq!(proxy.requests().len(), 1);
    stage.edit(|spec| spec.upstream = Some(service.url().replace("0.0.0.0", "127.0.0.1")));
    stage.until(|updates| updates.generation == 2).await;
    assert_eq!(proxy.requests().len(), 1);
}

#[tokio::test]
async fn request_with_invalid_proxy_fails() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&outside(&service), single_request());
    stage.until_offered(&["5.1.1"]).await;
    stage.set_proxy("socks5://me:secret@proxy.example", "");
    let updates = stage.until_failed("RemoteFailed").await;
    insta::assert_snapshot!(message(&updates, service.address()), @"Unable to retrieve available updates: invalid httpProxy in Proxy `cluster`: not an http or https URL. The listed updates are from …");
    assert_eq!(service.requests().len(), 1);
}

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
    let wrong_ca = stage.until_failed("RemoteFailed").await;
    stage.trust(&wrong);
    stage.until_counted("RemoteFailed", 2).await;
    stage.trust(&format!("{wrong}{right}"));
    stage.until_offered(&["5.1.2", "5.1.1"]).await;
    stage.trust("not a certificate");
    let no_ca = stage.until_failed("RemoteFailed").await;
    stage.trust(&right);
    stage.until_offered(&["5.1.2", "5.1.1"]).await;
    let messages = [wrong_ca, no_ca]
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

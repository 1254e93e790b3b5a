//! Registries behind TLS with a private CA, and behind forward proxies.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use fairway_http::Proxies;
use fairway_registry::payload::{ImageSources, fetch};
use fairway_registry::pull::PullOptions;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::releases::images::{Content, Style, here, release};
use crate::releases::server::Server;
use crate::releases::{scan_once, source, versions};

/// A registry name that does not resolve.
const REGISTRY: &str = "registry.example";

/// Terminates TLS in front of a server. Returns the address and the certificate to trust.
pub(crate) async fn protect(server: &Server) -> (SocketAddr, String) {
    protect_as("127.0.0.1", server).await
}

/// The same with a certificate for another name.
pub(crate) async fn protect_as(name: &str, server: &Server) -> (SocketAddr, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let certificate = CertificateDer::from(made.cert.der().to_vec());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, behind) = (listener.local_addr().unwrap(), server.address());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate closes the connection.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            tokio::spawn(async move {
                let mut behind = TcpStream::connect(behind).await.unwrap();
                copy_bidirectional(&mut stream, &mut behind).await
            });
        }
    });
    (address, made.cert.pem())
}

#[tokio::test]
async fn scan_with_untrusted_certificate_fails() {
    let server = Server::start().await;
    server.add("4.1.0", &release(Style::Oci, "amd64", "4.1.0"));
    let (address, authority) = protect(&server).await;
    let name = format!("https://{address}/releases");
    let options = PullOptions { attempts: 1, ..PullOptions::default() };
    let error = scan_once(&source(&name, &options)).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("invalid peer certificate"), "{why}");

    let options = PullOptions { ca_bundle: authority.into_bytes(), ..options };
    let scan = scan_once(&source(&name, &options)).await.unwrap();
    assert_eq!(versions(&scan), ["4.1.0 amd64"]);
    assert!(scan.releases[0].image.starts_with(&format!("{address}/releases@sha256:")));
}

fn content() -> Content {
    release(Style::Oci, here(), "5.1.0")
}

/// Number of files of a release that is fetched with these options.
async fn fetched(registry: &str, options: PullOptions) -> Result<usize, String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let sources =
        ImageSources { options: PullOptions { attempts: 1, ..options }, ..ImageSources::default() };
    let image = format!("{registry}/releases@{}", content().digest());
    let files = fetch(&image, &sources).await.map_err(|error| error.to_string())?;
    Ok(files.len())
}

fn proxies(http: &str, https: &str, no_proxy: &str) -> Proxies {
    Proxies::parse(http, https, no_proxy).unwrap()
}

#[tokio::test]
async fn plain_http_uses_proxy_with_credentials() {
    // The proxy responds in place of the registry.
    let proxy = Server::with_override(|_, _, headers| {
        let sent = headers.get(header::PROXY_AUTHORIZATION).map(|sent| sent.as_bytes().to_vec());
        let known = sent.as_deref() == Some(b"Basic dXNlcjpwYXNz");
        (!known).then(|| StatusCode::PROXY_AUTHENTICATION_REQUIRED.into_response())
    })
    .await;
    proxy.add_untagged(&content());
    let address = format!("http://user:pass@{}", proxy.address());
    let through = |no_proxy| PullOptions {
        allow_plain_http: true,
        proxies: Some(proxies(&address, "", no_proxy)),
        ..PullOptions::default()
    };
    let registry = format!("http://{REGISTRY}");
    assert_eq!(fetched(&registry, through("other.example")).await, Ok(1));
    proxy.requests();
    fetched(&registry, through(REGISTRY)).await.unwrap_err();
    assert_eq!(proxy.requests(), Vec::<String>::new(), "it is not for the proxy");
    // The loopback interface is never reached through a proxy.
    let errors = fetched(&proxy.address().to_string(), through("")).await.unwrap_err();
    assert!(errors.ends_with("HTTP status 407"), "{errors}");
}

/// A proxy that connects all clients to one address. Returns its address and the recorded CONNECT
/// requests.
async fn tunnel(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut lines = String::new();
                while !lines.ends_with("\r\n\r\n") && stream.read_line(&mut lines).await? > 0 {}
                seen.lock().unwrap().extend(lines.lines().next().map(str::to_owned));
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                let mut behind = TcpStream::connect(to).await?;
                copy_bidirectional(&mut stream, &mut behind).await
            });
        }
    });
    (address, requests)
}

#[tokio::test]
async fn https_uses_connect_tunnel() {
    let server = Server::start().await;
    server.add_untagged(&content());
    let (protected, authority) = protect_as(REGISTRY, &server).await;
    let (proxy, requests) = tunnel(protected).await;
    let options = PullOptions {
        ca_bundle: authority.into_bytes(),
        proxies: Some(proxies("", &proxy.to_string(), "")),
        ..PullOptions::default()
    };
    assert_eq!(fetched(REGISTRY, options.clone()).await, Ok(1));
    let requests = requests.lock().unwrap().clone();
    assert!(
        requests.iter().all(|line| line == "CONNECT registry.example:443 HTTP/1.1"),
        "{requests:?}"
    );
    let untrusting = PullOptions { ca_bundle: Vec::new(), ..options };
    let errors = fetched(REGISTRY, untrusting).await.unwrap_err();
    assert!(errors.contains("invalid peer certificate"), "{errors}");
}

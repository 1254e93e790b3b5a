//! Registries that only a proxy can reach.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use fairway_http::Proxies;
use fairway_registry::payload::{Places, fetch};
use fairway_registry::pull::Options;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::releases::images::{Content, Style, here, release};
use crate::releases::server::Server;
use crate::releases::tls::protect_as;

/// A registry that nobody can look up.
const REGISTRY: &str = "registry.example";

fn content() -> Content {
    release(Style::Oci, here(), "5.1.0")
}

/// How many files of a release arrive that way.
async fn fetched(registry: &str, options: Options) -> Result<usize, String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let places = Places { options: Options { attempts: 1, ..options }, ..Places::default() };
    let image = format!("{registry}/releases@{}", content().digest());
    let files = fetch(&image, &places).await.map_err(|error| error.to_string())?;
    Ok(files.len())
}

fn proxies(http: &str, https: &str, no_proxy: &str) -> Proxies {
    Proxies::parse(http, https, no_proxy).unwrap()
}

#[tokio::test]
async fn plain_requests_are_handed_to_the_proxy_with_its_password() {
    // The proxy answers in the name of the registry.
    let proxy = Server::misbehaving(|_, _, headers| {
        let sent = headers.get(header::PROXY_AUTHORIZATION).map(|sent| sent.as_bytes().to_vec());
        let known = sent.as_deref() == Some(b"Basic dXNlcjpwYXNz");
        (!known).then(|| StatusCode::PROXY_AUTHENTICATION_REQUIRED.into_response())
    })
    .await;
    proxy.add_untagged(&content());
    let address = format!("http://user:pass@{}", proxy.address());
    let through = |no_proxy| Options {
        allow_plain_http: true,
        proxies: Some(proxies(&address, "", no_proxy)),
        ..Options::default()
    };
    let registry = format!("http://{REGISTRY}");
    assert_eq!(fetched(&registry, through("other.example")).await, Ok(1));
    proxy.asked();
    fetched(&registry, through(REGISTRY)).await.unwrap_err();
    assert_eq!(proxy.asked(), Vec::<String>::new(), "it is not for the proxy");
    // This machine is always near, and not told a proxy's password.
    let told = fetched(&proxy.address().to_string(), through("")).await.unwrap_err();
    assert!(told.ends_with("HTTP status 407"), "{told}");
}

/// A proxy that connects everybody with one address. Returns where it is, and whom it was asked
/// for.
async fn tunnel(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
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
    (address, asked)
}

#[tokio::test]
async fn protected_requests_pass_through_the_proxy_unseen() {
    let server = Server::start().await;
    server.add_untagged(&content());
    let (protected, authority) = protect_as(REGISTRY, &server).await;
    let (proxy, asked) = tunnel(protected).await;
    let options = Options {
        authorities: authority.into_bytes(),
        proxies: Some(proxies("", &proxy.to_string(), "")),
        ..Options::default()
    };
    assert_eq!(fetched(REGISTRY, options.clone()).await, Ok(1));
    let asked = asked.lock().unwrap().clone();
    assert!(asked.iter().all(|line| line == "CONNECT registry.example:443 HTTP/1.1"), "{asked:?}");
    let untrusting = Options { authorities: Vec::new(), ..options };
    let told = fetched(REGISTRY, untrusting).await.unwrap_err();
    assert!(told.contains("invalid peer certificate"), "{told}");
}

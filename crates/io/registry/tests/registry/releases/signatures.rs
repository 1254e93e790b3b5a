//! Signature stores in directories and over HTTP.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use fairway_registry::Digest;
use fairway_registry::pull::PullOptions;
use fairway_registry::signature::{
    SignatureSources, Store, StoreAddress, Unverified, Verified, Verifier,
};
use fairway_release::Verification;
use tokio::net::TcpListener;

use crate::releases::redacted;
use crate::releases::server::Server;
use crate::releases::transport::protect;

fn open(place: &str) -> Store {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Store::open(place, &PullOptions { attempts: 2, ..PullOptions::default() }).unwrap()
}

async fn all(store: &Store, image: &Digest) -> Vec<Vec<u8>> {
    let mut signatures = Vec::new();
    while let Some(signature) = store.signature(image, signatures.len() + 1).await.unwrap() {
        signatures.push(signature);
    }
    signatures
}

#[tokio::test]
async fn store_signatures_are_numbered_from_one() {
    let image = Digest::of(b"image");
    let (directory, name) = (tempfile::tempdir().unwrap(), format!("sha256={}", image.hex()));
    fs::create_dir(directory.path().join(&name)).unwrap();
    for (number, signature) in [(1, "one"), (2, "two"), (4, "lost")] {
        let file = directory.path().join(&name).join(format!("signature-{number}"));
        fs::write(file, signature).unwrap();
    }
    let store = open(directory.path().to_str().unwrap());
    assert_eq!(all(&store, &image).await, [b"one", b"two"]);
    assert!(all(&store, &Digest::of(b"other")).await.is_empty());

    let (requests, path) = (AtomicU32::new(0), format!("/store/{name}/signature-"));
    let server = Server::with_override(move |_, asked_for, _| {
        // The first response is 503.
        if requests.fetch_add(1, Ordering::Relaxed) == 0 {
            return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
        }
        // A store without end is limited to nine signatures.
        asked_for.starts_with(&path).then(|| "signature".into_response())
    })
    .await;
    for place in ["store", "store/"] {
        let store = open(&format!("http://{}/{place}", server.address()));
        assert_eq!(all(&store, &image).await.len(), 9, "{place}");
        assert!(all(&store, &Digest::of(b"other")).await.is_empty());
    }
}

#[tokio::test]
async fn store_with_502_returns_error() {
    let server =
        Server::with_override(|_, _, _| Some(StatusCode::BAD_GATEWAY.into_response())).await;
    let store = open(&format!("http://{}", server.address()));
    let error = store.signature(&Digest::of(b"image"), 1).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    let errors = format!("{error}: {cause}");
    insta::assert_snapshot!(redacted(&errors, &server).replace(Digest::of(b"image").hex(), "HEX"), @"cannot read the signatures of an image: http://HOST/sha256=HEX/signature-1: HTTP status 502");
}

#[test]
fn store_open_with_invalid_addresses_fails() {
    let errors = [
        "http://signatures.example/store",
        "ftp://signatures.example/store",
        "https://user:password@signatures.example/store",
        "https://",
    ]
    .map(|place| Store::open(place, &PullOptions::default()).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @r#"
    refusing to connect to signatures.example without TLS: it is not a loopback address
    "ftp://signatures.example/store" is not a URL such as https://signatures.example/store
    "…@signatures.example/store" is not a URL such as https://signatures.example/store
    "https://" is not a URL such as https://signatures.example/store
    "#);
}

/// A signature of the unit tests, and its key.
const KEYRING: &[u8] = include_bytes!("../../../src/signature/fixtures/plain.asc");
const SIGNATURE: &[u8] = include_bytes!("../../../src/signature/fixtures/good.gpg");

fn verifier(stores: &[&str]) -> Verifier {
    let store = |(index, url): (usize, &&str)| (format!("store-{index}"), (*url).to_owned());
    let _ = rustls::crypto::ring::default_provider().install_default();
    Verifier::new(&Verification {
        keyrings: [("verifier-public-key-a".to_owned(), KEYRING.to_vec())].into(),
        stores: stores.iter().enumerate().map(store).collect(),
    })
    .unwrap()
}

async fn verify(
    verifier: &Verifier,
    stores: Option<Vec<StoreAddress<'_>>>,
    timeout: Duration,
) -> Result<Verified, Unverified> {
    let options = PullOptions { attempts: 1, ..PullOptions::default() };
    let sources = SignatureSources { cluster: Vec::new(), stores, options: &options, timeout };
    let now = "2025-06-02T00:00:00Z".parse().unwrap();
    verifier.verify(&Digest::of(b"manifest"), &sources, now).await
}

/// A server with one signature of the image.
async fn signed() -> Server {
    let path = format!("/sha256={}/signature-1", Digest::of(b"manifest").hex());
    Server::with_override(move |_, asked_for, _| {
        (asked_for == path).then(|| SIGNATURE.into_response())
    })
    .await
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn verify_with_ca_of_store_succeeds() {
    let (server, verifier) = (signed().await, verifier(&[]));
    let (address, authority) = protect(&server).await;
    let url = format!("https://{address}");
    let store = |ca_bundle| Some(vec![StoreAddress { url: &url, ca_bundle }]);
    let unverified = verify(&verifier, store(&[]), MINUTE).await.unwrap_err();
    assert!(unverified.is_transient());
    assert!(unverified.to_string().contains("invalid peer certificate"), "{unverified}");
    assert!(verify(&verifier, store(authority.as_bytes()), MINUTE).await.is_ok());
    let unverified = verify(&verifier, store(b"no certificate"), MINUTE).await.unwrap_err();
    assert!(unverified.to_string().contains("invalid peer certificate"), "{unverified}");
}

#[tokio::test]
async fn verify_with_one_store_does_not_wait_for_others() {
    let server = signed().await;
    // Connections to it never get a response.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    let good = format!("http://{}", server.address());
    assert!(verify(&verifier(&[&silent, &good]), None, MINUTE).await.is_ok());
}

#[tokio::test]
async fn verify_with_silent_store_times_out() {
    let empty = Server::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let empty_url = format!("http://{}", empty.address());
    let soon = Duration::from_millis(300);
    let unverified = verify(&verifier(&[&silent, &empty_url]), None, soon).await.unwrap_err();
    let errors = unverified.to_string();
    assert!(errors.contains(&format!("{silent}: timed out")), "{errors}");
    assert!(unverified.is_transient());
}

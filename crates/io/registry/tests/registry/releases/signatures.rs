//! Stores of signatures: a directory, and a place on the web.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use fairway_registry::Digest;
use fairway_registry::pull::Options;
use fairway_registry::signature::{Sources, Store, StoreAddress, Unverified, Verified, Verifier};
use fairway_release::Verification;
use tokio::net::TcpListener;

use crate::releases::anonymous;
use crate::releases::server::Server;
use crate::releases::tls::protect;

fn open(place: &str) -> Store {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Store::open(place, &Options { attempts: 2, ..Options::default() }).unwrap()
}

async fn all(store: &Store, image: &Digest) -> Vec<Vec<u8>> {
    let mut signatures = Vec::new();
    while let Some(signature) = store.signature(image, signatures.len() + 1).await.unwrap() {
        signatures.push(signature);
    }
    signatures
}

#[tokio::test]
async fn signatures_are_counted_from_one_until_there_is_none() {
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

    let (asked, path) = (AtomicU32::new(0), format!("/store/{name}/signature-"));
    let server = Server::misbehaving(move |_, asked_for, _| {
        // The first answer is that it is too much.
        if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
        }
        // An endless store is asked for nine.
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
async fn a_store_that_is_away_is_no_store_without_signatures() {
    let server = Server::misbehaving(|_, _, _| Some(StatusCode::BAD_GATEWAY.into_response())).await;
    let store = open(&format!("http://{}", server.address()));
    let error = store.signature(&Digest::of(b"image"), 1).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap();
    let told = format!("{error}: {cause}");
    insta::assert_snapshot!(anonymous(&told, &server).replace(Digest::of(b"image").hex(), "HEX"), @"cannot read the signatures of an image: http://HOST/sha256=HEX/signature-1: HTTP status 502");
}

#[test]
fn other_places_are_refused() {
    let told = [
        "http://signatures.example/store",
        "ftp://signatures.example/store",
        "https://user:password@signatures.example/store",
        "https://",
    ]
    .map(|place| Store::open(place, &Options::default()).unwrap_err().to_string());
    insta::assert_snapshot!(told.join("\n"), @r#"
    signatures.example is on another host, and the connection would not use TLS
    "ftp://signatures.example/store" is not an address such as https://signatures.example/store
    "…@signatures.example/store" is not an address such as https://signatures.example/store
    "https://" is not an address such as https://signatures.example/store
    "#);
}

/// What `gpg` has signed for the unit tests, and the key that it was signed with.
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
    patience: Duration,
) -> Result<Verified, Unverified> {
    let options = Options { attempts: 1, ..Options::default() };
    let sources = Sources { cluster: Vec::new(), stores, options: &options, patience };
    let now = "2025-06-02T00:00:00Z".parse().unwrap();
    verifier.verify(&Digest::of(b"manifest"), &sources, now).await
}

/// Has one signature of the image.
async fn signed() -> Server {
    let path = format!("/sha256={}/signature-1", Digest::of(b"manifest").hex());
    Server::misbehaving(move |_, asked_for, _| {
        (asked_for == path).then(|| SIGNATURE.into_response())
    })
    .await
}

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_store_of_the_cluster_is_trusted_by_its_own_authority() {
    let (server, verifier) = (signed().await, verifier(&[]));
    let (address, authority) = protect(&server).await;
    let url = format!("https://{address}");
    let store = |authorities| Some(vec![StoreAddress { url: &url, authorities }]);
    let unverified = verify(&verifier, store(&[]), MINUTE).await.unwrap_err();
    assert!(unverified.is_transient());
    assert!(unverified.to_string().contains("invalid peer certificate"), "{unverified}");
    assert!(verify(&verifier, store(authority.as_bytes()), MINUTE).await.is_ok());
    let unverified = verify(&verifier, store(b"no certificate"), MINUTE).await.unwrap_err();
    assert!(unverified.to_string().contains("invalid peer certificate"), "{unverified}");
}

#[tokio::test]
async fn one_answer_is_enough_while_other_stores_are_silent() {
    let server = signed().await;
    // Who connects waits for an answer that never comes.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    let good = format!("http://{}", server.address());
    assert!(verify(&verifier(&[&silent, &good]), None, MINUTE).await.is_ok());
}

#[tokio::test]
async fn stores_have_only_so_much_time() {
    let empty = Server::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let empty_url = format!("http://{}", empty.address());
    let soon = Duration::from_millis(300);
    let unverified = verify(&verifier(&[&silent, &empty_url]), None, soon).await.unwrap_err();
    let told = unverified.to_string();
    assert!(told.contains(&format!("{silent}: timed out")), "{told}");
    assert!(unverified.is_transient());
}

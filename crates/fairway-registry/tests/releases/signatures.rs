//! Stores of signatures: a directory, and a place on the web.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use fairway_registry::Digest;
use fairway_registry::pull::Options;
use fairway_registry::signature::Store;

use crate::anonymous;
use crate::server::Server;

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
    insta::assert_snapshot!(anonymous(&told, &server).replace(Digest::of(b"image").hex(), "HEX"), @"cannot read the signatures of an image: http://HOST/sha256=HEX/signature-1 is answered with status 502");
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
    signatures.example is on another machine, and would be spoken to without TLS
    "ftp://signatures.example/store" is not an address such as https://signatures.example/store
    "…@signatures.example/store" is not an address such as https://signatures.example/store
    "https://" is not an address such as https://signatures.example/store
    "#);
}

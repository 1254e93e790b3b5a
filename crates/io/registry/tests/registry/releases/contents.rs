//! Reading selected files of an image.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use fairway_registry::contents::{ContentsError, FileSelection, NamedImage, read};
use fairway_registry::pull::PullOptions;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use serde_json::Value;

use crate::releases::images::{Content, Style, gzip, image, list, tar};
use crate::releases::redacted;
use crate::releases::server::Server;

fn selection() -> Arc<FileSelection> {
    Arc::new(FileSelection {
        files: vec!["data/version".to_owned()],
        directories: vec!["data/channels".to_owned()],
        most_files: 10,
        file_bytes: 100,
        all_bytes: 1000,
        any_machine: true,
    })
}

fn open(name: &str) -> NamedImage {
    let _ = rustls::crypto::ring::default_provider().install_default();
    NamedImage::open(name, &PullOptions { attempts: 2, ..PullOptions::default() }).unwrap()
}

async fn files(image: &NamedImage) -> Result<BTreeMap<String, Vec<u8>>, ContentsError> {
    let digest = image.resolve().await?;
    read(image.source(), &digest, &selection()).await
}

/// An image of two layers with a whiteout.
fn data(style: Style, architecture: &str) -> Content {
    let below = tar(&[("data/version", "1"), ("data/channels/a", "a"), ("data/channels/b", "b")]);
    let above = tar(&[("data/channels/.wh.a", ""), ("data/channels/b", "bb"), ("etc/c", "c")]);
    image(style, architecture, vec![(below, false), (gzip(&above), true)])
}

fn whole() -> BTreeMap<String, Vec<u8>> {
    let file = |(path, text): (&str, &str)| (path.to_owned(), text.as_bytes().to_vec());
    [("data/version", "1"), ("data/channels/b", "bb")].map(file).into()
}

#[tokio::test]
async fn read_from_docker_and_oci_images_returns_files() {
    let server = Server::start().await;
    let (here, elsewhere) = (data(Style::Docker, "amd64"), data(Style::Oci, "pdp11"));
    server.add("docker", &here);
    server.add("oci", &elsewhere);
    server.add("both", &list(Style::Oci, &[("pdp11", &elsewhere), ("amd64", &here)]));
    server.add("elsewhere", &list(Style::Docker, &[("pdp11", &elsewhere)]));
    for tag in ["docker", "oci", "both", "elsewhere"] {
        let image = open(&format!("{}:{tag}", server.repository()));
        assert_eq!(files(&image).await.unwrap(), whole(), "{tag}");
    }
    let by_digest = open(&format!("{}:gone@{}", server.repository(), here.digest()));
    assert_eq!(files(&by_digest).await.unwrap(), whole());
}

#[tokio::test]
async fn read_from_layout_returns_files() {
    let directory = tempfile::tempdir().unwrap();
    let layer = LayerBuilder::new().file("data/version", 0o644, "1").unwrap();
    let image = Image::new(vec![layer.build().unwrap()], &ImageConfig::default());
    layout::write(directory.path(), &image, "registry.example/data:dev").unwrap();
    let at = format!("oci:{}", directory.path().display());
    for name in [at.clone(), format!("{at}:dev"), format!("{at}@{}", image.digest())] {
        assert_eq!(files(&open(&name)).await.unwrap().len(), 1, "{name}");
    }
    let missing = files(&open(&format!("{at}:other"))).await.unwrap_err();
    assert!(missing.to_string().ends_with(":other does not exist"), "{missing}");
    let index = directory.path().join("index.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&index).unwrap()).unwrap();
    let mut second = json["manifests"][0].clone();
    second["annotations"]["org.opencontainers.image.ref.name"] = "2".into();
    json["manifests"].as_array_mut().unwrap().push(second);
    fs::write(&index, json.to_string()).unwrap();
    let ambiguous = files(&open(&at)).await.unwrap_err().to_string();
    assert!(ambiguous.ends_with("specify one of registry.example/data:dev, 2"), "{ambiguous}");
}

#[tokio::test]
async fn read_with_wrong_digest_fails() {
    let server = Server::start().await;
    let content = data(Style::Oci, "amd64");
    server.add("latest", &content);
    let image = open(&server.repository());
    let layer = format!("blobs/{}", Digest::of(&content.blobs[0]));
    let forged = tar(&[("data/version", "2"), ("data/channels/a", "a"), ("data/channels/b", "b")]);
    server.replace(&layer, &forged);
    let layer_error = files(&image).await.unwrap_err().to_string();
    server.replace(&layer, &content.blobs[0]);
    assert_eq!(files(&image).await.unwrap(), whole());
    server.replace(&format!("manifests/{}", content.digest()), b"{}");
    let manifest_error = files(&image).await.unwrap_err().to_string();
    let errors = [layer_error, manifest_error].map(|errors| redacted(&errors, &server));
    insta::assert_snapshot!(errors.join("\n"), @"
    the content of DIGEST does not match its digest
    the content of DIGEST does not match its digest
    ");
}

#[tokio::test]
async fn read_with_broken_images_fails() {
    let server = Server::with_override(|_, path, _| {
        (path == "manifests/forbidden").then(|| StatusCode::FORBIDDEN.into_response())
    })
    .await;
    server.add("link", &image(Style::Oci, "amd64", vec![(link("data/channels/a"), false)]));
    server.add("archive", &image(Style::Oci, "amd64", vec![(vec![0xff; 4096], false)]));
    server.add("empty-list", &list(Style::Oci, &[]));
    let mut errors = Vec::new();
    for tag in ["link", "archive", "empty-list", "forbidden", "missing"] {
        let image = open(&format!("{}:{tag}", server.repository()));
        let error = files(&image).await.unwrap_err().to_string();
        errors.push(format!("{tag}: {}", redacted(&error, &server)));
    }
    insta::assert_snapshot!(errors.join("\n"), @"
    link: cannot unpack layer DIGEST: data/channels/a is not a regular file
    archive: cannot unpack layer DIGEST: numeric field did not have utf-8 text:  when getting cksum for 
    empty-list: DIGEST is not an image: its index has no images
    forbidden: http://HOST/v2/releases/manifests/forbidden: access denied; check the pull secret
    missing: http://HOST/v2/releases/manifests/missing does not exist
    ");
}

fn link(path: &str) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    header.set_entry_type(tar::EntryType::Symlink);
    archive.append_link(&mut header, path, "/etc/passwd").unwrap();
    archive.into_inner().unwrap()
}

//! Releases from wherever they are to be had.

use std::time::Duration;

use anyhow::{Result, ensure};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use fairway_registry::mirrors::Mirrors;
use fairway_registry::payload::{FetchError, Files, Places, fetch};
use fairway_registry::pull::Options;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::releases::anonymous;
use crate::releases::images::{Content, Style, gzip, here, image, list, metadata, tar};
use crate::releases::real::Repository;
use crate::releases::server::Server;

const METADATA: &str = "release-manifests/release-metadata";

/// The program below, and a release on top of it.
fn content(architecture: &str) -> Content {
    let program = tar(&[("usr/bin/fairway", "…"), ("manifests/0000_00_a.yaml", "a: 1")]);
    let metadata = metadata("5.1.0");
    let payload = tar(&[
        ("manifests/0000_00_b.yaml", "b: 1"),
        ("manifests/README.md", "no part of it"),
        (METADATA, &metadata),
        ("release-manifests/0000_50_c.yaml", "c: 1"),
        ("release-manifests/deep/d.yaml", "d: 1"),
    ]);
    image(Style::Oci, architecture, vec![(program, false), (gzip(&payload), true)])
}

fn places(mirrors: &Value) -> Places {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let set = json!({"kind": "ImageDigestMirrorSet", "spec": {"imageDigestMirrors": [mirrors]}});
    let (mirrors, problems) = Mirrors::read([&set]);
    assert_eq!(problems, []);
    Places { mirrors, options: Options { attempts: 1, ..Options::default() }, ..Places::default() }
}

fn paths(files: &Files) -> Vec<&str> {
    files.keys().map(String::as_str).collect()
}

/// What is told of a release that nobody has.
fn refusal(outcome: Result<Files, FetchError>, servers: &[(&str, &Server)]) -> String {
    let mut told = outcome.unwrap_err().to_string();
    for (name, server) in servers {
        told = anonymous(&told, server).replace("HOST", name);
    }
    told
}

#[tokio::test]
async fn a_release_is_its_files_and_nothing_else() {
    let server = Server::start().await;
    let content = content(here());
    server.add_untagged(&content);
    let image = format!("{}:5.1.0@{}", server.repository(), content.digest());
    let places = places(&json!({"source": "other.example", "mirrors": ["mirror.example"]}));
    let files = fetch(&image, &places).await.unwrap();
    assert_eq!(
        paths(&files),
        [
            "manifests/0000_00_a.yaml",
            "manifests/0000_00_b.yaml",
            "release-manifests/0000_50_c.yaml",
            METADATA,
        ]
    );
}

#[tokio::test]
async fn what_lies_below_a_whole_release_is_not_fetched() {
    let server = Server::start().await;
    let (below, metadata) = (tar(&[("manifests/0000_00_a.yaml", "a: 1")]), metadata("5.1.0"));
    let payload = tar(&[
        ("manifests/.wh..wh..opq", ""),
        ("release-manifests/.wh..wh..opq", ""),
        (METADATA, &metadata),
    ]);
    let above = tar(&[("manifests/0000_00_b.yaml", "b: 1")]);
    let layers = vec![(below.clone(), false), (payload, false), (above, false)];
    let content = image(Style::Oci, here(), layers);
    server.add_untagged(&content);
    let image = format!("{}@{}", server.repository(), content.digest());
    let files = fetch(&image, &places(&json!({"source": "a.example"}))).await.unwrap();
    assert_eq!(paths(&files), ["manifests/0000_00_b.yaml", METADATA]);
    let asked = server.asked();
    assert_eq!(asked.len(), 4, "a manifest, a configuration and two layers: {asked:?}");
    assert!(!asked.contains(&format!("GET blobs/{}", Digest::of(&below))), "{asked:?}");
}

#[tokio::test]
async fn layouts_come_first_then_mirrors_in_order_and_the_source_last() {
    let [first, second, source] =
        [Server::start().await, Server::start().await, Server::start().await];
    let content = content(here());
    let directory = tempfile::tempdir().unwrap();
    let in_layout = {
        let layer = LayerBuilder::new().file(METADATA, 0o644, metadata("5.1.0")).unwrap();
        Image::new(vec![layer.build().unwrap()], &ImageConfig::default())
    };
    layout::write(directory.path(), &in_layout, "5.1.0").unwrap();
    let mirrors = [first.repository(), second.repository()];
    let mut places = places(&json!({"source": source.repository(), "mirrors": mirrors}));
    places.layouts = vec!["/nowhere".into(), directory.path().into()];

    let image = format!("{}@{}", source.repository(), in_layout.digest());
    assert_eq!(paths(&fetch(&image, &places).await.unwrap()), [METADATA]);
    assert!(first.asked().is_empty());

    let image = format!("{}@{}", source.repository(), content.digest());
    let servers = [("FIRST", &first), ("SECOND", &second), ("SOURCE", &source)];
    let told = refusal(fetch(&image, &places).await, &servers);
    let told = told.replace(&directory.path().display().to_string(), "LAYOUT");
    insta::assert_snapshot!(told.replace(content.digest().hex(), "…"), @"cannot read SOURCE/releases@DIGEST from any source: oci:/nowhere: cannot read /nowhere/oci-layout; oci:LAYOUT: LAYOUT/blobs/sha256/… does not exist; FIRST/releases: http://FIRST/v2/releases/manifests/DIGEST does not exist; SECOND/releases: http://SECOND/v2/releases/manifests/DIGEST does not exist; SOURCE/releases: http://SOURCE/v2/releases/manifests/DIGEST does not exist");
    for (name, server) in servers.iter().rev() {
        for (_, server) in &servers {
            server.asked();
        }
        server.add_untagged(&content);
        assert_eq!(fetch(&image, &places).await.unwrap().len(), 4);
        let asked: Vec<_> =
            servers.iter().filter(|(_, server)| !server.asked().is_empty()).collect();
        assert_eq!(asked.last().unwrap().0, *name, "nobody is asked after the one that has it");
    }
}

#[tokio::test]
async fn a_source_is_left_alone_where_somebody_says_so() {
    let [mirror, source] = [Server::start().await, Server::start().await];
    let content = content(here());
    source.add_untagged(&content);
    let places = places(&json!({
        "source": source.repository(), "mirrors": [mirror.repository()],
        "mirrorSourcePolicy": "NeverContactSource",
    }));
    let image = format!("{}@{}", source.repository(), content.digest());
    let told = refusal(fetch(&image, &places).await, &[("MIRROR", &mirror), ("SOURCE", &source)]);
    insta::assert_snapshot!(told.replace(content.digest().hex(), "…"), @"cannot read SOURCE/releases@DIGEST from any source: MIRROR/releases: http://MIRROR/v2/releases/manifests/DIGEST does not exist; SOURCE/releases: not contacted, because its mirrors have the policy NeverContactSource");
    assert!(source.asked().is_empty());
}

#[tokio::test]
async fn a_mirror_that_lies_hangs_or_forbids_costs_only_itself() {
    let content = content(here());
    let layer = format!("blobs/{}", Digest::of(&content.blobs[1]));
    let (lying, source) = (Server::start().await, Server::start().await);
    lying.add_untagged(&content);
    lying.replace(&layer, &content.blobs[0]);
    let hanging = Server::misbehaving(|_, _, _| Some(crate::releases::hostile::stuck())).await;
    let closed = Server::misbehaving(|_, _, _| Some(StatusCode::FORBIDDEN.into_response())).await;
    let mirrors = [&lying, &hanging, &closed].map(Server::repository);
    let mut places = places(&json!({"source": source.repository(), "mirrors": mirrors}));
    // Enough for a busy machine, and for a test.
    places.patience = Duration::from_secs(4);
    let image = format!("{}@{}", source.repository(), content.digest());
    let servers =
        [("LYING", &lying), ("HANGING", &hanging), ("CLOSED", &closed), ("SOURCE", &source)];
    let told = refusal(fetch(&image, &places).await, &servers);
    insta::assert_snapshot!(told.replace("; ", "\n"), @"
    cannot read SOURCE/releases@DIGEST from any source: LYING/releases: the content of DIGEST does not match its digest
    HANGING/releases: timed out after 4 seconds
    CLOSED/releases: http://CLOSED/v2/releases/manifests/DIGEST: access denied
    check the pull secret
    SOURCE/releases: http://SOURCE/v2/releases/manifests/DIGEST does not exist
    ");
}

#[tokio::test]
async fn a_release_has_to_be_for_this_machine() {
    let server = Server::start().await;
    let (ours, other) = (content(here()), content("pdp11"));
    let both = list(Style::Docker, &[("pdp11", &other), (here(), &ours)]);
    let elsewhere = list(Style::Oci, &[("pdp11", &other), ("unknown", &other)]);
    for content in [&ours, &other, &both, &elsewhere] {
        server.add_untagged(content);
    }
    let places = places(&json!({"source": "a.example"}));
    let image = |content: &Content| format!("{}@{}", server.repository(), content.digest());
    assert_eq!(fetch(&image(&both), &places).await.unwrap().len(), 4);
    for content in [&elsewhere, &other] {
        let told = refusal(fetch(&image(content), &places).await, &[("SOURCE", &server)]);
        insta::allow_duplicates! {
        insta::assert_snapshot!(told.replace(here(), "OURS"), @"cannot read SOURCE/releases@DIGEST from any source: SOURCE/releases: DIGEST has no image for linux/OURS");
            }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn a_real_registry_is_a_mirror_of_one_that_cannot_be_reached() -> Result<()> {
    const MANIFESTS: usize = 900;
    let repository = Repository::new("mirrored")?;
    let program = LayerBuilder::new().file("usr/bin/fairway", 0o755, vec![7; 32 << 20])?;
    let mut payload = LayerBuilder::new().emptied("manifests")?.emptied("release-manifests")?;
    payload = payload.file(METADATA, 0o644, metadata("5.1.0"))?;
    for number in 0..MANIFESTS {
        let path = format!("release-manifests/0000_{number:03}_a.yaml");
        payload = payload.file(path, 0o644, format!("a: {number}\n").repeat(500))?;
    }
    let image = Image::new(vec![program.build()?, payload.build()?], &ImageConfig::default());
    repository.push("5.1.0", &image).await?;

    let source = "127.0.0.1:1/unreachable";
    let places = places(&json!({"source": source, "mirrors": [repository.name()]}));
    let begin = Instant::now();
    let files = fetch(&format!("{source}@{}", image.digest()), &places).await?;
    println!("a release of {MANIFESTS} manifests was read in {:?}", begin.elapsed());
    ensure!(files.len() == MANIFESTS + 1);
    Ok(())
}

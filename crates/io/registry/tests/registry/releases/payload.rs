//! Reading release payloads from layouts, mirrors and registries.

use std::time::Duration;

use anyhow::{Result, ensure};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use fairway_registry::mirrors::Mirrors;
use fairway_registry::payload::{FetchError, Files, ImageSources, fetch};
use fairway_registry::pull::PullOptions;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::releases::images::{Content, Style, gzip, here, image, list, metadata, tar};
use crate::releases::real::Repository;
use crate::releases::redacted;
use crate::releases::server::Server;

const METADATA: &str = "release-manifests/release-metadata";

/// A binary in the lower layer, and a release in the upper one.
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

fn sources(mirrors: &Value) -> ImageSources {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let set = json!({"kind": "ImageDigestMirrorSet", "spec": {"imageDigestMirrors": [mirrors]}});
    let (mirrors, problems) = Mirrors::read([&set]);
    assert_eq!(problems, []);
    ImageSources {
        mirrors,
        options: PullOptions { attempts: 1, ..PullOptions::default() },
        ..ImageSources::default()
    }
}

fn paths(files: &Files) -> Vec<&str> {
    files.keys().map(String::as_str).collect()
}

/// The error of a release without a source.
fn source_failure(outcome: Result<Files, FetchError>, servers: &[(&str, &Server)]) -> String {
    let mut errors = outcome.unwrap_err().to_string();
    for (name, server) in servers {
        errors = redacted(&errors, server).replace("HOST", name);
    }
    errors
}

#[tokio::test]
async fn fetch_returns_only_release_files() {
    let server = Server::start().await;
    let content = content(here());
    server.add_untagged(&content);
    let image = format!("{}:5.1.0@{}", server.repository(), content.digest());
    let sources = sources(&json!({"source": "other.example", "mirrors": ["mirror.example"]}));
    let files = fetch(&image, &sources).await.unwrap();
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
async fn fetch_with_opaque_layer_skips_layers_below() {
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
    let files = fetch(&image, &sources(&json!({"source": "a.example"}))).await.unwrap();
    assert_eq!(paths(&files), ["manifests/0000_00_b.yaml", METADATA]);
    let requests = server.requests();
    assert_eq!(requests.len(), 4, "a manifest, a configuration and two layers: {requests:?}");
    assert!(!requests.contains(&format!("GET blobs/{}", Digest::of(&below))), "{requests:?}");
}

#[tokio::test]
async fn fetch_tries_layouts_then_mirrors_then_source() {
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
    let mut sources = sources(&json!({"source": source.repository(), "mirrors": mirrors}));
    sources.layouts = vec!["/nowhere".into(), directory.path().into()];

    let image = format!("{}@{}", source.repository(), in_layout.digest());
    assert_eq!(paths(&fetch(&image, &sources).await.unwrap()), [METADATA]);
    assert!(first.requests().is_empty());

    let image = format!("{}@{}", source.repository(), content.digest());
    let servers = [("FIRST", &first), ("SECOND", &second), ("SOURCE", &source)];
    let errors = source_failure(fetch(&image, &sources).await, &servers);
    let errors = errors.replace(&directory.path().display().to_string(), "LAYOUT");
    insta::assert_snapshot!(errors.replace(content.digest().hex(), "…"), @"cannot read SOURCE/releases@DIGEST from any source: oci:/nowhere: cannot read /nowhere/oci-layout; oci:LAYOUT: LAYOUT/blobs/sha256/… does not exist; FIRST/releases: http://FIRST/v2/releases/manifests/DIGEST does not exist; SECOND/releases: http://SECOND/v2/releases/manifests/DIGEST does not exist; SOURCE/releases: http://SOURCE/v2/releases/manifests/DIGEST does not exist");
    for (name, server) in servers.iter().rev() {
        for (_, server) in &servers {
            server.requests();
        }
        server.add_untagged(&content);
        assert_eq!(fetch(&image, &sources).await.unwrap().len(), 4);
        let requests: Vec<_> =
            servers.iter().filter(|(_, server)| !server.requests().is_empty()).collect();
        assert_eq!(
            requests.last().unwrap().0,
            *name,
            "no source is contacted after the one that has it"
        );
    }
}

#[tokio::test]
async fn fetch_with_never_contact_source_skips_source() {
    let [mirror, source] = [Server::start().await, Server::start().await];
    let content = content(here());
    source.add_untagged(&content);
    let sources = sources(&json!({
        "source": source.repository(), "mirrors": [mirror.repository()],
        "mirrorSourcePolicy": "NeverContactSource",
    }));
    let image = format!("{}@{}", source.repository(), content.digest());
    let errors =
        source_failure(fetch(&image, &sources).await, &[("MIRROR", &mirror), ("SOURCE", &source)]);
    insta::assert_snapshot!(errors.replace(content.digest().hex(), "…"), @"cannot read SOURCE/releases@DIGEST from any source: MIRROR/releases: http://MIRROR/v2/releases/manifests/DIGEST does not exist; SOURCE/releases: not contacted, because its mirrors have the policy NeverContactSource");
    assert!(source.requests().is_empty());
}

#[tokio::test]
async fn fetch_with_failing_mirrors_tries_the_next() {
    let content = content(here());
    let layer = format!("blobs/{}", Digest::of(&content.blobs[1]));
    let (lying, source) = (Server::start().await, Server::start().await);
    lying.add_untagged(&content);
    lying.replace(&layer, &content.blobs[0]);
    let hanging = Server::with_override(|_, _, _| Some(crate::releases::hostile::stalled())).await;
    let closed = Server::with_override(|_, _, _| Some(StatusCode::FORBIDDEN.into_response())).await;
    let mirrors = [&lying, &hanging, &closed].map(Server::repository);
    let mut sources = sources(&json!({"source": source.repository(), "mirrors": mirrors}));
    // Short, and long enough for a busy host.
    sources.timeout = Duration::from_secs(4);
    let image = format!("{}@{}", source.repository(), content.digest());
    let servers =
        [("LYING", &lying), ("HANGING", &hanging), ("CLOSED", &closed), ("SOURCE", &source)];
    let errors = source_failure(fetch(&image, &sources).await, &servers);
    insta::assert_snapshot!(errors.replace("; ", "\n"), @"
    cannot read SOURCE/releases@DIGEST from any source: LYING/releases: the content of DIGEST does not match its digest
    HANGING/releases: timed out after 4 seconds
    CLOSED/releases: http://CLOSED/v2/releases/manifests/DIGEST: access denied
    check the pull secret
    SOURCE/releases: http://SOURCE/v2/releases/manifests/DIGEST does not exist
    ");
}

#[tokio::test]
async fn fetch_for_other_platform_fails() {
    let server = Server::start().await;
    let (ours, other) = (content(here()), content("pdp11"));
    let both = list(Style::Docker, &[("pdp11", &other), (here(), &ours)]);
    let elsewhere = list(Style::Oci, &[("pdp11", &other), ("unknown", &other)]);
    for content in [&ours, &other, &both, &elsewhere] {
        server.add_untagged(content);
    }
    let sources = sources(&json!({"source": "a.example"}));
    let image = |content: &Content| format!("{}@{}", server.repository(), content.digest());
    assert_eq!(fetch(&image(&both), &sources).await.unwrap().len(), 4);
    for content in [&elsewhere, &other] {
        let errors = source_failure(fetch(&image(content), &sources).await, &[("SOURCE", &server)]);
        insta::allow_duplicates! {
        insta::assert_snapshot!(errors.replace(here(), "OURS"), @"cannot read SOURCE/releases@DIGEST from any source: SOURCE/releases: DIGEST has no image for linux/OURS");
            }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn fetch_from_real_mirror_of_unreachable_source_succeeds() -> Result<()> {
    const MANIFESTS: usize = 900;
    let repository = Repository::new("mirrored")?;
    let program = LayerBuilder::new().file("usr/bin/fairway", 0o755, vec![7; 32 << 20])?;
    let mut payload =
        LayerBuilder::new().opaque_directory("manifests")?.opaque_directory("release-manifests")?;
    payload = payload.file(METADATA, 0o644, metadata("5.1.0"))?;
    for number in 0..MANIFESTS {
        let path = format!("release-manifests/0000_{number:03}_a.yaml");
        payload = payload.file(path, 0o644, format!("a: {number}\n").repeat(500))?;
    }
    let image = Image::new(vec![program.build()?, payload.build()?], &ImageConfig::default());
    repository.push("5.1.0", &image).await?;

    let source = "127.0.0.1:1/unreachable";
    let sources = sources(&json!({"source": source, "mirrors": [repository.name()]}));
    let begin = Instant::now();
    let files = fetch(&format!("{source}@{}", image.digest()), &sources).await?;
    println!("a release of {MANIFESTS} manifests was read in {:?}", begin.elapsed());
    ensure!(files.len() == MANIFESTS + 1);
    Ok(())
}

//! Probing images in layouts, mirrors and registries.

use axum::http::{Method, StatusCode, header};
use axum::response::IntoResponse;
use fairway_registry::mirrors::Mirrors;
use fairway_registry::payload::ImageSources;
use fairway_registry::probe::{ProbeDepth, ProbeError, Prober};
use fairway_registry::pull::PullOptions;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use serde_json::json;

use crate::releases::images::{Content, Style, here, image, tar};
use crate::releases::redacted;
use crate::releases::server::Server;

fn content(files: &[&[(&str, &str)]]) -> Content {
    let layers = files.iter().map(|files| (tar(files), false)).collect();
    image(Style::Oci, here(), layers)
}

fn sources(source: &Server, mirror: Option<&Server>) -> ImageSources {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mirrors: Vec<String> = mirror.iter().map(|mirror| mirror.repository()).collect();
    let entry = json!({"source": source.repository(), "mirrors": mirrors});
    let set = json!({"kind": "ImageDigestMirrorSet", "spec": {"imageDigestMirrors": [entry]}});
    let options = PullOptions { attempts: 1, ..PullOptions::default() };
    ImageSources { mirrors: Mirrors::read([&set]).0, options, ..ImageSources::default() }
}

fn name(server: &Server, content: &Content) -> String {
    format!("{}@{}", server.repository(), content.digest())
}

async fn probed(server: &Server, content: &Content, depth: ProbeDepth) -> Result<(), String> {
    let probing = Prober::new(sources(server, None), depth);
    let probed = probing.probe(&name(server, content)).await;
    probed.map_err(|error| {
        let sort = match &error {
            ProbeError::Missing(_) => "missing",
            ProbeError::NoAnswer(_) => "no answer",
            ProbeError::Name(_) => "name",
        };
        format!("{sort}: {}", redacted(&error.to_string(), server))
    })
}

#[tokio::test]
async fn probe_of_shared_layers_requests_them_once() {
    let server = Server::start().await;
    let below: &[_] = &[("a", "1")];
    let [one, other] = [content(&[below, &[("b", "1")]]), content(&[below, &[("c", "1")]])];
    for content in [&one, &other] {
        server.add_untagged(content);
    }
    let prober = Prober::new(sources(&server, None), ProbeDepth::Head);
    for content in [&one, &other, &one] {
        assert_eq!(prober.probe(&name(&server, content)).await, Ok(()));
    }
    let requests = server.requests();
    let count = |what: &str| requests.iter().filter(|requests| requests.starts_with(what)).count();
    // Both images share the configuration and the lower layer.
    assert_eq!((count("GET manifests"), count("HEAD blobs"), count("GET blobs")), (3, 4, 0));
}

#[tokio::test]
async fn probe_of_missing_content_quotes_the_registry() {
    let content = content(&[&[("a", "1")]]);
    let layer = format!("blobs/{}", Digest::of(&content.blobs[1]));
    let server = Server::start().await;
    server.add_untagged(&content);
    server.remove(&layer);
    let denying = Server::with_override(|_, _, _| {
        let words = json!({"errors": [{"code": "DENIED", "message": "no access for robots"}]});
        Some((StatusCode::FORBIDDEN, words.to_string()).into_response())
    })
    .await;
    let errors = [
        probed(&server, &content, ProbeDepth::Head).await.unwrap_err(),
        probed(&server, &content, ProbeDepth::Pull).await.unwrap_err(),
        probed(&denying, &content, ProbeDepth::Head).await.unwrap_err(),
    ];
    insta::assert_snapshot!(errors.join("\n"), @"
    missing: HOST/releases: http://HOST/v2/releases/blobs/DIGEST does not exist
    missing: HOST/releases: http://HOST/v2/releases/blobs/DIGEST does not exist
    missing: HOST/releases: http://HOST/v2/releases/manifests/DIGEST: access denied; check the pull secret (the registry reports: no access for robots)
    ");
}

#[tokio::test]
async fn probe_with_wrong_size_or_digest_fails() {
    let content = content(&[&[("a", "1")]]);
    let cut = Server::with_override(|method, path, _| {
        let is_layer = *method == Method::HEAD && path.starts_with("blobs/");
        is_layer.then(|| [(header::CONTENT_LENGTH, "7")].into_response())
    })
    .await;
    cut.add_untagged(&content);
    let errors = probed(&cut, &content, ProbeDepth::Head).await.unwrap_err();
    assert!(errors.contains("is invalid: it has 7 bytes, expected "), "{errors}");

    let lying = Server::start().await;
    lying.add_untagged(&content);
    let other = vec![7; content.blobs[1].len()];
    lying.replace(&format!("blobs/{}", Digest::of(&content.blobs[1])), &other);
    assert_eq!(probed(&lying, &content, ProbeDepth::Head).await, Ok(()));
    insta::assert_snapshot!(probed(&lying, &content, ProbeDepth::Pull).await.unwrap_err(), @"missing: HOST/releases: the content of DIGEST does not match its digest");
}

#[tokio::test]
async fn probe_with_503_returns_no_answer() {
    let busy =
        Server::with_override(|_, _, _| Some(StatusCode::SERVICE_UNAVAILABLE.into_response()))
            .await;
    let content = content(&[&[("a", "1")]]);
    insta::assert_snapshot!(probed(&busy, &content, ProbeDepth::Head).await.unwrap_err(), @"no answer: HOST/releases: http://HOST/v2/releases/manifests/DIGEST: HTTP status 503");
}

#[tokio::test]
async fn probe_without_head_support_uses_get() {
    let server = Server::with_override(|method, path, _| {
        let is_question = *method == Method::HEAD && path.starts_with("blobs/");
        is_question.then(|| StatusCode::METHOD_NOT_ALLOWED.into_response())
    })
    .await;
    let content = content(&[&[("a", "1")]]);
    server.add_untagged(&content);
    assert_eq!(probed(&server, &content, ProbeDepth::Head).await, Ok(()));
}

#[tokio::test]
async fn probe_with_one_source_succeeds() {
    let [mirror, source] = [Server::start().await, Server::start().await];
    let content = content(&[&[("a", "1")]]);
    mirror.add_untagged(&content);
    let prober = Prober::new(sources(&source, Some(&mirror)), ProbeDepth::Head);
    assert_eq!(prober.probe(&name(&source, &content)).await, Ok(()));
    assert!(source.requests().is_empty());

    let directory = tempfile::tempdir().unwrap();
    let layer = LayerBuilder::new().file("a", 0o644, "1").unwrap().build().unwrap();
    let in_layout = Image::new(vec![layer], &ImageConfig::default());
    layout::write(directory.path(), &in_layout, "1").unwrap();
    let layouts = vec![directory.path().to_owned()];
    let image = format!("{}@{}", source.repository(), in_layout.digest());
    for depth in [ProbeDepth::Head, ProbeDepth::Pull] {
        let sources = ImageSources { layouts: layouts.clone(), ..sources(&source, None) };
        assert_eq!(Prober::new(sources, depth).probe(&image).await, Ok(()));
    }
    let by_tag = Prober::new(sources(&source, None), ProbeDepth::Head).probe("r.example/a:1").await;
    assert!(matches!(by_tag, Err(ProbeError::Name(_))));
}

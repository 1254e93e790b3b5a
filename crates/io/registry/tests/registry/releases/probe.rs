//! Whether images are to be had.

use axum::http::{Method, StatusCode, header};
use axum::response::IntoResponse;
use fairway_registry::mirrors::Mirrors;
use fairway_registry::payload::Places;
use fairway_registry::probe::{Depth, ProbeError, Prober};
use fairway_registry::pull::Options;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use serde_json::json;

use crate::releases::anonymous;
use crate::releases::images::{Content, Style, here, image, tar};
use crate::releases::server::Server;

fn content(files: &[&[(&str, &str)]]) -> Content {
    let layers = files.iter().map(|files| (tar(files), false)).collect();
    image(Style::Oci, here(), layers)
}

fn places(source: &Server, mirror: Option<&Server>) -> Places {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mirrors: Vec<String> = mirror.iter().map(|mirror| mirror.repository()).collect();
    let entry = json!({"source": source.repository(), "mirrors": mirrors});
    let set = json!({"kind": "ImageDigestMirrorSet", "spec": {"imageDigestMirrors": [entry]}});
    let options = Options { attempts: 1, ..Options::default() };
    Places { mirrors: Mirrors::read([&set]).0, options, ..Places::default() }
}

fn name(server: &Server, content: &Content) -> String {
    format!("{}@{}", server.repository(), content.digest())
}

async fn probed(server: &Server, content: &Content, depth: Depth) -> Result<(), String> {
    let probing = Prober::new(places(server, None), depth);
    let probed = probing.probe(&name(server, content)).await;
    probed.map_err(|error| {
        let sort = match &error {
            ProbeError::Missing(_) => "missing",
            ProbeError::NoAnswer(_) => "no answer",
            ProbeError::Name(_) => "name",
        };
        format!("{sort}: {}", anonymous(&error.to_string(), server))
    })
}

#[tokio::test]
async fn layers_are_asked_for_and_none_twice() {
    let server = Server::start().await;
    let below: &[_] = &[("a", "1")];
    let [one, other] = [content(&[below, &[("b", "1")]]), content(&[below, &[("c", "1")]])];
    for content in [&one, &other] {
        server.add_untagged(content);
    }
    let prober = Prober::new(places(&server, None), Depth::Head);
    for content in [&one, &other, &one] {
        assert_eq!(prober.probe(&name(&server, content)).await, Ok(()));
    }
    let asked = server.asked();
    let count = |what: &str| asked.iter().filter(|asked| asked.starts_with(what)).count();
    // Both have the same configuration and the same layer below.
    assert_eq!((count("GET manifests"), count("HEAD blobs"), count("GET blobs")), (3, 4, 0));
}

#[tokio::test]
async fn whatever_is_missing_is_named_with_the_registry_s_words() {
    let content = content(&[&[("a", "1")]]);
    let layer = format!("blobs/{}", Digest::of(&content.blobs[1]));
    let server = Server::start().await;
    server.add_untagged(&content);
    server.forget(&layer);
    let denying = Server::misbehaving(|_, _, _| {
        let words = json!({"errors": [{"code": "DENIED", "message": "no access for robots"}]});
        Some((StatusCode::FORBIDDEN, words.to_string()).into_response())
    })
    .await;
    let told = [
        probed(&server, &content, Depth::Head).await.unwrap_err(),
        probed(&server, &content, Depth::Pull).await.unwrap_err(),
        probed(&denying, &content, Depth::Head).await.unwrap_err(),
    ];
    insta::assert_snapshot!(told.join("\n"), @"
    missing: HOST/releases: http://HOST/v2/releases/blobs/DIGEST does not exist
    missing: HOST/releases: http://HOST/v2/releases/blobs/DIGEST does not exist
    missing: HOST/releases: http://HOST/v2/releases/manifests/DIGEST: access denied; check the pull secret (the registry reports: no access for robots)
    ");
}

#[tokio::test]
async fn a_layer_of_another_size_or_content_is_not_the_layer() {
    let content = content(&[&[("a", "1")]]);
    let cut = Server::misbehaving(|method, path, _| {
        let is_layer = *method == Method::HEAD && path.starts_with("blobs/");
        is_layer.then(|| [(header::CONTENT_LENGTH, "7")].into_response())
    })
    .await;
    cut.add_untagged(&content);
    let told = probed(&cut, &content, Depth::Head).await.unwrap_err();
    assert!(told.contains("is invalid: it has 7 bytes, expected "), "{told}");

    let lying = Server::start().await;
    lying.add_untagged(&content);
    let other = vec![7; content.blobs[1].len()];
    lying.replace(&format!("blobs/{}", Digest::of(&content.blobs[1])), &other);
    assert_eq!(probed(&lying, &content, Depth::Head).await, Ok(()));
    insta::assert_snapshot!(probed(&lying, &content, Depth::Pull).await.unwrap_err(), @"missing: HOST/releases: the content of DIGEST does not match its digest");
}

#[tokio::test]
async fn a_registry_that_does_not_answer_may_have_it() {
    let busy =
        Server::misbehaving(|_, _, _| Some(StatusCode::SERVICE_UNAVAILABLE.into_response())).await;
    let content = content(&[&[("a", "1")]]);
    insta::assert_snapshot!(probed(&busy, &content, Depth::Head).await.unwrap_err(), @"no answer: HOST/releases: http://HOST/v2/releases/manifests/DIGEST: HTTP status 503");
}

#[tokio::test]
async fn a_registry_that_is_not_to_be_asked_is_read() {
    let server = Server::misbehaving(|method, path, _| {
        let is_question = *method == Method::HEAD && path.starts_with("blobs/");
        is_question.then(|| StatusCode::METHOD_NOT_ALLOWED.into_response())
    })
    .await;
    let content = content(&[&[("a", "1")]]);
    server.add_untagged(&content);
    assert_eq!(probed(&server, &content, Depth::Head).await, Ok(()));
}

#[tokio::test]
async fn one_place_is_enough() {
    let [mirror, source] = [Server::start().await, Server::start().await];
    let content = content(&[&[("a", "1")]]);
    mirror.add_untagged(&content);
    let prober = Prober::new(places(&source, Some(&mirror)), Depth::Head);
    assert_eq!(prober.probe(&name(&source, &content)).await, Ok(()));
    assert!(source.asked().is_empty());

    let directory = tempfile::tempdir().unwrap();
    let layer = LayerBuilder::new().file("a", 0o644, "1").unwrap().build().unwrap();
    let in_layout = Image::new(vec![layer], &ImageConfig::default());
    layout::write(directory.path(), &in_layout, "1").unwrap();
    let layouts = vec![directory.path().to_owned()];
    let image = format!("{}@{}", source.repository(), in_layout.digest());
    for depth in [Depth::Head, Depth::Pull] {
        let places = Places { layouts: layouts.clone(), ..places(&source, None) };
        assert_eq!(Prober::new(places, depth).probe(&image).await, Ok(()));
    }
    let by_tag = Prober::new(places(&source, None), Depth::Head).probe("r.example/a:1").await;
    assert!(matches!(by_tag, Err(ProbeError::Name(_))));
}

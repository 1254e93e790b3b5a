//! Scans of a well-behaved registry.

use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairway_registry::layout::Layout;
use fairway_registry::pull::{PullOptions, PullSecrets};
use fairway_registry::releases::{ScanCache, ScanProgress, ScanSettings, Source, scan, scan_with};
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};

use crate::releases::images::{Style, image, list, metadata, release, release_layer, tar};
use crate::releases::server::Server;
use crate::releases::{problems, redacted, scan_once, source, versions};

#[tokio::test]
async fn scan_reads_docker_and_oci_formats() {
    let server = Server::start().await;
    server.add("docker", &release(Style::Docker, "amd64", "4.1.0"));
    server.add("oci", &release(Style::Oci, "arm64", "4.1.0"));
    let plain = tar(&[("./release-manifests/release-metadata", &metadata("4.2.0"))]);
    server.add("plain", &image(Style::Oci, "amd64", vec![(plain, false)]));
    for (tag, style, version) in [("list", Style::Docker, "4.3.0"), ("index", Style::Oci, "4.4.0")]
    {
        let images = ["amd64", "s390x"].map(|arch| (arch, release(style, arch, version)));
        for (_, image) in &images {
            server.add_untagged(image);
        }
        let named: Vec<_> = images.iter().map(|(arch, image)| (*arch, image)).collect();
        server.add(tag, &list(style, &named));
    }
    let scan = scan_once(&source(&server.repository(), &PullOptions::default())).await.unwrap();
    assert_eq!(problems(&scan), "");
    let expected = [
        "4.1.0 amd64",
        "4.1.0 arm64",
        "4.2.0 amd64",
        "4.3.0 amd64",
        "4.3.0 multi",
        "4.3.0 s390x",
        "4.4.0 amd64",
        "4.4.0 multi",
        "4.4.0 s390x",
    ];
    assert_eq!(versions(&scan), expected);
    let docker = scan.releases.iter().find(|release| release.arch == "arm64").unwrap();
    let digest = release(Style::Oci, "arm64", "4.1.0").digest();
    assert_eq!(docker.image, format!("{}@{digest}", server.repository()));
}

#[tokio::test]
async fn scan_result_serializes_as_list_of_releases() {
    let server = Server::start().await;
    let image = release(Style::Oci, "amd64", "4.1.0");
    server.add("4.1.0", &image);
    let scan = scan_once(&source(&server.repository(), &PullOptions::default())).await.unwrap();
    let expected = serde_json::json!([{
        "image": format!("{}@{}", server.repository(), image.digest()),
        "arch": "amd64",
        "release-metadata": {
            "kind": "cincinnati-metadata-v0", "version": "4.1.0", "previous": ["4.0.0"],
            "metadata": {},
        },
    }]);
    assert_eq!(serde_json::to_value(&scan.releases).unwrap(), expected);
}

#[tokio::test]
async fn scan_of_index_with_one_image_uses_digest_of_index() {
    let server = Server::start().await;
    let inner = release(Style::Oci, "arm64", "4.1.0");
    let outer = list(Style::Oci, &[("arm64", &inner), ("unknown", &inner)]);
    server.add_untagged(&inner);
    server.add("4.1.0", &outer);
    let scan = scan_once(&source(&server.repository(), &PullOptions::default())).await.unwrap();
    assert_eq!(versions(&scan), ["4.1.0 arm64"]);
    assert!(scan.releases[0].image.ends_with(outer.digest().as_str()));
}

#[tokio::test]
async fn scan_uses_top_layer_with_valid_metadata() {
    let server = Server::start().await;
    let (low, middle) = (release_layer(&metadata("4.1.0")), release_layer(&metadata("4.2.0")));
    let (other, broken) = ((tar(&[("a", "1")]), false), release_layer("{"));
    let layers = vec![low, middle.clone(), other, broken];
    server.add("4.2.0", &image(Style::Oci, "amd64", layers.clone()));
    let scan = scan_once(&source(&server.repository(), &PullOptions::default())).await.unwrap();
    assert_eq!(versions(&scan), ["4.2.0 amd64"]);
    let lowest = format!("GET blobs/{}", Digest::of(&layers[0].0));
    assert!(!server.requests().contains(&lowest), "it lies below the one that counts");
}

#[tokio::test]
async fn scan_with_cache_reads_only_new_manifests() {
    let server = Server::start().await;
    let images = ["amd64", "s390x"].map(|arch| release(Style::Oci, arch, "4.1.0"));
    server.add("amd64", &images[0]);
    server.add("again", &images[0]);
    server.add_untagged(&images[1]);
    server.add("multi", &list(Style::Oci, &[("amd64", &images[0]), ("s390x", &images[1])]));
    server.add("no-release", &image(Style::Oci, "amd64", vec![(tar(&[("a", "1")]), false)]));
    let source = source(&server.repository(), &PullOptions::default());
    let (mut cache, settings) = (ScanCache::default(), ScanSettings::default());
    let first = scan(&source, &mut cache, &settings).await.unwrap();
    assert_eq!((first.report.read, first.report.known), (4, 0));
    let mut requests = server.requests();
    requests.retain(|requests| requests.contains("manifests/sha256:"));
    assert_eq!(requests.len(), 4, "several tags and lists lead to one manifest: {requests:#?}");

    let second = scan(&source, &mut cache, &settings).await.unwrap();
    assert_eq!(second.releases, first.releases);
    assert_eq!(problems(&second), problems(&first));
    assert_eq!((second.report.read, second.report.known), (0, 4));
    let heads =
        ["again", "amd64", "multi", "no-release"].map(|tag| format!("HEAD manifests/{tag}"));
    let mut requests = server.requests();
    requests.sort();
    assert_eq!(requests[1..], heads);
    assert_eq!(requests[0], "GET tags/list");

    server.add("new", &release(Style::Oci, "amd64", "4.2.0"));
    let third = scan(&source, &mut cache, &settings).await.unwrap();
    assert_eq!((third.report.read, third.report.known), (1, 4));
    assert_eq!(third.releases.len(), first.releases.len() + 1);
}

#[tokio::test]
async fn scan_with_bad_releases_omits_only_those() {
    let server = Server::with_override(|_, path, _| {
        path.starts_with("manifests/forbidden").then(|| StatusCode::FORBIDDEN.into_response())
    })
    .await;
    server.add("good", &release(Style::Oci, "amd64", "4.1.0"));
    server.add("forbidden", &release(Style::Oci, "amd64", "4.2.0"));
    server.add("gone", &release(Style::Oci, "amd64", "4.3.0"));
    server.remove("manifests/gone");
    let missing = release(Style::Oci, "amd64", "4.4.0");
    server.add("no-layer", &missing);
    server.remove(&format!("blobs/{}", Digest::of(&missing.blobs[0])));
    server.add("no-release", &image(Style::Oci, "amd64", vec![(tar(&[("a", "1")]), false)]));
    let broken = |layers| image(Style::Oci, "amd64", layers);
    server.add("metadata", &broken(vec![release_layer(r#"{"kind": "cincinnati-metadata-v0"}"#)]));
    server.add("archive", &broken(vec![(vec![0xff; 4096], false)]));
    server.add("gzip", &broken(vec![(b"not gzip".to_vec(), true)]));
    server.add("arch", &image(Style::Oci, "", vec![release_layer(&metadata("4.5.0"))]));
    let (one, other) =
        (release(Style::Oci, "amd64", "4.6.0"), release(Style::Oci, "s390x", "4.7.0"));
    server.add_untagged(&one);
    server.add_untagged(&other);
    server.add("different", &list(Style::Oci, &[("amd64", &one), ("s390x", &other)]));
    let away = release(Style::Oci, "ppc64le", "4.6.0");
    server.add("incomplete", &list(Style::Oci, &[("amd64", &one), ("ppc64le", &away)]));

    let scan = scan_once(&source(&server.repository(), &PullOptions::default())).await.unwrap();
    assert_eq!(versions(&scan), ["4.1.0 amd64", "4.6.0 amd64", "4.7.0 s390x"]);
    let errors = redacted(&scan.report.to_string(), &server);
    insta::assert_snapshot!(errors, @r#"
    HOST/releases: 3 releases in 11 tags; 12 manifests read, 0 cached
      arch (DIGEST) omitted: unsupported architecture ""
      archive (DIGEST) omitted: cannot unpack layer DIGEST: numeric field did not have utf-8 text:  when getting cksum for 
      different (DIGEST) omitted: its images belong to different releases: 4.6.0, 4.7.0
      forbidden omitted: http://HOST/v2/releases/manifests/forbidden: access denied; check the pull secret
      gone omitted: http://HOST/v2/releases/manifests/gone does not exist
      gzip (DIGEST) omitted: cannot unpack layer DIGEST: unexpected end of file
      incomplete (DIGEST) omitted: http://HOST/v2/releases/manifests/DIGEST does not exist
      incomplete (DIGEST) omitted: cannot read release image DIGEST
      metadata (DIGEST) omitted: release-metadata:1:2: missing field `version`
      no-layer (DIGEST) omitted: http://HOST/v2/releases/blobs/DIGEST does not exist
      no-release (DIGEST) omitted: no layer contains release-manifests/release-metadata
    "#);
    let json = serde_json::to_string(&scan.report.problems[5..7]).unwrap();
    insta::assert_snapshot!(redacted(&json, &server), @r#"[{"tag":"gzip","digest":"DIGEST","kept":false,"reason":"layer","layer":"DIGEST","why":"unexpected end of file"},{"tag":"incomplete","digest":"DIGEST","kept":false,"reason":"notFound","url":"http://HOST/v2/releases/manifests/DIGEST"}]"#);
}

#[tokio::test]
async fn scan_with_429_retries_and_keeps_releases() {
    let requests = AtomicU32::new(0);
    let trouble = std::sync::Arc::new(AtomicU32::new(0));
    let broken = std::sync::Arc::clone(&trouble);
    let server = Server::with_override(move |_, path, _| {
        let in_trouble = path == "manifests/4.1.0" && broken.load(Ordering::Relaxed) == 1;
        // Every third request is throttled.
        let first = requests.fetch_add(1, Ordering::Relaxed).is_multiple_of(3);
        (in_trouble || first).then(|| StatusCode::TOO_MANY_REQUESTS.into_response())
    })
    .await;
    server.add("4.1.0", &release(Style::Oci, "amd64", "4.1.0"));
    let source =
        source(&server.repository(), &PullOptions { attempts: 2, ..PullOptions::default() });
    let (mut cache, settings) = (ScanCache::default(), ScanSettings::default());
    let first = scan(&source, &mut cache, &settings).await.unwrap();
    assert_eq!(versions(&first), ["4.1.0 amd64"]);
    trouble.store(1, Ordering::Relaxed);
    let second = scan(&source, &mut cache, &settings).await.unwrap();
    assert_eq!(second.releases, first.releases);
    assert!(second.report.problems[0].kept);
    assert!(second.report.to_string().contains(" unchanged: "), "{}", second.report);
}

/// Requires a token, and issues it for the password.
fn require_token(path: &str, headers: &HeaderMap) -> Option<Response> {
    let sent = headers.get(header::AUTHORIZATION).and_then(|sent| sent.to_str().ok());
    if path == "/token" {
        return Some(match sent {
            Some("Basic dXNlcjpwYXNz") => r#"{"token": "ticket"}"#.into_response(),
            _ => StatusCode::UNAUTHORIZED.into_response(),
        });
    }
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let challenge = format!(r#"Bearer realm="http://{host}/token",service="releases""#);
    let refused = (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]);
    (sent != Some("Bearer ticket")).then(|| refused.into_response())
}

#[tokio::test]
async fn scan_with_pull_secret_authenticates_once() {
    let server = Server::with_override(|_, path, headers| require_token(path, headers)).await;
    server.add("4.1.0", &release(Style::Oci, "amd64", "4.1.0"));
    let host = server.address();
    let secrets = format!(r#"{{"auths": {{"{host}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#);
    let secrets = PullSecrets::parse(secrets.as_bytes()).unwrap();
    let options = PullOptions { secrets, ..PullOptions::default() };
    let scan = scan_once(&source(&server.repository(), &options)).await.unwrap();
    assert_eq!(versions(&scan), ["4.1.0 amd64"]);
    let tokens = server.requests().iter().filter(|requests| *requests == "GET /token").count();
    assert_eq!(tokens, 1);

    let error =
        scan_once(&source(&server.repository(), &PullOptions::default())).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    insta::assert_snapshot!(redacted(&why, &server), @"http://HOST/token: access denied; check the pull secret");
}

#[tokio::test]
async fn scan_dropped_early_keeps_its_cache() {
    let stalled = std::sync::Arc::new(AtomicU32::new(1));
    let is_stuck = std::sync::Arc::clone(&stalled);
    let slow = release(Style::Oci, "amd64", "4.2.0");
    let path = format!("manifests/{}", slow.digest());
    let server = Server::with_override(move |_, requests, _| {
        let stalled = requests == path && is_stuck.load(Ordering::Relaxed) == 1;
        stalled.then(crate::releases::hostile::stalled)
    })
    .await;
    server.add("4.1.0", &release(Style::Oci, "amd64", "4.1.0"));
    server.add("4.2.0", &slow);
    let source = source(&server.repository(), &PullOptions::default());
    let (mut cache, settings) = (ScanCache::default(), ScanSettings::default());
    let read = tokio::sync::Notify::new();
    let on_progress = |progress| {
        assert_eq!(progress, ScanProgress { read: 1, of: 2 });
        read.notify_one();
    };
    tokio::select! {
        _ = scan_with(&source, &mut cache, &settings, &on_progress) => panic!("it ended"),
        () = read.notified() => {}
    }
    stalled.store(0, Ordering::Relaxed);
    server.requests();
    let scan = scan(&source, &mut cache, &settings).await.unwrap();
    assert_eq!(versions(&scan), ["4.1.0 amd64", "4.2.0 amd64"]);
    let manifests =
        server.requests().iter().filter(|requests| requests.contains("manifests/sha256:")).count();
    assert_eq!(manifests, 1, "the one that was not read before");
}

#[tokio::test]
async fn scan_without_head_support_uses_get() {
    for status in [StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED] {
        let server = Server::with_override(move |method, _, _| {
            (method == Method::HEAD).then(|| status.into_response())
        })
        .await;
        server.add("4.1.0", &release(Style::Docker, "amd64", "4.1.0"));
        let scan = scan_once(&source(&server.repository(), &PullOptions::default())).await.unwrap();
        assert_eq!(versions(&scan), ["4.1.0 amd64"], "{status}");
    }
}

#[tokio::test]
async fn scan_of_layout_returns_releases() {
    let directory = tempfile::tempdir().unwrap();
    let layer = LayerBuilder::new()
        .file("release-manifests/release-metadata", 0o644, metadata("4.1.0"))
        .unwrap();
    let image = Image::new(vec![layer.build().unwrap()], &ImageConfig::default());
    layout::write(directory.path(), &image, "4.1.0").unwrap();
    let name = "registry.example/releases".to_owned();
    let layout = Layout::open(directory.path()).unwrap();
    let source = Source::Layout { layout, name };
    let mut cache = ScanCache::default();
    let first = scan(&source, &mut cache, &ScanSettings::default()).await.unwrap();
    assert_eq!(first.releases[0].image, format!("registry.example/releases@{}", image.digest()));

    // Cached images are not opened.
    std::fs::remove_dir_all(directory.path().join("blobs")).unwrap();
    let second = scan(&source, &mut cache, &ScanSettings::default()).await.unwrap();
    assert_eq!(second.releases, first.releases);
    let third = scan_once(&source).await.unwrap();
    assert!(third.releases.is_empty());
    assert!(problems(&third).ends_with(" does not exist"), "{}", problems(&third));
}

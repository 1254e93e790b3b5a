//! Hostile registries cannot do more than waste some time of a scan.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairway_registry::Digest;
use fairway_registry::pull::{PullOptions, PullSecrets};
use fairway_registry::releases::{ScanCache, ScanSettings, scan};
use futures::stream;
use tokio::time::Instant;

use crate::releases::images::{Style, gzip, image, list, release, tar};
use crate::releases::server::Server;
use crate::releases::{problems, redacted, scan_once, source, versions};

/// Short timeouts, and long enough for a busy host.
fn short_timeouts() -> PullOptions {
    PullOptions { attempts: 1, silence: Duration::from_secs(2), ..PullOptions::default() }
}

fn endless() -> Response {
    let chunk: Result<Vec<u8>, Infallible> = Ok(vec![b' '; 64 << 10]);
    Body::from_stream(stream::repeat(chunk)).into_response()
}

/// A body of one byte that never ends.
pub(crate) fn stalled() -> Response {
    use futures::StreamExt;
    let first = stream::iter([Ok::<_, Infallible>(vec![b'{'])]);
    Body::from_stream(first.chain(stream::pending())).into_response()
}

/// A body that sends single bytes forever.
fn dripping() -> Response {
    let drop = |()| async {
        let mut time = tokio::time::interval(Duration::from_millis(50));
        time.tick().await;
        time.tick().await;
        Some((Ok::<_, Infallible>(vec![b' ']), ()))
    };
    Body::from_stream(stream::unfold((), drop)).into_response()
}

async fn tag_error(answer: impl Fn() -> Response + Send + Sync + 'static) -> String {
    let server = Server::with_override(move |_, _, _| Some(answer())).await;
    let error = scan_once(&source(&server.repository(), &short_timeouts())).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    redacted(&format!("{error}: {why}"), &server)
}

#[tokio::test]
async fn scan_with_endless_tags_fails() {
    let page = Mutex::new(0);
    let pages = move || {
        let mut page = page.lock().unwrap();
        *page += 1;
        let next = format!("</v2/releases/tags/list?last={page}>; rel=\"next\"");
        ([(header::LINK, next)], format!(r#"{{"tags": ["t{page}"]}}"#)).into_response()
    };
    let elsewhere = || {
        let next = "<http://127.0.0.2/v2/releases/tags/list>";
        ([(header::LINK, next)], r#"{"tags": ["a"]}"#).into_response()
    };
    let errors = [
        tag_error(pages).await,
        tag_error(endless).await,
        tag_error(elsewhere).await,
        tag_error(|| "[]".into_response()).await,
        tag_error(stalled).await,
    ];
    insta::assert_snapshot!(errors.join("\n"), @"
    cannot list the tags of HOST/releases: more than 100000 tags, or the pages of the tag list form a cycle
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list has more than 4194304 bytes
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list is invalid: the next page of tags has another address
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list is invalid: not a list of tags
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list: operation timed out
    ");
}

#[tokio::test]
async fn scan_with_wrong_digests_omits_releases() {
    let server = Server::with_override(|method, path, _| {
        let lie = ("docker-content-digest", Digest::of(b"another").to_string());
        let is_lied_about = *method == Method::HEAD && path == "manifests/stated";
        is_lied_about.then(|| ([lie], ()).into_response())
    })
    .await;
    server.add("good", &release(Style::Oci, "amd64", "4.1.0"));
    server.add("stated", &release(Style::Oci, "amd64", "4.2.0"));
    for (tag, version) in [("manifest", "4.3.0"), ("layer", "4.4.0"), ("config", "4.5.0")] {
        let [original, evil] =
            ["", "-evil"].map(|suffix| release(Style::Oci, "amd64", &format!("{version}{suffix}")));
        server.add(tag, &original);
        let blob = |index: usize| format!("blobs/{}", Digest::of(&original.blobs[index]));
        match tag {
            "manifest" => {
                server.replace(&format!("manifests/{}", original.digest()), &evil.manifest);
            }
            "layer" => server.replace(&blob(0), &evil.blobs[0]),
            // All images here share one configuration; this one gets its own.
            _ => {
                let other = release(Style::Oci, "s390x", version);
                server.add(tag, &other);
                let config = format!("blobs/{}", Digest::of(&other.blobs[1]));
                server.replace(&config, &original.blobs[1]);
            }
        }
    }
    let scan = scan_once(&source(&server.repository(), &short_timeouts())).await.unwrap();
    assert_eq!(versions(&scan), ["4.1.0 amd64"]);
    let reasons = scan.report.problems.iter().map(|problem| (&*problem.tag, &problem.reason));
    for (tag, reason) in reasons {
        let expected = if tag == "stated" { "does not exist" } else { "does not match its digest" };
        assert!(reason.to_string().ends_with(expected), "{tag}: {reason}");
    }
    assert_eq!(scan.report.problems.len(), 4);
}

#[tokio::test]
async fn scan_after_wrong_digest_reads_again() {
    let server = Server::start().await;
    let image = release(Style::Oci, "amd64", "4.1.0");
    server.add("4.1.0", &image);
    let manifest = format!("manifests/{}", image.digest());
    server.replace(&manifest, b"{}");
    let source = source(&server.repository(), &short_timeouts());
    let (mut cache, settings) = (ScanCache::default(), ScanSettings::default());
    assert!(scan(&source, &mut cache, &settings).await.unwrap().releases.is_empty());
    server.replace(&manifest, &image.manifest);
    assert_eq!(scan(&source, &mut cache, &settings).await.unwrap().releases.len(), 1);
}

#[tokio::test]
async fn scan_with_large_or_slow_content_omits_releases() {
    let bomb = image(Style::Oci, "amd64", vec![(gzip(&vec![0; 64 << 20]), true)]);
    let zeros = "\0".repeat(64 << 20);
    let packed_bomb = image(Style::Docker, "amd64", vec![(gzip(&tar(&[("a", &zeros)])), true)]);
    let [huge, slow, dripped] =
        ["4.1.0", "4.2.0", "4.3.0"].map(|version| release(Style::Oci, "amd64", version));
    let paths = [
        format!("manifests/{}", huge.digest()),
        format!("blobs/{}", Digest::of(&slow.blobs[0])),
        format!("blobs/{}", Digest::of(&dripped.blobs[0])),
    ];
    let server = Server::with_override(move |_, path, _| {
        match paths.iter().position(|with_override| with_override == path)? {
            0 => Some(endless()),
            1 => Some(stalled()),
            _ => Some(dripping()),
        }
    })
    .await;
    server.add("bomb", &bomb);
    server.add("packed-bomb", &packed_bomb);
    server.add("huge", &huge);
    server.add("slow", &slow);
    server.add("dripped", &dripped);
    server.add("good", &release(Style::Oci, "amd64", "4.4.0"));
    let begin = Instant::now();
    let settings = ScanSettings { image: Duration::from_secs(4), ..ScanSettings::default() };
    let source = source(&server.repository(), &short_timeouts());
    let scan = scan(&source, &mut ScanCache::default(), &settings).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(versions(&scan), ["4.4.0 amd64"]);
    insta::assert_snapshot!(redacted(&problems(&scan), &server), @"
    bomb: no layer contains release-manifests/release-metadata
    dripped: timed out after 4 seconds
    huge: http://HOST/v2/releases/manifests/DIGEST has more than 4194304 bytes
    packed-bomb: cannot unpack layer DIGEST: the uncompressed size exceeds the maximum compression ratio
    slow: http://HOST/v2/releases/blobs/DIGEST: operation timed out
    ");
}

#[tokio::test]
async fn scan_beyond_timeout_returns_partial_result() {
    let server =
        Server::with_override(|_, path, _| path.starts_with("manifests/slow").then(dripping)).await;
    server.add("good", &release(Style::Oci, "amd64", "4.1.0"));
    for number in 0..40 {
        let version = format!("4.2.{number}");
        server.add(&format!("slow-{number}"), &release(Style::Oci, "amd64", &version));
    }
    let source = source(&server.repository(), &PullOptions::default());
    let mut cache = ScanCache::default();
    let settings = ScanSettings { everything: Duration::from_secs(3), ..ScanSettings::default() };
    let begin = Instant::now();
    let scan = scan(&source, &mut cache, &settings).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(scan.report.problems.len(), 40 + usize::from(scan.releases.is_empty()));
    assert!(
        problems(&scan).contains("slow-39: the scan timed out before it read this release"),
        "{}",
        problems(&scan)
    );
}

#[tokio::test]
async fn redirects_to_plain_http_or_loops_are_refused() {
    let image = release(Style::Oci, "amd64", "4.1.0");
    let sent: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
    let seen = Arc::clone(&sent);
    let elsewhere = Server::with_override(move |_, _, headers| {
        seen.lock().unwrap().push(headers.clone());
        None
    })
    .await;
    elsewhere.add("4.1.0", &image);
    let store = format!("http://{}/v2/releases", elsewhere.address());
    let others = ["http://registry.example/x", "http://10.0.0.1/x", "file:///etc/passwd"];
    let server = Server::with_override(move |_, path, headers| {
        let sent = headers.get(header::AUTHORIZATION).map(|sent| sent.as_bytes().to_vec());
        if sent.is_none() {
            let challenge = [(header::WWW_AUTHENTICATE, "Basic realm=\"x\"")];
            return Some((StatusCode::UNAUTHORIZED, challenge).into_response());
        }
        let to = if let Some(blob) = path.strip_prefix("blobs/") {
            format!("{store}/blobs/{blob}")
        } else if path == "manifests/loop" {
            "/v2/releases/manifests/loop".to_owned()
        } else {
            let number: usize = path.strip_prefix("manifests/other-")?.parse().ok()?;
            others[number].to_owned()
        };
        Some((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response())
    })
    .await;
    server.add("4.1.0", &image);
    for tag in ["loop", "other-0", "other-1", "other-2"] {
        server.add(tag, &image);
    }
    let secrets = format!(r#"{{"auths": {{"{}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#, server.address());
    let secrets = PullSecrets::parse(secrets.as_bytes()).unwrap();
    let options = PullOptions { secrets, ..short_timeouts() };
    let scan = scan_once(&source(&server.repository(), &options)).await.unwrap();
    assert_eq!(versions(&scan), ["4.1.0 amd64"]);
    let sent = sent.lock().unwrap();
    assert_eq!(sent.len(), 2, "a layer and a configuration");
    assert!(sent.iter().all(|headers| !headers.contains_key(header::AUTHORIZATION)));
    insta::assert_snapshot!(redacted(&problems(&scan), &server), @"
    loop: http://HOST/v2/releases/manifests/loop: too many redirects
    other-0: http://HOST/v2/releases/manifests/other-0: redirected to http://registry.example/x, which does not use TLS
    other-1: http://HOST/v2/releases/manifests/other-1: redirected to http://10.0.0.1/x, which does not use TLS
    other-2: http://HOST/v2/releases/manifests/other-2: HTTP status 307
    ");
}

#[tokio::test]
async fn redirect_to_blob_store_sends_no_credentials() {
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&requests);
    let store = Server::with_override(move |_, path, headers| {
        seen.lock().unwrap().push(path.to_owned());
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let challenge = format!(r#"Bearer realm="http://{host}/v2/releases/token""#);
        Some((StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response())
    })
    .await;
    let blobs = format!("http://{}/v2/releases", store.address());
    let server = Server::with_override(move |_, path, _| {
        let to = format!("{blobs}/{}", path.strip_prefix("blobs/").map(|_| path)?);
        Some((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response())
    })
    .await;
    server.add("4.1.0", &release(Style::Oci, "amd64", "4.1.0"));
    let secrets = format!(r#"{{"auths": {{"{}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#, server.address());
    let secrets = PullSecrets::parse(secrets.as_bytes()).unwrap();
    let options = PullOptions { secrets, ..short_timeouts() };
    let scan = scan_once(&source(&server.repository(), &options)).await.unwrap();
    assert_eq!(versions(&scan), Vec::<String>::new());
    let requests = requests.lock().unwrap();
    assert!(
        !requests.is_empty() && requests.iter().all(|path| path.starts_with("blobs/")),
        "{requests:?}"
    );
}

#[tokio::test]
async fn token_server_without_tls_is_refused() {
    let server = Server::with_override(|_, _, _| {
        let challenge = r#"Bearer realm="http://registry.example/token",service="x""#;
        let challenge = [(header::WWW_AUTHENTICATE, challenge)];
        Some((StatusCode::UNAUTHORIZED, challenge).into_response())
    })
    .await;
    let error = scan_once(&source(&server.repository(), &short_timeouts())).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    insta::assert_snapshot!(why, @"refusing to connect to registry.example without TLS: it is not a loopback address");
}

#[tokio::test]
async fn scan_with_nested_indexes_omits_them() {
    let server = Server::start().await;
    let image = release(Style::Oci, "amd64", "4.1.0");
    server.add_untagged(&image);
    let mut deep = image.clone();
    for _ in 0..5 {
        deep = list(Style::Oci, &[("amd64", &deep)]);
        server.add_untagged(&deep);
    }
    server.add("deep", &deep);
    let mut wide = image.clone();
    for _ in 0..3 {
        wide = list(Style::Oci, &vec![("amd64", &wide); 60]);
        server.add_untagged(&wide);
    }
    server.add("wide", &wide);
    server.add("empty", &list(Style::Oci, &[]));
    let scan = scan_once(&source(&server.repository(), &short_timeouts())).await.unwrap();
    assert!(scan.releases.is_empty());
    insta::assert_snapshot!(problems(&scan), @"
    deep: its indexes are nested too deeply
    empty: not an image: its index has no images
    wide: its index has too many images
    ");
}

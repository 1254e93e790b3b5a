//! What a registry may do to those who read from it: nothing but waste some of their time.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairway_registry::Digest;
use fairway_registry::pull::{Options, PullSecrets};
use fairway_registry::releases::{Known, Settings, scan};
use futures::stream;
use tokio::time::Instant;

use crate::releases::images::{Style, gzip, image, list, release, tar};
use crate::releases::server::Server;
use crate::releases::{anonymous, found, scan_once, source, told};

/// Nobody in these tests waits longer; it is enough for a busy machine.
fn impatient() -> Options {
    Options { attempts: 1, silence: Duration::from_secs(2), ..Options::default() }
}

fn endless() -> Response {
    let chunk: Result<Vec<u8>, Infallible> = Ok(vec![b' '; 64 << 10]);
    Body::from_stream(stream::repeat(chunk)).into_response()
}

/// A byte, and then nothing for ever.
pub(crate) fn stuck() -> Response {
    use futures::StreamExt;
    let first = stream::iter([Ok::<_, Infallible>(vec![b'{'])]);
    Body::from_stream(first.chain(stream::pending())).into_response()
}

/// A byte from time to time, for ever.
fn dripping() -> Response {
    let drop = |()| async {
        let mut time = tokio::time::interval(Duration::from_millis(50));
        time.tick().await;
        time.tick().await;
        Some((Ok::<_, Infallible>(vec![b' ']), ()))
    };
    Body::from_stream(stream::unfold((), drop)).into_response()
}

async fn why_no_tags(answer: impl Fn() -> Response + Send + Sync + 'static) -> String {
    let server = Server::misbehaving(move |_, _, _| Some(answer())).await;
    let error = scan_once(&source(&server.repository(), &impatient())).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    anonymous(&format!("{error}: {why}"), &server)
}

#[tokio::test]
async fn lists_of_tags_end() {
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
    let told = [
        why_no_tags(pages).await,
        why_no_tags(endless).await,
        why_no_tags(elsewhere).await,
        why_no_tags(|| "[]".into_response()).await,
        why_no_tags(stuck).await,
    ];
    insta::assert_snapshot!(told.join("\n"), @"
    cannot list the tags of HOST/releases: more than 100000 tags, or a cycle of pages
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list has more than 4194304 bytes
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list is invalid: the next page of tags has another address
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list is invalid: not a list of tags
    cannot list the tags of HOST/releases: http://HOST/v2/releases/tags/list: operation timed out
    ");
}

#[tokio::test]
async fn content_that_is_not_what_its_name_says_is_left() {
    let server = Server::misbehaving(|method, path, _| {
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
            // The one configuration is that of all images here; this one gets its own.
            _ => {
                let other = release(Style::Oci, "s390x", version);
                server.add(tag, &other);
                let config = format!("blobs/{}", Digest::of(&other.blobs[1]));
                server.replace(&config, &original.blobs[1]);
            }
        }
    }
    let scan = scan_once(&source(&server.repository(), &impatient())).await.unwrap();
    assert_eq!(found(&scan), ["4.1.0 amd64"]);
    let reasons = scan.report.problems.iter().map(|problem| (&*problem.tag, &problem.reason));
    for (tag, reason) in reasons {
        let expected = if tag == "stated" { "does not exist" } else { "does not match its digest" };
        assert!(reason.to_string().ends_with(expected), "{tag}: {reason}");
    }
    assert_eq!(scan.report.problems.len(), 4);
}

#[tokio::test]
async fn what_a_lie_hid_is_read_when_the_truth_is_told() {
    let server = Server::start().await;
    let image = release(Style::Oci, "amd64", "4.1.0");
    server.add("4.1.0", &image);
    let manifest = format!("manifests/{}", image.digest());
    server.replace(&manifest, b"{}");
    let source = source(&server.repository(), &impatient());
    let (mut known, settings) = (Known::default(), Settings::default());
    assert!(scan(&source, &mut known, &settings).await.unwrap().releases.is_empty());
    server.replace(&manifest, &image.manifest);
    assert_eq!(scan(&source, &mut known, &settings).await.unwrap().releases.len(), 1);
}

#[tokio::test]
async fn large_slow_and_exploding_content_is_left() {
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
    let server = Server::misbehaving(move |_, path, _| {
        match paths.iter().position(|misbehaving| misbehaving == path)? {
            0 => Some(endless()),
            1 => Some(stuck()),
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
    let settings = Settings { image: Duration::from_secs(4), ..Settings::default() };
    let source = source(&server.repository(), &impatient());
    let scan = scan(&source, &mut Known::default(), &settings).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(found(&scan), ["4.4.0 amd64"]);
    insta::assert_snapshot!(anonymous(&told(&scan), &server), @"
    bomb: no layer contains release-manifests/release-metadata
    dripped: timed out after 4 seconds
    huge: http://HOST/v2/releases/manifests/DIGEST has more than 4194304 bytes
    packed-bomb: cannot unpack layer DIGEST: the uncompressed size exceeds the maximum compression ratio
    slow: http://HOST/v2/releases/blobs/DIGEST: operation timed out
    ");
}

#[tokio::test]
async fn a_scan_ends_when_its_time_is_over() {
    let server =
        Server::misbehaving(|_, path, _| path.starts_with("manifests/slow").then(dripping)).await;
    server.add("good", &release(Style::Oci, "amd64", "4.1.0"));
    for number in 0..40 {
        let version = format!("4.2.{number}");
        server.add(&format!("slow-{number}"), &release(Style::Oci, "amd64", &version));
    }
    let source = source(&server.repository(), &Options::default());
    let mut known = Known::default();
    let settings = Settings { everything: Duration::from_secs(3), ..Settings::default() };
    let begin = Instant::now();
    let scan = scan(&source, &mut known, &settings).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert_eq!(scan.report.problems.len(), 40 + usize::from(scan.releases.is_empty()));
    assert!(
        told(&scan).contains("slow-39: the scan timed out before it read this release"),
        "{}",
        told(&scan)
    );
}

#[tokio::test]
async fn redirects_lead_to_blobs_and_to_nothing_else() {
    let image = release(Style::Oci, "amd64", "4.1.0");
    let sent: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
    let seen = Arc::clone(&sent);
    let elsewhere = Server::misbehaving(move |_, _, headers| {
        seen.lock().unwrap().push(headers.clone());
        None
    })
    .await;
    elsewhere.add("4.1.0", &image);
    let store = format!("http://{}/v2/releases", elsewhere.address());
    let others = ["http://registry.example/x", "http://10.0.0.1/x", "file:///etc/passwd"];
    let server = Server::misbehaving(move |_, path, headers| {
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
    let options = Options { secrets, ..impatient() };
    let scan = scan_once(&source(&server.repository(), &options)).await.unwrap();
    assert_eq!(found(&scan), ["4.1.0 amd64"]);
    let sent = sent.lock().unwrap();
    assert_eq!(sent.len(), 2, "a layer and a configuration");
    assert!(sent.iter().all(|headers| !headers.contains_key(header::AUTHORIZATION)));
    insta::assert_snapshot!(anonymous(&told(&scan), &server), @"
    loop: http://HOST/v2/releases/manifests/loop: too many redirects
    other-0: http://HOST/v2/releases/manifests/other-0: redirected to http://registry.example/x, which does not use TLS
    other-1: http://HOST/v2/releases/manifests/other-1: redirected to http://10.0.0.1/x, which does not use TLS
    other-2: http://HOST/v2/releases/manifests/other-2: HTTP status 307
    ");
}

#[tokio::test]
async fn those_who_keep_blobs_are_not_told_who_we_are() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let store = Server::misbehaving(move |_, path, headers| {
        seen.lock().unwrap().push(path.to_owned());
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let challenge = format!(r#"Bearer realm="http://{host}/v2/releases/token""#);
        Some((StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response())
    })
    .await;
    let blobs = format!("http://{}/v2/releases", store.address());
    let server = Server::misbehaving(move |_, path, _| {
        let to = format!("{blobs}/{}", path.strip_prefix("blobs/").map(|_| path)?);
        Some((StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response())
    })
    .await;
    server.add("4.1.0", &release(Style::Oci, "amd64", "4.1.0"));
    let secrets = format!(r#"{{"auths": {{"{}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#, server.address());
    let secrets = PullSecrets::parse(secrets.as_bytes()).unwrap();
    let options = Options { secrets, ..impatient() };
    let scan = scan_once(&source(&server.repository(), &options)).await.unwrap();
    assert_eq!(found(&scan), Vec::<String>::new());
    let asked = asked.lock().unwrap();
    assert!(!asked.is_empty() && asked.iter().all(|path| path.starts_with("blobs/")), "{asked:?}");
}

#[tokio::test]
async fn a_password_is_not_given_away() {
    let server = Server::misbehaving(|_, _, _| {
        let challenge = r#"Bearer realm="http://registry.example/token",service="x""#;
        let challenge = [(header::WWW_AUTHENTICATE, challenge)];
        Some((StatusCode::UNAUTHORIZED, challenge).into_response())
    })
    .await;
    let error = scan_once(&source(&server.repository(), &impatient())).await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    insta::assert_snapshot!(why, @"registry.example is on another host, and the connection would not use TLS");
}

#[tokio::test]
async fn lists_in_lists_end() {
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
    let scan = scan_once(&source(&server.repository(), &impatient())).await.unwrap();
    assert!(scan.releases.is_empty());
    insta::assert_snapshot!(told(&scan), @"
    deep: its indexes are nested too deeply
    empty: not an image: its index has no images
    wide: its index has too many images
    ");
}

//! The HTTP contract: requests, responses, conditional requests, compression.

use std::fs;
use std::io::Read as _;

use crate::support::{GRAPH, TestData, get, request};

const OWN: &str = "application/vnd.redhat.cincinnati.v1+json";

#[tokio::test]
async fn graph_follows_the_protocol() {
    let service = TestData::new().serve().await;
    let reply = get(&service, GRAPH).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some(OWN)));
    insta::assert_snapshot!(reply.text(), @r#"{"version":1,"nodes":[{"version":"5.1.0","payload":"registry.example/release@sha256:5.1.0","metadata":{"io.openshift.upgrades.graph.release.channels":"stable-5.1","io.openshift.upgrades.graph.release.manifestref":"sha256:5.1.0"}},{"version":"5.1.1","payload":"registry.example/release@sha256:5.1.1","metadata":{"io.openshift.upgrades.graph.release.channels":"stable-5.1","io.openshift.upgrades.graph.release.manifestref":"sha256:5.1.1"}},{"version":"5.1.2","payload":"registry.example/release@sha256:5.1.2","metadata":{"io.openshift.upgrades.graph.release.channels":"stable-5.1","io.openshift.upgrades.graph.release.manifestref":"sha256:5.1.2"}}],"edges":[[0,1],[0,2]],"conditionalEdges":[{"edges":[{"from":"5.1.1","to":"5.1.2"}],"risks":[{"url":"https://example.com/1","name":"Risk","message":"It breaks.","matchingRules":[{"type":"Always"}]}]}]}"#);
    assert_eq!(reply.header("vary"), Some("accept, accept-encoding"));
    assert_eq!(reply.header("cache-control"), Some("public, max-age=60"));
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    let old = get(&service, &GRAPH.replace("/v1", "")).await;
    assert_eq!(old.body, reply.body);
}

#[tokio::test]
async fn graph_with_invalid_parameters_returns_400() {
    let service = TestData::new().serve().await;
    let empty = r#"{"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}"#;
    let missing =
        r#"{"kind":"missing_params","value":"mandatory client parameters missing: channel"}"#;
    let invalid = |name: &str, value: &str, pattern: &str| {
        format!(
            r#"{{"kind":"invalid_params","value":"invalid client parameters: {name} '{value}' does not match regex '{pattern}'"}}"#
        )
    };
    let channel = |value| invalid("channel", value, r"^[0-9a-z\\-\\.]+$");
    let arch = |value| invalid("arch", value, "^[0-9a-z]+$");
    for (query, status, body) in [
        ("channel=stable-9.9", 200, empty.to_owned()),
        ("channel=stable-5.1&arch=riscv", 200, empty.to_owned()),
        ("channel=stable-5.1&channel=stable-9.9", 200, empty.to_owned()),
        ("version=5.1.0&id=x&channel=stable-9.9&unknown=%ff", 200, empty.to_owned()),
        ("channel=stable%2D9.9", 200, empty.to_owned()),
        ("", 400, missing.to_owned()),
        ("Channel=stable-5.1", 400, missing.to_owned()),
        ("channel=", 400, channel("")),
        ("channel=stable_5", 400, channel("stable_5")),
        ("channel=Stable", 400, channel("Stable")),
        ("channel=%ff", 400, channel("\u{fffd}")),
        ("channel=a%0d%0ab", 400, channel(r"a\r\nb")),
        ("channel=stable-5.1&arch=", 400, arch("")),
        ("channel=stable-5.1&arch=AMD64", 400, arch("AMD64")),
    ] {
        for path in ["graph", "v1/graph"] {
            let reply = get(&service, &format!("/api/upgrades_info/{path}?{query}")).await;
            assert_eq!((reply.status, reply.text()), (status, body.as_str()), "{path} {query}");
        }
    }
    assert_eq!(
        get(&service, &format!("{GRAPH}&arch=amd64")).await.body,
        get(&service, GRAPH).await.body
    );
}

#[tokio::test]
async fn graph_with_accept_negotiates_media_type() {
    let service = TestData::new().serve().await;
    for (accept, status, media_type) in [
        ("application/json", 200, "application/json"),
        ("*/*", 200, "application/json"),
        (OWN, 200, OWN),
        ("text/html, application/json;q=0.9", 200, "application/json"),
        ("text/html", 406, "application/json"),
    ] {
        let reply = request(&service, "GET", GRAPH, &format!("accept: {accept}\r\n")).await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (status, Some(media_type)),
            "{accept}"
        );
    }
    // The media type is checked before the parameters.
    let reply = request(&service, "GET", "/api/upgrades_info/graph", "accept: text/html\r\n").await;
    assert_eq!(reply.status, 406);
    insta::assert_snapshot!(reply.text(), @r#"{"kind":"invalid_content_type","value":"invalid Content-Type requested"}"#);
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let service = TestData::new().serve().await;
    let head = request(&service, "HEAD", GRAPH, "").await;
    let whole = get(&service, GRAPH).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-length", "content-type", "etag", "vary", "cache-control"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let reply = request(&service, method, GRAPH, "content-length: 0\r\n").await;
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("GET, HEAD, OPTIONS")),
            "{method}"
        );
    }
    let preflight = "origin: https://example.com\r\naccess-control-request-method: GET\r\n";
    let reply = request(&service, "OPTIONS", GRAPH, preflight).await;
    assert_eq!((reply.status, reply.header("allow")), (204, Some("GET, HEAD, OPTIONS")));
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    assert_eq!(reply.header("access-control-allow-methods"), Some("GET, HEAD, OPTIONS"));
    for path in ["/", "/graph", "/api/upgrades_info", "/api/upgrades_info/v2/graph", "//", "/..%2f"]
    {
        let reply = get(&service, path).await;
        assert_eq!((reply.status, reply.body.len()), (404, 0), "{path}");
    }
}

#[tokio::test]
async fn latest_and_channels_return_documents() {
    let service = TestData::new().serve().await;
    let reply = get(&service, "/api/upgrades_info/v1/latest?channel=stable-5.1").await;
    insta::assert_snapshot!(reply.text(), @r#"{"channel":"stable-5.1","arch":"amd64","version":"5.1.2","payload":"registry.example/release@sha256:5.1.2"}"#);
    let reply = get(&service, "/api/upgrades_info/v1/latest?channel=stable-9.9").await;
    assert_eq!(reply.status, 404);
    insta::assert_snapshot!(reply.text(), @r#"{"kind":"does_not_exist","value":"not found: release for amd64 in channel stable-9.9"}"#);
    let reply = get(&service, "/api/upgrades_info/v1/channels?version=5.1.0").await;
    insta::assert_snapshot!(reply.text(), @r#"{"version":"5.1.0","channels":["stable-5.1"]}"#);
    let reply = get(&service, "/api/upgrades_info/v1/channels?version=5.1.0&arch=amd64").await;
    insta::assert_snapshot!(reply.text(), @r#"{"version":"5.1.0","arch":"amd64","channels":["stable-5.1"]}"#);
    for (query, status) in [
        ("version=9.9.9", 404),
        ("version=5.1.0&arch=s390x", 404),
        ("version=five", 400),
        ("", 400),
    ] {
        let reply = get(&service, &format!("/api/upgrades_info/v1/channels?{query}")).await;
        assert_eq!(reply.status, status, "{query}");
    }
}

#[tokio::test]
async fn graph_data_returns_archive() {
    let service = TestData::new().serve().await;
    let reply = get(&service, "/api/upgrades_info/graph-data").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/gzip")));
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(reply.body.as_slice()));
    let paths: Vec<String> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap().path().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(paths, ["blocked-edges/5.1.2-Risk.yaml", "channels/stable-5.1.yaml", "version"]);
}

#[tokio::test]
async fn signatures_outside_directory_return_404() {
    let data = TestData::new();
    let digest = "ab".repeat(32);
    let directory = data.path("signatures").join("sha256").join(&digest);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("signature-1"), b"\x90signed").unwrap();
    fs::write(directory.join("signature-7"), vec![b'x'; 100 << 10]).unwrap();
    fs::create_dir(directory.join("signature-8")).unwrap();
    fs::write(data.path("signatures").join("secret"), b"secret").unwrap();
    let stored = "cd".repeat(32);
    let store = data.path("signatures").join(format!("sha256={stored}"));
    fs::create_dir(&store).unwrap();
    fs::write(store.join("signature-1"), b"\x90stored").unwrap();
    let mut options = data.options();
    options.signatures = Some(data.path("signatures"));
    let service = fairway_update_service::Service::start(options).await.unwrap();
    let at = |rest: &str| format!("/api/upgrades_info/signatures/{rest}");
    let reply = get(&service, &at(&format!("sha256={digest}/signature-1"))).await;
    assert_eq!((reply.status, reply.body.as_slice()), (200, b"\x90signed".as_slice()));
    let reply = get(&service, &at(&format!("sha256={stored}/signature-1"))).await;
    assert_eq!((reply.status, reply.body.as_slice()), (200, b"\x90stored".as_slice()));
    // Files that are too large or directories are errors.
    for unreadable in ["signature-7", "signature-8"] {
        let reply = get(&service, &at(&format!("sha256={digest}/{unreadable}"))).await;
        assert_eq!((reply.status, reply.json()["kind"].as_str()), (500, Some("file_open_err")));
    }
    for missing in [
        format!("sha256={digest}/signature-2"),
        "sha256=../secret".to_owned(),
        "sha256=../secret/signature-1".to_owned(),
        format!("..={digest}/signature-1"),
    ] {
        assert_eq!(get(&service, &at(&missing)).await.status, 404, "{missing}");
    }
}

#[tokio::test]
async fn openapi_lists_every_path() {
    let service = TestData::new().serve().await;
    let reply = get(&service, "/openapi.json").await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let described = reply.json();
    let paths: Vec<&String> = described["paths"].as_object().unwrap().keys().collect();
    insta::assert_debug_snapshot!(paths, @r#"
    [
        "/api/upgrades_info/graph",
        "/api/upgrades_info/graph-data",
        "/api/upgrades_info/signatures/sha256={digest}/signature-{number}",
        "/api/upgrades_info/v1/channels",
        "/api/upgrades_info/v1/graph",
        "/api/upgrades_info/v1/latest",
    ]
    "#);
    assert_eq!(get(&service, "/api/upgrades_info/openapi").await.body, reply.body);
}

#[tokio::test]
async fn graph_with_matching_etag_returns_304() {
    let service = TestData::new().serve().await;
    let tag = get(&service, GRAPH).await.tag();
    for (named, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
        (tag.replace('"', ""), 200),
    ] {
        let headers = format!("if-none-match: {named}\r\n");
        for method in ["GET", "HEAD"] {
            let reply = request(&service, method, GRAPH, &headers).await;
            assert_eq!(reply.status, status, "{method} {named}");
            assert_eq!(reply.header("etag"), Some(tag.as_str()), "{method} {named}");
            assert_eq!(reply.header("vary"), Some("accept, accept-encoding"));
        }
    }
}

#[tokio::test]
async fn gzip_and_identity_have_different_etags() {
    let data = TestData::new();
    let message = "An answer that is worth compressing. ".repeat(50);
    let risk = format!("to: 5.1.1\nfrom: .*\nname: Long\nmessage: {message}\n");
    data.write("blocked-edges/5.1.1-Long.yaml", &risk);
    let service = data.serve().await;
    let plain = get(&service, GRAPH).await;
    let gzip = request(&service, "GET", GRAPH, "accept-encoding: br, gzip\r\n").await;
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert_eq!(plain.header("content-encoding"), None);
    assert!(gzip.body.len() < plain.body.len());
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(gzip.body.as_slice()).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain.body);
    assert_ne!(gzip.tag(), plain.tag());
    for (coding, tag, status) in [
        ("gzip", gzip.tag(), 304),
        ("gzip", plain.tag(), 200),
        ("identity", gzip.tag(), 200),
        ("identity", plain.tag(), 304),
    ] {
        let headers = format!("accept-encoding: {coding}\r\nif-none-match: {tag}\r\n");
        assert_eq!(request(&service, "GET", GRAPH, &headers).await.status, status, "{coding}");
    }
}

#[tokio::test]
async fn replicas_with_same_input_have_same_etag() {
    let data = TestData::new();
    let (one, other) = (data.serve().await, data.serve().await);
    assert_eq!(get(&one, GRAPH).await.tag(), get(&other, GRAPH).await.tag());
    let digest = |service: &fairway_update_service::Service| {
        service.status().graph.as_ref().unwrap().digest.clone()
    };
    assert_eq!(digest(&one), digest(&other));
}

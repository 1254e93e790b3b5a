//! Clients that mean no good, or do not know better: each gets an answer, and the others go on.

use std::time::Duration;

use anyhow::Result;
use fairway_sandbox::server::Limits;
use tokio::io::AsyncWriteExt as _;

use super::raw::{self, request};
use super::{admin, start, start_with};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "Content-Type: application/json";
const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap)";

#[tokio::test]
async fn bodies_that_make_no_sense_are_refused_and_named() -> Result<()> {
    let started = start().await?;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(20_000), "}".repeat(20_000));
    // Nine of nine of nine … nine times.
    let levels = ('b'..='j').zip('a'..).map(|(name, before)| {
        let nine = vec![format!("*{before}"); 9].join(",");
        format!("{name}: &{name} [{nine}]")
    });
    let yaml_bomb = format!("a: &a [x]\n{}", levels.collect::<Vec<_>>().join("\n"));
    let unknown = "the body of the request was in an unknown format";
    let yaml = "Content-Type: application/yaml";
    for (method, path, header, body, status, message) in [
        ("POST", CONFIG_MAPS, JSON, "{", 400, UNRECOGNIZED),
        ("POST", CONFIG_MAPS, JSON, "", 400, UNRECOGNIZED),
        ("POST", CONFIG_MAPS, JSON, "[]", 400, UNRECOGNIZED),
        ("POST", CONFIG_MAPS, JSON, "\u{0}", 400, UNRECOGNIZED),
        ("POST", CONFIG_MAPS, JSON, &deep, 400, UNRECOGNIZED),
        ("POST", CONFIG_MAPS, yaml, &yaml_bomb, 400, UNRECOGNIZED),
        ("POST", CONFIG_MAPS, yaml, "a: b: c", 400, UNRECOGNIZED),
        ("POST", CONFIG_MAPS, "Content-Type: text/plain", "x", 415, unknown),
        ("POST", CONFIG_MAPS, "Content-Type: ;;;", "x", 415, unknown),
        ("PATCH", "/api/v1/namespaces/default", JSON, "{}", 415, "Unsupported Media Type"),
        ("DELETE", "/api/v1/namespaces/default", JSON, "{", 500, "couldn't get version/kind"),
    ] {
        let answer = raw::send(&started.sandbox, &request(method, path, &[header], body)).await?;
        assert_eq!(answer.status, status, "{method} {header} {body:.40}: {answer:?}");
        assert!(answer.message().contains(message), "{body:.40}: {}", answer.message());
        assert_eq!(answer.json()["kind"], "Status");
    }
    assert_still_serves(&started).await
}

#[tokio::test]
async fn bodies_that_are_too_long_are_refused_whether_announced_or_not() -> Result<()> {
    let started = start().await?;
    let long = " ".repeat(100 << 20);
    let announced = request("POST", CONFIG_MAPS, &[JSON], &long);
    let answer = raw::send(&started.sandbox, &announced).await?;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.message(), "Request entity too large: limit is 3145728");

    let chunked = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    let answer = raw::send(&started.sandbox, chunked.as_bytes()).await?;
    assert_eq!(answer.status, 413);
    assert_still_serves(&started).await
}

#[tokio::test]
async fn paths_and_parameters_that_make_no_sense_are_refused() -> Result<()> {
    let started = start().await?;
    let long_path = format!("/{}", "a".repeat(5000));
    let long_query = format!("{CONFIG_MAPS}?labelSelector={}", "a".repeat(30_000));
    let many = format!("{CONFIG_MAPS}?labelSelector={}", vec!["a%3Db"; 5000].join("%2C"));
    for (path, statuses) in [
        ("/api/v1/namespaces/default/configmaps/%zz", &[400][..]),
        ("/api/v1/namespaces/default/configmaps/%", &[400]),
        ("/api/v1/namespaces/default/configmaps/..", &[400, 404]),
        ("/api/v1/namespaces/default/configmaps/%2e%2e", &[400]),
        ("/api/v1/namespaces/default/configmaps/%00", &[404]),
        ("/api/v1/namespaces/default/configmaps/a/b/c/d", &[404]),
        ("//", &[404]),
        (&long_path, &[404]),
        (&long_query, &[400]),
        (&many, &[400]),
        ("/api/v1/namespaces/default/configmaps?labelSelector=%2C%2C%3D", &[400]),
        ("/api/v1/namespaces/default/configmaps?fieldSelector=spec.no%3Dx", &[400]),
        ("/api/v1/namespaces/default/configmaps?limit=many", &[400]),
        ("/api/v1/namespaces/default/configmaps?continue=nonsense", &[400]),
        ("/api/v1/namespaces/default/configmaps?resourceVersion=x", &[400, 500]),
        ("/api/v1/watch/configmaps", &[404]),
        ("/openapi/v2", &[404]),
        ("/apis/nothing", &[404]),
        ("/nothing", &[404]),
    ] {
        let answer = raw::send(&started.sandbox, &request("GET", path, &[], "")).await?;
        assert!(statuses.contains(&answer.status), "{path:.60}: {} {}", answer.status, answer.body);
    }
    for (method, path, status) in [
        ("HEAD", CONFIG_MAPS, 405),
        ("OPTIONS", CONFIG_MAPS, 405),
        ("FOO", CONFIG_MAPS, 405),
        ("POST", "/api/v1/namespaces/default/configmaps/x", 405),
        ("PUT", CONFIG_MAPS, 405),
    ] {
        let answer = raw::send(&started.sandbox, &request(method, path, &[], "")).await?;
        assert_eq!(answer.status, status, "{method} {path}");
    }
    assert_still_serves(&started).await
}

#[tokio::test]
async fn what_is_no_http_is_answered_shortly_or_not_at_all() -> Result<()> {
    let started = start().await?;
    let long_header = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(200_000));
    let many_headers = format!("GET / HTTP/1.1\r\n{}\r\n", "A: a\r\n".repeat(500));
    for garbage in [
        "garbage\r\n\r\n",
        "GET\r\n\r\n",
        "\r\n\r\n\r\n\r\nGET / HTTP/9.9\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        &long_header,
        &many_headers,
    ] {
        // An answer or none: what counts is that the server goes on.
        if let Ok(answer) = raw::send(&started.sandbox, garbage.as_bytes()).await {
            assert!((400..500).contains(&answer.status), "{garbage:.40}: {answer:?}");
        }
    }
    let mut plain = tokio::net::TcpStream::connect(started.sandbox.address()).await?;
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await?;
    assert_still_serves(&started).await
}

#[tokio::test]
async fn whoever_is_slow_is_not_waited_for() -> Result<()> {
    let limits = Limits { body_time: Duration::from_millis(200), ..Limits::default() };
    let started = start_with(|options| options.limits(limits)).await?;
    let mut stream = raw::connect(&started.sandbox, Some(&admin())).await?;
    let beginning = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nConnection: close\r\n\
         Content-Length: 1000\r\n\r\n{{"
    );
    stream.write_all(beginning.as_bytes()).await?;
    let answer = raw::receive(&mut stream).await?;
    assert_eq!(answer.status, 504);
    assert_still_serves(&started).await
}

#[tokio::test]
async fn answers_come_in_the_form_that_was_asked_for_or_not_at_all() -> Result<()> {
    let started = start().await?;
    for (accept, status, media_type) in [
        ("*/*", 200, "application/json"),
        ("application/yaml", 200, "application/yaml"),
        ("application/json;as=Table;g=meta.k8s.io;v=v1", 200, "application/json"),
        ("application/vnd.kubernetes.protobuf", 406, "application/json"),
        ("text/html", 406, "application/json"),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", 406, "application/json"),
    ] {
        let header = format!("Accept: {accept}");
        let request = request("GET", CONFIG_MAPS, &[&header], "");
        let answer = raw::send(&started.sandbox, &request).await?;
        assert_eq!(answer.status, status, "{accept}: {}", answer.body);
        assert!(answer.head.contains(&format!("content-type: {media_type}")), "{}", answer.head);
        for header in ["audit-id: ", "cache-control: no-cache, private"] {
            assert!(answer.head.contains(header), "{}", answer.head);
        }
    }
    Ok(())
}

async fn assert_still_serves(started: &super::Started) -> Result<()> {
    let answer = raw::send(&started.sandbox, &request("GET", "/readyz", &[], "")).await?;
    assert_eq!((answer.status, answer.body.as_str()), (200, "ok"));
    Ok(())
}

//! Hostile and broken clients: each gets an error, and the server continues to serve others.

use std::time::Duration;

use anyhow::Result;
use fairway_sandbox::server::ServerLimits;
use tokio::io::AsyncWriteExt as _;

use super::raw::{self, request};
use super::{admin, start, start_with};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "Content-Type: application/json";
const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap)";

#[tokio::test]
async fn invalid_bodies_are_refused() -> Result<()> {
    let test = start().await?;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(20_000), "}".repeat(20_000));
    // Nine to the power of nine items.
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
        let response = raw::send(&test.sandbox, &request(method, path, &[header], body)).await?;
        assert_eq!(response.status, status, "{method} {header} {body:.40}: {response:?}");
        assert!(response.message().contains(message), "{body:.40}: {}", response.message());
        assert_eq!(response.json()["kind"], "Status");
    }
    assert_still_serves(&test).await
}

#[tokio::test]
async fn bodies_above_the_limit_are_refused() -> Result<()> {
    let test = start().await?;
    let long = " ".repeat(100 << 20);
    let announced = request("POST", CONFIG_MAPS, &[JSON], &long);
    let response = raw::send(&test.sandbox, &announced).await?;
    assert_eq!(response.status, 413);
    assert_eq!(response.message(), "Request entity too large: limit is 3145728");

    let chunked = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    let response = raw::send(&test.sandbox, chunked.as_bytes()).await?;
    assert_eq!(response.status, 413);
    assert_still_serves(&test).await
}

#[tokio::test]
async fn invalid_paths_and_parameters_are_refused() -> Result<()> {
    let test = start().await?;
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
        let response = raw::send(&test.sandbox, &request("GET", path, &[], "")).await?;
        assert!(
            statuses.contains(&response.status),
            "{path:.60}: {} {}",
            response.status,
            response.body
        );
    }
    for (method, path, status) in [
        ("HEAD", CONFIG_MAPS, 405),
        ("OPTIONS", CONFIG_MAPS, 405),
        ("FOO", CONFIG_MAPS, 405),
        ("POST", "/api/v1/namespaces/default/configmaps/x", 405),
        ("PUT", CONFIG_MAPS, 405),
    ] {
        let response = raw::send(&test.sandbox, &request(method, path, &[], "")).await?;
        assert_eq!(response.status, status, "{method} {path}");
    }
    assert_still_serves(&test).await
}

#[tokio::test]
async fn invalid_http_does_not_break_the_server() -> Result<()> {
    let test = start().await?;
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
        // A response is optional; the server must continue to serve.
        if let Ok(response) = raw::send(&test.sandbox, garbage.as_bytes()).await {
            assert!((400..500).contains(&response.status), "{garbage:.40}: {response:?}");
        }
    }
    let mut plain = tokio::net::TcpStream::connect(test.sandbox.address()).await?;
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await?;
    assert_still_serves(&test).await
}

#[tokio::test]
async fn slow_body_times_out() -> Result<()> {
    let limits = ServerLimits { body_time: Duration::from_millis(200), ..ServerLimits::default() };
    let test = start_with(|options| options.limits(limits)).await?;
    let mut stream = raw::connect(&test.sandbox, Some(&admin())).await?;
    let beginning = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nConnection: close\r\n\
         Content-Length: 1000\r\n\r\n{{"
    );
    stream.write_all(beginning.as_bytes()).await?;
    let response = raw::receive(&mut stream).await?;
    assert_eq!(response.status, 504);
    assert_still_serves(&test).await
}

#[tokio::test]
async fn response_has_accepted_media_type() -> Result<()> {
    let test = start().await?;
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
        let response = raw::send(&test.sandbox, &request).await?;
        assert_eq!(response.status, status, "{accept}: {}", response.body);
        assert!(
            response.head.contains(&format!("content-type: {media_type}")),
            "{}",
            response.head
        );
        for header in ["audit-id: ", "cache-control: no-cache, private"] {
            assert!(response.head.contains(header), "{}", response.head);
        }
    }
    Ok(())
}

async fn assert_still_serves(test: &super::TestSandbox) -> Result<()> {
    let response = raw::send(&test.sandbox, &request("GET", "/readyz", &[], "")).await?;
    assert_eq!((response.status, response.body.as_str()), (200, "ok"));
    Ok(())
}

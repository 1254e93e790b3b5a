//! Hostile and broken clients: each gets an error, and the server continues to serve others.

use std::time::Duration;

use anyhow::Result;
use fairway_sandbox::server::ServerLimits;
use tokio::io::AsyncWriteExt as _;

use super::raw::{self, request};
use super::{admin, start, start_with};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "Content-Type: application/json";

#[tokio::test]
async fn yaml_bomb_is_refused() -> Result<()> {
    let test = start().await?;
    // Nine to the power of nine items.
    let levels = ('b'..='j').zip('a'..).map(|(name, before)| {
        let nine = vec![format!("*{before}"); 9].join(",");
        format!("{name}: &{name} [{nine}]")
    });
    let body = format!("a: &a [x]\n{}", levels.collect::<Vec<_>>().join("\n"));
    let request = request("POST", CONFIG_MAPS, &["Content-Type: application/yaml"], &body);
    let response = raw::send(&test.sandbox, &request).await?;
    assert_eq!(response.status, 400, "{response:?}");
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap)";
    assert!(response.message().contains(unrecognized), "{}", response.message());
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

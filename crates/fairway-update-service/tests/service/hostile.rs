//! Clients that mean no good, or do not know better.

use std::time::Duration;

use fairway_update_service::{Limits, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{GRAPH, PATIENCE, World, get, read_reply, send, until};

async fn with(world: &World, limits: Limits) -> Service {
    let mut options = world.options();
    options.limits = limits;
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    service
}

/// Waits until there is no connection but the one that asks.
async fn until_alone(service: &Service) {
    let alone = "fairway_update_service_connections 1";
    let gone =
        async { while !get(service, "/metrics").await.text().lines().any(|line| line == alone) {} };
    timeout(PATIENCE, gone).await.expect("the others end");
}

#[tokio::test]
async fn whatever_comes_is_refused_by_a_status() {
    let service = World::new().serve().await;
    let long = "x".repeat(20 << 10);
    let longer = "x".repeat(200 << 10);
    let many = "x: 1\r\n".repeat(200);
    for (name, request, statuses) in [
        ("no HTTP", "hello\r\n\r\n".into(), &[400][..]),
        ("no path", "GET\r\n\r\n".into(), &[400]),
        ("a NUL", b"GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(), &[400]),
        ("another version", b"GET / HTTP/9.9\r\n\r\n".to_vec(), &[400, 505]),
        (
            "a long query",
            format!("GET {GRAPH}&x={long} HTTP/1.1\r\nhost: x\r\n\r\n").into(),
            &[414],
        ),
        (
            "a longer one",
            format!("GET {GRAPH}&x={longer} HTTP/1.1\r\nhost: x\r\n\r\n").into(),
            &[414, 431],
        ),
        ("a long header", format!("GET {GRAPH} HTTP/1.1\r\nx: {longer}\r\n\r\n").into(), &[431]),
        ("many headers", format!("GET {GRAPH} HTTP/1.1\r\n{many}\r\n").into(), &[431]),
        ("no name", b"GET / HTTP/1.1\r\n: x\r\n\r\n".to_vec(), &[400]),
        (
            "two lengths",
            b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".to_vec(),
            &[400],
        ),
    ] {
        // A connection that is reset while the rest is sent may lose its answer; the service may not
        // break.
        if let Some(reply) = send(service.address(), &request).await {
            assert!(statuses.contains(&reply.status), "{name}: {}", reply.head);
        }
    }
    assert_eq!(get(&service, GRAPH).await.status, 200);
}

#[tokio::test]
async fn bytes_that_are_no_ascii_are_harmless() {
    let service = World::new().serve().await;
    for header in ["x", "accept", "accept-encoding", "if-none-match", "origin", "host"] {
        let mut request = format!("GET {GRAPH} HTTP/1.1\r\n{header}: ").into_bytes();
        request.extend([0x80, 0xff, 0xc3, 0xa9]);
        request.extend(b"\r\nconnection: close\r\n\r\n");
        let reply = send(service.address(), &request).await.expect(header);
        let expected = if header == "accept" { 406 } else { 200 };
        assert_eq!(reply.status, expected, "{header}");
    }
    assert_eq!(get(&service, "/healthz").await.status, 200);
}

#[tokio::test]
async fn who_is_slow_to_ask_is_dropped() {
    let limits = Limits { headers: Duration::from_millis(200), ..Limits::default() };
    let service = with(&World::new(), limits).await;
    let mut silent = TcpStream::connect(service.address()).await.unwrap();
    let mut slow = TcpStream::connect(service.address()).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nx: ").await.unwrap();
    for stream in [&mut silent, &mut slow] {
        let mut rest = Vec::new();
        let ended = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok());
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
    }
}

#[tokio::test]
async fn who_is_slow_to_read_is_dropped() {
    let limits = Limits { answer: Duration::from_millis(300), ..Limits::default() };
    let world = World::new();
    // An answer that no buffer of the system holds.
    let message = "x".repeat(900 << 10);
    for number in 0..12 {
        let risk = format!(
            "to: 5.1.2\nfrom: .*\nurl: https://example.com\nname: Risk{number}\nmessage: {message}\nmatchingRules: [{{type: Always}}]\n"
        );
        world.write(&format!("blocked-edges/{number}.yaml"), &risk);
    }
    let service = with(&world, limits).await;
    let mut stream = TcpStream::connect(service.address()).await.unwrap();
    stream.write_all(format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    until_alone(&service).await;
    // Who reads gets all of it.
    assert!(get(&service, GRAPH).await.body.len() > 10 << 20);
}

#[tokio::test]
async fn with_too_many_connections_probes_are_answered() {
    let limits = Limits { connections: 8, ..Limits::default() };
    let service = with(&World::new(), limits).await;
    let mut idle = Vec::new();
    while idle.len() < 8 {
        let mut stream = TcpStream::connect(service.address()).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let reply = timeout(PATIENCE, read_reply(&mut stream, false)).await.unwrap().unwrap();
        // The connection that waited for the graph may not be gone yet.
        if reply.header("connection").is_none() {
            idle.push(stream);
        }
    }
    let refused = get(&service, GRAPH).await;
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")));
    insta::assert_snapshot!(refused.text(), @r#"{"kind":"busy","value":"there are too many connections"}"#);
    for probe in ["/healthz", "/readyz", "/metrics", "/status"] {
        assert_eq!(get(&service, probe).await.status, 200, "{probe}");
    }
    drop(idle);
    until_alone(&service).await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
}

//! Malformed and hostile requests.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{GRAPH, TIMEOUT, TestData, get, send};

#[tokio::test]
async fn malformed_requests_get_error_status() {
    let service = TestData::new().serve().await;
    let head = |rest: &str| format!("GET {GRAPH} HTTP/1.1\r\n{rest}\r\n\r\n");
    let many = "x: 1\r\n".repeat(200);
    for (name, request, status) in [
        ("no HTTP", "hello\r\n\r\n".to_owned(), 400),
        ("no path", "GET\r\n\r\n".to_owned(), 400),
        ("a zero byte", "GET /\0 HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("a space in the path", "GET /a b HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("another version", "GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        ("another method", format!("BREW {GRAPH} HTTP/1.1\r\n\r\n"), 405),
        ("a small method", format!("get {GRAPH} HTTP/1.1\r\n\r\n"), 405),
        ("a tunnel", "CONNECT example.com:443 HTTP/1.1\r\n\r\n".to_owned(), 404),
        ("two slashes", head("host: x").replacen("/api", "//api", 1), 404),
        ("an encoded letter", head("host: x").replacen("graph", "gr%61ph", 1), 404),
        ("a way up", head("host: x").replacen("/v1/", "/v1/../", 1), 404),
        ("a header without a name", head(": x"), 400),
        ("a space in a name", head("a b: x"), 400),
        ("a space before the colon", head("content-length : 0"), 400),
        ("a line that is continued", head("a: x\r\n y"), 400),
        ("a return in a value", head("a: x\ry"), 400),
        ("many headers", head(&many), 431),
        ("two lengths", head("content-length: 1\r\ncontent-length: 2"), 400),
        ("a length below zero", head("content-length: -1"), 400),
        ("a length that is none", head("content-length: 1,1"), 400),
        ("a coding that is none", head("transfer-encoding: chunked, identity"), 400),
        (
            "chunks in the old protocol",
            head("transfer-encoding: chunked").replace("1.1", "1.0"),
            400,
        ),
    ] {
        let reply = send(service.address(), request.as_bytes()).await.expect(name);
        assert_eq!(reply.status, status, "{name}: {}", reply.head);
    }
    assert_eq!(get(&service, GRAPH).await.status, 200);
}

#[tokio::test]
async fn oversized_requests_get_error_status() {
    let service = TestData::new().serve().await;
    let (long, longer) = ("x".repeat(20 << 10), "x".repeat(2 << 20));
    for (name, request, statuses) in [
        ("a query", format!("GET {GRAPH}&x={long} HTTP/1.1\r\n\r\n"), &[414][..]),
        ("a longer one", format!("GET {GRAPH}&x={longer} HTTP/1.1\r\n\r\n"), &[414, 431]),
        ("a method", format!("{longer} {GRAPH} HTTP/1.1\r\n\r\n"), &[400, 431]),
        ("a header", format!("GET {GRAPH} HTTP/1.1\r\nx: {longer}\r\n\r\n"), &[431]),
        ("a name", format!("GET {GRAPH} HTTP/1.1\r\n{longer}: x\r\n\r\n"), &[400, 431]),
        (
            "a body",
            format!("GET {GRAPH} HTTP/1.1\r\ncontent-length: 999999999999\r\n\r\n{longer}"),
            &[200],
        ),
        (
            "a chunk",
            format!(
                "POST {GRAPH} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffff\r\n{longer}"
            ),
            &[405],
        ),
    ] {
        // A connection that is reset while the rest is sent may lose its response; the service must
        // survive.
        if let Some(reply) = send(service.address(), request.as_bytes()).await {
            assert!(statuses.contains(&reply.status), "{name}: {}", reply.head);
        }
    }
    assert_eq!(get(&service, GRAPH).await.status, 200);
}

/// Everything that the server sends until the connection ends.
async fn exchange(request: &str, address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    timeout(TIMEOUT, stream.read_to_end(&mut bytes)).await.expect("it ends").unwrap();
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn request_with_body_closes_connection() {
    let service = TestData::new().serve().await;
    let smuggled = "GET /status HTTP/1.1\r\nhost: x\r\n\r\n";
    let length = smuggled.len();
    for (headers, body) in [
        (format!("content-length: {length}"), String::new()),
        ("content-length: 2".to_owned(), "{}".to_owned()),
        ("transfer-encoding: chunked".to_owned(), "0\r\n\r\n".to_owned()),
        ("content-length: 5\r\ntransfer-encoding: chunked".to_owned(), "0\r\n\r\n".to_owned()),
        ("transfer-encoding: chunked\r\ncontent-length: 5".to_owned(), "0\r\n\r\n".to_owned()),
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let request = format!(
                "{method} {GRAPH} HTTP/1.1\r\nhost: x\r\n{headers}\r\n\r\n{body}{smuggled}"
            );
            let output = exchange(&request, service.address()).await;
            assert_eq!(output.matches("HTTP/1.1 ").count(), 1, "{method} {headers}: {output}");
            assert!(output.contains("\r\nconnection: close\r\n"), "{method} {headers}: {output}");
        }
    }
}

#[tokio::test]
async fn http2_preface_is_refused() {
    let service = TestData::new().serve().await;
    let frames = "\0\0\0\x04\0\0\0\0\0".repeat(1000);
    let preface = format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{frames}");
    // The connection is closed or reset at once, or gets 400.
    assert!(
        send(service.address(), preface.as_bytes()).await.is_none_or(|reply| reply.status == 400)
    );
    let upgrade = "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk";
    let request = format!("GET {GRAPH} HTTP/1.1\r\n{upgrade}\r\n\r\n");
    assert_eq!(send(service.address(), request.as_bytes()).await.unwrap().status, 200);
}

#[tokio::test]
async fn pipelined_requests_are_served_in_order() {
    let service = TestData::new().serve().await;
    let row = [
        (format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n"), 200),
        ("HEAD /healthz HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), 200),
        ("GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), 404),
        (format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\nif-none-match: *\r\n\r\n"), 304),
    ];
    let once: String = row.iter().map(|(request, _)| request.as_str()).collect();
    let last = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let output = exchange(&(once.repeat(50) + last), service.address()).await;
    let statuses = output.split("HTTP/1.1 ").skip(1).map(|reply| reply[..3].parse().unwrap());
    let expected = row.iter().map(|(_, status)| *status).cycle().take(50 * row.len()).chain([200]);
    assert_eq!(statuses.collect::<Vec<u16>>(), expected.collect::<Vec<u16>>());
}

#[tokio::test]
async fn headers_without_ascii_are_harmless() {
    let service = TestData::new().serve().await;
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

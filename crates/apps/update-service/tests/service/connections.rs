//! Overload, slow clients, and shutdown while clients are connected.

use std::net::SocketAddr;
use std::time::Duration;

use fairway_update_service::{Service, ServiceLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::support::{GRAPH, Reply, TIMEOUT, TestData, get, read_reply, send, until};

async fn with(data: &TestData, limits: ServiceLimits) -> Service {
    let mut options = data.options();
    options.limits = limits;
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    service
}

/// Sends a request and keeps the connection open.
async fn ask(service: &Service, path: &str) -> (TcpStream, Reply) {
    let mut stream = TcpStream::connect(service.address()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let reply = timeout(TIMEOUT, read_reply(&mut stream, false)).await.unwrap();
    (stream, reply.expect("an answer"))
}

/// Waits until the server has closed a connection.
async fn until_closed(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A reset also closes the connection.
    let _ = timeout(TIMEOUT, stream.read_to_end(&mut rest)).await.expect("it ends");
    rest
}

/// Waits until this is the only connection.
async fn until_alone(service: &Service) {
    let alone = "fairway_update_service_connections 1";
    let gone =
        async { while !get(service, "/metrics").await.text().lines().any(|line| line == alone) {} };
    timeout(TIMEOUT, gone).await.expect("the others end");
}

#[tokio::test]
async fn slow_request_is_closed() {
    let limits = ServiceLimits { headers: Duration::from_millis(200), ..ServiceLimits::default() };
    let service = with(&TestData::new(), limits).await;
    let mut silent = TcpStream::connect(service.address()).await.unwrap();
    let mut slow = TcpStream::connect(service.address()).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nx: ").await.unwrap();
    for stream in [&mut silent, &mut slow] {
        let mut rest = Vec::new();
        let ended = timeout(TIMEOUT, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok());
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
    }
}

#[tokio::test]
async fn slow_reader_is_closed() {
    let limits = ServiceLimits { answer: Duration::from_millis(300), ..ServiceLimits::default() };
    let data = TestData::new();
    // A response that exceeds all socket buffers.
    let message = "x".repeat(900 << 10);
    for number in 0..12 {
        let risk = format!(
            "to: 5.1.2\nfrom: .*\nurl: https://example.com\nname: Risk{number}\nmessage: {message}\nmatchingRules: [{{type: Always}}]\n"
        );
        data.write(&format!("blocked-edges/{number}.yaml"), &risk);
    }
    let service = with(&data, limits).await;
    let mut stream = TcpStream::connect(service.address()).await.unwrap();
    stream.write_all(format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    until_alone(&service).await;
    // A client that reads gets all of it; the time depends on the host.
    let patient = with(&data, ServiceLimits::default()).await;
    assert!(get(&patient, GRAPH).await.body.len() > 10 << 20);
}

#[tokio::test]
async fn idle_connection_is_closed() {
    let limits = ServiceLimits { headers: Duration::from_secs(1), ..ServiceLimits::default() };
    let service = with(&TestData::new(), limits).await;
    let (stream, reply) = ask(&service, GRAPH).await;
    assert_eq!((reply.status, reply.header("connection")), (200, None));
    assert!(until_closed(stream).await.is_empty());
}

#[tokio::test]
async fn overload_serves_probes_only() {
    let limits = ServiceLimits { connections: 8, ..ServiceLimits::default() };
    let service = with(&TestData::new(), limits).await;
    let occupied = occupy_slots(&service, 8).await;
    let refused = get(&service, GRAPH).await;
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")));
    assert_eq!(refused.header("retry-after"), Some("5"));
    insta::assert_snapshot!(refused.text(), @r#"{"kind":"busy","value":"too many connections"}"#);
    for probe in ["/healthz", "/readyz", "/metrics", "/status"] {
        assert_eq!(get(&service, probe).await.status, 200, "{probe}");
    }
    drop(occupied);
    until_alone(&service).await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
}

/// Occupies all slots of a service with incomplete requests.
async fn occupy_slots(service: &Service, places: usize) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    while streams.len() < places {
        let mut stream = TcpStream::connect(service.address()).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nx: ").await.unwrap();
        streams.push(stream);
    }
    let taken = format!("fairway_update_service_connections {}", places + 1);
    let all =
        async { while !get(service, "/metrics").await.text().lines().any(|line| line == taken) {} };
    timeout(TIMEOUT, all).await.expect("all are accepted");
    streams
}

#[tokio::test]
async fn overload_by_factor_two_gives_every_client_a_status() {
    let places = 8;
    let limits = ServiceLimits { connections: places, ..ServiceLimits::default() };
    let service = with(&TestData::new(), limits).await;
    let occupied = occupy_slots(&service, places).await;
    let mut others = JoinSet::new();
    for _ in 0..places {
        let address = service.address();
        others.spawn(async move {
            let request = format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n");
            send(address, request.as_bytes()).await.expect("an answer").status
        });
    }
    assert_eq!(others.join_all().await, vec![503; places]);
    // Connections within the limit are still served.
    for mut stream in occupied {
        stream.write_all(b"x\r\n\r\n").await.unwrap();
        let reply = timeout(TIMEOUT, read_reply(&mut stream, false)).await.unwrap().unwrap();
        assert_eq!(reply.status, 200);
    }
    until_alone(&service).await;
    let metrics = get(&service, "/metrics").await;
    let refused = format!("fairway_update_service_refused_requests_total {places}");
    assert!(metrics.text().lines().any(|line| line == refused), "{}", metrics.text());
}

#[tokio::test]
async fn idle_connections_leave_slots_for_others() {
    let limits = ServiceLimits { connections: 8, ..ServiceLimits::default() };
    let service = with(&TestData::new(), limits).await;
    let mut kept = Vec::new();
    for _ in 0..100 {
        let (stream, reply) = ask(&service, GRAPH).await;
        assert_eq!(reply.status, 200);
        if reply.header("connection") == Some("close") {
            until_closed(stream).await;
        } else {
            kept.push(stream);
        }
    }
    assert!((1..8).contains(&kept.len()), "{}", kept.len());
}

#[tokio::test]
async fn silent_connections_are_closed_for_others() {
    let limits = ServiceLimits {
        connections: 4,
        headers: Duration::from_secs(1),
        ..ServiceLimits::default()
    };
    let service = with(&TestData::new(), limits).await;
    let mut silent = Vec::new();
    for _ in 0..12 {
        silent.push(TcpStream::connect(service.address()).await.unwrap());
    }
    // The backlog is long, but moves.
    let served = async { while get(&service, GRAPH).await.status != 200 {} };
    timeout(TIMEOUT, served).await.expect("a client is served");
}

/// Sends requests until the server accepts no more connections, and returns the number of
/// responses. Every request on an open connection must get a response.
async fn client(address: SocketAddr) -> usize {
    let request = format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n");
    let mut responses = 0;
    while let Ok(mut stream) = TcpStream::connect(address).await {
        loop {
            let sent = stream.write_all(request.as_bytes()).await;
            assert!(
                sent.is_ok(),
                "a connection was closed without a word after {responses} answers"
            );
            let reply = read_reply(&mut stream, false).await;
            let reply = reply.unwrap_or_else(|| panic!("a request was lost after {responses}"));
            assert_eq!(reply.status, 200);
            responses += 1;
            if reply.header("connection") == Some("close") {
                break;
            }
        }
    }
    responses
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_under_load_loses_no_request() {
    let service = TestData::new().serve().await;
    let address = service.address();
    let clients: Vec<_> = (0..16).map(|_| tokio::spawn(client(address))).collect();
    sleep_until(Instant::now() + Duration::from_millis(200)).await;
    timeout(TIMEOUT, service.stop()).await.expect("it stops");
    for client in clients {
        assert!(timeout(TIMEOUT, client).await.expect("clients end").unwrap() > 0);
    }
}

#[tokio::test]
async fn stop_reports_not_ready() {
    let data = TestData::new();
    let mut options = data.options();
    options.limits.drain = Duration::from_millis(500);
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    let address = service.address();
    let stopping = tokio::spawn(service.stop());
    tokio::task::yield_now().await;
    let request = b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n";
    let reply = send(address, request).await.unwrap();
    assert_eq!((reply.status, reply.text()), (503, "stopping\n"));
    let request = format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n");
    let reply = send(address, request.as_bytes()).await.unwrap();
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    timeout(TIMEOUT, stopping).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn dropped_service_stops() {
    let service = TestData::new().serve().await;
    let address = service.address();
    assert_eq!(get(&service, "/healthz").await.status, 200);
    drop(service);
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(TIMEOUT, refused).await.unwrap();
}

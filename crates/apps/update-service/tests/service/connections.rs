//! More clients than there is room for, and clients that take their time.

use std::time::Duration;

use fairway_update_service::{Limits, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::{GRAPH, PATIENCE, Reply, World, get, read_reply, until};

async fn with(world: &World, limits: Limits) -> Service {
    let mut options = world.options();
    options.limits = limits;
    let service = Service::start(options).await.unwrap();
    until(&service, |status| status.graph.is_some()).await;
    service
}

/// Asks for something, and keeps the connection.
async fn ask(service: &Service, path: &str) -> (TcpStream, Reply) {
    let mut stream = TcpStream::connect(service.address()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let reply = timeout(PATIENCE, read_reply(&mut stream, false)).await.unwrap();
    (stream, reply.expect("an answer"))
}

/// Waits until the other side has closed a connection.
async fn until_closed(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A reset is an end, too.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it ends");
    rest
}

/// Waits until there is no connection but the one that asks.
async fn until_alone(service: &Service) {
    let alone = "fairway_update_service_connections 1";
    let gone =
        async { while !get(service, "/metrics").await.text().lines().any(|line| line == alone) {} };
    timeout(PATIENCE, gone).await.expect("the others end");
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
    // Who reads gets all of it; how soon, depends on the machine.
    let patient = with(&world, Limits::default()).await;
    assert!(get(&patient, GRAPH).await.body.len() > 10 << 20);
}

#[tokio::test]
async fn who_asks_and_stays_is_dropped() {
    let limits = Limits { headers: Duration::from_secs(1), ..Limits::default() };
    let service = with(&World::new(), limits).await;
    let (stream, reply) = ask(&service, GRAPH).await;
    assert_eq!((reply.status, reply.header("connection")), (200, None));
    assert!(until_closed(stream).await.is_empty());
}

#[tokio::test]
async fn with_too_many_connections_probes_are_answered() {
    let limits = Limits { connections: 8, ..Limits::default() };
    let service = with(&World::new(), limits).await;
    let crowd = crowd(&service, 8).await;
    let refused = get(&service, GRAPH).await;
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")));
    assert_eq!(refused.header("retry-after"), Some("5"));
    insta::assert_snapshot!(refused.text(), @r#"{"kind":"busy","value":"too many connections"}"#);
    for probe in ["/healthz", "/readyz", "/metrics", "/status"] {
        assert_eq!(get(&service, probe).await.status, 200, "{probe}");
    }
    drop(crowd);
    until_alone(&service).await;
    assert_eq!(get(&service, GRAPH).await.status, 200);
}

/// Takes all places of a service with requests that do not end.
async fn crowd(service: &Service, places: usize) -> Vec<TcpStream> {
    let mut crowd = Vec::new();
    while crowd.len() < places {
        let mut stream = TcpStream::connect(service.address()).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nx: ").await.unwrap();
        crowd.push(stream);
    }
    let taken = format!("fairway_update_service_connections {}", places + 1);
    let all =
        async { while !get(service, "/metrics").await.text().lines().any(|line| line == taken) {} };
    timeout(PATIENCE, all).await.expect("all are accepted");
    crowd
}

#[tokio::test]
async fn twice_as_many_as_there_are_places_all_get_a_status() {
    let places = 8;
    let limits = Limits { connections: places, ..Limits::default() };
    let service = with(&World::new(), limits).await;
    let crowd = crowd(&service, places).await;
    let mut others = JoinSet::new();
    for _ in 0..places {
        let address = service.address();
        others.spawn(async move {
            let request = format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n");
            crate::support::send(address, request.as_bytes()).await.expect("an answer").status
        });
    }
    assert_eq!(others.join_all().await, vec![503; places]);
    // Those who were there before get what they asked for.
    for mut stream in crowd {
        stream.write_all(b"x\r\n\r\n").await.unwrap();
        let reply = timeout(PATIENCE, read_reply(&mut stream, false)).await.unwrap().unwrap();
        assert_eq!(reply.status, 200);
    }
    until_alone(&service).await;
    let metrics = get(&service, "/metrics").await;
    let refused = format!("fairway_update_service_refused_requests_total {places}");
    assert!(metrics.text().lines().any(|line| line == refused), "{}", metrics.text());
}

#[tokio::test]
async fn connections_that_nobody_uses_keep_nobody_out() {
    let limits = Limits { connections: 8, ..Limits::default() };
    let service = with(&World::new(), limits).await;
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
async fn those_who_connect_and_say_nothing_give_way() {
    let limits = Limits { connections: 4, headers: Duration::from_secs(1), ..Limits::default() };
    let service = with(&World::new(), limits).await;
    let mut silent = Vec::new();
    for _ in 0..12 {
        silent.push(TcpStream::connect(service.address()).await.unwrap());
    }
    // The queue is long, but it moves.
    let served = async { while get(&service, GRAPH).await.status != 200 {} };
    timeout(PATIENCE, served).await.expect("somebody is served");
}

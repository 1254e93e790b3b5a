//! Stopping while clients are busy.

use std::net::SocketAddr;
use std::time::Duration;

use fairway_update_service::Service;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use crate::support::{GRAPH, PATIENCE, World, get, read_reply};

/// Asks until nobody accepts any more; says how many answers it got. Every request that was sent on
/// an open connection has to be answered.
async fn client(address: SocketAddr) -> usize {
    let request = format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n");
    let mut answered = 0;
    while let Ok(mut stream) = TcpStream::connect(address).await {
        loop {
            let sent = stream.write_all(request.as_bytes()).await;
            assert!(
                sent.is_ok(),
                "a connection was closed without a word after {answered} answers"
            );
            let reply = read_reply(&mut stream, false).await;
            let reply = reply.unwrap_or_else(|| panic!("a request was lost after {answered}"));
            assert_eq!(reply.status, 200);
            answered += 1;
            if reply.header("connection") == Some("close") {
                break;
            }
        }
    }
    answered
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost() {
    let service = World::new().serve().await;
    let address = service.address();
    let clients: Vec<_> = (0..16).map(|_| tokio::spawn(client(address))).collect();
    sleep_until(Instant::now() + Duration::from_millis(200)).await;
    timeout(PATIENCE, service.stop()).await.expect("it stops");
    for client in clients {
        assert!(timeout(PATIENCE, client).await.expect("clients end").unwrap() > 0);
    }
}

#[tokio::test]
async fn who_stops_says_so() {
    let world = World::new();
    let mut options = world.options();
    options.limits.drain = Duration::from_millis(500);
    let service = Service::start(options).await.unwrap();
    crate::support::until(&service, |status| status.graph.is_some()).await;
    let address = service.address();
    let stopping = tokio::spawn(service.stop());
    tokio::task::yield_now().await;
    let request = b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n";
    let reply = crate::support::send(address, request).await.unwrap();
    assert_eq!((reply.status, reply.text()), (503, "stopping\n"));
    let request = format!("GET {GRAPH} HTTP/1.1\r\nhost: x\r\n\r\n");
    let reply = crate::support::send(address, request.as_bytes()).await.unwrap();
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    timeout(PATIENCE, stopping).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_service_that_is_dropped_ends() {
    let service = World::new().serve().await;
    let address = service.address();
    assert_eq!(get(&service, "/healthz").await.status, 200);
    drop(service);
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(PATIENCE, refused).await.unwrap();
}

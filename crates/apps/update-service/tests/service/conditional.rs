//! Requests by clients that have an answer already, and compression.

use std::io::Read as _;

use crate::support::{GRAPH, World, get, request};

#[tokio::test]
async fn who_has_it_gets_nothing() {
    let service = World::new().serve().await;
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
async fn codings_have_tags_of_their_own() {
    let world = World::new();
    let message = "An answer that is worth compressing. ".repeat(50);
    let risk = format!("to: 5.1.1\nfrom: .*\nname: Long\nmessage: {message}\n");
    world.write("blocked-edges/5.1.1-Long.yaml", &risk);
    let service = world.serve().await;
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
async fn replicas_agree() {
    let world = World::new();
    let (one, other) = (world.serve().await, world.serve().await);
    assert_eq!(get(&one, GRAPH).await.tag(), get(&other, GRAPH).await.tag());
    let digest = |service: &fairway_update_service::Service| {
        service.status().graph.as_ref().unwrap().digest.clone()
    };
    assert_eq!(digest(&one), digest(&other));
}

//! Requests to the update service, and their results.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::cluster_version::ComponentOverride;
use tokio::time::timeout;

use super::service::{Service, document, graph, leads_to, tagged};
use super::stage::{Stage, short_intervals, single_request, versions};

#[tokio::test]
async fn request_has_version_channel_and_cluster_id() {
    let service = Service::start(|_| leads_to(&["5.1.1", "5.1.2"])).await;
    let stage = Stage::start(&service.url(), single_request());
    let updates = stage.until_offered(&["5.1.2", "5.1.1"]).await;
    assert_eq!((updates.generation, updates.graph.nodes().len()), (1, 3));
    assert!(updates.fresh.is_some());
    let requests = &service.requests()[0];
    insta::assert_snapshot!(requests.uri, @"/graph?arch=amd64&channel=stable-5.1&id=5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10&version=5.1.0");
    assert_eq!(requests.header("accept"), Some("application/json"));
    let agent = concat!("ClusterVersionOperator/", env!("CARGO_PKG_VERSION"));
    assert_eq!(requests.header("user-agent"), Some(agent));
}

#[tokio::test]
async fn unchanged_graph_wakes_no_receiver() {
    let service =
        Service::start(|requests| tagged(requests, "\"one\"", graph(&["5.1.1"]).to_string())).await;
    let mut stage = Stage::start(&service.url(), short_intervals());
    let first = stage.until_offered(&["5.1.1"]).await;
    stage.updates.mark_unchanged();
    stage.until_counted("Unchanged", 3).await;
    assert!(!stage.updates.has_changed().unwrap());
    let confirmed = stage.updates.borrow().clone().expect("it was published");
    assert!(confirmed.fresh > first.fresh);
    assert!(Arc::ptr_eq(&confirmed.graph, &first.graph));
    assert_eq!(stage.count("Answer"), 1);

    service.answer(|requests| tagged(requests, "\"two\"", graph(&["5.1.2"]).to_string()));
    stage.until_offered(&["5.1.2"]).await;
    assert_eq!(stage.count("Answer"), 2);
}

#[tokio::test]
async fn unchanged_graph_without_tag_is_recognised() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let mut stage = Stage::start(&service.url(), short_intervals());
    stage.until_offered(&["5.1.1"]).await;
    stage.updates.mark_unchanged();
    stage.until_counted("Unchanged", 3).await;
    assert!(!stage.updates.has_changed().unwrap());
}

#[tokio::test]
async fn changed_channel_is_requested_at_once() {
    let service = Service::start(|requests| match requests.uri.query() {
        Some(query) if query.contains("channel=fast-5.1&") => leads_to(&["5.1.9"]),
        _ => tagged(requests, "\"one\"", graph(&["5.1.1"]).to_string()),
    })
    .await;
    let stage = Stage::start(&service.url(), single_request());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| spec.channel = Some("fast-5.1".to_owned()));
    let updates = stage.until_offered(&["5.1.9"]).await;
    assert_eq!(updates.generation, 2);
    let requests = service.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].header("if-none-match"), None);
}

#[tokio::test]
async fn changed_upstream_replaces_stalled_request() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage =
        Stage::start(&format!("http://{}/", silent.local_addr().unwrap()), single_request());
    silent.accept().await.unwrap();
    stage.edit(|spec| spec.upstream = Some(service.url()));
    assert_eq!(stage.until_offered(&["5.1.1"]).await.generation, 2);
}

#[tokio::test]
async fn other_spec_changes_send_no_request() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), single_request());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| {
        spec.overrides = vec![ComponentOverride::default()];
    });
    let updates = stage.until(|updates| updates.generation == 2).await;
    assert_eq!(versions(&updates), ["5.1.1"]);
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn multi_architecture_request_queries_arch_multi() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), single_request());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| {
        let desired = serde_json::json!({"architecture": "Multi", "version": "5.1.0"});
        spec.desired_update = serde_json::from_value(desired).unwrap();
    });
    stage.until_offered(&["5.1.0"]).await;
    assert!(service.requests()[1].uri.query().unwrap().starts_with("arch=multi&"));
}

#[tokio::test]
async fn spec_without_channel_sends_no_request() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), short_intervals());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| spec.channel = None);
    let updates = stage.until_failed("NoChannel").await;
    assert_eq!((updates.generation, updates.candidates.len()), (2, 0));
    assert!(updates.graph.nodes().is_empty());
    // The response to an earlier request may arrive.
    let a_while = || timeout(Duration::from_millis(100), std::future::pending::<()>());
    let _ = a_while().await;
    let before = service.requests().len();
    let _ = a_while().await;
    assert_eq!(service.requests().len(), before);
    stage.edit(|spec| spec.channel = Some("stable-5.1".to_owned()));
    stage.until_offered(&["5.1.1"]).await;
}

#[tokio::test]
async fn channel_without_running_version_is_reported() {
    let service =
        Service::start(|_| document(r#"{"nodes": [{"version": "6.0.0", "payload": "a"}]}"#)).await;
    let stage = Stage::start(&service.url(), short_intervals());
    let updates = stage.until_failed("VersionNotFound").await;
    // Preflights of its versions are still possible.
    assert_eq!((updates.candidates.len(), updates.graph.nodes().len()), (0, 1));
    service.answer(|_| leads_to(&["5.1.1"]));
    stage.until_offered(&["5.1.1"]).await;
}

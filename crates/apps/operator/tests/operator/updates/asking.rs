//! What is asked, when, and what comes of it.

use std::sync::Arc;
use std::time::Duration;

use fairway_api::cluster_version::ComponentOverride;
use tokio::time::timeout;

use super::service::{Service, document, graph, leads_to, tagged};
use super::stage::{Stage, eager, lazy, versions};

#[tokio::test]
async fn a_cluster_says_who_it_is_and_what_it_wants() {
    let service = Service::start(|_| leads_to(&["5.1.1", "5.1.2"])).await;
    let stage = Stage::start(&service.url(), lazy());
    let updates = stage.until_offered(&["5.1.2", "5.1.1"]).await;
    assert_eq!((updates.generation, updates.graph.nodes().len()), (1, 3));
    assert!(updates.fresh.is_some());
    let asked = &service.asked()[0];
    insta::assert_snapshot!(asked.uri, @"/graph?arch=amd64&channel=stable-5.1&id=5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10&version=5.1.0");
    assert_eq!(asked.header("accept"), Some("application/json"));
    let agent = concat!("ClusterVersionOperator/", env!("CARGO_PKG_VERSION"));
    assert_eq!(asked.header("user-agent"), Some(agent));
}

#[tokio::test]
async fn what_has_not_changed_wakes_nobody_up() {
    let service =
        Service::start(|asked| tagged(asked, "\"one\"", graph(&["5.1.1"]).to_string())).await;
    let mut stage = Stage::start(&service.url(), eager());
    let first = stage.until_offered(&["5.1.1"]).await;
    stage.updates.mark_unchanged();
    stage.until_counted("Unchanged", 3).await;
    assert!(!stage.updates.has_changed().unwrap());
    let confirmed = stage.updates.borrow().clone().expect("it was published");
    assert!(confirmed.fresh > first.fresh);
    assert!(Arc::ptr_eq(&confirmed.graph, &first.graph));
    assert_eq!(stage.count("Answer"), 1);

    service.answer(|asked| tagged(asked, "\"two\"", graph(&["5.1.2"]).to_string()));
    stage.until_offered(&["5.1.2"]).await;
    assert_eq!(stage.count("Answer"), 2);
}

#[tokio::test]
async fn the_same_answer_without_a_tag_is_recognised() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let mut stage = Stage::start(&service.url(), eager());
    stage.until_offered(&["5.1.1"]).await;
    stage.updates.mark_unchanged();
    stage.until_counted("Unchanged", 3).await;
    assert!(!stage.updates.has_changed().unwrap());
}

#[tokio::test]
async fn another_channel_is_asked_for_at_once() {
    let service = Service::start(|asked| match asked.uri.query() {
        Some(query) if query.contains("channel=fast-5.1&") => leads_to(&["5.1.9"]),
        _ => tagged(asked, "\"one\"", graph(&["5.1.1"]).to_string()),
    })
    .await;
    let stage = Stage::start(&service.url(), lazy());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| spec.channel = Some("fast-5.1".to_owned()));
    let updates = stage.until_offered(&["5.1.9"]).await;
    assert_eq!(updates.generation, 2);
    let asked = service.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].header("if-none-match"), None);
}

#[tokio::test]
async fn another_service_is_asked_while_the_first_one_keeps_silent() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&format!("http://{}/", silent.local_addr().unwrap()), lazy());
    silent.accept().await.unwrap();
    stage.edit(|spec| spec.upstream = Some(service.url()));
    assert_eq!(stage.until_offered(&["5.1.1"]).await.generation, 2);
}

#[tokio::test]
async fn what_does_not_concern_updates_is_not_asked_about() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), lazy());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| {
        spec.overrides = vec![ComponentOverride::default()];
    });
    let updates = stage.until(|updates| updates.generation == 2).await;
    assert_eq!(versions(&updates), ["5.1.1"]);
    assert_eq!(service.asked().len(), 1);
}

#[tokio::test]
async fn all_architectures_are_asked_for_when_they_are_wanted() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), lazy());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| {
        let desired = serde_json::json!({"architecture": "Multi", "version": "5.1.0"});
        spec.desired_update = serde_json::from_value(desired).unwrap();
    });
    stage.until_offered(&["5.1.0"]).await;
    assert!(service.asked()[1].uri.query().unwrap().starts_with("arch=multi&"));
}

#[tokio::test]
async fn without_a_channel_nobody_is_asked() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), eager());
    stage.until_offered(&["5.1.1"]).await;
    stage.edit(|spec| spec.channel = None);
    let updates = stage.until_failed("NoChannel").await;
    assert_eq!((updates.generation, updates.candidates.len()), (2, 0));
    assert!(updates.graph.nodes().is_empty());
    // What was on its way arrives.
    let a_while = || timeout(Duration::from_millis(100), std::future::pending::<()>());
    let _ = a_while().await;
    let before = service.asked().len();
    let _ = a_while().await;
    assert_eq!(service.asked().len(), before);
    stage.edit(|spec| spec.channel = Some("stable-5.1".to_owned()));
    stage.until_offered(&["5.1.1"]).await;
}

#[tokio::test]
async fn a_channel_without_the_version_is_named() {
    let service =
        Service::start(|_| document(r#"{"nodes": [{"version": "6.0.0", "payload": "a"}]}"#)).await;
    let stage = Stage::start(&service.url(), eager());
    let updates = stage.until_failed("VersionNotFound").await;
    // Even so, somebody may ask what would happen on the way there.
    assert_eq!((updates.candidates.len(), updates.graph.nodes().len()), (0, 1));
    service.answer(|_| leads_to(&["5.1.1"]));
    stage.until_offered(&["5.1.1"]).await;
}

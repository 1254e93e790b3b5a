//! Update services that are down, slow or invalid. The stage recovers without a restart.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use fairway_cincinnati::fetch::FetchTimeouts;
use fairway_operator::stage::updates::{Settings, Updates};
use futures::{StreamExt as _, stream};
use serde_json::json;

use super::service::{Service, document, graph, leads_to, tagged};
use super::stage::{Stage, message, short_intervals, single_request, versions};

/// Settings with short timeouts.
fn short_timeouts() -> Settings {
    let timeouts =
        FetchTimeouts { silence: Duration::from_millis(200), ..short_intervals().timeouts };
    Settings { timeouts, ..short_intervals() }
}

#[tokio::test]
async fn failing_service_keeps_last_graph() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), short_intervals());
    let good = stage.until_offered(&["5.1.1"]).await;
    let address = service.address();
    drop(service);
    let refused = |updates: &Updates| {
        let message = updates.retrieved.message.as_deref();
        message.is_some_and(|message| message.contains("refused"))
    };
    let updates = stage.until(refused).await;
    assert_eq!(updates.retrieved.reason.as_deref(), Some("RemoteFailed"));
    assert_eq!(versions(&updates), ["5.1.1"]);
    assert_eq!(updates.graph_digest, good.graph_digest);
    insta::assert_snapshot!(message(&updates, address), @"Unable to retrieve available updates: cannot reach http://SERVICE/graph: Connection refused (os error 111). The listed updates are from …");

    let _service = Service::start_at(address, |_| leads_to(&["5.1.2"])).await;
    stage.until_offered(&["5.1.2"]).await;
}

#[tokio::test]
async fn failing_service_is_published_once() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let mut stage = Stage::start(&service.url(), short_intervals());
    stage.until_offered(&["5.1.1"]).await;
    service.answer(|_| StatusCode::BAD_GATEWAY.into_response());
    stage.until_failed("ResponseFailed").await;
    stage.updates.mark_unchanged();
    let failures = stage.count("ResponseFailed");
    stage.until_counted("ResponseFailed", failures + 3).await;
    assert!(!stage.updates.has_changed().unwrap());
}

#[tokio::test]
async fn changed_channel_with_failing_service_has_no_graph() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&service.url(), short_intervals());
    stage.until_offered(&["5.1.1"]).await;
    service.answer(|_| StatusCode::SERVICE_UNAVAILABLE.into_response());
    stage.edit(|spec| spec.channel = Some("fast-5.1".to_owned()));
    let updates = stage.until(|updates| updates.generation == 2).await;
    assert_eq!((updates.candidates.len(), updates.fresh), (0, None));
    insta::assert_snapshot!(message(&updates, service.address()), @"Unable to retrieve available updates: http://SERVICE/graph returned HTTP status 503 Service Unavailable.");
}

#[tokio::test]
async fn stalled_service_times_out() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let stage = Stage::start(&format!("http://{address}/"), short_timeouts());
    let updates = stage.until_failed("RemoteFailed").await;
    insta::assert_snapshot!(message(&updates, address), @"Unable to retrieve available updates: cannot reach http://SERVICE/: operation timed out.");
    drop(silent);
    let _service = Service::start_at(address, |_| leads_to(&["5.1.1"])).await;
    stage.until_offered(&["5.1.1"]).await;
}

#[tokio::test]
async fn service_that_stalls_in_body_times_out() {
    let service = Service::start(|_| {
        let begin = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{\"nodes\": ["))]);
        document(Body::from_stream(begin.chain(stream::pending())))
    })
    .await;
    let stage = Stage::start(&service.url(), short_timeouts());
    let updates = stage.until_failed("ResponseFailed").await;
    insta::assert_snapshot!(message(&updates, service.address()), @"Unable to retrieve available updates: cannot read the response of http://SERVICE/graph: operation timed out.");
    service.answer(|_| leads_to(&["5.1.1"]));
    stage.until_offered(&["5.1.1"]).await;
}

#[tokio::test]
async fn service_with_endless_body_is_refused() {
    let service = Service::start(|_| {
        let spaces = Bytes::from(vec![b' '; 1 << 20]);
        let ten_gigabytes = stream::repeat(spaces).take(10 << 10).map(Ok::<_, Infallible>);
        document(Body::from_stream(ten_gigabytes))
    })
    .await;
    let stage = Stage::start(&service.url(), single_request());
    let updates = stage.until_failed("ResponseInvalid").await;
    insta::assert_snapshot!(message(&updates, service.address()), @"Unable to retrieve available updates: the response of http://SERVICE/graph exceeds 32 MiB.");
}

#[tokio::test]
async fn invalid_graph_is_reported() {
    type Lie = fn() -> Response;
    let lies: [(&str, Lie); 5] = [
        ("ResponseInvalid", || document("<html>Welcome to the hotel</html>")),
        ("ResponseInvalid", || document("{\"nodes\": [[[[[[")),
        ("ResponseInvalid", || document("[".repeat(1 << 20))),
        ("ResponseFailed", || StatusCode::NOT_FOUND.into_response()),
        ("ResponseFailed", || StatusCode::NOT_MODIFIED.into_response()),
    ];
    let mut messages = Vec::new();
    for (reason, lie) in lies {
        let service = Service::start(move |_| lie()).await;
        let stage = Stage::start(&service.url(), short_intervals());
        let updates = stage.until_failed(reason).await;
        assert_eq!(updates.graph_digest, "");
        messages.push(message(&updates, service.address()));
        service.answer(|_| leads_to(&["5.1.1"]));
        stage.until_offered(&["5.1.1"]).await;
    }
    insta::assert_snapshot!(messages.join("\n"), @"
    Unable to retrieve available updates: the response of http://SERVICE/graph is not an update graph: expected value at line 1 column 1.
    Unable to retrieve available updates: the response of http://SERVICE/graph is not an update graph: invalid type: sequence, expected an object that describes a release at line 1 column 11.
    Unable to retrieve available updates: the response of http://SERVICE/graph is not an update graph: invalid type: sequence, expected an update graph at line 1 column 0.
    Unable to retrieve available updates: http://SERVICE/graph returned HTTP status 404 Not Found.
    Unable to retrieve available updates: http://SERVICE/graph returned HTTP status 304 Not Modified.
    ");
}

#[tokio::test]
async fn invalid_graph_entries_are_ignored() {
    let mut hostile = graph(&["5.1.1", "5.1.2", "5.1.3", "5.1.3"]);
    hostile["nodes"][4]["payload"] = json!("example/other");
    let edges = hostile["edges"].as_array_mut().unwrap();
    edges.extend([json!([0, 4_000_000_000_u64]), json!([0, 0]), json!([1, 0])]);
    let risk = json!({"name": "no name", "message": "x".repeat(4 << 20), "matchingRules": [{"type": "?"}]});
    hostile["conditionalEdges"] = json!([
        {"edges": [{"from": "5.1.0", "to": "5.1.2"}, {"from": "", "to": "?"}], "risks": [risk]},
    ]);
    let service = Service::start(move |_| document(hostile.to_string())).await;
    let stage = Stage::start(&service.url(), single_request());
    let updates = stage.until_offered(&["5.1.2", "5.1.1"]).await;
    assert_eq!(updates.candidates[0].risks.len(), 1);
    assert!(updates.candidates[1].risks.is_empty());
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_limit() {
    let target = Service::start(|_| leads_to(&["5.1.1"])).await;
    let to = target.url();
    let service = Service::start(move |_| {
        (StatusCode::FOUND, [(header::LOCATION, to.clone())]).into_response()
    })
    .await;
    let with_password = service.url().replace("http://", "http://me:secret@");
    let stage = Stage::start(&with_password, short_intervals());
    stage.until_offered(&["5.1.1"]).await;
    assert!(service.requests()[0].header("authorization").is_some());
    let followed = &target.requests()[0];
    assert_eq!((followed.header("authorization"), followed.header("referer")), (None, None));

    service.answer(|_| (StatusCode::FOUND, [(header::LOCATION, "/again")]).into_response());
    let updates = stage.until_failed("RemoteFailed").await;
    insta::assert_snapshot!(message(&updates, service.address()), @"Unable to retrieve available updates: cannot reach http://SERVICE/graph: too many redirects. The listed updates are from …");
    assert_eq!(versions(&updates), ["5.1.1"]);
}

#[tokio::test]
async fn not_modified_without_cached_graph_is_an_error() {
    let service = Service::start(|requests| tagged(requests, "\"a\"", "nonsense".to_owned())).await;
    let stage = Stage::start(&service.url(), short_intervals());
    stage.until_failed("ResponseInvalid").await;
    service.answer(|requests| tagged(requests, "\"a\"", graph(&["5.1.1"]).to_string()));
    stage.until_offered(&["5.1.1"]).await;
}

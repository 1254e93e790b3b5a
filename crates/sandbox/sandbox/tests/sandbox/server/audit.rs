//! The audit log.

use anyhow::Result;
use serde_json::{Value, json};

use super::raw::{self, request};
use super::{start, user};

#[tokio::test]
async fn request_is_logged_before_its_response() -> Result<()> {
    let test = start().await?;
    let path = "/api/v1/namespaces/a/pods/x/log?follow=true";
    let ann = user("ann");
    let get = request("GET", path, &["User-Agent: test/1"], "");
    let response = raw::send_as(&test.sandbox, Some(&ann), &get).await?;
    assert_eq!(response.status, 403);

    let audit_log = std::fs::read_to_string(test.sandbox.audit_log())?;
    let event: Value = serde_json::from_str(audit_log.lines().last().unwrap_or_default())?;
    for (field, expected) in [
        ("/verb", json!("get")),
        ("/stage", json!("ResponseComplete")),
        ("/level", json!("Metadata")),
        ("/requestURI", json!(path)),
        ("/user", json!({ "username": "ann", "groups": ["system:authenticated"] })),
        ("/userAgent", json!("test/1")),
        ("/sourceIPs", json!(["127.0.0.1"])),
        (
            "/objectRef",
            json!({ "resource": "pods", "namespace": "a", "name": "x", "apiVersion": "v1", "subresource": "log" }),
        ),
        ("/responseStatus/code", json!(403)),
        ("/responseStatus/reason", json!("Forbidden")),
        ("/annotations/authorization.k8s.io~1decision", json!("forbid")),
    ] {
        assert_eq!(event.pointer(field), Some(&expected), "{field}");
    }
    let id = event["auditID"].as_str().unwrap_or_default();
    assert!(response.head.contains(&format!("audit-id: {id}")), "{}", response.head);
    Ok(())
}

#[tokio::test]
async fn watch_is_logged_at_start_and_end() -> Result<()> {
    let test = start().await?;
    let watch = request("GET", "/api/v1/pods?watch=1&timeoutSeconds=1", &[], "");
    raw::send(&test.sandbox, &watch).await?;
    let log = test.sandbox.audit_log().to_owned();
    test.sandbox.stop().await;
    let audit_log = std::fs::read_to_string(log)?;
    let events: Vec<Value> =
        audit_log.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let stages: Vec<_> = events
        .iter()
        .filter(|event| event["verb"] == "watch")
        .map(|event| event["stage"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(stages, ["ResponseStarted", "ResponseComplete"]);
    Ok(())
}

//! Malformed and oversized requests.

use anyhow::Result;
use http::Method;
use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Case, PatchType, Transcript, config_map};

async fn post(case: &Case, content_type: &str, body: &[u8]) -> Result<String> {
    let answer = case.send(Method::POST, "configmaps", Some(content_type), body.to_vec()).await?;
    Ok(answer.outline())
}

#[tokio::test]
async fn malformed_bodies_are_refused() -> Result<()> {
    let case = Case::begin("hostile").await?;
    let mut transcript = Transcript::default();
    for body in [
        "",
        "{",
        "null",
        "[]",
        "\"text\"",
        "5",
        "true",
        "{}}",
        "{\"metadata\":[]}",
        "{\"metadata\":5}",
        "{\"metadata\":{\"name\":5}}",
        "{\"metadata\":{\"labels\":{\"a\":1}}}",
        "{\"data\":{\"a\":{}}}",
        "{\"apiVersion\":5}",
        "\u{0}",
        "{'a':1}",
    ] {
        transcript
            .line(format!("{body:?}"), post(&case, "application/json", body.as_bytes()).await?);
    }
    transcript.line(
        "no UTF-8",
        post(&case, "application/json", b"{\"metadata\":{\"name\":\"\xff\"}}").await?,
    );
    assert_snapshot!(transcript, @r#"
    "": 400 BadRequest
    "{": 400 BadRequest
    "null": 422 Invalid
    "[]": 400 BadRequest
    "\"text\"": 400 BadRequest
    "5": 400 BadRequest
    "true": 400 BadRequest
    "{}}": 400 BadRequest
    "{\"metadata\":[]}": 400 BadRequest
    "{\"metadata\":5}": 400 BadRequest
    "{\"metadata\":{\"name\":5}}": 400 BadRequest
    "{\"metadata\":{\"labels\":{\"a\":1}}}": 400 BadRequest
    "{\"data\":{\"a\":{}}}": 400 BadRequest
    "{\"apiVersion\":5}": 400 BadRequest
    "\0": 400 BadRequest
    "{'a':1}": 400 BadRequest
    no UTF-8: 422 Invalid
    "#);
    Ok(())
}

#[tokio::test]
async fn unsupported_content_types_are_refused() -> Result<()> {
    let case = Case::begin("hostile").await?;
    let mut transcript = Transcript::default();
    let body = serde_json::to_vec(&config_map("a", json!({})))?;
    for content_type in [
        "text/plain",
        "application/xml",
        "nonsense",
        "application/merge-patch+json",
        "multipart/form-data",
    ] {
        let answer =
            case.send(Method::POST, "configmaps", Some(content_type), body.clone()).await?;
        transcript.line(content_type, answer.outline());
    }
    assert_snapshot!(transcript, @"
    text/plain: 415 UnsupportedMediaType
    application/xml: 415 UnsupportedMediaType
    nonsense: 415 UnsupportedMediaType
    application/merge-patch+json: 415 UnsupportedMediaType
    multipart/form-data: 415 UnsupportedMediaType
    ");
    for content_type in ["application/json; charset=utf-8", "application/json;nonsense=1", ""] {
        let content_type = Some(content_type).filter(|it| !it.is_empty());
        let answer =
            case.send(Method::POST, "configmaps?dryRun=All", content_type, body.clone()).await?;
        assert_eq!(answer.status, 201, "{content_type:?}");
    }
    Ok(())
}

#[tokio::test]
async fn oversized_bodies_are_refused() -> Result<()> {
    let case = Case::begin("hostile").await?;
    let mut transcript = Transcript::default();
    let large = config_map("a", json!({ "k": "x".repeat(4 << 20) }));
    transcript.line("4 MiB", case.create("configmaps", &large).await?.outline());
    let object = config_map("a", json!({ "k": "x".repeat((1 << 20) + 1) }));
    transcript.add("more than fits into a config map", &case.create("configmaps", &object).await?);
    case.config_map("b", json!({})).await?;
    let patch = json!({ "data": { "k": "x".repeat(4 << 20) } });
    transcript.line("patch", case.merge("configmaps/b", &patch).await?.outline());
    assert_snapshot!(transcript, @r#"
    4 MiB: 413 RequestEntityTooLarge
    more than fits into a config map: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueTooLong []: Too long: may not be more than 1048576 bytes
    patch: 413 RequestEntityTooLarge
    "#);
    Ok(())
}

#[tokio::test]
async fn deeply_nested_bodies_are_refused() -> Result<()> {
    const DEPTH: usize = 100_000;
    let case = Case::begin("hostile").await?;
    let deep = |open: &str, close: &str| {
        format!(
            "{{\"metadata\":{{\"name\":\"a\"}},\"x\":{}{}}}",
            open.repeat(DEPTH),
            close.repeat(DEPTH)
        )
    };
    let mut transcript = Transcript::default();
    for (label, body) in [
        ("lists", deep("[", "]")),
        ("objects", deep("{\"a\":", "}")),
        ("unclosed", "[".repeat(DEPTH)),
    ] {
        transcript.line(label, post(&case, "application/json", body.as_bytes()).await?);
    }
    assert_snapshot!(transcript, @"
    lists: 400 BadRequest
    objects: 400 BadRequest
    unclosed: 400 BadRequest
    ");
    assert_eq!(case.get("configmaps").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn json_patch_operations_are_limited() -> Result<()> {
    let case = Case::begin("hostile").await?;
    case.config_map("a", json!({ "k": "v" })).await?;
    let many = vec![json!({ "op": "test", "path": "/data/k", "value": "v" }); 10_001];
    let answer = case.patch(PatchType::Json, "configmaps/a", &json!(many)).await?;
    assert_snapshot!(answer.shown(), @"413 RequestEntityTooLarge: Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001");
    let double = json!({ "op": "copy", "from": "/data", "path": "/data/k" });
    let bomb = case.patch(PatchType::Json, "configmaps/a", &json!(vec![double; 30])).await?;
    assert!(bomb.status >= 400, "{}", bomb.shown());
    Ok(())
}

#[tokio::test]
async fn oversized_selectors_are_refused() -> Result<()> {
    let case = Case::begin("hostile").await?;
    let mut transcript = Transcript::default();
    let long = "a".repeat(10_000);
    for (label, query) in [
        ("10000 letters", format!("labelSelector={long}")),
        ("open", format!("labelSelector={}", "%28".repeat(1000))),
        ("operators", "labelSelector=%3D%3D%3D%3D".to_owned()),
        ("control", "labelSelector=%00".to_owned()),
        ("no text", "labelSelector=%FF%FE".to_owned()),
        ("field", format!("fieldSelector={long}%3Dx")),
    ] {
        transcript.line(label, case.get(&format!("configmaps?{query}")).await?.outline());
    }
    assert_snapshot!(transcript, @"
    10000 letters: 400 BadRequest
    open: 400 BadRequest
    operators: 400 BadRequest
    control: 200 
    no text: 400 BadRequest
    field: 400 BadRequest
    ");
    Ok(())
}

#[tokio::test]
async fn malformed_paths_are_refused() -> Result<()> {
    let case = Case::begin("hostile").await?;
    let mut transcript = Transcript::default();
    let long = format!("/api/v1/namespaces/{{ns}}/configmaps/{}", "a".repeat(5000));
    for path in [
        "/api/v1/namespaces/{ns}/configmaps/%00",
        "/api/v1/namespaces/{ns}/configmaps/a%20b",
        "/api/v1/namespaces/{ns}/configmaps/..",
        "/api/v1/namespaces/{ns}/configmaps/%2e%2e",
        "/%",
        &long,
    ] {
        let Ok(answer) = case.get(path).await else { continue };
        let label = if path.len() > 1000 { "5000 letters" } else { path };
        transcript.line(label, answer.status);
    }
    assert_snapshot!(transcript, @"
    /api/v1/namespaces/{ns}/configmaps/%00: 404
    /api/v1/namespaces/{ns}/configmaps/a%20b: 404
    /api/v1/namespaces/{ns}/configmaps/..: 400
    /api/v1/namespaces/{ns}/configmaps/%2e%2e: 400
    /%: 400
    5000 letters: 404
    ");
    Ok(())
}

#[tokio::test]
async fn unknown_query_parameters_are_ignored() -> Result<()> {
    let case = Case::begin("hostile").await?;
    for query in ["nonsense=1", "a&b&c", "=", "&&&&", "pretty=true"] {
        assert_eq!(case.get(&format!("configmaps?{query}")).await?.status, 200, "{query}");
    }
    Ok(())
}

//! Lists: pagination, resourceVersions and selectors.

use anyhow::{Context, Result};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, config_map, encoded};

/// `ConfigMaps` `m0`, `m1`, … with a label for even numbers.
async fn numbered(case: &Case, count: usize) -> Result<()> {
    for number in 0..count {
        let mut object = config_map(&format!("m{number}"), json!({ "n": number.to_string() }));
        let parity = if number % 2 == 0 { "even" } else { "odd" };
        object["metadata"]["labels"] = json!({ "suite": "list", "parity": parity });
        case.create("configmaps", &object).await?.object()?;
    }
    Ok(())
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect()
}

fn text<'a>(object: &'a Value, field: &str) -> Result<&'a str> {
    object["metadata"][field].as_str().with_context(|| format!("no {field}: {object}"))
}

#[tokio::test]
async fn list_is_sorted_by_name_and_has_resource_version() -> Result<()> {
    let case = Case::begin("list").await?;
    for name in ["b", "a", "a-b", "a.b", "aa"] {
        case.create("secrets", &json!({ "metadata": { "name": name, "labels": { "x": "" } } }))
            .await?
            .object()?;
    }
    let list = case.get("secrets?labelSelector=x").await?.object()?;
    assert_eq!(names(&list), ["a", "a-b", "a.b", "aa", "b"]);
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("SecretList"), &json!("v1")));
    assert!(text(&list, "resourceVersion")?.parse::<u64>().is_ok());
    assert_eq!(list["items"][0]["kind"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn list_without_objects_is_empty() -> Result<()> {
    let case = Case::begin("list").await?;
    let list = case.get("leases").await?.object()?;
    assert_eq!((&list["items"], &list["kind"]), (&json!([]), &json!("LeaseList")));
    Ok(())
}

#[tokio::test]
async fn list_of_all_namespaces_is_sorted_by_namespace() -> Result<()> {
    let case = Case::begin("list").await?;
    let other = case.cluster.namespace("another").await?;
    for namespace in [case.ns(), other.name()] {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let mut object = config_map("a", json!({}));
        object["metadata"]["labels"] = json!({ "of": case.ns() });
        case.create(&path, &object).await?.object()?;
    }
    let path = format!("/api/v1/configmaps?labelSelector=of%3D{}", case.ns());
    let list = case.get(&path).await?.object()?;
    let found: Vec<_> = list["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| &item["metadata"]["namespace"])
        .collect();
    assert_eq!(found, [other.name(), case.ns()]);
    Ok(())
}

#[tokio::test]
async fn pages_form_a_consistent_list() -> Result<()> {
    let case = Case::begin("list").await?;
    numbered(&case, 5).await?;
    let base = "configmaps?labelSelector=suite%3Dlist&limit=2";
    let first = case.get(base).await?.object()?;
    assert_eq!(names(&first), ["m0", "m1"]);
    case.delete("configmaps/m2").await?.object()?;
    case.merge("configmaps/m3", &json!({ "data": { "n": "changed" } })).await?.object()?;
    let second =
        case.get(&format!("{base}&continue={}", text(&first, "continue")?)).await?.object()?;
    assert_eq!(names(&second), ["m2", "m3"]);
    assert_eq!(second["items"][1]["data"]["n"], "3");
    assert_eq!(text(&second, "resourceVersion")?, text(&first, "resourceVersion")?);
    let third =
        case.get(&format!("{base}&continue={}", text(&second, "continue")?)).await?.object()?;
    assert_eq!(names(&third), ["m4"]);
    assert_eq!(third["metadata"]["continue"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn page_without_selector_has_remaining_item_count() -> Result<()> {
    let case = Case::begin("list").await?;
    for number in 0..3 {
        case.create("leases", &json!({ "metadata": { "name": format!("l{number}") } }))
            .await?
            .object()?;
    }
    let first = case.get("leases?limit=1").await?.object()?;
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    let selected =
        case.get("leases?limit=1&fieldSelector=metadata.name%21%3Dl9").await?.object()?;
    assert_eq!(selected["metadata"]["remainingItemCount"], Value::Null);
    let last = case.get("leases?limit=3").await?.object()?;
    assert_eq!(
        (&last["metadata"]["remainingItemCount"], &last["metadata"]["continue"]),
        (&Value::Null, &Value::Null)
    );
    Ok(())
}

#[tokio::test]
async fn invalid_continue_tokens_are_refused() -> Result<()> {
    let case = Case::begin("list").await?;
    let mut transcript = Transcript::default();
    for token in ["nonsense", "e30", "%25%25"] {
        transcript.line(
            token,
            case.get(&format!("configmaps?limit=1&continue={token}")).await?.outline(),
        );
    }
    assert_snapshot!(transcript, @"
    nonsense: 400 BadRequest
    e30: 400 BadRequest
    %25%25: 400 BadRequest
    ");
    Ok(())
}

#[tokio::test]
async fn list_honours_resource_version_match() -> Result<()> {
    let case = Case::begin("list").await?;
    numbered(&case, 2).await?;
    let list = case.get("configmaps?labelSelector=suite").await?.object()?;
    let version = text(&list, "resourceVersion")?;
    case.delete("configmaps/m0").await?.object()?;
    for (query, exact) in [
        ("resourceVersion=0".to_owned(), false),
        (format!("resourceVersion={version}"), false),
        (format!("resourceVersion={version}&resourceVersionMatch=NotOlderThan"), false),
        (format!("resourceVersion={version}&resourceVersionMatch=Exact"), true),
        (format!("resourceVersion={version}&resourceVersionMatch=Exact&limit=9"), true),
    ] {
        let list = case.get(&format!("configmaps?labelSelector=suite&{query}")).await?.object()?;
        if exact {
            assert_eq!(text(&list, "resourceVersion")?, version, "{query}");
            assert_eq!(names(&list), ["m0", "m1"], "{query}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn invalid_resource_version_combinations_are_refused() -> Result<()> {
    let case = Case::begin("list").await?;
    let mut transcript = Transcript::default();
    for query in [
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=5&resourceVersionMatch=Sometimes",
    ] {
        transcript.add(query, &case.get(&format!("configmaps?{query}")).await?);
    }
    for query in ["resourceVersion=abc", "limit=abc", "timeoutSeconds=abc"] {
        transcript.line(query, case.get(&format!("configmaps?{query}")).await?.outline());
    }
    assert_snapshot!(transcript, @r#"
    resourceVersionMatch=Exact: 422 Invalid: ListOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"ListOptions"}
      FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided
    resourceVersion=0&resourceVersionMatch=Exact: 422 Invalid: ListOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"ListOptions"}
      FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"
    resourceVersion=5&resourceVersionMatch=Sometimes: 422 Invalid: ListOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"ListOptions"}
      FieldValueNotSupported resourceVersionMatch: Unsupported value: "Sometimes": supported values: "Exact", "NotOlderThan", ""
    resourceVersion=abc: 500 
    limit=abc: 400 BadRequest
    timeoutSeconds=abc: 400 BadRequest
    "#);
    Ok(())
}

#[tokio::test]
async fn label_selectors_filter_lists() -> Result<()> {
    let case = Case::begin("list").await?;
    numbered(&case, 4).await?;
    let mut transcript = Transcript::default();
    for selector in [
        "parity=even",
        "parity==even",
        "parity!=even,suite",
        "parity in (odd, even)",
        "parity notin (odd),suite",
        "suite,!parity",
        "!suite",
        "suite=",
        "suite=list,parity=odd",
    ] {
        let query = encoded(selector);
        let list = case.get(&format!("configmaps?labelSelector={query}")).await?.object()?;
        let found: Vec<_> = names(&list).into_iter().filter(|name| name.starts_with('m')).collect();
        transcript.line(selector, found.join(" "));
    }
    assert_snapshot!(transcript, @"
    parity=even: m0 m2
    parity==even: m0 m2
    parity!=even,suite: m1 m3
    parity in (odd, even): m0 m1 m2 m3
    parity notin (odd),suite: m0 m2
    suite,!parity: 
    !suite: 
    suite=: 
    suite=list,parity=odd: m1 m3
    ");
    Ok(())
}

#[tokio::test]
async fn invalid_label_selectors_are_refused() -> Result<()> {
    let case = Case::begin("list").await?;
    let mut transcript = Transcript::default();
    for selector in ["a=b=c", "a,,b", "!", "x/y/z", "a=b c", "é", "a>b"] {
        let query = encoded(selector);
        transcript.add(selector, &case.get(&format!("configmaps?labelSelector={query}")).await?);
    }
    for selector in ["a in", "a in (", "a b", "a !", "=a", ")"] {
        let query = encoded(selector);
        transcript.line(
            selector,
            case.get(&format!("configmaps?labelSelector={query}")).await?.outline(),
        );
    }
    assert_snapshot!(transcript, @r#"
    a=b=c: 400 BadRequest: found '=', expected: ',' or 'end of string'
    a,,b: 400 BadRequest: found ',', expected: identifier after ','
    !: 400 BadRequest: unable to parse requirement: found '', expected: identifier
    x/y/z: 400 BadRequest: unable to parse requirement: invalid label key "x/y/z": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')
    a=b c: 400 BadRequest: found 'c', expected: ',' or 'end of string'
    é: 400 BadRequest: unable to parse requirement: invalid label key "é": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
    a>b: 400 BadRequest: unable to parse requirement: for 'Gt', 'Lt' operators, the value must be an integer
    a in: 400 BadRequest
    a in (: 400 BadRequest
    a b: 400 BadRequest
    a !: 400 BadRequest
    =a: 400 BadRequest
    ): 400 BadRequest
    "#);
    Ok(())
}

#[tokio::test]
async fn field_selectors_filter_lists() -> Result<()> {
    let case = Case::begin("list").await?;
    numbered(&case, 3).await?;
    let mut transcript = Transcript::default();
    for selector in [
        "metadata.name=m1",
        "metadata.name==m1",
        "metadata.name!=m1",
        "metadata.name=m1,metadata.namespace=x",
        "metadata.name=m1,metadata.name=m2",
        "",
    ] {
        let query = encoded(selector);
        let list =
            case.get(&format!("configmaps?labelSelector=suite&fieldSelector={query}")).await?;
        transcript.line(selector, names(&list.object()?).join(" "));
    }
    assert_snapshot!(transcript, @"
    metadata.name=m1: m1
    metadata.name==m1: m1
    metadata.name!=m1: m0 m2
    metadata.name=m1,metadata.namespace=x: 
    metadata.name=m1,metadata.name=m2: 
    : m0 m1 m2
    ");
    Ok(())
}

#[tokio::test]
async fn invalid_field_selectors_are_refused() -> Result<()> {
    let case = Case::begin("list").await?;
    let mut transcript = Transcript::default();
    for selector in ["data.n=1", "metadata.name", "metadata.name>a", "status.phase=x"] {
        let query = encoded(selector);
        transcript.add(selector, &case.get(&format!("configmaps?fieldSelector={query}")).await?);
    }
    assert_snapshot!(transcript, @r#"
    data.n=1: 400 BadRequest: "data.n" is not a known field selector: only "metadata.name", "metadata.namespace"
    metadata.name: 400 BadRequest: invalid selector: 'metadata.name'; can't understand 'metadata.name'
    metadata.name>a: 400 BadRequest: invalid selector: 'metadata.name>a'; can't understand 'metadata.name>a'
    status.phase=x: 400 BadRequest: "status.phase" is not a known field selector: only "metadata.name", "metadata.namespace"
    "#);
    Ok(())
}

#[tokio::test]
async fn secrets_and_events_have_additional_field_selectors() -> Result<()> {
    let case = Case::begin("list").await?;
    for (name, kind) in [("a", "one"), ("b", "two")] {
        case.create("secrets", &json!({ "metadata": { "name": name }, "type": kind }))
            .await?
            .object()?;
    }
    let list = case.get("secrets?fieldSelector=type%3Dtwo").await?.object()?;
    assert_eq!(names(&list), ["b"]);
    let event = json!({
        "metadata": { "name": "e" }, "reason": "Because", "type": "Warning",
        "involvedObject": { "kind": "ConfigMap", "namespace": case.ns(), "name": "m" },
    });
    case.create("events", &event).await?.object()?;
    for (selector, found) in [
        ("involvedObject.name%3Dm", 1),
        ("involvedObject.name%3Dother", 0),
        ("reason%3DBecause,type%3DWarning", 1),
        ("type%21%3DWarning", 0),
    ] {
        let list = case.get(&format!("events?fieldSelector={selector}")).await?.object()?;
        assert_eq!(names(&list).len(), found, "{selector}");
    }
    Ok(())
}

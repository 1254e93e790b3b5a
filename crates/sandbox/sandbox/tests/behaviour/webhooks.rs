//! Validating admission webhooks.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::differences;
use crate::support::{
    CONFIGURATIONS, Case, LABEL, PatchType, Transcript, Webhook, WebhookReaction, config_map,
};

/// Reactions of the webhook by path.
fn react(path: &str) -> WebhookReaction {
    let refuse =
        |status: Value| WebhookReaction::Respond(json!({ "allowed": false, "status": status }));
    match path.trim_start_matches("ignored-") {
        "message" => refuse(json!({ "message": "not so", "code": 403 })),
        "reason" => refuse(json!({ "reason": "TooOld" })),
        "success" => refuse(json!({ "message": "no", "code": 200, "status": "Success" })),
        "details" => refuse(json!({
            "message": "look", "reason": "Invalid", "code": 422,
            "details": { "name": "x", "causes": [{ "message": "here", "field": "data" }] },
        })),
        "nothing" => WebhookReaction::Respond(json!({ "allowed": false })),
        "other-id" => WebhookReaction::Respond(json!({ "allowed": true, "uid": "other" })),
        "patch" => WebhookReaction::Respond(
            json!({ "allowed": true, "patch": "W10=", "patchType": "JSONPatch" }),
        ),
        "empty" => WebhookReaction::Raw(
            200,
            json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1" }).to_string(),
        ),
        "no-json" => WebhookReaction::Raw(200, "yes".to_owned()),
        "missing" => WebhookReaction::Raw(404, String::new()),
        "broken" => WebhookReaction::Raw(500, "out of order".to_owned()),
        "slow" => WebhookReaction::Wait,
        "warned" => {
            WebhookReaction::Respond(json!({ "allowed": true, "warnings": ["mind the gap"] }))
        }
        "refused-warned" => {
            WebhookReaction::Respond(json!({ "allowed": false, "warnings": ["mind the gap"] }))
        }
        _ => WebhookReaction::Respond(json!({ "allowed": true })),
    }
}

/// A ConfigMap that selects this webhook.
fn chosen(webhook: &str) -> Value {
    let mut object = config_map("a", json!({}));
    object["metadata"]["labels"] = json!({ LABEL: webhook });
    object
}

/// The webhook at this path, for objects that select it.
fn choosable(webhook: &Webhook, path: &str, case: &Case) -> Value {
    let mut configured = webhook.at(path, case.ns());
    configured["objectSelector"] = json!({ "matchLabels": { LABEL: path } });
    configured
}

#[tokio::test]
async fn denied_request_names_webhook_and_reason() -> Result<()> {
    let case = Case::begin("webhooks").await?;
    let webhook = Webhook::start(react).await?;
    let paths = ["message", "reason", "success", "details", "nothing", "allowed"];
    let configured = paths.map(|path| choosable(&webhook, path, &case));
    case.configure(&webhook, &configured).await?;
    let mut transcript = Transcript::default();
    for path in paths.into_iter().filter(|path| *path != "allowed") {
        transcript.add(path, &case.create("configmaps", &chosen(path)).await?);
    }
    assert_snapshot!(transcript, @r#"
    message: 403: admission webhook "message.example.com" denied the request: not so
    reason: 400 TooOld: admission webhook "reason.example.com" denied the request: TooOld
    success: 400: admission webhook "success.example.com" denied the request: no
    details: 422 Invalid: admission webhook "details.example.com" denied the request: look
      about {"name":"x"}
      - data: here
    nothing: 400: admission webhook "nothing.example.com" denied the request without explanation
    "#);
    case.create("configmaps", &chosen("allowed")).await?.object()?;
    Ok(())
}

#[tokio::test]
async fn failing_webhook_denies_unless_ignored() -> Result<()> {
    let case = Case::begin("webhooks").await?;
    let webhook = Webhook::start(react).await?;
    let paths = ["other-id", "patch", "empty", "missing", "broken", "no-json", "slow", "unserved"];
    let mut configured = Vec::new();
    for path in paths {
        let mut failing = choosable(&webhook, path, &case);
        failing["timeoutSeconds"] = json!(1);
        if path == "unserved" {
            // A port without a server.
            failing["clientConfig"]["url"] = json!("https://127.0.0.1:1/unserved");
        }
        configured.push(failing.clone());
        let ignored = format!("ignored-{path}");
        failing["name"] = json!(format!("{ignored}.example.com"));
        failing["objectSelector"] = json!({ "matchLabels": { LABEL: ignored } });
        failing["failurePolicy"] = json!("Ignore");
        configured.push(failing);
    }
    case.configure(&webhook, &configured).await?;
    let mut transcript = Transcript::default();
    for path in paths {
        let answer = case.create("configmaps?dryRun=All", &chosen(path)).await?;
        let text = differences::in_current_wording(&webhook.shown(&answer));
        // Messages about invalid JSON depend on the implementation.
        transcript.line(path, if path == "no-json" { answer.outline() } else { text });
        let ignored = chosen(&format!("ignored-{path}"));
        case.create("configmaps?dryRun=All", &ignored).await?.object()?;
    }
    assert_snapshot!(transcript, @r#"
    other-id: 500 InternalError: Internal error occurred: failed calling webhook "other-id.example.com": received invalid webhook response: expected response.uid="UID", got "other"
      - -: failed calling webhook "other-id.example.com": received invalid webhook response: expected response.uid="UID", got "other"
    patch: 500 InternalError: Internal error occurred: failed calling webhook "patch.example.com": received invalid webhook response: validating webhook may not return response.patch
      - -: failed calling webhook "patch.example.com": received invalid webhook response: validating webhook may not return response.patch
    empty: 500 InternalError: Internal error occurred: failed calling webhook "empty.example.com": received invalid webhook response: webhook response was absent
      - -: failed calling webhook "empty.example.com": received invalid webhook response: webhook response was absent
    missing: 500 InternalError: Internal error occurred: failed calling webhook "missing.example.com": failed to call webhook: the server could not find the requested resource
      - -: failed calling webhook "missing.example.com": failed to call webhook: the server could not find the requested resource
    broken: 500 InternalError: Internal error occurred: failed calling webhook "broken.example.com": failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding
      - -: failed calling webhook "broken.example.com": failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding
    no-json: 500 InternalError
    slow: 500 InternalError: Internal error occurred: failed calling webhook "slow.example.com": failed to call webhook: Post "https://ADDRESS/slow?timeout=1s": context deadline exceeded
      - -: failed calling webhook "slow.example.com": failed to call webhook: Post "https://ADDRESS/slow?timeout=1s": context deadline exceeded
    unserved: 500 InternalError: Internal error occurred: failed calling webhook "unserved.example.com": failed to call webhook: Post "https://127.0.0.1:1/unserved?timeout=1s": dial tcp 127.0.0.1:1: connect: connection refused
      - -: failed calling webhook "unserved.example.com": failed to call webhook: Post "https://127.0.0.1:1/unserved?timeout=1s": dial tcp 127.0.0.1:1: connect: connection refused
    "#);
    Ok(())
}

#[tokio::test]
async fn webhook_warnings_are_returned() -> Result<()> {
    let case = Case::begin("webhooks").await?;
    let webhook = Webhook::start(react).await?;
    let paths = ["warned", "refused-warned"];
    case.configure(&webhook, &paths.map(|path| choosable(&webhook, path, &case))).await?;
    for (path, status) in paths.into_iter().zip([201, 400]) {
        let answer = case.create("configmaps", &chosen(path)).await?;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("warning"), r#"299 - "mind the gap""#);
    }
    Ok(())
}

/// The last request to the webhook, without values that differ between runs and servers. A server
/// that has not seen the last change of the configuration may send additional requests.
fn last_request(case: &Case, webhook: &Webhook, transcript: &mut Transcript, what: &str) {
    let mut asked = webhook.take_requests();
    asked.retain(|(path, _)| path != "probe");
    let Some((_, mut review)) = asked.pop() else { return transcript.line(what, "nothing") };
    let request = &mut review["request"];
    assert!(request["userInfo"]["username"].is_string());
    request["userInfo"] = json!({});
    for metadata in ["/object/metadata", "/oldObject/metadata"] {
        if let Some(metadata) = request.pointer_mut(metadata).and_then(Value::as_object_mut) {
            metadata.retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "labels"));
        }
    }
    transcript.line(what, case.normal(&review.to_string()));
}

#[tokio::test]
async fn webhook_receives_admission_review() -> Result<()> {
    let case = Case::begin("webhooks").await?;
    let webhook = Webhook::start(react).await?;
    case.configure(&webhook, &[choosable(&webhook, "allowed", &case)]).await?;
    let mut transcript = Transcript::default();
    let object = chosen("allowed");
    case.create("configmaps?dryRun=All&fieldManager=me", &object).await?.object()?;
    last_request(&case, &webhook, &mut transcript, "dry run");
    case.create("configmaps", &object).await?.object()?;
    last_request(&case, &webhook, &mut transcript, "create");
    case.merge("configmaps/a", &json!({ "data": { "x": "y" } })).await?.object()?;
    last_request(&case, &webhook, &mut transcript, "merge");
    let change = json!({ "metadata": { "labels": { LABEL: "none" } } });
    case.patch(PatchType::Strategic, "configmaps/a", &change).await?.object()?;
    last_request(&case, &webhook, &mut transcript, "label changed");
    case.merge("configmaps/a", &json!({ "data": { "x": "z" } })).await?.object()?;
    case.replace("configmaps/a", &object).await?.object()?;
    last_request(&case, &webhook, &mut transcript, "label restored");
    case.delete_with("configmaps/a", &json!({ "gracePeriodSeconds": 1 })).await?.object()?;
    last_request(&case, &webhook, &mut transcript, "delete");
    let mut applied = object.clone();
    applied["apiVersion"] = json!("v1");
    applied["kind"] = json!("ConfigMap");
    case.apply("configmaps/a", "me", &applied).await?.object()?;
    last_request(&case, &webhook, &mut transcript, "apply");
    case.delete("configmaps").await?.object()?;
    last_request(&case, &webhook, &mut transcript, "delete all");
    assert_snapshot!(transcript, @r#"
    dry run: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":true,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"NS","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"oldObject":null,"operation":"CREATE","options":{"apiVersion":"meta.k8s.io/v1","dryRun":["All"],"fieldManager":"me","kind":"CreateOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    create: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"NS","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"oldObject":null,"operation":"CREATE","options":{"apiVersion":"meta.k8s.io/v1","kind":"CreateOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    merge: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"NS","object":{"apiVersion":"v1","data":{"x":"y"},"kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"oldObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"operation":"UPDATE","options":{"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    label changed: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"NS","object":{"apiVersion":"v1","data":{"x":"y"},"kind":"ConfigMap","metadata":{"labels":{"webhook":"none"},"name":"a","namespace":"NS"}},"oldObject":{"apiVersion":"v1","data":{"x":"y"},"kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"operation":"UPDATE","options":{"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    label restored: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"NS","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"oldObject":{"apiVersion":"v1","data":{"x":"z"},"kind":"ConfigMap","metadata":{"labels":{"webhook":"none"},"name":"a","namespace":"NS"}},"operation":"UPDATE","options":{"apiVersion":"meta.k8s.io/v1","kind":"UpdateOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    delete: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"NS","object":null,"oldObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"operation":"DELETE","options":{"apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":1,"kind":"DeleteOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    apply: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"name":"a","namespace":"NS","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"oldObject":null,"operation":"CREATE","options":{"apiVersion":"meta.k8s.io/v1","fieldManager":"me","kind":"CreateOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    delete all: {"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"dryRun":false,"kind":{"group":"","kind":"ConfigMap","version":"v1"},"namespace":"NS","object":null,"oldObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"webhook":"allowed"},"name":"a","namespace":"NS"}},"operation":"DELETE","options":{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions"},"requestKind":{"group":"","kind":"ConfigMap","version":"v1"},"requestResource":{"group":"","resource":"configmaps","version":"v1"},"resource":{"group":"","resource":"configmaps","version":"v1"},"uid":"UID","userInfo":{}}}
    "#);
    Ok(())
}

#[tokio::test]
async fn webhook_rules_select_requests() -> Result<()> {
    let case = Case::begin("webhooks").await?;
    let mut definition = crate::support::widgets(case.ns(), &json!({ "type": "object" }));
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    definition["spec"]["versions"]
        .as_array_mut()
        .into_iter()
        .for_each(|it| it.push(second.clone()));
    case.define_as(&definition).await?;
    let webhook = Webhook::start(react).await?;
    let group = format!("{}.test", case.ns());
    let rule = |rule: Value| {
        let mut whole = json!({
            "operations": ["CREATE", "UPDATE"], "apiGroups": [group], "apiVersions": ["*"],
            "resources": ["widgets"],
        });
        whole.as_object_mut().into_iter().for_each(|whole| {
            whole.extend(rule.as_object().cloned().unwrap_or_default());
        });
        whole
    };
    let configured = [
        ("all", rule(json!({})), json!({})),
        ("deletions", rule(json!({ "operations": ["DELETE"] })), json!({})),
        ("everything", rule(json!({ "operations": ["*"], "resources": ["*"] })), json!({})),
        ("parts", rule(json!({ "resources": ["widgets/*"] })), json!({})),
        ("status", rule(json!({ "resources": ["*/status"] })), json!({})),
        ("other-group", rule(json!({ "apiGroups": ["example.com"] })), json!({})),
        ("equivalent", rule(json!({ "apiVersions": ["v2"] })), json!({})),
        ("exact", rule(json!({ "apiVersions": ["v2"] })), json!({ "matchPolicy": "Exact" })),
        ("cluster", rule(json!({ "scope": "Cluster" })), json!({})),
        ("namespaced", rule(json!({ "scope": "Namespaced" })), json!({})),
        (
            "elsewhere",
            rule(json!({})),
            json!({ "namespaceSelector": { "matchLabels": { LABEL: "elsewhere" } } }),
        ),
        (
            "unlabelled",
            rule(json!({})),
            json!({ "objectSelector": { "matchExpressions": [{ "key": LABEL, "operator": "DoesNotExist" }] } }),
        ),
    ];
    let configured = configured.map(|(path, rule, fields)| {
        let mut whole = webhook.at(path, case.ns());
        whole["rules"] = json!([rule]);
        whole.as_object_mut().into_iter().for_each(|whole| {
            whole.extend(fields.as_object().cloned().unwrap_or_default());
        });
        whole
    });
    case.configure(&webhook, &configured).await?;
    let mut transcript = Transcript::default();
    let mut note = |what: &str| {
        let mut asked: Vec<String> = webhook
            .take_requests()
            .into_iter()
            .map(|(path, review)| {
                format!("{path} ({})", review["request"]["kind"]["version"].as_str().unwrap_or("-"))
            })
            .collect();
        asked.sort();
        // A server that has not seen the last change of the configuration calls twice.
        asked.dedup();
        transcript.line(what, asked.join(", "));
    };
    case.create_widget("a", &json!({})).await?.object()?;
    note("create");
    let widgets = format!("/apis/{group}/v2/namespaces/{{ns}}/widgets/a");
    case.merge(&widgets, &json!({ "metadata": { "labels": { LABEL: "x" } } })).await?.object()?;
    note("update in v2");
    let mut labelled = case.widget("b", &json!({}));
    labelled["metadata"]["labels"] = json!({ LABEL: "x" });
    case.create(&format!("widgets.{group}"), &labelled).await?.object()?;
    note("create with the label");
    case.delete(&widgets).await?.object()?;
    note("delete");
    assert_snapshot!(transcript, @"
    create: all (v1), equivalent (v2), everything (v1), namespaced (v1), parts (v1), unlabelled (v1)
    update in v2: all (v2), equivalent (v2), everything (v2), exact (v2), namespaced (v2), parts (v2), unlabelled (v2)
    create with the label: all (v1), equivalent (v2), everything (v1), namespaced (v1), parts (v1)
    delete: deletions (v2), everything (v2)
    ");
    Ok(())
}

#[tokio::test]
async fn webhook_configurations_are_not_reviewed() -> Result<()> {
    let case = Case::begin("webhooks").await?;
    let webhook = Webhook::start(react).await?;
    let mut strict = webhook.at("message", case.ns());
    strict["rules"] = json!([{
        "operations": ["*"], "apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["*"],
        "resources": ["*"],
    }]);
    case.configure(&webhook, &[strict]).await?;
    let path = format!("{CONFIGURATIONS}/{{ns}}");
    case.merge(&path, &json!({ "metadata": { "labels": { "a": "b" } } })).await?.object()?;
    let asked = webhook.take_requests();
    assert!(asked.iter().all(|(path, _)| path == "probe"), "{asked:?}");
    Ok(())
}

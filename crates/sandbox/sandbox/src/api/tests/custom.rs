//! CRDs and custom resources.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Cluster, line};
use crate::api::PatchType;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.dev/v1/namespaces/default/things";

fn definition() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": {
                "n": { "type": "integer", "default": 3 }, "s": { "type": "string" },
            } },
            "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    });
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": schema },
            "subresources": { "status": {}, "scale": {
                "specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n",
            } },
        })
    };
    json!({
        "metadata": { "name": "things.example.dev" },
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing", "shortNames": ["th"] },
            "versions": [version("v1", true), version("v2", false)],
        },
    })
}

fn thing(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "example.dev/v1", "kind": "Thing",
        "metadata": { "name": name }, "spec": spec,
    })
}

fn cluster() -> Cluster {
    let cluster = Cluster::new();
    cluster.made(DEFINITIONS, &definition());
    cluster
}

#[test]
fn invalid_custom_resources_are_refused() {
    let cluster = cluster();
    cluster.made(THINGS, &thing("a", &json!({})));
    let refused =
        |query: &str, object: Value| line(&cluster.post(&format!("{THINGS}{query}"), &object));
    let with = |field: &str, value: &str| {
        let mut thing = thing("b", &json!({}));
        thing[field] = json!(value);
        thing
    };
    assert_snapshot!(
        [
            refused("", json!({ "metadata": { "name": "b" } })),
            refused("", with("apiVersion", "example.dev/v2")),
            refused("", with("kind", "Other")),
            refused("", thing("b", &json!({ "n": "x" }))),
            refused("", thing("b", &json!({ "n": -1 }))),
            refused("?fieldValidation=Strict", thing("b", &json!({ "x": 1 }))),
            line(&cluster.put(&format!("{THINGS}/a"), &thing("a", &json!({})))),
            line(&cluster.patch(&format!("{THINGS}/a"), PatchType::Strategic, &json!({}))),
        ].join("\n"),
        @r#"
    400 BadRequest: Thing in version "v1" cannot be handled as a Thing: unmarshalerDecoder: Object 'Kind' is missing in '{"metadata":{"name":"b"}}'
    400 BadRequest: the API version in the data (example.dev/v2) does not match the expected API version (example.dev/v1)
    422 Invalid: Other.example.dev "b" is invalid: kind: Invalid value: "Other": must be Thing
    422 Invalid: Thing.example.dev "b" is invalid: [spec.n: Invalid value: "string": spec.n in body must be of type integer: "string", .spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected int64]
    422 Invalid: Thing.example.dev "b" is invalid: .spec.n: Invalid value: -1: should be a non-negative integer
    400 BadRequest: Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "spec.x"
    422 Invalid: things.example.dev "a" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update
    415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
    "#
    );
}

#[test]
fn crd_with_webhook_conversion_requires_client_config() {
    let cluster = cluster();
    let url = format!("{DEFINITIONS}/things.example.dev");
    let patch = json!({ "spec": { "conversion": { "strategy": "Webhook" } } });
    assert_snapshot!(
        line(&cluster.patch(&url, PatchType::Merge, &patch)),
        @r#"422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "things.example.dev" is invalid: spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook"#
    );
}

#[test]
fn crd_with_conflicting_names_is_accepted_after_deletion_of_the_other() {
    let cluster = cluster();
    let mut other = definition();
    other["metadata"]["name"] = json!("others.example.dev");
    other["spec"]["names"] = json!({ "plural": "others", "kind": "Thing" });
    cluster.made(DEFINITIONS, &other);
    let others = format!("{DEFINITIONS}/others.example.dev");
    let (_, refused) = cluster.get(&others);
    assert_eq!(refused["status"]["conditions"][0]["message"], "\"ThingList\" is already in use");
    assert_eq!(refused["status"]["conditions"][1]["reason"], "NotAccepted");
    assert!(cluster.api.catalog().resource("example.dev", "v1", "others").is_none());

    let things = format!("{DEFINITIONS}/things.example.dev");
    assert_eq!(cluster.delete(&things, None).0, 200);
    cluster.patch(&things, PatchType::Merge, &json!({ "metadata": { "finalizers": null } }));
    let (_, accepted) = cluster.get(&others);
    assert_eq!(accepted["status"]["conditions"][1]["status"], "True", "{accepted}");
    assert!(cluster.api.catalog().resource("example.dev", "v1", "others").is_some());
}

//! Definitions, and the objects that they define.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::cluster::{Cluster, line};
use crate::api::PatchKind;

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
fn a_definition_is_established_and_its_objects_are_served() {
    let cluster = cluster();
    let (_, stored) = cluster.get(&format!("{DEFINITIONS}/things.example.dev"));
    let conditions = stored["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|condition| condition["status"] == "True"), "{stored}");
    assert_eq!(stored["status"]["storedVersions"], json!(["v1"]));

    let made = cluster.made(THINGS, &thing("a", &json!({ "x": 1, "s": "t" })));
    assert_eq!(made["spec"], json!({ "n": 3, "s": "t" }));
    assert_eq!(made["metadata"]["generation"], 1);
    let (_, other) = cluster.get("/apis/example.dev/v2/namespaces/default/things/a");
    assert_eq!(other["apiVersion"], "example.dev/v2");
    assert_eq!(other["spec"], made["spec"]);
}

#[test]
fn the_status_has_an_address_of_its_own() {
    let cluster = cluster();
    cluster.made(THINGS, &thing("a", &json!({})));
    let patch = json!({ "spec": { "n": 5 }, "status": { "n": 7 } });
    let at = |path: &str| cluster.patch(&format!("{THINGS}/a{path}"), PatchKind::Merge, &patch).1;
    let of_status = at("/status");
    assert_eq!(of_status["spec"]["n"], 3);
    assert_eq!(
        (&of_status["status"]["n"], &of_status["metadata"]["generation"]),
        (&json!(7), &json!(1))
    );
    let of_object = at("");
    assert_eq!(
        (&of_object["spec"]["n"], &of_object["metadata"]["generation"]),
        (&json!(5), &json!(2))
    );
    let scale = cluster.patch(
        &format!("{THINGS}/a/scale"),
        PatchKind::Merge,
        &json!({ "spec": { "replicas": 9 } }),
    );
    assert_eq!(
        (scale.0, &scale.1["spec"], &scale.1["status"]),
        (200, &json!({ "replicas": 9 }), &json!({ "replicas": 7 }))
    );
}

#[test]
fn refusals_of_custom_objects() {
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
            line(&cluster.patch(&format!("{THINGS}/a"), PatchKind::Strategic, &json!({}))),
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
fn what_may_not_change_of_a_definition() {
    let cluster = cluster();
    let refused = |patch: Value| {
        line(&cluster.patch(&format!("{DEFINITIONS}/things.example.dev"), PatchKind::Merge, &patch))
    };
    assert_snapshot!(
        [
            refused(json!({ "spec": { "scope": "Cluster" } })),
            refused(json!({ "spec": { "group": "other.dev" } })),
            refused(json!({ "spec": { "names": { "kind": "Foo" } } })),
            refused(json!({ "spec": { "names": { "plural": "foos" } } })),
            refused(json!({ "spec": { "conversion": { "strategy": "Webhook" } } })),
        ].join("\n"),
        @r#"
    422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "things.example.dev" is invalid: spec.scope: Invalid value: "Cluster": field is immutable
    422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "things.example.dev" is invalid: spec.group: Invalid value: "other.dev": field is immutable
    422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "things.example.dev" is invalid: spec.names.kind: Invalid value: "Foo": field is immutable
    422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "things.example.dev" is invalid: spec.names.plural: Invalid value: "foos": field is immutable
    422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "things.example.dev" is invalid: spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook
    "#
    );
}

#[test]
fn names_belong_to_the_definition_that_was_first() {
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
    cluster.patch(&things, PatchKind::Merge, &json!({ "metadata": { "finalizers": null } }));
    let (_, accepted) = cluster.get(&others);
    assert_eq!(accepted["status"]["conditions"][1]["status"], "True", "{accepted}");
    assert!(cluster.api.catalog().resource("example.dev", "v1", "others").is_some());
}

#[test]
fn a_definition_waits_for_its_objects() {
    let cluster = cluster();
    let url = format!("{DEFINITIONS}/things.example.dev");
    let (code, marked) = cluster.delete(&url, None);
    assert_eq!(code, 200);
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    assert_eq!(
        line(&cluster.post(THINGS, &thing("b", &json!({})))),
        "405 MethodNotAllowed: create not allowed while custom resource definition is terminating"
    );
    let finished = json!({ "metadata": { "finalizers": null } });
    assert_eq!(cluster.patch(&url, PatchKind::Merge, &finished).0, 200);
    assert_eq!(cluster.get(&url).0, 404);
    assert!(cluster.api.catalog().resource("example.dev", "v1", "things").is_none());
}

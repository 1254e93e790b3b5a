//! Gets, lists and watches.

use insta::assert_snapshot;
use serde_json::json;

use super::{Cluster, line};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn read_errors() {
    let cluster = Cluster::new();
    #[rustfmt::skip]
    let urls = [
        "/api/v1/namespaces/default/configmaps/zz",
        "/api/v1/namespaces/default/configmaps?labelSelector=a%20b",
        "/api/v1/configmaps?fieldSelector=spec.x=b", "/api/v1/pods?fieldSelector=spec.x=b",
        "/api/v1/namespaces?fieldSelector=spec.x=b", "/api/v1/secrets?fieldSelector=spec.x=b",
        "/apis/apps/v1/deployments?fieldSelector=spec.x=b",
        "/apis/batch/v1/jobs?fieldSelector=spec.x=b", "/api/v1/configmaps?resourceVersion=x",
        "/api/v1/configmaps?resourceVersion=999", "/api/v1/namespaces/default?resourceVersion=999",
        "/api/v1/configmaps?resourceVersionMatch=Exact",
        "/api/v1/configmaps?resourceVersionMatch=Foo&resourceVersion=1",
        "/api/v1/configmaps?limit=x", "/api/v1/configmaps?watch=1&resourceVersion=x",
        "/api/v1/configmaps?watch=1&resourceVersionMatch=Exact&resourceVersion=1",
        "/api/v1/configmaps?watch=1&fieldSelector=a",
    ];
    assert_snapshot!(
        urls.map(|url| line(&cluster.get(url))).join("\n"),
        @r#"
    404 NotFound: configmaps "zz" not found
    400 BadRequest: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
    400 BadRequest: "spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"
    400 BadRequest: field label not supported: spec.x
    400 BadRequest: field label not supported: spec.x
    400 BadRequest: field label not supported: spec.x
    400 BadRequest: "spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"
    400 BadRequest: field label "spec.x" not supported for batchv1.Job
    500 : resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax
    504 Timeout: Timeout: Too large resource version: 999, current: 5
    504 Timeout: Timeout: Too large resource version: 999, current: 5
    422 Invalid: ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided
    422 Invalid: ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""
    400 BadRequest: strconv.ParseInt: parsing "x": invalid syntax
    500 : resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax
    422 Invalid: ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch
    400 BadRequest: invalid selector: 'a'; can't understand 'a'
    "#
    );
    let (_, too_large) = cluster.get("/api/v1/configmaps?resourceVersion=999");
    let cause =
        json!({ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" });
    assert_eq!(
        too_large["details"],
        json!({
            "causes": [cause],
            "retryAfterSeconds": 1,
        })
    );
}

#[test]
fn list_with_expired_continue_token_returns_new_token() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        cluster.made(MAPS, &json!({ "metadata": { "name": name } }));
    }
    let (_, first) = cluster.get(&format!("{MAPS}?limit=2"));
    let next = format!("{MAPS}?limit=2&continue={}", first["continue"].as_str().unwrap());
    assert_eq!(cluster.get(&next).1["items"][0]["metadata"]["name"], "c");
    cluster.api.store().compact_all();
    cluster.made(MAPS, &json!({ "metadata": { "name": "d" } }));
    cluster.api.store().compact_all();
    let (code, expired) = cluster.get(&next);
    assert_eq!((code, &expired["reason"]), (410, &json!("Expired")));
    let token = expired["metadata"]["continue"].as_str().unwrap();
    assert_eq!(cluster.get(&format!("{MAPS}?continue={token}")).0, 200);
}

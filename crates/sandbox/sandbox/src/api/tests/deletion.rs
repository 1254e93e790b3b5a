//! How objects end.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::cluster::{Cluster, line};
use crate::api::PatchKind;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A cluster with a ConfigMap that has these finalizers, and the address of that.
fn with_map(finalizers: &[&str]) -> (Cluster, String) {
    let cluster = Cluster::new();
    let object = json!({ "metadata": { "name": "a", "finalizers": finalizers } });
    cluster.made(MAPS, &object);
    (cluster, format!("{MAPS}/a"))
}

#[test]
fn what_a_deletion_leaves() {
    type Case<'a> = (&'a [&'a str], Option<Value>, u16, Option<Value>);
    let policy = |policy: &str| Some(json!({ "propagationPolicy": policy }));
    let cases: [Case<'_>; 7] = [
        (&[], None, 200, None),
        (&[], policy("Background"), 200, None),
        (&[], policy("Foreground"), 200, Some(json!(["foregroundDeletion"]))),
        (&[], policy("Orphan"), 200, Some(json!(["orphan"]))),
        (&[], Some(json!({ "orphanDependents": true })), 200, Some(json!(["orphan"]))),
        (&["x.y/z"], None, 200, Some(json!(["x.y/z"]))),
        (&["x.y/z"], Some(json!({ "orphanDependents": false })), 202, Some(json!(["x.y/z"]))),
    ];
    for (finalizers, options, code, left) in cases {
        let (cluster, url) = with_map(finalizers);
        let rehearsed = cluster.delete(&format!("{url}?dryRun=All"), None);
        assert_eq!(rehearsed.0, 200);
        assert_eq!(cluster.get(&url).1["metadata"]["deletionTimestamp"], Value::Null);

        let case = format!("{finalizers:?} {options:?}");
        assert_eq!(cluster.delete(&url, options).0, code, "{case}");
        let (there, object) = cluster.get(&url);
        assert_eq!(there == 200, left.is_some(), "{case}");
        if let Some(left) = left {
            assert_eq!(object["metadata"]["finalizers"], left, "{case}");
            assert_eq!(object["metadata"]["deletionGracePeriodSeconds"], 0, "{case}");
        }
    }
}

#[test]
fn the_last_finalizer_is_the_end() {
    let (cluster, url) = with_map(&["x.y/z"]);
    cluster.delete(&url, None);
    let more = json!({ "metadata": { "annotations": { "still": "here" } } });
    assert_eq!(cluster.patch(&url, PatchKind::Merge, &more).0, 200);
    let none = json!({ "metadata": { "finalizers": null } });
    let (code, last) = cluster.patch(&url, PatchKind::Merge, &none);
    assert_eq!((code, &last["metadata"]["finalizers"]), (200, &Value::Null));
    assert_eq!(cluster.get(&url).0, 404);
}

#[test]
fn refusals_of_a_deletion() {
    let (cluster, url) = with_map(&[]);
    let (_, object) = cluster.get(&url);
    let uid = object["metadata"]["uid"].as_str().unwrap();
    let refused = |options: Value| line(&cluster.delete(&url, Some(options))).replace(uid, "UID");
    assert_snapshot!(
        [
            refused(json!({ "preconditions": { "uid": "x" } })),
            refused(json!({ "preconditions": { "resourceVersion": "1" } })),
            refused(json!({ "propagationPolicy": "X" })),
            refused(json!({ "propagationPolicy": "Orphan", "orphanDependents": true })),
            refused(json!({ "dryRun": ["Some"] })),
            refused(json!({ "kind": "Foo", "apiVersion": "v1" })),
            line(&cluster.delete(&format!("{MAPS}/zz"), None)),
            line(&cluster.delete("/api/v1/namespaces/default", None)),
        ].join("\n"),
        @r#"
    409 Conflict: Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in record (UID). The object might have been deleted and then recreated
    409 Conflict: Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (6). The object might have been modified
    422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "X": supported values: "Foreground", "Background", "Orphan", "nil"
    422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set
    422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: []string{"Some"}: supported values: "All"
    500 : no kind "Foo" is registered for version "v1" in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
    404 NotFound: configmaps "zz" not found
    403 Forbidden: namespaces "default" is forbidden: this namespace may not be deleted
    "#
    );
}

#[test]
fn pods_get_time_to_stop() {
    let node = |name: &str| json!({ "nodeName": name, "terminationGracePeriodSeconds": 7 });
    let cases = [
        (json!({}), None, None),
        (node("n"), None, Some(7)),
        (node("n"), Some(json!({ "gracePeriodSeconds": 3 })), Some(3)),
        (node("n"), Some(json!({ "gracePeriodSeconds": 0 })), None),
    ];
    for (extra, options, grace) in cases {
        let cluster = Cluster::new();
        let mut pod = json!({
            "metadata": { "name": "p" },
            "spec": { "containers": [{ "name": "a", "image": "b" }] },
        });
        for (field, value) in extra.as_object().unwrap() {
            pod["spec"][field] = value.clone();
        }
        cluster.made(PODS, &pod);
        let url = format!("{PODS}/p");
        let (code, answer) = cluster.delete(&url, options);
        assert_eq!((code, &answer["kind"]), (200, &json!("Pod")));
        assert_eq!(answer["metadata"]["deletionGracePeriodSeconds"], json!(grace.unwrap_or(0)));
        assert_eq!(cluster.get(&url).0 == 200, grace.is_some());

        let again = cluster.delete(&url, Some(json!({ "gracePeriodSeconds": 9 })));
        assert_eq!(again.0 == 200, grace.is_some());
        let at_once = cluster.delete(&url, Some(json!({ "gracePeriodSeconds": 0 })));
        assert_eq!(at_once.0 == 200, grace.is_some());
        assert_eq!(cluster.get(&url).0, 404);
    }
}

#[test]
fn a_namespace_goes_when_it_is_finalized() {
    let cluster = Cluster::new();
    let url = "/api/v1/namespaces/other";
    for _ in 0..2 {
        let (code, marked) = cluster.delete(url, None);
        assert_eq!((code, &marked["status"]["phase"]), (200, &json!("Terminating")));
    }
    assert_eq!(
        line(&cluster.post(&format!("{url}/configmaps"), &json!({ "metadata": { "name": "g" } }))),
        "403 Forbidden: configmaps \"g\" is forbidden: unable to create new content in namespace \
         other because it is being terminated"
    );
    let (_, mut namespace) = cluster.get(url);
    namespace["spec"]["finalizers"] = json!([]);
    assert_eq!(cluster.put(&format!("{url}/finalize"), &namespace).0, 200);
    assert_eq!(cluster.get(url).0, 404);
}

#[test]
fn collections_go_by_selection() {
    let cluster = Cluster::new();
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let labels = json!({ "l": label });
        cluster.made(MAPS, &json!({ "metadata": { "name": name, "labels": labels } }));
    }
    let (code, gone) = cluster.delete(&format!("{MAPS}?labelSelector=l=x"), None);
    assert_eq!((code, gone["items"].as_array().unwrap().len()), (200, 2));
    let (_, left) = cluster.get(MAPS);
    assert_eq!(left["items"][0]["metadata"]["name"], "b");
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}

#[test]
fn jobs_leave_their_pods_unless_told_otherwise() {
    let cluster = Cluster::new();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "a", "image": "b" }] });
    cluster.made(
        jobs,
        &json!({ "metadata": { "name": "j" }, "spec": { "template": { "spec": pod } } }),
    );
    let (_, marked) = cluster.delete(&format!("{jobs}/j"), None);
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
    let background = Some(json!({ "propagationPolicy": "Background" }));
    assert_eq!(cluster.delete(&format!("{jobs}/j"), background).1["status"], "Success");
}

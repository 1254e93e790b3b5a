//! Deletion.

use serde_json::{Value, json};

use super::Cluster;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A cluster with a ConfigMap with these finalizers, and its URL.
fn with_map(finalizers: &[&str]) -> (Cluster, String) {
    let cluster = Cluster::new();
    let object = json!({ "metadata": { "name": "a", "finalizers": finalizers } });
    cluster.made(MAPS, &object);
    (cluster, format!("{MAPS}/a"))
}

#[test]
fn delete_with_propagation_policy_sets_finalizers() {
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
fn pod_delete_uses_grace_period() {
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
fn job_delete_orphans_pods_by_default() {
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

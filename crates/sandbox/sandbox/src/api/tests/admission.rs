//! Admission of pods and Services.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Cluster, line};

const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";

fn pod(spec: Value) -> Value {
    let mut pod = json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "a", "image": "b" }] },
    });
    if let (Some(all), Value::Object(more)) = (pod["spec"].as_object_mut(), spec) {
        all.extend(more);
    }
    pod
}

#[test]
fn pod_create_sets_service_account_tolerations_and_priority() {
    let cluster = Cluster::new();
    let made = cluster.made(PODS, &pod(json!({})));
    let spec = &made["spec"];
    let volume = spec["volumes"][0]["name"].as_str().unwrap();
    assert!(volume.starts_with("kube-api-access-"), "{volume}");
    assert_eq!(
        spec["containers"][0]["volumeMounts"][0],
        json!({ "name": volume, "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount" })
    );
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["priority"], 0);
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
    assert_eq!(made["status"]["phase"], "Pending");
}

#[test]
fn pod_create_uses_global_default_priority_class() {
    let cluster = Cluster::new();
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    cluster.made(
        classes,
        &json!({ "metadata": { "name": "usual" }, "value": 5, "globalDefault": true }),
    );
    cluster.made(
        classes,
        &json!({ "metadata": { "name": "high" }, "value": 9, "preemptionPolicy": "Never" }),
    );
    let usual = cluster.made(PODS, &pod(json!({})));
    assert_eq!(
        (&usual["spec"]["priority"], &usual["spec"]["priorityClassName"]),
        (&json!(5), &json!("usual"))
    );
    let mut high = pod(json!({ "priorityClassName": "high" }));
    high["metadata"]["name"] = json!("q");
    let high = cluster.made(PODS, &high);
    assert_eq!(
        (&high["spec"]["priority"], &high["spec"]["preemptionPolicy"]),
        (&json!(9), &json!("Never"))
    );
}

#[test]
fn pod_create_with_invalid_references_is_refused() {
    let cluster = Cluster::new();
    let refused = |spec| line(&cluster.post(PODS, &pod(spec)));
    assert_snapshot!(
        [
            refused(json!({ "serviceAccountName": "zz" })),
            refused(json!({ "priorityClassName": "zz" })),
            refused(json!({ "priority": 7 })),
            line(&cluster.post("/api/v1/namespaces/nope/pods", &pod(json!({})))),
        ].join("\n"),
        @r#"
    403 Forbidden: pods "p" is forbidden: error looking up service account default/zz: serviceaccount "zz" not found
    403 Forbidden: pods "p" is forbidden: no PriorityClass with name zz was found
    403 Forbidden: pods "p" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name
    404 NotFound: namespaces "nope" not found
    "#
    );
}

#[test]
fn service_create_allocates_unique_cluster_ips() {
    let cluster = Cluster::new();
    let made = |name: &str, spec: Value| {
        let mut service =
            json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": 80 }] } });
        service["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        cluster.post(SERVICES, &service)
    };
    let (_, first) = made("a", json!({}));
    let (_, second) = made("b", json!({ "type": "NodePort" }));
    assert_eq!(first["spec"]["clusterIPs"], json!([first["spec"]["clusterIP"]]));
    assert_ne!(first["spec"]["clusterIP"], second["spec"]["clusterIP"]);
    assert_eq!(first["spec"]["ports"][0]["nodePort"], Value::Null);
    assert!(second["spec"]["ports"][0]["nodePort"].as_i64().unwrap() >= 30000);
    assert_eq!(made("c", json!({ "clusterIP": "None" })).1["spec"]["clusterIPs"], json!(["None"]));
    let external = json!({ "type": "ExternalName", "externalName": "a.b" });
    assert_eq!(made("d", external).1["spec"]["clusterIP"], Value::Null);

    let address = first["spec"]["clusterIP"].clone();
    let again = cluster.put(
        &format!("{SERVICES}/a"),
        &json!({
            "metadata": { "name": "a" }, "spec": { "ports": [{ "port": 81 }] },
        }),
    );
    assert_eq!((again.0, &again.1["spec"]["clusterIP"]), (200, &address));
    assert_snapshot!(
        [
            line(&made("e", json!({ "clusterIP": address }))),
            line(&made("e", json!({ "clusterIP": "10.0.0.1" }))),
        ].join("\n"),
        @r#"
    422 Invalid: Service "e" is invalid: spec.clusterIPs: Invalid value: []string{"127.77.0.1"}: failed to allocated ip:127.77.0.1 with error:provided IP is already allocated
    422 Invalid: Service "e" is invalid: spec.clusterIPs: Invalid value: []string{"10.0.0.1"}: failed to allocated ip:10.0.0.1 with error:provided IP is not in the valid range. The range of valid IPs is 127.0.0.0/8
    "#
    );
}

use fairway_cincinnati::connection::ProxySettings;
use fairway_testkit::releases;

use super::*;

fn manifest(object: &Value) -> Manifest {
    releases::manifest(object).unwrap()
}

fn context() -> ApplyContext {
    ApplyContext { owner: Owner { uid: "c1".to_owned() }, ..ApplyContext::default() }
}

fn prepared(object: &Value, context: &ApplyContext) -> Result<Value, PrepareError> {
    let manifest = manifest(object);
    prepare(&manifest, Intent::from_manifest(&manifest)?, None, context)
}

fn deployment(name: &str, annotations: &Value, pod: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "openshift-cluster-version", "annotations": annotations},
        "spec": {"template": {"metadata": {"creationTimestamp": null}, "spec": pod}},
    })
}

#[test]
fn prepare_adds_label_and_owner() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "b", "creationTimestamp": null, "labels": {"mine": "1"}},
        "data": {"limits": "7"}, "status": {},
    });
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "a", "namespace": "b", "labels": {"fairway.dev/managed": "true", "mine": "1"},
            "ownerReferences": [{
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "name": "version",
                "uid": "c1", "controller": true,
            }],
        },
        "data": {"limits": "7"},
    });
    assert_eq!(prepared(&object, &context()), Ok(expected));
}

#[test]
fn prepare_create_only_has_non_controller_owner() {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": {"release.openshift.io/create-only": "TRUE"}},
    });
    let owner = prepared(&object, &context()).unwrap()["metadata"]["ownerReferences"][0].clone();
    assert_eq!((&owner["uid"], owner.get("controller")), (&json!("c1"), None));
}

#[test]
fn prepare_keeps_other_owners() {
    let foreign = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "7"});
    let own = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "name": "x", "uid": "0"});
    for (owners, expected) in [(json!([foreign, own]), json!("7")), (json!([own]), json!("c1"))] {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": owners},
        });
        let owners = prepared(&object, &context()).unwrap()["metadata"]["ownerReferences"].clone();
        assert_eq!(owners[0]["uid"], expected);
        assert_eq!(owners.as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn intent_follows_annotations() {
    for (annotations, expected) in [
        (json!({}), Ok(Intent::Reconcile)),
        (json!({"release.openshift.io/create-only": "false"}), Ok(Intent::Reconcile)),
        (json!({"release.openshift.io/create-only": "true"}), Ok(Intent::CreateOnly)),
        (json!({"release.openshift.io/delete": "true"}), Ok(Intent::Delete)),
        (
            json!({"release.openshift.io/delete": "yes"}),
            Err("annotation release.openshift.io/delete has the invalid value \"yes\"; use \
                 \"true\""
                .to_owned()),
        ),
    ] {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": annotations},
        });
        let intent = Intent::from_manifest(&manifest(&object)).map_err(|error| error.to_string());
        assert_eq!(intent, expected, "{annotations}");
    }
}

#[test]
fn prepare_normalises_ports_and_quantities() {
    let pod = json!({
        "initContainers": [{"name": "i", "ports": [{"containerPort": 1}]}],
        "containers": [{
            "name": "c", "ports": [{"containerPort": 2, "protocol": "UDP"}],
            "resources": {"limits": {"cpu": 1, "memory": "1Gi"}, "requests": {"cpu": 0.5}},
        }],
    });
    let expected = json!({
        "initContainers": [{"name": "i", "ports": [{"containerPort": 1, "protocol": "TCP"}]}],
        "containers": [{
            "name": "c", "ports": [{"containerPort": 2, "protocol": "UDP"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "0.5"}},
        }],
    });
    let prepared = prepared(&deployment("a", &json!({}), &pod), &context()).unwrap();
    assert_eq!(prepared["spec"]["template"], json!({"metadata": {}, "spec": expected}));
}

#[test]
fn prepare_leaves_crd_schema_unchanged() {
    let schema = json!({"properties": {"limits": {"maximum": 5}, "metadata": {"type": "object"}}});
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "a"}, "spec": {"schema": schema},
    });
    assert_eq!(prepared(&object, &context()).unwrap()["spec"]["schema"], schema);
}

#[test]
fn prepare_drops_aggregated_rules() {
    let object = |aggregation: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "a"}, "aggregationRule": aggregation, "rules": [],
        })
    };
    let aggregated = prepared(&object(json!({"clusterRoleSelectors": []})), &context()).unwrap();
    assert_eq!(aggregated.get("rules"), None);
    let plain = prepared(&object(Value::Null), &context()).unwrap();
    assert_eq!(plain["rules"], json!([]));
}

#[test]
fn prepare_drops_injected_ca_bundle() {
    let object = |annotations: Value| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "a", "annotations": annotations},
            "webhooks": [{"name": "w", "clientConfig": {"caBundle": "Cg==", "url": "u"}}],
        })
    };
    let bundle = |object: &Value, live: Option<&Value>| {
        let wanted = prepare(&manifest(object), Intent::Reconcile, live, &context()).unwrap();
        wanted["webhooks"][0]["clientConfig"].get("caBundle").cloned()
    };
    let asks = json!({"service.beta.openshift.io/inject-cabundle": "true"});
    assert_eq!(bundle(&object(json!({})), None), Some(json!("Cg==")));
    assert_eq!(bundle(&object(asks.clone()), None), None);
    assert_eq!(bundle(&object(json!({})), Some(&object(asks))), None);
}

#[test]
fn prepare_injects_proxy_settings() {
    let proxy =
        ProxySettings { https_proxy: "http://p:3128".to_owned(), ..ProxySettings::default() };
    let mut context = context();
    let annotations = |names: &str| json!({"config.openshift.io/inject-proxy": names});
    let pod = json!({
        "initContainers": [{"name": "i"}],
        "containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "NO_PROXY", "value": "x"}]}, {"name": "d"}],
    });
    let asking = deployment("a", &annotations("i, c"), &pod);
    let without = prepared(&asking, &context).unwrap();
    assert_eq!(without["spec"]["template"]["spec"], pod, "no proxy is set");
    context.surroundings.proxy = proxy;
    let with = prepared(&asking, &context).unwrap()["spec"]["template"]["spec"].clone();
    let variables = json!([
        {"name": "HTTP_PROXY", "value": ""},
        {"name": "HTTPS_PROXY", "value": "http://p:3128"},
        {"name": "NO_PROXY", "value": ""},
    ]);
    assert_eq!(with["initContainers"][0]["env"], variables);
    assert_eq!(with["containers"][0]["env"][0]["name"], "A");
    assert_eq!(with["containers"][0]["env"].as_array().map(Vec::len), Some(4));
    assert_eq!(with["containers"][1].get("env"), None);
    let error = prepared(&deployment("a", &annotations("x"), &pod), &context).unwrap_err();
    insta::assert_snapshot!(error, @r#"annotation config.openshift.io/inject-proxy names container "x", which does not exist"#);
}

#[test]
fn prepare_injects_api_server_address_into_operator() {
    let mut context = context();
    let pod = json!({"containers": [{"name": "c", "env": [{"name": "KUBERNETES_SERVICE_HOST", "value": "old"}]}]});
    let operator = deployment("cluster-version-operator", &json!({}), &pod);
    for (address, host, port) in [
        ("https://api-int.example:6443", "api-int.example", "6443"),
        ("https://10.0.0.1", "10.0.0.1", "443"),
    ] {
        context.surroundings.api_server = Some(address.to_owned());
        let prepared = prepared(&operator, &context).unwrap();
        let variables = &prepared["spec"]["template"]["spec"]["containers"][0]["env"];
        let expected = json!([
            {"name": "KUBERNETES_SERVICE_HOST", "value": host},
            {"name": "KUBERNETES_SERVICE_PORT", "value": port},
        ]);
        assert_eq!(*variables, expected);
    }
    let other = prepared(&deployment("other", &json!({}), &pod), &context).unwrap();
    assert_eq!(other["spec"]["template"]["spec"], pod);
    context.surroundings.api_server = Some("nowhere".to_owned());
    let error = prepared(&operator, &context).unwrap_err();
    insta::assert_snapshot!(error, @r#"invalid API server address "nowhere" in Infrastructure cluster: not a URL"#);
}

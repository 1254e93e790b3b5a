use fairway_install::manifests::{openshift_manifests, own_manifests};
use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::*;

fn run() -> PreflightRun {
    PreflightRun {
        id: RunId::parse(&"5e".repeat(16)).unwrap(),
        image: "registry.example/release@sha256:51".to_owned(),
        version: "5.1.0+build 7".to_owned(),
        source: "5.0.0".to_owned(),
        node: "node-1".to_owned(),
        forced: false,
        secrets: BTreeSet::new(),
    }
}

/// The operator's Deployment in releases.
fn own() -> OperatorPod {
    let manifests = own_manifests();
    let (path, text) =
        manifests.iter().find(|(path, _)| path.ends_with("_deployment.yaml")).unwrap();
    let value: Value = fairway_api::read::document(path, text.as_bytes()).unwrap();
    OperatorPod::from_deployment(&serde_json::from_value(value).unwrap())
}

fn made(defaults: &PodDefaults, limits: &PreflightPod) -> Deployment {
    let results = Path::new("/var/lib/fairway/preflight");
    deployment(&run(), "openshift-cluster-version", results, defaults, limits).unwrap()
}

fn pod_of(deployment: Deployment) -> PodSpec {
    deployment.spec.unwrap().template.spec.unwrap()
}

#[test]
fn deployment_runs_beside_operator_read_only() {
    let defaults = PodDefaults { own: own(), has_pull_secret: true };
    let made = made(&defaults, &PreflightPod::default());
    let mut shown = serde_json::to_value(&made).unwrap();
    let pod = &mut shown["spec"]["template"]["spec"];
    let tolerations = pod["tolerations"].take();
    assert_eq!(tolerations, json!(own().tolerations), "same as the operator");
    assert_eq!(pod["containers"][0]["ports"], Value::Null);
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap());
}

/// A document of the manifests with this kind and name.
fn manifest(
    manifests: impl IntoIterator<Item = (String, String)>,
    kind: &str,
    name: &str,
) -> Value {
    let texts = manifests.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n---\n");
    let documents: Vec<Value> = texts
        .split("\n---\n")
        .filter_map(|text| fairway_api::read::document("manifest", text.as_bytes()).ok())
        .collect();
    let is_it = |it: &Value| it["kind"] == kind && it["metadata"]["name"] == name;
    documents.into_iter().find(is_it).expect("a manifest")
}

#[test]
fn manifests_match_user_and_group_of_runs() {
    let constraints =
        manifest(openshift_manifests(), "SecurityContextConstraints", "fairway-preflight-runner");
    assert_eq!(constraints["runAsUser"]["uid"], RUNNER_UID);
    assert_eq!(constraints["allowHostNetwork"], false);
    let operator = manifest(own_manifests(), "Deployment", "cluster-version-operator");
    let context = &operator["spec"]["template"]["spec"]["securityContext"];
    assert_eq!(context["supplementalGroups"], json!([RUNNER_GID]));
    assert_ne!(context["runAsUser"], RUNNER_UID, "a run must not be the user of the operator");
}

#[test]
fn deployment_without_operator_deployment_has_defaults() {
    let pod = pod_of(made(&PodDefaults::default(), &PreflightPod::default()));
    assert_eq!(pod.tolerations.map(|tolerations| tolerations.len()), Some(2));
    assert_eq!(pod.volumes.map(|volumes| volumes.len()), Some(1));
    assert_eq!(pod.image_pull_secrets, None);
    let args = pod.containers[0].args.as_ref().unwrap();
    assert!(!args.iter().any(|argument| argument.contains("pull-secret")), "{args:?}");
}

#[test]
fn deployment_uses_pod_settings() {
    let tolerations = vec![Toleration { key: Some("mine".to_owned()), ..Toleration::default() }];
    let limits = PreflightPod {
        memory_limit: "1Gi".to_owned(),
        cpu_limit: "2".to_owned(),
        tolerations: Some(tolerations.clone()),
        node_selector: [("disk".to_owned(), "large".to_owned())].into(),
        priority_class: Some("low".to_owned()),
        network: CheckNetwork::Host,
    };
    let defaults = PodDefaults { own: own(), has_pull_secret: false };
    let pod = pod_of(made(&defaults, &limits));
    assert_eq!((pod.host_network, pod.dns_policy.as_deref()), (Some(true), Some("Default")));
    assert_eq!(pod.tolerations, Some(tolerations));
    assert_eq!(pod.priority_class_name.as_deref(), Some("low"));
    assert_eq!(pod.node_selector, Some(limits.node_selector.clone()));
    let resources = pod.containers[0].resources.as_ref().unwrap().limits.as_ref().unwrap();
    assert_eq!(resources["memory"], Quantity("1Gi".to_owned()));
    assert_eq!(resources["cpu"], Quantity("2".to_owned()));
}

#[test]
fn deployment_in_pod_network_ignores_api_server_address_of_node() {
    let variable = |name: &str| EnvVar { name: name.to_owned(), ..EnvVar::default() };
    let environment = ["HTTPS_PROXY", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];
    let environment = environment.map(variable).to_vec();
    let own = OperatorPod { environment, ..OperatorPod::default() };
    let defaults = PodDefaults { own, has_pull_secret: true };
    let names = |network| {
        let pod = pod_of(made(&defaults, &PreflightPod { network, ..PreflightPod::default() }));
        assert!(!serde_json::to_string(&pod.volumes).unwrap().contains("ecret"), "{pod:?}");
        let container = pod.containers.into_iter().next().unwrap();
        container.env.unwrap().into_iter().map(|variable| variable.name).collect::<Vec<_>>()
    };
    let skipped = "FAIRWAY_PREFLIGHT_SKIPPED_CHECKS";
    assert_eq!(names(CheckNetwork::Pod), ["HTTPS_PROXY", skipped]);
    assert_eq!(names(CheckNetwork::Host).len(), 4);
}

#[test]
fn operator_pod_environment_excludes_secrets() {
    let own = json!({"spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "a", "env": [
        {"name": "HTTPS_PROXY", "value": "http://proxy.example"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
        {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}},
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ]}]}}}});
    let own = OperatorPod::from_deployment(&serde_json::from_value(own).unwrap());
    let names: Vec<_> = own.environment.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["HTTPS_PROXY", "NODE_NAME"]);
}

#[test]
fn read_deployment_returns_run() {
    let made = made(&PodDefaults::default(), &PreflightPod::default());
    assert_eq!(read(&made), Some(run()));
    let secrets = ["a/b", "a/c"].map(str::to_owned).into();
    let forced = PreflightRun { forced: true, secrets, ..run() };
    let marked = Deployment { metadata: metadata(&forced), ..made };
    assert_eq!(read(&marked), Some(forced));
    assert_eq!(read(&Deployment::default()), None);
}

#[test]
fn read_deployment_of_v0_1_returns_run() {
    let recording = fairway_testkit::recorded::v0_1();
    let object = recording.json("annotated-objects/preflight-deployment.json");
    let deployment: Deployment = serde_json::from_value(object).unwrap();
    let run = read(&deployment).unwrap();
    let labelled = deployment.metadata.labels.as_ref().unwrap();
    assert_eq!(labels(&run).iter().find(|(name, value)| labelled.get(*name) != Some(*value)), None);
    assert_eq!(deployment.metadata.name.as_deref(), Some(DEPLOYMENT_NAME));
    assert_eq!((run.version.as_str(), run.forced), ("5.2.0", true));
}

#[test]
fn random_ids_differ_and_parse() {
    let (one, other) = (RunId::random().unwrap(), RunId::random().unwrap());
    assert_ne!(one, other);
    assert_eq!(RunId::parse(one.as_str()), Some(one));
}

#[test]
fn parse_rejects_everything_else() {
    let long = "0".repeat(33);
    for text in ["", "..", "0123", "../../../../../../../etc/passwd", &long] {
        assert_eq!(RunId::parse(text), None, "{text}");
    }
    assert_eq!(RunId::parse("0123456789ABCDEF0123456789ABCDEF"), None);
}

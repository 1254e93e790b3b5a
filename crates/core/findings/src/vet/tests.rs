use serde_json::json;

use super::*;

const DIGEST: &str = "registry.example/ingress@sha256:1";

fn run() -> RunParameters {
    RunParameters {
        id: "0123456789abcdef0123456789abcdef".to_owned(),
        source_version: "5.0.0".to_owned(),
        target_version: "5.2.0+x".to_owned(),
        target_image: "registry.example/release@sha256:2".to_owned(),
        ..RunParameters::default()
    }
}

/// A request that is accepted.
fn request() -> JobRequest {
    JobRequest {
        name: "ingress-preflight-x7k2p".to_owned(),
        check: "ingress".to_owned(),
        manifest: json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": "ingress-preflight", "namespace": "openshift-ingress-operator",
                "annotations": {ANNOTATION: "true"},
            },
            "spec": {"backoffLimit": 4, "template": {"spec": {"containers": [{
                "name": "ingress", "image": DIGEST, "command": ["/bin/preflight", "certificate"],
            }]}}},
        }),
        access: Vec::new(),
    }
}

/// Sets a value at a JSON pointer and creates missing parents.
fn put(manifest: &mut Value, path: &str, value: Value) {
    let mut at = manifest;
    for name in path.split('/') {
        at = match name.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[name],
        };
    }
    *at = value;
}

fn now() -> Timestamp {
    "2026-02-09T10:00:00Z".parse().unwrap()
}

/// Secret of [`request_with_access`].
const SECRET: &str = "openshift-ingress/router-certs-default";

/// A verified release with consent for one Secret.
fn policy() -> AccessPolicy {
    AccessPolicy { is_verified: true, secrets: Some([SECRET.to_owned()].into()) }
}

fn rendered(request: &JobRequest) -> String {
    rendered_with(request, &policy())
}

fn rendered_with(request: &JobRequest, policy: &AccessPolicy) -> String {
    match plan(request, &run(), policy, now()) {
        Ok(_) => "allowed".to_owned(),
        Err(refusal) => format!("{}: {refusal}", refusal.state()),
    }
}

#[test]
fn plan_refuses_job_beyond_limits() {
    let pod = "spec/template/spec";
    let container = "spec/template/spec/containers/0";
    let two = json!([{"image": DIGEST}, {"image": DIGEST}]);
    let cases = [
        ("kind", json!("Pod")),
        ("metadata/annotations", json!({})),
        ("metadata/ownerReferences", json!([{"kind": "ClusterVersion", "name": "version"}])),
        ("metadata/finalizers", json!(["example.com/wait"])),
        (&format!("{pod}/hostNetwork"), json!(true)),
        (&format!("{pod}/hostPID"), json!(true)),
        (&format!("{pod}/hostIPC"), json!("yes")),
        (&format!("{pod}/nodeName"), json!("master-0")),
        (&format!("{pod}/imagePullSecrets"), json!([{"name": "pull-secret"}])),
        (&format!("{pod}/initContainers"), json!([{"image": DIGEST}])),
        (&format!("{pod}/ephemeralContainers"), json!([{"image": DIGEST}])),
        (&format!("{pod}/runtimeClassName"), json!("weak")),
        (&format!("{pod}/resourceClaims"), json!([{"name": "gpu"}])),
        (&format!("{pod}/serviceAccountName"), json!("cluster-version-operator")),
        (&format!("{pod}/serviceAccount"), json!("default")),
        (&format!("{pod}/securityContext/runAsUser"), json!(0)),
        (&format!("{pod}/securityContext/runAsNonRoot"), json!(false)),
        (&format!("{pod}/securityContext/sysctls"), json!([{"name": "net.core.somaxconn"}])),
        (&format!("{pod}/securityContext/seccompProfile/type"), json!("Unconfined")),
        (&format!("{pod}/volumes"), json!([{"name": "a", "hostPath": {"path": "/"}}])),
        (&format!("{pod}/volumes"), json!([{"name": "a", "secret": {"secretName": "a"}}])),
        (&format!("{pod}/volumes"), json!([{"name": "a", "projected": {"sources": []}}])),
        (&format!("{pod}/volumes"), json!([{"name": "a", "csi": {"driver": "a"}}])),
        (&format!("{pod}/volumes"), json!([{"name": "a", "ephemeral": {}}])),
        (&format!("{pod}/volumes"), json!([{"name": "a", "persistentVolumeClaim": {}}])),
        (&format!("{pod}/containers"), two),
        (&format!("{pod}/containers"), json!([])),
        (&format!("{container}/image"), json!("registry.example/ingress:latest")),
        (&format!("{container}/securityContext/privileged"), json!(true)),
        (&format!("{container}/securityContext/allowPrivilegeEscalation"), json!(true)),
        (&format!("{container}/securityContext/capabilities/add"), json!(["NET_ADMIN"])),
        (&format!("{container}/securityContext/runAsUser"), json!(0)),
        (&format!("{container}/securityContext/procMount"), json!("Unmasked")),
        (&format!("{container}/securityContext/seLinuxOptions/type"), json!("spc_t")),
        (&format!("{container}/securityContext/windowsOptions/hostProcess"), json!(true)),
        (&format!("{container}/envFrom"), json!([{"secretRef": {"name": "a"}}])),
        (&format!("{container}/env"), json!([{"name": "A", "valueFrom": {"secretKeyRef": {}}}])),
        (&format!("{container}/env"), json!([{"name": "A", "valueFrom": {"configMapKeyRef": {}}}])),
        (&format!("{container}/ports"), json!([{"containerPort": 1, "hostPort": 1}])),
        (&format!("{container}/volumeDevices"), json!([{"name": "disk"}])),
        (&format!("{container}/volumeMounts"), json!([{"name": "fairway-preflight-manifests"}])),
        (&format!("{container}/args"), json!(["x".repeat(70_000)])),
    ];
    let rendered: Vec<_> = cases
        .into_iter()
        .map(|(path, value)| {
            let mut request = request();
            put(&mut request.manifest, path, value);
            rendered(&request)
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn plan_requires_random_suffix_in_job_name() {
    for (name, is_good) in [
        ("ingress-x7k2p", true),
        ("ingress", false),
        ("ingress-x", false),
        ("ingress.v2-x7k2p", true),
        ("ingress-x7k2p.v2", false),
        ("-x7k2p", false),
        ("Ingress-x7k2p", false),
        ("ingress/../../a-x7k2p", false),
        ("", false),
        (&format!("{}-x7k2p", "a".repeat(58)), false),
    ] {
        let allowed = rendered(&JobRequest { name: name.to_owned(), ..request() });
        assert_eq!(allowed == "allowed", is_good, "{name}: {allowed}");
    }
}

/// An RBAC object of a check.
fn object(kind: &str, namespace: &str, rest: &Value) -> Value {
    let version = if kind == "ServiceAccount" { "v1" } else { "rbac.authorization.k8s.io/v1" };
    let mut object = rest.clone();
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    object["metadata"] = json!({"name": "reader", "annotations": {ANNOTATION: "true"}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// A check that may read one Secret and all Nodes.
fn request_with_access() -> JobRequest {
    let ingress = "openshift-ingress";
    let subjects = json!([{"kind": "ServiceAccount", "name": "reader", "namespace": "openshift-ingress-operator"}]);
    let secret = json!({"rules": [{
        "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"],
        "resourceNames": ["router-certs-default"],
    }]});
    let nodes = json!({"rules": [{
        "apiGroups": ["", "metrics.k8s.io"], "resources": ["nodes", "nodes/status", "pods"],
        "verbs": ["get", "list", "watch"],
    }]});
    let bind = |kind: &str| {
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "reader"});
        json!({"roleRef": role, "subjects": subjects})
    };
    let mut request = request();
    request.manifest["spec"]["template"]["spec"]["serviceAccountName"] = json!("reader");
    request.access = vec![
        object("RoleBinding", ingress, &bind("Role")),
        object("ClusterRoleBinding", "", &bind("ClusterRole")),
        object("Role", ingress, &secret),
        object("ClusterRole", "", &nodes),
        object(
            "ServiceAccount",
            "openshift-ingress-operator",
            &json!({"secrets": [{"name": "a"}]}),
        ),
    ];
    request
}

#[test]
fn plan_refuses_access_beyond_reading() {
    let (cluster_role, role, binding) = (3, 2, 0);
    let may = |group: &str, resource: &str, verb: &str| json!([{"apiGroups": [group], "resources": [resource], "verbs": [verb]}]);
    let subject = |kind: &str, name: &str| json!([{"kind": kind, "name": name, "namespace": "openshift-ingress-operator"}]);
    let cases = [
        (cluster_role, "rules", may("", "pods", "delete")),
        (cluster_role, "rules", may("", "pods", "*")),
        (cluster_role, "rules", may("*", "pods", "get")),
        (cluster_role, "rules", may("", "*", "get")),
        (cluster_role, "rules", may("", "*/status", "get")),
        (cluster_role, "rules", may("", "pods/exec", "get")),
        (cluster_role, "rules", may("", "pods/attach", "get")),
        (cluster_role, "rules", may("", "pods/portforward", "get")),
        (cluster_role, "rules", may("", "nodes/proxy", "get")),
        (cluster_role, "rules", may("", "services/proxy", "get")),
        (cluster_role, "rules", may("", "serviceaccounts/token", "get")),
        (cluster_role, "rules", may("", "serviceaccounts", "impersonate")),
        (cluster_role, "rules", may("", "secrets", "get")),
        (cluster_role, "rules", may("oauth.openshift.io", "oauthaccesstokens", "list")),
        (cluster_role, "rules", may("oauth.openshift.io", "oauthclients", "list")),
        (cluster_role, "rules", may("machineconfiguration.openshift.io", "machineconfigs", "get")),
        (
            cluster_role,
            "rules",
            may("machineconfiguration.openshift.io", "controllerconfigs", "get"),
        ),
        (cluster_role, "rules", may("build.openshift.io", "buildconfigs", "list")),
        (cluster_role, "rules", may("", "pods/log", "get")),
        (cluster_role, "rules", may("", "podtokens", "get")),
        (cluster_role, "rules", may("example.com", "secrets", "list")),
        (cluster_role, "rules", may("example.com", "widgets", "list")),
        (role, "rules", may("", "pods/log", "get")),
        (role, "rules", may("oauth.openshift.io", "useroauthaccesstokens", "list")),
        (cluster_role, "rules", json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}])),
        (cluster_role, "rules", json!([{"verbs": ["get"]}])),
        (cluster_role, "rules", json!([{"verbs": [7], "apiGroups": [""], "resources": ["a"]}])),
        (cluster_role, "rules", json!([{"verbs": "*", "apiGroups": [""], "resources": ["a"]}])),
        (cluster_role, "rules", json!({"verbs": ["*"]})),
        (role, "rules/0/resourceNames", json!("all")),
        (cluster_role, "aggregationRule", json!({"clusterRoleSelectors": [{}]})),
        (cluster_role, "metadata/namespace", json!("default")),
        (cluster_role, "metadata/annotations", json!({})),
        (cluster_role, "metadata/name", json!("system:node")),
        (cluster_role, "kind", json!("Secret")),
        (cluster_role, "kind", json!("ServiceAccount")),
        (cluster_role, "apiVersion", json!("v1")),
        (role, "rules/0/resourceNames", json!([])),
        (role, "rules/0/resourceNames", json!([""])),
        (role, "rules/0/resourceNames", json!(["a; rm -rf /"])),
        (role, "rules/0/resourceNames", json!(vec!["a"; 21])),
        (role, "rules/0/resourceNames", json!(["admin-kubeconfig"])),
        (role, "metadata/namespace", Value::Null),
        (role, "metadata/namespace", json!("kube-system")),
        (role, "metadata/namespace", json!(NAMESPACE)),
        (binding, "roleRef", json!({"kind": "ClusterRole", "name": "cluster-admin"})),
        (binding, "subjects", subject("User", "reader")),
        (binding, "subjects", subject("Group", "system:authenticated")),
        (binding, "subjects", subject("ServiceAccount", "default")),
        (binding, "subjects", json!([])),
    ];
    let rendered: Vec<_> = cases
        .into_iter()
        .map(|(index, path, value)| {
            let mut request = request_with_access();
            put(&mut request.access[index], path, value);
            rendered(&request)
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn plan_refuses_unrelated_bindings_and_service_accounts() {
    let mut without_account = request_with_access();
    without_account.access.pop();
    let mut without_role = request_with_access();
    without_role.access.remove(2);
    let mut too_many = request_with_access();
    too_many.access = vec![too_many.access[4].clone(); 21];
    let rendered = [without_account, without_role, too_many].map(|request| rendered(&request));
    insta::assert_snapshot!(rendered.join("\n"), @r"
    refused: spec.template.spec.serviceAccountName: a check must use its own ServiceAccount or preflight-check
    accessRefused: RoleBinding reader: roleRef: a check may bind only its own roles
    accessRefused: ingress: access: a check may have at most 20 RBAC manifests, with 64 KiB in total
    ");
}

#[test]
fn plan_of_unverified_release_grants_nothing() {
    let with = |access: &[usize]| {
        let mut request = request_with_access();
        request.access = access.iter().map(|index| request.access[*index].clone()).collect();
        if !access.contains(&4) {
            request.manifest["spec"]["template"]["spec"]["serviceAccountName"] = Value::Null;
        }
        rendered_with(&request, &AccessPolicy::default())
    };
    let rendered = [with(&[]), with(&[4]), with(&[3, 4]), with(&[0, 1, 2, 3, 4])];
    insta::assert_snapshot!(rendered.join("\n"), @"
    allowed
    accessRefused: ServiceAccount reader: the release is not verified, so its checks get no ServiceAccounts, roles or role bindings; use a release with a valid signature
    accessRefused: ClusterRole reader: the release is not verified, so its checks get no ServiceAccounts, roles or role bindings; use a release with a valid signature
    accessRefused: RoleBinding reader: the release is not verified, so its checks get no ServiceAccounts, roles or role bindings; use a release with a valid signature
    ");
}

#[test]
fn plan_grants_secrets_only_with_consent() {
    let with = |secrets: Option<&[&str]>| {
        let secrets = secrets.map(|all| all.iter().map(|name| (*name).to_owned()).collect());
        let policy = AccessPolicy { is_verified: true, secrets };
        rendered_with(&request_with_access(), &policy)
    };
    let other = "openshift-ingress-operator/router-certs-default";
    let rendered =
        [with(None), with(Some(&[])), with(Some(&[other])), with(Some(&[other, SECRET]))];
    insta::assert_snapshot!(rendered.join("\n"), @"
    accessRefused: the check reads Secrets without consent: openshift-ingress/router-certs-default; to allow it, run the operator with --preflight-grant-secrets and repeat the preflight with --allow-secrets=openshift-ingress/router-certs-default
    accessRefused: the check reads Secrets without consent: openshift-ingress/router-certs-default; to allow it, repeat the preflight with --allow-secrets=openshift-ingress/router-certs-default
    accessRefused: the check reads Secrets without consent: openshift-ingress/router-certs-default; to allow it, repeat the preflight with --allow-secrets=openshift-ingress/router-certs-default
    allowed
    ");
    let mut without_secrets = request_with_access();
    without_secrets
        .access
        .retain(|object| !["Role", "RoleBinding"].contains(&object["kind"].as_str().unwrap()));
    assert_eq!(rendered_with(&without_secrets, &AccessPolicy::verified()), "allowed");
}

#[test]
fn plan_job_has_common_settings() {
    let mut request = request();
    let pod = "spec/template/spec";
    put(
        &mut request.manifest,
        &format!("{pod}/volumes"),
        json!([{"name": "tmp", "emptyDir": {"medium": "Memory"}}]),
    );
    put(
        &mut request.manifest,
        &format!("{pod}/containers/0/volumeMounts"),
        json!([{"name": "tmp", "mountPath": "/tmp", "mountPropagation": "Bidirectional"}]),
    );
    put(
        &mut request.manifest,
        &format!("{pod}/containers/0/env"),
        json!([{"name": "PREFLIGHT_ID", "value": "mine"}, {"name": "A", "value": "b"}]),
    );
    put(
        &mut request.manifest,
        &format!("{pod}/containers/0/resources"),
        json!({"limits": {"memory": "9Gi"}}),
    );
    put(&mut request.manifest, &format!("{pod}/securityContext/runAsUser"), json!(65532));
    put(&mut request.manifest, &format!("{pod}/priorityClassName"), json!("system-node-critical"));
    put(&mut request.manifest, "metadata/labels", json!({"fairway.dev/managed": "true"}));
    put(&mut request.manifest, "spec/parallelism", json!(500));
    let CheckObjects { access, job } = plan(&request, &run(), &policy(), now()).unwrap();
    assert_eq!(access, Vec::<Value>::new());
    insta::assert_snapshot!(serde_json::to_string_pretty(&job).unwrap());
}

#[test]
fn plan_renames_rbac_objects() {
    let CheckObjects { access, job } =
        plan(&request_with_access(), &run(), &policy(), now()).unwrap();
    assert_eq!(job["spec"]["template"]["spec"]["serviceAccountName"], "reader-x7k2p");
    insta::assert_snapshot!(serde_json::to_string_pretty(&access).unwrap());
}

#[test]
fn granted_lists_permissions() {
    let JobRequest { check, manifest, access, .. } = request_with_access();
    insta::assert_snapshot!(granted(&check, &manifest, &access, Some(&policy())).join("\n"), @r"
    own ServiceAccount reader
    get secrets (router-certs-default) in openshift-ingress
    get, list, watch nodes, nodes/status, pods, nodes.metrics.k8s.io, nodes/status.metrics.k8s.io, pods.metrics.k8s.io cluster-wide
    ");
    let nothing = Vec::<String>::new();
    assert_eq!(
        granted(&check, &request().manifest, &access, None),
        nothing,
        "it is not that account"
    );
    assert_eq!(granted(&check, &manifest, &access[..4], None), nothing, "it is refused");
    let unverified = AccessPolicy::default();
    assert_eq!(granted(&check, &manifest, &access, Some(&unverified)), nothing);
}

#[test]
fn plan_passes_pull_secret_to_kubelet_only() {
    let with = |pull_secret: Option<String>| {
        let run = RunParameters { pull_secret, ..run() };
        plan(&request(), &run, &policy(), now()).unwrap().job["spec"]["template"]["spec"].clone()
    };
    let mut pod = with(Some("pull".to_owned()));
    assert_eq!(pod["imagePullSecrets"].take(), json!([{"name": "pull"}]));
    assert!(!pod.to_string().contains("pull\""), "{pod}");
    assert_eq!(with(None)["imagePullSecrets"], Value::Null);
}

#[test]
fn plan_uses_host_network_only_if_set() {
    let with = |network| {
        let run = RunParameters { network, ..run() };
        plan(&request(), &run, &policy(), now()).unwrap().job
    };
    let host = |job: Value| job["spec"]["template"]["spec"]["hostNetwork"].clone();
    assert_eq!(host(with(Network::Pod)), Value::Null);
    assert_eq!(host(with(Network::Host)), true);
}

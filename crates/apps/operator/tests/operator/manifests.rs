//! Deployment manifests.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use fairway_findings::jobs::JobRequest;
use fairway_findings::labels;
use fairway_findings::vet::{self, Scope};
use fairway_install::manifests::{monitoring_manifests, openshift_manifests, own_manifests};
use fairway_release::Release;
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use fairway_release::payload::Files;
use serde_json::{Value, json};

/// A file of `deploy/operator`.
pub(crate) fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../deploy/operator").join(file)
}

/// The objects of a file.
pub(crate) fn objects(file: &str) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path(file)).with_context(|| format!("cannot read {file}"))?;
    Ok(serde_saphyr::from_multiple(&text)?)
}

#[test]
fn deployment_has_required_settings() -> Result<()> {
    let [deployment] = &objects("deployment.yaml")?[..] else { panic!("one object") };
    assert_eq!(deployment["spec"]["replicas"], 1);
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let arguments: Vec<&str> =
        container["args"].as_array().context("args")?.iter().filter_map(Value::as_str).collect();
    assert!(arguments.contains(&"--release-image={{.ReleaseImage}}"), "{arguments:?}");
    let variables = container["env"].as_array().context("env")?;
    let variables: Vec<_> = variables.iter().map(|variable| &variable["name"]).collect();
    let memory = ["MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"];
    assert_eq!(variables, [&memory[..], &["NODE_NAME", "POD_UID"]].concat());
    Ok(())
}

/// The value of an option of a container.
fn option<'a>(container: &'a Value, name: &str) -> Result<&'a str> {
    let arguments = container["args"].as_array().context("no args")?;
    let value = arguments.iter().find_map(|it| it.as_str()?.strip_prefix(name)?.strip_prefix('='));
    value.with_context(|| format!("no {name}"))
}

#[test]
fn probes_use_the_listener_on_loopback() -> Result<()> {
    let [deployment] = &objects("deployment.yaml")?[..] else { panic!("one object") };
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true, "the kubelet reaches the loopback of the operator");
    let container = &pod["containers"][0];
    let address = option(container, "--probe-listen")?;
    for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        let get = &container[probe]["httpGet"];
        let host = get["host"].as_str().context("no host")?;
        assert_eq!(format!("{host}:{}", get["port"]), address);
        assert_eq!((&get["path"], &get["scheme"]), (&json!(path), &Value::Null));
    }
    assert!(address.starts_with("127.0.0.1:"));

    let guard = &objects("../olm-guard/deployment.yaml")?[0]["spec"]["template"]["spec"];
    assert!(guard["hostNetwork"].is_null(), "the kubelet does not reach the loopback of the guard");
    let container = &guard["containers"][0];
    let address = option(container, "--probe-listen")?;
    assert!(address.starts_with("127.0.0.1:"));
    for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        let expected = json!(["fairway", "probe", address, path]);
        assert_eq!(container[probe]["exec"]["command"], expected);
    }
    Ok(())
}

#[test]
fn service_monitor_sends_credentials_to_a_verified_server() -> Result<()> {
    let objects = objects("monitoring.yaml")?;
    let monitor = objects.iter().find(|it| it["kind"] == "ServiceMonitor");
    let endpoint = &monitor.context("no ServiceMonitor")?["spec"]["endpoints"][0];
    let token = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    assert_eq!(
        (&endpoint["scheme"], &endpoint["bearerTokenFile"]),
        (&json!("https"), &json!(token))
    );
    let tls = &endpoint["tlsConfig"];
    for file in ["caFile", "certFile", "keyFile", "serverName"] {
        assert!(tls[file].is_string(), "{file}");
    }
    assert!(tls["insecureSkipVerify"].is_null(), "the token must not leak to another server");
    Ok(())
}

#[test]
fn manifests_use_namespaces_of_the_platform() -> Result<()> {
    for file in [
        "namespaces.yaml",
        "preflight.yaml",
        "rbac.yaml",
        "service.yaml",
        "deployment.yaml",
        "monitoring.yaml",
        "alerts.yaml",
        "openshift.yaml",
    ] {
        for object in objects(file)? {
            let (kind, metadata) = (&object["kind"], &object["metadata"]);
            let cluster_wide =
                ["Namespace", "ClusterRole", "ClusterRoleBinding", "SecurityContextConstraints"];
            let is_cluster_wide = cluster_wide.iter().any(|word| kind == word);
            assert_eq!(metadata["namespace"].is_null(), is_cluster_wide, "{file}: {kind}");
            assert!(metadata["name"].is_string(), "{file}: {kind}");
        }
    }
    Ok(())
}

#[test]
fn preflight_service_accounts_may_only_read() -> Result<()> {
    let objects = objects("preflight.yaml")?;
    let (mut roles, mut bound) = (Vec::new(), Vec::new());
    for object in &objects {
        let name = object["metadata"]["name"].as_str().context("no name")?;
        let scope = match object["kind"].as_str().context("no kind")? {
            "Role" => Scope::Namespace,
            "ClusterRole" => Scope::Cluster,
            "RoleBinding" | "ClusterRoleBinding" => {
                bound.push(object["roleRef"]["name"].as_str().context("no role")?);
                continue;
            }
            _ => continue,
        };
        roles.push(name);
        if object["aggregationRule"].is_null() {
            assert_eq!(vet::read_only(object, scope), Ok(()), "{name}");
        } else {
            assert_eq!(object["rules"], json!([]), "{name} has what platforms add");
            // The roles that the operator verifies before each run.
            assert_eq!(name, "preflight-reader-of-the-platform");
            let labelled = json!([{"matchLabels": {labels::AGGREGATE: "true"}}]);
            assert_eq!(object["aggregationRule"]["clusterRoleSelectors"], labelled);
        }
    }
    roles.sort_unstable();
    bound.sort_unstable();
    assert_eq!(roles, bound, "nothing else is bound");
    let resources: Vec<_> = objects
        .iter()
        .flat_map(|object| object["rules"].as_array().into_iter().flatten())
        .flat_map(|rule| rule["resources"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .filter(|resource| resource.contains('/') || resource.contains("secret"))
        .collect();
    assert_eq!(resources, ["pods/log"], "and that in the namespace of checks alone");
    Ok(())
}

#[test]
fn network_policies_deny_traffic_of_preflights() -> Result<()> {
    let objects = objects("preflight.yaml")?;
    let policies = objects.iter().filter(|object| object["kind"] == "NetworkPolicy");
    let rendered: Vec<String> = policies
        .map(|policy| format!("{} {}", policy["metadata"]["namespace"], policy["spec"]))
        .collect();
    insta::assert_snapshot!(rendered.join("\n"), @r#"
    "openshift-cluster-version-preflight" {"podSelector":{},"policyTypes":["Ingress","Egress"]}
    "openshift-cluster-version" {"podSelector":{"matchLabels":{"app":"cluster-version-operator-preflight"}},"policyTypes":["Ingress","Egress"]}
    "#);
    Ok(())
}

#[test]
fn openshift_constraints_allow_check_pods() -> Result<()> {
    let objects = objects("openshift.yaml")?;
    let constraints = objects.iter().find(|it| it["metadata"]["name"] == "fairway-preflight-check");
    let constraints = constraints.context("no constraints for checks")?;
    let container = json!({"name": "dns", "image": "registry.example/dns@sha256:1"});
    let manifest = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "dns", "annotations": {vet::ANNOTATION: "true"}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    });
    let request = JobRequest { name: "dns-x1y2z".to_owned(), manifest, ..JobRequest::default() };
    let job = {
        let (run, policy) = (vet::RunParameters::default(), vet::AccessPolicy::default());
        vet::plan(&request, &run, &policy, jiff::Timestamp::UNIX_EPOCH)?.job
    };
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsUser"], constraints["runAsUser"]["uid"]);
    assert_eq!(
        constraints["groups"],
        json!([format!("system:serviceaccounts:{}", vet::NAMESPACE)])
    );
    let allowed = constraints["volumes"].as_array().context("no volumes")?;
    for volume in pod["volumes"].as_array().context("no volumes")? {
        let has = |kind: &Value| kind.as_str().is_some_and(|kind| !volume[kind].is_null());
        assert!(allowed.iter().any(has), "{volume}");
    }
    for (name, value) in constraints.as_object().context("no object")? {
        let wants = name.starts_with("allowHost") || name.starts_with("allowPrivileg");
        assert!(!wants || *value == json!(false), "{name}");
    }
    Ok(())
}

#[test]
fn manifests_of_every_cluster_are_ordered() -> Result<()> {
    let mut files: Files = [
        ("release-manifests/release-metadata", r#"{"kind": "cincinnati-metadata-v0", "version": "5.0.0"}"#),
        ("release-manifests/image-references", r#"{"apiVersion": "image.openshift.io/v1", "kind": "ImageStream", "metadata": {"name": "5.0.0"}}"#),
    ]
    .map(|(path, text)| (path.to_owned(), text.into()))
    .into();
    let own = own_manifests().into_iter().chain(monitoring_manifests());
    let own = own.chain(openshift_manifests());
    files.extend(own.map(|(path, text)| (path, text.into_bytes())));
    let release = Release::load(&files, "registry.example/release@sha256:1", DEFAULT_PROFILE)?;
    assert_eq!(release.warnings, []);
    let filter =
        ManifestFilter { profile: Some(DEFAULT_PROFILE.to_owned()), ..ManifestFilter::default() };
    let selection = filter.select(&release.manifests);
    assert_eq!(selection.excluded, []);
    let told: Vec<String> = selection
        .included
        .iter()
        .map(|manifest| format!("{}: {}", manifest.file, manifest.id))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    0000_00_cluster-version-operator_00_namespaces.yaml: namespace "openshift-cluster-version"
    0000_00_cluster-version-operator_00_namespaces.yaml: namespace "openshift-config"
    0000_00_cluster-version-operator_00_namespaces.yaml: namespace "openshift-config-managed"
    0000_00_cluster-version-operator_01_clusteroperators.json: customresourcedefinition "clusteroperators.config.openshift.io"
    0000_00_cluster-version-operator_01_clusterversions.json: customresourcedefinition "clusterversions.config.openshift.io"
    0000_00_cluster-version-operator_02_preflight.yaml: namespace "openshift-cluster-version-preflight"
    0000_00_cluster-version-operator_02_preflight.yaml: resourcequota "openshift-cluster-version-preflight/preflight"
    0000_00_cluster-version-operator_02_preflight.yaml: networkpolicy "openshift-cluster-version-preflight/preflight"
    0000_00_cluster-version-operator_02_preflight.yaml: networkpolicy "openshift-cluster-version/preflight"
    0000_00_cluster-version-operator_02_preflight.yaml: serviceaccount "openshift-cluster-version/preflight-runner"
    0000_00_cluster-version-operator_02_preflight.yaml: serviceaccount "openshift-cluster-version-preflight/preflight-check"
    0000_00_cluster-version-operator_02_preflight.yaml: clusterrole "preflight-reader"
    0000_00_cluster-version-operator_02_preflight.yaml: clusterrole "preflight-reader-of-the-platform"
    0000_00_cluster-version-operator_02_preflight.yaml: clusterrolebinding "preflight-reader"
    0000_00_cluster-version-operator_02_preflight.yaml: clusterrolebinding "preflight-reader-of-the-platform"
    0000_00_cluster-version-operator_02_preflight.yaml: role "openshift-cluster-version-preflight/preflight-runner"
    0000_00_cluster-version-operator_02_preflight.yaml: rolebinding "openshift-cluster-version-preflight/preflight-runner"
    0000_00_cluster-version-operator_02_rbac.yaml: serviceaccount "openshift-cluster-version/cluster-version-operator"
    0000_00_cluster-version-operator_02_rbac.yaml: clusterrolebinding "cluster-version-operator"
    0000_00_cluster-version-operator_02_service.yaml: service "openshift-cluster-version/cluster-version-operator"
    0000_00_cluster-version-operator_03_deployment.yaml: deployment "openshift-cluster-version/cluster-version-operator"
    0000_90_cluster-version-operator_00_openshift.yaml: securitycontextconstraints "fairway-preflight-runner"
    0000_90_cluster-version-operator_00_openshift.yaml: securitycontextconstraints "fairway-preflight-check"
    0000_90_cluster-version-operator_01_monitoring.yaml: role "openshift-cluster-version/prometheus-k8s"
    0000_90_cluster-version-operator_01_monitoring.yaml: rolebinding "openshift-cluster-version/prometheus-k8s"
    0000_90_cluster-version-operator_01_monitoring.yaml: servicemonitor "openshift-cluster-version/cluster-version-operator"
    0000_90_cluster-version-operator_02_alerts.yaml: prometheusrule "openshift-cluster-version/cluster-version-operator"
    "#);
    let deployment = release.manifests.iter().find(|manifest| manifest.id.kind == "Deployment");
    let deployment = deployment.context("no Deployment")?.object();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example/release@sha256:1");
    Ok(())
}

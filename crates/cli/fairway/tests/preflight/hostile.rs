//! A hostile target release: every attack fails and is reported.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_findings::jobs::{self, ANSWERS, JobRequest, JobRequests, REQUESTS};
use fairway_findings::{CheckReport, CheckStatus, Document, ExecutionStatus, FORMAT, labels, vet};
use fairway_registry::{Image, ImageConfig, LayerBuilder};
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{NAMESPACE, TestPlatform, wait};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::support::{start, wait_until_removed};

const SCRIPT: &str = include_str!("hostile.sh");

/// Connects to an address and a port.
const CONNECT: &str = "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); alarm 3; \
    exit(connect($s, sockaddr_in($ARGV[1], inet_aton($ARGV[0]))) ? 0 : 1);";

/// Listens on ports of all addresses.
const OCCUPY: &str = "use Socket; my @all; for (@ARGV) { socket(my $s, PF_INET, SOCK_STREAM, 0); \
    bind($s, sockaddr_in($_, INADDR_ANY)) and listen($s, 9); push @all, $s } sleep 3600;";

/// The Secret that the check of the release wants to read.
const SECRET: &str = "admin-kubeconfig";

#[tokio::test(flavor = "multi_thread")]
async fn hostile_release_is_isolated_and_reported() -> Result<()> {
    let platform = start().await?;
    let image = publish(&platform).await?;
    let image = format!("--to-image={image}");
    let request = ["--mode=preflight", &image, "--allow-explicit-upgrade", "--no-wait"];

    // Without a signature and without --force, it does not run.
    platform.upgrade(&request, 0).await?;
    platform.wait_until_condition("PreflightFailed", "True", "ImageVerificationFailed").await?;
    platform.upgrade(&[&request[..], &["--force"]].concat(), 0).await?;

    let log = log_of_attacks(&platform).await?;
    assert!(!log.contains("attack succeeded"), "{log}");
    if !platform.cluster.is_sandbox() {
        assert!(log.contains("the API server is reachable"), "{log}");
    }
    let refused = "the release is not verified, so its checks get no ServiceAccounts";
    platform
        .wait_until("the refusal", |status| failure(status).contains(refused))
        .await
        .context("the refusal of the check is reported")?;
    ensure!(grants(&platform).await?.is_empty(), "{:?}", grants(&platform).await?);

    let is_aborted = |status: &ClusterVersionStatus| {
        failure(status).contains("results directory") && !failure(status).contains("unreadable")
    };
    platform.wait_until("the end of the run", is_aborted).await?;
    platform.upgrade(&["--clear-preflight"], 0).await?;
    wait_until_removed(&platform).await
}

/// The message of the condition `PreflightFailed`.
fn failure(status: &ClusterVersionStatus) -> String {
    let found = status.conditions.iter().find(|condition| condition.type_ == "PreflightFailed");
    found.and_then(|condition| condition.message.clone()).unwrap_or_default()
}

/// The output of the release, after all attacks.
async fn log_of_attacks(platform: &TestPlatform) -> Result<String> {
    let pods: Api<Pod> = Api::namespaced(platform.client(), NAMESPACE);
    let labelled = ListParams::default().labels(&format!("{}={}", labels::APP, labels::APP_VALUE));
    wait::until("the attacks", async || {
        let Some(pod) = pods.list(&labelled).await?.items.into_iter().next() else {
            return Ok(None);
        };
        let log = platform.cluster.logs(NAMESPACE, &pod.name_any()).await.unwrap_or_default();
        Ok(log.contains("attacks completed").then_some(log))
    })
    .await
}

/// Permissions that the operator has created for checks.
async fn grants(platform: &TestPlatform) -> Result<Vec<String>> {
    let labelled = ListParams::default().labels(labels::RUN);
    let roles: Api<Role> = Api::all(platform.client());
    let bindings: Api<RoleBinding> = Api::all(platform.client());
    let mut found: Vec<String> =
        roles.list(&labelled).await?.iter().map(kube::ResourceExt::name_any).collect();
    found.extend(bindings.list(&labelled).await?.iter().map(kube::ResourceExt::name_any));
    Ok(found)
}

async fn publish(platform: &TestPlatform) -> Result<String> {
    let mut release = TestRelease::new("5.2.0");
    for (index, object) in check().iter().enumerate() {
        release = release.file(&format!("release-manifests/0000_50_evil_{index}.json"), object);
    }
    let script = SCRIPT.replace("REQUESTS_FILE", REQUESTS).replace("ANSWERS_FILE", ANSWERS);
    let mut tools = LayerBuilder::new()
        .file("hostile", 0o755, script)?
        .file("result.json", 0o644, serde_json::to_vec(&document())?)?
        .file(REQUESTS, 0o644, serde_json::to_vec(&requests())?)?
        .file("connect", 0o644, CONNECT)?
        .file("occupy", 0o644, OCCUPY)?;
    for program in ["sh", "cat", "sed", "mv", "sleep"] {
        tools = tools.host_program(format!("bin/{program}"), &Path::new("/bin").join(program))?;
    }
    tools = tools.host_program("usr/bin/find", Path::new("/usr/bin/find"))?;
    if !platform.cluster.is_sandbox() {
        // Pods of a sandbox share the network of the host, so the attacks would succeed.
        let modules = "usr/lib/x86_64-linux-gnu/perl-base";
        tools = tools
            .host_program("usr/bin/perl", Path::new("/usr/bin/perl"))?
            .host_tree(modules, &Path::new("/").join(modules))?;
    }
    let config = ImageConfig {
        entrypoint: ["/bin/sh", "/hostile"].map(str::to_owned).to_vec(),
        env: vec!["PATH=/bin:/usr/bin".to_owned()],
        ..ImageConfig::default()
    };
    let files = tempfile::tempdir()?;
    release.write(files.path())?;
    let layer = tools.host_tree("/", files.path())?.build()?;
    platform.cluster.publish(&Image::new(vec![layer], &config), "hostile", "1").await
}

fn document() -> Document {
    Document {
        format: FORMAT.to_owned(),
        preflight_id: "RUN_ID".to_owned(),
        source_version: "5.0.0".to_owned(),
        target_version: "5.2.0".to_owned(),
        target_image: "RELEASE_IMAGE".to_owned(),
        execution_status: ExecutionStatus::Completed,
        checks: vec![CheckReport {
            name: "evil".to_owned(),
            status: CheckStatus::Passed,
            ..CheckReport::default()
        }],
        ..Document::default()
    }
}

fn requests() -> JobRequests {
    let [manifest, access @ ..] = check();
    let (name, check) = ("evil-preflight-x1y2z".to_owned(), "evil".to_owned());
    let job = JobRequest { name, check, manifest, access: access.to_vec() };
    let (format, preflight_id) = (jobs::FORMAT.to_owned(), "RUN_ID".to_owned());
    JobRequests { format, preflight_id, jobs: vec![job] }
}

/// A check with a Role for a Secret of the control plane.
fn check() -> [Value; 4] {
    let rbac = "rbac.authorization.k8s.io/v1";
    let image = format!("registry.example/evil@sha256:{}", "1".repeat(64));
    let container = json!({ "name": "evil", "image": image });
    let pod = json!({ "serviceAccountName": "evil", "containers": [container] });
    let secret = json!({
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET], "verbs": ["get"],
    });
    let subject = json!({ "kind": "ServiceAccount", "name": "evil", "namespace": "kube-system" });
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "evil" });
    [
        object("batch/v1", "Job", json!({ "spec": { "template": { "spec": pod } } })),
        object("v1", "ServiceAccount", json!({})),
        object(rbac, "Role", json!({ "rules": [secret] })),
        object(rbac, "RoleBinding", json!({ "roleRef": role, "subjects": [subject] })),
    ]
}

fn object(version: &str, kind: &str, rest: Value) -> Value {
    let mut object = rest;
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    object["metadata"] = json!({
        "name": "evil", "namespace": "kube-system",
        "annotations": {
            vet::ANNOTATION: "true",
            "include.release.openshift.io/self-managed-high-availability": "true",
        },
    });
    object
}

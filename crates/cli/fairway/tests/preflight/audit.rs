//! Requests of preflights to the API server.

use std::fs;

use anyhow::{Context as _, Result};
use fairway_install::manifests::own_manifests;
use fairway_testkit::{AuditEvent, NAMESPACE, TestPlatform};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret, Service, ServiceAccount};
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::support::preflight;
use crate::{commands, unsafe_checks};

/// The ServiceAccount of the preflight runner.
const RUNNER: &str = "system:serviceaccount:openshift-cluster-version:preflight-runner";

/// Beginning of the ServiceAccounts of checks.
const CHECKS: &str = "system:serviceaccount:openshift-cluster-version-preflight:";

#[tokio::test(flavor = "multi_thread")]
async fn preflight_sends_only_read_requests() -> Result<()> {
    let own = own_manifests().into_iter().chain(unsafe_checks::manifests()).collect();
    let platform = TestPlatform::start(own, "5.0.0", "stable-5.2").await?;
    let log = platform.cluster.audit_log()?;
    let mark = log.mark()?;
    preflight(&platform, "5.2.0", 3).await?;
    let events = log.since(mark)?;
    let requests: Vec<&AuditEvent> = events.iter().filter(|it| is_preflight(it)).collect();
    for who in [RUNNER, CHECKS] {
        let is_by = |event: &&AuditEvent| event.user.username.starts_with(who);
        assert!(requests.iter().any(is_by), "no request of {who}");
    }
    let writes: Vec<String> =
        requests.iter().filter(|event| !is_read(event)).map(ToString::to_string).collect();
    assert_eq!(writes, [""; 0]);

    unsafe_checks_are_refused(&platform, &events).await?;
    documented_commands_work(&platform).await?;
    forbidden_requests_of_a_check_are_refused(&platform).await?;
    runner_token_permits_only_reads(&platform).await
}

fn is_preflight(event: &AuditEvent) -> bool {
    let name = &event.user.username;
    name == RUNNER || name.starts_with(CHECKS)
}

fn is_read(event: &AuditEvent) -> bool {
    // A GET of these subresources opens a connection to a pod.
    let connecting = ["exec", "attach", "portforward", "proxy"];
    let object = event.object_ref.as_ref();
    let connects = object.is_some_and(|object| connecting.contains(&object.subresource.as_str()));
    matches!(event.verb.as_str(), "get" | "list" | "watch") && !connects
}

/// The report names the reason for each unsafe check, and the operator creates none of their objects.
async fn unsafe_checks_are_refused(platform: &TestPlatform, events: &[AuditEvent]) -> Result<()> {
    let text = platform.upgrade(&["--status-preflight"], 3).await?;
    for (check, reason) in unsafe_checks::REFUSALS {
        let is_refusal = |line: &str| line.contains(check) && line.contains(reason);
        assert!(text.lines().any(is_refusal), "{check}: {text}");
    }
    let is_unsafe = |event: &&AuditEvent| {
        let object = event.object_ref.as_ref();
        event.is_write() && object.is_some_and(|object| object.name.starts_with("unsafe"))
    };
    let written: Vec<String> = events.iter().filter(is_unsafe).map(ToString::to_string).collect();
    assert_eq!(written, [""; 0]);
    Ok(())
}

async fn documented_commands_work(platform: &TestPlatform) -> Result<()> {
    let files = tempfile::tempdir()?;
    let credentials = files.path().join("credentials.json");
    fs::write(&credentials, r#"{"auths":{"registry.example":{"auth":"YTpi"}}}"#)?;
    let nodes: Api<Node> = Api::all(platform.client());
    let node = nodes.list(&ListParams::default()).await?;
    let node = node.iter().next().context("no node")?.name_any();
    let release = platform.image("5.2.0")?;
    let file = credentials.to_str().context("a UTF-8 path")?;
    let variables = [("FILE", file), ("NODE", &node), ("RELEASE", &release)];
    for (heading, expected) in commands::INSPECTION.into_iter().zip([
        ["type: PreflightFailed", "cluster-version-operator-preflight", "preflight-"],
        ["registry.example", "5.2.0", "cluster-version-operator-preflight"],
        ["PreflightPartial", "operator", "memory"],
    ]) {
        let text = commands::run(platform, heading, &variables)?;
        for expected in expected {
            assert!(text.contains(expected), "{heading}: no {expected} in {text}");
        }
    }
    Ok(())
}

/// The report has the refusals that the check got, and the results of the other checks.
async fn forbidden_requests_of_a_check_are_refused(platform: &TestPlatform) -> Result<()> {
    platform.set_behaviour("fragile", json!({ "preflight": "trespass" })).await?;
    let log = platform.cluster.audit_log()?;
    let mark = log.mark()?;
    platform.upgrade(&["--clear-preflight"], 0).await?;
    let text = preflight(platform, "5.2.0", 3).await?;
    for request in
        ["writing a ConfigMap", "reading Secrets", "exec", "attach", "port-forward", "proxy"]
    {
        assert!(text.contains(&format!("{request} was refused")), "{request}: {text}");
    }
    assert!(text.contains("StorageCSIDriverIncompatible"), "{text}");
    let events = log.since(mark)?;
    let forbidden = events.iter().filter(|event| is_preflight(event) && !is_read(event));
    let codes: Vec<Option<u16>> =
        forbidden.map(|event| event.response_status.as_ref().map(|status| status.code)).collect();
    assert!(codes.len() >= 5 && codes.iter().all(|code| *code == Some(403)), "{codes:?}");
    Ok(())
}

/// A stolen token of the runner permits neither writes nor connections to pods.
async fn runner_token_permits_only_reads(platform: &TestPlatform) -> Result<()> {
    let runner = platform.cluster.client_with_token(&token(platform).await?).await?;
    let pods: Api<Pod> = Api::namespaced(runner.clone(), NAMESPACE);
    let found = pods.list(&ListParams::default()).await.context("cannot list pods")?;
    let pod = found.iter().next().context("no pod")?.name_any();
    let node = Api::<Node>::all(runner.clone()).list(&ListParams::default()).await?;
    let node = node.iter().next().context("no node")?.name_any();

    for subresource in ["exec", "attach", "portforward"] {
        let by_get = pods.get_subresource(subresource, &pod).await;
        refused(&format!("{subresource} by GET"), by_get)?;
        let by_post: kube::Result<Value> =
            pods.create_subresource(subresource, &pod, &PostParams::default(), &json!({})).await;
        refused(&format!("{subresource} by POST"), by_post)?;
    }
    refused("proxy of a pod", pods.get_subresource("proxy", &pod).await)?;
    let nodes: Api<Node> = Api::all(runner.clone());
    refused("proxy of a node", nodes.get_subresource("proxy", &node).await)?;
    let services: Api<Service> = Api::namespaced(runner.clone(), "default");
    refused("proxy of a service", services.get_subresource("proxy", "kubernetes").await)?;
    secrets_are_refused(&runner).await?;
    let maps: Api<ConfigMap> = Api::namespaced(runner, NAMESPACE);
    let metadata = ObjectMeta { name: Some("written".to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    refused("writing", maps.create(&PostParams::default(), &map).await)
}

async fn secrets_are_refused(runner: &Client) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(runner.clone(), "openshift-config");
    refused("reading a Secret", secrets.get("pull-secret").await)?;
    let everywhere: Api<Secret> = Api::all(runner.clone());
    refused("listing Secrets", everywhere.list(&ListParams::default()).await)
}

/// A token of the ServiceAccount of the runner.
async fn token(platform: &TestPlatform) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(platform.client(), NAMESPACE);
    let spec = TokenRequestSpec { expiration_seconds: Some(600), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let parameters = PostParams::default();
    let made = accounts.create_token_request("preflight-runner", &parameters, &request).await?;
    Ok(made.status.context("no token")?.token)
}

fn refused<T>(what: &str, answer: kube::Result<T>) -> Result<()> {
    let code = match answer {
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => return Err(error).with_context(|| what.to_owned()),
        Ok(_) => 200,
    };
    anyhow::ensure!(code == 403, "{what}: {code}");
    Ok(())
}

//! What the API server has seen of preflights: reading, and nothing else.

use std::fs;

use anyhow::{Context as _, Result};
use fairway_install::manifests::own_manifests;
use fairway_testkit::{AuditEvent, NAMESPACE, TestPlatform};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret, Service, ServiceAccount};
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::ground::{ask, upgrade};
use crate::{commands, greedy};

/// The release that is asked.
const RUNNER: &str = "system:serviceaccount:openshift-cluster-version:preflight-runner";

/// All checks of its operators.
const CHECKS: &str = "system:serviceaccount:openshift-cluster-version-preflight:";

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_about_a_cluster_writes_nothing() -> Result<()> {
    let own = own_manifests().into_iter().chain(greedy::manifests()).collect();
    let platform = TestPlatform::install(own, "5.0.0", "stable-5.2").await?;
    let log = platform.cluster.audit_log()?;
    let mark = log.mark()?;
    ask(&platform, "5.2.0", 3).await?;
    let events = log.since(mark)?;
    let asked: Vec<&AuditEvent> = events.iter().filter(|event| is_of_a_preflight(event)).collect();
    for who in [RUNNER, CHECKS] {
        let has_asked = |event: &&AuditEvent| event.user.username.starts_with(who);
        assert!(asked.iter().any(has_asked), "{who} has asked for nothing");
    }
    let beyond_reading: Vec<String> =
        asked.iter().filter(|event| !is_reading(event)).map(ToString::to_string).collect();
    assert_eq!(beyond_reading, [""; 0]);

    who_asks_for_more_gets_nothing(&platform, &events).await?;
    the_documented_commands_help(&platform).await?;
    a_check_that_trespasses_is_refused(&platform).await?;
    the_token_of_a_run_is_good_for_reading_alone(&platform).await
}

fn is_of_a_preflight(event: &AuditEvent) -> bool {
    let name = &event.user.username;
    name == RUNNER || name.starts_with(CHECKS)
}

fn is_reading(event: &AuditEvent) -> bool {
    let of_a_pod = ["exec", "attach", "portforward", "proxy"];
    let runs_something = event
        .object_ref
        .as_ref()
        .is_some_and(|object| of_a_pod.contains(&object.subresource.as_str()));
    matches!(event.verb.as_str(), "get" | "list" | "watch") && !runs_something
}

/// That is told of every check that did, and none of them was created, nor what it brings.
async fn who_asks_for_more_gets_nothing(
    platform: &TestPlatform,
    events: &[AuditEvent],
) -> Result<()> {
    let told = upgrade(platform, &["--status-preflight"], 3).await?;
    for (check, words) in greedy::REFUSALS {
        let is_told = |line: &str| line.contains(check) && line.contains(words);
        assert!(told.lines().any(is_told), "{check}: {told}");
    }
    let is_greedy = |event: &&AuditEvent| {
        let object = event.object_ref.as_ref();
        event.is_write() && object.is_some_and(|object| object.name.starts_with("greedy"))
    };
    let written: Vec<String> = events.iter().filter(is_greedy).map(ToString::to_string).collect();
    assert_eq!(written, [""; 0]);
    Ok(())
}

async fn the_documented_commands_help(platform: &TestPlatform) -> Result<()> {
    let files = tempfile::tempdir()?;
    let credentials = files.path().join("credentials.json");
    fs::write(&credentials, r#"{"auths":{"registry.example":{"auth":"YTpi"}}}"#)?;
    let nodes: Api<Node> = Api::all(platform.cluster.client());
    let node = nodes.list(&ListParams::default()).await?;
    let node = node.iter().next().context("no node")?.name_any();
    let release = platform.image("5.2.0")?;
    let file = credentials.to_str().context("a path of text")?;
    let variables = [("FILE", file), ("NODE", &node), ("RELEASE", &release)];
    for (heading, words) in commands::LOOKS.into_iter().zip([
        ["type: PreflightFailed", "cluster-version-operator-preflight", "preflight-"],
        ["registry.example", "5.2.0", "cluster-version-operator-preflight"],
        ["PreflightPartial", "operator", "memory"],
    ]) {
        let said = commands::run(platform, heading, &variables)?;
        for words in words {
            assert!(said.contains(words), "{heading} does not tell of {words}: {said}");
        }
    }
    Ok(())
}

/// What it was told is reported, and the others go on.
async fn a_check_that_trespasses_is_refused(platform: &TestPlatform) -> Result<()> {
    platform.tell("fragile", json!({ "preflight": "trespass" })).await?;
    let log = platform.cluster.audit_log()?;
    let mark = log.mark()?;
    upgrade(platform, &["--clear-preflight"], 0).await?;
    let told = ask(platform, "5.2.0", 3).await?;
    for way in ["writing a ConfigMap", "reading Secrets", "exec", "attach", "port-forward", "proxy"]
    {
        assert!(told.contains(&format!("{way} was refused")), "{way}: {told}");
    }
    assert!(told.contains("StorageCSIDriverIncompatible"), "{told}");
    let events = log.since(mark)?;
    let trespasses = events.iter().filter(|event| is_of_a_preflight(event) && !is_reading(event));
    let answers: Vec<Option<u16>> =
        trespasses.map(|event| event.response_status.as_ref().map(|status| status.code)).collect();
    assert!(answers.len() >= 5 && answers.iter().all(|code| *code == Some(403)), "{answers:?}");
    Ok(())
}

/// Whoever has stolen it cannot get further.
async fn the_token_of_a_run_is_good_for_reading_alone(platform: &TestPlatform) -> Result<()> {
    let thief = platform.cluster.client_with_token(&token(platform).await?).await?;
    let pods: Api<Pod> = Api::namespaced(thief.clone(), NAMESPACE);
    let found = pods.list(&ListParams::default()).await.context("it may read")?;
    let pod = found.iter().next().context("no pod")?.name_any();
    let node = Api::<Node>::all(thief.clone()).list(&ListParams::default()).await?;
    let node = node.iter().next().context("no node")?.name_any();

    for way in ["exec", "attach", "portforward"] {
        let by_get = pods.get_subresource(way, &pod).await;
        refused(&format!("{way} by GET"), by_get)?;
        let by_post: kube::Result<Value> =
            pods.create_subresource(way, &pod, &PostParams::default(), &json!({})).await;
        refused(&format!("{way} by POST"), by_post)?;
    }
    refused("proxy of a pod", pods.get_subresource("proxy", &pod).await)?;
    let nodes: Api<Node> = Api::all(thief.clone());
    refused("proxy of a node", nodes.get_subresource("proxy", &node).await)?;
    let services: Api<Service> = Api::namespaced(thief.clone(), "default");
    refused("proxy of a service", services.get_subresource("proxy", "kubernetes").await)?;
    refuses_secrets(&thief).await?;
    let maps: Api<ConfigMap> = Api::namespaced(thief, NAMESPACE);
    let metadata = ObjectMeta { name: Some("written".to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    refused("writing", maps.create(&PostParams::default(), &map).await)
}

async fn refuses_secrets(thief: &Client) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(thief.clone(), "openshift-config");
    refused("reading a Secret", secrets.get("pull-secret").await)?;
    let everywhere: Api<Secret> = Api::all(thief.clone());
    refused("listing Secrets", everywhere.list(&ListParams::default()).await)
}

/// A token of the account in which the release runs.
async fn token(platform: &TestPlatform) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(platform.cluster.client(), NAMESPACE);
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
    anyhow::ensure!(code == 403, "{what} was answered with {code}");
    Ok(())
}

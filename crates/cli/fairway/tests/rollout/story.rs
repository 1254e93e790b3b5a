//! Installing a platform and updating it, with operators that behave and operators that do not.

use anyhow::{Context as _, Result};
use fairway_api::Conditions as _;
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_install::manifests::own_manifests;
use fairway_testkit::{NAMESPACE, TestPlatform};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use crate::drift;

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_goes_from_release_to_release() -> Result<()> {
    let platform = TestPlatform::install(own_manifests(), "5.0.0", "stable-5.1").await?;
    let image = platform.image("5.0.0")?;
    let installed = platform.status().await?;
    assert_eq!((&installed.desired.version[..], installed.desired.image), ("5.0.0", image));
    assert_eq!(history(&platform.status().await?), [("5.0.0", UpdateState::Completed)]);
    add_a_foreign_field(&platform).await?;

    update_past_operators_that_stand_in_the_way(&platform).await?;
    update_past_one_that_is_degraded(&platform).await?;

    only_foreign_fields_are_left(&platform).await?;
    the_operator_is_that_of(&platform, "5.1.0").await?;
    drift::repairs_what_drifts(&platform).await?;
    drift::writes_nothing_when_it_starts_again(&platform).await
}

/// Who is not available, and who stays at its old version, holds the update.
async fn update_past_operators_that_stand_in_the_way(platform: &TestPlatform) -> Result<()> {
    platform.tell("storage", json!({ "unavailable": "No disk answers." })).await?;
    platform.tell("machine-config", json!({ "stuck": "true" })).await?;
    platform.until_operator("storage", "Available", "False").await?;
    platform.update(&["--to=5.0.1", "--allow-upgrade-with-warnings"]).await?;

    let status = platform.until_condition("Failing", "True", "ClusterOperatorNotAvailable").await?;
    let told = message(&status, "Failing");
    assert!(told.starts_with("Cluster operator storage is not available"), "{told}");
    platform.tell("storage", json!({ "unavailable": null })).await?;

    let waits = |status: &ClusterVersionStatus| {
        message(status, "Progressing").contains("waiting on machine-config")
    };
    let status = platform.until("machine-config to be waited for", waits).await?;
    assert!(status.conditions.is_false("Failing"), "{:#?}", status.conditions);
    let ways = [("5.0.1", UpdateState::Partial), ("5.0.0", UpdateState::Completed)];
    assert_eq!(history(&status), ways);
    platform.tell("machine-config", json!({ "stuck": null })).await?;
    platform.until_completed("5.0.1").await?;
    Ok(())
}

/// Who is degraded throughout is reported, and holds nothing.
async fn update_past_one_that_is_degraded(platform: &TestPlatform) -> Result<()> {
    platform.tell("fragile", json!({ "degraded": "One disk of three is broken." })).await?;
    platform.until_operator("fragile", "Degraded", "True").await?;
    platform.update(&["--to=5.1.0"]).await?;
    platform.until_completed("5.1.0").await?;
    let status = platform.until_condition("Failing", "True", "ClusterOperatorDegraded").await?;
    assert!(status.conditions.is_true("Available"), "{:#?}", status.conditions);
    assert!(status.conditions.is_false("Progressing"), "{:#?}", status.conditions);
    let ways = ["5.1.0", "5.0.1", "5.0.0"].map(|version| (version, UpdateState::Completed));
    assert_eq!(history(&status), ways);
    Ok(())
}

async fn add_a_foreign_field(platform: &TestPlatform) -> Result<()> {
    let patch = Patch::Merge(json!({ "data": { "foreign": "kept" } }));
    let maps = platform.config_maps("openshift-ingress");
    maps.patch("ingress-defaults", &PatchParams::default(), &patch).await?;
    Ok(())
}

/// What the new release sets no more is gone, and what it never set stays.
async fn only_foreign_fields_are_left(platform: &TestPlatform) -> Result<()> {
    let found = platform.config_map("openshift-ingress", "ingress-defaults").await?;
    let data = found.and_then(|found| found.data).context("no data")?;
    let data: Vec<_> = data.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let expected = [
        ("foreign", "kept"),
        ("minimum-rsa-bits", "2048"),
        ("minimum-tls-version", "1.3"),
        ("refuse-sha1", "true"),
        ("replicas", "2"),
    ];
    assert_eq!(data, expected);
    assert_eq!(platform.config_map("openshift-storage", "legacy-classes").await?, None);
    Ok(())
}

/// The operator of the release runs, and leads.
async fn the_operator_is_that_of(platform: &TestPlatform, version: &str) -> Result<()> {
    let (client, image) = (platform.cluster.client(), platform.image(version)?);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let deployment = deployments.get("cluster-version-operator").await?;
    let pod = deployment.spec.and_then(|spec| spec.template.spec).context("no pod")?;
    assert_eq!(pod.containers[0].image.as_deref(), Some(&image[..]));

    let lease = Api::<Lease>::namespaced(client.clone(), NAMESPACE).get("version").await?;
    let leader = lease.spec.and_then(|spec| spec.holder_identity).context("nobody leads")?;
    let pods = Api::<Pod>::namespaced(client, NAMESPACE).list(&ListParams::default()).await?;
    let leads = |pod: &&Pod| pod.metadata.uid.as_deref().is_some_and(|uid| leader.contains(uid));
    let leader = pods.iter().find(leads).with_context(|| format!("{leader} is no pod"))?;
    let container = leader.spec.as_ref().map(|spec| &spec.containers[0]).context("no spec")?;
    assert_eq!(container.image.as_deref(), Some(&image[..]));
    Ok(())
}

fn history(status: &ClusterVersionStatus) -> Vec<(&str, UpdateState)> {
    let entries = status.history.iter();
    entries
        .map(|entry| (entry.version.as_deref().unwrap_or_default(), entry.state.clone()))
        .collect()
}

fn message<'a>(status: &'a ClusterVersionStatus, type_: &str) -> &'a str {
    let condition = status.conditions.find(type_);
    condition.and_then(|condition| condition.message.as_deref()).unwrap_or_default()
}

//! Installation and updates of a platform whose operators are unavailable, stuck or degraded.

use anyhow::{Context as _, Result};
use fairway_api::Conditions as _;
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_install::manifests::own_manifests;
use fairway_testkit::cluster_version::{history, message};
use fairway_testkit::{NAMESPACE, TestPlatform};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::drift;

#[tokio::test(flavor = "multi_thread")]
async fn updates_complete_past_unavailable_stuck_and_degraded_operators() -> Result<()> {
    let platform = TestPlatform::start(own_manifests(), "5.0.0", "stable-5.1").await?;
    let image = platform.image("5.0.0")?;
    let installed = platform.status().await?;
    assert_eq!((&installed.desired.version[..], installed.desired.image), ("5.0.0", image));
    assert_eq!(history(&platform.status().await?), [("5.0.0", UpdateState::Completed)]);
    let foreign = json!({ "foreign": "kept" });
    platform.patch_config_map(("openshift-ingress", "ingress-defaults"), foreign).await?;

    update_waits_for_unavailable_and_stuck_operators(&platform).await?;
    update_completes_with_degraded_operator(&platform).await?;

    only_removed_fields_are_gone(&platform).await?;
    leader_runs_the_image_of(&platform, "5.1.0").await?;
    drift::operator_corrects_drift(&platform).await?;
    drift::restarted_operator_writes_nothing(&platform).await
}

/// An update waits for an operator that is unavailable, and for one that stays at its old version.
async fn update_waits_for_unavailable_and_stuck_operators(platform: &TestPlatform) -> Result<()> {
    platform.set_behaviour("storage", json!({ "unavailable": "No disk answers." })).await?;
    platform.set_behaviour("machine-config", json!({ "stuck": "true" })).await?;
    platform.wait_until_operator("storage", "Available", "False").await?;
    platform.upgrade(&["--to=5.0.1", "--allow-upgrade-with-warnings"], 0).await?;

    let status =
        platform.wait_until_condition("Failing", "True", "ClusterOperatorNotAvailable").await?;
    let failing = message(&status, "Failing");
    assert!(failing.starts_with("Cluster operator storage is not available"), "{failing}");
    platform.set_behaviour("storage", json!({ "unavailable": null })).await?;

    let waits = |status: &ClusterVersionStatus| {
        message(status, "Progressing").contains("waiting on machine-config")
    };
    let status = platform.wait_until("an update that waits for machine-config", waits).await?;
    assert!(status.conditions.is_false("Failing"), "{:#?}", status.conditions);
    let expected = [("5.0.1", UpdateState::Partial), ("5.0.0", UpdateState::Completed)];
    assert_eq!(history(&status), expected);
    platform.set_behaviour("machine-config", json!({ "stuck": null })).await?;
    platform.wait_until_completed("5.0.1").await?;
    Ok(())
}

/// `Degraded` is reported and does not block an update.
async fn update_completes_with_degraded_operator(platform: &TestPlatform) -> Result<()> {
    platform
        .set_behaviour("fragile", json!({ "degraded": "One disk of three is broken." }))
        .await?;
    platform.wait_until_operator("fragile", "Degraded", "True").await?;
    platform.upgrade(&["--to=5.1.0"], 0).await?;
    platform.wait_until_completed("5.1.0").await?;
    let status =
        platform.wait_until_condition("Failing", "True", "ClusterOperatorDegraded").await?;
    assert!(status.conditions.is_true("Available"), "{:#?}", status.conditions);
    assert!(status.conditions.is_false("Progressing"), "{:#?}", status.conditions);
    let expected = ["5.1.0", "5.0.1", "5.0.0"].map(|version| (version, UpdateState::Completed));
    assert_eq!(history(&status), expected);
    Ok(())
}

/// An update removes fields and objects that only the old release has, and keeps fields of others.
async fn only_removed_fields_are_gone(platform: &TestPlatform) -> Result<()> {
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

/// The pod that holds the Lease has the image of a release.
async fn leader_runs_the_image_of(platform: &TestPlatform, version: &str) -> Result<()> {
    let (client, image) = (platform.client(), platform.image(version)?);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let deployment = deployments.get("cluster-version-operator").await?;
    let pod = deployment.spec.and_then(|spec| spec.template.spec).context("no pod")?;
    assert_eq!(pod.containers[0].image.as_deref(), Some(&image[..]));

    let lease = Api::<Lease>::namespaced(client.clone(), NAMESPACE).get("version").await?;
    let leader = lease.spec.and_then(|spec| spec.holder_identity).context("no leader")?;
    let pods = Api::<Pod>::namespaced(client, NAMESPACE).list(&ListParams::default()).await?;
    let leads = |pod: &&Pod| pod.metadata.uid.as_deref().is_some_and(|uid| leader.contains(uid));
    let leader = pods.iter().find(leads).with_context(|| format!("{leader} is no pod"))?;
    let container = leader.spec.as_ref().map(|spec| &spec.containers[0]).context("no spec")?;
    assert_eq!(container.image.as_deref(), Some(&image[..]));
    Ok(())
}

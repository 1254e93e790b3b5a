//! Manifests of real operators.

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::UpdateState;
use fairway_api::{ClusterOperator, ClusterOperatorStatus};
use fairway_sandbox::faults::Fault;
use fairway_testkit::{objects, wait};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};

use super::stage::{Stage, cluster_operator, object};

/// The CRD of ClusterOperator, with its required fields.
fn cluster_operator_crd() -> Result<Value> {
    let crds = fairway_api::crds::all();
    let is_it = |crd: &&CustomResourceDefinition| crd.spec.names.kind == "ClusterOperator";
    let crd = crds.iter().find(is_it).context("it is among them")?;
    let (metadata, rest) = (json!({"name": crd.metadata.name}), json!({"spec": crd.spec}));
    Ok(object("apiextensions.k8s.io/v1", "CustomResourceDefinition", metadata, rest))
}

async fn with_related_objects(stage: &Stage, name: &str) -> Result<ClusterOperator> {
    let operators: Api<ClusterOperator> = Api::all(stage.cluster.client());
    wait::until("relatedObjects", async || {
        let is_told = |status: &ClusterOperatorStatus| !status.related_objects.is_empty();
        let operator = operators.get_opt(name).await?;
        Ok(operator.filter(|operator| operator.status.as_ref().is_some_and(is_told)))
    })
    .await
}

#[tokio::test]
async fn cluster_operator_without_required_fields_gets_their_zero_values() -> Result<()> {
    let stage = Stage::updating().await?;
    let mut operator = cluster_operator("network", "5.1.0");
    operator.as_object_mut().context("an object")?.remove("spec");
    operator["status"]["relatedObjects"] = json!([{"group": "", "resource": "nodes"}]);
    stage.aim("5.1.0", &[("0000_00_a_1", cluster_operator_crd()?), ("0000_10_b_1", operator)]);
    let operator = with_related_objects(&stage, "network").await?;
    let related = &operator.status.context("it has one")?.related_objects[0];
    assert_eq!((related.resource.as_str(), related.name.as_str()), ("nodes", ""));
    stage.report("network", &objects::working_at("5.1.0")).await?;
    stage.until_complete().await?;
    Ok(())
}

#[tokio::test]
async fn cluster_operator_of_an_interrupted_attempt_gets_its_related_objects() -> Result<()> {
    let stage = Stage::updating().await?;
    let operators: Api<ClusterOperator> = Api::all(stage.cluster.client());
    operators.create(&PostParams::default(), &objects::cluster_operator("network")).await?;
    stage.aim("5.1.0", &[("0000_10_a_1", cluster_operator("network", "5.1.0"))]);
    with_related_objects(&stage, "network").await?;
    Ok(())
}

#[tokio::test]
async fn related_objects_are_written_in_the_sandbox_after_an_early_failure() -> Result<()> {
    for fault in [
        Fault::refuse(504).verb("patch").resource("clusteroperators"),
        Fault::refuse(504).verb("patch").resource("clusteroperators/status"),
    ] {
        let stage = Stage::updating().await?;
        let Some(sandbox) = stage.cluster.fault_injection() else { return Ok(()) };
        sandbox.faults().add(fault.times(1));
        stage.aim("5.1.0", &[("0000_10_a_1", cluster_operator("network", "5.1.0"))]);
        with_related_objects(&stage, "network").await?;
    }
    Ok(())
}

#[tokio::test]
async fn custom_resource_before_its_crd_holds_up_nothing() -> Result<()> {
    let stage = Stage::updating().await?;
    let group = format!("{}.example.com", stage.namespace.name());
    let name = format!("gadgets.{group}");
    let crd = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        json!({ "name": name }),
        json!({"spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        }}),
    );
    stage.aim(
        "5.1.0",
        &[
            ("0000_05_a_1", stage.object(&format!("{group}/v1"), "Gadget", "first", json!({}))),
            ("0000_05_a_2", stage.config_map("a-2", "new")),
            ("0000_10_a_1", crd),
            ("0000_20_a_1", stage.config_map("a-3", "new")),
        ],
    );
    let complete = stage.until_complete().await;
    let crds: Api<CustomResourceDefinition> = Api::all(stage.cluster.client());
    crds.delete(&name, &DeleteParams::default()).await?;
    assert_eq!(complete?.failures, []);
    Ok(())
}

#[tokio::test]
async fn failed_workload_is_retried_while_its_cluster_operator_is_awaited() -> Result<()> {
    let stage = Stage::begin(&[("5.1.0", UpdateState::Partial)]).await?;
    let later = format!("{}-later", stage.namespace.name());
    let deployment = object(
        "apps/v1",
        "Deployment",
        json!({"name": "network", "namespace": later}),
        json!({"spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "network"}},
            "template": {
                "metadata": {"labels": {"app": "network"}},
                "spec": {"containers": [{"name": "network", "image": "registry.example/network"}]},
            },
        }}),
    );
    stage.aim(
        "5.1.0",
        &[("0000_10_a_1", deployment), ("0000_10_a_2", cluster_operator("network", "5.1.0"))],
    );
    // Both have failed by then: the component cannot report before its workload exists.
    let reasons = ["UpdatePayloadResourceNotFound", "ClusterOperatorNotAvailable"];
    let failing = stage.until_failing(&reasons).await;
    let namespaces: Api<Namespace> = Api::all(stage.cluster.client());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": later}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;
    let deployments: Api<Deployment> = Api::namespaced(stage.cluster.client(), &later);
    let created =
        wait::until("the Deployment", async || Ok(deployments.get_opt("network").await?)).await;
    namespaces.delete(&later, &DeleteParams::default()).await?;
    failing?;
    created.map(drop)
}

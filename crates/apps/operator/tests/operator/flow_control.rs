//! Flow schemas of the operator, where the API server serves them.

use std::collections::BTreeSet;

use anyhow::Result;
use fairway_testkit::TestCluster;
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::running::Running;

/// Lets the sandbox serve flow schemas: it has none of its own.
async fn define(client: &Client) -> Result<()> {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {
            "name": "flowschemas.flowcontrol.apiserver.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": "flowcontrol.apiserver.k8s.io", "scope": "Cluster",
            "names": {"kind": "FlowSchema", "plural": "flowschemas"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": anything},
            }],
        },
    }))?;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &crd).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn flow_schemas_are_applied_where_the_server_serves_them() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let Some(_) = cluster.fault_injection() else { return Ok(()) };
    let namespace = cluster.namespace("flow-control").await?;
    let client = cluster.client();
    let running = Running::start(client.clone(), namespace.name()).await?;
    running.until("/metrics", |_, text| text.contains("fairway_operator_leader 1")).await?;
    running.stop().await?;

    define(&client).await?;
    let schemas: Api<FlowSchema> = Api::all(client.clone());
    cluster
        .wait_until("flow schemas to be served", |_| async {
            Ok(schemas.list(&ListParams::default()).await.ok().map(drop))
        })
        .await?;
    let running = Running::start(client, namespace.name()).await?;
    let names = cluster
        .wait_until("the flow schemas", |_| async {
            let listed = schemas.list(&ListParams::default()).await?;
            let names: BTreeSet<String> = listed.iter().map(ResourceExt::name_any).collect();
            Ok((names.len() == 2).then_some(names))
        })
        .await?;
    let expected = ["fairway-operator", "fairway-operator-leases"].map(str::to_owned);
    assert_eq!(names, expected.into());
    running.stop().await
}

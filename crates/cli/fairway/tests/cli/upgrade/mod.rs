//! `fairway upgrade`, with a cluster.

mod accept;
mod alerts;
mod channel;
mod confirmation;
mod connection;
mod error_documents;
mod explain;
mod must_gather;
mod plan;
pub(crate) mod preflight;
mod recorded;
mod recording;
mod report;
mod request;
mod status;
mod stdin;

use std::path::Path;

use anyhow::{Context, Result};
use fairway_api::cluster_version::{
    ConditionalUpdate, ConditionalUpdateRisk, MatchingRule, MatchingRuleType,
};
use fairway_api::{
    CLUSTER_VERSION_NAME, ClusterVersion, ClusterVersionStatus, Condition, Conditions,
    OperatorCondition,
};
use fairway_testkit::{TestCluster, objects};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PostParams};

use crate::{fairway, transcript};

/// The transcript of `fairway upgrade` against a cluster. The sandbox runs in the runtime of the test, so
/// the wait needs another thread.
fn upgrade(kubeconfig: &Path, arguments: &[&str]) -> String {
    let mut command = fairway();
    command.env("KUBECONFIG", kubeconfig).arg("upgrade").args(arguments);
    tokio::task::block_in_place(|| transcript(&mut command))
}

/// The document that `fairway upgrade` prints.
fn document(kubeconfig: &Path, arguments: &[&str]) -> Result<serde_json::Value> {
    let text = upgrade(kubeconfig, &[arguments, &["--output=json"]].concat());
    let json = text.split_once("stdout -----\n").context("no document")?.1;
    let json = json.split("----- stderr").next().unwrap_or(json);
    serde_json::from_str(json).with_context(|| text.clone())
}

/// A cluster at 5.1.0: 5.1.1 is recommended, and 5.2.0 has a risk.
pub(crate) async fn create_cluster_version(cluster: &TestCluster) -> Result<Api<ClusterVersion>> {
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    let mut object = api.create(&PostParams::default(), &objects::cluster_version()).await?;
    object.status = Some(status());
    api.replace_status(CLUSTER_VERSION_NAME, &PostParams::default(), &object).await?;
    Ok(api)
}

/// Removes a property of requests from the CRD of ClusterVersion, as in older releases.
async fn remove_property(cluster: &TestCluster, name: &str) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let of_cluster_version = "clusterversions.config.openshift.io";
    let mut definition = definitions.get(of_cluster_version).await?;
    let schema = definition.spec.versions[0].schema.as_mut();
    let mut schema = schema.and_then(|schema| schema.open_api_v3_schema.as_mut());
    for property in ["spec", "desiredUpdate"] {
        schema = schema.and_then(|schema| schema.properties.as_mut()?.get_mut(property));
    }
    let properties = schema.and_then(|schema| schema.properties.as_mut()).context("no schema")?;
    properties.remove(name).with_context(|| format!("no {name} in the schema"))?;
    definitions.replace(of_cluster_version, &PostParams::default(), &definition).await?;
    Ok(())
}

pub(crate) fn status() -> ClusterVersionStatus {
    let now = objects::beginning().0;
    let mut status = objects::status_at("5.1.0");
    status.conditions.set(OperatorCondition::new("RetrievedUpdates", true), now);
    status.available_updates = Some(vec![objects::release("5.1.1")]);
    let mut risk = ConditionalUpdateRisk {
        name: "SlowDisks".to_owned(),
        message: "Nodes with slow disks may miss leases.".to_owned(),
        url: "https://example.com/slow-disks".to_owned(),
        matching_rules: vec![MatchingRule {
            type_: MatchingRuleType::Always,
            ..MatchingRule::default()
        }],
        ..ConditionalUpdateRisk::default()
    };
    risk.conditions.set(Condition::new("Applies", true, "Match", "It does."), now);
    let mut update = ConditionalUpdate {
        release: objects::release("5.2.0"),
        risk_names: vec![risk.name.clone()],
        risks: vec![risk.clone()],
        ..ConditionalUpdate::default()
    };
    let message = format!("{} {}", risk.message, risk.url);
    update.conditions.set(Condition::new("Recommended", false, "SlowDisks", message), now);
    status.conditional_update_risks = vec![risk];
    status.conditional_updates = vec![update];
    status
}

//! `fairway olm` and `fairway olm-guard`.

mod check;
mod guard;
mod list;

use std::path::Path;

use anyhow::Result;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_testkit::{TestCluster, objects, olm};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::{fairway, transcript};

/// The kind of installed operators.
const OPERATORS: &str = "ClusterServiceVersion";

/// The transcript of a command against a cluster.
fn run(kubeconfig: &Path, arguments: &[&str]) -> String {
    let mut command = fairway();
    command.env("KUBECONFIG", kubeconfig).args(arguments);
    tokio::task::block_in_place(|| transcript(&mut command))
}

/// A cluster at 5.1.0 with OLM's kinds, and with updates to 5.1.1, 5.2.0 and 5.3.0.
async fn prepare(cluster: &TestCluster) -> Result<()> {
    olm::define(&cluster.client()).await?;
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    let mut object = api.create(&PostParams::default(), &objects::cluster_version()).await?;
    let mut status = objects::status_at("5.1.0");
    status.available_updates = Some(["5.1.1", "5.2.0", "5.3.0"].map(objects::release).to_vec());
    object.status = Some(status);
    api.replace_status(CLUSTER_VERSION_NAME, &PostParams::default(), &object).await?;
    Ok(())
}

/// Creates an operator with metadata.
async fn install(
    cluster: &TestCluster,
    namespace: &str,
    name: &str,
    metadata: Value,
) -> Result<()> {
    let api = olm::objects(&cluster.client(), OPERATORS, namespace)?;
    let object = olm::object(OPERATORS, name, json!({"metadata": metadata, "spec": {}}))?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Metadata with the maximum OpenShift version of an operator.
fn up_to(maximum: &str) -> Value {
    json!({"annotations": {"operators.coreos.com/maxOpenShiftVersion": maximum}})
}

#[test]
fn help() {
    let helps = [&["olm", "--help"][..], &["olm", "list", "--help"], &["olm", "check", "--help"]];
    let helps = helps.map(|arguments| transcript(fairway().args(arguments)));
    insta::assert_snapshot!(helps.join("\n"));
    insta::assert_snapshot!("guard", transcript(fairway().args(["olm-guard", "--help"])));
}

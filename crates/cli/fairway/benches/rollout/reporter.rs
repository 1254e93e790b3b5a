//! Stub components: each reports the version in its Deployment at once.

use std::collections::BTreeMap;

use anyhow::Result;
use fairway_api::ClusterOperator;
use fairway_testkit::objects;
use futures::TryStreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::releases::Payload;

/// The environment variable of a Deployment with the version of its component.
const VERSION: &str = "RELEASE_VERSION";

/// Reports of all components. Dropping it ends them.
pub(crate) struct Reporter(JoinHandle<()>);

impl Reporter {
    pub(crate) fn start(client: Client, payload: &Payload) -> Self {
        let operators = operators(payload);
        Self(tokio::spawn(async move {
            let mut reported = BTreeMap::new();
            // API servers end a watch after some minutes; the next one starts with all objects.
            while follow(&client, &operators, &mut reported).await.is_ok() {}
        }))
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The ClusterOperator of each component, by the namespace of its Deployment.
pub(crate) fn operators(payload: &Payload) -> BTreeMap<String, String> {
    let named: BTreeMap<_, _> = payload
        .of_kind("ClusterOperator")
        .map(|operator| (operator.component(), &operator.id.name))
        .collect();
    payload
        .of_kind("Deployment")
        .filter_map(|it| Some((it.id.namespace.clone(), (*named.get(&it.component())?).clone())))
        .collect()
}

async fn follow(
    client: &Client,
    operators: &BTreeMap<String, String>,
    reported: &mut BTreeMap<String, String>,
) -> Result<()> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let mut events = std::pin::pin!(deployments.watch(&WatchParams::default(), "0").await?);
    while let Some(event) = events.try_next().await? {
        let (WatchEvent::Added(deployment) | WatchEvent::Modified(deployment)) = event else {
            continue;
        };
        let operator = operators.get(&deployment.namespace().unwrap_or_default());
        let (Some(operator), Some(version)) = (operator, version(&deployment)) else { continue };
        if reported.insert(operator.clone(), version.clone()).as_ref() != Some(&version) {
            tokio::spawn(report(client.clone(), operator.clone(), version));
        }
    }
    Ok(())
}

fn version(deployment: &Deployment) -> Option<String> {
    let template = &deployment.spec.as_ref()?.template;
    let variables = template.spec.as_ref()?.containers.first()?.env.as_ref()?;
    variables.iter().find(|variable| variable.name == VERSION)?.value.clone()
}

/// An error is ignored: the rollout then times out and names the ClusterOperator.
async fn report(client: Client, operator: String, version: String) {
    let operators: Api<ClusterOperator> = Api::all(client);
    let status = Patch::Merge(json!({"status": objects::working_at(&version)}));
    let _ = operators.patch_status(&operator, &PatchParams::default(), &status).await;
}

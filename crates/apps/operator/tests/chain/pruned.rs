//! A cluster with an older CRD of ClusterVersion.

use anyhow::{Context as _, Result};
use fairway_api::ConditionStatus;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;

use crate::story;
use crate::support::{Operated, recommended};

/// Removes fields from the CRD that older clusters do not have.
async fn remove_fields(operated: &Operated) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(operated.cluster.client());
    let mut crd = api.get("clusterversions.config.openshift.io").await?;
    let schema = crd.spec.versions[0].schema.as_mut().context("a schema")?;
    let schema = schema.open_api_v3_schema.as_mut().context("a schema")?;
    let status = schema.properties.as_mut().and_then(|fields| fields.get_mut("status"));
    let fields = status.and_then(|status| status.properties.as_mut()).context("a status")?;
    fields.remove("conditionalUpdateRisks").context("no such field")?;
    api.replace("clusterversions.config.openshift.io", &PostParams::default(), &crd).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_with_older_crd_has_known_fields() -> Result<()> {
    let (graph, directory) = (story::graph().await?, tempfile::tempdir()?);
    let metrics = story::snapshot(&directory, &story::samples(true, "VSphere"))?;
    let mut operated = Operated::new("4.6.23", "stable-4.7", &graph.url(), metrics).await?;
    remove_fields(&operated).await?;
    operated.start();
    let is_evaluated = |status: &fairway_api::ClusterVersionStatus| {
        let condition = recommended(status, "4.7.4");
        condition.is_some_and(|condition| condition.status == ConditionStatus::False)
    };
    let status = operated.status("a verdict about 4.7.4", is_evaluated).await?;
    assert!(status.conditional_update_risks.is_empty(), "the API server drops the field");

    operated.stop().await
}

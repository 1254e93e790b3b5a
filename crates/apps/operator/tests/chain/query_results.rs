//! Query results in a ConfigMap: written once, and again when a result changes.

use anyhow::{Context as _, Result};
use fairway_risk::evaluations::{CONFIG_MAP, EvaluationOutcome, Evaluations, KEY};
use fairway_testkit::{AuditEvent, AuditMark, wait};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::DeleteParams;

use crate::fault_proxy::Behaviour;
use crate::faults::TestSetup;
use crate::support::OperatedCluster;

const NAMESPACE: &str = "openshift-cluster-version";

/// Deletes the ConfigMap of an earlier test.
async fn forget(operated: &OperatedCluster) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(operated.cluster.client(), NAMESPACE);
    if maps.get_opt(CONFIG_MAP).await?.is_some() {
        maps.delete(CONFIG_MAP, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// Waits for a ConfigMap with the expected content.
async fn noted(
    operated: &OperatedCluster,
    is_right: impl Fn(&Evaluations) -> bool,
) -> Result<Evaluations> {
    let maps: Api<ConfigMap> = Api::namespaced(operated.cluster.client(), NAMESPACE);
    wait::until("the expected query results", || async {
        let Some(found) = maps.get_opt(CONFIG_MAP).await? else { return Ok(None) };
        let json =
            found.data.as_ref().and_then(|data| data.get(KEY)).context("no results in it")?;
        Ok(Some(Evaluations::read(json)?).filter(|noted| is_right(noted)))
    })
    .await
}

fn writes(operated: &OperatedCluster, since: AuditMark) -> Result<usize> {
    let events = operated.cluster.audit_log()?.since(since)?;
    let is_note = |event: &&AuditEvent| {
        let is_named = event.object_ref.as_ref().is_some_and(|object| object.name == CONFIG_MAP);
        event.is_write() && event.is_about("configmaps") && is_named
    };
    Ok(events.iter().filter(is_note).count())
}

/// Waits until the operator has evaluated everything again.
async fn wait_for_evaluation(operated: &OperatedCluster) -> Result<()> {
    let fetches = r#"fairway_operator_graph_fetches_total{outcome="Unchanged"}"#;
    let so_far = operated.sample(fetches).await?;
    operated.reaches(fetches, so_far + 2.0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn query_results_are_stored_once() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    forget(&setup.operated).await?;
    let mark = setup.operated.cluster.audit_log()?.mark()?;
    setup.operated.start();
    setup.settled().await?;
    let both = noted(&setup.operated, |noted| noted.queries.len() == 2).await?;
    let stored: Vec<String> = both
        .queries
        .iter()
        .map(|one| {
            let samples: Vec<_> = one.samples.iter().map(ToString::to_string).collect();
            let next = one.next.map(|next| next.duration_since(one.at).as_secs());
            format!("{} {:?} {} {next:?}", one.query, one.conclusion, samples.join(" "))
        })
        .collect();
    assert_eq!(
        stored,
        ["risk_one Matches {} 1 Some(3600)", "risk_two DoesNotMatch {} 0 Some(3600)"]
    );
    wait_for_evaluation(&setup.operated).await?;
    assert_eq!(writes(&setup.operated, mark)?, 1);
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn query_failure_is_stored_when_it_starts_and_ends() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    forget(&setup.operated).await?;
    setup.telemetry.front.behaves(Behaviour::Status(503));
    setup.operated.start();
    let failed = |noted: &Evaluations| {
        let failed = |why: &EvaluationOutcome| matches!(why, EvaluationOutcome::Failed(why) if why.contains("503"));
        noted.queries.len() == 2 && noted.queries.iter().all(|one| failed(&one.conclusion))
    };
    let first = noted(&setup.operated, failed).await?;
    let mark = setup.operated.cluster.audit_log()?.mark()?;
    setup.operated.reaches("cluster_operator_promql_failed_evaluations_total", 4.0).await?;
    wait_for_evaluation(&setup.operated).await?;
    assert_eq!(writes(&setup.operated, mark)?, 0, "a repeated failure is not written");
    assert_eq!(noted(&setup.operated, failed).await?, first);

    setup.telemetry.front.behaves(Behaviour::Forward);
    let answered = |noted: &Evaluations| {
        let of = |query| noted.get(query).map(|one| one.conclusion.clone());
        of("risk_one") == Some(EvaluationOutcome::Matches)
            && of("risk_two") == Some(EvaluationOutcome::DoesNotMatch)
    };
    noted(&setup.operated, answered).await?;
    setup.operated.stop().await
}

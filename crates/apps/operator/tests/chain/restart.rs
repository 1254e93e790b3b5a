//! An operator that restarts.

use anyhow::Result;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{CLUSTER_VERSION_NAME, Conditions as _};
use serde_json::json;

use crate::fault_proxy::Behaviour;
use crate::faults::{TestSetup, is_complete, is_settled};
use crate::support::{available, reason};

#[tokio::test(flavor = "multi_thread")]
async fn restart_without_change_writes_nothing() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    let operated = &mut setup.operated;
    // An invalid request, which needs the update graph.
    operated.patch_spec(json!({"desiredUpdate": {"version": "5.9.9"}})).await?;
    operated.start();
    let is_whole = |status: &ClusterVersionStatus| {
        is_settled(status)
            && reason(status, "Invalid") == "InvalidClusterVersion"
            && is_complete(status)
    };
    operated.status("a complete status", is_whole).await?;
    operated.stop().await?;
    // A last write may precede the end.
    let before = operated.cluster_version().get(CLUSTER_VERSION_NAME).await?.status;
    let mark = operated.cluster.audit_log()?.mark()?;
    let query_counts: usize = setup.telemetry.query_counts().values().sum();

    operated.start();
    operated.reports(r#"fairway_operator_graph_fetches_total{outcome="Answer"}"#, 1.0).await?;
    operated.reports("cluster_operator_promql_evaluations_total", 2.0).await?;
    // The status is composed at least once meanwhile.
    operated.reports(r#"fairway_operator_graph_fetches_total{outcome="Unchanged"}"#, 2.0).await?;
    operated.stop().await?;
    assert_eq!(setup.telemetry.query_counts().values().sum::<usize>(), query_counts + 2);
    assert_eq!(operated.status_writes(mark)?, 0);
    let after = operated.cluster_version().get(CLUSTER_VERSION_NAME).await?.status;
    assert_eq!(after, before, "including times");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_during_outage_keeps_updates() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    let before = setup.settled().await?;
    setup.operated.stop().await?;
    setup.updates.behaves(Behaviour::Status(503));
    setup.operated.start();
    let is_down = |status: &_| reason(status, "RetrievedUpdates") == "ResponseFailed";
    let status = setup.operated.status("the outage to be reported", is_down).await?;
    let message = status.conditions.find("RetrievedUpdates").unwrap().message.clone().unwrap();
    assert!(message.contains("from before this operator started"), "{message}");
    setup.operated.reports("cluster_operator_promql_evaluations_total", 2.0).await?;

    // They are still evaluated.
    let accepted = json!({"desiredUpdate": {"acceptRisks": [{"name": "RiskOne"}]}});
    setup.operated.patch_spec(accepted).await?;
    let is_accepted = |status: &_| available(status) == ["5.1.3", "5.1.2", "5.1.1"];
    setup.operated.status("the acceptance to count", is_accepted).await?;
    setup.operated.patch_spec(json!({"desiredUpdate": null})).await?;
    let status = setup.settled().await?;
    assert_eq!(status.available_updates, before.available_updates);

    // Updates of another channel are dropped.
    setup.operated.patch_spec(json!({"channel": "stable-5.2"})).await?;
    let is_empty = |status: &_| available(status) == [""; 0];
    setup.operated.status("the updates of the old channel to be dropped", is_empty).await?;
    setup.operated.patch_spec(json!({"channel": crate::support::CHANNEL})).await?;
    setup.updates.behaves(Behaviour::Forward);
    setup.settled().await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_keeps_results_until_queries_are_answered() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    let before = setup.settled().await?;
    setup.operated.stop().await?;
    // Alerts are answered: nothing is recommended before they are known.
    setup.telemetry.front.behaves_by(|url| {
        if url.contains("/query") { Behaviour::Hang } else { Behaviour::Forward }
    });
    setup.operated.start();
    let is_awaited = |status: &ClusterVersionStatus| {
        let mut risks = status.conditional_update_risks.iter();
        risks.all(|risk| risk.conditions.iter().all(|it| it.message.contains("last evaluation")))
    };
    let status = setup.operated.status("pending queries", is_awaited).await?;
    assert_eq!(status.available_updates, before.available_updates);
    setup.operated.stop().await?;

    setup.telemetry.front.behaves(Behaviour::Status(503));
    setup.operated.start();
    let failed = |status: &ClusterVersionStatus| {
        let recommended = crate::support::recommended(status, "5.1.3");
        recommended.is_some_and(|it| it.reason == "EvaluationFailed")
    };
    let status = setup.operated.status("failures to count", failed).await?;
    assert_ne!(status.available_updates, before.available_updates);
    setup.operated.stop().await
}

//! Failures of the metrics server and of the update service.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{ConditionStatus, Conditions as _};
use serde_json::json;

use super::{TestSetup, is_settled};
use crate::fault_proxy::Behaviour;
use crate::support::{available, reason, recommended};
use crate::telemetry::{answer, vector};

/// The metric of the second risk.
const RISK_TWO: &str = r#"cluster_version_risk_conditions{risk="RiskTwo"}"#;

fn is_unknown(status: &ClusterVersionStatus, version: &str) -> bool {
    let condition = recommended(status, version);
    condition.is_some_and(|condition| condition.status == ConditionStatus::Unknown)
}

#[tokio::test(flavor = "multi_thread")]
async fn risks_with_failing_prometheus_are_unknown_until_it_recovers() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.telemetry.front.behaves(Behaviour::Status(503));
    setup.operated.start();
    let down = |status: &_| is_unknown(status, "5.1.2") && is_unknown(status, "5.1.3");
    let status = setup.operated.status("both risks to be unknown", down).await?;
    assert_eq!(available(&status), ["5.1.1"]);
    let condition = recommended(&status, "5.1.3").context("a verdict")?;
    assert!(condition.message.contains("503"), "{}", condition.message);
    let operated = &setup.operated;
    operated.reports(RISK_TWO, -1.0).await?;
    operated.sample(r#"fairway_operator_risk_unknown_seconds{risk="RiskTwo"}"#).await?;
    assert!(operated.sample("cluster_operator_promql_failed_evaluations_total").await? >= 2.0);

    setup.telemetry.front.behaves(Behaviour::Forward);
    let status = setup.settled().await?;
    assert_eq!(available(&status), ["5.1.3", "5.1.1"]);
    setup.operated.reports(RISK_TWO, 0.0).await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn risk_with_stalled_query_is_delayed_alone() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.telemetry.front.behaves_by(|url| {
        if url.contains("risk_two") { Behaviour::Hang } else { Behaviour::Forward }
    });
    setup.operated.start();
    let one_is_known = |status: &ClusterVersionStatus| {
        recommended(status, "5.1.2").is_some_and(|known| known.status == ConditionStatus::False)
    };
    let status = setup.operated.status("the other risk to be decided", one_is_known).await?;
    assert!(is_unknown(&status, "5.1.3"), "{status:#?}");

    setup.telemetry.front.behaves(Behaviour::Forward);
    setup.settled().await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn risk_with_wrong_result_type_is_unknown() -> Result<()> {
    let wrong = [
        ("Scalar", answer("scalar", &json!([0, "1"]))),
        ("Range", answer("matrix", &json!([{"metric": {}, "values": [[0, "1"]]}]))),
        ("Text", answer("string", &json!([0, "1"]))),
        ("NotANumber", vector(&[f64::NAN])),
        ("Half", vector(&[0.5])),
        ("Several", vector(&[1.0, 1.0])),
        ("Nothing", vector(&[])),
        ("Garbage", "1".to_owned()),
    ];
    let queries = wrong.each_ref().map(|(name, _)| format!("absent(some_{name})"));
    let risks: Vec<(&str, &str, &str)> =
        wrong.iter().zip(&queries).map(|((name, _), query)| ("5.1.1", *name, &query[..])).collect();
    let mut setup = TestSetup::with(&["5.1.0", "5.1.1"], &risks).await?;
    setup.telemetry.front.behaves_by(move |url| {
        let about = wrong.iter().find(|(name, _)| url.contains(&format!("some_{name}")));
        about.map_or(Behaviour::Forward, |(_, text)| Behaviour::Text(text.clone()))
    });
    setup.operated.start();
    let applies = |status: &ClusterVersionStatus| -> Vec<String> {
        let risks = status.conditional_update_risks.iter();
        let reported = risks.filter_map(|risk| {
            let applies = risk.conditions.find("Applies")?;
            Some(format!(
                "{}: {} {}: {}",
                risk.name, applies.status, applies.reason, applies.message
            ))
        });
        reported.collect()
    };
    let all_failed = |status: &ClusterVersionStatus| {
        let reported = applies(status);
        reported.len() == 8 && reported.iter().all(|reported| reported.contains("EvaluationFailed"))
    };
    let status = setup.operated.status("all answers to be taken in", all_failed).await?;
    insta::assert_snapshot!(applies(&status).join("\n"), @"
    Garbage: Unknown EvaluationFailed: Cannot evaluate the query: invalid response: invalid type: integer `1`, expected an object with a query result at line 1 column 1.
    Half: Unknown EvaluationFailed: The query returned 0.5 instead of 0 or 1.
    NotANumber: Unknown EvaluationFailed: The query returned NaN instead of 0 or 1.
    Nothing: Unknown EvaluationFailed: The query returned no series.
    Range: Unknown EvaluationFailed: The query returned a range vector instead of one sample.
    Scalar: Unknown EvaluationFailed: The query returned a scalar instead of one sample.
    Several: Unknown EvaluationFailed: The query returned 2 series instead of one.
    Text: Unknown EvaluationFailed: The query returned a string instead of one sample.
    ");
    assert_eq!(available(&status), [""; 0]);
    setup.operated.reports("cluster_operator_promql_failed_evaluations_total", 8.0).await?;

    setup.telemetry.front.behaves(Behaviour::Forward);
    let decided = |status: &ClusterVersionStatus| {
        recommended(status, "5.1.1").is_some_and(|known| known.status == ConditionStatus::False)
            && applies(status).iter().all(|reported| reported.contains(": True"))
    };
    setup.operated.status("all risks to apply", decided).await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn risk_results_outlive_prometheus() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    setup.settled().await?;
    setup.telemetry.front.behaves(Behaviour::Status(503));
    let accepted = json!({"desiredUpdate": {"acceptRisks": [{"name": "RiskOne"}]}});
    setup.operated.patch_spec(accepted).await?;
    let is_accepted = |status: &ClusterVersionStatus| available(status).contains(&"5.1.2");
    let status = setup.operated.status("the acceptance to count", is_accepted).await?;
    assert_eq!(available(&status), ["5.1.3", "5.1.2", "5.1.1"], "answers count for an hour");
    setup.operated.reports("cluster_operator_promql_failed_evaluations_total", 0.0).await?;
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_with_failing_update_service_are_kept() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.settings.updates.timeouts.answer = Duration::from_secs(1);
    setup.operated.start();
    let before = setup.settled().await?;
    for (behaviour, failure) in [
        (Behaviour::Status(503), "ResponseFailed"),
        (Behaviour::Hang, "RemoteFailed"),
        (Behaviour::Text("<html>".to_owned()), "ResponseInvalid"),
        (Behaviour::Text(r#"{"nodes": 7}"#.to_owned()), "ResponseInvalid"),
    ] {
        setup.updates.behaves(behaviour.clone());
        let operated = &setup.operated;
        let reported = operated
            .status(failure, |status| reason(status, "RetrievedUpdates") == failure)
            .await?;
        assert_eq!(available(&reported), ["5.1.3", "5.1.1"], "{behaviour:?}");
        assert_eq!(reported.conditional_updates, before.conditional_updates, "{behaviour:?}");
        let message =
            reported.conditions.find("RetrievedUpdates").unwrap().message.clone().unwrap();
        assert!(message.contains("The listed updates are from"), "{message}");
        let count = format!("fairway_operator_graph_fetches_total{{outcome=\"{failure}\"}}");
        assert!(operated.sample(&count).await? >= 1.0);

        setup.updates.behaves(Behaviour::Forward);
        let is_back =
            |status: &_| is_settled(status) && reason(status, "RetrievedUpdates").is_empty();
        operated.status("the update service to be back", is_back).await?;
    }
    setup.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_invalid_graph_are_ignored() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    setup.operated.start();
    setup.settled().await?;
    // An invalid index, a repeated version, and a missing running version.
    let lie = r#"{"nodes": [{"version": "5.9.0", "payload": "a"}, {"version": "5.9.0", "payload": "b"}],
        "edges": [[0, 99], [1, 0]], "conditionalEdges": [{"edges": [{"from": "5.1.0", "to": "5.9.0"}],
        "risks": [{"name": "x y", "message": "", "url": "", "matchingRules": [{"type": "Moon"}]}]}]}"#;
    setup.updates.behaves(Behaviour::Text(lie.to_owned()));
    // The condition and the updates follow each other.
    let lost = |status: &_| {
        reason(status, "RetrievedUpdates") == "VersionNotFound" && available(status).is_empty()
    };
    setup.operated.status("the version and its updates to be missing", lost).await?;
    setup.operated.reports("cluster_version_available_updates", 0.0).await?;

    setup.updates.behaves(Behaviour::Forward);
    setup.settled().await?;
    setup.operated.stop().await
}

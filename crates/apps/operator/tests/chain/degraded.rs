//! A degraded ClusterOperator blocks no update; graph-data can add a risk for it.

use anyhow::Result;
use fairway_api::{ClusterOperator, ConditionStatus, Conditions as _, OperatorCondition};
use fairway_testkit::objects;
use kube::Api;
use kube::api::PostParams;

use crate::support::{CHANNEL, Graph, Operated, available, recommended};
use crate::telemetry::Telemetry;

/// The query of graph-data: whether storage is degraded.
const QUERY: &str = "max(cluster_operator_conditions{name=\"storage\",condition=\"Degraded\"})\n\
    or\n0 * max(cluster_operator_conditions)";

/// The metric of the operator that the query reads.
const SERIES: &str = "cluster_operator_conditions{name=\"storage\",condition=\"Degraded\"}";

#[tokio::test(flavor = "multi_thread")]
async fn update_with_risk_of_degraded_operator_is_not_recommended() -> Result<()> {
    let telemetry = Telemetry::of("").await?;
    let risks = [("5.1.1", "StorageMigrationStalls", QUERY)];
    let graph = Graph::with_risks(&["5.1.0", "5.1.1"], &risks).await?;
    let mut operated = Operated::new("5.1.0", CHANNEL, &graph.url(), telemetry.source()?).await?;
    let storage = objects::cluster_operator("storage");
    let operators: Api<ClusterOperator> = Api::all(operated.cluster.client());
    operators.create(&PostParams::default(), &storage).await?;

    for (is_degraded, is_recommended, reason, offered) in [
        (false, ConditionStatus::True, "NotExposedToRisks", &["5.1.1"][..]),
        (true, ConditionStatus::False, "StorageMigrationStalls", &[]),
    ] {
        report(&operators, is_degraded).await?;
        operated.start();
        operated.reports(SERIES, f64::from(u8::from(is_degraded))).await?;
        telemetry.knows(&operated.metrics("metrics", |_| true).await?);
        // Results are valid for an hour; a new operator has none.
        operated.stop().await?;
        operated.start();
        let status = operated
            .status("a verdict about 5.1.1", |found| {
                recommended(found, "5.1.1")
                    .is_some_and(|condition| condition.status == is_recommended)
            })
            .await?;
        assert_eq!(recommended(&status, "5.1.1").unwrap().reason, reason);
        assert_eq!(available(&status), offered);
        operated.stop().await?;
    }
    Ok(())
}

/// Sets the condition `Degraded` of storage.
async fn report(operators: &Api<ClusterOperator>, is_degraded: bool) -> Result<()> {
    let mut storage = operators.get("storage").await?;
    let mut status = objects::working_at("5.1.0");
    let condition = OperatorCondition::new("Degraded", is_degraded).reason("Disks").message("…");
    status.conditions.set(condition, objects::beginning().0);
    storage.status = Some(status);
    operators.replace_status("storage", &PostParams::default(), &storage).await?;
    Ok(())
}

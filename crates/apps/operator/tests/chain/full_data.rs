//! A real platform: every conditional update is evaluated in one pass.

use std::collections::BTreeSet;

use anyhow::Result;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_api::{ConditionStatus, Conditions as _};
use fairway_testkit::environment;
use fairway_testkit::platform::Platform;
use tokio::time::Instant;

use crate::support::{Graph, OperatedCluster};
use crate::telemetry::Telemetry;

/// Clusters and channels with conditional updates.
const CLUSTERS: [(&str, &str); 3] =
    [("4.16.20", "stable-4.17"), ("4.18.9", "stable-4.19"), ("4.21.3", "candidate-4.22")];

/// Metrics with a result for every query.
const SAMPLES: &str = include_str!("full_data.prom");

/// Whether every conditional update has a known result.
fn is_decided(status: &ClusterVersionStatus) -> bool {
    status.conditions.is_true("RetrievedUpdates")
        && !status.conditional_updates.is_empty()
        && status.conditional_updates.iter().all(|update| {
            let recommended = update.conditions.find("Recommended");
            recommended.is_some_and(|it| it.status != ConditionStatus::Unknown)
        })
}

/// Maximum status writes until everything is evaluated. An idle host needs three: without queries,
/// with the update graph, and with all results.
const MAX_WRITES: usize = 10;

/// The distinct queries of all risks.
fn queries(status: &ClusterVersionStatus) -> BTreeSet<&str> {
    let rules = status.conditional_update_risks.iter().flat_map(|risk| &risk.matching_rules);
    rules.filter_map(|rule| Some(rule.promql.as_ref()?.promql.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_platform_are_evaluated_in_one_pass() -> Result<()> {
    if environment::data().is_none() {
        return Ok(());
    }
    let graph = Graph::of_platform(&Platform::find()?).await?;
    for (version, channel) in CLUSTERS {
        let telemetry = Telemetry::of(SAMPLES).await?;
        let mut operated =
            OperatedCluster::new(version, channel, &graph.url(), telemetry.source()?).await?;
        operated.settings.risks.burst = 64;
        let mark = operated.cluster.audit_log()?.mark()?;
        let begin = Instant::now();
        operated.start();
        let status = operated.status("every update to be decided", is_decided).await?;
        let took = begin.elapsed();
        let (query_counts, writes) = (telemetry.query_counts(), operated.status_writes(mark)?);
        operated.stop().await?;

        let (updates, queries) = (status.conditional_updates.len(), queries(&status));
        println!(
            "{version} in {channel}: {updates} conditional updates, {} risks, {} queries asked of \
             {}, {writes} writes, {took:.1?}",
            status.conditional_update_risks.len(),
            query_counts.len(),
            queries.len(),
        );
        assert!(updates > 5, "{version}: {updates}");
        assert!(query_counts.values().all(|times| *times == 1), "{version}: {query_counts:#?}");
        assert!(query_counts.keys().all(|query| queries.contains(query.as_str())), "{version}");
        // Results are written in batches, also on a slow host.
        assert!(writes <= MAX_WRITES, "{version}: {writes} for {} queries", queries.len());
    }
    Ok(())
}

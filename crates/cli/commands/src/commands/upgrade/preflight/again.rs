//! A preflight that is asked for once more: its request is withdrawn and made again, and the operator
//! begins another run. What was found is kept until that has its answers.

use std::time::Duration;

use anyhow::Context as _;
use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Update;
use tokio::time::{interval, timeout};

use super::super::change;
use super::phase::Phase;
use super::request::{Plan, Wish};
use super::{withdrawal, write};
use crate::cluster::Cluster;
use crate::errors::WithHint;

/// How often it is looked whether the operator has seen that nothing is asked for. People wait for it.
const LOOK: Duration = Duration::from_millis(250);

/// Asks for a preflight once more that is asked for already. An operator that does not notice in time
/// goes on with what it has.
pub(super) async fn ask(
    cluster: &Cluster,
    wish: &Wish,
    asked: &Update,
    patience: Duration,
) -> anyhow::Result<Plan> {
    let withdraw = |object: &_| withdrawal::Plan::give_back(object, asked, None, true);
    change::make(cluster, false, withdraw).await?;
    let seen = timeout(patience, until_withdrawn(cluster)).await;
    let plan = write::request(cluster, wish).await.with_context(|| WithHint {
        message: "cannot request the preflight again after withdrawing it".to_owned(),
        hint: "run the same command again; the results are kept".to_owned(),
    })?;
    seen.unwrap_or(Ok(()))?;
    Ok(plan)
}

async fn until_withdrawn(cluster: &Cluster) -> anyhow::Result<()> {
    let mut looks = interval(LOOK);
    loop {
        looks.tick().await;
        if is_withdrawn(&cluster.cluster_version().await?) {
            return Ok(());
        }
    }
}

/// Whether the operator knows that no preflight is asked for.
fn is_withdrawn(object: &ClusterVersion) -> bool {
    let observed = object.status.as_ref().map(|status| status.observed_generation);
    Phase::of(object) == Phase::NotRequested && observed >= object.metadata.generation
}

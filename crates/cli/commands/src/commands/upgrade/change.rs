//! How ClusterVersion is changed: tried first, and never over what somebody else wrote.

use anyhow::anyhow;
use fairway_api::ClusterVersion;
use serde_json::Value;

use crate::cluster::{Changed, Cluster, Earnest};
use crate::errors::WithHint;
use crate::source::Source;

/// How often somebody else may be faster. The operator writes seldom, and people even more so.
const ATTEMPTS: usize = 5;

/// What is to be written.
pub(super) trait Change {
    /// A merge patch of ClusterVersion, with the resource version of what it was made from; none
    /// where nothing changes.
    fn patch(&self) -> Option<&Value>;

    /// Refuses to go on where a server that applied the patch has not kept what it asks for.
    fn check(&self, result: &ClusterVersion) -> anyhow::Result<()>;
}

/// Reads, decides and writes, until nobody else writes in between.
pub(super) async fn make<C: Change>(
    cluster: &Cluster,
    dry_run: bool,
    decide: impl Fn(&ClusterVersion) -> anyhow::Result<C>,
) -> anyhow::Result<C> {
    Ok(make_and_see(cluster, dry_run, decide).await?.0)
}

/// The same; of a recorded cluster, what would come of it.
pub(super) async fn make_or_tell<C: Change>(
    source: &Source,
    dry_run: bool,
    decide: impl Fn(&ClusterVersion) -> anyhow::Result<C>,
) -> anyhow::Result<C> {
    match source {
        Source::Live(cluster) => make(cluster, dry_run, decide).await,
        Source::Recorded(_) => decide(&source.cluster_version().await?),
    }
}

/// The same as `make`; and what the cluster has then, if something was written.
pub(super) async fn make_and_see<C: Change>(
    cluster: &Cluster,
    dry_run: bool,
    decide: impl Fn(&ClusterVersion) -> anyhow::Result<C>,
) -> anyhow::Result<(C, Option<ClusterVersion>)> {
    for _ in 0..ATTEMPTS {
        let change = decide(&cluster.cluster_version().await?)?;
        let Some(patch) = change.patch() else { return Ok((change, None)) };
        match cluster.patch_cluster_version(patch, Earnest::Try).await? {
            Changed::Conflict => continue,
            Changed::Done(result) => change.check(&result)?,
        }
        if dry_run {
            return Ok((change, None));
        }
        match cluster.patch_cluster_version(patch, Earnest::Make).await? {
            Changed::Conflict => {}
            Changed::Done(written) => return Ok((change, Some(*written))),
        }
    }
    Err(anyhow!("conflict: another client changed the object each time").context(WithHint {
        message: format!("cannot update ClusterVersion after {ATTEMPTS} attempts"),
        hint:
            "retry; run `kubectl get clusterversion version -o yaml --show-managed-fields` to find \
             the other client"
                .to_owned(),
    }))
}

//! Many preflight requests in a row.

use anyhow::Result;
use fairway_testkit::wait;
use serde_json::json;

use crate::support::{preflight, run_objects, start, wait_until_removed};

/// Sent faster than a preflight starts.
const REQUESTS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn preflight_after_many_requests_runs_the_last_one_only() -> Result<()> {
    let platform = start().await?;
    for version in ["5.2.0", "5.1.0", "5.0.1"].into_iter().cycle().take(REQUESTS) {
        let update = json!({ "version": version, "image": null, "mode": "Preflight" });
        platform.cluster_version().request(update).await?;
    }
    preflight(&platform, "5.0.1", 0).await?;
    wait::until("the removal of the Jobs", || async {
        let objects = run_objects(&platform).await?;
        Ok((!objects.iter().any(|it| it.starts_with("Job"))).then_some(()))
    })
    .await?;
    let objects = run_objects(&platform).await?;
    let count = |kind: &str| objects.iter().filter(|it| it.starts_with(kind)).count();
    let counts = ["Deployment", "ReplicaSet", "Pod", "/"].map(count);
    assert_eq!((counts, objects.len()), ([1; 4], 4), "{objects:#?}");

    platform.upgrade(&["--clear-preflight"], 0).await?;
    wait_until_removed(&platform).await
}

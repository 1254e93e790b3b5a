//! Somebody who cannot decide.

use anyhow::Result;
use fairway_api::CLUSTER_VERSION_NAME;
use fairway_testkit::wait;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::ground::{ask, install, left, until_nothing_is_left, upgrade};

/// Faster than any of them begins.
const REQUESTS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn of_many_questions_the_last_is_answered_and_nothing_is_left_of_the_others() -> Result<()> {
    let platform = install().await?;
    for version in ["5.2.0", "5.1.0", "5.0.1"].into_iter().cycle().take(REQUESTS) {
        let update = json!({ "version": version, "image": null, "mode": "Preflight" });
        let patch = Patch::Merge(json!({ "spec": { "desiredUpdate": update } }));
        let versions = platform.cluster_versions();
        versions.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
    }
    ask(&platform, "5.0.1", 0).await?;
    wait::until("the Jobs of the run to go", || async {
        let left = left(&platform).await?;
        Ok((!left.iter().any(|it| it.starts_with("Job"))).then_some(()))
    })
    .await?;
    let left = left(&platform).await?;
    let count = |kind: &str| left.iter().filter(|it| it.starts_with(kind)).count();
    let of_one_run = ["Deployment", "ReplicaSet", "Pod", "/"].map(count);
    assert_eq!((of_one_run, left.len()), ([1; 4], 4), "{left:#?}");

    upgrade(&platform, &["--clear-preflight"], 0).await?;
    until_nothing_is_left(&platform).await
}

//! Resumption after a crash.

use anyhow::Result;
use fairway_testkit::objects;
use kube::ResourceExt as _;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::stage::{Stage, cluster_operator};

const MAPS: usize = 12;

/// Manifests of the release: the maps, a ClusterOperator, and one to delete.
const MANIFESTS: usize = MAPS + 2;

/// Maps on several levels, with a ClusterOperator in the middle, and a deletion at the beginning.
fn release(stage: &Stage) -> Vec<(String, Value)> {
    let mut manifests: Vec<(String, Value)> = (0..MAPS)
        .map(|number| {
            let (level, component) = (10 * (1 + number / 4), number % 2);
            let map = stage.config_map(&format!("map-{number}"), "new");
            (format!("0000_{level}_part-{component}_{number:02}"), map)
        })
        .collect();
    manifests.push(("0000_20_part-0_99".to_owned(), cluster_operator("network", "5.1.0")));
    let mut old = stage.config_map("old", "new");
    old["metadata"]["annotations"]["release.openshift.io/delete"] = json!("true");
    manifests.push(("0000_10_part-0_99".to_owned(), old));
    manifests
}

#[tokio::test]
async fn rollout_resumes_after_a_crash_at_any_point() -> Result<()> {
    let mut stage = Stage::updating().await?;
    let release = release(&stage);
    let release: Vec<(&str, Value)> =
        release.iter().map(|(file, object)| (file.as_str(), object.clone())).collect();
    stage.aim("5.1.0", &release);
    let mut done = 0;
    for least in [0, 1, 2, 3, 5, 6, 7, 8, 9] {
        let rollout = stage.until(|rollout| rollout.done >= least).await?;
        assert!(rollout.done >= done, "{} after {done}", rollout.done);
        done = rollout.done;
        stage.start();
        let first = stage.until(|_| true).await?;
        assert!(first.done >= done, "{first:?} begins with less than {done}");
    }
    let before = revisions(&stage).await?;
    stage.report("network", &objects::working_at("5.1.0")).await?;
    let rollout = stage.until_complete().await?;
    assert_eq!((rollout.done, rollout.total), (MANIFESTS, MANIFESTS));
    let after = revisions(&stage).await?;
    assert!(before.iter().all(|map| after.contains(map)), "nothing is written twice");
    Ok(())
}

async fn revisions(stage: &Stage) -> Result<Vec<(String, Option<String>)>> {
    let maps = stage.config_maps().list(&ListParams::default()).await?;
    Ok(maps.iter().map(|map| (map.name_any(), map.resource_version())).collect())
}

//! All objects of a release that is as large as a platform's.
#![expect(clippy::print_stdout, reason = "it says how long it took, and decides nothing by it")]

use anyhow::{Context as _, Result};
use fairway_operator::apply::Outcome;
use fairway_operator::own_release::content;
use fairway_release::{Manifest, Release};
use fairway_testkit::{TestCluster, environment};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::Instant;

use crate::ground::Ground;

/// As many as an operator writes at once.
const AT_ONCE: usize = 16;

/// The first release of those that `FAIRWAY_BENCH_PAYLOAD` names.
fn release() -> Result<Option<Release>> {
    let Some(releases) = environment::bench_payload()? else {
        println!("left out: {} is not set", environment::BENCH_PAYLOAD);
        return Ok(None);
    };
    Ok(Some(content(&releases[0], "registry.example/release", "default")?))
}

/// What everything else needs.
fn comes_first(manifest: &Manifest) -> bool {
    matches!(manifest.id.kind.as_str(), "Namespace" | "CustomResourceDefinition")
}

/// How many objects were written.
async fn apply_all(ground: &Ground, manifests: &[Manifest]) -> Result<usize> {
    let mut written = 0;
    for first in [true, false] {
        let manifests = manifests.iter().filter(|manifest| comes_first(manifest) == first);
        let outcomes: Vec<_> = stream::iter(manifests)
            .map(|manifest| async move {
                let applied = ground.applier.apply(manifest, &ground.context).await;
                applied.with_context(|| manifest.id.to_string())
            })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        written += outcomes.iter().filter(|applied| applied.outcome == Outcome::Written).count();
    }
    Ok(written)
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn a_whole_release_on_a_cluster_of_its_own() -> Result<()> {
    let Some(release) = release()? else { return Ok(()) };
    let cluster = TestCluster::own().await?;
    cluster.install_crds().await?;
    let mut ground = Ground::on(cluster).await?;
    let began = Instant::now();
    let all = release.manifests.len();
    assert_eq!(apply_all(&ground, &release.manifests).await?, all);
    println!("{all} objects written in {:?}", began.elapsed());
    assert_eq!(apply_all(&ground, &release.manifests).await?, 0);
    ground.restart();
    let began = Instant::now();
    assert_eq!(apply_all(&ground, &release.manifests).await?, 0);
    println!("found to be right after a restart in {:?}", began.elapsed());
    Ok(())
}

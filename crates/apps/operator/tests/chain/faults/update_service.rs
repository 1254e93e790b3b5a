use std::time::Duration;

use anyhow::Result;
use fairway_api::Conditions as _;

use super::{World, is_settled};
use crate::front::Manner;
use crate::support::{available, reason};

#[tokio::test(flavor = "multi_thread")]
async fn updates_with_failing_update_service_are_kept() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.settings.updates.patience.answer = Duration::from_secs(1);
    world.operated.start();
    let before = world.settled().await?;
    for (manner, failure) in [
        (Manner::Status(503), "ResponseFailed"),
        (Manner::Never, "RemoteFailed"),
        (Manner::Text("<html>".to_owned()), "ResponseInvalid"),
        (Manner::Text(r#"{"nodes": 7}"#.to_owned()), "ResponseInvalid"),
    ] {
        world.updates.behaves(manner.clone());
        let operated = &world.operated;
        let reported = operated
            .status(failure, |status| reason(status, "RetrievedUpdates") == failure)
            .await?;
        assert_eq!(available(&reported), ["5.1.3", "5.1.1"], "{manner:?}");
        assert_eq!(reported.conditional_updates, before.conditional_updates, "{manner:?}");
        let message =
            reported.conditions.find("RetrievedUpdates").unwrap().message.clone().unwrap();
        assert!(message.contains("The listed updates are from"), "{message}");
        let count = format!("fairway_operator_graph_fetches_total{{outcome=\"{failure}\"}}");
        assert!(operated.sample(&count).await? >= 1.0);

        world.updates.behaves(Manner::Well);
        let is_back =
            |status: &_| is_settled(status) && reason(status, "RetrievedUpdates").is_empty();
        operated.status("the update service to be back", is_back).await?;
    }
    world.operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_of_invalid_graph_are_ignored() -> Result<()> {
    let mut world = World::new().await?;
    world.operated.start();
    world.settled().await?;
    // An invalid index, a repeated version, and a missing running version.
    let lie = r#"{"nodes": [{"version": "5.9.0", "payload": "a"}, {"version": "5.9.0", "payload": "b"}],
        "edges": [[0, 99], [1, 0]], "conditionalEdges": [{"edges": [{"from": "5.1.0", "to": "5.9.0"}],
        "risks": [{"name": "x y", "message": "", "url": "", "matchingRules": [{"type": "Moon"}]}]}]}"#;
    world.updates.behaves(Manner::Text(lie.to_owned()));
    // The condition and the updates follow each other.
    let lost = |status: &_| {
        reason(status, "RetrievedUpdates") == "VersionNotFound" && available(status).is_empty()
    };
    world.operated.status("the version and its updates to be missing", lost).await?;
    world.operated.reports("cluster_version_available_updates", 0.0).await?;

    world.updates.behaves(Manner::Well);
    world.settled().await?;
    world.operated.stop().await
}

//! What was decided stays decided.

use anyhow::Result;
use fairway_operator::settings::UnacceptedRisks;
use serde_json::json;

use super::platform::{Platform, ask, history, reaches};
use crate::story::snapshot;
use crate::support::graph_data;

const VERSIONS: [&str; 2] = ["5.1.0", "5.1.1"];

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_is_started_again_asks_nobody_again() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(()) };
    let data = graph_data(&VERSIONS, &[("5.1.1", "DiskLoss", "exposed")]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let (graph, directory) = (platform.graph(&data).await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, "exposed 1\n")?;
    let mut operated = platform
        .cluster("stable-5.1", &graph.url(), metrics, |settings| {
            settings.target.unaccepted_risks = UnacceptedRisks::Record;
        })
        .await?;
    platform.sign(&operated, "5.1.1").await?;
    ask(&operated, json!({"version": "5.1.1"})).await?;
    let before = reaches(&operated, "5.1.1").await?;
    operated.stop().await?;

    // It would not be accepted today.
    operated.settings.target.unaccepted_risks = UnacceptedRisks::Gate;
    operated.start();
    // Something that only the operator that runs now can have seen.
    ask(&operated, json!({"acceptRisks": [{"name": "Other"}]})).await?;
    let generation = before.observed_generation + 1;
    let after = operated
        .status("the operator to go on", |status| status.observed_generation >= generation)
        .await?;
    assert_eq!(history(&after), ["5.1.1", "5.1.0"]);
    assert_eq!(after.history, before.history, "verified, with the risks, times and all");
    assert_eq!(after.desired.version, "5.1.1");
    assert_eq!(crate::support::reason(&after, "ReleaseAccepted"), "PayloadLoaded");

    // Whoever withdraws the request gets the release of the operator back.
    operated.patch_spec(json!({"desiredUpdate": null})).await?;
    let back = reaches(&operated, "5.1.0").await?;
    assert_eq!(history(&back), ["5.1.0", "5.1.1", "5.1.0"]);
    operated.stop().await
}

//! What was decided stays decided.

use anyhow::Result;
use fairway_operator::settings::UnacceptedRisks;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use serde_json::json;

use super::platform::{Platform, ask, history, reaches, refused};
use crate::story::snapshot;
use crate::support::{Operated, graph_data, prometheus, reason};

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
        .status("the operator to go on", |status| {
            status.observed_generation >= generation
                && reason(status, "ReleaseAccepted") == "PayloadLoaded"
        })
        .await?;
    assert_eq!(history(&after), ["5.1.1", "5.1.0"]);
    assert_eq!(after.history, before.history, "verified, with the risks, times and all");
    assert_eq!(after.desired.version, "5.1.1");

    // Whoever withdraws the request keeps what is complete, whatever the operator is from.
    operated.patch_spec(json!({"desiredUpdate": null})).await?;
    let kept = operated
        .status("the request to be gone", |status| status.observed_generation > generation)
        .await?;
    assert_eq!(kept.history, before.history);
    assert_eq!(reason(&kept, "ReleaseAccepted"), "PayloadLoaded");
    assert_eq!(kept.desired.version, "5.1.1");

    // Back to the release before, which is the operator's, is an update like any other.
    ask(&operated, json!({"version": "5.1.0"})).await?;
    let back = reaches(&operated, "5.1.0").await?;
    assert_eq!(history(&back), ["5.1.0", "5.1.1", "5.1.0"]);
    assert!(back.history[0].accepted_risks.is_some(), "nobody offers it");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_back_across_a_minor_version_because_the_operator_is_from_there() -> Result<()>
{
    let Some(platform) = Platform::new(&["5.1.0", "5.2.0"])? else { return Ok(()) };
    let data = graph_data(&["5.1.0", "5.2.0"], &[]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let graph = platform.graph(&data).await?;
    let nobody = prometheus("http://127.0.0.1:9")?;
    let mut operated = platform.cluster("stable-5.1", &graph.url(), nobody, |_| {}).await?;
    platform.sign(&operated, "5.2.0").await?;
    ask(&operated, json!({"version": "5.2.0"})).await?;
    reaches(&operated, "5.2.0").await?;
    ask(&operated, json!({"version": "5.1.0"})).await?;
    let told = refused(&operated, "PreconditionChecks").await?;
    assert!(told.contains("LowDesiredVersion"), "{told}");
    assert_eq!(marker(&operated).await?, "5.2.0");
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_and_cannot_be_read_again_is_told_and_not_undone() -> Result<()> {
    let Some(platform) = Platform::new(&VERSIONS)? else { return Ok(()) };
    let data = graph_data(&VERSIONS, &[]);
    let data: Vec<_> = data.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let graph = platform.graph(&data).await?;
    let nobody = prometheus("http://127.0.0.1:9")?;
    let mut operated = platform.cluster("stable-5.1", &graph.url(), nobody, |_| {}).await?;
    platform.sign(&operated, "5.1.1").await?;
    // Nobody listens on the port of nothing, but the image is in a layout.
    let image = platform.image("5.1.1").replace("registry.example", "127.0.0.1:9");
    ask(&operated, json!({"image": image})).await?;
    let before = reaches(&operated, "5.1.1").await?;
    operated.stop().await?;

    let layouts = std::mem::take(&mut operated.settings.target.images);
    operated.start();
    let told = refused(&operated, "RetrievePayload").await?;
    assert!(told.contains("127.0.0.1:9/release: "), "{told}");
    assert_eq!(marker(&operated).await?, "5.1.1");
    operated.stop().await?;

    operated.settings.target.images = layouts;
    operated.start();
    let after = operated
        .status("the release to be read", |status| {
            reason(status, "ReleaseAccepted") == "PayloadLoaded"
        })
        .await?;
    assert_eq!(after.history, before.history);
    assert_eq!(marker(&operated).await?, "5.1.1");
    operated.stop().await
}

/// The version of the release whose object is in the cluster.
async fn marker(operated: &Operated) -> Result<String> {
    let maps: Api<ConfigMap> =
        Api::namespaced(operated.cluster.client(), "openshift-config-managed");
    let data = maps.get("marker").await?.data.unwrap_or_default();
    Ok(data.get("version").cloned().unwrap_or_default())
}

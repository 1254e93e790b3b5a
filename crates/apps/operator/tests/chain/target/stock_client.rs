//! Requests of `oc adm upgrade --allow-not-recommended --to 4.7.4`.

use anyhow::Result;
use fairway_operator::settings::UnacceptedRiskPolicy;
use fairway_testkit::blocked_edges::FILES;
use serde_json::json;

use super::platform::{Platform, ask, reaches, refused};
use crate::conditional_updates::{CHANNEL, RISKS, samples, snapshot};
use crate::support::{Graph, OperatedCluster, recommended};

/// A cluster that is exposed to all three risks of 4.7.4, after the request.
async fn asking(
    unaccepted_risks: UnacceptedRiskPolicy,
) -> Result<Option<(OperatedCluster, (Graph, Platform, tempfile::TempDir))>> {
    let Some(platform) = Platform::new(&["4.6.23", "4.6.42", "4.6.43", "4.7.4"])? else {
        return Ok(None);
    };
    let files = [("version", "1.1.0\n"), ("channels/stable-4.7.yaml", CHANNEL)];
    let files: Vec<_> = files.into_iter().chain(FILES).collect();
    let (graph, directory) = (platform.graph(&files).await?, tempfile::tempdir()?);
    let metrics = snapshot(&directory, &samples(true, "VSphere"))?;
    let operated = platform
        .cluster("stable-4.7", &graph.url(), metrics, |settings| {
            settings.target.unaccepted_risks = unaccepted_risks;
        })
        .await?;
    platform.sign(&operated, "4.7.4").await?;
    // The client reads the image from the status.
    operated.status("4.7.4 to be offered", |status| recommended(status, "4.7.4").is_some()).await?;
    let image = platform.image("4.7.4");
    ask(&operated, json!({"architecture": "", "version": "4.7.4", "image": image, "force": false}))
        .await?;
    Ok(Some((operated, (graph, platform, directory))))
}

#[tokio::test(flavor = "multi_thread")]
async fn gate_names_unaccepted_risks() -> Result<()> {
    let Some((mut operated, _world)) = asking(UnacceptedRiskPolicy::Gate).await? else {
        return Ok(());
    };
    let message = refused(&operated, "UnacceptedRisks").await?;
    assert!(RISKS.iter().all(|risk| message.contains(risk)), "{message}");
    let command = format!("fairway upgrade accept {}", RISKS.join(","));
    assert!(message.ends_with(&command), "{message}");

    let accepted: Vec<_> = RISKS.iter().map(|name| json!({ "name": name })).collect();
    ask(&operated, json!({"acceptRisks": accepted})).await?;
    reaches(&operated, "4.7.4").await?;
    operated.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_risks_are_in_the_history() -> Result<()> {
    let Some((mut operated, _world)) = asking(UnacceptedRiskPolicy::Record).await? else {
        return Ok(());
    };
    let status = reaches(&operated, "4.7.4").await?;
    insta::assert_snapshot!(status.history[0].accepted_risks.as_deref().unwrap(), @"
    Updating from 4.6.23 to 4.7.4 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods. https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33

    Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues. https://access.redhat.com/solutions/5896081

    vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads. https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3

    Not accepted by name: AuthOAuthProxyLeakedConnections, VSphereHW14CrossNodeNetworkingError, VSphereNodeNameChanges.
    ");
    operated.stop().await
}

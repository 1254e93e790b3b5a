//! Installing a platform and updating it, with operators that behave and operators that do not.

use anyhow::Result;
use fairway_api::Conditions as _;
use fairway_api::cluster_version::UpdateState;
use serde_json::json;

use crate::platform::TestPlatform;

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_is_installed_and_updated_while_an_operator_is_degraded() -> Result<()> {
    let platform = TestPlatform::install("5.0.0", "stable-5.1").await?;
    let image = platform.image("5.0.0")?;
    let installed = platform.status().await?;
    assert_eq!((&installed.desired.version[..], installed.desired.image), ("5.0.0", image));
    assert_eq!(installed.history.len(), 1);

    platform.update(&["--to=5.0.1"]).await?;
    platform.until_completed("5.0.1").await?;

    platform.tell("fragile", json!({ "degraded": "One disk of three is broken." })).await?;
    platform.until_operator("fragile", "Degraded", "True").await?;
    platform.update(&["--to=5.1.0"]).await?;
    platform.until_completed("5.1.0").await?;
    let status = platform.until_condition("Failing", "True", "ClusterOperatorDegraded").await?;
    for (type_, expected) in [("Available", "True"), ("Progressing", "False")] {
        let condition = status.conditions.find(type_).map(|found| found.status.to_string());
        assert_eq!(condition.as_deref(), Some(expected), "{type_}");
    }
    let versions: Vec<_> =
        status.history.iter().map(|entry| (entry.version.as_deref(), &entry.state)).collect();
    let completed = &UpdateState::Completed;
    assert_eq!(
        versions,
        [(Some("5.1.0"), completed), (Some("5.0.1"), completed), (Some("5.0.0"), completed)]
    );
    Ok(())
}

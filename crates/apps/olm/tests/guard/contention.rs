//! Somebody else who writes the same ClusterOperator.

use anyhow::Result;
use fairway_api::ClusterOperator;
use fairway_testkit::wait;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::{Duration, interval};

use crate::access::deployed;
use crate::support::{OPERATOR, Platform};

/// As a real OLM does: whatever it finds, it has its own word written.
async fn rival(operators: Api<ClusterOperator>) {
    let condition = json!({
        "type": "Upgradeable", "status": "True", "reason": "", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
    let parameters =
        PatchParams { field_manager: Some("olm".to_owned()), ..PatchParams::default() };
    // It hears of changes a little later, as everybody does.
    let mut period = interval(Duration::from_millis(100));
    loop {
        period.tick().await;
        let _ = operators.patch_status(OPERATOR, &parameters, &patch).await;
    }
}

/// What was told of fights for the ClusterOperator.
async fn told(events: &Api<Event>) -> Result<Vec<Event>> {
    let of_fights = ListParams::default().fields("reason=ContendedObject");
    let mut told = events.list(&of_fights).await?.items;
    told.retain(|it| it.regarding.as_ref().is_some_and(|it| it.name.as_deref() == Some(OPERATOR)));
    Ok(told)
}

/// What a metric says.
fn count(metrics: &str, name: &str) -> Option<u32> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.parse().ok())
}

#[tokio::test]
async fn a_fight_is_given_way_to_and_named() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let events = Api::<Event>::namespaced(platform.client(), "default");
    for old in told(&events).await? {
        events.delete(&old.name_any(), &DeleteParams::default()).await?;
    }
    // With no more than what is deployed.
    let guard = platform.start_as(deployed(&platform).await?, platform.settings()?)?;
    platform.until_upgradeable("True AsExpected: Ready for upgrade").await?;
    let operators = Api::<ClusterOperator>::all(platform.client());
    let rival = tokio::spawn(rival(operators));
    let contended =
        format!(r#"fairway_olm_contended_objects{{kind="ClusterOperator",name="{OPERATOR}"}} "#);
    let metrics = wait::until("the fight to be named", || async {
        let metrics = platform.metrics().await?;
        Ok(count(&metrics, &contended).is_some().then_some(metrics))
    })
    .await?;
    rival.abort();
    let repairs = count(&metrics, &contended).unwrap_or_default();
    // Those before the fight, and the repairs: not one for every word of the rival.
    let writes = count(&metrics, "fairway_olm_status_writes_total ").unwrap_or_default();
    assert!(repairs >= 5 && (repairs + 1..=repairs + 5).contains(&writes), "{metrics}");

    let told = wait::until("the event", || async { Ok(told(&events).await?.pop()) }).await?;
    let note = told.note.unwrap_or_default();
    assert!(note.starts_with(r#""olm" repeatedly changes"#), "{note}");
    guard.stop().await
}

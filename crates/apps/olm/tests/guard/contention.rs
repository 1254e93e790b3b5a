//! Another client that writes the same ClusterOperator.

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

/// Overwrites the status repeatedly, like a real OLM.
async fn other_writer(operators: Api<ClusterOperator>) {
    let condition = json!({
        "type": "Upgradeable", "status": "True", "reason": "", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
    let parameters =
        PatchParams { field_manager: Some("olm".to_owned()), ..PatchParams::default() };
    // With the delay of a watch.
    let mut period = interval(Duration::from_millis(100));
    loop {
        period.tick().await;
        let _ = operators.patch_status(OPERATOR, &parameters, &patch).await;
    }
}

/// Events about contention of the ClusterOperator.
async fn contention_events(events: &Api<Event>) -> Result<Vec<Event>> {
    let of_contention = ListParams::default().fields("reason=ContendedObject");
    let mut found = events.list(&of_contention).await?.items;
    found.retain(|it| it.regarding.as_ref().is_some_and(|it| it.name.as_deref() == Some(OPERATOR)));
    Ok(found)
}

/// Value of a metric.
fn count(metrics: &str, name: &str) -> Option<u32> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.parse().ok())
}

#[tokio::test]
async fn guard_with_contention_backs_off_and_reports_it() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let events = Api::<Event>::namespaced(platform.client(), "default");
    for old in contention_events(&events).await? {
        events.delete(&old.name_any(), &DeleteParams::default()).await?;
    }
    // With the deployed permissions.
    let guard = platform.start_as(deployed(&platform).await?, platform.settings()?)?;
    platform.until_upgradeable("True AsExpected: Ready for upgrade").await?;
    let operators = Api::<ClusterOperator>::all(platform.client());
    let other_writer = tokio::spawn(other_writer(operators));
    let contended =
        format!(r#"fairway_olm_contended_objects{{kind="ClusterOperator",name="{OPERATOR}"}} "#);
    let metrics = wait::until("the contention to be reported", || async {
        let metrics = platform.metrics().await?;
        Ok(count(&metrics, &contended).is_some().then_some(metrics))
    })
    .await?;
    other_writer.abort();
    let repairs = count(&metrics, &contended).unwrap_or_default();
    // The writes before, and the corrections: not one for each write of the other client.
    let writes = count(&metrics, "fairway_olm_status_writes_total ").unwrap_or_default();
    assert!(repairs >= 5 && (repairs + 1..=repairs + 5).contains(&writes), "{metrics}");

    let event = wait::until("the event", || async { Ok(contention_events(&events).await?.pop()) });
    let note = event.await?.note.unwrap_or_default();
    assert!(note.starts_with(r#""olm" repeatedly changes"#), "{note}");
    guard.stop().await
}

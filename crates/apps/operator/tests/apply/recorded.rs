//! Objects that released versions wrote, and that this version applies.

use anyhow::{Context as _, Result};
use fairway_operator::apply::ApplyOutcome;
use fairway_testkit::recorded;
use serde_json::{Value, json};

use crate::fixture::ApplyFixture;

const INCLUDED: &str = "include.release.openshift.io/self-managed-high-availability";

/// The annotation has the fields that were applied before, and so those to remove.
#[tokio::test]
async fn object_with_last_applied_of_v0_1_loses_leftovers() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let before = recorded::v0_1().json("annotated-objects/replaced-deployment.json");
    let spec = &before["spec"];
    let object = |annotations: &Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "repeating", "namespace": fixture.namespace.name(),
                "annotations": annotations, "labels": before["metadata"]["labels"],
            },
            "spec": spec,
        })
    };
    let mut annotations = before["metadata"]["annotations"].clone();
    annotations.as_object_mut().context("no annotations")?.insert("by".into(), json!("others"));
    fixture.create(&object(&annotations), "fairway").await?;

    let note: Value =
        serde_json::from_str(annotations["fairway.dev/last-applied"].as_str().context("no note")?)?;
    let mut wanted = note["object"].clone();
    wanted["metadata"] = json!({"name": "repeating", "namespace": fixture.namespace.name()});
    assert_eq!(fixture.apply(&wanted).await?, ApplyOutcome::Written);
    let live = fixture.live(&wanted).await?;
    let annotations = &live["metadata"]["annotations"];
    assert_eq!(annotations.get(INCLUDED), None, "a leftover");
    assert_eq!(annotations["by"], "others", "a field of another client");
    let env = &live["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env.as_array().map(Vec::len), Some(2));
    assert_eq!(fixture.apply(&wanted).await?, ApplyOutcome::Unchanged);
    Ok(())
}

//! Objects that released versions wrote, and that this version applies.

use anyhow::{Context as _, Result};
use fairway_operator::apply::Outcome;
use fairway_testkit::recorded;
use serde_json::{Value, json};

use crate::ground::Ground;

const INCLUDED: &str = "include.release.openshift.io/self-managed-high-availability";

/// The annotation says which fields were wanted before, and so which to remove.
#[tokio::test]
async fn object_with_last_applied_of_v0_1_loses_what_is_no_longer_wanted() -> Result<()> {
    let ground = Ground::prepare().await?;
    let before = recorded::v0_1().json("annotated-objects/replaced-deployment.json");
    let spec = &before["spec"];
    let object = |annotations: &Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "repeating", "namespace": ground.namespace.name(),
                "annotations": annotations, "labels": before["metadata"]["labels"],
            },
            "spec": spec,
        })
    };
    let mut annotations = before["metadata"]["annotations"].clone();
    annotations.as_object_mut().context("no annotations")?.insert("by".into(), json!("others"));
    ground.create(&object(&annotations), "fairway").await?;

    let note: Value =
        serde_json::from_str(annotations["fairway.dev/last-applied"].as_str().context("no note")?)?;
    let mut wanted = note["object"].clone();
    wanted["metadata"] = json!({"name": "repeating", "namespace": ground.namespace.name()});
    assert_eq!(ground.apply(&wanted).await?, Outcome::Written);
    let live = ground.live(&wanted).await?;
    let annotations = &live["metadata"]["annotations"];
    assert_eq!(annotations.get(INCLUDED), None, "no longer wanted");
    assert_eq!(annotations["by"], "others", "another client wants it");
    let env = &live["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(env.as_array().map(Vec::len), Some(2));
    assert_eq!(ground.apply(&wanted).await?, Outcome::Right);
    Ok(())
}

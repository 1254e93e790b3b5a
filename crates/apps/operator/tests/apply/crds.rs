//! CRDs of a release, and objects of their kinds.

use anyhow::Result;
use fairway_operator::apply::{ApplyOutcome, Health};
use fairway_testkit::wait;
use serde_json::{Value, json};

use crate::fixture::ApplyFixture;

fn crd_of(group: &str, kind: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {
                        "type": "object",
                        "properties": {
                            "size": {"type": "integer"},
                            "parts": {
                                "type": "array",
                                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                                "items": {
                                    "type": "object", "required": ["name"],
                                    "properties": {"name": {"type": "string"}, "mode": {"type": "string", "default": "on"}},
                                },
                            },
                        },
                    }},
                }},
            }],
        },
    })
}

#[tokio::test]
async fn apply_of_new_kind_succeeds_once_its_crd_is_established() -> Result<()> {
    let mut fixture = ApplyFixture::prepare().await?;
    let group = format!("{}.example.com", fixture.namespace.name());
    for kind in ["Widget", "Gadget"] {
        let crd = crd_of(&group, kind);
        let object = |spec: Value| {
            json!({
                "apiVersion": format!("{group}/v1"), "kind": kind,
                "metadata": {"name": "a", "namespace": fixture.namespace.name()}, "spec": spec,
            })
        };
        let first = object(json!({"size": 1, "parts": [{"name": "x"}, {"name": "y"}]}));
        fixture.apply_until_good(&crd).await?;
        assert_eq!(fixture.apply(&crd).await?, ApplyOutcome::Unchanged);
        assert_eq!(fixture.apply(&first).await?, ApplyOutcome::Written);
        assert_eq!(fixture.apply(&first).await?, ApplyOutcome::Unchanged);
        let second = object(json!({"parts": [{"name": "y"}]}));
        assert_eq!(fixture.apply(&second).await?, ApplyOutcome::Written);
        let spec = fixture.live(&second).await?["spec"].clone();
        assert_eq!(spec, json!({"parts": [{"name": "y", "mode": "on"}]}));
        assert_eq!(fixture.try_apply(&crd).await?.health, Health::Good);
        assert_eq!(fixture.apply(&second).await?, ApplyOutcome::Unchanged);
    }
    fixture.restart();
    assert_eq!(fixture.apply(&crd_of(&group, "Widget")).await?, ApplyOutcome::Unchanged);
    Ok(())
}

/// Not in the sandbox, which keeps watches of deleted kinds.
#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn apply_after_crd_was_deleted_and_created_corrects_drift_again() -> Result<()> {
    let fixture = ApplyFixture::prepare().await?;
    let group = format!("{}.example.com", fixture.namespace.name());
    let crd = crd_of(&group, "Widget");
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": {"name": "a", "namespace": fixture.namespace.name()}, "spec": {"size": 1},
    });
    fixture.apply_until_good(&crd).await?;
    fixture.apply(&widget).await?;
    fixture.delete(&crd).await?;
    wait::until("the kind to be dropped", async || {
        let reason = fixture.try_apply(&widget).await.err().map(|error| error.reason().0);
        Ok(reason.filter(|reason| *reason == "UpdatePayloadResourceTypeMissing"))
    })
    .await?;
    fixture.apply_until_good(&crd).await?;
    wait::until("the object to be back", async || Ok(fixture.try_apply(&widget).await.ok()))
        .await?;
    let mut changes = fixture.applier.changes();
    fixture.edit(&widget, &json!({"spec": {"size": 2}})).await?;
    fixture.until_repaired(&mut changes, &widget).await?;
    fixture.delete(&crd).await
}

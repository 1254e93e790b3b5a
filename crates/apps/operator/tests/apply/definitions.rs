//! Kinds that come with a release.

use anyhow::Result;
use fairway_operator::apply::{Health, Outcome};
use fairway_testkit::wait;
use serde_json::{Value, json};

use crate::ground::Ground;

fn definition(group: &str, kind: &str) -> Value {
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
async fn a_kind_can_be_used_as_soon_as_its_definition_is_established() -> Result<()> {
    let mut ground = Ground::prepare().await?;
    let group = format!("{}.example.com", ground.namespace.name());
    for kind in ["Widget", "Gadget"] {
        let definition = definition(&group, kind);
        let object = |spec: Value| {
            json!({
                "apiVersion": format!("{group}/v1"), "kind": kind,
                "metadata": {"name": "a", "namespace": ground.namespace.name()}, "spec": spec,
            })
        };
        let first = object(json!({"size": 1, "parts": [{"name": "x"}, {"name": "y"}]}));
        ground.apply_until_good(&definition).await?;
        assert_eq!(ground.apply(&definition).await?, Outcome::Right);
        assert_eq!(ground.apply(&first).await?, Outcome::Written);
        assert_eq!(ground.apply(&first).await?, Outcome::Right);
        let second = object(json!({"parts": [{"name": "y"}]}));
        assert_eq!(ground.apply(&second).await?, Outcome::Written);
        let spec = ground.live(&second).await?["spec"].clone();
        assert_eq!(spec, json!({"parts": [{"name": "y", "mode": "on"}]}));
        assert_eq!(ground.try_apply(&definition).await?.health, Health::Good);
        assert_eq!(ground.apply(&second).await?, Outcome::Right);
    }
    ground.restart();
    assert_eq!(ground.apply(&definition(&group, "Widget")).await?, Outcome::Right);
    Ok(())
}

/// A sandbox goes on with watches of kinds that are gone.
#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn a_kind_that_goes_and_comes_back_is_looked_for_again() -> Result<()> {
    let ground = Ground::prepare().await?;
    let group = format!("{}.example.com", ground.namespace.name());
    let definition = definition(&group, "Widget");
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": {"name": "a", "namespace": ground.namespace.name()}, "spec": {"size": 1},
    });
    ground.apply_until_good(&definition).await?;
    ground.apply(&widget).await?;
    ground.delete(&definition).await?;
    wait::until("the kind to be forgotten", async || {
        let reason = ground.try_apply(&widget).await.err().map(|error| error.reason().0);
        Ok(reason.filter(|reason| *reason == "UpdatePayloadResourceTypeMissing"))
    })
    .await?;
    ground.apply_until_good(&definition).await?;
    wait::until("the object to be back", async || Ok(ground.try_apply(&widget).await.ok())).await?;
    let mut changes = ground.applier.changes();
    ground.edit(&widget, &json!({"spec": {"size": 2}})).await?;
    ground.until_repaired(&mut changes, &widget).await?;
    ground.delete(&definition).await
}

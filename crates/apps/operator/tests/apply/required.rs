//! Required fields that a manifest leaves out.

use anyhow::{Context as _, Result};
use fairway_operator::apply::Outcome;
use fairway_release::{Manifest, with_zero_values};
use serde_json::{Value, json};

use crate::ground::{Ground, manifest};

/// A CRD with required fields: `spec` with a default in it, `size`, and the names of `parts`.
fn crd(group: &str) -> Value {
    let part = json!({
        "type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "kind": {"type": "string"}},
    });
    let schema = json!({
        "type": "object", "required": ["spec", "size"],
        "properties": {
            "size": {"type": "integer"},
            "spec": {
                "type": "object",
                "properties": {"logLevel": {"type": "string", "default": "Normal"}},
            },
            "parts": {"type": "array", "x-kubernetes-list-type": "atomic", "items": part},
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// A manifest without required fields, and its object.
struct Widget {
    ground: Ground,
    crd: Value,
    object: Value,
    manifest: Manifest,
}

impl Widget {
    async fn new(content: Value) -> Result<Self> {
        let ground = Ground::prepare().await?;
        let group = format!("{}.example.com", ground.namespace.name());
        let crd = crd(&group);
        ground.apply_until_good(&crd).await?;
        let mut object = content;
        object["apiVersion"] = json!(format!("{group}/v1"));
        object["kind"] = json!("Widget");
        object["metadata"] = json!({"name": "a", "namespace": ground.namespace.name()});
        let manifests = [manifest(&crd), manifest(&object)];
        let mut completed = with_zero_values(&manifests.iter().collect::<Vec<_>>());
        let manifest = completed.pop().context("two manifests")?;
        Ok(Self { ground, crd, object, manifest })
    }

    async fn apply(&self) -> Result<Outcome> {
        Ok(self.ground.applier.apply(&self.manifest, &self.ground.context).await?.outcome)
    }

    async fn live(&self) -> Result<Value> {
        self.ground.live(&self.object).await
    }

    async fn remove(&self) -> Result<()> {
        self.ground.delete(&self.crd).await
    }
}

#[tokio::test]
async fn required_object_with_defaults_is_written_once() -> Result<()> {
    let mut widget = Widget::new(json!({})).await?;
    assert_eq!(widget.apply().await?, Outcome::Written);
    assert_eq!(widget.apply().await?, Outcome::Right);
    widget.ground.restart();
    assert_eq!(widget.apply().await?, Outcome::Right, "after a restart");
    let live = widget.live().await?;
    assert_eq!((&live["spec"], &live["size"]), (&json!({"logLevel": "Normal"}), &json!(0)));
    widget.remove().await
}

#[tokio::test]
async fn required_field_of_another_client_is_not_reset_at_first_contact() -> Result<()> {
    let widget = Widget::new(json!({"parts": [{"kind": "new"}]})).await?;
    let mut before = widget.object.clone();
    before["size"] = json!(5);
    before["spec"] = json!({"logLevel": "Debug"});
    before["parts"] = json!([{"name": "", "kind": "old"}]);
    widget.ground.create(&before, "installer").await?;
    assert_eq!(widget.apply().await?, Outcome::Written);
    let live = widget.live().await?;
    assert_eq!((&live["spec"], &live["size"]), (&json!({"logLevel": "Debug"}), &json!(5)));
    assert_eq!(live["parts"], json!([{"name": "", "kind": "new"}]), "the manifest has it");
    assert_eq!(widget.apply().await?, Outcome::Right);
    widget.remove().await
}

#[tokio::test]
async fn required_field_that_another_client_sets_later_is_left_alone() -> Result<()> {
    let mut widget = Widget::new(json!({})).await?;
    widget.apply().await?;
    widget.ground.edit(&widget.object, &json!({"size": 7})).await?;
    for restart in [false, true] {
        if restart {
            widget.ground.restart();
        }
        widget.apply().await?;
        assert_eq!(widget.live().await?["size"], 7, "restart: {restart}");
    }
    widget.remove().await
}

#[tokio::test]
async fn required_field_of_a_list_item_is_repaired() -> Result<()> {
    let widget = Widget::new(json!({"parts": [{"kind": "a"}]})).await?;
    widget.apply().await?;
    let mut changes = widget.ground.applier.changes();
    widget.ground.edit(&widget.object, &json!({"parts": [{"name": "x", "kind": "a"}]})).await?;
    crate::ground::hear(&mut changes, &widget.object).await?;
    widget.apply().await?;
    assert_eq!(widget.live().await?["parts"], json!([{"name": "", "kind": "a"}]));
    widget.remove().await
}

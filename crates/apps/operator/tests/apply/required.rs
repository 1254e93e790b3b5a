//! Required fields that a manifest leaves out.

use anyhow::{Context as _, Result};
use fairway_operator::apply::ApplyOutcome;
use fairway_release::{Manifest, with_zero_values};
use serde_json::{Value, json};

use crate::fixture::{ApplyFixture, manifest};

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
    fixture: ApplyFixture,
    crd: Value,
    object: Value,
    manifest: Manifest,
}

impl Widget {
    async fn new(content: Value) -> Result<Self> {
        let fixture = ApplyFixture::prepare().await?;
        let group = format!("{}.example.com", fixture.namespace.name());
        let crd = crd(&group);
        fixture.apply_until_good(&crd).await?;
        let mut object = content;
        object["apiVersion"] = json!(format!("{group}/v1"));
        object["kind"] = json!("Widget");
        object["metadata"] = json!({"name": "a", "namespace": fixture.namespace.name()});
        let manifests = [manifest(&crd), manifest(&object)];
        let mut completed = with_zero_values(&manifests.iter().collect::<Vec<_>>());
        let manifest = completed.pop().context("two manifests")?;
        Ok(Self { fixture, crd, object, manifest })
    }

    async fn apply(&self) -> Result<ApplyOutcome> {
        Ok(self.fixture.applier.apply(&self.manifest, &self.fixture.context).await?.outcome)
    }

    async fn live(&self) -> Result<Value> {
        self.fixture.live(&self.object).await
    }

    async fn remove(&self) -> Result<()> {
        self.fixture.delete(&self.crd).await
    }
}

#[tokio::test]
async fn required_object_with_defaults_is_written_once() -> Result<()> {
    let mut widget = Widget::new(json!({})).await?;
    assert_eq!(widget.apply().await?, ApplyOutcome::Written);
    assert_eq!(widget.apply().await?, ApplyOutcome::Unchanged);
    widget.fixture.restart();
    assert_eq!(widget.apply().await?, ApplyOutcome::Unchanged, "after a restart");
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
    widget.fixture.create(&before, "installer").await?;
    assert_eq!(widget.apply().await?, ApplyOutcome::Written);
    let live = widget.live().await?;
    assert_eq!((&live["spec"], &live["size"]), (&json!({"logLevel": "Debug"}), &json!(5)));
    assert_eq!(live["parts"], json!([{"name": "", "kind": "new"}]), "the manifest has it");
    assert_eq!(widget.apply().await?, ApplyOutcome::Unchanged);
    widget.remove().await
}

#[tokio::test]
async fn required_field_that_another_client_sets_later_is_left_alone() -> Result<()> {
    let mut widget = Widget::new(json!({})).await?;
    widget.apply().await?;
    widget.fixture.edit(&widget.object, &json!({"size": 7})).await?;
    for restart in [false, true] {
        if restart {
            widget.fixture.restart();
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
    let mut changes = widget.fixture.applier.changes();
    widget.fixture.edit(&widget.object, &json!({"parts": [{"name": "x", "kind": "a"}]})).await?;
    crate::fixture::await_change(&mut changes, &widget.object).await?;
    widget.apply().await?;
    assert_eq!(widget.live().await?["parts"], json!([{"name": "", "kind": "a"}]));
    widget.remove().await
}

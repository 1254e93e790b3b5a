//! CRDs for one case.

use anyhow::{Context, Result};
use fairway_testkit::wait;
use serde_json::{Value, json};

use super::{ApiResponse, Case};

/// API path of CRDs.
pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A CRD of `Widget`s in a group of the namespace, with this schema for `spec`.
pub(crate) fn widgets(namespace: &str, spec: &Value) -> Value {
    let group = format!("{namespace}.test");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": spec, "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                } },
            }],
        },
    })
}

impl Case {
    /// Creates a CRD of widgets with this schema for `spec`; returns the resource for paths.
    pub(crate) async fn define(&self, spec: &Value) -> Result<String> {
        self.define_as(&widgets(self.ns(), spec)).await
    }

    /// Creates a CRD and waits until it is served; returns the resource for paths.
    pub(crate) async fn define_as(&self, definition: &Value) -> Result<String> {
        let created = self.create_outside(CRDS, definition).await?.object()?;
        let name = created["metadata"]["name"].as_str().context("no name")?.to_owned();
        let spec = &definition["spec"];
        for version in spec["versions"].as_array().into_iter().flatten() {
            let (group, plural) = (&spec["group"], &spec["names"]["plural"]);
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let path = format!("/apis/{}/{}/{}", word(group), word(&version["name"]), word(plural));
            if version["served"] == true {
                wait::until(&format!("{path} to be served"), || async {
                    Ok(self.get(&path).await?.succeeded().then_some(()))
                })
                .await?;
            }
        }
        Ok(name)
    }

    /// A widget to send.
    pub(crate) fn widget(&self, name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": format!("{}.test/v1", self.ns()), "kind": "Widget",
            "metadata": { "name": name }, "spec": spec,
        })
    }

    /// Creates a widget.
    pub(crate) async fn create_widget(&self, name: &str, spec: &Value) -> Result<ApiResponse> {
        self.create(&format!("widgets.{}.test", self.ns()), &self.widget(name, spec)).await
    }
}

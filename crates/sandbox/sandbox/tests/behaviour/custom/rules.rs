//! CEL validation rules of CRDs.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::differences;
use crate::support::{Case, Transcript};

/// A case with widgets that have these rules for `spec`; `None` if the server does not support
/// rules.
async fn ruled(properties: &Value, rules: &Value) -> Result<Option<Case>> {
    let case = Case::begin("rules").await?;
    if differences::RULES.is_missing(&case).await? {
        return Ok(None);
    }
    let schema =
        json!({ "type": "object", "properties": properties, "x-kubernetes-validations": rules });
    case.define(&schema).await?;
    Ok(Some(case))
}

#[tokio::test]
async fn cel_rules_are_enforced() -> Result<()> {
    let properties = json!({ "min": { "type": "integer" }, "max": { "type": "integer" } });
    let rules = json!([
        { "rule": "self.min <= self.max", "message": "min is at most max" },
        { "rule": "!has(self.max) || self.max < 100", "messageExpression": "'not ' + string(self.max)" },
    ]);
    let Some(case) = ruled(&properties, &rules).await? else { return Ok(()) };
    let mut transcript = Transcript::default();
    for spec in [
        json!({ "min": 2, "max": 1 }),
        json!({ "min": 1, "max": 100 }),
        json!({ "min": 1, "max": 2 }),
    ] {
        let answer = case.create_widget("w", &spec).await?;
        transcript
            .line(&spec, if answer.succeeded() { "accepted".to_owned() } else { answer.shown() });
    }
    assert_snapshot!(transcript, @r#"
    {"max":1,"min":2}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec: Invalid value: "object": min is at most max
    {"max":100,"min":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec: Invalid value: "object": not 100
    {"max":2,"min":1}: accepted
    "#);
    Ok(())
}

#[tokio::test]
async fn cel_transition_rules_compare_with_old_object() -> Result<()> {
    let properties = json!({ "name": { "type": "string" } });
    let rules = json!([{ "rule": "self.name == oldSelf.name", "message": "the name stays" }]);
    let Some(case) = ruled(&properties, &rules).await? else { return Ok(()) };
    case.create_widget("w", &json!({ "name": "a" })).await?.object()?;
    let path = format!("widgets.{}.test/w", case.ns());
    assert_snapshot!(case.merge(&path, &json!({ "spec": { "name": "b" } })).await?.shown(), @r#"
    422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec: Invalid value: "object": the name stays
    "#);
    case.merge(&path, &json!({ "metadata": { "labels": { "a": "b" } } })).await?.object()?;
    Ok(())
}

/// Rules of ClusterVersion for `spec.desiredUpdate`.
#[tokio::test]
async fn cluster_version_cel_rules_are_enforced() -> Result<()> {
    let case = Case::begin_exclusive("rules").await?;
    if differences::RULES.is_missing(&case).await? {
        return Ok(());
    }
    let path = "/apis/config.openshift.io/v1/clusterversions";
    let mut transcript = Transcript::default();
    for spec in [
        json!({ "desiredUpdate": { "architecture": "Multi", "version": "5.1.0", "image": "registry.example/release" } }),
        json!({ "desiredUpdate": { "architecture": "Multi" } }),
        json!({ "signatureStores": [{ "url": "nonsense" }] }),
        json!({ "capabilities": { "baselineCapabilitySet": "None", "additionalEnabledCapabilities": ["marketplace"] } }),
        json!({ "desiredUpdate": { "version": "5.1.0" } }),
    ] {
        let mut version = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": { "name": "version" }, "spec": spec,
        });
        version["spec"]["clusterID"] = json!("5a3d5c6e-2f3e-4c5b-9d55-5e2c3f0b7a10");
        let answer = case.create(&format!("{path}?dryRun=All"), &version).await?;
        transcript
            .line(&spec, if answer.succeeded() { "accepted".to_owned() } else { answer.shown() });
    }
    assert_snapshot!(transcript, @r#"
    {"desiredUpdate":{"architecture":"Multi","image":"registry.example/release","version":"5.1.0"}}: 422 Invalid: ClusterVersion.config.openshift.io "version" is invalid: …
      about {"group":"config.openshift.io","kind":"ClusterVersion","name":"version"}
      FieldValueInvalid spec.desiredUpdate: Invalid value: "object": architecture and image are mutually exclusive: the image determines the architecture
    {"desiredUpdate":{"architecture":"Multi"}}: 422 Invalid: ClusterVersion.config.openshift.io "version" is invalid: …
      about {"group":"config.openshift.io","kind":"ClusterVersion","name":"version"}
      FieldValueInvalid spec.desiredUpdate: Invalid value: "object": version must be set if architecture is set
    {"signatureStores":[{"url":"nonsense"}]}: 422 Invalid: ClusterVersion.config.openshift.io "version" is invalid: …
      about {"group":"config.openshift.io","kind":"ClusterVersion","name":"version"}
      FieldValueInvalid spec.signatureStores[0].url: Invalid value: "nonsense": must be an absolute URL
    {"capabilities":{"additionalEnabledCapabilities":["marketplace"],"baselineCapabilitySet":"None"}}: 422 Invalid: ClusterVersion.config.openshift.io "version" is invalid: …
      about {"group":"config.openshift.io","kind":"ClusterVersion","name":"version"}
      FieldValueInvalid <nil>: Invalid value: "object": the capability marketplace requires the capability OperatorLifecycleManager
    {"desiredUpdate":{"version":"5.1.0"}}: accepted
    "#);
    Ok(())
}

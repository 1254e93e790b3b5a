//! Merge schemas of built-in kinds compared with the `OpenAPI` document of an API server.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fairway_sandbox::schema::{ListKind, ListSchema, ObjectSchema, Schema};
use fairway_testkit::TestCluster;
use serde_json::Value;

/// Differences to Kubernetes 1.20.
const NEWER: &[&str] = &[
    "CSIVolumeSource.nodePublishSecretRef is taken whole",
    "CephFSVolumeSource.secretRef is taken whole",
    "CinderVolumeSource.secretRef is taken whole",
    "ClusterRoleBinding.roleRef is taken whole",
    r#"CustomResourceDefinitionStatus.conditions is (["type"], None)"#,
    "EnvVarSource.configMapKeyRef is taken whole",
    "EnvVarSource.fieldRef is taken whole",
    "EnvVarSource.resourceFieldRef is taken whole",
    "EnvVarSource.secretKeyRef is taken whole",
    r#"EphemeralContainer.ports is (["containerPort", "protocol"], Some("containerPort"))"#,
    "Event.involvedObject is taken whole",
    "Event.regarding is taken whole",
    "Event.related is taken whole",
    "FlexVolumeSource.secretRef is taken whole",
    "ISCSIVolumeSource.secretRef is taken whole",
    "IngressBackend.resource is taken whole",
    "IngressServiceBackend.port is taken whole",
    r#"JobStatus.conditions is (["atomic"], Some("type"))"#,
    "JobStatus.uncountedTerminatedPods is new",
    "MutatingWebhook.matchConditions is new",
    "NodeAffinity.requiredDuringSchedulingIgnoredDuringExecution is taken whole",
    "ObjectMeta.ownerReferences[] is taken whole",
    "PersistentVolumeClaimSpec.dataSource is taken whole",
    "PodDisruptionBudgetSpec.selector is replaced by patches",
    "PodDisruptionBudgetStatus.conditions is new",
    "PodSpec.imagePullSecrets[] is taken whole",
    "PodSpec.nodeSelector is taken whole",
    "PodSpec.resourceClaims is new",
    "PodSpec.resources is new",
    "PodSpec.schedulingGates is new",
    "PodStatus.hostIPs is new",
    "PodStatus.resourceClaimStatuses is new",
    "RBDVolumeSource.secretRef is taken whole",
    "ResourceQuotaSpec.scopeSelector is taken whole",
    "ResourceRequirements.claims is new",
    "RoleBinding.roleRef is taken whole",
    "ScaleIOVolumeSource.secretRef is taken whole",
    "ServiceAccount.secrets[] is taken whole",
    "ServiceSpec.selector is taken whole",
    "StorageOSVolumeSource.secretRef is taken whole",
    "ValidatingWebhook.matchConditions is new",
];

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn merge_schemas_match_openapi_of_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let output = cluster.kubectl().args(["get", "--raw", "/openapi/v2"]).output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let mut comparison = Comparison {
        definitions: &document["definitions"],
        differences: BTreeSet::new(),
        lists: 0,
    };
    for (group, kind) in Schema::builtin_kinds() {
        let (name, definition) = comparison
            .definition(group, kind)
            .with_context(|| format!("the server does not know {group}/{kind}"))?;
        let schema = Schema::builtin(group, kind).context("not in the table")?;
        comparison.object(name, definition, &schema);
    }
    let unexpected: Vec<&str> = comparison
        .differences
        .iter()
        .map(String::as_str)
        .filter(|difference| !NEWER.contains(difference))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    assert!(comparison.lists > 500, "only {} lists were compared", comparison.lists);
    Ok(())
}

struct Comparison<'d> {
    definitions: &'d Value,
    differences: BTreeSet<String>,
    lists: usize,
}

impl<'d> Comparison<'d> {
    /// The definition of a kind, preferably in version `v1`.
    fn definition(&self, group: &str, kind: &str) -> Option<(&'d str, &'d Value)> {
        let is_kind = |definition: &Value| {
            let kinds = definition["x-kubernetes-group-version-kind"].as_array();
            kinds.into_iter().flatten().any(|gvk| gvk["group"] == group && gvk["kind"] == kind)
        };
        let definitions = self.definitions.as_object()?.iter();
        let mut found: Vec<_> = definitions.filter(|(_, definition)| is_kind(definition)).collect();
        found.sort_by_key(|(name, _)| !name.contains(".v1."));
        let (name, definition) = found.first()?;
        Some((last_part(name), definition))
    }

    fn object(&mut self, name: &str, definition: &'d Value, ours: &Schema) {
        let is_whole = matches!(ours, Schema::Object(ObjectSchema { atomic: true, .. }));
        self.expect(definition["x-kubernetes-map-type"] != "atomic" || is_whole, || {
            format!("{name} is not taken whole")
        });
        let properties = definition["properties"].as_object();
        for (field, property) in properties.into_iter().flatten() {
            self.value(&format!("{name}.{field}"), property, part(ours, field));
        }
        let known = |field: &str| properties.is_some_and(|known| known.contains_key(field));
        if let Schema::Object(object) = ours {
            for field in object.fields.keys() {
                self.expect(known(field), || format!("{name}.{field} is new"));
            }
        }
    }

    fn value(&mut self, name: &str, property: &'d Value, ours: &Schema) {
        if let Some(reference) = property["$ref"].as_str() {
            let definition = &self.definitions[reference.trim_start_matches("#/definitions/")];
            if definition["properties"].is_object() {
                self.patched_whole(name, property, ours);
                self.object_at(name, reference, definition, ours);
            }
        } else if property["type"] == "array" {
            self.list(name, property, ours);
        } else if property["additionalProperties"].is_object() {
            let is_whole = matches!(ours, Schema::Object(ObjectSchema { atomic: true, .. }));
            let atomic = property["x-kubernetes-map-type"] == "atomic";
            self.expect(atomic == is_whole, || format!("{name} is taken whole"));
            self.value(name, &property["additionalProperties"], part(ours, "*"));
        }
    }

    /// Compares whether an object is atomic: a property of the type there, and of the field here.
    fn object_at(&mut self, name: &str, reference: &str, definition: &'d Value, ours: &Schema) {
        let is_whole = matches!(ours, Schema::Object(ObjectSchema { atomic: true, .. }));
        if is_whole && definition["x-kubernetes-map-type"] != "atomic" {
            self.differences.insert(format!("{name} is taken whole"));
        } else {
            self.object(last_part(reference), definition, ours);
        }
    }

    fn patched_whole(&mut self, name: &str, property: &Value, ours: &Schema) {
        let there = property["x-kubernetes-patch-strategy"] == "replace";
        let here = matches!(
            ours,
            Schema::Object(ObjectSchema { fields, others: None, atomic: true }) if fields.is_empty()
        );
        self.expect(here == there, || format!("{name} is replaced by patches"));
    }

    fn list(&mut self, name: &str, property: &'d Value, ours: &Schema) {
        self.lists += 1;
        let theirs = published(property);
        let (kind, patch_key) = match ours {
            Schema::List(ListSchema { kind, patch_key, .. }) => (kind.clone(), patch_key.clone()),
            _ => (ListKind::Atomic, None),
        };
        let our_keys = (names(&kind), patch_key);
        self.expect(our_keys == theirs, || format!("{name} is {our_keys:?}"));
        if theirs != (vec!["atomic".to_owned()], None) {
            self.value(&format!("{name}[]"), &property["items"], part(ours, "[]"));
        }
    }

    fn expect(&mut self, holds: bool, difference: impl FnOnce() -> String) {
        if !holds {
            self.differences.insert(difference());
        }
    }
}

/// The keys of a list, or its type if it has none.
fn names(kind: &ListKind) -> Vec<String> {
    match kind {
        ListKind::Atomic => vec!["atomic".to_owned()],
        ListKind::Set => vec!["set".to_owned()],
        ListKind::Map(keys) => keys.iter().map(|(key, _)| key.clone()).collect(),
    }
}

/// Merge rules of a list in the document. Without a rule for apply, the rule for patches is used.
fn published(property: &Value) -> (Vec<String>, Option<String>) {
    let strategy = property["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
    let key = property["x-kubernetes-patch-merge-key"].as_str();
    let merged = strategy.split(',').any(|word| word == "merge");
    let patch_key = merged.then(|| key.unwrap_or(ListSchema::BY_VALUE).to_owned());
    let keys = property["x-kubernetes-list-map-keys"].as_array();
    let keys = keys.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let apply = match (property["x-kubernetes-list-type"].as_str(), &patch_key) {
        (Some("map"), _) => keys.collect(),
        (Some(other), _) => vec![other.to_owned()],
        (None, None) => vec!["atomic".to_owned()],
        (None, Some(key)) if key.is_empty() => vec!["set".to_owned()],
        (None, Some(key)) => vec![key.clone()],
    };
    (apply, patch_key)
}

fn part<'s>(schema: &'s Schema, name: &str) -> &'s Schema {
    match (schema, name) {
        (Schema::List(list), "[]") => &list.items,
        (Schema::Object(object), name) => {
            let found = object.fields.get(name).or(object.others.as_ref());
            found.map_or(&Schema::Deduced, AsRef::as_ref)
        }
        _ => &Schema::Deduced,
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

//! `custom-resources`: objects that the target release's CRDs would reject.
//!
//! A CRD may become stricter. An object that is valid now and invalid afterwards stays readable,
//! but cannot be written, not even by its controller (`CustomResourcesNotAccepted`). The check
//! reads all objects of each CRD that the target release changes, in the storage version of the
//! target release or another one that both have. It prunes them, sets defaults and validates them
//! against both schemas. Errors that the current schema also reports are ignored. The check has no
//! result if objects cannot be read. CEL rules are not evaluated; if the target release adds some,
//! the report says so.

use std::collections::BTreeSet;
use std::mem;

use fairway_findings::Finding;
use fairway_schema::{FieldError, Schema, children};
use fairway_text::chain;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;

use crate::check::{BuiltInCheck, BuiltInResult, NoResult};
use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::resources::{CRDS, CrdChange, crd_changes, resource};
use crate::target::Target;
use crate::wording::{MAX_NAMED, counted, listed, quoted};

/// The check `custom-resources`.
pub(crate) struct CustomResources;

impl BuiltInCheck for CustomResources {
    fn name(&self) -> &'static str {
        "custom-resources"
    }

    fn watched(&self) -> &[Resource] {
        &[CRDS]
    }

    fn watched_at_run_time<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Vec<Resource>> {
        async move {
            let comparisons = comparisons(cluster, target).await.unwrap_or_default();
            comparisons.iter().map(|comparison| Resource::named(&comparison.resource)).collect()
        }
        .boxed()
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<BuiltInResult, NoResult>> {
        examine(cluster, target).boxed()
    }
}

async fn examine(cluster: &Cluster, target: &Target) -> Result<BuiltInResult, NoResult> {
    let mut state = ReadState::default();
    for comparison in comparisons(cluster, target).await? {
        let take = |object: DynamicObject| state.add(&object, &comparison);
        match cluster.each_of(&comparison.resource, take).await {
            Ok(()) | Err(ClusterReadError::NotServed(_)) => {}
            Err(why) => state.unknown.push(format!("{}.", quoted(&chain(&why)))),
        }
        if comparison.has_new_rules {
            state.with_new_rules.push(comparison.crd);
        }
    }
    Ok(state.evaluate())
}

/// CRDs of the cluster that the target release changes.
async fn comparisons(
    cluster: &Cluster,
    target: &Target,
) -> Result<Vec<Comparison>, ClusterReadError> {
    let crd_changes = crd_changes(&target.manifests);
    let mut comparisons = Vec::new();
    let take = |now: CustomResourceDefinition| {
        if let Some(CrdChange::Defined(target)) = crd_changes.get(&now.name_any()) {
            comparisons.extend(Comparison::new(&now, target));
        }
    };
    cluster.each(take).await?;
    Ok(comparisons)
}

/// Summary of the objects read so far.
#[derive(Default)]
struct ReadState {
    /// Number of rejected objects.
    refused: usize,
    /// The first rejected objects, with reasons.
    named: Vec<String>,
    /// Command that edits the first rejected object.
    edit: String,
    /// CRDs with CEL rules that were not evaluated.
    with_new_rules: Vec<String>,
    /// What could not be read, and why.
    unknown: Vec<String>,
}

impl ReadState {
    fn add(&mut self, object: &DynamicObject, comparison: &Comparison) {
        let Ok(value) = serde_json::to_value(object) else { return };
        let Some(refusal) = comparison.refusal(&value) else { return };
        self.refused += 1;
        let (kind, name) = (&comparison.resource.kind, object.name_any());
        let (full_name, namespace_flag) = match object.namespace() {
            Some(namespace) => (format!("{namespace}/{name}"), format!(" -n {namespace}")),
            None => (name.clone(), String::new()),
        };
        if self.named.is_empty() {
            self.edit = format!("kubectl edit {} {name}{namespace_flag}", comparison.crd);
        }
        if self.named.len() < MAX_NAMED {
            self.named.push(format!("{kind} {full_name} ({refusal})"));
        }
    }

    fn evaluate(mut self) -> BuiltInResult {
        let (unknown, not_covered) = (mem::take(&mut self.unknown), self.not_covered());
        BuiltInResult { findings: self.finding().into_iter().collect(), unknown, not_covered }
    }

    fn finding(self) -> Option<Finding> {
        if self.refused == 0 {
            return None;
        }
        let more = match self.refused - self.named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "The CRDs of the target release do not accept {}: {}{more}. After the update, clients \
             cannot change these objects.",
            counted(self.refused, "custom resource"),
            self.named.join(", ")
        );
        let finding = Finding::critical("CustomResourcesNotAccepted", message);
        let remediation = format!(
            "Before the update, change these objects so that the current and the new CRDs accept \
             them: {}",
            self.edit
        );
        Some(finding.remediation(remediation))
    }

    fn not_covered(&self) -> String {
        if self.with_new_rules.is_empty() {
            return String::new();
        }
        let definitions = listed(&self.with_new_rules);
        format!(
            "The check did not evaluate new CEL rules of CRDs of the target release: {definitions}."
        )
    }
}

/// A CRD that the target release changes.
struct Comparison {
    crd: String,
    /// Resource in the version of the comparison.
    resource: ApiResource,
    /// Whether the target release adds CEL rules, which are not evaluated.
    has_new_rules: bool,
    now: Schema,
    target: Schema,
}

impl Comparison {
    /// Compares two CRDs; `None` if the target release changes nothing that affects objects.
    fn new(now: &CustomResourceDefinition, target: &CustomResourceDefinition) -> Option<Self> {
        let version = common_version(now, target)?;
        let (before, after) = (schema(now, version)?, schema(target, version)?);
        (before != after).then(|| Self {
            crd: now.name_any(),
            resource: resource(now, version),
            has_new_rules: !rules(after).is_subset(&rules(before)),
            now: Schema::new(before),
            target: Schema::new(after),
        })
    }

    /// Why the target release would reject an object that is valid now.
    fn refusal(&self, object: &Value) -> Option<String> {
        let mut wrong = violations(&self.target, object);
        if wrong.is_empty() {
            return None;
        }
        let before = violations(&self.now, object);
        wrong.retain(|error| !before.contains(error));
        let first = quoted(&wrong.first()?.to_string());
        Some(match wrong.len() {
            1 => first,
            count => format!("{first}; and {} more", count - 1),
        })
    }
}

/// Errors of the API server on a write of the unchanged object.
fn violations(schema: &Schema, object: &Value) -> Vec<FieldError> {
    let mut written = object.clone();
    schema.prune(&mut written);
    schema.set_defaults(&mut written);
    schema.violations(&written, Some(object))
}

/// Storage version of the target release, or another version that both have.
fn common_version<'a>(
    now: &CustomResourceDefinition,
    target: &'a CustomResourceDefinition,
) -> Option<&'a str> {
    let is_served = |name: &str| now.spec.versions.iter().any(|it| it.served && it.name == name);
    let mut common: Vec<_> =
        target.spec.versions.iter().filter(|version| is_served(&version.name)).collect();
    common.sort_by_key(|version| !version.storage);
    common.first().map(|version| version.name.as_str())
}

fn schema<'a>(crd: &'a CustomResourceDefinition, version: &str) -> Option<&'a JSONSchemaProps> {
    let mut versions = crd.spec.versions.iter();
    let version = versions.find(|it| it.name == version)?;
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

/// CEL rules of a schema, with their paths.
fn rules(schema: &JSONSchemaProps) -> BTreeSet<(String, String)> {
    let mut rules = BTreeSet::new();
    let mut open = vec![(schema, String::new())];
    while let Some((schema, path)) = open.pop() {
        let own = schema.x_kubernetes_validations.iter().flatten();
        rules.extend(own.map(|rule| (path.clone(), rule.rule.clone())));
        open.extend(children(schema, &path));
    }
    rules
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::TestCluster;
    use fairway_testkit::releases::TestRelease;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{create, define_as, hide, reader, render, target};

    const BACKUPS: Resource = Resource::new("example.dev", "v1", "Backup", "backups");

    /// A CRD with a schema for `spec` in each version; the last is the storage version.
    fn backups(versions: &[(&str, Value)]) -> Value {
        let last = versions.len() - 1;
        let version = |(index, (name, spec)): (usize, &(&str, Value))| {
            let schema = json!({"type": "object", "properties": {"spec": spec}});
            json!({
                "name": name, "served": true, "storage": index == last,
                "schema": {"openAPIV3Schema": schema},
            })
        };
        let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "backups.example.dev"},
            "spec": {
                "group": "example.dev", "scope": "Cluster",
                "names": {"kind": "Backup", "plural": "backups"}, "versions": versions,
            },
        })
    }

    fn lenient() -> Value {
        json!({"type": "object", "properties": {
            "schedule": {"type": "string"},
            "keep": {"type": "integer", "minimum": 0},
            "mode": {"type": "string"},
        }})
    }

    fn strict() -> Value {
        json!({
            "type": "object", "required": ["schedule"],
            "properties": {
                "schedule": {"type": "string", "maxLength": 8},
                "keep": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["full"], "default": "full"},
            },
        })
    }

    fn compare(now: &Value, target: &Value) -> Option<Comparison> {
        let [now, target] = [now, target].map(|it| serde_json::from_value(it.clone()).unwrap());
        Comparison::new(&now, &target)
    }

    #[test]
    fn refusal_only_for_new_errors() {
        let comparison =
            compare(&backups(&[("v1", lenient())]), &backups(&[("v1", strict())])).unwrap();
        for (spec, expected) in [
            (json!({"schedule": "daily", "keep": 3}), None),
            (json!({"schedule": "daily", "gone": {"a": 1}}), None),
            (json!({"schedule": "daily", "mode": null}), None),
            (json!({}), Some("spec.schedule: Required value")),
            (
                json!({"schedule": "daily", "keep": 0}),
                Some(
                    "spec.keep: Invalid value: 0: spec.keep in body should be greater than or equal to 1",
                ),
            ),
            (
                json!({"schedule": "daily", "mode": "fast", "keep": 0}),
                Some(
                    "spec.keep: Invalid value: 0: spec.keep in body should be greater than or equal to 1; and 1 more",
                ),
            ),
            // Both schemas reject it with the same message.
            (json!({"schedule": 7}), None),
        ] {
            let refusal = comparison.refusal(&json!({"metadata": {"name": "a"}, "spec": spec}));
            assert_eq!(refusal.as_deref(), expected, "{spec}");
        }
    }

    #[test]
    fn compare_unchanged_crd_returns_none() {
        let same = backups(&[("v1", lenient())]);
        assert!(compare(&same, &same).is_none());
        let with_another = backups(&[("v2", strict()), ("v1", lenient())]);
        assert!(compare(&same, &with_another).is_none());
        let without_one_in_common = backups(&[("v2", strict())]);
        assert!(compare(&same, &without_one_in_common).is_none());
    }

    #[test]
    fn compare_uses_storage_version_of_target() {
        let now = backups(&[("v1", lenient()), ("v1beta1", lenient())]);
        for (target, version) in [
            (backups(&[("v1beta1", strict()), ("v1", strict())]), "v1"),
            (backups(&[("v1beta1", strict()), ("v2", strict())]), "v1beta1"),
        ] {
            assert_eq!(compare(&now, &target).unwrap().resource.version, version);
        }
    }

    #[test]
    fn compare_reports_new_rules() {
        let with_rule = |rule: &str| {
            let mut spec = lenient();
            spec["properties"]["keep"]["x-kubernetes-validations"] = json!([{"rule": rule}]);
            backups(&[("v1", spec)])
        };
        let now = with_rule("self < 9");
        assert!(compare(&now, &with_rule("self < 8")).unwrap().has_new_rules);
        assert!(!compare(&now, &backups(&[("v1", lenient())])).unwrap().has_new_rules);
        let state = ReadState {
            with_new_rules: vec!["backups.example.dev".to_owned()],
            ..ReadState::default()
        };
        insta::assert_snapshot!(state.evaluate().not_covered, @"The check did not evaluate new CEL rules of CRDs of the target release: backups.example.dev.");
    }

    #[test]
    fn finding_names_some_objects_and_counts_all() {
        let comparison =
            compare(&backups(&[("v1", lenient())]), &backups(&[("v1", strict())])).unwrap();
        let mut state = ReadState::default();
        for number in 0..7 {
            let object = json!({"metadata": {"name": format!("b{number}"), "namespace": "team"}, "spec": {}});
            state.add(&serde_json::from_value(object).unwrap(), &comparison);
        }
        insta::assert_snapshot!(render(&state.evaluate().findings), @"
        CustomResourcesNotAccepted (critical): The CRDs of the target release do not accept 7 custom resources: Backup team/b0 (spec.schedule: Required value), Backup team/b1 (spec.schedule: Required value), Backup team/b2 (spec.schedule: Required value), Backup team/b3 (spec.schedule: Required value), Backup team/b4 (spec.schedule: Required value) and 2 more. After the update, clients cannot change these objects.
          Before the update, change these objects so that the current and the new CRDs accept them: kubectl edit backups.example.dev b0 -n team
        ");
    }

    #[tokio::test]
    async fn run_validates_objects_against_target_schema() -> Result<()> {
        let cluster = TestCluster::start().await?;
        define_as(&cluster, backups(&[("v1", lenient())])).await?;
        let backup = |name: &str, spec: Value| json!({"apiVersion": "example.dev/v1", "kind": "Backup", "metadata": {"name": name}, "spec": spec});
        create(&cluster, BACKUPS, backup("fine", json!({"schedule": "daily"}))).await?;
        let release =
            TestRelease::new("5.2.0").object("0000_10_backups", backups(&[("v1", strict())]));
        let target = target("5.1.0", &release)?;
        let run =
            async || Ok::<_, NoResult>(CustomResources.run(&reader(&cluster), &target).await?);
        assert_eq!(run().await?, BuiltInResult::default());
        assert_eq!(
            CustomResources.watched_at_run_time(&reader(&cluster), &target).await,
            [BACKUPS]
        );
        create(&cluster, BACKUPS, backup("wrong", json!({"keep": 3}))).await?;
        insta::assert_snapshot!(render(&run().await?.findings), @"
        CustomResourcesNotAccepted (critical): The CRDs of the target release do not accept 1 custom resource: Backup wrong (spec.schedule: Required value). After the update, clients cannot change these objects.
          Before the update, change these objects so that the current and the new CRDs accept them: kubectl edit backups.example.dev wrong
        ");
        Ok(())
    }

    #[tokio::test]
    async fn run_with_unreadable_objects_has_no_result() -> Result<()> {
        let cluster = TestCluster::start().await?;
        define_as(&cluster, backups(&[("v1", lenient())])).await?;
        let release =
            TestRelease::new("5.2.0").object("0000_10_backups", backups(&[("v1", strict())]));
        let target = target("5.1.0", &release)?;
        if !hide(&cluster, "backups") {
            return Ok(());
        }
        let BuiltInResult { findings, unknown, .. } =
            CustomResources.run(&reader(&cluster), &target).await?;
        assert_eq!((findings.len(), unknown.len()), (0, 1));
        assert!(unknown[0].starts_with("cannot read backups"), "{unknown:?}");
        Ok(())
    }
}
